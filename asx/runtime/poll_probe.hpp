// asx/runtime/poll_probe.hpp - which task is polled right now, for another thread to read.
//
//     runtime: turn = begin(task ...) --poll--> end(turn)   other thread: read(), true while that very poll goes on
//
// 1  A reader sees one poll's fields or none: it reads the turn before and after, and a poll in between changes it.
// 2  Nothing here waits; a poll pays a handful of stores, and only in a runtime that has a probe.
// 3  An end ends the turn that it names, and no other: a probe that comes in the middle of a poll, perhaps at the
//    address of the one before it, has not begun that poll, and is not ended by it.
//
// Cancel points: none. Threads: one writes, any may read; each worker has its own. Lifetime: it outlives the runtime
// that writes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

#include "asx/base/atomic_word.hpp"
#include "asx/base/time.hpp"
#include "asx/model/ids.hpp"

namespace asx {

/// A poll that is going on.
struct running_poll {
  std::uint32_t turn = 0;  // Which poll of the runtime it is; it wraps.
  task_id task{};
  instant began{};
  const char* file = "";  // Where the task was spawned.
  std::uint32_t line = 0;
  std::array<char, 24> name{};  // Terminated.
  bool is_alone = true;         // There is no other worker: nobody else runs meanwhile.
};

class poll_probe {
 public:
  /// The turn, which is odd.
  std::uint32_t begin(task_id task, std::string_view name, const std::source_location& site, instant now) noexcept {
    image seen{.task = task.value, .began = now.ns, .name = {}, .line = site.line()};
    std::memcpy(seen.name.data(), name.data(), name.size() < 23 ? name.size() : 23);
    std::array<std::uint32_t, words> plain;
    std::memcpy(plain.data(), &seen, sizeof plain);
    // Release, each: a reader that sees one of these also sees that the poll before is over (the turn's last store).
    for (std::size_t i = 0; i < words; ++i) image_[i].store(plain[i], std::memory_order_release);
    file_.store(site.file_name(), std::memory_order_release);
    turn_.store(++last_turn_, std::memory_order_release);  // Pairs with the first load of read.
    return last_turn_;
  }
  /// Of a turn that began elsewhere: nothing.
  void end(std::uint32_t turn) noexcept {
    if (turn != last_turn_) return;
    // Relaxed: nothing was written that belongs to it. The next poll's words release it, as said above.
    turn_.store(++last_turn_, std::memory_order_relaxed);
  }

  /// False when no poll goes on, or another one began meanwhile.
  [[nodiscard]] bool read(running_poll& out) const noexcept {
    out.turn = turn_.load(std::memory_order_acquire);  // Pairs with the last store of begin: its words are seen.
    if (out.turn % 2 == 0) return false;
    std::array<std::uint32_t, words> plain;
    // Acquire, each: pairs with the stores of the same word in a later begin. Who has read one of those sees, in the
    // last load, the end that came before it.
    for (std::size_t i = 0; i < words; ++i) plain[i] = image_[i].load(std::memory_order_acquire);
    out.file = file_.load(std::memory_order_acquire);
    if (turn_.load(std::memory_order_relaxed) != out.turn) return false;  // Relaxed: behind the acquires above.
    image seen{};
    std::memcpy(&seen, plain.data(), sizeof plain);
    out.task = task_id{seen.task};
    out.began = {seen.began};
    out.line = seen.line;
    out.name = seen.name;
    return true;
  }

 private:
  // Kept in words that every machine can store at once.
  struct image {
    std::uint64_t task;
    std::uint64_t began;
    std::array<char, 24> name;
    std::uint32_t line;
  };
  static constexpr std::size_t words = 11;
  static_assert(offsetof(image, line) == 40, "eleven words hold everything");

  std::uint32_t last_turn_ = 0;         // The writer's own.
  atomic_word<std::uint32_t> turn_{0};  // Odd while a poll goes on.
  std::array<atomic_word<std::uint32_t>, words> image_{};
  atomic_word<const char*> file_{""};
};

}  // namespace asx
