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

struct wakers {
  std::vector<waker_candidate> known;
  std::vector<std::string> open;  // What the journal cannot tell: who holds the other senders of a channel.
};

class waker_search {
 public:
  waker_search(const replay& world, const name_book& names, std::uint64_t task)
      : world_(world), names_(names), task_(task) {}

  void look_at(const event& wait) {
    const auto what = static_cast<wait_code>(low_half(wait.a));
    switch (what) {
      case wait_code::recv: look_at_recv(wait.object); break;
      case wait_code::reserve: look_at_reserve(wait.object); break;
      case wait_code::timer: look_at_timer(wait.object); return;  // Its limit is its time.
      case wait_code::join:
        if (wait.object != 0) {
          add(wait.object, "has not completed");
        } else {
          out_.open.emplace_back(
              "it waits for the first of several tasks to end, and not all of them need be known here");
        }
        break;
      case wait_code::sync: look_at_sync(wait.object); break;
      case wait_code::close: look_at_region(wait.object); break;
      default: add_outside(wait.object, "an event from outside the journal");
    }
    if (wait.b == 0) return;
    std::string role = "the wait is given up at ";
    append_time(role, wait.b);
    out_.known.push_back({field_type::timer, 0, std::move(role), true});
  }
  [[nodiscard]] wakers take() { return std::move(out_); }

 private:
  [[nodiscard]] std::string called(field_type type, std::uint64_t id) const { return asx::called(type, id, names_); }

  // Itself, too: who waits for what it holds waits for ever.
  void add(std::uint64_t id, std::string role) {
    const auto is_this = [id](const waker_candidate& w) { return w.type == field_type::task && w.id == id; };
    if (id == 0 || std::any_of(out_.known.begin(), out_.known.end(), is_this) || has_ended(world_, id)) return;
    out_.known.push_back({field_type::task, id, std::move(role), id != task_ && can_run(world_, id)});
  }
  void add_other(std::uint64_t id, std::string role) {
    if (id != task_) add(id, std::move(role));
  }
  void add_outside(std::uint64_t object, std::string role) {
    out_.known.push_back({field_type::thing, object, std::move(role), true});
  }
  void add_holders_of_permits(const detail::channel_view& c, const std::string& channel) {
    for (const auto& [permit, holder] : c.permits) {
      add(holder, "holds permit " + std::to_string(permit) + " of " + channel);
    }
  }

  void look_at_recv(std::uint64_t object) {
    const auto at = world_.channels.find(object);
    if (at == world_.channels.end()) return;
    const detail::channel_view& c = at->second;
    const std::string channel = called(field_type::channel, object);
    add_holders_of_permits(c, channel);
    for (const std::uint64_t waiter : c.waiters) add_other(waiter, "waits for a slot of " + channel);
    for (const auto& [sender, _] : c.senders) add_other(sender, "has sent into " + channel);
    if (!c.senders_left) return;
    const std::uint64_t left = *c.senders_left;
    out_.open.push_back(channel + " has " + (left == 0 ? "no" : std::to_string(left)) +
                        (left == 1 ? " sender left" : " senders left"));
  }
  void look_at_reserve(std::uint64_t object) {
    const auto at = world_.channels.find(object);
    if (at == world_.channels.end()) return;
    const std::string channel = called(field_type::channel, object);
    add_holders_of_permits(at->second, channel);
    for (const std::uint64_t waiter : at->second.waiters) {
      if (waiter == task_) break;  // Those behind it do not matter to it.
      add(waiter, "waits for a slot of " + channel + ", ahead of it");
    }
    if (at->second.queued != 0 && at->second.receiver == 0) {
      out_.open.push_back("nobody has received from " + channel + " yet");
    }
    add(at->second.receiver, "receives from " + channel);
  }
  void look_at_timer(std::uint64_t object) {
    const auto at = world_.timers.find(object);
    if (at == world_.timers.end()) return;
    std::string role = "due at ";
    append_time(role, at->second.due);
    out_.known.push_back({field_type::timer, object, std::move(role), true});
  }
  void look_at_sync(std::uint64_t object) {
    const auto at = world_.syncs.find(object);
    if (at == world_.syncs.end()) return;
    const std::string sync = called(field_type::sync, object);
    if (at->second.is_notify) return add_outside(object, "whoever notifies " + sync);
    for (const auto& [holder, units] : at->second.holders) {
      add(holder, "holds " + std::to_string(units) + " of " + sync);
    }
    for (const std::uint64_t waiter : at->second.waiters) {
      if (waiter == task_) break;
      add(waiter, "waits for " + sync + ", ahead of it");
    }
  }
  void look_at_region(std::uint64_t object) {
    std::set<std::uint64_t> inside = {object};
    for (const auto& [id, region] : world_.regions) {  // Parents are created before their children.
      if (inside.count(region.parent) != 0 && region.state != region_state::closed) inside.insert(id);
    }
    for (const auto& [id, t] : world_.tasks) {
      if (inside.count(t.region) != 0) add_other(id, "lives in " + called(field_type::region, t.region));
    }
  }

  const replay& world_;
  const name_book& names_;
  std::uint64_t task_;
  wakers out_;
};

// Each of what it waits for would do.
wakers wakers_of(const replay& world, const name_book& names, std::uint64_t task) {
  waker_search search(world, names, task);
  for (const event& wait : world.waits_of(task)) search.look_at(wait);
  return search.take();
}

/// True when everybody is known who is reachable through "could wake", and none of them can run.
bool is_stuck(const replay& world, const name_book& names, std::uint64_t task) {
  std::set<std::uint64_t> seen = {task};
  std::vector<std::uint64_t> open = {task};
  while (!open.empty()) {
    const std::uint64_t at = open.back();
    open.pop_back();
    const wakers found = wakers_of(world, names, at);
    if (found.known.empty()) return false;  // Somebody may be there of whom nothing was told.
    for (const waker_candidate& w : found.known) {
      if (w.can_run) return false;
      if (seen.insert(w.id).second) open.push_back(w.id);
    }
  }
  return true;
}

void append_waker(std::string& out, const waker_candidate& w, const replay& world, const name_book& names) {
  out += "  could be woken by " +
         (w.type == field_type::thing ? std::string("the outside")
          : w.id == 0                 ? std::string("its time limit")
                                      : called(w.type, w.id, names)) +
         ": " + w.role;
  if (w.type == field_type::task) {
    const auto other = world.tasks.find(w.id);
    const activity doing = other == world.tasks.end() ? activity::unknown : other->second.doing;
    if (doing == activity::waiting) out += "; " + detail::describe_waits(world.waits_of(w.id), names);
    if (doing == activity::queued) out += "; is queued";
    if (doing == activity::running) out += "; runs";
  }
  out += "\n";
}

}  // namespace

struct blocked_view::state {
  name_book names;
  replay world;
};

blocked_view::blocked_view() : state_(std::make_unique<state>()) {}
blocked_view::blocked_view(std::span<const event> events) : blocked_view() {
  for (const event& e : events) take(e);
}
blocked_view::blocked_view(blocked_view&&) noexcept = default;
blocked_view& blocked_view::operator=(blocked_view&&) noexcept = default;
blocked_view::~blocked_view() = default;

void blocked_view::take(const event& e) {
  state_->names.learn(e);
  state_->world.apply(e);
}

blocked_answer why_blocked(std::span<const event> events, std::uint64_t task) {
  return blocked_view(events).why_blocked(task);
}

blocked_answer blocked_view::why_blocked(std::uint64_t task) const {
  const name_book& names = state_->names;
  const replay& world = state_->world;
  blocked_answer out;
  const std::string who = called(field_type::task, task, names);
  const auto found = world.tasks.find(task);
  if (found == world.tasks.end() || found->second.doing == activity::unknown) {
    out.text = who + " does nothing that the journal tells\n";
    return out;
  }
  const detail::task_view& t = found->second;
  out.doing = static_cast<blocked_answer::state>(t.doing);
  const event& since = t.doing == activity::waiting  ? t.waits.back()
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
  const std::vector<event> waits = world.waits_of(task);
  for (const event& wait : waits) out.waits.push_back({static_cast<wait_code>(low_half(wait.a)), wait.object});
  out.waits_for = static_cast<wait_code>(low_half(since.a));
  out.object = since.object;
  const wakers found_wakers = wakers_of(world, names, task);
  out.wakers = found_wakers.known;
  out.stuck = is_stuck(world, names, task);
  out.text = detail::describe_waits(waits, names) + at_event(since) + "\n";
  for (const waker_candidate& w : out.wakers) {
    if (w.type == field_type::task && w.id == task) {
      out.text += std::string(out.wakers.size() == 1 ? "  only itself: it " : "  itself: it ") + w.role + "\n";
    } else {
      append_waker(out.text, w, world, names);
    }
  }
  if (out.wakers.empty()) out.text += "  nobody is known who could wake it\n";
  for (const std::string& unknown : found_wakers.open) out.text += "  " + unknown + "\n";
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
