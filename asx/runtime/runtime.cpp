#include "asx/runtime/runtime.hpp"

#include <algorithm>
#include <utility>

#include "asx/kernel/extension.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/metrics.hpp"
#include "asx/runtime/poll_probe.hpp"

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

constexpr std::uint64_t events_of_a_step = 64;    // More than a dispatch leaves, but for a cascade.
constexpr std::uint64_t plain_in_a_row = 32;      // Before everything else is looked at again.
constexpr std::uint32_t steps_before_plain = 16;  // After one that was not.

}  // namespace

runtime_core::runtime_core(const runtime_config& config) noexcept
    : config_(config),
      started_(check(config)),
      sched_(scheduling(config), config.memory),
      wheel_(timing(config), config.memory),
      kernel_(config.contract, config.behaviour, sched_, wheel_, log_, config.memory),
      inbox_(kernel_, config.park.park == nullptr ? parker_.port() : config.park, config.max_foreign,
             {this,
              [](void* self, std::uint64_t by) noexcept { static_cast<runtime_core*>(self)->close_from_outside(by); }},
             config.arrivals, config.clock.read != nullptr),
      context_{sched_, log_, config.policy},
      order_(config.order, config.seed, config.workers == 0 ? 1 : config.workers) {
  if (config_.clock.read == nullptr) config_.clock = virtual_time_.port();
  if (config_.park.park == nullptr) config_.park = parker_.port();
  if (started_ != status::ok) return;
  if (config.journaling != journal_mode::off) {
    started_ = log_.open(
        config.memory,
        {.mode = config.journaling, .overflow = config.contract.overflow, .capacity = config.contract.max_trace_events},
        config.sink);
  }
  if (started_ == status::ok && !kernel_.ready()) started_ = status::resource_exhausted;
  if (started_ != status::ok) return;
  if (config.measure != nullptr) {
    kernel_.watch_cancels(
        {config.measure,
         [](void* m, duration after) noexcept { static_cast<metrics*>(m)->acknowledge_ns.add(after.ns); },
         [](void* m, duration after) noexcept { static_cast<metrics*>(m)->complete_ns.add(after.ns); }});
  }
  kernel_.set_time(now());
  log_.append(event_kind::runtime_started,
              {.time_ns = kernel_.now().ns, .subject = 1, .a = config.seed, .b = config.workers});
  journal_configuration(context_, kernel_.now());
}

runtime::~runtime() {
  if (start_status() != status::ok || has_ended()) return;
  const shutdown_result left = shutdown();
  if (left.is_quiescent()) return;
  kernel().fatal("a runtime was destroyed and did not come to rest; still alive:\n" + left.survivors);
}

instant runtime_core::now() const noexcept {
  const inside here(kernel_);
  return is_virtual() ? virtual_time_.now() : config_.clock.now();
}

status runtime_core::advance(duration by) noexcept {
  const inside here(kernel_);
  if (!is_virtual()) return status::invalid_argument;
  jump_to(now() + by);
  return status::ok;
}

void runtime_core::jump_to(instant moment) noexcept {
  const instant before = now();
  virtual_time_.advance_to(moment);
  if (now() == before) return;
  log_.append(event_kind::input_time, {.time_ns = now().ns, .a = now().ns, .b = before.ns});
  kernel_.set_time(now());
  read_ahead_ = instant::none();
}

// Nothing is to be done now. False: nothing will be, or it is not to be waited for. What is decided here depends on the
// time of the last step alone, which every event after it shows: a replay decides the same.
bool runtime_core::wait(const patience& how) noexcept {
  const std::optional<instant> until = worth_waiting(how);
  if (!until) return false;
  if (is_virtual()) {
    jump_to(*until);
    return true;
  }
  if (config_.measure != nullptr) ++config_.measure->parks;
  config_.park.park(config_.park.context, now(), *until);
  return true;
}

std::optional<instant> runtime_core::worth_waiting(const patience& how) noexcept {
  const instant due = kernel_.next_due();
  const instant forced = end_of_grace();
  if (is_virtual()) {
    const instant next = earlier(due, forced);
    if (next.is_none() || next > how.due_until) return std::nullopt;
    return next;
  }
  const bool waits_for_others = (how.for_others && kernel_.foreign_holds() != 0 && kernel_.live_tasks() != 0) ||
                                (how.for_calls && inbox_.calls() != 0);
  const bool something_comes = earlier(due, forced) <= how.due_until || (waits_for_others && inbox_.may_hear()) ||
                               (how.for_the_end && kernel_.check_quiescence().failed != 0);
  if (!something_comes || how.limit <= kernel_.now()) return std::nullopt;
  return earlier(earlier(due, how.limit), forced_at_);
}

std::uint64_t runtime_core::step_plainly(std::uint32_t worker, std::uint64_t& left, instant until) noexcept {
  if (config_.policy.is_on || is_observed()) return 0;
  const clock_port& c = config_.clock;
  const time_source time = is_virtual() ? time_source{} : time_source{c.context, c.read, c.may_be_late};
  kernel_.set_time(now());
  return kernel_.run_plain(worker, time, left, plain_in_a_row, earlier(until, forced_at_));
}

status runtime_core::before_step() noexcept {
  if (config_.contract.overflow == trace_overflow::reject && log_.reserve(events_of_a_step) != status::ok) {
    return status::resource_exhausted;
  }
  if (forced_at_ <= kernel_.now()) [[unlikely]]
    strengthen();
  return status::ok;
}

// R-213, asked for by a foreign handle. The first time begins the grace, the second one ends it.
void runtime_core::close_from_outside(std::uint64_t handle) noexcept {
  static_cast<void>(extension::next_input(kernel_));
  const bool is_first = !kernel_.is_shutting_down();
  const cancel_kind kind = is_first && config_.grace.ns != 0 ? cancel_kind::user : cancel_kind::shutdown;
  const std::uint64_t asked =
      extension::note_arrival(kernel_, event_kind::input_close, 1, 0, static_cast<std::uint64_t>(kind), handle);
  extension::following(kernel_, asked, [&] {
    if (is_first) {
      log_.append(event_kind::shutdown_begun,
                  {.time_ns = kernel_.now().ns, .subject = 1, .a = config_.grace.ns, .cause = asked});
    }
    if (kind == cancel_kind::shutdown) return strengthen();
    forced_at_ = kernel_.now() + config_.grace;
    static_cast<void>(kernel_.begin_shutdown({cancel_kind::user, "asked from outside"}));
  });
}

void runtime_core::strengthen() noexcept {
  forced_at_ = instant::none();
  log_.append(event_kind::shutdown_strengthened,
              {.time_ns = kernel_.now().ns, .subject = 1, .a = kernel_.live_tasks()});
  static_cast<void>(kernel_.begin_shutdown({cancel_kind::shutdown, {}}));
}

bool runtime_core::has_room_for_a_step() const noexcept {
  return config_.contract.overflow != trace_overflow::reject || log_.reserve(events_of_a_step) == status::ok;
}

status runtime_core::prepare_step() noexcept {
  if (kernel_.is_inside()) return status::reentrant;
  if (!has_room_for_a_step()) return status::resource_exhausted;
  if (forced_at_.is_none()) [[likely]]
    return status::ok;
  if (const instant at = now(); forced_at_ <= at) {
    kernel_.set_time(at);
    strengthen();
  }
  return status::ok;
}

step_report runtime_core::step() noexcept {
  const inside here(kernel_);
  if (const status s = prepare_step(); s != status::ok) return {.is_idle = true, .refused = s};
  step_report out = next_step();
  if (out.is_idle) out.park_until = next_due();
  return out;
}

step_report runtime_core::step(std::uint32_t worker) noexcept {
  const inside here(kernel_);
  if (const status s = prepare_step(); s != status::ok) return {.is_idle = true, .refused = s};
  step_report out = take_step(worker);
  if (out.is_idle) out.park_until = next_due();
  return out;
}

step_report runtime_core::next_step() noexcept {
  if (config_.workers == 1) return take_step(0);  // No order is drawn, and no clock is read for it.
  return take_step(order_.next(context_, read_ahead_.is_none() ? now() : read_ahead_));
}

step_report runtime_core::take_step(std::uint32_t worker) noexcept {
  if (is_observed()) [[unlikely]]
    return observed_step(worker);
  return worker_step(context_, worker, kernel_, now());
}

namespace {

// The kernel, with somebody who looks on at each poll.
struct observed_host {
  kernel& host;
  const scheduler& sched;
  clock_port clock;
  metrics* measure;
  poll_probe* const& attached;  // A poll may take the watchdog away that looks at it, and put another one there.
  bool has_worked = false;      // In phase 0: the poll begins later than the step.
  instant ended = instant::none();

  instant next_due() noexcept { return host.next_due(); }
  bool may_be_due(instant now) noexcept { return host.may_be_due(now); }
  std::uint32_t pass_time(std::uint32_t worker, instant now) noexcept {
    has_worked = true;
    return host.pass_time(worker, now);
  }
  void take_inputs(std::uint32_t worker, instant now) noexcept {
    has_worked = has_worked || host.has_inputs();
    host.take_inputs(worker, now);
  }
  std::uint64_t queued_by(place& p) noexcept { return host.queued_by(p); }
  place* take_stalled(std::uint32_t worker, instant now) noexcept { return host.take_stalled(worker, now); }
  pressure weigh() noexcept { return host.weigh(); }
  void poll(std::uint32_t worker, place& p, dispatch_source from, instant now, std::uint64_t dispatched) noexcept {
    const instant began = has_worked ? clock.now() : now;
    std::uint32_t turn = 0;  // No probe has begun this poll.
    if (attached != nullptr) {
      const auto& t = extension::task_at(p);
      turn = attached[worker].begin(t.task(), t.name.view(), t.site, began);
    }
    if (measure != nullptr) measure->ready_depth.add(sched.depth(worker, lane::ready));
    host.poll(worker, p, from, now, dispatched);
    if (turn != 0 && attached != nullptr) attached[worker].end(turn);
    if (measure == nullptr) return;
    ended = clock.now();
    ++measure->polls[static_cast<std::size_t>(from)];
    measure->poll_ns.add((ended - began).ns);
  }
};

}  // namespace

step_report runtime_core::observed_step(std::uint32_t worker) noexcept {
  const instant ahead = std::exchange(read_ahead_, instant::none());
  observed_host host{kernel_, sched_, config_.clock, config_.measure, probe_};
  const step_report out = worker_step(context_, worker, host, ahead.is_none() ? now() : ahead);
  if (is_running_ && crew_.run == nullptr) read_ahead_ = host.ended;
  if (config_.measure != nullptr) config_.measure->passed += out.passed;
  return out;
}

const metrics& runtime_core::measured() noexcept {
  const inside here(kernel_);
  ASX_ASSERT(config_.measure != nullptr, "what was measured is read where measuring was asked for");
  metrics& m = *config_.measure;
  m.wakes = 0;
  m.queued = {};
  for (std::uint32_t w = 0; w < sched_.workers(); ++w) {  // asx: bounded by the number of workers
    m.wakes += sched_.insertions(w);
    for (std::size_t i = 0; i < m.queued.size(); ++i) m.queued[i] += sched_.depth(w, static_cast<lane>(i));
  }
  m.live_tasks = kernel_.live_tasks();
  m.live_regions = kernel_.live_regions();
  m.live_timers = kernel_.live_timers();
  m.foreign_holds = kernel_.foreign_holds();
  return m;
}

// Steps until every worker has found nothing in turn, and there is nothing to wait for.
run_result runtime_core::run(std::uint64_t max_steps, const patience& how) noexcept {
  run_result out;
  if (started_ != status::ok) return {started_, 0, instant::none()};
  {
    const inside here(kernel_);
    if (kernel_.is_inside()) return {status::reentrant, 0, next_due()};
    is_running_ = true;
  }
  const bool is_alone = config_.workers == 1;
  std::uint32_t until_plain = 1;
  std::uint32_t idle = 0;  // Steps in a row that found nothing; drawn orders need more of them to be sure.
  instant waited_at = instant::none();
  if (crew_.run != nullptr) out = crew_.run(crew_.context, max_steps, how);
  while (crew_.run == nullptr && out.steps < max_steps) {
    if (!has_room_for_a_step()) {
      out.ended = status::resource_exhausted;
      break;
    }
    if (forced_at_ <= kernel_.now()) [[unlikely]]
      strengthen();
    if (how.limit <= kernel_.now()) break;  // A grace is over, whoever is still busy.
    if (is_alone && !is_observed() && --until_plain == 0) {
      std::uint64_t left = max_steps - out.steps;
      const std::uint64_t done = step_plainly(0, left, how.limit);
      out.steps += done;
      until_plain = done == 0 ? steps_before_plain : 1;  // Where nothing is plain, it is not looked for at every step.
      if (done != 0) {                                   // The grace may be over by now.
        idle = 0;
        continue;
      }
    }
    ++out.steps;
    if (!next_step().is_idle) [[likely]] {
      idle = 0;
      continue;
    }
    if (++idle < config_.workers || !sched_.empty()) continue;
    const bool has_stood_still = kernel_.now() == std::exchange(waited_at, kernel_.now());
    if (!wait(how)) break;
    // Waiting is no work, and a slow clock must not use up the steps. One that stood still over the wait before this
    // must: nothing else would end the run.
    if (!has_stood_still) out.steps -= idle;
    idle = 0;
  }
  const inside here(kernel_);
  is_running_ = false;
  read_ahead_ = instant::none();
  out.next_due = next_due();
  if (out.ended != status::ok) return out;
  kernel_.set_time(now());  // What comes from outside from now on is not before the end of this run.
  if (out.steps >= max_steps && (idle < config_.workers || !sched_.empty())) {
    out.ended = status::step_limit;
    log_.append(event_kind::step_limit_reached, {.time_ns = kernel_.now().ns, .a = max_steps});
  } else {
    const instant due = kernel_.next_due();
    log_.append(event_kind::run_idle,
                {.time_ns = kernel_.now().ns, .a = kernel_.live_tasks(), .b = due.is_none() ? 0 : due.ns});
  }
  return out;
}

run_result runtime_core::run_until_idle(std::uint64_t max_steps) noexcept {
  return run(max_steps, {});
}

run_result runtime_core::run_until_quiescent(std::uint64_t max_steps) noexcept {
  return run(max_steps, {.due_until = instant{UINT64_MAX - 1}, .for_others = true});
}

rest_result runtime_core::come_to_rest(duration grace, std::uint64_t max_steps) noexcept {
  rest_result out;
  if (started_ != status::ok) return out;
  const inside here(kernel_);
  if (kernel_.is_inside() || (crew_.is_busy != nullptr && crew_.is_busy(crew_.context))) {
    out.quiescence = {status::reentrant, 1};
    return out;
  }
  kernel_.set_time(now());
  log_.append(event_kind::shutdown_begun, {.time_ns = kernel_.now().ns, .subject = 1, .a = grace.ns});
  const instant end = kernel_.now() + grace;
  if (grace.ns != 0) {
    static_cast<void>(kernel_.begin_shutdown({cancel_kind::user, {}}));
    const std::uint64_t half = max_steps / 2;  // The rest is for those who need to be told twice.
    while (kernel_.check_quiescence().failed != 0 && kernel_.now() < end) {
      const run_result ran = run(half - out.steps, {.due_until = end, .for_the_end = true, .limit = end});
      out.steps += ran.steps;
      if (ran.ended != status::ok) break;
      if (is_virtual() && kernel_.check_quiescence().failed != 0) jump_to(end);
    }
  }
  if (kernel_.check_quiescence().failed != 0 || grace.ns == 0) {
    strengthen();
    const run_result ran = run(max_steps - std::min(max_steps, out.steps), {.for_calls = true});
    out.steps += ran.steps;
  }
  out.quiescence = kernel_.check_quiescence();
  log_.append(event_kind::quiescence_checked,
              {.time_ns = kernel_.now().ns,
               .subject = 1,
               .a = pack(static_cast<std::uint64_t>(out.quiescence.first), out.quiescence.failed)});
  if (!out.is_quiescent()) return out;
  issue_certificate(context_, kernel_.now());
  log_.append(event_kind::runtime_ended,
              {.time_ns = kernel_.now().ns, .subject = 1, .a = static_cast<std::uint64_t>(out.quiescence.first)});
  log_.settle();
  has_ended_ = true;
  return out;
}

shutdown_result runtime::shutdown(duration grace, std::uint64_t max_steps) {
  shutdown_result out{come_to_rest(grace, max_steps), {}};
  if (!out.is_quiescent() && out.quiescence.first != status::reentrant) out.survivors = describe_survivors(kernel());
  return out;
}

void runtime_core::set_governor(governor g) noexcept {
  const inside here(kernel_);
  kernel_.set_time(now());
  asx::set_governor(context_, g, kernel_.now());
}
fairness_certificate runtime_core::certificate() noexcept {
  const inside here(kernel_);
  kernel_.set_time(now());
  return issue_certificate(context_, kernel_.now());
}
void runtime_core::reset_certificate() noexcept {
  const inside here(kernel_);
  kernel_.set_time(now());
  asx::reset_certificate(context_, kernel_.now());
}

}  // namespace asx
