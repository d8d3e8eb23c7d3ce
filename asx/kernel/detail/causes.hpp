// asx/kernel/detail/causes.hpp - the reasons that tasks and regions share, and the texts of panics; sized by the
// contract.
//
// The same laws as cause_store.hpp: a kept reason lives until its last release, holds on to its cause, and is found by
// a generation-checked reference. Full is no error: the chain is cut there and says so.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "asx/base/slab.hpp"
#include "asx/model/cancel_reason.hpp"

namespace asx::detail {

class causes {
 public:
  causes(std::uint32_t slots, std::uint32_t message_bytes, memory_port memory) noexcept
      : message_bytes_(message_bytes), core_(sizeof(slot) + message_bytes, alignof(slot), slots, memory) {}

  /// The null reference when every slot is taken. The caller owns one count.
  [[nodiscard]] cause_ref keep(const cancel_reason& reason) noexcept {
    const std::uint32_t index = core_.lowest_free();
    if (index == slab_core::npos) return {};
    core_.take(index);
    auto* const s = new (core_.record(index)) slot{reason, 1};
    char* const text = reinterpret_cast<char*>(s + 1);
    const std::size_t size = reason.message.size() < message_bytes_ ? reason.message.size() : message_bytes_;
    if (size != 0) std::memcpy(text, reason.message.data(), size);
    s->reason.message = {text, size};
    s->reason.truncated = reason.truncated || size < reason.message.size();
    if (find(reason.cause) != nullptr) retain(reason.cause);
    return {index, ++core_.generation(index)};
  }

  [[nodiscard]] const cancel_reason* find(cause_ref ref) const noexcept {
    const slot* const s = at(ref);
    return s == nullptr ? nullptr : &s->reason;
  }
  /// Empty when it is gone, or was never kept.
  [[nodiscard]] std::string_view text_of(cause_ref ref) const noexcept {
    const slot* const s = at(ref);
    return s == nullptr ? std::string_view() : s->reason.message;
  }
  void retain(cause_ref ref) noexcept {
    ASX_ASSERT(at(ref) != nullptr, "only a kept reason can be retained");
    ++at(ref)->count;
  }
  void release(cause_ref ref) noexcept {
    for (slot* s = at(ref); s != nullptr; s = at(ref)) {  // A loop: a chain may be as long as the tree is deep (U-12).
      if (--s->count != 0) return;
      ++core_.generation(ref.index);
      core_.give_back(ref.index);
      ref = s->reason.cause;
    }
  }

  [[nodiscard]] std::uint32_t live() const noexcept { return core_.live(); }
  [[nodiscard]] bool reserve(std::uint32_t count) noexcept { return core_.reserve(count); }
  [[nodiscard]] bool ready() const noexcept { return core_.ready(); }

 private:
  struct slot {
    cancel_reason reason;
    std::uint32_t count;
  };

  [[nodiscard]] slot* at(cause_ref ref) const noexcept {
    if (ref.is_null() || !core_.present(ref.index) || core_.generation(ref.index) != ref.generation) return nullptr;
    if ((ref.generation & 1U) == 0) return nullptr;
    return std::launder(reinterpret_cast<slot*>(core_.record(ref.index)));
  }

  std::size_t message_bytes_;
  slab_core core_;
};

/// A reason together with what it needs from the store: its own copy when it has a message, else its cause.
class held_reason {
 public:
  void hold(causes& store, const cancel_reason& reason) noexcept {
    const cause_ref before = held_;
    reason_ = fit_head(reason);
    if (reason_.message.empty()) {
      held_ = store.find(reason_.cause) == nullptr ? cause_ref{} : reason_.cause;
      if (!held_.is_null()) store.retain(held_);
    } else {
      held_ = store.keep(reason_);
      const cancel_reason* const kept = store.find(held_);
      if (kept != nullptr) {
        reason_ = *kept;
      } else {  // No room for the text: it is dropped, and the head says so.
        reason_.message = {};
        reason_.truncated = true;
        if (store.find(reason_.cause) != nullptr) store.retain(held_ = reason_.cause);
      }
    }
    store.release(before);
  }
  void release(causes& store) noexcept {
    store.release(held_);
    held_ = {};
  }
  [[nodiscard]] const cancel_reason& get() const noexcept { return reason_; }

 private:
  cancel_reason reason_{};
  cause_ref held_{};
};

}  // namespace asx::detail
