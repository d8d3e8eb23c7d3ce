#include "asx/journal/why.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "asx/journal/describe.hpp"
#include "asx/journal/detail/replay.hpp"

namespace asx {
namespace {

using detail::activity;
using detail::replay;

replay replay_until(std::span<const event> events, std::uint64_t seq = UINT64_MAX) {
  replay world;
  for (const event& e : events) {
    if (e.seq > seq) break;
    world.apply(e);
  }
  return world;
}

std::string called(field_type type, std::uint64_t id, const name_book& names) {
  std::string out;
  append_value(out, type, id, &names);
  return out;
}

std::string at_event(const event& e) {
  std::string out = " (event " + std::to_string(e.seq) + " at ";
  append_time(out, e.time_ns);
  return out + ")";
}

/// Where a chain stops: the outside, or the poll in which somebody acted.
bool is_root(event_kind kind) noexcept {
  const auto number = static_cast<std::uint16_t>(kind);
  return number / 100 == 9 || kind == event_kind::task_dispatched;
}

bool carries_message(event_kind kind) noexcept {
  using enum event_kind;
  return kind == cancel_requested || kind == cancel_strengthened || kind == region_closing || kind == input_close ||
         kind == input_cancel;
}

void append_chain(std::string& out, const cause_chain& chain, const name_book& names) {
  for (std::size_t i = 0; i < chain.events.size(); ++i) {
    out.append(2 * (i + 1), ' ');
    if (i > 0) out += "because ";
    out += describe(chain.events[i], &names) + at_event(chain.events[i]);
    // What somebody said when they cancelled or closed is kept as a diagnostic beside the event.
    const event_info* const row = find_event_kind(static_cast<std::uint64_t>(chain.events[i].kind));
    const auto said =
        row == nullptr ? std::string_view() : names.find(row->subject, chain.events[i].subject, text_code::message);
    if (!said.empty() && carries_message(chain.events[i].kind)) out += ": \"" + std::string(said) + "\"";
    out += "\n";
  }
  if (chain.beyond) out += "  what led to that is not in the journal any more\n";
}

}  // namespace

const event* find_event(std::span<const event> events, std::uint64_t seq) noexcept {
  const auto at =
      std::lower_bound(events.begin(), events.end(), seq, [](const event& e, std::uint64_t s) { return e.seq < s; });
  // The event comes first; diagnostics that follow it carry its number.
  return at != events.end() && at->seq == seq && at->semantic() ? &*at : nullptr;
}

cause_chain causes_of(std::span<const event> events, const event& from) {
  cause_chain out;
  const event* at = &from;
  for (;;) {
    out.events.push_back(*at);
    if (at->cause == 0 || is_root(at->kind)) return out;
    const std::uint64_t wanted = at->cause;
    if (wanted >= at->seq && at->semantic()) return out;  // A hand-made stream may lie; the walk must still end.
    at = find_event(events, wanted);
    if (at == nullptr) {
      out.beyond = true;
      return out;
    }
  }
}

cancelled_answer why_cancelled(std::span<const event> events, std::uint64_t task) {
  const name_book names(events);
  const event *request = nullptr, *strongest = nullptr;
  for (const event& e : events) {
    if (e.subject != task) continue;
    if (e.kind == event_kind::cancel_requested && request == nullptr) request = &e;
    if (e.kind == event_kind::cancel_strengthened) strongest = &e;
  }
  cancelled_answer out;
  const event* const from = strongest != nullptr ? strongest : request;
  const std::string who = called(field_type::task, task, names);
  if (from == nullptr) {
    out.text = who + " was not cancelled, as far as the journal goes\n";
    return out;
  }
  out.cancelled = true;
  out.kind = static_cast<cancel_kind>(std::min<std::uint64_t>(low_half(from->a), cancel_kind_table.size() - 1));
  out.chain = causes_of(events, *from);
  out.text = who + " was cancelled: " + std::string(name(out.kind));
  if (strongest != nullptr && request != nullptr) {
    out.text +=
        ", strengthened from " + std::string(cancel_kind_table[std::min<std::size_t>(low_half(request->a), 10)].name);
  }
  out.text += "\n";
  append_chain(out.text, out.chain, names);
  return out;
}

// ---- blocked
// ---------------------------------------------------------------------------------------------------------

namespace {

bool can_run(const replay& world, std::uint64_t task) {
  const auto found = world.tasks.find(task);
  if (found == world.tasks.end()) return task == 0;  // The outside can always act.
  return found->second.doing == activity::queued || found->second.doing == activity::running;
}

bool has_ended(const replay& world, std::uint64_t task) {
  const auto found = world.tasks.find(task);
  return found != world.tasks.end() && found->second.doing == activity::completed;
}

std::vector<waker_candidate> wakers_of(const replay& world, std::uint64_t task) {
  std::vector<waker_candidate> out;
  const auto found = world.tasks.find(task);
  if (found == world.tasks.end()) return out;
  const event& wait = found->second.wait;
  const auto add = [&](std::uint64_t id, std::string role) {
    const bool listed = std::any_of(out.begin(), out.end(), [id](const waker_candidate& w) { return w.id == id; });
    if (id == 0 || id == task || listed || has_ended(world, id)) return;
    out.push_back({field_type::task, id, std::move(role), can_run(world, id)});
  };
  const auto what = static_cast<wait_code>(low_half(wait.a));
  const std::string channel = "channel " + std::to_string(wait.object);
  switch (what) {
    case wait_code::recv:
    case wait_code::reserve: {
      const auto at = world.channels.find(wait.object);
      if (at == world.channels.end()) break;
      for (const auto& [permit, holder] : at->second.permits)
        add(holder, "holds permit " + std::to_string(permit) + " of " + channel);
      for (const std::uint64_t waiter : at->second.waiters) {
        if (what == wait_code::reserve && waiter == task) break;  // Those behind it do not matter to it.
        add(waiter, "waits for a slot of " + channel + (what == wait_code::reserve ? ", ahead of it" : ""));
      }
      if (what == wait_code::reserve) add(at->second.receiver, "receives from " + channel);
      if (what == wait_code::recv) {
        for (const auto& [sender, _] : at->second.senders) add(sender, "has sent into " + channel);
      }
      break;
    }
    case wait_code::timer: {
      const auto at = world.timers.find(wait.object);
      if (at == world.timers.end()) break;
      std::string role = "due at ";
      append_time(role, at->second.due);
      out.push_back({field_type::timer, wait.object, std::move(role), true});
      break;
    }
    case wait_code::join: add(wait.object, "has not completed"); break;
    case wait_code::sync: {
      const auto at = world.syncs.find(wait.object);
      const std::string sync = "sync " + std::to_string(wait.object);
      if (at != world.syncs.end()) {
        for (const auto& [holder, units] : at->second.holders) {
          add(holder, "holds " + std::to_string(units) + " of " + sync);
        }
        for (const std::uint64_t waiter : at->second.waiters) {
          if (waiter == task) break;
          add(waiter, "waits for " + sync + ", ahead of it");
        }
      }
      if (out.empty()) out.push_back({field_type::thing, wait.object, "whoever notifies " + sync, true});
      break;
    }
    case wait_code::close: {
      std::set<std::uint64_t> inside = {wait.object};
      for (const auto& [id, region] : world.regions) {  // Parents are created before their children.
        if (inside.count(region.parent) != 0 && region.state != region_state::closed) inside.insert(id);
      }
      for (const auto& [id, t] : world.tasks) {
        if (inside.count(t.region) != 0) add(id, "lives in region " + std::to_string(t.region));
      }
      break;
    }
    default: out.push_back({field_type::thing, wait.object, "an event from outside the journal", true});
  }
  if (wait.b != 0) {
    std::string role = "the wait is given up at ";
    append_time(role, wait.b);
    out.push_back({field_type::timer, 0, std::move(role), true});
  }
  return out;
}

/// True when nobody who is reachable through "could wake" can run.
bool is_stuck(const replay& world, std::uint64_t task) {
  std::set<std::uint64_t> seen = {task};
  std::vector<std::uint64_t> open = {task};
  while (!open.empty()) {
    const std::uint64_t at = open.back();
    open.pop_back();
    for (const waker_candidate& w : wakers_of(world, at)) {
      if (w.can_run) return false;
      if (seen.insert(w.id).second) open.push_back(w.id);
    }
  }
  return true;
}

}  // namespace

blocked_answer why_blocked(std::span<const event> events, std::uint64_t task) {
  const name_book names(events);
  const replay world = replay_until(events);
  blocked_answer out;
  const std::string who = called(field_type::task, task, names);
  const auto found = world.tasks.find(task);
  if (found == world.tasks.end() || found->second.doing == activity::unknown) {
    out.text = who + " does nothing that the journal tells\n";
    return out;
  }
  const detail::task_view& t = found->second;
  out.doing = static_cast<blocked_answer::state>(t.doing);
  const event& since = t.doing == activity::waiting  ? t.wait
                       : t.doing == activity::queued ? t.last_wake
                                                     : t.last_dispatch;
  out.since_seq = since.seq;
  out.since_ns = since.time_ns;
  switch (t.doing) {
    case activity::completed: out.text = who + " has completed\n"; return out;
    case activity::running: out.text = who + " is not blocked: it runs" + at_event(since) + "\n"; return out;
    case activity::queued:
      out.text = who + " is not blocked: it is queued and waits for its turn" + at_event(since) + "\n";
      return out;
    default: break;
  }
  out.waits_for = static_cast<wait_code>(low_half(t.wait.a));
  out.object = t.wait.object;
  out.wakers = wakers_of(world, task);
  out.stuck = is_stuck(world, task);
  out.text = describe(t.wait, &names) + at_event(t.wait) + "\n";
  for (const waker_candidate& w : out.wakers) {
    out.text += "  could be woken by " +
                (w.type == field_type::thing ? std::string("the outside")
                 : w.id == 0                 ? std::string("its time limit")
                                             : called(w.type, w.id, names)) +
                ": " + w.role;
    if (w.type == field_type::task) {
      const auto other = world.tasks.find(w.id);
      const activity doing = other == world.tasks.end() ? activity::unknown : other->second.doing;
      if (doing == activity::waiting) out.text += "; " + describe(other->second.wait, &names);
      if (doing == activity::queued) out.text += "; is queued";
      if (doing == activity::running) out.text += "; runs";
    }
    out.text += "\n";
  }
  if (out.wakers.empty()) out.text += "  nobody is known who could wake it\n";
  if (out.stuck) out.text += "  it is stuck: everybody who is known to be able to wake it waits too\n";
  return out;
}

// ---- refused
// ---------------------------------------------------------------------------------------------------------

namespace {

std::vector<limit_holder> holders_of(const replay& world, limit_code limit, std::uint64_t at) {
  std::map<std::pair<field_type, std::uint64_t>, std::uint64_t> counts;
  const auto count = [&counts](field_type type, std::uint64_t id) { ++counts[{type, id}]; };
  switch (limit) {
    case limit_code::tasks:
    case limit_code::ready_queue:
    case limit_code::region_tasks:
    case limit_code::cancel_queue:
      for (const auto& [id, t] : world.tasks) {
        const bool counted = t.doing != activity::completed &&
                             (limit != limit_code::cancel_queue || t.cancel_requested) &&
                             (limit != limit_code::region_tasks || t.region == at);
        if (counted) count(field_type::region, t.region);
      }
      break;
    case limit_code::regions:
      for (const auto& [id, r] : world.regions) {
        if (r.state != region_state::closed) count(field_type::region, r.parent);
      }
      break;
    case limit_code::obligations:
      for (const auto& [id, o] : world.obligations) count(field_type::task, o.task);
      break;
    case limit_code::channels:
      for (const auto& [id, c] : world.channels) count(field_type::region, c.region);
      break;
    case limit_code::timers:
      for (const auto& [id, t] : world.timers) count(field_type::task, t.task);
      break;
    case limit_code::channel_waiters:
    case limit_code::channel_capacity:
      if (const auto c = world.channels.find(at); c != world.channels.end()) {
        if (limit == limit_code::channel_waiters) {
          for (const std::uint64_t waiter : c->second.waiters) count(field_type::task, waiter);
        } else {
          for (const auto& [permit, holder] : c->second.permits) count(field_type::task, holder);
          if (c->second.queued > 0) counts[{field_type::channel, at}] = c->second.queued;
        }
      }
      break;
    default: break;
  }
  std::vector<limit_holder> out;
  for (const auto& [who, n] : counts) out.push_back({who.first, who.second, n});
  std::sort(out.begin(), out.end(), [](const limit_holder& x, const limit_holder& y) {
    return x.count != y.count ? x.count > y.count : x.type != y.type ? x.type < y.type : x.id < y.id;
  });
  return out;
}

}  // namespace

std::optional<std::uint64_t> last_refusal_of(std::span<const event> events, std::uint64_t task) {
  for (std::size_t i = events.size(); i-- > 0;) {
    if (is_refusal(events[i].kind) && events[i].subject == task) return events[i].seq;
  }
  return std::nullopt;
}

refused_answer why_refused(std::span<const event> events, std::uint64_t seq) {
  const name_book names(events);
  refused_answer out;
  const event* const e = find_event(events, seq);
  if (e == nullptr || !is_refusal(e->kind)) {
    out.text = "event " + std::to_string(seq) + (e == nullptr ? " is not in the journal\n" : " is no refusal\n");
    return out;
  }
  out.refused = true;
  out.call = e->kind;
  out.code = static_cast<status>(low_half(e->a));
  out.limit = static_cast<limit_code>(high_half(e->a));
  out.value = e->b;
  out.asked_by = e->subject;
  out.at = e->object;
  out.text = describe(*e, &names) + at_event(*e) + "\n";
  if (out.limit == limit_code::none) {
    const replay world = replay_until(events, seq);
    const auto region = world.regions.find(e->object);
    const std::uint64_t state_event = e->cause != 0                   ? e->cause
                                      : region != world.regions.end() ? region->second.closing_event
                                                                      : 0;
    if (const event* const led = find_event(events, state_event); led != nullptr) {
      out.chain = causes_of(events, *led);
      append_chain(out.text, out.chain, names);
    } else {
      out.chain.beyond = state_event != 0;
    }
    return out;
  }
  out.holders = holders_of(replay_until(events, seq), out.limit, e->object);
  out.text += "  the limit " + std::string(name(out.limit)) + " is " + std::to_string(out.value) + "\n";
  for (const limit_holder& h : out.holders) {
    out.text += "  " + std::to_string(h.count) + " held by " + called(h.type, h.id, names) + "\n";
  }
  return out;
}

// ---- late
// ------------------------------------------------------------------------------------------------------------

late_answer why_late(std::span<const event> events, std::uint64_t task) {
  const name_book names(events);
  late_answer out;
  const std::string who = called(field_type::task, task, names);
  std::size_t wake = events.size(), dispatch = events.size();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].subject != task) continue;
    if (events[i].kind == event_kind::task_woken || events[i].kind == event_kind::task_requeued) {
      if (wake == events.size() || dispatch != events.size())
        wake = i;  // A move to another lane is one wait with its wake.
      dispatch = events.size();
      out.lane = place_lane(low_half(events[i].a));
    } else if (events[i].kind == event_kind::task_dispatched) {
      dispatch = i;
    }
  }
  if (wake == events.size()) {
    out.text = who + " was never woken, as far as the journal goes\n";
    return out;
  }
  out.known = true;
  out.dispatched = dispatch != events.size();
  const event& woken = events[wake];
  const event& last = out.dispatched ? events[dispatch] : events.back();
  out.woken_seq = woken.seq;
  out.dispatched_seq = out.dispatched ? last.seq : 0;
  out.waited_ns = last.time_ns - woken.time_ns;
  out.worker = out.dispatched ? last.worker : woken.worker;
  if (out.dispatched) out.lane = static_cast<lane_code>(high_half(last.a));
  std::map<std::uint64_t, std::size_t> running;  // By task: its place in `before`.
  std::map<lane_code, std::uint64_t> by_lane;
  const std::size_t until = out.dispatched ? dispatch : events.size();
  for (std::size_t i = wake + 1; i < until; ++i) {
    const event& e = events[i];
    if (e.worker != out.worker) continue;
    if (e.kind == event_kind::task_dispatched) {
      const auto lane = static_cast<lane_code>(high_half(e.a));
      running[e.subject] = out.before.size();
      out.before.push_back({e.subject, lane, e.seq, 0});
      ++by_lane[lane];
    } else if (e.kind == event_kind::poll_ended && running.count(e.subject) != 0) {
      ran_before& b = out.before[running[e.subject]];
      if (const event* const began = find_event(events, b.seq)) b.took_ns = e.time_ns - began->time_ns;
    }
  }
  out.text = who + " was woken into " + std::string(name(place_lane(low_half(woken.a)))) + at_event(woken) +
             (out.dispatched ? " and dispatched from " + std::string(name(out.lane)) + at_event(last) + ", after "
                             : " and has not been dispatched for ");
  append_time(out.text, out.waited_ns);
  out.text += "\n  " + std::to_string(out.before.size()) + " dispatches of worker " + std::to_string(out.worker) +
              " came before it";
  for (const auto& [lane, n] : by_lane) out.text += ", " + std::to_string(n) + " from " + std::string(name(lane));
  out.text += "\n";
  constexpr std::size_t shown = 16;
  for (std::size_t i = 0; i < std::min(shown, out.before.size()); ++i) {
    const ran_before& b = out.before[i];
    out.text += "  " + called(field_type::task, b.task, names) + " from " + std::string(name(b.lane)) + " took ";
    append_time(out.text, b.took_ns);
    out.text += " (event " + std::to_string(b.seq) + ")\n";
  }
  if (out.before.size() > shown) out.text += "  and " + std::to_string(out.before.size() - shown) + " more\n";
  return out;
}

}  // namespace asx
