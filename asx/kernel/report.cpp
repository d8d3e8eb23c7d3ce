#include "asx/kernel/report.hpp"

#include <cstdint>
#include <string_view>

#include "asx/journal/describe.hpp"
#include "asx/journal/port.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {
namespace {

using detail::obligation_record;
using detail::region_record;
using detail::task_record;

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

std::string_view file_of(const std::source_location& site) {
  const std::string_view path = site.file_name();
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

// The chain of causes, newest first: `parent_cancelled < user "stop"`.
std::string chain(const kernel& k, const cancel_reason& head) {
  std::string out;
  for_each_level(head, k.reasons(), [&out](const cancel_reason& level) {
    if (!out.empty()) out += " < ";
    out += name(level.kind);
    if (!level.message.empty()) {
      out += ' ';
      append_quoted(out, level.message);
    }
  });
  if (head.truncated) out += " < ...";
  return out;
}

std::string ending(const kernel& k, const task_outcome& o) {
  std::string out(name(o.kind()));
  if (o.has_value()) out += ' ' + number(o.value());
  if (o.is_err()) out += ' ' + std::string(name(o.error().code));
  if (o.is_cancelled()) {
    out += " (" + chain(k, o.reason()) + ")";
    if (o.cancelled_by().cleanup_budget_exceeded) out += ", cleanup cut short";
    if (o.cancelled_by().cleanup_error != status::ok)
      out += ", cleanup ended with " + std::string(name(o.cancelled_by().cleanup_error));
  }
  if (o.is_panicked() && !o.panic().text.empty()) out += " \"" + std::string(o.panic().text) + '"';
  return out;
}

// What kind of thing it is that a task waits for: a number alone does not say.
std::string_view thing_of(wait_code what) noexcept {
  switch (what) {
    case wait_code::recv:
    case wait_code::reserve: return " channel";
    case wait_code::timer: return "timer";
    case wait_code::join: return " task";
    case wait_code::close: return " region";
    case wait_code::sync: return " sync";
    default: return "";
  }
}

std::string doing(const kernel& k, const task_record& t) {
  if (t.state == task_state::completed) return "held: " + ending(k, k.outcome_of(t));
  if (t.is_queued()) return "queued";
  if (t.is_held_back) return "held back: out of polls while the cancel queue is full";
  if (t.task() == k.current_task()) return "being polled";
  if (t.is_leaving) return "waits for the regions that it owns, then ends";
  const auto what = static_cast<wait_code>(t.waits_for);
  if (what == wait_code::other) {  // Woken by something else, a task may still have a timer from before.
    const detail::timer_record* const timer = t.timers.front();
    return timer == nullptr ? "waits for a wake" : "waits for a wake, or for timer " + number(timer->wheel.id);
  }
  std::string out = "waits for ";
  out += name(what);
  out += thing_of(what);
  return out + ' ' + number(t.waits_on);
}

std::string task_line(const kernel& k, const task_record& t) {
  std::string out = "task " + number(t.task().value);
  if (!t.name.view().empty()) out += " '" + std::string(t.name.view()) + "'";
  out += "  " + std::string(task_lifecycle.name(t.state)) + ", " + doing(k, t);
  if (t.is_asked() && t.state != task_state::completed) out += "  (" + chain(k, t.reason()) + ")";
  out += "  polls " + number(t.polls);
  const budget b = t.state == task_state::cancelling ? t.cleanup() : t.left;
  if (b.poll_quota != unlimited) out += ", " + number(b.poll_quota) + " left";
  if (!t.is_asked() && !t.left.deadline.is_none()) {
    out += ", due ";
    append_time(out, t.left.deadline.ns);
  }
  out += ", age ";
  append_time(out, (k.now() - t.spawned_at).ns);
  return out + "  " + std::string(file_of(t.site)) + ":" + number(t.site.line());
}

std::string region_line(const kernel& k, const region_record& r) {
  std::string out = "region " + number(r.id.value);
  if (r.parent == nullptr) out += " root";
  if (!r.name.view().empty()) out += " '" + std::string(r.name.view()) + "'";
  out += "  " + std::string(region_lifecycle.name(r.state));
  if (r.has_reason) out += " (" + chain(k, r.reason.get()) + ")";
  out += "  " + number(r.live_tasks) + (r.live_tasks == 1 ? " task" : " tasks");
  if (r.live_regions != 0) out += ", " + number(r.live_regions) + (r.live_regions == 1 ? " region" : " regions");
  if (r.finalizer_depth != 0) out += ", " + number(r.finalizer_depth) + " finalizers";
  if (r.is_close_held) out += ", held by obligations";
  return out;
}

std::string obligation_line(const obligation_record& o) {
  std::string out = "obligation " + number(o.id.value) + "  reserved";
  if (!o.owner.absent()) out += " by task " + number(o.owner.value);
  return out + "  " + std::string(file_of(o.site)) + ":" + number(o.site.line());
}

// O(depth): a report of a chain of n regions costs n^2 / 2 steps.
unsigned depth_of(const region_record& r) {
  unsigned depth = 0;
  for (const region_record* p = r.parent; p != nullptr; p = p->parent) ++depth;
  return depth;
}

void append_json(std::string& out, const kernel& k, const task_record& t) {
  out += "{\"task\":" + number(t.task().value) + ",\"name\":";
  append_quoted(out, t.name.view());
  out += ",\"state\":\"" + std::string(task_lifecycle.name(t.state)) + "\",\"doing\":";
  append_quoted(out, doing(k, t));
  out += ",\"polls\":" + number(t.polls) + ",\"age_ns\":" + number((k.now() - t.spawned_at).ns) + ",\"cause\":";
  append_quoted(out, !t.is_asked() ? std::string() : chain(k, t.reason()));
  out += ",\"site\":";
  append_quoted(out, std::string(file_of(t.site)) + ":" + number(t.site.line()));
  out += '}';
}

// Without the brackets that close it: sub-regions follow.
void append_json_head(std::string& out, const kernel& k, const region_record& r) {
  out += "{\"region\":" + number(r.id.value) + ",\"name\":";
  append_quoted(out, r.name.view());
  out += ",\"state\":\"" + std::string(region_lifecycle.name(r.state)) + "\",\"cause\":";
  append_quoted(out, r.has_reason ? chain(k, r.reason.get()) : std::string());
  out += ",\"leaked\":" + number(r.leaked) + ",\"obligations\":[";
  for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
    if (o != r.ledger.front()) out += ',';
    out += number(o->id.value);
  }
  out += "],\"tasks\":[";
  for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
    if (t != r.tasks.front()) out += ',';
    append_json(out, k, *t);
  }
  out += "],\"regions\":[";
}

}  // namespace

std::string describe_tree(const kernel& k) {
  std::string out;
  k.for_each_region([&](const region_record& r) {
    // A deep tree would be mostly blanks: beyond 32 levels the depth is written instead.
    const unsigned depth = depth_of(r);
    const std::string indent = depth <= 32 ? std::string(2 * std::size_t{depth}, ' ') : "[" + number(depth) + "] ";
    out += indent + region_line(k, r) + '\n';
    for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
      out += indent + "  " + task_line(k, *t) + '\n';
    }
    for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
      out += indent + "  " + obligation_line(*o) + '\n';
    }
    for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
      out += indent + "  ";
      o->ops->describe(*o, string_writer(out));
      out += '\n';
    }
  });
  k.for_each_held_task([&](const task_record& t) { out += task_line(k, t) + '\n'; });
  return out;
}

std::string describe_tree_json(const kernel& k) {
  std::string out = "{\"now_ns\":" + number(k.now().ns) + ",\"regions\":[";
  unsigned open = 0;
  k.for_each_region([&](const region_record& r) {
    const unsigned depth = depth_of(r);
    for (; open > depth; --open) out += "]}";
    if (out.back() != '[') out += ',';
    append_json_head(out, k, r);
    open = depth + 1;
  });
  for (; open > 0; --open) out += "]}";
  out += "],\"held\":[";
  k.for_each_held_task([&](const task_record& t) {
    if (out.back() == '}') out += ',';
    append_json(out, k, t);
  });
  return out + "]}";
}

std::string describe_tasks(const kernel& k) {
  std::string out = number(k.live_tasks()) + (k.live_tasks() == 1 ? " task\n" : " tasks\n");
  k.for_each_region([&](const region_record& r) {
    std::string where = "  in region " + number(r.id.value);
    if (!r.name.view().empty()) where += " '" + std::string(r.name.view()) + "'";
    for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
      out += task_line(k, *t) + where + '\n';
    }
  });
  return out;
}

std::string describe_survivors(const kernel& k) {
  std::string out;
  k.for_each_region([&](const region_record& r) {
    const std::string where = " in region " + number(r.id.value) + "\n";
    for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) out += task_line(k, *t) + where;
    for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
      out += obligation_line(*o) + where;
    }
    if (r.reserved_slots != 0)
      out += number(r.reserved_slots) + " reserved task slots, neither committed nor abandoned," + where;
    for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
      if (o->ops->is_drained(*o)) continue;
      o->ops->describe(*o, string_writer(out));
      out += where;
    }
    if (r.state != region_state::closed && (r.parent != nullptr || r.had_child)) out += region_line(k, r) + '\n';
  });
  if (k.live_timers() != 0) out += number(k.live_timers()) + " timers pending\n";
  if (k.foreign_holds() != 0)
    out += number(k.foreign_holds()) + " foreign holds: somebody outside may still wake somebody\n";
  return out;
}

std::string path_of(const cx& c) {
  cx mine = c;
  const task_record& t = extension::task_of(mine);
  std::string out = t.name.view().empty() ? "task " + number(t.task().value) : std::string(t.name.view());
  for (const region_record* r = t.region; r != nullptr; r = r->parent) {  // asx: bounded by the depth of the tree
    std::string_view called = r->name.view();
    if (called.empty() && r->parent == nullptr) called = "root";
    out.insert(0, (called.empty() ? "region " + number(r->id.value) : std::string(called)) + '/');
  }
  return out;
}

}  // namespace asx
