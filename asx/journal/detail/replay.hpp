// asx/journal/detail/replay.hpp - what the world looks like after some events: who lives, who waits, who holds what.
//
// Built by reading events in order, without the kernel: questions about a run (why.hpp) and pictures of it
// (export_dot.hpp) must work on a journal alone, also on one whose beginning was overwritten. What happened before
// the first event at hand is simply not known, so nothing here asserts that a thing was created before it is used.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asx/journal/describe.hpp"
#include "asx/journal/event.hpp"
#include "asx/model/lifecycle.hpp"

namespace asx::detail {

enum class activity : std::uint8_t { unknown, queued, running, waiting, completed };

struct task_view {
  std::uint64_t region = 0;
  activity doing = activity::unknown;
  bool cancel_requested = false;
  event last_wake{};  // kind is text when there was none.
  event last_dispatch{};
  std::vector<event> waits;  // Of its last poll, in their order: a select has as many as it has branches.
};

struct region_view {
  std::uint64_t parent = 0;
  region_state state = region_state::open;
  std::uint64_t closing_event = 0;
};

struct channel_view {
  std::uint64_t region = 0;
  std::uint64_t capacity = 0;
  std::uint64_t queued = 0;
  std::map<std::uint64_t, std::uint64_t> permits;  // Unresolved permit, and the task that holds it.
  std::vector<std::uint64_t> waiters;              // Tasks that wait for a slot, first come first.
  std::map<std::uint64_t, bool> senders;           // Tasks that have sent or reserved so far.
  std::optional<std::uint64_t> senders_left;       // Not known while nothing was told of them.
  std::uint64_t receiver = 0;                      // The task that last received or waited to.
};

/// A semaphore, a mutex or a notify.
struct sync_view {
  bool is_notify = false;
  std::map<std::uint64_t, std::uint64_t> holders;  // Task, and the units it has taken and not given back.
  std::vector<std::uint64_t> waiters;              // First come first.
};

struct timer_view {
  std::uint64_t task = 0;
  std::uint64_t due = 0;
};

struct obligation_view {
  std::uint64_t task = 0;
  std::uint64_t region = 0;
};

/// Live things only, but for tasks and regions, whose end is remembered.
class replay {
 public:
  void apply(const event& e);

  /// All that a task waits for: what it said in its last poll and has not given up since, then the timers that it has
  /// from before. As events task_waits.
  [[nodiscard]] std::vector<event> waits_of(std::uint64_t task) const;

  std::map<std::uint64_t, task_view> tasks;
  std::map<std::uint64_t, region_view> regions;
  std::map<std::uint64_t, channel_view> channels;
  std::map<std::uint64_t, sync_view> syncs;
  std::map<std::uint64_t, timer_view> timers;
  std::map<std::uint64_t, obligation_view> obligations;

 private:
  void apply_region(const event& e);
  void apply_task(const event& e);
  void apply_channel(const event& e);
  void apply_sync(const event& e);
  void give_up_waits(std::uint64_t task);
};

[[nodiscard]] bool ends_task(event_kind kind) noexcept;
/// "task 2 'clerk' waits for a message of channel 1, or timer 3".
[[nodiscard]] std::string describe_waits(std::span<const event> waits, const name_book& names);

}  // namespace asx::detail
