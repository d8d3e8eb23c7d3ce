// asx/kernel/detail/deadline_index.hpp - tasks by (deadline, creation): R-54's index beside the wheel.
//
// A binary heap in one array that grows only when a task is admitted, so that entering and leaving never fail. It is no
// timer: it holds no node, and quiescence does not count it.
#pragma once

#include <cstdint>

#include "asx/base/assert.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/time.hpp"

namespace asx::detail {

struct task_record;

class deadline_index {
 public:
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  explicit deadline_index(memory_port memory) noexcept : memory_(memory) {}
  ~deadline_index();
  deadline_index(const deadline_index&) = delete;
  deadline_index& operator=(const deadline_index&) = delete;

  /// Room for `count` tasks; false when memory was refused, and nothing has changed.
  [[nodiscard]] bool admit(std::uint32_t count) noexcept;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] instant next() const noexcept { return size_ == 0 ? instant::none() : instant{heap_[0].deadline_ns}; }
  [[nodiscard]] task_record& front() const noexcept { return *heap_[0].who; }

  void enter(task_record& t, instant deadline, std::uint64_t creation) noexcept;
  /// Nothing when it is not there.
  void leave(task_record& t) noexcept;

 private:
  struct entry {
    std::uint64_t deadline_ns;
    std::uint64_t creation;
    task_record* who;
    [[nodiscard]] bool goes_before(const entry& o) const noexcept {
      return deadline_ns != o.deadline_ns ? deadline_ns < o.deadline_ns : creation < o.creation;
    }
  };
  void put(std::uint32_t i, const entry& e) noexcept;
  void settle(std::uint32_t hole, const entry& e) noexcept;

  memory_port memory_;
  entry* heap_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
};

}  // namespace asx::detail
