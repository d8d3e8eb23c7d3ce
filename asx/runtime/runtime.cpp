#include "asx/runtime/runtime.hpp"

#include <algorithm>

#include "asx/kernel/report.hpp"

namespace asx {
namespace {

sched_config scheduling(const runtime_config& c) {
  return {.seed = c.seed,
          .workers = c.workers,
          .max_places = c.contract.max_tasks,
          .cancel_streak_limit = c.cancel_streak_limit,
          .timed_streak_limit = c.timed_streak_limit,
          .ready_tiebreak = c.ready_tiebreak};
}

wheel_config timing(const runtime_config& c) {
  return {.capacity = c.contract.max_timers, .coalesce_window = c.coalesce_window};
}

status check(const runtime_config& c) {
  if (scheduler::validate(scheduling(c)) != status::ok) return status::invalid_argument;
  if (timer_wheel::validate(timing(c)) != status::ok) return status::invalid_argument;
  const bool is_bad = c.contract.version != 1 || c.contract.max_regions == 0 || c.contract.cause_message_bytes > 4008;
  return is_bad ? status::invalid_argument : status::ok;
}

constexpr std::uint64_t events_of_a_step = 64;     // More than a dispatch leaves, but for a cascade.
constexpr std::uint64_t steps_between_looks = 32;  // Plain ones, between two looks at the clock.
constexpr std::uint32_t steps_before_plain = 16;   // After one that was not.

}  // namespace

runtime::runtime(const runtime_config& config) noexcept
    : config_(config),
      started_(check(config)),
      sched_(scheduling(config), config.memory),
      wheel_(timing(config), config.memory),
      kernel_(config.contract, config.behaviour, sched_, wheel_, log_, config.memory),
      context_{sched_, log_, config.policy},
      order_(config.order, config.seed, config.workers == 0 ? 1 : config.workers) {
  if (config_.clock.read == nullptr) config_.clock = virtual_time_.port();
  if (config_.park.park == nullptr) config_.park = thread_park();
  if (started_ != status::ok) return;
  if (config.journaling != journal_mode::off) {
    started_ = log_.open(
        config.memory,
        {.mode = config.journaling, .overflow = config.contract.overflow, .capacity = config.contract.max_trace_events},
        config.sink);
  }
  if (started_ == status::ok && !kernel_.ready()) started_ = status::resource_exhausted;
  if (started_ != status::ok) return;
  kernel_.set_time(now());
  log_.append(event_kind::runtime_started, {.time_ns = now().ns, .subject = 1, .a = config.seed, .b = config.workers});
  journal_configuration(context_, now());
}

runtime::~runtime() {
  if (started_ != status::ok || has_ended_) return;
  const shutdown_result left = shutdown();
  if (left.is_quiescent()) return;
  kernel_.fatal("a runtime was destroyed and did not come to rest; still alive:\n" + left.survivors);
}

instant runtime::now() const noexcept {
  return is_virtual() ? virtual_time_.now() : config_.clock.now();
}

status runtime::advance(duration by) noexcept {
  if (!is_virtual()) return status::invalid_argument;
  jump_to(now() + by);
  return status::ok;
}

void runtime::jump_to(instant moment) noexcept {
  const instant before = now();
  virtual_time_.advance_to(moment);
  if (now() == before) return;
  log_.append(event_kind::input_time, {.time_ns = now().ns, .a = now().ns, .b = before.ns});
  kernel_.set_time(now());
}

void runtime::wait_until(instant moment) noexcept {
  if (is_virtual()) return jump_to(moment);
  config_.park.park(config_.park.context, now(), moment);
  kernel_.set_time(now());
}

step_report runtime::step() noexcept {
  if (kernel_.is_inside()) return step(0);  // Not even an order is drawn.
  return step(order_.next(context_, now()));
}

step_report runtime::step(std::uint32_t worker) noexcept {
  if (kernel_.is_inside()) {
    step_report refused;
    refused.is_idle = true;
    refused.refused = status::reentrant;
    return refused;
  }
  return worker_step(context_, worker, kernel_, now());
}

// Steps until every worker has found nothing in turn. `until`: the moment past which time is not moved; 0 for not at
// all.
run_result runtime::run(std::uint64_t max_steps, instant until) noexcept {
  run_result out;
  if (started_ != status::ok) return {started_, 0, instant::none()};
  if (kernel_.is_inside()) return {status::reentrant, 0, kernel_.next_due()};
  const bool is_alone = config_.workers == 1 && !config_.policy.is_on;
  const bool rejects = config_.contract.overflow == trace_overflow::reject;
  std::uint32_t until_plain = 1;
  std::uint32_t idle = 0;  // Steps in a row that found nothing; drawn orders need more of them to be sure.
  while (out.steps < max_steps) {
    if (rejects && log_.reserve(events_of_a_step) != status::ok) {
      out.ended = status::resource_exhausted;
      break;
    }
    const instant at = now();
    if (is_alone && --until_plain == 0) {
      const std::uint64_t most = std::min(max_steps - out.steps, steps_between_looks);
      const std::uint64_t done = kernel_.run_plain(0, at, most);
      out.steps += done;
      until_plain = done == 0 ? steps_before_plain : 1;  // Where nothing is plain, it is not looked for at every step.
      if (done != 0) idle = 0;
      if (done == most) continue;
    }
    ++out.steps;
    if (!worker_step(context_, order_.next(context_, at), kernel_, at).is_idle) [[likely]] {
      idle = 0;
      continue;
    }
    if (++idle < config_.workers || !sched_.empty()) continue;
    const instant due = kernel_.next_due();
    if (due.is_none() || due > until) break;
    out.steps -= idle;  // Waiting is no work: a slow clock must not use up the steps.
    wait_until(due);
    idle = 0;
  }
  out.next_due = kernel_.next_due();
  if (out.ended != status::ok) return out;
  if (out.steps == max_steps && (idle < config_.workers || !sched_.empty())) {
    out.ended = status::step_limit;
    log_.append(event_kind::step_limit_reached, {.time_ns = now().ns, .a = max_steps});
  } else {
    log_.append(event_kind::run_idle,
                {.time_ns = now().ns, .a = kernel_.live_tasks(), .b = out.next_due.is_none() ? 0 : out.next_due.ns});
  }
  return out;
}

run_result runtime::run_until_idle(std::uint64_t max_steps) noexcept {
  return run(max_steps, instant{});
}

run_result runtime::run_until_quiescent(std::uint64_t max_steps) noexcept {
  return run(max_steps, instant{UINT64_MAX - 1});
}

shutdown_result runtime::shutdown(duration grace, std::uint64_t max_steps) {
  shutdown_result out;
  if (started_ != status::ok) return out;
  if (kernel_.is_inside()) {
    out.quiescence = {status::reentrant, 1};
    return out;
  }
  kernel_.set_time(now());
  log_.append(event_kind::shutdown_begun, {.time_ns = now().ns, .subject = 1, .a = grace.ns});
  const instant end = now() + grace;
  if (grace.ns != 0) {
    static_cast<void>(kernel_.begin_shutdown({cancel_kind::user, {}}));
    const std::uint64_t half = max_steps / 2;  // The rest is for those who need to be told twice.
    while (kernel_.check_quiescence().failed != 0 && now() < end) {
      const run_result ran = run(half - out.steps, end);
      out.steps += ran.steps;
      if (ran.ended != status::ok) break;
      if (kernel_.check_quiescence().failed != 0) wait_until(end);
    }
  }
  if (kernel_.check_quiescence().failed != 0 || grace.ns == 0) {
    log_.append(event_kind::shutdown_strengthened, {.time_ns = now().ns, .subject = 1, .a = kernel_.live_tasks()});
    static_cast<void>(kernel_.begin_shutdown({cancel_kind::shutdown, {}}));
    const run_result ran = run(max_steps - out.steps, instant{});
    out.steps += ran.steps;
  }
  out.quiescence = kernel_.check_quiescence();
  log_.append(event_kind::quiescence_checked,
              {.time_ns = now().ns,
               .subject = 1,
               .a = pack(static_cast<std::uint64_t>(out.quiescence.first), out.quiescence.failed)});
  if (!out.is_quiescent()) {
    out.survivors = describe_survivors(kernel_);
    return out;
  }
  issue_certificate(context_, now());
  log_.append(event_kind::runtime_ended,
              {.time_ns = now().ns, .subject = 1, .a = static_cast<std::uint64_t>(out.quiescence.first)});
  log_.settle();
  has_ended_ = true;
  return out;
}

void runtime::set_governor(governor g) noexcept {
  asx::set_governor(context_, g, now());
}
fairness_certificate runtime::certificate() noexcept {
  return issue_certificate(context_, now());
}
void runtime::reset_certificate() noexcept {
  asx::reset_certificate(context_, now());
}

}  // namespace asx
