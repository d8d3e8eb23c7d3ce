// How values are shown in failures.
#include "asx/scenario/detail/play.hpp"

namespace asx::scenario::detail {

std::string show_time(instant t) {
  return t.is_none() ? "none" : std::to_string(t.ns) + "ns";
}

std::string show(const budget& b) {
  const auto number = [](std::uint64_t n) { return n == unlimited ? std::string("unlimited") : std::to_string(n); };
  return "deadline " + show_time(b.deadline) + ", polls " + number(b.poll_quota) + ", cost " + number(b.cost_quota) +
         ", priority " + std::to_string(b.priority);
}

std::string show(const full_reason& r) {
  if (r.empty()) return "none";
  std::string out(name(r[0].kind));
  if (!r[0].message.empty()) out += " '" + r[0].message + "'";
  return out;
}

std::string show(const full_outcome& o) {
  switch (o.kind) {
    case outcome_kind::ok: return o.value ? "ok " + std::to_string(*o.value) : std::string("ok without a value");
    case outcome_kind::err:
      return "err " + std::string(name(o.failure.code)) + " (detail " + std::to_string(o.failure.detail) + ")";
    case outcome_kind::cancelled: return "cancelled (" + show(o.reason) + ")" + (o.overran ? ", overran" : "");
    case outcome_kind::panicked: return "panicked '" + o.panic + "'";
  }
  return {};
}

std::string show_statuses(std::span<const status> codes) {
  std::string out;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (i != 0) out += i + 1 == codes.size() ? " or " : ", ";
    out += name(codes[i]);
  }
  return out;
}

std::string show_all(std::span<const status> codes) {
  std::string out;
  for (const status s : codes) out += (out.empty() ? "" : ", ") + std::string(name(s));
  return out;
}

std::string show_list(std::span<const std::string> items) {
  std::string out = "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ", ";
    out += items[i];
  }
  return out + "]";
}

full_outcome full(const outcome<std::uint64_t>& from) {
  full_outcome out;
  out.kind = from.kind();
  if (from.has_value()) out.value = from.value();
  if (from.is_err()) out.failure = from.error();
  if (from.is_cancelled()) {
    const cancel_reason& r = from.reason();
    out.reason.push_back(
        {r.kind, std::string(r.message), r.timestamp, r.origin_region, r.origin_task, r.levels, r.truncated});
    out.overran = from.cancelled_by().cleanup_budget_exceeded;
    out.cleanup_error = from.cancelled_by().cleanup_error;
  }
  if (from.is_panicked()) out.panic = std::string(from.panic().text);
  return out;
}

std::string_view noun_of(std::uint32_t what) noexcept {
  switch (what) {
    case thing::region: return "a region";
    case thing::task: return "a task";
    case thing::slot: return "a slot";
    case thing::obligation: return "an obligation";
    case thing::timer: return "a timer";
    case thing::sender: return "a sender";
    case thing::receiver: return "a receiver";
    case thing::permit: return "a permit";
    case thing::cleanup: return "a cleanup action";
    case thing::mark: return "a mark";
    case thing::certificate: return "a certificate";
    case thing::wheel: return "a wheel";
    case thing::wheel_timer: return "a timer of a wheel";
    default: return "something else";
  }
}

}  // namespace asx::scenario::detail
