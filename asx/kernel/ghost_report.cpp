// The report of the monitors as text.
#include <string>
#include <string_view>

#include "asx/kernel/ghost.hpp"

namespace asx {
namespace {

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

std::string counted(std::uint64_t n, std::string_view noun) {
  return number(n) + ' ' + std::string(noun) + (n == 1 ? "" : "s");
}

std::string_view file_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view state_of(const ghost_violation& v) {
  switch (v.on) {
    case ghost_noun::region: return region_lifecycle.name(static_cast<region_state>(v.detail));
    case ghost_noun::task: return task_lifecycle.name(static_cast<task_state>(v.detail));
    default: return obligation_lifecycle.name(static_cast<obligation_state>(v.detail));
  }
}

// What `detail` says, in words.
std::string aside(const ghost_violation& v) {
  switch (v.kind) {
    case ghost_kind::illegal_transition:
    case ghost_kind::use_after_resolve: return " while " + std::string(state_of(v));
    case ghost_kind::borrow_across_pending: return " (obligation " + number(v.detail) + ")";
    case ghost_kind::borrow_conflict: return " (epoch " + number(v.detail) + ")";
    case ghost_kind::foreign_use: return " (worker " + number(v.detail) + " owns it)";
    default: return {};
  }
}

std::string line_of(const ghost_violation& v) {
  constexpr std::string_view nouns[] = {"region", "task", "obligation", "object", "event"};
  std::string out = std::string(v.rule.id) + "  " + std::string(name(v.kind)) + "  ";
  out += std::string(nouns[static_cast<std::size_t>(v.on)]) + ' ' + number(v.object) + ' ' + v.text + aside(v);
  out += v.by.absent() ? std::string(", by the host") : ", by task " + number(v.by.value);
  out += ", worker " + number(v.worker) + ", after event " + number(v.seq);
  if (v.line != 0) out += "  " + std::string(file_of(v.file)) + ':' + number(v.line);
  return out + '\n';
}

std::string line_of(std::string_view what, const digest_checkpoint& c) {
  const std::array<char, 32> hex = c.digest.hex();
  return "  " + std::string(what) + ' ' + std::string(hex.data(), hex.size()) + " at event " + number(c.seq) + '\n';
}

}  // namespace

std::string ghosts::report() const {
  if (!is_on_) return "ghosts: off\n";
  std::string out = "ghosts: " + counted(violations_, "violation") + ", " + counted(notes_, "note") + '\n';
  for (std::size_t i = 0; i < ghost_kinds; ++i) {
    const auto kind = static_cast<ghost_kind>(i);
    if (count(kind) == 0) continue;
    out += "  " + std::string(name(kind)) + ' ' + number(count(kind)) + (is_note(kind) ? " (note)\n" : "\n");
  }
  if (size() < violations_) out += "the last " + number(size()) + " of them:\n";
  for (std::size_t i = 0; i < size(); ++i) {
    out += line_of(at(i));
    if (at(i).kind != ghost_kind::nondeterminism || !has_difference_) continue;
    out += line_of("expected", difference_.expected) + line_of("found   ", difference_.found);
  }
  return out;
}

}  // namespace asx
