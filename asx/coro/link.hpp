// asx/coro/link.hpp - tasks that end together: when one of them does not end ok, the others are asked to cancel.
//
//     auto reader = co_await asx::start(c, reads, socket);
//     auto writer = co_await asx::start(c, writes, socket);
//     if (asx::link(reader, writer) != asx::status::ok) ...           // neither goes on without the other
//     asx::link(asx::link_policy::any_end, reader, writer)            // not even when the other one is done
//
// 1  When one of those who are linked ends err, cancelled or panicked, all others that have not ended are asked to
//    cancel, with kind linked_exit; under `any_end` also when it ends ok. The reason names the task that ended, and its
//    cause is why that was cancelled, if it was. The task that ended keeps its own outcome.
// 2  A link goes with the first end that it tells of. One that ends otherwise leaves it; the others stay linked.
// 3  One that has ended already when it is linked acts at once, and by the same law.
// 4  Links may cross regions, and a task may have several. What is asked of one by a link it passes on by its others
//    when it ends. No limit of the cancel queue refuses it.
// 5  A refusal has linked nobody: stale_handle for a handle that names no task, invalid_argument for a task with itself
//    or of two runtimes, resource_exhausted when the contract has no memory for it. A link is one block, which is used
//    again.
//
// A region fails fast when its children are to end with one of them: that closes it, and takes nobody in. Links are for
// some of its children, or for tasks of several regions.
//
// Cancel points: none.
// Calls: by tasks. What a host links between runs is in no journal, and a replay does not know of it.
// Threads: the runtime's; each end and each link is decided in one entry of the gate.
// Lifetime: a link lives no longer than its tasks, and needs no handle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "asx/coro/detail/end_seat.hpp"
#include "asx/coro/spawn.hpp"

namespace asx {

enum class link_policy : std::uint8_t { not_ok, any_end };

namespace detail {

class link_group;

/// Where a task stands in a link.
struct link_seat : end_seat {
  explicit link_seat(link_group& of) noexcept;
  link_group* group;
};

/// Some tasks, the seats behind it, in one block. Everything inside.
class ASX_API link_group {
 public:
  /// Of tasks of `k` whose records are held.
  [[nodiscard]] static status make(kernel& k, link_policy policy, std::span<coro_root* const> members) noexcept;
  /// The task of that seat has ended: it has left, and perhaps the whole goes.
  static void end(end_seat& seat, kernel& k, coro_root& ended) noexcept;

 private:
  link_group(link_policy policy, std::uint32_t count) noexcept : policy_(policy), seats_(count) {}
  [[nodiscard]] static std::size_t bytes_of(std::size_t count) noexcept;
  [[nodiscard]] std::span<link_seat> seats() noexcept;
  [[nodiscard]] static bool acts(link_policy policy, const coro_root& ended) noexcept;
  static void ask(kernel& k, coro_root& who, const coro_root& ended) noexcept;

  link_policy policy_;
  std::uint32_t seats_;
};

template <class>
inline constexpr bool is_join_handle = false;
template <class T>
inline constexpr bool is_join_handle<join_handle<T>> = true;

}  // namespace detail

/// Now; see the laws above.
template <class... Handles>
[[nodiscard("a refused link must be seen")]] status link(link_policy policy, Handles&&... handles) noexcept {
  constexpr bool are_handles = (detail::is_join_handle<std::remove_cvref_t<Handles>> && ...);
  constexpr bool are_enough = !are_handles || sizeof...(Handles) > 1;
  static_assert(are_handles,
                "asx: link takes the handles of tasks that were started: auto a = co_await start(c, f); or, of what "
                "spawn gave, its handle");
  static_assert(are_enough, "asx: a link is between two tasks or more: link(a, b)");
  if constexpr (are_handles && are_enough) {
    const std::array<kernel*, sizeof...(Handles)> homes{handles.home()...};
    const std::array<detail::coro_root*, sizeof...(Handles)> members{handles.root()...};
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] == nullptr) return status::stale_handle;
      for (std::size_t j = 0; j < i; ++j) {
        if (members[i] == members[j] || homes[i] != homes[j]) return status::invalid_argument;
      }
    }
    return detail::link_group::make(*homes[0], policy, members);
  }
  return status::invalid_argument;
}
template <class Handle, class... Handles>
  requires(!std::is_scalar_v<std::remove_cvref_t<Handle>>)  // Nor the system's link, of two names.
[[nodiscard("a refused link must be seen")]] status link(Handle&& first, Handles&&... others) noexcept {
  return link(link_policy::not_ok, first, others...);
}

}  // namespace asx
