#include "asx/lab/detail/channel_accounts.hpp"

#include "asx/journal/describe.hpp"

namespace asx::detail {

void channel_accounts::take(const event& e) {
  if (!finding_.empty()) return;
  if (e.kind == event_kind::channel_created) {
    open_[e.subject] = {.capacity = e.a};
    return;
  }
  const auto found = open_.find(e.subject);
  if (found == open_.end()) return;  // About something else.
  account& a = found->second;
  switch (e.kind) {
    case event_kind::permit_reserved:
    case event_kind::permit_sent:
    case event_kind::permit_aborted:
    case event_kind::permit_dropped:
    case event_kind::permit_disconnected: return take_permit(a, e);
    case event_kind::value_published:
      if (a.capacity < 2) return;  // A watch, or what looks like one: it keeps the last one, and nobody is owed it.
      a.is = account::kind::broadcast;
      ++a.queued;
      return expect(a.queued == high_half(e.b), a, e);
    case event_kind::message_received:
    case event_kind::message_evicted: return take_message(a, e, 1);
    case event_kind::messages_discarded: return take_message(a, e, e.a);
    case event_kind::channel_receiver_closed:
    case event_kind::channel_fully_closed_by_receiver:
      if (a.is != account::kind::queue) return;
      take_message(a, e, high_half(e.a));
      return expect(a.queued == 0, a, e);
    case event_kind::channel_sender_closed:
      if (a.is == account::kind::queue) expect(a.queued == low_half(e.b) && a.held == high_half(e.b), a, e);
      return;
    case event_kind::channel_freed:
      expect(a.queued == 0 && a.held == 0, a, e);
      open_.erase(found);
      return;
    default: return;
  }
}

// Permits are numbered as they are taken, those that are sent at once included: a number that nobody has had
// belongs to one of these.
void channel_accounts::take_permit(account& a, const event& e) {
  a.is = account::kind::queue;
  const bool is_new = e.a > a.last_permit;
  if (is_new) {
    expect(e.a == a.last_permit + 1, a, e);
    a.last_permit = e.a;
  }
  if (e.kind == event_kind::permit_reserved) {
    expect(is_new, a, e);
    ++a.held;
  } else if (!is_new) {
    expect(a.held != 0, a, e);
    --a.held;
  } else {
    expect(e.kind == event_kind::permit_sent, a, e);
  }
  if (e.kind == event_kind::permit_sent) ++a.queued;
  expect(a.queued == low_half(e.b) && a.held == high_half(e.b), a, e);
}

// `count` of those that are queued go, whichever way.
void channel_accounts::take_message(account& a, const event& e, std::uint64_t count) {
  const bool is_queue = a.is == account::kind::queue;
  const bool is_copied = a.is == account::kind::broadcast && e.kind == event_kind::message_received;
  if (a.is == account::kind::unknown || is_copied) return;
  expect(count <= a.queued, a, e);
  a.queued -= count <= a.queued ? count : a.queued;
  const bool tells_room = e.kind == event_kind::message_received || e.kind == event_kind::message_evicted;
  if (is_queue && tells_room) expect(a.queued == low_half(e.b) && a.held == high_half(e.b), a, e);
}

void channel_accounts::expect(bool holds, const account& a, const event& e) {
  if (holds || !finding_.empty()) return;
  finding_ = "the account of a channel does not balance (R-234): by all that was told it has " +
             std::to_string(a.queued) + " queued and " + std::to_string(a.held) + " reserved, at\n  " +
             std::to_string(e.seq) + "  " + describe(e) + '\n';
}

}  // namespace asx::detail
