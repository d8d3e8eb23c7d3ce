// asx/runtime/testing.hpp - a toy that owns tasks, for tests of the step: no lifecycles, but real lanes, timers and
// journal.
//
// Tasks do what a function says at each poll: yield, wait, sleep, wake or cancel another, set the governor, end. What
// happens is journalled in the words of a real run, so that its journal can be judged like one.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/runtime/worker_step.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx::testing {

class toy_world {
 public:
  struct toy_task;
  /// One poll. What the task did to itself is read from its fields afterwards.
  using body = std::function<void(toy_world&, toy_task&)>;

  struct toy_task : place {
    using place::place;
    body run;
    std::uint64_t queued_by = 0;
    std::uint8_t own_priority = 128;
    std::uint8_t cleanup_priority = 0;
    instant due = instant::none();  // The deadline; none once it is cancelled.
    bool is_cancelled = false;
    bool is_live = true;
    bool yields = false;  // Set by a body that wants to be queued again.
    bool ends = false;
    std::uint32_t home = 0;
    timer_handle timer;
  };

  explicit toy_world(const sched_config& config, std::uint64_t journal_capacity = 1U << 20)
      : sched(config), wheel({.capacity = 4096}), context{sched, log} {
    EXPECT_EQ(log.open(heap_memory(), {.capacity = journal_capacity}), status::ok);
    EXPECT_EQ(sched.admit(config.max_places), status::ok);
    log.append(event_kind::runtime_started, {.subject = 1, .a = config.seed, .b = config.workers});
    journal_configuration(context, now);
  }
  ~toy_world() {
    for (toy_task& t : tasks) sched.remove(t);
  }
  toy_world(const toy_world&) = delete;
  toy_world& operator=(const toy_world&) = delete;

  toy_task& spawn(body run, std::uint8_t priority = 128, instant due = instant::none(), std::uint32_t worker = 0) {
    toy_task& t = tasks.emplace_back(task_id{tasks.size() + 1});
    t.run = std::move(run);
    t.own_priority = priority;
    t.due = due;
    t.home = worker;
    const std::uint64_t spawned = append(
        event_kind::task_spawned, {.subject = t.task().value, .object = 1, .b = pack(priority, due.is_none() ? 0 : 1)});
    if (!due.is_none()) {
      index.insert({due.ns, t.task().value});
      append(event_kind::deadline_indexed, {.subject = t.task().value, .object = 1, .a = due.ns, .cause = spawned});
    }
    wake(t, wake_code::spawn, spawned);
    return t;
  }

  void wake(toy_task& t, wake_code why, std::uint64_t cause = 0) {
    if (!t.is_live || &t == running || t.is_queued()) return;
    const lane into = t.is_cancelled ? lane::cancel : t.due.is_none() ? lane::ready : lane::timed;
    const std::uint8_t priority = t.is_cancelled ? t.cleanup_priority : t.own_priority;
    sched.push(t.home, t, into, priority, t.due);
    t.queued_by = append(event_kind::task_woken, {.subject = t.task().value,
                                                  .a = pack(place_of(t), static_cast<std::uint64_t>(why)),
                                                  .b = t.insertion_seq(),
                                                  .cause = cause});
  }

  void cancel(toy_task& t, std::uint8_t priority, event_kind index_event = event_kind::deadline_dropped) {
    if (!t.is_live) return;
    drop_deadline(t, index_event);
    t.is_cancelled = true;
    if (priority > t.cleanup_priority) t.cleanup_priority = priority;
    if (&t == running || !sched.push_cancel(t.home, t, t.cleanup_priority)) return;
    t.queued_by = append(event_kind::task_requeued,
                         {.subject = t.task().value, .a = pack(place_of(t), 0), .b = t.insertion_seq()});
  }

  void sleep(toy_task& t, instant until) {
    EXPECT_EQ(wheel.register_timer(until, {t.task().value, 0}, t.timer), status::ok);
    append(event_kind::timer_registered,
           {.subject = t.timer.id, .object = t.task().value, .a = until.ns, .b = ++timer_seq});
    timer_seqs[t.timer.id] = timer_seq;
  }

  /// One step of one worker.
  step_report step(std::uint32_t worker = 0) { return worker_step(context, worker, *this, now); }
  /// Round after round until no worker has anything to do.
  void run(worker_order& order, std::uint32_t max_steps = 1'000'000) {
    for (std::uint32_t idle = 0; idle < 4 * sched.workers() && max_steps-- != 0;) {
      idle = step(order.next(context, now)).is_idle && sched.empty() ? idle + 1 : 0;
    }
  }
  void move_time(instant to) {
    append(event_kind::input_time, {.a = to.ns, .b = now.ns});
    now = to;
  }

  [[nodiscard]] std::vector<event> events() const {
    std::vector<event> out(static_cast<std::size_t>(log.size()));
    out.resize(log.copy_tail(out));
    return out;
  }
  /// The dispatches so far as letters, such as "ccr": cancel, timed, ready, fallback, stall.
  [[nodiscard]] std::string letters() const {
    std::string out;
    for (const event& e : events()) {
      if (e.kind == event_kind::task_dispatched) out += "ctrfs"[high_half(e.a)];
    }
    return out;
  }

  // ---- what the step asks of its host
  instant next_due() noexcept {
    return earlier(wheel.next_deadline(), index.empty() ? instant::none() : instant{index.begin()->first});
  }
  bool may_be_due(instant) noexcept { return true; }
  std::uint32_t pass_time(std::uint32_t, instant at) noexcept {
    std::uint32_t passed = 0;
    for (std::array<expired_timer, 8> due; const std::size_t count = wheel.collect_expired(at, due);) {
      for (std::size_t i = 0; i < count; ++i, ++passed) {
        const std::uint64_t fired = append(event_kind::timer_fired, {.subject = due[i].handle.id,
                                                                     .object = due[i].token.record,
                                                                     .a = due[i].deadline.ns,
                                                                     .b = timer_seqs[due[i].handle.id]});
        wake(tasks[due[i].token.record - 1], wake_code::timer, fired);
      }
    }
    while (!index.empty() && index.begin()->first <= at.ns) {
      ++passed;
      cancel(tasks[index.begin()->second - 1], 200, event_kind::deadline_passed);
    }
    return passed;
  }
  void take_inputs(std::uint32_t, instant) noexcept {}
  std::uint64_t queued_by(place& p) noexcept { return static_cast<toy_task&>(p).queued_by; }
  void poll(std::uint32_t worker, place& p, dispatch_source, instant, std::uint64_t dispatched) noexcept {
    auto& t = static_cast<toy_task&>(p);
    t.home = worker;
    t.yields = t.ends = false;
    running = &t;
    const bool was_cancelled = t.is_cancelled;
    t.run(*this, t);
    running = nullptr;
    append(event_kind::poll_ended, {.subject = p.task().value,
                                    .object = 1,
                                    .a = static_cast<std::uint64_t>(t.ends ? poll_code::ready : poll_code::pending),
                                    .cause = dispatched});
    if (t.ends) {
      drop_deadline(t, event_kind::deadline_dropped);
      t.is_live = false;
    } else if (t.yields || t.is_cancelled != was_cancelled) {
      wake(t, wake_code::yield, dispatched);
    }
  }
  place* take_stalled(std::uint32_t, instant) noexcept { return nullptr; }
  pressure weigh() noexcept { return std::exchange(weight, {}); }

  scheduler sched;
  timer_wheel wheel;
  journal log;
  step_context context;
  instant now{};
  std::deque<toy_task> tasks;
  pressure weight{};

 private:
  std::uint64_t append(event_kind kind, event_fields fields) {
    fields.time_ns = now.ns;
    return log.append(kind, fields);
  }
  static std::uint64_t place_of(const toy_task& t) {
    return place_code(static_cast<lane_code>(t.queued_in()), t.priority(), t.worker());
  }
  void drop_deadline(toy_task& t, event_kind kind) {
    if (t.due.is_none()) return;
    index.erase({t.due.ns, t.task().value});
    append(kind, {.subject = t.task().value, .object = 1, .a = t.due.ns});
    t.due = instant::none();
  }

  std::set<std::pair<std::uint64_t, std::uint64_t>> index;  // Deadline, task: R-54's order.
  std::map<std::uint64_t, std::uint64_t> timer_seqs;
  std::uint64_t timer_seq = 0;
  toy_task* running = nullptr;
};

/// A world of tasks that do random things, for journals that are long and odd.
inline void run_random_world(toy_world& world, std::uint64_t seed, worker_order::kind how, std::uint32_t steps) {
  auto random = std::make_shared<splitmix64>(seed);
  const auto anybody = [random](toy_world& w) -> toy_world::toy_task& {
    return w.tasks[random->next_below(w.tasks.size())];
  };
  const toy_world::body behave = [random, anybody](toy_world& w, toy_world::toy_task& self) {
    switch (random->next_below(self.is_cancelled ? 14 : 20)) {
      case 0: self.ends = true; break;
      case 1:
      case 2: w.sleep(self, w.now + duration{random->next_below(5'000'000)}); break;
      case 3:
      case 4: {
        const auto priority = static_cast<std::uint8_t>(random->next_below(4) * 50 + 50);
        w.cancel(anybody(w), priority);
        break;
      }
      case 5:
      case 6:
      case 7: w.wake(anybody(w), wake_code::other); break;
      case 8: set_governor(w.context, static_cast<governor>(random->next_below(4)), w.now, self.task()); break;
      case 9:
        if (random->next_below(8) == 0) issue_certificate(w.context, w.now, self.task());
        if (random->next_below(40) == 0) reset_certificate(w.context, w.now, self.task());
        break;
      default: self.yields = true; break;
    }
  };
  worker_order order(how, seed, world.sched.workers());
  for (std::uint32_t i = 0; i < steps; ++i) {
    if (world.tasks.size() < 3 || (random->next_below(16) == 0 && world.tasks.size() < 3'000)) {
      const instant due =
          random->next_below(3) == 0 ? world.now + duration{random->next_below(20'000'000)} : instant::none();
      const auto worker = static_cast<std::uint32_t>(random->next_below(world.sched.workers()));
      world.spawn(behave, static_cast<std::uint8_t>(random->next_below(3) * 64), due, worker);
    }
    const step_report report = world.step(order.next(world.context, world.now));
    if (report.is_idle || random->next_below(10) == 0) {
      world.move_time(world.now + duration{random->next_below(2'000'000)});
    }
  }
  issue_certificate(world.context, world.now);
}

}  // namespace asx::testing
