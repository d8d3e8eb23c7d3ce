// The laws, and the names of everything.
#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/model/lifecycle.hpp"

using namespace asx;
using namespace asx::capi;

namespace {

template <class Table, class State>
const char* name_in(const Table& table, std::uint32_t number, State last) noexcept {
  return number <= static_cast<std::uint32_t>(last) ? table.name(static_cast<State>(number)).data() : nullptr;
}

template <class Table, class State>
asx_status check_in(const Table& table, std::uint32_t from, std::uint32_t to, State last) noexcept {
  if (from > static_cast<std::uint32_t>(last) || to > static_cast<std::uint32_t>(last)) return ASX_E_INVALID_ARGUMENT;
  return out(table.check(static_cast<State>(from), static_cast<State>(to)));
}

bool in(const asx_cancel_witness& w, cancel_witness& to) noexcept {
  if (static_cast<std::uint32_t>(w.phase) > ASX_CANCEL_COMPLETED || !is_kind(w.reason.kind)) return false;
  to = {task_id{w.task}, region_id{w.region}, w.epoch, static_cast<cancel_phase>(w.phase), capi::in(w.reason)};
  return true;
}

}  // namespace

extern "C" {

uint32_t asx_version(void) {
  return ASX_VERSION_NUMBER;
}

asx_status asx_version_check(uint32_t compiled_for) {
  const auto minor = [](uint32_t number) { return number / 1000; };  // Before 1.0 every minor one may differ.
  return minor(compiled_for) == minor(ASX_VERSION_NUMBER) && compiled_for <= ASX_VERSION_NUMBER ? ASX_OK
                                                                                                : ASX_E_VERSION;
}

const char* asx_status_name(asx_status code) {
  const status_info* const row = find_status(static_cast<std::uint32_t>(code));
  return row == nullptr ? "unknown status" : row->c_name.data();
}
const char* asx_status_sentence(asx_status code) {
  return sentence(static_cast<status>(code)).data();
}
const char* asx_region_state_name(asx_region_state state) {
  return name_in(region_lifecycle, static_cast<std::uint32_t>(state), region_state::closed);
}
const char* asx_task_state_name(asx_task_state state) {
  return name_in(task_lifecycle, static_cast<std::uint32_t>(state), task_state::completed);
}
const char* asx_obligation_state_name(asx_obligation_state state) {
  return name_in(obligation_lifecycle, static_cast<std::uint32_t>(state), obligation_state::leaked);
}
const char* asx_channel_state_name(asx_channel_state state) {
  return name_in(channel_lifecycle, static_cast<std::uint32_t>(state), channel_state::fully_closed);
}
const char* asx_cancel_phase_name(asx_cancel_phase phase) {
  return name_in(cancel_phase_lifecycle, static_cast<std::uint32_t>(phase), cancel_phase::completed);
}
const char* asx_cancel_kind_name(asx_cancel_kind kind) {
  return is_kind(kind) ? name(capi::in(kind)).data() : nullptr;
}
const char* asx_outcome_kind_name(asx_outcome_kind kind) {
  return static_cast<std::uint32_t>(kind) <= ASX_OUTCOME_PANICKED ? name(static_cast<outcome_kind>(kind)).data()
                                                                  : nullptr;
}
const char* asx_event_kind_name(uint16_t kind) {
  const event_info* const row = find_event_kind(std::uint64_t{kind});
  return row == nullptr ? nullptr : row->name.data();
}

asx_status asx_outcome_join(const asx_outcome* left, const asx_outcome* right, asx_outcome* out) {
  if (left == nullptr || right == nullptr || out == nullptr) return ASX_E_INVALID_ARGUMENT;
  task_outcome a;
  task_outcome b;
  if (!capi::in(*left, a) || !capi::in(*right, b)) return ASX_E_INVALID_ARGUMENT;
  *out = capi::out(join(a, b));
  return ASX_OK;
}

asx_status asx_budget_meet(const asx_budget* a, const asx_budget* b, asx_budget* out) {
  if (a == nullptr || b == nullptr || out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = capi::out(meet(capi::in(*a), capi::in(*b)));
  return ASX_OK;
}

asx_status asx_budget_consume_poll(asx_budget* b) {
  if (b == nullptr) return ASX_E_INVALID_ARGUMENT;
  budget left = capi::in(*b);
  const status s = left.consume_poll();
  *b = capi::out(left);
  return out(s);
}

asx_status asx_budget_consume_cost(asx_budget* b, uint64_t amount) {
  if (b == nullptr) return ASX_E_INVALID_ARGUMENT;
  budget left = capi::in(*b);
  const status s = left.consume_cost(amount);
  *b = capi::out(left);
  return out(s);
}

asx_status asx_budget_exhausted(const asx_budget* b, asx_time now, asx_budget_part* out) {
  if (b == nullptr || out == nullptr) return ASX_E_INVALID_ARGUMENT;
  *out = static_cast<asx_budget_part>(capi::in(*b).exhausted({now}));
  return ASX_OK;
}

asx_status asx_cancel_reason_strengthen(const asx_cancel_reason* incumbent, const asx_cancel_reason* other,
                                        asx_cancel_reason* out) {
  if (incumbent == nullptr || other == nullptr || out == nullptr) return ASX_E_INVALID_ARGUMENT;
  if (!is_kind(incumbent->kind) || !is_kind(other->kind)) return ASX_E_INVALID_ARGUMENT;
  const cancel_reason a = capi::in(*incumbent);
  const cancel_reason b = capi::in(*other);
  *out = capi::out(strengthen(a, b));
  return ASX_OK;
}

asx_status asx_witness_validate(const asx_cancel_witness* previous, const asx_cancel_witness* next) {
  if (previous == nullptr || next == nullptr) return ASX_E_INVALID_ARGUMENT;
  cancel_witness a;
  cancel_witness b;
  if (!in(*previous, a) || !in(*next, b)) return ASX_E_INVALID_ARGUMENT;
  return out(validate(a, b));
}

asx_status asx_region_transition_check(asx_region_state from, asx_region_state to) {
  return check_in(region_lifecycle, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                  region_state::closed);
}
asx_status asx_task_transition_check(asx_task_state from, asx_task_state to) {
  return check_in(task_lifecycle, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                  task_state::completed);
}
asx_status asx_obligation_transition_check(asx_obligation_state from, asx_obligation_state to) {
  return check_in(obligation_lifecycle, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                  obligation_state::leaked);
}
asx_status asx_cancel_phase_check(asx_cancel_phase from, asx_cancel_phase to) {
  return check_in(cancel_phase_lifecycle, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                  cancel_phase::completed);
}

asx_status asx_cancel_kind_info(asx_cancel_kind kind, uint8_t* severity, uint32_t* cleanup_quota,
                                uint8_t* cleanup_priority) {
  if (!is_kind(kind)) return ASX_E_INVALID_ARGUMENT;
  const cancel_kind_info& row = info(capi::in(kind));
  if (severity != nullptr) *severity = row.severity;
  if (cleanup_quota != nullptr) *cleanup_quota = row.cleanup_quota;
  if (cleanup_priority != nullptr) *cleanup_priority = row.cleanup_priority;
  return ASX_OK;
}

}  // extern "C"
