#include "asx/runtime/worker_step.hpp"

namespace asx {

void set_governor(step_context& context, governor g, instant now, task_id by, std::uint16_t worker) noexcept {
  const governor before = context.sched.suggestion();
  if (g == before) return;
  context.sched.suggest(g);
  context.log.append(event_kind::governor_changed,
                     {.time_ns = now.ns,
                      .object = by.value,
                      .a = pack(static_cast<std::uint64_t>(g), static_cast<std::uint64_t>(before)),
                      .worker = worker});
}

fairness_certificate issue_certificate(step_context& context, instant now, task_id by) noexcept {
  const fairness_certificate certificate = context.sched.certificate();
  context.log.append(
      event_kind::certificate_issued,
      {.time_ns = now.ns, .object = by.value, .a = certificate.witness_hash(), .b = certificate.dispatches()});
  return certificate;
}

void reset_certificate(step_context& context, instant now, task_id by) noexcept {
  context.sched.reset_certificate();
  context.log.append(event_kind::certificate_reset, {.time_ns = now.ns, .object = by.value});
}

void journal_configuration(const step_context& context, instant now) noexcept {
  const sched_config& config = context.sched.config();
  context.log.append(event_kind::scheduler_configured,
                     {.time_ns = now.ns,
                      .a = pack(config.cancel_streak_limit, config.timed_streak_limit),
                      .b = static_cast<std::uint64_t>(config.ready_tiebreak)});
}

namespace detail {

std::uint64_t journal_dispatch(step_context& context, std::uint32_t worker, const dispatch& d, instant now,
                               std::uint64_t queued_by) noexcept {
  const auto on = static_cast<std::uint16_t>(worker);
  const place& p = *d.who;
  if (d.is_limited) {
    const std::uint64_t limit =
        d.full == lane::timed ? context.sched.config().timed_streak_limit : context.sched.effective_limit();
    context.log.append(event_kind::streak_limited,
                       {.time_ns = now.ns, .a = static_cast<std::uint64_t>(d.full), .b = limit, .worker = on});
  }
  if (d.candidates != 0) {
    context.log.append(event_kind::tie_broken, {.time_ns = now.ns, .a = pack(d.candidates, d.chosen), .worker = on});
  }
  if (d.victim != no_worker) {
    context.log.append(event_kind::task_stolen, {.time_ns = now.ns,
                                                 .subject = p.task().value,
                                                 .object = d.victim,
                                                 .a = pack(d.scanned, d.scan_start),
                                                 .b = p.insertion_seq(),
                                                 .worker = on});
  }
  return context.log.append(event_kind::task_dispatched, {.time_ns = now.ns,
                                                          .subject = p.task().value,
                                                          .object = p.deadline().is_none() ? 0 : p.deadline().ns,
                                                          .a = pack(p.priority(), static_cast<std::uint64_t>(d.from)),
                                                          .b = p.insertion_seq(),
                                                          .cause = queued_by,
                                                          .worker = on});
}

std::uint64_t journal_stall(step_context& context, std::uint32_t worker, const asx::place& p, instant now) noexcept {
  return context.log.append(event_kind::task_dispatched,
                            {.time_ns = now.ns,
                             .subject = p.task().value,
                             .a = pack(p.priority(), static_cast<std::uint64_t>(dispatch_source::stall)),
                             .worker = static_cast<std::uint16_t>(worker)});
}

void journal_idle(step_context& context, std::uint32_t worker, instant now) noexcept {
  context.log.append(event_kind::worker_idled,
                     {.time_ns = now.ns, .subject = worker, .worker = static_cast<std::uint16_t>(worker)});
}

// Diagnostics only: when a worker sleeps is the drive's business.
void journal_park(step_context& context, std::uint32_t worker, const dispatch& d, instant now,
                  instant park_until) noexcept {
  const auto on = static_cast<std::uint16_t>(worker);
  if (d.scanned != 0) {
    context.log.append(event_kind::steal_missed, {.time_ns = now.ns, .subject = worker, .a = d.scanned, .worker = on});
  }
  if (!d.went_idle) return;
  context.log.append(
      event_kind::worker_parked,
      {.time_ns = now.ns, .subject = worker, .a = park_until.is_none() ? 0 : park_until.ns, .worker = on});
}

}  // namespace detail

}  // namespace asx
