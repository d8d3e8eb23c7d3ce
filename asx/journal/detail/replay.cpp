#include "asx/journal/detail/replay.hpp"

#include <algorithm>

namespace asx::detail {

bool ends_task(event_kind kind) noexcept {
  using enum event_kind;
  return kind == task_failed_at_spawn || kind == task_completed || kind == task_completed_unobserved ||
         kind == task_completed_in_cleanup || kind == task_finalized;
}

void replay::apply(const event& e) {
  const auto group = static_cast<std::uint16_t>(e.kind) / 100;
  using enum event_kind;
  switch (e.kind) {
    case obligation_reserved: obligations[e.subject] = {e.a, e.object}; return;
    case obligation_committed:
    case obligation_aborted:
    case obligation_leaked: obligations.erase(e.subject); return;
    case timer_registered: timers[e.subject] = {e.object, e.a}; return;
    case timer_updated:
      timers.erase(e.b);
      timers[e.subject] = {e.object, e.a};
      return;
    case timer_cancelled: give_up_waits(e.object); [[fallthrough]];
    case timer_fired: timers.erase(e.subject); return;
    default: break;
  }
  if (group == 1) return apply_region(e);
  if (e.kind >= sync_created && e.kind <= sync_notice_taken) return apply_sync(e);
  if (group == 5) return apply_channel(e);
  apply_task(e);
}

void replay::apply_region(const event& e) {
  using enum event_kind;
  switch (e.kind) {
    case region_created: regions[e.subject] = {.parent = e.object}; return;
    case region_closing:
    case region_closing_by_parent:
    case region_closing_by_cancel:
      regions[e.subject].state = region_state::closing;
      regions[e.subject].closing_event = e.seq;
      break;
    case region_draining: regions[e.subject].state = region_state::draining; break;
    case region_finalizing_at_once:
    case region_finalizing: regions[e.subject].state = region_state::finalizing; break;
    case region_closed: regions[e.subject].state = region_state::closed; break;
    default: return;
  }
  regions[e.subject].parent = e.object;
}

void replay::apply_task(const event& e) {
  using enum event_kind;
  if (ends_task(e.kind)) {
    tasks[e.subject].doing = activity::completed;
    tasks[e.subject].region = e.object;
    return;
  }
  switch (e.kind) {
    case task_spawned: tasks[e.subject].region = e.object; return;
    case task_woken:
      tasks[e.subject].last_wake = e;
      if (tasks[e.subject].doing != activity::running) tasks[e.subject].doing = activity::queued;
      return;
    case task_requeued: tasks[e.subject].doing = activity::queued; return;
    case task_dispatched:
      tasks[e.subject].last_dispatch = e;
      tasks[e.subject].doing = activity::running;
      tasks[e.subject].waits.clear();
      return;
    case task_waits: tasks[e.subject].waits.push_back(e); return;
    case poll_ended: {
      task_view& t = tasks[e.subject];
      if (t.doing == activity::completed) return;
      // A wake during the poll requeues; a wait that was registered parks; otherwise it is a yield.
      const bool woken = t.last_wake.seq > t.last_dispatch.seq;
      t.doing = !t.waits.empty() && !woken ? activity::waiting : activity::queued;
      return;
    }
    case cancel_requested: tasks[e.subject].cancel_requested = true; return;
    default: return;
  }
}

// The branches of a select say one after the other what they wait for. Who gets or does something in between has gone
// on, and waits for what it says afterwards: that a receiver waits no more is not told.
void replay::give_up_waits(std::uint64_t task) {
  const auto found = tasks.find(task);
  if (found != tasks.end() && found->second.doing == activity::running) found->second.waits.clear();
}

std::vector<event> replay::waits_of(std::uint64_t task) const {
  std::vector<event> out;
  const auto found = tasks.find(task);
  if (found == tasks.end()) return out;
  const auto is_for_timer = [](const event& wait) {
    return static_cast<wait_code>(low_half(wait.a)) == wait_code::timer;
  };
  for (const event& wait : found->second.waits) {
    if (!is_for_timer(wait) || timers.count(wait.object) != 0) out.push_back(wait);
  }
  // A sleep that is asked again says nothing: its timer is there.
  for (const auto& [id, timer] : timers) {
    const auto is_this = [&is_for_timer, number = id](const event& wait) {
      return is_for_timer(wait) && wait.object == number;
    };
    const bool is_told = std::any_of(out.begin(), out.end(), is_this);
    if (timer.task != task || is_told) continue;
    event wait{};
    wait.kind = event_kind::task_waits;
    wait.subject = task;
    wait.object = id;
    wait.a = pack(static_cast<std::uint64_t>(wait_code::timer), 0);
    out.push_back(wait);
  }
  // What has gone since, whichever way, is what it was told to wait for.
  if (out.empty()) out = found->second.waits;
  return out;
}

std::string describe_waits(std::span<const event> waits, const name_book& names) {
  constexpr std::string_view before = " waits for ";
  std::string out;
  for (const event& wait : waits) {
    const std::string one = describe(wait, &names);
    const std::size_t at = one.find(before);
    if (out.empty()) {
      out = one;
    } else if (at != std::string::npos) {
      out += ", or " + one.substr(at + before.size());
    }
  }
  return out;
}

void replay::apply_channel(const event& e) {
  using enum event_kind;
  channel_view& c = channels[e.subject];
  const bool is_by_task = e.kind != channel_created && e.kind != channel_freed;
  if (is_by_task && e.kind != receiver_waits && e.kind != send_waiter_added) give_up_waits(e.object);
  switch (e.kind) {
    case channel_created:
      c.region = e.object;
      c.capacity = e.a;
      c.senders_left = 1;
      return;
    case channel_sender_closed:
    case channel_fully_closed_by_sender: c.senders_left = 0; return;
    case permit_reserved:
      c.permits[e.a] = e.object;
      c.senders[e.object] = true;
      c.queued = low_half(e.b);
      return;
    case permit_sent:
    case permit_aborted:
    case permit_dropped:
    case permit_disconnected:
      c.permits.erase(e.a);
      c.senders[e.object] = true;
      c.queued = low_half(e.b);
      return;
    case message_received:
      c.receiver = e.object;
      c.queued = low_half(e.b);
      return;
    case receiver_waits: c.receiver = e.object; return;
    case value_published: c.senders[e.object] = true; return;
    case sender_cloned:
      c.senders[e.object] = true;
      c.senders_left = e.a;
      return;
    case sender_dropped:
      c.senders.erase(e.object);
      c.senders_left = e.a;
      return;
    case send_waiter_added: c.waiters.push_back(e.object); return;
    case send_waiter_removed: {
      const auto at = std::find(c.waiters.begin(), c.waiters.end(), e.object);
      if (at != c.waiters.end()) c.waiters.erase(at);
      return;
    }
    case channel_freed: channels.erase(e.subject); return;
    default: return;
  }
}

void replay::apply_sync(const event& e) {
  using enum event_kind;
  sync_view& s = syncs[e.subject];
  if (e.kind != sync_created && e.kind != sync_freed && e.kind != sync_waiter_added) give_up_waits(e.object);
  switch (e.kind) {
    case sync_created: s.is_notify = e.a == 0; return;
    case sync_notified:
    case sync_notice_taken: s.is_notify = true; return;
    case sync_acquired: s.holders[e.object] += e.a; return;
    case sync_released: {  // By whoever has them now: what was handed on is counted off the one who took them.
      auto at = s.holders.find(e.object);
      if (at == s.holders.end()) at = s.holders.begin();
      if (at == s.holders.end()) return;
      at->second -= std::min(at->second, e.a);
      if (at->second == 0) s.holders.erase(at);
      return;
    }
    case sync_waiter_added: s.waiters.push_back(e.object); return;
    case sync_waiter_removed: {
      const auto at = std::find(s.waiters.begin(), s.waiters.end(), e.object);
      if (at != s.waiters.end()) s.waiters.erase(at);
      return;
    }
    case sync_freed: syncs.erase(e.subject); return;
    default: return;
  }
}

}  // namespace asx::detail
