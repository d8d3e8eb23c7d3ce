// asx/sync/testing/sync_script.hpp - what puppets and host may do, and the draws that decide what they do next.
//
// A draw looks at the model_, so that most of what it says has a meaning: it acquires into an empty hand, asks again
// where somebody waits, spawns who has ended.
//
// Cancel points: none. Threads: one owner. Lifetime: draws look at the model they were made with.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "asx/base/random.hpp"
#include "asx/model/status.hpp"
#include "asx/sync/testing/naive_sync.hpp"

namespace asx::testing {

enum class sync_call : std::uint8_t {
  acquire,
  masked_acquire,
  try_acquire,
  release,
  move_hand,
  add,
  close,
  poll_wait,
  notify_one,
  notify_all,
  leave,
  drop_wait,
  move_wait,
  checkpoint,
  park,
  end_ok,
  end_err,
  panic,
  cancel,
  complete,
  wake,
  spawn,
  close_region,
  open_region,
  create,
};
inline constexpr std::array<std::string_view, 25> sync_call_names = {
    "acquire",   "masked_acquire", "try_acquire", "release", "move_hand", "add",       "close",
    "poll_wait", "notify_one",     "notify_all",  "leave",   "drop_wait", "move_wait", "checkpoint",
    "park",      "end_ok",         "end_err",     "panic",   "cancel",    "complete",  "wake",
    "spawn",     "close_region",   "open_region", "create",
};

struct sync_operation {
  sync_call call = sync_call::park;
  std::size_t by = naive_sync::none;  // None: the host.
  std::size_t slot = 0;               // Of a thing; of a region or a puppet, for what is done to those.
  std::size_t wait = 0;
  std::size_t hand = 0;
  std::size_t to = 0;
  std::uint64_t n = 0;
  status code = status::ok;
};

[[nodiscard]] inline std::string text(const sync_operation& op) {
  const std::string who = op.by == naive_sync::none ? "host" : "puppet " + std::to_string(op.by);
  return "  " + who + ": " + std::string(sync_call_names[static_cast<std::size_t>(op.call)]) + " slot " +
         std::to_string(op.slot) + " wait " + std::to_string(op.wait) + " hand " + std::to_string(op.hand) + " to " +
         std::to_string(op.to) + " n " + std::to_string(op.n) + " -> " + std::string(name(op.code)) + "\n";
}

/// How large a world is.
struct sync_size {
  static constexpr std::size_t none = naive_sync::none;
  static constexpr std::size_t puppet_count = 5;
  static constexpr std::size_t region_count = 3;  // The last has no tasks in it.
  static constexpr std::size_t slot_count = 6;    // Semaphores 0 to 2, mutexes 3 and 4, a notify.
  static constexpr std::size_t half = 4;          // Of the hands: units, then guards; of the waits: units, then news.
};

class sync_draws : sync_size {
 public:
  /// `slots`: which thing lies in which slot.
  sync_draws(std::uint64_t seed, const naive_sync& of, const std::array<std::size_t, slot_count>& slots) noexcept
      : source_(seed), model_(of), things_(slots), crowded_(1 + below(slot_count - 1)) {}

  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(source_.next_below(n)); }
  [[nodiscard]] sync_operation of_host() {
    sync_operation op;
    const std::size_t of = below(100);
    const std::size_t p = op.slot = below(puppet_count);
    if (of < 25) {
      op.call = model_.puppets[p].is_live ? sync_call::wake : sync_call::park;
    } else if (of < 30) {
      op.call = model_.puppets[p].is_live ? sync_call::cancel : sync_call::park;
    } else if (of < 32) {
      op.call = model_.puppets[p].is_live ? sync_call::complete : sync_call::park;
      op.n = below(2);
    } else if (of < 48) {
      const bool may = !model_.puppets[p].is_live && model_.regions[model_.puppets[p].region].is_open;
      op.call = may ? sync_call::spawn : sync_call::park;
    } else if (of < 49) {
      op.slot = below(region_count);
      op.call = model_.regions[op.slot].is_open ? sync_call::close_region : sync_call::park;
    } else if (of < 54) {
      op.slot = below(region_count);
      op.call = model_.regions[op.slot].is_closed ? sync_call::open_region : sync_call::park;
    } else if (of < 58) {
      op.slot = below(slot_count);
      op.to = below(region_count);
      op.n = 1 + below(4);
      const naive_sync::thing& t = model_.things[things_[op.slot]];
      const bool is_over = t.is_gone || t.is_closed;
      op.call = is_over && model_.regions[op.to].is_open ? sync_call::create : sync_call::park;
    } else {
      return of_anybody();
    }
    return op;
  }
  [[nodiscard]] sync_operation of_puppet(std::size_t p) {
    const naive_sync::puppet& me = model_.puppets[p];
    sync_operation op;
    const std::size_t of = below(100);
    const auto wait_for = [&](std::size_t slot, std::size_t wait) {
      op.slot = slot;
      op.wait = wait;
      if (slot == slot_count - 1) {
        op.call = sync_call::poll_wait;
        return;
      }
      const std::uint64_t total = model_.things[things_[slot]].total;
      op.call = below(6) == 0 ? sync_call::masked_acquire : sync_call::acquire;
      op.hand = hand(slot >= 3, true);
      const std::size_t odd = below(20);
      const naive_sync::wait& w = model_.waits[wait];
      const bool stays = w.of == things_[slot] && odd > 4;
      op.n = slot >= 3 ? 1 : stays ? w.wants : odd == 0 ? 0 : odd == 1 ? total + 1 : 1 + below(total);
      if (op.hand == none) op.call = sync_call::park;
    };
    if (of < (me.is_cancelled ? 20U : 6U)) {
      op.call = of % 4 == 0 ? sync_call::end_err : of % 4 == 1 ? sync_call::panic : sync_call::end_ok;
    } else if (of < 22) {
      op.call = sync_call::checkpoint;
    } else if (of < 58 && !me.waits.empty()) {  // Asks again.
      const std::size_t w = me.waits[below(me.waits.size())];
      for (std::size_t s = 0; s < slot_count; ++s) {
        if (things_[s] == model_.waits[w].of) wait_for(s, w);
      }
    } else if (of < 80) {
      const std::size_t s = below(3) == 0 ? slot_count - 1 : below(crowded_);
      wait_for(s, s == slot_count - 1 ? half + below(half) : below(half));
    } else {
      op = of_anybody();
    }
    op.by = p;
    return op;
  }

 private:
  [[nodiscard]] std::size_t hand(bool is_guard, bool is_empty) {
    const std::size_t from = below(half);
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t h = (is_guard ? half : 0) + (from + i) % half;
      if ((model_.hands[h].of == none) == is_empty) return h;
    }
    return none;
  }
  /// What anybody may do.
  [[nodiscard]] sync_operation of_anybody() {
    sync_operation op;
    op.slot = below(crowded_);
    const bool is_guard = op.slot >= 3;
    op.wait = below(2 * half);
    op.to = (op.wait / half) * half + below(half);
    const std::size_t total = static_cast<std::size_t>(model_.things[things_[op.slot]].total);
    const std::size_t odd = below(20);
    op.n = is_guard ? 1 : odd == 0 ? 0 : odd == 1 ? total + 1 : 1 + below(total);
    const std::size_t of = below(100);
    if (of < 24) {
      op.call = sync_call::try_acquire;
      op.hand = hand(is_guard, true);
      if (op.hand == none) op.call = sync_call::park;
    } else if (of < 58) {
      op.call = sync_call::release;
      op.hand = hand(is_guard, false);
      if (op.hand == none) op.call = sync_call::park;
    } else if (of < 66) {
      op.call = sync_call::move_hand;
      op.hand = below(2 * half);
      op.to = (op.hand / half) * half + below(half);
      if (op.hand == op.to) op.call = sync_call::park;
    } else if (of < 69) {
      op.call = is_guard || model_.things[things_[op.slot]].total > 8 ? sync_call::park : sync_call::add;
      op.n = below(3);
    } else if (of < 70) {
      op.call = is_guard ? sync_call::park : sync_call::close;
    } else if (of < 82) {
      op.call = of < 79 ? sync_call::notify_one : sync_call::notify_all;
      op.slot = slot_count - 1;
    } else if (of < 88) {
      op.call = of < 85 ? sync_call::leave : sync_call::drop_wait;
      for (std::size_t i = 0; i < 2 * half && model_.waits[op.wait].of == none; ++i) {
        op.wait = (op.wait + 1) % (2 * half);
      }
    } else if (of < 93) {
      op.call = op.wait == op.to ? sync_call::park : sync_call::move_wait;
    }
    return op;
  }

  splitmix64 source_;
  const naive_sync& model_;
  const std::array<std::size_t, slot_count>& things_;
  std::size_t crowded_;  // A world uses the first few of the semaphores and mutexes: fewer, and more wait.
};

}  // namespace asx::testing
