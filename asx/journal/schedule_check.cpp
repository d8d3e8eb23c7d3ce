#include "asx/journal/schedule_check.hpp"

#include <utility>

#include "asx/base/hash.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/detail/schedule_model.hpp"

namespace asx {

using detail::say;

std::uint64_t recomputed_certificate::hash() const noexcept {
  const auto all = fields();
  return hash_fields(all);
}

schedule_checker::schedule_checker() : model_(std::make_unique<detail::schedule_model>()) {}
schedule_checker::~schedule_checker() = default;

void schedule_checker::take(const event& e) {
  model_->take(e);
}

schedule_verdict schedule_checker::finish() {
  return model_->finish();
}

schedule_verdict check_schedule(std::span<const event> events) {
  schedule_checker checker;
  for (const event& e : events) checker.take(e);
  return checker.finish();
}

std::string explain(const schedule_verdict& v) {
  const auto plural = [](std::uint64_t n, std::string_view one, std::string_view many) {
    return say(n, " ", n == 1 ? one : many);
  };
  std::string out = v.accepted() ? "accepted: " : plural(v.violation_count, "violation: ", "violations: ");
  out += plural(v.dispatches, "dispatch", "dispatches");
  out += say(" in ", plural(v.events, "event", "events"));
  if (v.events > 0) out += say(", ", v.first_seq, " to ", v.last_seq);
  out += "\n";
  for (const schedule_violation& bad : v.violations) {
    out += say("  event ", bad.seq, "  ", bad.rule, "  ", bad.text, "\n");
  }
  if (v.violation_count > v.violations.size()) {
    out += say("  and ", v.violation_count - v.violations.size(), " more\n");
  }
  for (const std::string& sentence : v.unknown) out += say("not known: ", sentence, "\n");

  const recomputed_certificate& c = v.certificate;
  out += "certificate";
  if (v.certificate_known) {
    out += "  ";
    append_value(out, field_type::hash, c.hash());
    out += say("  cancel ", c.cancel_dispatches, ", timed ", c.timed_dispatches, ", ready ", c.ready_dispatches,
               ", fallback ", c.fallback_cancel_dispatches, "; above the base limit ", c.base_limit_exceedances,
               ", above the limit in force ", c.effective_limit_exceedances, "; largest limit ",
               c.max_effective_limit_observed, "; ", plural(v.certificates_checked, "issued one", "issued ones"),
               " compared\n");
  } else {
    out += "  not known: dispatches are missing\n";
  }
  for (const lane_code lane : {lane_code::cancel, lane_code::timed, lane_code::ready}) {
    const lane_waits& w = v.waits_of(lane);
    if (w.entries == 0) continue;
    out += say("waits in ", name(lane), "  ", plural(w.entries, "task", "tasks"), "; longest ",
               plural(w.longest, "dispatch", "dispatches"), " (event ", w.longest_seq, ")");
    if (w.judged > 0)
      out += say("; nearest to its bound ", w.worst_wait, " of ", w.worst_bound, " (event ", w.worst_seq, ")");
    out += "\n";
  }
  return out;
}

}  // namespace asx
