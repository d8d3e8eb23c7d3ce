// asx/journal/why.hpp - why was it cancelled, why does it wait, why was it refused, why was it late.
//
//     task 9 cancelled          because  region 4 starts to close, its parent does     (event 812)
//       region 4 closing        because  region 1 starts to close, asked from outside  (event 809)
//         close of region 1     came from outside                                      (event 808)
//
// 1  Answers come from the events alone: from a file, or from the ring of a process that is about to die.
// 2  An answer never invents: what was overwritten, or never journalled, is said to be unknown (`beyond`).
// 3  Chains end: a cause has a smaller number than its effect. A chain stops at an input, or at the dispatch in whose
//    poll somebody acted, which is named.
//
// Cancel points: none. Threads: plain functions. Lifetime: answers own their data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asx/base/config.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/event_table.hpp"
#include "asx/model/cancel_kind.hpp"
#include "asx/model/status.hpp"

namespace asx {

/// The semantic event with this number; null when it is not among these.
[[nodiscard]] ASX_API const event* find_event(std::span<const event> events, std::uint64_t seq) noexcept;

/// From an event back to its root cause, newest first, the event itself included.
struct cause_chain {
  std::vector<event> events;
  bool beyond = false;  // The oldest event has a cause that is not at hand.
};
[[nodiscard]] ASX_API cause_chain causes_of(std::span<const event> events, const event& from);

struct cancelled_answer {
  bool cancelled = false;
  cancel_kind kind = cancel_kind::user;  // The reason in force: the strongest so far.
  cause_chain chain;                     // From the request, or the last strengthening, to the root.
  std::string text;
};
[[nodiscard]] ASX_API cancelled_answer why_cancelled(std::span<const event> events, std::uint64_t task);

struct waker_candidate {
  field_type type = field_type::task;  // A task, itself perhaps, or a timer, or thing for "outside".
  std::uint64_t id = 0;
  std::string role;      // "holds permit 3 of channel 2"
  bool can_run = false;  // It is queued, running, or will fire: it does not itself wait.
};

struct told_wait {
  wait_code what = wait_code::other;
  std::uint64_t object = 0;  // The channel, timer, task or region.
};

struct blocked_answer {
  enum class state : std::uint8_t { unknown, queued, running, waiting, completed };
  state doing = state::unknown;
  std::vector<told_wait> waits;            // Any of them would do: a select has several.
  wait_code waits_for = wait_code::other;  // The last that it asked for,
  std::uint64_t object = 0;                // and what that is of.
  std::uint64_t since_seq = 0;             // The event that began the present state.
  std::uint64_t since_ns = 0;
  std::vector<waker_candidate> wakers;
  // It waits, and so does, without a timer, everybody who is known to be able to wake it; never when nobody is.
  bool stuck = false;
  std::string text;
};
[[nodiscard]] ASX_API blocked_answer why_blocked(std::span<const event> events, std::uint64_t task);

/// The same of many tasks, and of a run that is longer than anybody keeps: it is shown the events, in their order.
class ASX_API blocked_view {
 public:
  blocked_view();
  explicit blocked_view(std::span<const event> events);
  blocked_view(blocked_view&&) noexcept;
  blocked_view& operator=(blocked_view&&) noexcept;
  ~blocked_view();
  void take(const event& e);
  [[nodiscard]] blocked_answer why_blocked(std::uint64_t task) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

struct limit_holder {
  field_type type = field_type::region;
  std::uint64_t id = 0;
  std::uint64_t count = 0;
};

struct refused_answer {
  bool refused = false;
  event_kind call = event_kind::refused_other;
  status code = status::ok;
  limit_code limit = limit_code::none;
  std::uint64_t value = 0;
  std::uint64_t asked_by = 0;
  std::uint64_t at = 0;               // The region, channel or task that was asked.
  std::vector<limit_holder> holders;  // Who had what the limit counts, at that moment; the largest first.
  cause_chain chain;                  // When a state refused and not a limit: what led to that state.
  std::string text;
};
/// `seq` is the number of the refusal.
[[nodiscard]] ASX_API refused_answer why_refused(std::span<const event> events, std::uint64_t seq);
/// The last refusal that this task met; 0 for calls from outside.
[[nodiscard]] ASX_API std::optional<std::uint64_t> last_refusal_of(std::span<const event> events, std::uint64_t task);

struct ran_before {
  std::uint64_t task = 0;
  lane_code lane = lane_code::ready;
  std::uint64_t seq = 0;      // Its dispatch.
  std::uint64_t took_ns = 0;  // Until its poll ended, in the run's own time.
};

struct late_answer {
  bool known = false;
  bool dispatched = false;  // False: it still waits for its turn.
  std::uint64_t woken_seq = 0, dispatched_seq = 0;
  std::uint64_t waited_ns = 0;
  lane_code lane = lane_code::ready;  // The lane that it waited in.
  std::uint16_t worker = 0;
  std::vector<ran_before> before;  // Dispatches of the same worker between wake and dispatch.
  std::string text;
};
/// About the task's last dispatch, or the wait that is still going on.
[[nodiscard]] ASX_API late_answer why_late(std::span<const event> events, std::uint64_t task);

}  // namespace asx
