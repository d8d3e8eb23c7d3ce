// asx/chan/testing/puppets.hpp - tasks on strings: a test says what a task does in its next poll, and when.
//
//     puppet_stage s;
//     puppet& a = s.task();
//     s.act(a, [&](cx& c) { EXPECT_EQ(tx.poll_reserve(c, wait, permit), status::would_block); });
//     permit_of_another.abort();                       // the host may call whatever needs no cx
//     EXPECT_TRUE(s.is_woken(a));                      // nobody ran yet: a wake is seen by itself
//
// A puppet that is polled without having been told what to do parks. So who is woken, in which order and why can be
// looked at before anybody acts on it, and tests read from top to bottom.
//
// Cancel points: none. Threads: one owner. Lifetime: endpoints, permits and waits die before their stage.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/journal/schedule_check.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
// So that a failed expectation speaks in words.
inline void PrintTo(status s, std::ostream* out) {
  *out << name(s);
}
inline void PrintTo(task_state s, std::ostream* out) {
  *out << task_lifecycle.name(s);
}
inline void PrintTo(obligation_state s, std::ostream* out) {
  *out << obligation_lifecycle.name(s);
}
inline void PrintTo(channel_state s, std::ostream* out) {
  *out << channel_lifecycle.name(s);
}
inline void PrintTo(outcome_kind k, std::ostream* out) {
  *out << name(k);
}
}  // namespace asx

namespace asx::testing {

class puppet_stage;

struct puppet {
  puppet_stage* on = nullptr;
  std::function<void(cx&)> deed;  // Of the next poll; empty: it parks.
  poll_result says = poll_result::pending;
  task_handle handle{};
  std::uint64_t number = 0;
};

/// Who was woken, and why.
struct told_wake {
  std::uint64_t task = 0;
  wake_code why = wake_code::other;

  friend bool operator==(const told_wake&, const told_wake&) noexcept = default;
  friend std::ostream& operator<<(std::ostream& out, const told_wake& w) {
    return out << 't' << w.task << '(' << static_cast<int>(w.why) << ')';
  }
};
using told_wakes = std::vector<told_wake>;

/// Room for every small test, and quick to make.
[[nodiscard]] inline runtime_config puppet_config() {
  runtime_config out;
  out.contract.max_tasks = out.contract.max_ready_queue = out.contract.max_cancel_queue = 64;
  out.contract.max_regions = out.contract.max_finalizers = out.contract.max_causes = 32;
  out.contract.max_obligations = out.contract.max_timers = out.contract.max_cleanup_entries = 64;
  out.contract.max_channels = 16;
  out.contract.max_channel_waiters = 64;
  out.contract.max_trace_events = 8192;
  return out;
}

class puppet_stage {
 public:
  explicit puppet_stage(runtime_config config = puppet_config()) : rt(with_hook(config)) {
    EXPECT_EQ(rt.start_status(), status::ok);
  }
  ~puppet_stage() {
    if (!has_ended_) end();
  }
  puppet_stage(const puppet_stage&) = delete;
  puppet_stage& operator=(const puppet_stage&) = delete;

  // ---- who is there

  region_handle region(region_handle parent) {
    region_handle out;
    region_spec spec;
    spec.is_held = true;
    EXPECT_EQ(k.create_region(parent, spec, out), status::ok);
    held_.push_back(out);
    return out;
  }
  region_handle region() { return region(rt.root()); }
  puppet& task(region_handle in, const budget& limits = {}) {
    puppet& p = puppets_.emplace_back();
    p.on = this;
    task_spec spec{.poll = &puppet_stage::poll, .context = &p, .limits = limits};
    spec.is_held = true;
    EXPECT_EQ(k.spawn(in, spec, p.handle), status::ok);
    p.number = report(p).id.value;
    return p;
  }
  puppet& task() { return task(rt.root()); }

  // ---- what they do

  /// Polls the puppet with this deed. Others that are queued before it run too, and park.
  void act(puppet& p, std::function<void(cx&)> deed) {
    p.deed = std::move(deed);
    k.waker_of(p.handle).wake();
    for (int i = 0; i < 64 && p.deed; ++i) rt.step();
    EXPECT_FALSE(p.deed) << "task " << p.number << " was not polled";
    p.deed = nullptr;
  }
  /// The same, and the poll says that the task is over.
  void finish(puppet& p, poll_result says = poll_result::ready, std::function<void(cx&)> deed = {}) {
    act(p, [&p, says, deed](cx& c) {
      if (deed) deed(c);
      p.says = says;
    });
    for (int i = 0; i < 64 && report(p).state != task_state::completed; ++i) rt.step();
    EXPECT_EQ(report(p).state, task_state::completed);
  }
  /// Cancels the puppet and lets it acknowledge.
  void cancel(puppet& p, cancel_kind kind = cancel_kind::user) {
    EXPECT_EQ(k.request_cancel(p.handle, {kind, {}}), status::ok);
    act(p, [](cx& c) { EXPECT_EQ(c.checkpoint(), status::cancelled); });
  }

  // ---- what can be seen

  [[nodiscard]] task_report report(const puppet& p) {
    task_report out;
    EXPECT_EQ(k.inspect(p.handle, out), status::ok);
    return out;
  }
  [[nodiscard]] bool is_woken(const puppet& p) { return report(p).is_queued; }
  [[nodiscard]] task_outcome result(const puppet& p) {
    task_outcome out;
    EXPECT_EQ(k.result(p.handle, out), status::ok);
    return out;
  }
  [[nodiscard]] region_report report(region_handle r) {
    region_report out;
    EXPECT_EQ(k.inspect(r, out), status::ok);
    return out;
  }
  [[nodiscard]] obligation_state state_of(obligation_handle o) {
    obligation_state out{};
    EXPECT_EQ(k.inspect(o, out), status::ok);
    return out;
  }

  /// The number of the newest event: what comes later is asked for by it.
  [[nodiscard]] std::uint64_t mark() { return rt.journal().seq(); }
  [[nodiscard]] std::vector<event> events(std::uint64_t after = 0) {
    std::vector<event> out;
    for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
      const event e = rt.journal().at(i);
      if (e.semantic() && e.seq > after) out.push_back(e);
    }
    return out;
  }
  [[nodiscard]] std::vector<event> events(event_kind kind, std::uint64_t after = 0) {
    std::vector<event> out;
    for (const event& e : events(after)) {
      if (e.kind == kind) out.push_back(e);
    }
    return out;
  }
  [[nodiscard]] std::size_t count(event_kind kind, std::uint64_t after = 0) { return events(kind, after).size(); }
  /// Kinds of the events of channels (500 to 599) and obligations (300 to 399), in order.
  [[nodiscard]] std::vector<event_kind> channel_kinds(std::uint64_t after) {
    std::vector<event_kind> out;
    for (const event& e : events(after)) {
      const int family = static_cast<int>(e.kind) / 100;
      if (family == 5 || family == 3) out.push_back(e.kind);
    }
    return out;
  }
  [[nodiscard]] told_wakes wakes(std::uint64_t after) {
    told_wakes out;
    for (const event& e : events(event_kind::task_woken, after)) {
      out.push_back({e.subject, static_cast<wake_code>(high_half(e.a))});
    }
    return out;
  }

  // ---- the end

  /// Everybody ends, the runtime is at rest, and its schedule was legal.
  void end() {
    has_ended_ = is_ending_ = true;
    const shutdown_result out = rt.shutdown();
    EXPECT_TRUE(out.is_quiescent()) << out.survivors;
    for (const puppet& p : puppets_) EXPECT_EQ(k.release_task(p.handle), status::ok);
    for (const region_handle r : held_) EXPECT_EQ(k.release_region(r), status::ok);
    std::vector<event> told(static_cast<std::size_t>(rt.journal().size()));
    told.resize(rt.journal().copy_tail(told));
    const schedule_verdict verdict = check_schedule(told);
    EXPECT_TRUE(verdict.accepted()) << explain(verdict);
  }

  std::vector<std::string> fatals;  // What the fatal hook was told.

 private:
  runtime_config with_hook(runtime_config config) {
    config.behaviour.fatal_context = this;
    config.behaviour.fatal = [](void* self, std::string_view text) noexcept {
      static_cast<puppet_stage*>(self)->fatals.emplace_back(text);
    };
    return config;
  }
  static poll_result poll(void* self, cx& c) {
    auto& p = *static_cast<puppet*>(self);
    p.says = poll_result::pending;
    if (p.deed) {
      const std::function<void(cx&)> deed = std::exchange(p.deed, nullptr);
      deed(c);
    } else if (p.on->is_ending_ && c.checkpoint() != status::ok) {
      p.says = poll_result::ready;
    }
    if (p.says == poll_result::pending) static_cast<void>(c.get_waker());
    return p.says;
  }

  bool is_ending_ = false;
  bool has_ended_ = false;
  std::deque<puppet> puppets_;
  std::vector<region_handle> held_;

 public:
  runtime rt;  // Last: its tasks are gone before the puppets are.
  kernel& k = rt.kernel();
};

// ---- channels in few words

/// What the channel says of itself; it is held to its invariants at every look.
template <class End>
[[nodiscard]] channel_report look(const End& end) {
  channel_report out;
  EXPECT_EQ(end.inspect(out), status::ok);
  EXPECT_LE(std::uint64_t{out.queued} + out.reserved, out.capacity) << "INV-CH-01";
  EXPECT_EQ(out.counts.reserved, out.counts.sent + out.counts.aborted + out.reserved) << "R-234";
  EXPECT_EQ(out.counts.sent, out.counts.received + out.counts.evicted + out.counts.discarded + out.queued) << "R-234";
  EXPECT_EQ(out.first_waiter == 0, out.waiters == 0);
  return out;
}

template <class T = int>
[[nodiscard]] channel_ends<T> open_channel(puppet_stage& s, region_handle in, std::uint32_t capacity) {
  channel_ends<T> out = channel<T>(s.k, in, capacity);
  EXPECT_EQ(out.code, status::ok);
  return out;
}
template <class T = int>
[[nodiscard]] channel_ends<T> open_channel(puppet_stage& s, std::uint32_t capacity) {
  return open_channel<T>(s, s.rt.root(), capacity);
}

template <class T>
[[nodiscard]] send_permit<T> must_reserve(sender<T>& tx) {
  send_permit<T> out;
  EXPECT_EQ(tx.try_reserve(out), status::ok);
  return out;
}
/// Puts these into the channel; they must fit.
inline void fill(sender<int>& tx, std::initializer_list<int> values) {
  for (const int v : values) EXPECT_EQ(tx.try_send(v).code, status::ok);
}
/// Everything that can be received without waiting.
[[nodiscard]] inline std::vector<int> drain(receiver<int>& rx) {
  std::vector<int> out;
  for (auto r = rx.try_recv(); r.code == status::ok && out.size() < 1000; r = rx.try_recv()) out.push_back(*r.value);
  return out;
}

/// One pending reserve of one task.
template <class T = int, class Permit = send_permit<T>>
struct attempt {
  reserve_wait wait;
  Permit permit;
  status code = status::ok;
};
/// The puppet polls its reserve once.
template <class Sender, class T, class Permit>
status poll_reserve(puppet_stage& s, puppet& p, Sender& tx, attempt<T, Permit>& a) {
  s.act(p, [&](cx& c) { a.code = tx.poll_reserve(c, a.wait, a.permit); });
  return a.code;
}
/// The puppet polls a receive once. `got` keeps the value.
template <class T>
status poll_recv(puppet_stage& s, puppet& p, receiver<T>& rx, std::optional<T>* got = nullptr) {
  status code = status::ok;
  s.act(p, [&](cx& c) {
    recv_result<T> r = rx.poll_recv(c);
    code = r.code;
    EXPECT_EQ(r.value.has_value(), r.code == status::ok);
    if (got != nullptr) *got = std::move(r.value);
  });
  return code;
}

/// A list of messages that is sent by one task.
template <class T = int>
struct batch {
  explicit batch(std::vector<T> list) : all(std::move(list)), rest(all) {}
  std::vector<T> all;  // Those before `rest` were moved out.
  std::span<T> rest;
  reserve_wait wait;
  status code = status::ok;

  [[nodiscard]] std::vector<T> left() const { return {rest.begin(), rest.end()}; }
  [[nodiscard]] std::size_t sent() const { return all.size() - rest.size(); }
};
/// The puppet polls its list once.
template <class T>
status poll_send_many(puppet_stage& s, puppet& p, sender<T>& tx, batch<T>& b) {
  s.act(p, [&](cx& c) {
    b.code = tx.poll_send_many(c, b.wait, b.rest);
    EXPECT_EQ(b.rest.data() + b.rest.size(), b.all.data() + b.all.size()) << "what is left is the end of the list";
    EXPECT_EQ(b.wait.is_waiting(), b.code == status::would_block) << "only would_block waits (R-168)";
    EXPECT_TRUE(b.code != status::ok || b.rest.empty());
  });
  return b.code;
}
/// The puppet receives several at once. `got` keeps the values behind those that it has.
template <class T>
status poll_recv_many(puppet_stage& s, puppet& p, receiver<T>& rx, std::uint32_t most, std::vector<T>& got) {
  status code = status::ok;
  s.act(p, [&](cx& c) {
    const std::size_t before = got.size();
    std::uint32_t taken = UINT32_MAX;
    code = rx.poll_recv_many(c, most, [&](T&& value) { got.push_back(std::move(value)); }, taken);
    EXPECT_EQ(taken, got.size() - before);
    EXPECT_EQ(taken != 0, code == status::ok);
    EXPECT_LE(taken, most == 0 ? 1 : most);
  });
  return code;
}

/// A channel of numbers, and tasks that have parked.
struct channel_scene {
  explicit channel_scene(std::uint32_t capacity, const runtime_config& config = puppet_config())
      : s(config), ch(open_channel(s, capacity)) {
    s.rt.run_until_idle();
    start = s.mark();
  }
  /// One poll.
  status send(puppet& p, batch<>& list) { return testing::poll_send_many(s, p, ch.tx, list); }
  status reserve(puppet& p, attempt<>& t) { return testing::poll_reserve(s, p, ch.tx, t); }
  status recv(puppet& p, std::uint32_t most, std::vector<int>& got) {
    return testing::poll_recv_many(s, p, ch.rx, most, got);
  }

  /// From now on: what is asked for below is what comes later.
  void mark() { start = s.mark(); }
  [[nodiscard]] std::vector<event_kind> told() { return s.channel_kinds(start); }
  [[nodiscard]] std::vector<event> told(event_kind kind) { return s.events(kind, start); }
  /// Who was woken by the channel; the stage's own wakes are no news.
  [[nodiscard]] told_wakes woken() {
    told_wakes out = s.wakes(start);
    std::erase_if(out, [](const told_wake& w) {
      return w.why != wake_code::slot && w.why != wake_code::message && w.why != wake_code::disconnected;
    });
    return out;
  }
  [[nodiscard]] leave_code how_it_left() {
    const std::vector<event> left = told(event_kind::send_waiter_removed);
    EXPECT_EQ(left.size(), 1U);
    return left.empty() ? leave_code::served : static_cast<leave_code>(low_half(left[0].b));
  }

  puppet_stage s;
  channel_ends<int> ch;
  puppet& a = s.task();
  puppet& b = s.task();
  puppet& d = s.task();
  std::uint64_t start = 0;
};

template <class T = int>
using tracked_attempt = attempt<T, tracked_permit<T>>;

/// A value that keeps a ledger of who is alive. Moved-from ones count no more; each number dies once.
struct roll {
  std::uint64_t alive = 0;
  std::vector<int> died;  // In order.
};
class guest {
 public:
  guest(int number, roll& book) noexcept : number_(number), book_(&book) { ++book.alive; }
  guest(guest&& from) noexcept : number_(from.number_), book_(std::exchange(from.book_, nullptr)) {}
  guest& operator=(guest&& from) noexcept {
    leave();
    number_ = from.number_;
    book_ = std::exchange(from.book_, nullptr);
    return *this;
  }
  ~guest() { leave(); }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  void leave() noexcept {
    if (book_ == nullptr) return;
    --book_->alive;
    book_->died.push_back(number_);
    book_ = nullptr;
  }
  int number_;
  roll* book_;
};

}  // namespace asx::testing
