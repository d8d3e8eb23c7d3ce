// Runs, and what a runtime looks like.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/kernel/report.hpp"

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

/// Gathers a report, so that the program is not called for every word of it.
class pieces {
 public:
  pieces(asx_runtime& rt, asx_text_fn put, void* context) noexcept : rt_(rt), put_(put), context_(context) {}

  [[nodiscard]] text_port port() noexcept {
    return {this, [](void* self, std::string_view text) { static_cast<pieces*>(self)->add(text); }};
  }
  void hand_over() noexcept {
    if (size_ == 0) return;
    const hook_guard guard(rt_);
    put_(context_, bytes_.data(), std::exchange(size_, 0));
  }

 private:
  void add(std::string_view text) noexcept {
    while (!text.empty()) {  // asx: bounded by the length of the text
      const std::size_t room = std::min(text.size(), bytes_.size() - size_);
      std::copy_n(text.data(), room, bytes_.data() + size_);
      size_ += room;
      text.remove_prefix(room);
      if (size_ == bytes_.size()) hand_over();
    }
  }

  asx_runtime& rt_;
  asx_text_fn put_;
  void* context_;
  std::size_t size_ = 0;
  std::array<char, 512> bytes_{};
};

using report_fn = void (*)(const kernel& k, const text_port& out);

asx_status described(asx_runtime* runtime, report_fn write, asx_text_fn put, void* context) noexcept {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (put == nullptr) return ASX_E_INVALID_ARGUMENT;
  pieces out(*runtime, put, context);
  write(runtime->kernel(), out.port());
  out.hand_over();
  return ASX_OK;
}

}  // namespace

extern "C" {

asx_status asx_runtime_step(asx_runtime* runtime, asx_step_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  const step_report r = runtime->core.step();
  deliver_log(*runtime);
  return stepped(r, report);
}

asx_status asx_runtime_step_worker(asx_runtime* runtime, uint32_t worker, asx_step_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report) || worker >= runtime->core.sched().workers()) return ASX_E_INVALID_ARGUMENT;
  const step_report r = runtime->core.step(worker);
  deliver_log(*runtime);
  return stepped(r, report);
}

asx_status asx_runtime_run_until_idle(asx_runtime* runtime, uint64_t max_steps, asx_run_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  const run_result r = runtime->core.run_until_idle(max_steps);
  deliver_log(*runtime);
  return ran(r, report);
}

asx_status asx_runtime_run_until_quiescent(asx_runtime* runtime, uint64_t max_steps, asx_run_report* report) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (!has_size(report)) return ASX_E_INVALID_ARGUMENT;
  const run_result r = runtime->core.run_until_quiescent(max_steps);
  deliver_log(*runtime);
  return ran(r, report);
}

asx_status asx_runtime_next_deadline(asx_runtime* runtime, asx_time* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = runtime->core.next_due().ns;
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
  const rest_result r = runtime->core.come_to_rest(duration{grace_ns}, max_steps);
  deliver_log(*runtime);
  return rested(r, report);
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
  r.next_deadline = runtime->core.next_due().ns;
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

asx_status asx_runtime_describe(asx_runtime* runtime, asx_text_fn put, void* context) {
  return described(runtime, &describe_tree, put, context);
}

asx_status asx_runtime_describe_json(asx_runtime* runtime, asx_text_fn put, void* context) {
  return described(runtime, &describe_tree_json, put, context);
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
