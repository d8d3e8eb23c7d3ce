// asx/runtime/worker_step.hpp - one step of a worker: what is due, then one dispatch, then say what was done.
//
//     0  due timers, the deadline index, inputs from outside     host
//     1  cancel and timed, in the governor's order               scheduler::next
//     3  ready                                                     "
//     4  steal                                                     "
//     5  fallback cancel                                           "
//     -  stall poll, when nothing else can happen        host
//     6  idle: spin, yield and park are the drive's, until park_until
//
// INV-SC-07  timers that are due, and then deadlines that have passed, are dealt with before anything is dispatched.
// R-101  a worker is an object that somebody steps: the lab steps four on one thread, four threads step one each, and
//        both run this function.
// R-211  the order inside phase 0 is timers, deadline index, inbox, refused cancels.
//
// One call dispatches at most one task, and journals what was decided before the task is polled. The host is whoever
// owns the tasks; the step knows places only.
//
// Cancel points: none: a step does not wait.
// Threads: one thread steps a worker; different workers may be stepped at once if the scheduler has threads and the
//          host may be called by several, which the kernel may not; each then has its own step_context.
// Lifetime: the context's references outlive it.
#pragma once

#include <concepts>
#include <cstdint>

#include "asx/base/random.hpp"
#include "asx/base/time.hpp"
#include "asx/journal/journal.hpp"
#include "asx/sched/scheduler.hpp"

namespace asx {

static_assert(static_cast<int>(dispatch_source::stall) == static_cast<int>(lane_code::stall) &&
                  static_cast<int>(dispatch_source::fallback) == static_cast<int>(lane_code::fallback) &&
                  static_cast<int>(lane::ready) == static_cast<int>(lane_code::ready) &&
                  static_cast<int>(lane::cancel) == static_cast<int>(lane_code::cancel),
              "a journal names lanes by the scheduler's numbers");
static_assert(static_cast<int>(governor::drain_regions) == static_cast<int>(governor_code::drain_regions) &&
                  static_cast<int>(governor::meet_deadlines) == static_cast<int>(governor_code::meet_deadlines),
              "a journal names suggestions by the governor's numbers");

/// What a step needs of the one who owns the tasks.
template <class Host>
concept step_host =
    requires(Host& host, place& p, std::uint32_t worker, instant now, dispatch_source from, std::uint64_t dispatched) {
      /// The earliest moment at which phase 0 has something to do; none when there is none.
      { host.next_due() } noexcept -> std::same_as<instant>;
      /// Whether that moment may have come; asked at every step. True too often is a waste, false is a law broken.
      { host.may_be_due(now) } noexcept -> std::same_as<bool>;
      /// Phase 0 when next_due has come: timers in their order, then the index. How many of both.
      { host.pass_time(worker, now) } noexcept -> std::same_as<std::uint32_t>;
      /// Inputs from outside and refused cancels, if there are any.
      { host.take_inputs(worker, now) } noexcept -> std::same_as<void>;
      /// The number of the event that put it into its lane; 0 when the journal is off.
      { host.queued_by(p) } noexcept -> std::same_as<std::uint64_t>;
      /// Runs the task once. `dispatched` is the event of the dispatch, the cause of what follows.
      { host.poll(worker, p, from, now, dispatched) } noexcept -> std::same_as<void>;
      /// The next task of a round of stall polls, when there is to be one; null otherwise.
      { host.take_stalled(worker, now) } noexcept -> std::same_as<place*>;
      /// What weighs on the runtime, for the policy.
      { host.weigh() } noexcept -> std::same_as<pressure>;
    };

struct step_context {
  scheduler& sched;
  journal& log;
  pressure_policy policy{};
  std::uint32_t dispatches_until_look = 0;
};

struct step_report {
  bool is_idle = false;  // Nothing was dispatched.
  dispatch_source from = dispatch_source::ready;
  std::uint32_t passed = 0;  // Timers fired and deadlines passed in phase 0.
  std::uint32_t victim = no_worker;
  task_id task{};                        // Who was dispatched.
  instant park_until = instant::none();  // When idle: the earliest of the next timer and the next deadline.
  // Nothing was done: reentrant, asked for from inside a step; resource_exhausted, a full trace.
  status refused = status::ok;
};

/// Journalled, and in effect at the next dispatch. Nothing happens when it is in force already.
ASX_API void set_governor(step_context& context, governor g, instant now, task_id by = {},
                          std::uint16_t worker = 0) noexcept;
/// Puts the certificate of the run so far into the journal, for the checker, and returns it.
ASX_API fairness_certificate issue_certificate(step_context& context, instant now, task_id by = {}) noexcept;
ASX_API void reset_certificate(step_context& context, instant now, task_id by = {}) noexcept;
/// The first words of a run's journal: what a checker must know of the scheduler.
ASX_API void journal_configuration(const step_context& context, instant now) noexcept;

namespace detail {
/// Everything about a dispatch that is not the common case: theft, draw, limit. Then the dispatch itself.
ASX_API std::uint64_t journal_dispatch(step_context& context, std::uint32_t worker, const dispatch& d, instant now,
                                       std::uint64_t queued_by) noexcept;
ASX_API std::uint64_t journal_stall(step_context& context, std::uint32_t worker, const asx::place& p,
                                    instant now) noexcept;
ASX_API void journal_idle(step_context& context, std::uint32_t worker, instant now) noexcept;
ASX_API void journal_park(step_context& context, std::uint32_t worker, const dispatch& d, instant now,
                          instant park_until) noexcept;
}  // namespace detail

template <step_host Host>
step_report worker_step(step_context& context, std::uint32_t worker, Host& host, instant now) noexcept {
  step_report report;
  if (host.may_be_due(now) && host.next_due() <= now) report.passed = host.pass_time(worker, now);
  host.take_inputs(worker, now);
  if (context.policy.is_on) [[unlikely]] {
    if (context.dispatches_until_look == 0) {
      context.dispatches_until_look = context.policy.every;
      set_governor(context, context.policy.suggest(host.weigh(), context.sched.suggestion()), now, {},
                   static_cast<std::uint16_t>(worker));
    }
  }

  if (context.log.mode() == journal_mode::off) [[likely]] {
    if (place* const p = context.sched.next_plain(worker); p != nullptr) [[likely]] {
      if (context.dispatches_until_look != 0) --context.dispatches_until_look;
      report.task = p->task();
      host.poll(worker, *p, dispatch_source::ready, now, 0);
      return report;
    }
  }
  const dispatch d = context.sched.next(worker);
  if (d.who != nullptr) {
    if (context.dispatches_until_look != 0) --context.dispatches_until_look;
    report.from = d.from;
    report.victim = d.victim;
    report.task = d.who->task();
    std::uint64_t dispatched = 0;
    if (context.log.mode() != journal_mode::off) {
      dispatched = detail::journal_dispatch(context, worker, d, now, host.queued_by(*d.who));
    }
    host.poll(worker, *d.who, d.from, now, dispatched);
    return report;
  }

  if (d.went_idle) detail::journal_idle(context, worker, now);  // A stall poll is made by an idle worker.
  if (place* const stalled = host.take_stalled(worker, now); stalled != nullptr) {
    report.from = dispatch_source::stall;
    report.task = stalled->task();
    context.sched.count_stall(worker);
    host.poll(worker, *stalled, dispatch_source::stall, now, detail::journal_stall(context, worker, *stalled, now));
    return report;
  }
  report.is_idle = true;
  report.park_until = host.next_due();
  detail::journal_park(context, worker, d, now, report.park_until);
  return report;
}

/// Which virtual worker steps next: in turn, or as the seed draws.
class worker_order {
 public:
  enum class kind : std::uint8_t { round_robin, drawn };

  worker_order(kind how, std::uint64_t seed, std::uint32_t workers) noexcept
      : how_(how), workers_(workers), stream_(seed, 0, random_stream::worker_order) {
    ASX_ASSERT(workers != 0, "somebody has to step");
  }

  [[nodiscard]] std::uint32_t next(step_context& context, instant now) noexcept {
    if (workers_ == 1) return 0;
    if (how_ == kind::round_robin) {
      const std::uint32_t chosen = turn_;
      turn_ = turn_ + 1 == workers_ ? 0 : turn_ + 1;
      return chosen;
    }
    const auto chosen = static_cast<std::uint32_t>(stream_.next_below(workers_));
    context.log.append(
        event_kind::worker_chosen,
        {.time_ns = now.ns, .subject = chosen, .a = workers_, .worker = static_cast<std::uint16_t>(chosen)});
    return chosen;
  }

 private:
  kind how_;
  std::uint32_t workers_;
  std::uint32_t turn_ = 0;
  splitmix64 stream_;
};

}  // namespace asx
