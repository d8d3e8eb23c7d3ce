// asx/kernel/detail/reasons.hpp - why tasks are cancelled: one copy for all who were told the same.
//
//     task --+
//     task --+--> slot { reason, count }          closing a region tells every task in it the same
//     task --+
//     task -----> slot { reason, count }          this one was told something else, or somebody looks at its reason
//
// 1  Room for a task's reason is made when the task is admitted, and nowhere else: telling it cannot fail.
// 2  A slot is in use while a task has it, so there are never more slots in use than tasks.
// 3  What was made room for is not touched before it is needed: a task that nobody cancels pays for addresses only.
//
// In the record it would be 80 bytes that most tasks never need, and that a close writes once for each of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asx/base/construct.hpp"
#include "asx/base/memory.hpp"
#include "asx/kernel/detail/causes.hpp"

namespace asx::detail {

struct reason_slot {
  held_reason reason;
  std::uint32_t count = 0;  // Tasks that have it.
  reason_slot* next_free = nullptr;
};

class reason_pool {
 public:
  reason_pool(memory_port memory, std::uint32_t most) noexcept : memory_(memory), most_(most) {}
  ~reason_pool();
  reason_pool(const reason_pool&) = delete;
  reason_pool& operator=(const reason_pool&) = delete;

  /// Room for the reasons of `count` tasks; false when memory was refused, and nothing has changed.
  [[nodiscard]] bool admit(std::uint32_t count) noexcept { return count <= room_ || grow(count); }

  /// One for a task of its own.
  [[nodiscard]] reason_slot& take() noexcept;
  [[nodiscard]] static reason_slot& share(reason_slot& slot) noexcept {
    ++slot.count;
    return slot;
  }
  void release(reason_slot& slot, causes& store) noexcept {
    if (--slot.count != 0) return;
    slot.reason.release(store);
    slot.next_free = free_;
    free_ = &slot;
  }
  /// The same reason in a slot that nobody else has.
  [[nodiscard]] reason_slot& own(reason_slot& slot, causes& store) noexcept;

 private:
  struct chunk {
    chunk* before;
    std::uint32_t slots;
  };
  static constexpr std::size_t header =
      (sizeof(chunk) + alignof(reason_slot) - 1) / alignof(reason_slot) * alignof(reason_slot);
  [[nodiscard]] static std::size_t bytes_of(std::uint32_t slots) noexcept {
    return header + std::size_t{slots} * sizeof(reason_slot);
  }
  [[nodiscard]] bool grow(std::uint32_t count) noexcept;

  memory_port memory_;
  std::uint32_t most_;           // Slots: the contract's tasks.
  chunk* chunks_ = nullptr;      // The newest first.
  reason_slot* free_ = nullptr;  // Were in use before.
  std::byte* fresh_ = nullptr;   // Never used, in the chunk that was opened last,
  std::uint32_t fresh_left_ = 0;
  std::uint32_t opened_ = 0;  // and how many chunks were opened, from the oldest on.
  std::uint32_t made_ = 0;    // Chunks there are.
  std::uint32_t room_ = 0;
};

}  // namespace asx::detail
