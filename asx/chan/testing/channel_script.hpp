// asx/chan/testing/channel_script.hpp - what can be done to channels in a model test, and what is written down of it.
//
// A world has one or two channels, a host and up to nine puppets. A puppet is a task that does one scripted operation
// in a poll and parks; woken by anything else it parks again, or polls again what it waits for. Endpoints, permits and
// waiting operations lie in numbered slots that belong to nobody: any puppet, or the host outside of polls, may use any
// of them, which is how receivers, permits and waits move between tasks.
//
//     slot      senders are plain or tracked by their slot; a permit lies in the lowest slot that holds none
//     receiver  one slot for each of the two channels that a world may have at a time
//     list      what a puppet sends by poll_send_many stays in its hands until it is queued or handed back
//     message   what waits by poll_send lies in the slot of its wait until the wait is told something or goes
//
// The model (naive_channel_world.hpp) and the real channels (real_channel_world.hpp) do the same operations and keep
// the same notes; channel_driver.hpp compares them.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asx/chan/testing/naive_channel.hpp"
#include "asx/journal/event_kind.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/outcome.hpp"
#include "asx/model/status.hpp"

namespace asx::testing {

enum class channel_call : std::uint8_t {
  // Of a puppet in its poll only. The first five wait.
  poll_reserve,
  poll_send_many,  // Of what the puppet has in hand, and `count` new ones; variant 1: of these alone.
  poll_send,       // Of what lies with the wait, or of a new one; variant 1: of a new one in any case.
  poll_recv,
  poll_recv_many,  // `count` of them at most.
  checkpoint,
  mask,
  unmask,
  push_cleanup,
  park,
  bare,  // Pending without a waker: a yield, unless something that it waits in may still wake it.
  yield,
  end_ok,
  end_err,
  panic,
  panic_and_drop,  // Drops a permit in the poll in which it has panicked.
  // Of a puppet in its poll, or of the host.
  try_reserve,
  try_send,
  send_evict_oldest,
  clone_sender,
  drop_sender,
  move_sender,
  send,
  abort,
  drop_permit,
  move_permit,
  try_recv,
  drop_receiver,
  move_receiver,
  leave,
  drop_wait,
  move_wait,
  create,
  close,  // A region; in a poll it takes down at once what has no task left in it (U-23).
  // Of the host only.
  wake,
  cancel,
  complete,
  respawn,
  stall,  // Lets those who owe an answer run out of polls.
};

inline constexpr auto channel_call_names = std::to_array<std::string_view>({
    "poll_reserve",
    "poll_send_many",
    "poll_send",
    "poll_recv",
    "poll_recv_many",
    "checkpoint",
    "mask",
    "unmask",
    "push_cleanup",
    "park",
    "bare",
    "yield",
    "end_ok",
    "end_err",
    "panic",
    "panic_and_drop",
    "try_reserve",
    "try_send",
    "send_evict_oldest",
    "clone_sender",
    "drop_sender",
    "move_sender",
    "send",
    "abort",
    "drop_permit",
    "move_permit",
    "try_recv",
    "drop_receiver",
    "move_receiver",
    "leave",
    "drop_wait",
    "move_wait",
    "create",
    "close",
    "wake",
    "cancel",
    "complete",
    "respawn",
    "stall",
});
static_assert(channel_call_names.size() == static_cast<std::size_t>(channel_call::stall) + 1);

[[nodiscard]] constexpr std::string_view name(channel_call call) {
  return channel_call_names[static_cast<std::size_t>(call)];
}
[[nodiscard]] constexpr bool is_of_puppet_only(channel_call call) {
  return call <= channel_call::panic_and_drop;
}
[[nodiscard]] constexpr bool is_of_host_only(channel_call call) {
  return call >= channel_call::wake;
}

struct channel_operation {
  channel_call call = channel_call::park;
  std::uint32_t actor = 0;     // The puppet that does it, from 1; 0 is the host. Whom the host wakes, cancels, spawns.
  std::uint32_t sender = 0;    // Slot.
  std::uint32_t other = 0;     // Slot of the wait, or of the sender that a clone or a new channel goes to.
  std::uint32_t permit = 0;    // Slot.
  bool is_over = false;        // A reserve goes into the permit there, if a plain one is held, and aborts that.
  std::uint32_t receiver = 0;  // Slot.
  std::uint32_t region = 0;    // Place in the plan.
  std::uint32_t variant = 0;   // By which of several equal ways.
  std::uint64_t message = 0;   // Its number, or the first of a list; the capacity of a new channel.
  std::uint32_t count = 0;     // Messages that join a list; how many may be received at once.
  cancel_kind kind = cancel_kind::user;
  std::uint32_t repolls = 0;  // Bit p: puppet p, woken without a script, polls again what it waits for.
};

struct channel_plan {
  struct place {
    std::uint32_t capacity = 1;
    std::uint32_t region = 1;
  };
  std::vector<place> channels = {{}};
  std::vector<std::uint32_t> parents = {0, 0};        // Of each region; place 0 is the root.
  std::vector<std::uint32_t> puppets = {0, 1, 1, 1};  // Region of each; place 0 is nobody.
  std::vector<bool> tracked = {false, false, false};  // Of each slot for senders.
  std::uint32_t waits = 4;                            // Slots for waiting operations.
  std::uint32_t max_waiters = UINT32_MAX;
  std::uint32_t max_channels = 64;
  bool is_journalled = true;  // Else nothing is told, and only what calls say of themselves can be compared.
  bool is_plain = false;      // Messages are bytes, whose deaths nobody hears of.
};

/// One thing that both worlds saw, in the order in which it happened.
struct channel_note {
  enum class kind : std::uint8_t { answer, wake, destroyed, cleanup };

  kind what = kind::answer;
  std::uint64_t task = 0;  // Who answers or is woken; 0 is the host.
  channel_call call = channel_call::park;
  status code = status::ok;
  wake_code why = wake_code::other;
  std::uint64_t message = 0;          // Received, evicted or destroyed; of a cleanup: how many slots were reserved.
  std::uint64_t back = 0;             // The message that was handed back.
  std::uint64_t number = 0;           // Of the permit, of the waiter, of the cleanup action.
  std::uint64_t count = 0;            // Messages of a list that were queued or received.
  std::vector<std::uint64_t> list{};  // What was received, oldest first; what was not queued, in order.

  friend bool operator==(const channel_note&, const channel_note&) = default;
};

struct end_note {
  std::uint64_t task = 0;
  outcome_kind how = outcome_kind::ok;
  bool has_leaked = false;  // Panicked, with the words of INV-CH-10.

  friend bool operator==(const end_note&, const end_note&) = default;
};

struct obligation_note {
  std::uint64_t obligation = 0;
  obligation_state state = obligation_state::reserved;

  friend bool operator==(const obligation_note&, const obligation_note&) = default;
};

/// An event that a channel journals, with the operands that are the same in both worlds.
struct told_note {
  std::uint64_t channel = 0;  // 0 of a refusal: some name one, and some that has never been.
  event_kind event = event_kind::text;
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  friend bool operator==(const told_note&, const told_note&) = default;
};

/// What came of one operation, with all that it set off. Each list is in order; between lists nothing is promised.
struct channel_record {
  std::vector<channel_note> notes;
  std::vector<end_note> ends;
  std::vector<obligation_note> obligations;
  std::vector<told_note> permits;  // And messages.
  std::vector<told_note> waiters;
  std::vector<told_note> sides;  // What was made, cloned, dropped, freed and refused.
  std::uint64_t fatals = 0;      // Calls of the fatal hook.

  void clear() { *this = {}; }
  /// What is left of it without a journal: answers, deaths and ends, each in an order of their own.
  void forget_journal() {
    std::vector<channel_note> deaths;
    for (const channel_note& n : notes) {
      if (n.what == channel_note::kind::destroyed) deaths.push_back(n);
    }
    std::erase_if(notes, [](const channel_note& n) {
      return n.what == channel_note::kind::wake || n.what == channel_note::kind::destroyed;
    });
    notes.insert(notes.end(), deaths.begin(), deaths.end());
    std::sort(ends.begin(), ends.end(), [](const end_note& l, const end_note& r) { return l.task < r.task; });
    obligations.clear();
    permits.clear();
    waiters.clear();
    sides.clear();
  }
  /// What is left of it when messages are plain.
  void forget_deaths() {
    std::erase_if(notes, [](const channel_note& n) { return n.what == channel_note::kind::destroyed; });
  }
  void tell(const told_note& n) {
    if (n.event >= event_kind::permit_reserved && n.event <= event_kind::message_evicted) {
      permits.push_back(n);
    } else if (n.event == event_kind::send_waiter_added || n.event == event_kind::send_waiter_removed) {
      waiters.push_back(n);
    } else {
      sides.push_back(n);
    }
  }
  friend bool operator==(const channel_record&, const channel_record&) = default;
};

/// What a puppet is up to: the same in both worlds, so that they differ in nothing but the channels.
struct puppet_mind {
  static constexpr std::uint32_t most_repolls = 4;

  std::optional<channel_operation> script;
  std::optional<channel_operation> pending;
  std::uint32_t patience = 0;  // Two that wait in one place by two senders would wake each other for ever.

  [[nodiscard]] channel_operation next(std::uint32_t puppet, std::uint32_t repolls) {
    channel_operation out;
    out.actor = puppet;
    if (script) {
      out = *script;
      script.reset();
    } else if (pending && ((repolls >> puppet) & 1U) != 0 && patience != 0) {
      --patience;
      out = *pending;
    }
    return out;
  }
  void learn(const channel_operation& done, status code) {
    if (done.call > channel_call::poll_recv_many) return;
    pending.reset();
    if (code != status::would_block) return;
    pending = done;
    if (done.call != channel_call::poll_send_many && done.call != channel_call::poll_send) return;
    pending->count = pending->variant = 0;  // With what is left of the list, or lies there: it is kept.
  }
};

/// Channels with puppets around them, modelled or real.
class channel_world {
 public:
  channel_world() = default;
  virtual ~channel_world() = default;
  channel_world(const channel_world&) = delete;
  channel_world& operator=(const channel_world&) = delete;

  /// Does it, runs until nothing moves, and says what came of it.
  virtual const channel_record& apply(const channel_operation& op) = 0;

  [[nodiscard]] virtual channel_view view_by_sender(std::uint32_t slot) const = 0;
  [[nodiscard]] virtual channel_view view_by_receiver(std::uint32_t slot) const = 0;
  [[nodiscard]] virtual bool is_sender_live(std::uint32_t slot) const = 0;
  [[nodiscard]] virtual bool is_receiver_live(std::uint32_t slot) const = 0;
  [[nodiscard]] virtual std::uint64_t wait_id(std::uint32_t slot) const = 0;        // 0: does not wait.
  [[nodiscard]] virtual std::uint64_t permit_number(std::uint32_t slot) const = 0;  // 0: holds none.
  [[nodiscard]] virtual std::size_t permit_slots() const = 0;
  [[nodiscard]] virtual bool owes_obligations() const = 0;  // Two of the five checks of quiescence.
  [[nodiscard]] virtual bool is_drained() const = 0;
  [[nodiscard]] virtual std::uint64_t live_messages() const = 0;
};

// ---- In words ----

[[nodiscard]] inline std::string text(const channel_operation& op) {
  using call = channel_call;
  const auto number = [](std::uint64_t n) { return " " + std::to_string(n); };
  std::string out = op.actor == 0 ? "host" : "puppet" + number(op.actor);
  out += ": " + std::string(name(op.call));
  switch (op.call) {
    case call::poll_reserve:
      out += " sender" + number(op.sender) + ", wait" + number(op.other);
      if (op.is_over) out += ", over permit" + number(op.permit);
      break;
    case call::poll_send_many:
      out += number(op.count) + " from message" + number(op.message) + " by sender" + number(op.sender) + ", wait" +
             number(op.other);
      break;
    case call::poll_send:
      out += " message" + number(op.message) + " by sender" + number(op.sender) + ", wait" + number(op.other);
      break;
    case call::poll_recv_many: out += number(op.receiver) + ", at most" + number(op.count); break;
    case call::try_reserve:
      out += number(op.sender);
      if (op.is_over) out += ", over permit" + number(op.permit);
      break;
    case call::drop_sender:
    case call::move_sender: out += number(op.sender); break;
    case call::try_send:
    case call::send_evict_oldest: out += " message" + number(op.message) + " by sender" + number(op.sender); break;
    case call::clone_sender: out += number(op.sender) + " into" + number(op.other); break;
    case call::send: out += " message" + number(op.message) + " by permit" + number(op.permit); break;
    case call::panic_and_drop:
    case call::abort:
    case call::drop_permit:
    case call::move_permit: out += number(op.permit); break;
    case call::poll_recv:
    case call::try_recv:
    case call::drop_receiver:
    case call::move_receiver: out += number(op.receiver); break;
    case call::leave:
    case call::drop_wait:
    case call::move_wait: out += number(op.other); break;
    case call::create:
      out += " capacity" + number(op.message) + ", receiver" + number(op.receiver) + ", sender" + number(op.other) +
             ", region" + number(op.region);
      break;
    case call::cancel: out += " " + std::string(asx::name(op.kind)); break;
    case call::close: out += " region" + number(op.region) + " " + std::string(asx::name(op.kind)); break;
    default: break;
  }
  if (op.variant != 0) out += ", variant" + number(op.variant);
  if (op.repolls == UINT32_MAX) {
    out += "; all poll again";
  } else if (op.repolls != 0) {
    out += "; poll again:";
    for (std::uint32_t p = 1; p < 10; ++p) {
      if (((op.repolls >> p) & 1U) != 0) out += number(p);
    }
  }
  return out;
}

[[nodiscard]] inline std::string_view name(wake_code why) {
  constexpr std::string_view names[] = {"other", "spawn",  "yield",  "message", "slot", "disconnected",
                                        "timer", "joined", "closed", "cancel",  "sync", "input"};
  return names[static_cast<std::size_t>(why)];
}

[[nodiscard]] inline std::string text(const channel_note& n) {
  using kind = channel_note::kind;
  const std::string task = "task " + std::to_string(n.task);
  switch (n.what) {
    case kind::wake: return task + " is woken: " + std::string(name(n.why));
    case kind::destroyed: return "message " + std::to_string(n.message) + " is destroyed";
    case kind::cleanup:
      return task + " runs cleanup " + std::to_string(n.number) + " with " + std::to_string(n.message) + " reserved";
    case kind::answer: break;
  }
  std::string out = task + " gets " + std::string(asx::name(n.code)) + " from " + std::string(name(n.call));
  if (n.message != 0) out += ", message " + std::to_string(n.message);
  if (n.back != 0) out += ", back " + std::to_string(n.back);
  if (n.number != 0) out += ", number " + std::to_string(n.number);
  if (n.count != 0) out += ", in all " + std::to_string(n.count);
  if (!n.list.empty()) out += n.call == channel_call::poll_send_many ? ", left:" : ", messages:";
  for (const std::uint64_t m : n.list) out += " " + std::to_string(m);
  return out;
}

[[nodiscard]] inline std::string text(const channel_record& r) {
  std::string out;
  for (const channel_note& n : r.notes) out += "    " + text(n) + "\n";
  for (const end_note& e : r.ends) {
    out += "    task " + std::to_string(e.task) + " ends " + std::string(asx::name(e.how)) +
           (e.has_leaked ? " of a leak\n" : "\n");
  }
  for (const obligation_note& o : r.obligations) {
    out += "    obligation " + std::to_string(o.obligation) + " is " + std::string(obligation_lifecycle.name(o.state)) +
           "\n";
  }
  for (const std::vector<told_note>* list : {&r.permits, &r.waiters, &r.sides}) {
    for (const told_note& n : *list) {
      out += "    channel " + std::to_string(n.channel) + " tells " + std::string(asx::name(n.event)) + " " +
             std::to_string(n.a) + ", " + std::to_string(low_half(n.b)) + " " + std::to_string(high_half(n.b)) + "\n";
    }
  }
  if (r.fatals != 0) out += "    the fatal hook is called, times " + std::to_string(r.fatals) + "\n";
  return out;
}

[[nodiscard]] inline std::string text(const channel_view& v) {
  std::string out = std::string(asx::name(v.code));
  if (v.code != status::ok) return out;
  const auto add = [&out](std::string_view what, std::uint64_t n) {
    out += ", " + std::string(what) + " " + std::to_string(n);
  };
  out += ", " + std::string(channel_lifecycle.name(v.state));
  add("id", v.id);
  add("capacity", v.capacity);
  add("queued", v.queued);
  add("reserved", v.reserved);
  add("waiters", v.waiters);
  add("first waiter", v.first_waiter);
  add("senders", v.senders);
  out += v.has_receiver ? ", has a receiver" : ", no receiver";
  out += v.is_receiver_waiting ? " that waits" : "";
  add("in all reserved", v.total_reserved);
  add("sent", v.total_sent);
  add("aborted", v.total_aborted);
  add("received", v.total_received);
  add("evicted", v.total_evicted);
  add("discarded", v.total_discarded);
  return out;
}

}  // namespace asx::testing
