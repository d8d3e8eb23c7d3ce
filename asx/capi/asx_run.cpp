// Runs, and what a runtime looks like.
#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

namespace {

asx_status stepped(const step_report& r, asx_step_report* report) noexcept {
  if (r.refused != status::ok) return out(r.refused);
  if (report == nullptr) return ASX_OK;
  return give_struct({0, r.is_idle, static_cast<asx_dispatch_source>(r.from), r.task.value, r.passed, r.park_until.ns},
                     report);
}

asx_status ran(const run_result& r, asx_run_report* report) noexcept {
  if (report != nullptr) static_cast<void>(give_struct({0, r.steps, r.next_due.ns}, report));
  return out(r.ended);
}

asx_status rested(const rest_result& r, asx_quiescence_report* report) noexcept {
  if (report != nullptr) {
    static_cast<void>(
        give_struct({0, static_cast<asx_status>(r.quiescence.first), r.quiescence.failed, r.steps}, report));
  }
  return out(r.quiescence.first);
}

}  // namespace

extern "C" {

asx_status asx_runtime_step(asx_runtime* runtime, asx_step_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  return stepped(runtime->core.step(), report);
}

asx_status asx_runtime_step_worker(asx_runtime* runtime, uint32_t worker, asx_step_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report) || worker >= runtime->core.sched().workers()) return ASX_E_INVALID_ARGUMENT;
  return stepped(runtime->core.step(worker), report);
}

asx_status asx_runtime_run_until_idle(asx_runtime* runtime, uint64_t max_steps, asx_run_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  return ran(runtime->core.run_until_idle(max_steps), report);
}

asx_status asx_runtime_run_until_quiescent(asx_runtime* runtime, uint64_t max_steps, asx_run_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  return ran(runtime->core.run_until_quiescent(max_steps), report);
}

asx_status asx_runtime_next_deadline(asx_runtime* runtime, asx_time* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = runtime->kernel().next_due().ns;
  return ASX_OK;
}

asx_status asx_runtime_now(asx_runtime* runtime, asx_time* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = runtime->core.now().ns;
  return ASX_OK;
}

asx_status asx_runtime_advance(asx_runtime* runtime, uint64_t by_ns) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if ((runtime->core.now() + duration{by_ns}).is_none()) return ASX_E_INVALID_ARGUMENT;
  return out(runtime->core.advance(duration{by_ns}));
}

asx_status asx_runtime_begin_shutdown(asx_runtime* runtime, asx_cancel_kind kind, const char* message) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!is_kind(kind)) return ASX_E_INVALID_ARGUMENT;
  return out(runtime->kernel().begin_shutdown({in(kind), text(message)}));
}

asx_status asx_runtime_shutdown(asx_runtime* runtime, uint64_t grace_ns, uint64_t max_steps,
                                asx_quiescence_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  if ((runtime->core.now() + duration{grace_ns}).is_none()) return ASX_E_INVALID_ARGUMENT;
  return rested(runtime->core.come_to_rest(duration{grace_ns}, max_steps), report);
}

asx_status asx_runtime_check_quiescence(asx_runtime* runtime, asx_quiescence_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  return rested({runtime->kernel().check_quiescence(), 0}, report);
}

asx_status asx_runtime_hold(asx_runtime* runtime) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  runtime->kernel().take_foreign_hold();
  ++runtime->holds;
  return ASX_OK;
}

asx_status asx_runtime_unhold(asx_runtime* runtime) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (runtime->holds == 0) return ASX_E_INVALID_ARGUMENT;
  --runtime->holds;
  runtime->kernel().release_foreign_hold();
  return ASX_OK;
}

asx_status asx_runtime_inspect(asx_runtime* runtime, asx_runtime_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (report == nullptr) return ASX_E_INVALID_ARGUMENT;
  kernel& k = runtime->kernel();
  asx_runtime_report r{};
  r.now = runtime->core.now().ns;
  r.next_deadline = k.next_due().ns;
  r.live_tasks = k.live_tasks();
  r.live_regions = k.live_regions();
  r.live_timers = k.live_timers();
  r.foreign_holds = k.foreign_holds();
  r.nominal_bytes = k.nominal_used();
  r.memory_bytes = runtime->head == 0 ? 0 : runtime->head + runtime->bump.used();
  r.violations = k.ghosts().violations();
  r.governor = static_cast<asx_governor>(runtime->core.sched().suggestion());
  r.is_shutting_down = k.is_shutting_down();
  r.has_ended = runtime->core.has_ended();
  return give_struct(r, report);
}

asx_status asx_runtime_state_hash(asx_runtime* runtime, uint64_t* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = runtime->kernel().state_hash();
  return ASX_OK;
}

asx_status asx_runtime_set_governor(asx_runtime* runtime, asx_governor to) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (static_cast<std::uint32_t>(to) > ASX_GOVERNOR_DRAIN_REGIONS) return ASX_E_INVALID_ARGUMENT;
  runtime->core.set_governor(static_cast<governor>(to));
  return ASX_OK;
}

asx_status asx_runtime_certificate(asx_runtime* runtime, asx_fairness_certificate* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr || !has_size(out)) return ASX_E_INVALID_ARGUMENT;
  const fairness_certificate c = runtime->core.certificate();
  return give_struct(
      {0, c.cancel_dispatches, c.timed_dispatches, c.ready_dispatches, c.fallback_cancel_dispatches,
       c.base_limit_exceedances, c.effective_limit_exceedances, c.max_effective_limit_observed, c.witness_hash()},
      out);
}

asx_status asx_runtime_reset_certificate(asx_runtime* runtime) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  runtime->core.reset_certificate();
  return ASX_OK;
}

asx_status asx_panic(asx_runtime* runtime, const char* why) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  runtime->kernel().panic(text(why));
  return ASX_OK;
}

}  // extern "C"
