// asx/journal/testing/schedule_script.hpp - a schedule written down by hand, event by event, right or wrong.
//
// It schedules nothing: who runs when is what the test says. It only fills in what a true journal would have beside
// that - sequence numbers, insertion numbers, causes, the record of a dispatch - so that a test can break one of them.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <vector>

#include "asx/journal/event.hpp"
#include "asx/journal/event_kind.hpp"

namespace asx::testing {

class schedule_script {
 public:
  std::vector<event> events;
  std::uint64_t now = 0;

  event& put(event_kind kind, std::uint16_t worker = 0) {
    events.push_back({.seq = events.size() + 1,
                      .time_ns = now,
                      .kind = kind,
                      .worker = worker,
                      .flags = is_semantic(kind) ? event_flags::semantic : 0});
    return events.back();
  }
  [[nodiscard]] event& last() { return events.back(); }
  [[nodiscard]] std::uint64_t seq() const { return events.size(); }

  void start(std::uint64_t seed, std::uint64_t workers) {
    event& e = put(event_kind::runtime_started);
    e.subject = 1;
    e.a = seed;
    e.b = workers;
  }
  void configure(std::uint64_t cancel_limit, std::uint64_t timed_limit, bool random_ties = false) {
    event& e = put(event_kind::scheduler_configured);
    e.a = pack(cancel_limit, timed_limit);
    e.b = pack(random_ties ? 1 : 0, 0);
  }
  void govern(governor_code now_suggested, governor_code before) {
    put(event_kind::governor_changed).a =
        pack(static_cast<std::uint64_t>(now_suggested), static_cast<std::uint64_t>(before));
  }

  // ---- into lanes: cancel, timed, ready
  event& queue(event_kind kind, std::uint64_t task, lane_code lane, std::uint8_t priority, std::uint16_t worker) {
    entry& t = entries_[task];
    t = {lane, priority, worker, ++insertions_[worker], lane == lane_code::timed ? deadlines_[task] : 0, seq() + 1};
    event& e = put(kind, worker);
    e.subject = task;
    e.a = pack(place_code(lane, priority, worker), 0);
    e.b = t.insertion;
    return e;
  }
  event& cancel(std::uint64_t task, std::uint8_t priority = 128, std::uint16_t worker = 0) {
    return queue(event_kind::task_woken, task, lane_code::cancel, priority, worker);
  }
  event& ready(std::uint64_t task, std::uint8_t priority = 128, std::uint16_t worker = 0) {
    return queue(event_kind::task_woken, task, lane_code::ready, priority, worker);
  }
  /// The deadline must be in the index: see until().
  event& timed(std::uint64_t task, std::uint16_t worker = 0) {
    return queue(event_kind::task_woken, task, lane_code::timed, 128, worker);
  }
  event& requeue(std::uint64_t task, lane_code lane, std::uint8_t priority = 128, std::uint16_t worker = 0) {
    return queue(event_kind::task_requeued, task, lane, priority, worker);
  }
  event& dequeue(std::uint64_t task) {
    event& e = put(event_kind::task_dequeued);
    e.subject = task;
    e.b = entries_[task].insertion;
    return e;
  }

  // ---- out of lanes: c, t, r, f as in the rulings; s a stall poll
  event& run(std::uint64_t task, lane_code source, std::uint16_t worker) {
    const entry& t = entries_[task];
    event& e = put(event_kind::task_dispatched, worker);
    e.subject = task;
    e.object = t.deadline;
    e.a = pack(t.priority, static_cast<std::uint64_t>(source));
    e.b = t.insertion;
    e.cause = t.queued_by;
    return e;
  }
  event& run(std::uint64_t task, lane_code source) { return run(task, source, entries_[task].worker); }
  event& c(std::uint64_t task) { return run(task, lane_code::cancel); }
  event& t(std::uint64_t task) { return run(task, lane_code::timed); }
  event& r(std::uint64_t task) { return run(task, lane_code::ready); }
  event& f(std::uint64_t task) { return run(task, lane_code::fallback); }
  event& s(std::uint64_t task, std::uint16_t worker = 0) {
    put(event_kind::stall_poll, worker).subject = task;
    event& e = put(event_kind::task_dispatched, worker);
    e.subject = task;
    e.a = pack(200, static_cast<std::uint64_t>(lane_code::stall));
    return e;
  }
  /// The same source for many.
  void each(lane_code source, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t task = first; task <= last; ++task) run(task, source);
  }
  /// A task that was dispatched and queued itself again, `times` times over.
  void t_yields(std::uint64_t task, int times) {
    for (; times > 0; --times) {
      t(task);
      timed(task);
    }
  }
  event& steal(std::uint64_t task, std::uint16_t thief, std::uint64_t start, std::uint64_t scanned) {
    event& e = put(event_kind::task_stolen, thief);
    e.subject = task;
    e.object = entries_[task].worker;
    e.a = pack(scanned, start);
    e.b = entries_[task].insertion;
    return e;
  }
  event& tie(std::uint64_t candidates, std::uint64_t chosen, std::uint16_t worker = 0) {
    event& e = put(event_kind::tie_broken, worker);
    e.a = pack(candidates, chosen);
    return e;
  }
  event& idle(std::uint16_t worker = 0) {
    event& e = put(event_kind::worker_idled, worker);
    e.subject = worker;
    return e;
  }

  // ---- what is due
  void until(std::uint64_t task, std::uint64_t deadline) {
    deadlines_[task] = deadline;
    deadline_event(event_kind::deadline_indexed, task);
  }
  event& deadline_event(event_kind kind, std::uint64_t task) {
    event& e = put(kind);
    e.subject = task;
    e.a = deadlines_[task];
    return e;
  }
  event& timer(event_kind kind, std::uint64_t id, std::uint64_t deadline, std::uint64_t insertion) {
    event& e = put(kind);
    e.subject = id;
    e.a = deadline;
    e.b = insertion;
    return e;
  }

 private:
  struct entry {
    lane_code lane;
    std::uint8_t priority;
    std::uint16_t worker;
    std::uint64_t insertion, deadline, queued_by;
  };
  std::map<std::uint64_t, entry> entries_;
  std::map<std::uint64_t, std::uint64_t> deadlines_;
  std::map<std::uint16_t, std::uint64_t> insertions_;
};

}  // namespace asx::testing
