// asx/runtime/poll_probe.hpp - which task is polled right now, for another thread to read.
//
//     runtime: begin(task ...) --poll--> end()              other thread: read(), true while that very poll goes on
//
// 1  A reader sees one poll's fields or none: it reads the turn before and after, and a poll in between changes it.
// 2  Nothing here waits; a poll pays a handful of stores, and only in a runtime that has a probe.
//
// Cancel points: none. Threads: one writes, any may read. Lifetime: it outlives the runtime that writes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

#include "asx/base/time.hpp"
#include "asx/model/ids.hpp"

namespace asx {

/// A poll that is going on.
struct running_poll {
  std::uint64_t turn = 0;  // Which poll of the runtime it is.
  task_id task{};
  instant began{};
  const char* file = "";  // Where the task was spawned.
  std::uint32_t line = 0;
  std::array<char, 24> name{};  // Terminated.
};

class poll_probe {
 public:
  void begin(task_id task, std::string_view name, const std::source_location& site, instant now) noexcept {
    std::array<std::uint64_t, 3> words{};
    std::memcpy(words.data(), name.data(), name.size() < 23 ? name.size() : 23);
    // Release, each: a reader that sees one of these also sees that the poll before is over (the turn's last store).
    for (std::size_t i = 0; i < words.size(); ++i) name_[i].store(words[i], std::memory_order_release);
    task_.store(task.value, std::memory_order_release);
    began_.store(now.ns, std::memory_order_release);
    file_.store(site.file_name(), std::memory_order_release);
    line_.store(site.line(), std::memory_order_release);
    turn_.store(++last_turn_, std::memory_order_release);  // Pairs with the first load of read.
  }
  void end() noexcept { turn_.store(++last_turn_, std::memory_order_relaxed); }

  /// False when no poll goes on, or another one began meanwhile.
  [[nodiscard]] bool read(running_poll& out) const noexcept {
    out.turn = turn_.load(std::memory_order_acquire);
    if (out.turn % 2 == 0) return false;
    std::array<std::uint64_t, 3> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = name_[i].load(std::memory_order_acquire);
    out.task = task_id{task_.load(std::memory_order_acquire)};
    out.began = {began_.load(std::memory_order_acquire)};
    out.file = file_.load(std::memory_order_acquire);
    out.line = line_.load(std::memory_order_acquire);
    std::memcpy(out.name.data(), words.data(), out.name.size());
    return turn_.load(std::memory_order_relaxed) == out.turn;
  }

 private:
  std::uint64_t last_turn_ = 0;         // The writer's own.
  std::atomic<std::uint64_t> turn_{0};  // Odd while a poll goes on.
  std::atomic<std::uint64_t> task_{0};
  std::atomic<std::uint64_t> began_{0};
  std::atomic<const char*> file_{""};
  std::atomic<std::uint32_t> line_{0};
  std::array<std::atomic<std::uint64_t>, 3> name_{};
};

}  // namespace asx
