// asx/journal/testing.hpp - makes runs that never happened: realistic, consistent streams of events from a seed.
//
// A toy runtime with regions, tasks, channels, timers and cancellation takes random steps and journals them as the
// kernel would: every id was created before it is used, every wake names its cause, every wait ends or is cancelled.
//
// 1  The same seed and options give the same events on every machine.
// 2  Nothing here is installed; tests, benches and fuzz targets include it.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/time.hpp"
#include "asx/journal/journal.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/outcome.hpp"

namespace asx::testing {

struct stream_options {
  std::uint64_t events = 1'000;  // The run is shut down when it has about as many.
  std::uint32_t tasks_max = 64;  // Live at once; a spawn beyond it is refused, and the refusal journalled.
  std::uint32_t workers = 2;
  bool diagnostics = true;  // Ghost notes, depths and names, as a debug build would have.
};

class stream_maker {
 public:
  stream_maker(journal& out, std::uint64_t seed, const stream_options& options = {})
      : out_(out), random_(seed), options_(options) {
    regions_.push_back({});
    put(event_kind::runtime_started, {.subject = 1, .a = seed, .b = options.workers});
    regions_.push_back({.id = 1, .event = put(event_kind::region_created, {.subject = 1})});
    for (int i = 0; i < 3; ++i) make_region();
    for (int i = 0; i < 4; ++i) make_channel();
  }

  /// Steps until the stream is long enough, then shuts everything down.
  void run() {
    while (out_.seq() < options_.events) step();
    shut_down();
  }

  /// One random step: a spawn, a dispatch, a tick of the clock, a cancel, a close.
  void step() {
    if (options_.diagnostics && chance(50)) {
      out_.append(event_kind::queue_depths, {.time_ns = now_, .subject = worker_, .a = pack(0, 0), .b = queue_.size()});
    }
    if (options_.diagnostics && chance(200)) out_.append(event_kind::ghost_note, {.time_ns = now_, .a = 15});
    worker_ = static_cast<std::uint16_t>(random_.next_below(options_.workers));
    const std::uint64_t dice = random_.next_below(100);
    if (queue_.empty() || dice < 12) return spawn();
    if (dice < 16) return tick();
    if (dice < 17) return cancel_one();
    if (dice == 18 && regions_.size() > 3 && chance(8)) return close_one();
    if (dice == 19 && chance(4)) return make_region();
    dispatch();
  }

  void shut_down() {
    const std::uint64_t begun = put(event_kind::shutdown_begun, {.subject = 1, .a = 0});
    close(1, begun, cancel_kind::shutdown, event_kind::region_closing);
    while (!queue_.empty()) dispatch();
    for (std::size_t r = regions_.size(); r-- > 1;) end_region(regions_[r]);
    put(event_kind::runtime_ended, {.subject = 1});
    out_.settle();
  }

 private:
  enum class phase : std::uint8_t { unstarted, running, requested, cancelling, completed };
  struct region {
    std::uint64_t id = 0, parent = 0, event = 0, live = 0;
    bool closing = false, closed = false;
  };
  struct task {
    std::uint64_t id = 0, region = 0, wake = 0, timer = 0, permit = 0, channel = 0, deadline = 0, asked = 0;
    std::uint64_t insertion = 0;
    phase at = phase::unstarted;
    wait_code waits = wait_code::other;
    bool queued = false;
    cancel_kind reason = cancel_kind::user;
  };
  struct channel {
    std::uint64_t id = 0, queued = 0, reserved = 0, capacity = 0, permits = 0, messages = 0, waiters = 0;
    std::vector<std::size_t> senders;
    std::size_t receiver = 0;
  };

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_.next_below(bound)); }
  region& region_of(std::uint64_t id) { return regions_[static_cast<std::size_t>(id)]; }
  bool chance(std::uint64_t one_in) { return random_.next_below(one_in) == 0; }

  std::uint64_t put(event_kind kind, event_fields fields) {
    fields.time_ns = now_;
    fields.worker = worker_;
    return out_.append(kind, fields);
  }

  void make_region() {
    region* parent = &regions_[1 + below(regions_.size() - 1)];
    if (parent->closing) parent = &regions_[1];
    region made{.id = regions_.size(), .parent = parent->id};
    ++parent->live;
    made.event = put(event_kind::region_created, {.subject = made.id, .object = parent->id, .cause = parent->event});
    regions_.push_back(made);
  }

  void make_channel() {
    channels_.push_back({.id = channels_.size() + 1, .capacity = 1 + random_.next_below(4), .senders = {}});
    put(event_kind::channel_created, {.subject = channels_.back().id, .object = 1, .a = channels_.back().capacity});
  }

  void spawn() {
    region& home = regions_[1 + below(regions_.size() - 1)];
    const std::uint64_t by = running_;
    if (home.closing) {
      put(event_kind::refused_spawn, {.subject = by, .object = home.id, .a = pack(2, 0), .cause = home.event});
      if (queue_.empty()) tick();
      return;
    }
    if (live_ >= options_.tasks_max) {
      put(event_kind::refused_spawn, {.subject = by, .object = home.id, .a = pack(10, 1), .b = options_.tasks_max});
      return;
    }
    ++live_;
    ++home.live;
    task made{.id = tasks_.size() + 1, .region = home.id};
    if (chance(8)) made.deadline = now_ + 1'000'000 * (1 + random_.next_below(50));
    const std::uint64_t event = put(event_kind::task_spawned, {.subject = made.id,
                                                               .object = home.id,
                                                               .a = by,
                                                               .b = pack(128, made.deadline != 0 ? 1 : 0),
                                                               .cause = home.event});
    if (options_.diagnostics && chance(4))
      out_.append_text(text_code::name, type_tag::task, made.id, "worker of orders", now_);
    tasks_.push_back(made);
    enqueue(tasks_.size() - 1, by, wake_code::spawn, event);
  }

  static bool is_cancelled(const task& t) { return t.at == phase::requested || t.at == phase::cancelling; }
  static lane_code lane_of(const task& t) {
    return is_cancelled(t) ? lane_code::cancel : t.deadline != 0 ? lane_code::timed : lane_code::ready;
  }

  void enqueue(std::size_t index, std::uint64_t by, wake_code why, std::uint64_t cause) {
    task& t = tasks_[index];
    if (t.queued || t.at == phase::completed) return;
    t.queued = true;
    t.insertion = ++insertion_;
    t.wake =
        put(event_kind::task_woken, {.subject = t.id,
                                     .object = by,
                                     .a = pack(static_cast<std::uint64_t>(lane_of(t)), static_cast<std::uint64_t>(why)),
                                     .b = t.insertion,
                                     .cause = cause});
    queue_.push_back(index);
  }

  void dispatch() {
    if (queue_.empty()) return;
    std::size_t at = 0;  // Cancel before timed before ready, first in first out within a lane.
    for (std::size_t i = 1; i < queue_.size(); ++i) {
      if (lane_of(tasks_[queue_[i]]) < lane_of(tasks_[queue_[at]])) at = i;
    }
    const std::size_t index = queue_[at];
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
    task& t = tasks_[index];
    t.queued = false;
    running_ = t.id;
    const auto lane = static_cast<std::uint64_t>(lane_of(t));
    const std::uint64_t began =
        put(event_kind::task_dispatched,
            {.subject = t.id, .object = t.deadline, .a = pack(128, lane), .b = t.insertion, .cause = t.wake});
    if (t.at == phase::unstarted) {
      t.at = phase::running;
      put(event_kind::task_started, {.subject = t.id, .object = t.region, .cause = began});
    }
    poll(index, began);
    running_ = 0;
  }

  void poll(std::size_t index, std::uint64_t began) {
    task& t = tasks_[index];
    leave_wait(t, began);
    if (t.at == phase::requested) {
      t.at = phase::cancelling;
      put(event_kind::task_acknowledged, {.subject = t.id,
                                          .object = t.region,
                                          .a = static_cast<std::uint64_t>(t.reason),
                                          .b = info(t.reason).cleanup_quota,
                                          .cause = t.asked});
    }
    if (t.permit != 0) resolve(t, began, t.at == phase::cancelling);
    if (t.at == phase::cancelling) {
      put(event_kind::poll_ended, {.subject = t.id, .object = t.region, .a = 1, .cause = began});
      return complete(index, event_kind::task_finalized, outcome_kind::cancelled, began);
    }
    channel& c = channels_[below(channels_.size())];
    switch (random_.next_below(7)) {
      case 0:
      case 1:
        if (c.queued + c.reserved < c.capacity && c.senders.empty()) {
          ++c.reserved;
          t.permit = ++c.permits;
          t.channel = c.id;
          put(event_kind::permit_reserved,
              {.subject = c.id, .object = t.id, .a = t.permit, .b = pack(c.queued, c.reserved), .cause = began});
          return yield(index, began);
        }
        put(event_kind::send_waiter_added,
            {.subject = c.id, .object = t.id, .a = ++c.waiters, .b = c.senders.size() + 1, .cause = began});
        c.senders.push_back(index);
        return wait(t, wait_code::reserve, c.id, c.waiters, began);
      case 2:
      case 3:
        if (c.queued > 0) {
          --c.queued;
          const std::uint64_t got = put(
              event_kind::message_received,
              {.subject = c.id, .object = t.id, .a = ++c.messages, .b = pack(c.queued, c.reserved), .cause = began});
          if (!c.senders.empty()) enqueue(c.senders.front(), t.id, wake_code::slot, got);
          return yield(index, began);
        }
        if (c.receiver != 0) return yield(index, began);
        c.receiver = index + 1;
        put(event_kind::receiver_waits, {.subject = c.id, .object = t.id, .cause = began});
        return wait(t, wait_code::recv, c.id, 0, began);
      case 4: {
        t.timer = ++timers_;
        const std::uint64_t due = now_ + 1'000 * (1 + random_.next_below(20'000));
        put(event_kind::timer_registered, {.subject = t.timer, .object = t.id, .a = due, .b = t.timer, .cause = began});
        pending_.push_back({due, t.timer, index});
        return wait(t, wait_code::timer, t.timer, 0, began);
      }
      case 5: return yield(index, began);
      default:
        put(event_kind::poll_ended, {.subject = t.id, .object = t.region, .a = 1, .cause = began});
        return complete(index, event_kind::task_completed, chance(16) ? outcome_kind::err : outcome_kind::ok, began);
    }
  }

  void resolve(task& t, std::uint64_t began, bool aborts) {
    channel& c = channels_[static_cast<std::size_t>(t.channel - 1)];
    --c.reserved;
    if (!aborts) ++c.queued;
    const std::uint64_t sent =
        put(aborts ? event_kind::permit_aborted : event_kind::permit_sent,
            {.subject = c.id, .object = t.id, .a = t.permit, .b = pack(c.queued, c.reserved), .cause = began});
    t.permit = 0;
    if (aborts && !c.senders.empty()) enqueue(c.senders.front(), t.id, wake_code::slot, sent);
    if (!aborts && c.receiver != 0) {
      const std::size_t receiver = c.receiver - 1;
      c.receiver = 0;
      enqueue(receiver, t.id, wake_code::message, sent);
    }
  }

  void wait(task& t, wait_code what, std::uint64_t object, std::uint64_t waiter, std::uint64_t began) {
    t.waits = what;
    put(event_kind::task_waits,
        {.subject = t.id, .object = object, .a = pack(static_cast<std::uint64_t>(what), waiter), .cause = began});
    put(event_kind::poll_ended, {.subject = t.id, .object = t.region, .a = 0, .cause = began});
  }

  void leave_wait(task& t, std::uint64_t began) {
    const std::size_t index = static_cast<std::size_t>(t.id - 1);
    for (channel& c : channels_) {
      if (c.receiver == index + 1) c.receiver = 0;
      for (std::size_t i = 0; i < c.senders.size(); ++i) {
        if (c.senders[i] != index) continue;
        c.senders.erase(c.senders.begin() + static_cast<std::ptrdiff_t>(i));
        put(event_kind::send_waiter_removed, {.subject = c.id,
                                              .object = t.id,
                                              .a = i + 1,
                                              .b = pack(is_cancelled(t) ? 1 : 0, c.senders.size()),
                                              .cause = began});
        break;
      }
    }
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].task != index) continue;
      put(event_kind::timer_cancelled,
          {.subject = pending_[i].id, .object = t.id, .a = pending_[i].due, .b = pending_[i].id, .cause = began});
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    t.waits = wait_code::other;
  }

  void yield(std::size_t index, std::uint64_t began) {
    put(event_kind::poll_ended, {.subject = tasks_[index].id, .object = tasks_[index].region, .a = 0, .cause = began});
    enqueue(index, tasks_[index].id, wake_code::yield, began);
  }

  void complete(std::size_t index, event_kind how, outcome_kind outcome, std::uint64_t cause) {
    task& t = tasks_[index];
    t.at = phase::completed;
    --live_;
    --region_of(t.region).live;
    put(how, {.subject = t.id,
              .object = t.region,
              .a = static_cast<std::uint64_t>(outcome),
              .b = outcome == outcome_kind::err ? pack(22, 0) : 0,
              .cause = cause});
  }

  void cancel(std::size_t index, cancel_kind kind, std::uint64_t from, std::uint64_t cause, std::uint32_t flags) {
    task& t = tasks_[index];
    if (t.at == phase::completed || is_cancelled(t)) return;
    t.asked = put(event_kind::cancel_requested, {.subject = t.id,
                                                 .object = from,
                                                 .a = pack(static_cast<std::uint64_t>(kind), 1),
                                                 .b = running_,
                                                 .cause = cause,
                                                 .flags = flags});
    put(t.at == phase::unstarted ? event_kind::task_cancel_requested_unstarted : event_kind::task_cancel_requested,
        {.subject = t.id, .object = t.region, .a = static_cast<std::uint64_t>(kind), .cause = t.asked});
    t.at = phase::requested;
    t.reason = kind;
    if (!t.queued) enqueue(index, running_, wake_code::cancel, t.asked);
  }

  void cancel_one() {
    if (tasks_.empty()) return;
    const auto index = below(tasks_.size());
    if (tasks_[index].at == phase::completed) return;
    const std::uint64_t input =
        put(event_kind::input_cancel, {.subject = tasks_[index].id, .object = tasks_[index].region, .b = ++inputs_});
    cancel(index, cancel_kind::user, tasks_[index].region, input, 0);
  }

  void close_one() {
    region& r = regions_[2 + below(regions_.size() - 2)];
    if (r.closing) return;
    const std::uint64_t input = put(event_kind::input_close, {.subject = r.id, .b = ++inputs_});
    close(r.id, input, cancel_kind::user, event_kind::region_closing);
  }

  void close(std::uint64_t id, std::uint64_t cause, cancel_kind kind, event_kind how) {
    region& r = region_of(id);
    if (r.closing) return;
    r.closing = true;
    r.event = put(how, {.subject = id,
                        .object = r.parent,
                        .a = running_,
                        .b = pack(static_cast<std::uint64_t>(kind), r.live),
                        .cause = cause});
    const std::uint64_t event = r.event;
    const cancel_kind passed = kind == cancel_kind::shutdown ? kind : cancel_kind::parent_cancelled;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].region == id) cancel(i, passed, id, event, event_flags::passed_on);
    }
    for (std::size_t i = 1; i < regions_.size(); ++i) {
      if (regions_[i].parent == id) close(i, event, passed, event_kind::region_closing_by_parent);
    }
  }

  void end_region(region& r) {
    if (r.closed) return;
    r.closed = true;
    put(event_kind::region_finalizing_at_once, {.subject = r.id, .object = r.parent, .cause = r.event});
    put(event_kind::region_closed, {.subject = r.id, .object = r.parent, .a = 2, .cause = r.event});
  }

  void tick() {
    const std::uint64_t before = now_;
    now_ += 1'000 * (1 + random_.next_below(3'000));
    const std::uint64_t clock = put(event_kind::input_time, {.a = now_, .b = before});
    for (;;) {
      std::size_t next = pending_.size();
      for (std::size_t i = 0; i < pending_.size(); ++i) {
        if (pending_[i].due <= now_ && (next == pending_.size() || pending_[i].due < pending_[next].due)) next = i;
      }
      if (next == pending_.size()) return;
      const due_timer due = pending_[next];
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(next));
      const std::uint64_t fired =
          put(event_kind::timer_fired,
              {.subject = due.id, .object = tasks_[due.task].id, .a = due.due, .b = due.id, .cause = clock});
      enqueue(due.task, 0, wake_code::timer, fired);
    }
  }

  struct due_timer {
    std::uint64_t due, id;
    std::size_t task;
  };

  journal& out_;
  splitmix64 random_;
  stream_options options_;
  std::uint64_t now_ = 0, running_ = 0, insertion_ = 0, timers_ = 0, inputs_ = 0, live_ = 0;
  std::uint16_t worker_ = 0;
  std::vector<region> regions_;
  std::vector<task> tasks_;
  std::vector<channel> channels_;
  std::vector<due_timer> pending_;
  std::vector<std::size_t> queue_;
};

/// A journal that must open, or the test cannot go on.
inline void open_or_abort(journal& j, const journal_options& options, event_sink sink = {}) {
  if (j.open(heap_memory(), options, sink) != status::ok) std::abort();
}

/// Collects every event of a run, whatever the ring does.
struct collector {
  std::vector<event> events;
  [[nodiscard]] event_sink sink() {
    return {this, [](void* self, std::span<const event> batch) noexcept {
              auto& all = static_cast<collector*>(self)->events;
              all.insert(all.end(), batch.begin(), batch.end());
            }};
  }
};

struct made_stream {
  std::vector<event> events;
  digest128 digest;
};

[[nodiscard]] inline made_stream make_stream(std::uint64_t seed, const stream_options& options = {}) {
  collector all;
  journal j;
  open_or_abort(j, {.capacity = 64}, all.sink());
  stream_maker(j, seed, options).run();
  return {std::move(all.events), j.digest()};
}

}  // namespace asx::testing
