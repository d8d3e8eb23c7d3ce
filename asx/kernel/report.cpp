// Everything is written to a port, so that a runtime which was given its memory can tell of itself; a text that is
// wanted whole is a string behind such a port.
#include "asx/kernel/report.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include "asx/journal/describe.hpp"
#include "asx/journal/port.hpp"
#include "asx/kernel/extension.hpp"
#include "asx/kernel/sites.hpp"

namespace asx {
namespace {

using detail::obligation_record;
using detail::region_record;
using detail::task_record;

constexpr std::uint32_t most_sites = 8;  // Of one line: awaits nest without a bound,
constexpr std::uint32_t most_waits = 8;  // and so do selects.

// Whichever thread does: where there are several, the record says so, and where there is one, the kernel.
bool is_being_polled(const kernel& k, const task_record& t) noexcept {
  return t.is_polled || t.task() == k.current_task();
}

// Not substr, here and below: it brings along what throws out_of_range, and with it the C++ library.
std::string_view file_of(const std::source_location& site) {
  std::string_view path = site.file_name();
  if (const std::size_t slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

void write_escaped(const text_port& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view one(text.data() + at, 1);
    const auto byte = static_cast<unsigned char>(one.front());
    if (one == "\"" || one == "\\") {
      out << "\\" << one;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out << "\\u00" << std::string_view(&digits[byte >> 4], 1) << std::string_view(&digits[byte & 15U], 1);
    } else {
      out << one;
    }
  }
}

/// What `write` writes, as a text of JSON.
template <class Write>
void write_quoted(const text_port& out, const Write& write) {
  text_port whole = out;
  const text_port inside{
      &whole, [](void* to, std::string_view text) { write_escaped(*static_cast<const text_port*>(to), text); }};
  out << "\"";
  write(inside);
  out << "\"";
}
void write_quoted(const text_port& out, std::string_view text) {
  write_quoted(out, [text](const text_port& inside) { inside << text; });
}

template <class Write>
std::string collect(const Write& write) {
  std::string text;
  write(string_writer(text));
  return text;
}

// The chain of causes, newest first: `parent_cancelled < user "stop"`.
void write_chain(const text_port& out, const kernel& k, const cancel_reason& head) {
  bool is_first = true;
  for_each_level(head, k.reasons(), [&](const cancel_reason& level) {
    if (!is_first) out << " < ";
    is_first = false;
    out << name(level.kind);
    if (level.message.empty()) return;
    out << " ";
    write_quoted(out, level.message);
  });
  if (head.truncated) out << " < ...";
}

void write_ending(const text_port& out, const kernel& k, const task_outcome& o) {
  out << name(o.kind());
  if (o.has_value()) out << " " << o.value();
  if (o.is_err()) out << " " << name(o.error().code);
  if (o.is_cancelled()) {
    out << " (";
    write_chain(out, k, o.reason());
    out << ")";
    if (o.cancelled_by().cleanup_budget_exceeded) out << ", cleanup cut short";
    if (o.cancelled_by().cleanup_error != status::ok)
      out << ", cleanup ended with " << name(o.cancelled_by().cleanup_error);
  }
  if (o.is_panicked() && !o.panic().text.empty()) out << " \"" << o.panic().text << "\"";
}

// What it is called, of the line that tells how it is.
void write_title(const text_port& out, const owned& thing) {
  struct title {
    const text_port& out;
    bool is_over = false;
  } head{out};
  thing.ops->describe(thing, {&head, [](void* self, std::string_view piece) {
                                auto& h = *static_cast<title*>(self);
                                h.is_over = h.is_over || (piece.size() > 1 && piece[0] == ' ' && piece[1] == ' ');
                                if (!h.is_over) h.out << piece;
                              }});
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

// All of them would do: a select has as many as it has branches, and a limit of time is a timer besides. What leaves
// neither a place in a queue nor a timer is told when it was the last that was asked for.
void write_waits(const text_port& out, const kernel& k, const task_record& t) {
  std::uint32_t told = 0;
  const auto begin_next = [&] {
    out << (told == 0 ? "waits for " : ", or ");
    return ++told <= most_waits;
  };
  for (const waiter* w = t.waits.front(); w != nullptr && told <= most_waits; w = t.waits.after(*w)) {
    if (!begin_next()) return out("...");
    const extension::told_wait wait = extension::told(k, *w);
    out << name(wait.what);
    if (wait.thing != nullptr) {
      out << " ";
      write_title(out, *wait.thing);
    } else {
      const bool is_of_several = wait.what == wait_code::join && wait.object == 0;
      out << (is_of_several ? " one of several tasks" : thing_of(wait.what));
      if (wait.object != 0) out << " " << wait.object;
    }
  }
  for (const detail::timer_record* timer = t.timers.front(); timer != nullptr; timer = t.timers.after(*timer)) {
    if (!begin_next()) return out("...");
    out << "timer " << timer->wheel.id;
  }
  const auto last = static_cast<wait_code>(t.waits_for);
  if (told != 0 && last != wait_code::foreign) return;
  static_cast<void>(begin_next());
  if (last == wait_code::other) return out("a wake");
  out << name(last) << thing_of(last) << " " << t.waits_on;
}

void write_doing(const text_port& out, const kernel& k, const task_record& t) {
  if (t.state == task_state::completed) {
    out << "held: ";
    return write_ending(out, k, k.outcome_of(t));
  }
  if (t.is_queued()) return out("queued");
  if (t.is_held_back) return out("held back: out of polls while the cancel queue is full");
  if (is_being_polled(k, t)) return out("being polled");
  if (t.is_leaving) return out("waits for the regions that it owns, then ends");
  write_waits(out, k, t);
}

void write_place(const text_port& out, const std::source_location& site) {
  out << file_of(site) << ":" << std::uint64_t{site.line()};
}

// C has no places in a source to show: line 0.
void write_site(const text_port& out, const std::source_location& site, std::string_view before = "  ") {
  if (site.line() == 0) return;
  out << before;
  write_place(out, site);
}

// Innermost first, as the causes of a cancel: ` at io.cpp:9 < orders.cpp:40`. False: it stands nowhere.
bool write_awaits(const text_port& out, const kernel& k, const task_record& t) {
  site_walk awaits(k, t);
  std::source_location site;
  std::uint32_t told = 0;
  for (; told <= most_sites && awaits.next(site); ++told) {
    out << (told == 0 ? " at " : " < ");
    if (told == most_sites) {
      out << "...";
    } else {
      write_place(out, site);
    }
  }
  return told != 0;
}

void write_name(const text_port& out, std::string_view called) {
  if (!called.empty()) out << " '" << called << "'";
}

void write_task(const text_port& out, const kernel& k, const task_record& t) {
  out << "task " << t.task().value;
  write_name(out, t.name.view());
  out << "  " << task_lifecycle.name(t.state) << ", ";
  write_doing(out, k, t);
  const bool stands = write_awaits(out, k, t);
  if (t.is_asked() && t.state != task_state::completed) {
    out << "  (";
    write_chain(out, k, t.reason());
    out << ")";
  }
  out << "  polls " << t.polls;
  const budget b = t.state == task_state::cancelling ? t.cleanup() : t.left;
  if (b.poll_quota != unlimited) out << ", " << b.poll_quota << " left";
  if (!t.is_asked() && !t.left.deadline.is_none()) {
    out << ", due ";
    write_time(out, t.left.deadline.ns);
  }
  out << ", age ";
  write_time(out, (k.now() - t.spawned_at).ns);
  write_site(out, t.site, stands ? "  spawned " : "  ");  // Two places in a line must not be taken for each other.
}

void write_region(const text_port& out, const kernel& k, const region_record& r) {
  out << "region " << r.id.value;
  if (r.parent == nullptr) out << " root";
  write_name(out, r.name.view());
  out << "  " << region_lifecycle.name(r.state);
  if (r.has_reason) {
    out << " (";
    write_chain(out, k, r.reason.get());
    out << ")";
  }
  out << "  " << r.live_tasks << (r.live_tasks == 1 ? " task" : " tasks");
  if (r.live_regions != 0) out << ", " << r.live_regions << (r.live_regions == 1 ? " region" : " regions");
  if (r.finalizer_depth != 0) out << ", " << r.finalizer_depth << " finalizers";
  if (r.is_close_held) out << ", held by obligations";
}

void write_obligation(const text_port& out, const obligation_record& o) {
  out << "obligation " << o.id.value << "  reserved";
  if (!o.owner.absent()) out << " by task " << o.owner.value;
  write_site(out, o.site);
}

// O(depth): a report of a chain of n regions costs n^2 / 2 steps.
unsigned depth_of(const region_record& r) {
  unsigned depth = 0;
  for (const region_record* p = r.parent; p != nullptr; p = p->parent) ++depth;
  return depth;
}

// A deep tree would be mostly blanks: beyond 32 levels the depth is written instead.
void write_indent(const text_port& out, unsigned depth) {
  if (depth > 32) {
    out << "[" << std::uint64_t{depth} << "] ";
    return;
  }
  for (unsigned i = 0; i < depth; ++i) out << "  ";
}

void write_json(const text_port& out, const kernel& k, const task_record& t) {
  out << "{\"task\":" << t.task().value << ",\"name\":";
  write_quoted(out, t.name.view());
  out << ",\"state\":\"" << task_lifecycle.name(t.state) << "\",\"doing\":";
  write_quoted(out, [&](const text_port& inside) { write_doing(inside, k, t); });
  out << ",\"polls\":" << t.polls << ",\"age_ns\":" << (k.now() - t.spawned_at).ns << ",\"cause\":";
  write_quoted(out, [&](const text_port& inside) {
    if (t.is_asked()) write_chain(inside, k, t.reason());
  });
  out << ",\"awaits\":[";
  site_walk awaits(k, t);
  std::source_location site;
  for (std::uint32_t told = 0; told < most_sites && awaits.next(site); ++told) {
    if (told != 0) out << ",";
    write_quoted(out, [&](const text_port& inside) { write_place(inside, site); });
  }
  out << "],\"site\":";
  if (t.site.line() == 0) return out("null}");
  write_quoted(out, [&](const text_port& inside) { write_place(inside, t.site); });
  out << "}";
}

// Without the brackets that close it: sub-regions follow.
void write_json_head(const text_port& out, const kernel& k, const region_record& r) {
  out << "{\"region\":" << r.id.value << ",\"name\":";
  write_quoted(out, r.name.view());
  out << ",\"state\":\"" << region_lifecycle.name(r.state) << "\",\"cause\":";
  write_quoted(out, [&](const text_port& inside) {
    if (r.has_reason) write_chain(inside, k, r.reason.get());
  });
  out << ",\"leaked\":" << r.leaked << ",\"obligations\":[";
  for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
    if (o != r.ledger.front()) out << ",";
    out << o->id.value;
  }
  out << "],\"tasks\":[";
  for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
    if (t != r.tasks.front()) out << ",";
    write_json(out, k, *t);
  }
  out << "],\"regions\":[";
}

void write_survivors(const text_port& out, const kernel& k) {
  k.for_each_region([&](const region_record& r) {
    const auto end_line = [&] { out << " in region " << r.id.value << "\n"; };
    for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
      write_task(out, k, *t);
      end_line();
    }
    for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
      write_obligation(out, *o);
      end_line();
    }
    if (r.reserved_slots != 0) {
      out << r.reserved_slots << " reserved task slots, neither committed nor abandoned,";
      end_line();
    }
    for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
      const bool is_awaited = o->ops->is_awaited != nullptr && o->ops->is_awaited(*o);
      if (o->ops->is_drained(*o) && !is_awaited) continue;
      o->ops->describe(*o, out);
      end_line();
    }
    if (r.state == region_state::closed || (r.parent == nullptr && !r.had_child)) return;
    write_region(out, k, r);
    out << "\n";
  });
  if (k.live_timers() != 0) out << k.live_timers() << " timers pending\n";
  if (k.foreign_holds() != 0) out << k.foreign_holds() << " foreign holds: somebody outside may still wake somebody\n";
}

}  // namespace

// A poll writes what would be read here, on another thread perhaps; where a task has ended, it is gone.
site_walk::site_walk(const kernel& k, const task_record& t) noexcept : context_(t.context) {
  if (t.tells_sites && t.state != task_state::completed && !is_being_polled(k, t)) next_ = extension::sites_of(k);
}

std::size_t await_sites(const kernel& k, task_handle task, std::span<std::source_location> out) noexcept {
  const inside here(k);
  const task_record* const t = extension::live_task(k, task);
  if (t == nullptr) return 0;
  site_walk awaits(k, *t);
  std::source_location site;
  std::size_t seen = 0;
  for (; awaits.next(site); ++seen) {  // asx: bounded by the awaits that nest
    if (seen < out.size()) out[seen] = site;
  }
  return seen;
}

void describe_tree(const kernel& k, const text_port& out) {
  k.for_each_region([&](const region_record& r) {
    const unsigned depth = depth_of(r);
    const auto begin_line = [&](std::string_view deeper) {
      write_indent(out, depth);
      out << deeper;
    };
    begin_line("");
    write_region(out, k, r);
    out << "\n";
    for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
      begin_line("  ");
      write_task(out, k, *t);
      out << "\n";
    }
    for (const obligation_record* o = r.ledger.front(); o != nullptr; o = r.ledger.after(*o)) {
      begin_line("  ");
      write_obligation(out, *o);
      out << "\n";
    }
    for (const owned* o = r.things.front(); o != nullptr; o = r.things.after(*o)) {
      begin_line("  ");
      o->ops->describe(*o, out);
      out << "\n";
    }
  });
  k.for_each_held_task([&](const task_record& t) {
    write_task(out, k, t);
    out << "\n";
  });
}

void describe_tree_json(const kernel& k, const text_port& out) {
  out << "{\"now_ns\":" << k.now().ns << ",\"regions\":[";
  unsigned open = 0;
  k.for_each_region([&](const region_record& r) {
    const unsigned depth = depth_of(r);
    const bool is_next = open > depth;  // After one that ends here, and not the first in its list.
    for (; open > depth; --open) out << "]}";
    if (is_next) out << ",";
    write_json_head(out, k, r);
    open = depth + 1;
  });
  for (; open > 0; --open) out << "]}";
  out << "],\"held\":[";
  bool is_first = true;
  k.for_each_held_task([&](const task_record& t) {
    if (!is_first) out << ",";
    is_first = false;
    write_json(out, k, t);
  });
  out << "]}";
}

std::string describe_tree(const kernel& k) {
  return collect([&](const text_port& out) { describe_tree(k, out); });
}

std::string describe_tree_json(const kernel& k) {
  return collect([&](const text_port& out) { describe_tree_json(k, out); });
}

std::string describe_tasks(const kernel& k) {
  return collect([&](const text_port& out) {
    out << k.live_tasks() << (k.live_tasks() == 1 ? " task\n" : " tasks\n");
    k.for_each_region([&](const region_record& r) {
      for (const task_record* t = r.tasks.front(); t != nullptr; t = r.tasks.after(*t)) {
        write_task(out, k, *t);
        out << "  in region " << r.id.value;
        write_name(out, r.name.view());
        out << "\n";
      }
    });
  });
}

std::string describe_survivors(const kernel& k) {
  return collect([&](const text_port& out) { write_survivors(out, k); });
}

std::string path_of(const cx& c) {
  cx mine = c;
  const task_record& t = extension::task_of(mine);
  std::string out = t.name.view().empty() ? "task " + std::to_string(t.task().value) : std::string(t.name.view());
  for (const region_record* r = t.region; r != nullptr; r = r->parent) {  // asx: bounded by the depth of the tree
    std::string_view called = r->name.view();
    if (called.empty() && r->parent == nullptr) called = "root";
    out.insert(0, (called.empty() ? "region " + std::to_string(r->id.value) : std::string(called)) + '/');
  }
  return out;
}

}  // namespace asx
