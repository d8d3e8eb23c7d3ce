#include "asx/coro/run.hpp"

#include <array>

#include "asx/journal/describe.hpp"

namespace asx::detail {

namespace {

// Where it was said, if that is known.
void append_place(std::string& out, std::string_view before, std::string_view file, std::uint32_t line) {
  if (line == 0) return;
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  out.append(before).append(file).append(":").append(std::to_string(line));
}

}  // namespace

std::string words_of(outcome_kind kind, const error* failed, const cancellation* stopped, const panic_note* panicked) {
  std::string out;
  if (kind == outcome_kind::ok) return out;
  out = name(kind);
  if (failed != nullptr) {
    out.append(": ").append(name(failed->code)).append(" (").append(sentence(failed->code)).append(")");
  } else if (stopped != nullptr) {
    out.append(": ").append(name(stopped->reason.kind));
    if (!stopped->reason.message.empty()) out.append(", ").append(stopped->reason.message);
  } else if (panicked != nullptr) {
    out.append(": ").append(panicked->text);
    append_place(out, " at ", panicked->file, panicked->line);
  }
  return out;
}

std::string words_of_limit(const kernel& k, status code) {
  const kernel::met_limit& met = k.last_met();
  if (code != status::resource_exhausted || met.limit == limit_code::none) return {};
  std::string out("; the limit met last: ");
  out.append(name(met.limit));
  if (met.most != 0) out.append(" (").append(std::to_string(met.most)).append(")");
  if (met.asked_by != task_id{}) out.append(", by task ").append(std::to_string(met.asked_by.value));
  return out;
}

std::string words_of_unheard(const kernel& k) {
  const kernel::unheard_end& lost = k.unheard();
  if (lost.kind == outcome_kind::ok) return {};
  const std::source_location& site = lost.panic_site;
  const panic_note said{k.unheard_text(), site.file_name(), lost.is_where_spawned ? 0 : site.line()};
  const bool is_err = lost.kind == outcome_kind::err;
  std::string out =
      words_of(lost.kind, is_err ? &lost.failure : nullptr, nullptr, is_err ? nullptr : &said) + ", in task ";
  out += std::to_string(lost.task.value);
  if (!lost.name.view().empty()) out.append(" '").append(lost.name.view()).append("'");
  if (lost.is_where_spawned) append_place(out, ", spawned at ", site.file_name(), site.line());
  return out + ", which nobody joined" + (is_err ? words_of_limit(k, lost.failure.code) : "");
}

std::string words_of_exception() {
  std::array<char, 160> said{};
  tell_exception(said);
  return words_of(outcome_kind::panicked, nullptr, nullptr, nullptr).append(": ").append(said.data());
}

}  // namespace asx::detail
