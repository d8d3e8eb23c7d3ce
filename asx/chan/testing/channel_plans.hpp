// asx/chan/testing/channel_plans.hpp - draws worlds of channels, and what is done in them.
//
// What is drawn depends on the seed and on the model alone, never on the real channels: the same seed does the same
// operations whatever they answer. Draws aim: mostly at senders that live and permits that are held, sometimes at those
// that are not, because a refusal is a promise too.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/chan/testing/channel_script.hpp"
#include "asx/chan/testing/naive_channel_world.hpp"

namespace asx::testing {

class channel_draws {
 public:
  explicit channel_draws(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] channel_plan plan() {
    channel_plan out;
    out.parents = {0, 0, below(2), 0};  // Nobody lives in the last: it closes at once, under whatever lies in it.
    out.channels.clear();
    const std::uint32_t channels = 1 + below(2);
    for (std::uint32_t c = 0; c < channels; ++c) {
      out.channels.push_back({one_in(12) ? 64 : 1 + below(4), one_in(4) ? 0 : 1 + below(2)});
    }
    out.puppets = {0};
    const std::uint32_t puppets = 2 + below(8);
    for (std::uint32_t p = 0; p < puppets; ++p) out.puppets.push_back(below(3));
    out.tracked.clear();
    const std::uint32_t how = below(4);  // None, some, some, all.
    const std::uint32_t senders = channels + 1 + below(7);
    for (std::uint32_t s = 0; s < senders; ++s) out.tracked.push_back(how == 3 || (how != 0 && one_in(2)));
    out.waits = puppets + below(3);
    if (one_in(5)) out.max_waiters = below(4);
    if (one_in(5)) out.max_channels = channels;
    out.is_journalled = !one_in(4);
    out.is_plain = one_in(2);
    is_stormy_ = one_in(3);
    return out;
  }

  /// How long a world lives.
  [[nodiscard]] std::uint64_t length() { return 50 + below(350); }

  [[nodiscard]] channel_operation operation(const naive_channel_world& world) {
    for (int attempt = 0; attempt < 32; ++attempt) {
      const channel_operation op = aim(world);
      if (!world.is_void(op) && (is_worth_it(world, op) || one_in(20))) return op;
    }
    channel_operation nothing;  // The host tries to receive: that can always be asked.
    nothing.call = channel_call::try_recv;
    return nothing;
  }

 private:
  struct weight {
    channel_call call;
    std::uint32_t calm;
    std::uint32_t stormy;
  };
  static constexpr auto weights = std::to_array<weight>({
      {channel_call::poll_reserve, 190, 160},
      {channel_call::poll_send_many, 90, 80},
      {channel_call::poll_send, 190, 150},
      {channel_call::poll_recv, 130, 110},
      {channel_call::poll_recv_many, 50, 40},
      {channel_call::checkpoint, 10, 20},
      {channel_call::mask, 4, 8},
      {channel_call::unmask, 4, 8},
      {channel_call::push_cleanup, 8, 12},
      {channel_call::park, 5, 5},
      {channel_call::bare, 15, 15},
      {channel_call::yield, 8, 8},
      {channel_call::end_ok, 4, 14},
      {channel_call::end_err, 3, 8},
      {channel_call::panic, 2, 8},
      {channel_call::panic_and_drop, 2, 8},
      {channel_call::try_reserve, 60, 60},
      {channel_call::try_send, 60, 50},
      {channel_call::send_evict_oldest, 50, 50},
      {channel_call::clone_sender, 30, 40},
      {channel_call::drop_sender, 6, 20},
      {channel_call::move_sender, 10, 10},
      {channel_call::send, 160, 120},
      {channel_call::abort, 40, 40},
      {channel_call::drop_permit, 20, 30},
      {channel_call::move_permit, 10, 10},
      {channel_call::try_recv, 60, 50},
      {channel_call::drop_receiver, 2, 6},
      {channel_call::move_receiver, 10, 10},
      {channel_call::leave, 25, 25},
      {channel_call::drop_wait, 15, 15},
      {channel_call::move_wait, 15, 15},
      {channel_call::create, 15, 25},
      {channel_call::close, 4, 8},
      {channel_call::wake, 30, 30},
      {channel_call::cancel, 4, 15},
      {channel_call::complete, 3, 8},
      {channel_call::respawn, 60, 80},
      {channel_call::stall, 1, 3},
  });
  static_assert(weights.size() == channel_call_names.size());

  [[nodiscard]] std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_.next_below(n)); }
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.next_below(n) == 0; }

  [[nodiscard]] channel_call draw_call() {
    const auto of = [this](const weight& w) { return is_stormy_ ? w.stormy : w.calm; };
    std::uint32_t total = 0;
    for (const weight& w : weights) total += of(w);
    std::uint32_t at = below(total);
    for (const weight& w : weights) {
      if (at < of(w)) return w.call;
      at -= of(w);
    }
    return channel_call::park;
  }

  /// A slot that `suits`, nine times out of ten if there is one; else any.
  template <class Suits>
  [[nodiscard]] std::uint32_t slot(std::size_t slots, Suits suits) {
    const std::uint32_t any = below(slots == 0 ? 1 : slots);
    if (one_in(10)) return any;
    for (std::uint32_t i = 0; i < slots; ++i) {
      const auto at = static_cast<std::uint32_t>((any + i) % slots);
      if (suits(at)) return at;
    }
    return any;
  }

  /// Not yet another refusal by what is dead or resolved anyway.
  [[nodiscard]] static bool is_worth_it(const naive_channel_world& world, const channel_operation& op) {
    switch (op.call) {
      case channel_call::poll_reserve:
      case channel_call::poll_send_many:
      case channel_call::try_reserve:
      case channel_call::try_send:
      case channel_call::send_evict_oldest:
      case channel_call::clone_sender:
      case channel_call::drop_sender:
      case channel_call::move_sender: return world.is_in_use(world.senders()[op.sender]);
      case channel_call::poll_send:  // What was taken is told of a dead one, too.
        return world.is_in_use(world.senders()[op.sender]) || world.is_untold(op.other);
      case channel_call::send:
      case channel_call::abort:
      case channel_call::drop_permit:
      case channel_call::move_permit:
      case channel_call::panic_and_drop: return world.permit_number(op.permit) != 0;
      case channel_call::poll_recv:
      case channel_call::poll_recv_many:
      case channel_call::try_recv:
      case channel_call::drop_receiver:
      case channel_call::move_receiver: return world.is_in_use(world.receivers()[op.receiver]);
      case channel_call::leave:
      case channel_call::drop_wait:
      case channel_call::move_wait: return world.wait_id(op.other) != 0 || world.is_untold(op.other);
      case channel_call::close: return op.region != 3 || world.owes_in(3);
      default: return true;
    }
  }

  [[nodiscard]] channel_operation aim(const naive_channel_world& world) {
    channel_operation op;
    op.call = draw_call();
    const std::size_t puppets = world.plan().puppets.size();
    const bool wants_dead = op.call == channel_call::respawn;
    op.actor = 1 + slot(puppets - 1, [&](std::uint32_t p) { return world.is_alive(p + 1) != wants_dead; });
    if (!is_of_puppet_only(op.call) && !is_of_host_only(op.call) && one_in(6)) op.actor = 0;
    if (op.call == channel_call::stall || (op.call == channel_call::close && one_in(2))) op.actor = 0;
    op.sender = slot(world.senders().size(), [&](std::uint32_t s) { return world.is_in_use(world.senders()[s]); });
    op.receiver = slot(2, [&](std::uint32_t r) { return world.is_in_use(world.receivers()[r]); });
    op.permit = slot(world.permit_slots(), [&](std::uint32_t p) { return world.permit_number(p) != 0; });
    op.is_over = one_in(4);
    op.variant = below(2);
    op.message = ++last_message_;
    op.region = one_in(2) ? 3 : below(3);
    switch (op.call) {
      case channel_call::poll_send_many:  // A tracked sender has none.
      case channel_call::poll_send:
        op.sender = slot(world.senders().size(), [&](std::uint32_t s) {
          return world.is_in_use(world.senders()[s]) && !world.plan().tracked[s];
        });
        [[fallthrough]];
      case channel_call::poll_reserve: {
        const bool wants_new = !one_in(4);
        op.other = slot(world.plan().waits, [&](std::uint32_t w) { return (world.wait_id(w) == 0) == wants_new; });
        if (one_in(2)) op.sender = world.sender_of(op.other, op.sender);  // Else it begins anew.
        break;
      }
      case channel_call::poll_recv_many: op.count = one_in(8) ? UINT32_MAX : below(5); break;
      case channel_call::leave:
      case channel_call::drop_wait:
      case channel_call::move_wait:
        op.other =
            slot(world.plan().waits, [&](std::uint32_t w) { return world.wait_id(w) != 0 || world.is_untold(w); });
        break;
      case channel_call::clone_sender:
      case channel_call::create:
        op.other = slot(world.senders().size(), [&](std::uint32_t s) { return !world.is_in_use(world.senders()[s]); });
        break;
      default: break;
    }
    if (op.call == channel_call::poll_send_many) {
      op.count = below(world.view_by_sender(op.sender).capacity + 3);
      last_message_ += op.count;
    }
    if (op.call == channel_call::create) {
      op.message = 1 + below(4);
      op.receiver = slot(2, [&](std::uint32_t r) { return !world.is_in_use(world.receivers()[r]); });
    }
    if (op.call == channel_call::try_reserve && op.actor == 0) {
      op.variant = one_in(8) ? 1 : 0;
    }
    op.kind = one_in(3) ? cancel_kind::shutdown : cancel_kind::user;
    if (op.call == channel_call::poll_send) {
      op.variant = one_in(4) ? 1 : 0;
      if (one_in(8)) op.other = slot(world.plan().waits, [&](std::uint32_t w) { return world.is_untold(w); });
    }
    const std::uint32_t how = below(4);
    op.repolls = how == 0 ? 0 : how == 1 ? UINT32_MAX : below(1024);
    return op;
  }

  splitmix64 random_;
  bool is_stormy_ = false;
  std::uint64_t last_message_ = 0;
};

}  // namespace asx::testing
