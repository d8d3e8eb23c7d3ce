// What happens when time moves: the cursor goes from event to event, and never looks at the empty time between.
//
//     cursor          L0 slot with timers      L1 slot begins       now
//       |------------------|-------------------------|---------------|
//                     sort, fire              cascade, go on
//
// The cursor stays where due timers did not find room, so nothing is moved twice: what was not collected keeps lying
// in its slot, is cancelled there, and the next call goes on from it. Only what is left of one tick's batch is kept
// apart, in the ready queue, because it is sorted already.
#include <algorithm>
#include <array>
#include <bit>

#include "asx/base/assert.hpp"
#include "asx/wheel/detail/wheel_geometry.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx {
namespace {

void prefetch(const void* address) noexcept {
  __builtin_prefetch(address);
}

}  // namespace

// Where the cursor goes next: the begin of an occupied slot, or the first tick of the overflow heap.
struct timer_wheel::event {
  std::uint64_t tick;
  std::uint64_t last;  // The last tick of that slot.
};

class timer_wheel::emitter {
 public:
  emitter(timer_wheel& wheel, std::span<expired_timer> out) noexcept : wheel_(wheel), out_(out) {}

  [[nodiscard]] bool full() const noexcept { return count_ == out_.size(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t room() const noexcept { return out_.size() - count_; }

  void emit(std::uint32_t node) noexcept {
    const detail::timer_body& body = wheel_.bodies_[node];
    out_[count_++] = {wheel_.handle_of(node), {body.deadline_ns}, body.token};
    wheel_.release(node);
  }

 private:
  timer_wheel& wheel_;
  std::span<expired_timer> out_;
  std::size_t count_ = 0;
};

void timer_wheel::advance(instant now) noexcept {
  collect_expired(now, {});
}

std::size_t timer_wheel::collect_expired(instant now, std::span<expired_timer> out) noexcept {
  now_ = later(now_, now);
  emitter sink(*this, out);
  if (live_ == 0) {
    cursor_ = std::max(cursor_, detail::tick_of(now_.ns));
    draw_lines();
    return 0;
  }
  if (coalesce_window_.ns != 0 && !out.empty() && next_deadline() <= now_) {
    const std::uint64_t past = now_.ns % coalesce_window_.ns;
    const instant boundary = past == 0 ? now_ : now_ + (coalesce_window_ - duration{past});
    if (count_until(boundary, coalesce_min_group_) >= coalesce_min_group_) promote_until(boundary);
  }
  drain(sink);
  draw_lines();
  return sink.count();
}

void timer_wheel::drain(emitter& out) noexcept {
  const std::uint64_t target = std::max(cursor_, detail::tick_of(now_.ns));
  if (!overflow_.empty()) refill();
  for (;;) {
    if (!ready_.empty() || !slots_.empty(detail::slot_of(cursor_, 0))) {
      if (out.full()) return;  // What is due waits where it is.
      fire_current(out);
      if (!ready_.empty()) return;
    }
    if (cursor_ == target) return;
    const event next = next_event();
    if (next.tick > target) {
      cursor_ = target;
      return;
    }
    if (out.full() && next.last < target) return;  // All of it is due, and nobody takes it: it can go out whole later.
    move_on(next, out);
  }
}

timer_wheel::event timer_wheel::next_event() const noexcept {
  event nearest{UINT64_MAX, UINT64_MAX};
  for (std::uint32_t level = 0; level < detail::level_count; ++level) {
    const std::uint64_t after = (cursor_ >> 8 * level) + 1;
    if (nearest.tick < after << 8 * level) return nearest;  // From this level on every slot begins later.
    const std::uint32_t distance = slots_.distance(level, static_cast<std::uint32_t>(after & 255U));
    if (distance >= 255) continue;  // 255 slots on is the cursor's own, which is done.
    const std::uint64_t tick = (after + distance) << 8 * level;
    if (tick <= nearest.tick) nearest = {tick, tick + detail::resolution_ticks(level) - 1};
  }
  if (!overflow_.empty()) {
    // Only after the cursor lagged for longer than the wheel spans: otherwise the refill has emptied the near end.
    const std::uint64_t tick = std::max(cursor_ + 1, detail::tick_of(bodies_[overflow_.front()].deadline_ns));
    if (tick < nearest.tick) nearest = {tick, tick};
  }
  return nearest;
}

// Enters a tick: slots that begin here go down, coarse before fine, or out, as far as they are due.
void timer_wheel::move_on(const event& next, emitter& out) noexcept {
  cursor_ = next.tick;
  if (!overflow_.empty()) refill();
  for (std::uint32_t level = detail::level_count - 1; level > 0; --level) {
    if ((cursor_ & (detail::resolution_ticks(level) - 1)) != 0) continue;
    const std::uint32_t slot = detail::slot_of(cursor_, level);
    if (slots_.empty(slot)) continue;
    if (fire_slot(level, slot, out)) return;
    cascade(slot);
  }
}

// Entries whose time is within the wheel come in. One that no level can hold yet waits on: everything in the
// wheel is earlier, and the cursor comes by again.
void timer_wheel::refill() noexcept {
  while (!overflow_.empty()) {
    const std::uint32_t node = overflow_.front();
    const instant deadline{bodies_[node].deadline_ns};
    if (deadline > now_ && deadline - now_ >= max_wheel_duration_) return;
    const std::uint64_t tick = std::max(cursor_, detail::tick_of(deadline.ns));
    if (detail::level_of(tick, cursor_) >= detail::level_count) return;
    overflow_.erase(0, in_overflow());
    place(node, tick);
  }
}

void timer_wheel::cascade(std::uint32_t slot) noexcept {
  ++slot_visits_;
  const bool is_soon_due = slot / 256 == 1;
  slots_.take_all(
      slot,
      [&](detail::slot_entry e) {
        prefetch(&identities_[e.node]);
        if (is_soon_due) prefetch(&bodies_[e.node]);
      },
      [&](detail::slot_entry e) { place(e.node, full_tick(e.tick)); });
}

// What is due in a slot that has its time to itself need not go through the levels below it: it is sorted and fired
// from here, and only the rest goes down. The longer the steps of time, the more timers go this way.
bool timer_wheel::fire_slot(std::uint32_t level, std::uint32_t slot, emitter& out) noexcept {
  for (std::uint32_t finer = 0; finer < level; ++finer) {
    if (slots_.occupied(finer).any()) return false;
  }
  const std::uint32_t fits = std::min(limit_, scratch_room);
  if (out.full() || slots_.size(slot, fits + 1) > fits) return false;

  ++slot_visits_;
  const std::uint64_t present = detail::tick_of(now_.ns);
  const std::uint64_t begin = cursor_;
  cursor_ = std::min(present, begin + detail::resolution_ticks(level) - 1);
  std::uint32_t count = 0;
  slots_.take_all(
      slot,
      [&](detail::slot_entry e) {
        prefetch(&bodies_[e.node]);
        prefetch(&identities_[e.node]);
      },
      [&](detail::slot_entry e) {
        const std::uint64_t tick = begin + (e.tick - static_cast<std::uint32_t>(begin));
        if (tick < present || (tick == present && bodies_[e.node].deadline_ns <= now_.ns)) {
          scratch_[count++].node = e.node;
        } else {
          place(e.node, tick);
        }
      });
  for (std::uint32_t i = 0; i < count; ++i) scratch_[i].deadline_ns = bodies_[scratch_[i].node].deadline_ns;
  fire_scratch(count, out);
  return true;
}

// Fires what lies in the scratch, in order; what finds no room is ready.
void timer_wheel::fire_scratch(std::uint32_t count, emitter& out) noexcept {
  sort_scratch(count);
  std::uint32_t fired = 0;
  while (fired < count && !out.full()) out.emit(scratch_[fired++].node);
  if (fired == count) return;
  std::uint32_t* const run = ready_.run_storage();
  for (std::uint32_t i = fired; i < count; ++i) run[i - fired] = scratch_[i].node;
  ready_.start_run(count - fired, in_ready());
}

// Fires what is due in the cursor's slot, together with what is ready. There is room for one at least.
void timer_wheel::fire_current(emitter& out) noexcept {
  const std::uint32_t slot = detail::slot_of(cursor_, 0);
  const bool is_past = cursor_ < detail::tick_of(now_.ns);  // Then all of the slot is due.
  ++slot_visits_;
  if (!is_past && ready_.empty() && next_deadline() > now_) return;  // A slot is not unpacked for nothing.

  // Hands the due entries of the slot to `take` and puts the others back.
  const auto take_due = [&](auto&& take) {
    const auto nothing = [](detail::slot_entry) {};
    slots_.take_all(slot, nothing, [&](detail::slot_entry e) {
      if (is_past || bodies_[e.node].deadline_ns <= now_.ns) {
        take(e.node);
      } else {
        identities_[e.node].place = slots_.push(slot, e);
      }
    });
  };

  if (!slots_.empty(slot)) {
    const std::uint32_t fits = std::min(limit_, scratch_room);
    if (!ready_.empty()) {
      take_due([&](std::uint32_t node) { ready_.push(node, in_ready()); });
    } else if (slots_.size(slot, fits + 1) <= fits) {
      std::uint32_t count = 0;
      take_due([&](std::uint32_t node) { scratch_[count++] = {bodies_[node].deadline_ns, node}; });
      fire_scratch(count, out);
      return;
    } else {
      std::uint32_t* const run = ready_.run_storage();
      std::uint32_t count = 0;
      take_due([&](std::uint32_t node) { run[count++] = node; });
      const detail::timer_order order = in_ready();
      std::sort(run, run + count, [&order](std::uint32_t a, std::uint32_t b) { return order.before(a, b); });
      ready_.start_run(count, order);
    }
  }
  while (!ready_.empty() && !out.full()) {
    if (const std::uint32_t soon = ready_.peek(8); soon != detail::ready_queue::gone) prefetch(&bodies_[soon]);
    out.emit(ready_.pop(in_ready()));
  }
}

bool timer_wheel::goes_before(const due_item& a, const due_item& b) const noexcept {
  return a.deadline_ns != b.deadline_ns ? a.deadline_ns < b.deadline_ns : bodies_[a.node].seq < bodies_[b.node].seq;
}

// Deadlines of a slot are spread over its time, so that one pass into as many buckets as there are timers brings each
// near its place, and an insertion sort does the rest. Where they are not spread, the library's sort is as good.
void timer_wheel::sort_scratch(std::uint32_t count) noexcept {
  const auto before = [this](const due_item& a, const due_item& b) { return goes_before(a, b); };
  if (count < 2) return;
  if (count > 24) {
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      least = std::min(least, scratch_[i].deadline_ns);
      most = std::max(most, scratch_[i].deadline_ns);
    }
    const auto bits = static_cast<int>(std::bit_width(count - 1));
    const int shift = std::max(0, static_cast<int>(std::bit_width(most - least)) - bits);
    const auto bucket_of = [&](const due_item& item) {
      return static_cast<std::size_t>((item.deadline_ns - least) >> shift);
    };
    std::array<std::uint16_t, scratch_room + 1> begin{};
    std::uint32_t fullest = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t size = ++begin[bucket_of(scratch_[i]) + 1];
      fullest = std::max(fullest, size);
    }
    if (fullest > 24) {
      std::sort(scratch_, scratch_ + count, before);
      return;
    }
    for (std::uint32_t k = 1; k < 1U << bits; ++k) begin[k] = static_cast<std::uint16_t>(begin[k] + begin[k - 1]);
    due_item* const sorted = scratch_ + std::min(limit_, scratch_room);
    for (std::uint32_t i = 0; i < count; ++i) {
      sorted[begin[bucket_of(scratch_[i])]++] = scratch_[i];
    }
    std::copy(sorted, sorted + count, scratch_);
  }
  for (std::uint32_t i = 1; i < count; ++i) {
    const due_item item = scratch_[i];
    std::uint32_t at = i;
    for (; at > 0 && goes_before(item, scratch_[at - 1]); --at) scratch_[at] = scratch_[at - 1];
    scratch_[at] = item;
  }
}

std::uint64_t timer_wheel::full_tick(std::uint32_t low) const noexcept {
  return cursor_ + (low - static_cast<std::uint32_t>(cursor_));
}

// The smallest deadline is ready, in the first occupied slot of some level, or on top of the overflow heap. A coarser
// slot is looked into only when it begins no later than what was found.
void timer_wheel::find_next() const noexcept {
  next_node_ = npos;
  next_deadline_ns_ = UINT64_MAX;
  if (!ready_.empty()) {
    next_node_ = ready_.front();
    next_deadline_ns_ = bodies_[next_node_].deadline_ns;
  }
  for (std::uint32_t level = 0; level < detail::level_count; ++level) {
    const std::uint64_t here = cursor_ >> 8 * level;
    const std::uint32_t distance = slots_.distance(level, static_cast<std::uint32_t>(here & 255U));
    // The cursor's slot may hold a late timer, earlier than its tick: no slot is earlier than the cursor.
    const std::uint64_t found = std::max(cursor_, detail::tick_of(next_deadline_ns_));
    if (distance == 256 || (here + distance) << 8 * level > found) continue;
    look_for_next(detail::slot_of((here + distance) << 8 * level, level));
  }
  if (!overflow_.empty() && bodies_[overflow_.front()].deadline_ns < next_deadline_ns_) {
    next_node_ = overflow_.front();
    next_deadline_ns_ = bodies_[next_node_].deadline_ns;
  }
}

// Ticks are compared first, and bodies read only where the tick may win: most entries cost no cache miss.
void timer_wheel::look_for_next(std::uint32_t slot) const noexcept {
  std::uint64_t nearest = std::max(cursor_, detail::tick_of(next_deadline_ns_));
  slots_.for_each(slot, [&](detail::slot_entry e, std::uint32_t) {
    const std::uint64_t tick = full_tick(e.tick);
    if (tick > nearest) return true;
    nearest = tick;
    if (bodies_[e.node].deadline_ns >= next_deadline_ns_) return true;
    next_deadline_ns_ = bodies_[e.node].deadline_ns;
    next_node_ = e.node;
    return true;
  });
}

// How many live timers have deadlines up to the horizon; stops at `limit`, so a small group costs little to find.
std::uint32_t timer_wheel::count_until(instant horizon, std::uint32_t limit) const noexcept {
  std::uint32_t count = 0;
  const auto is_within = [&](std::uint32_t node) { return bodies_[node].deadline_ns <= horizon.ns; };
  const auto add = [&](std::uint32_t) { return ++count < limit; };
  ready_.for_each([&](std::uint32_t node) { return is_within(node) ? add(node) : true; });
  overflow_.for_each_within(0, is_within, add);
  const std::uint64_t last = std::max(cursor_, detail::tick_of(horizon.ns));
  for (std::uint32_t level = 0; level < detail::level_count; ++level) {
    std::uint64_t at = cursor_ >> 8 * level;
    const std::uint64_t turn = at + 256;
    while (count < limit) {
      at += slots_.distance(level, static_cast<std::uint32_t>(at & 255U));
      if (at >= turn || at << 8 * level > last) break;
      const std::uint32_t slot = detail::slot_of(at << 8 * level, level);
      slots_.for_each(slot,
                      [&](detail::slot_entry e, std::uint32_t) { return is_within(e.node) ? add(e.node) : true; });
      ++at;
    }
  }
  return std::min(count, limit);
}

// Makes every timer up to the horizon ready: a coalesced group. What is registered later is no member, even
// with a deadline that the group has passed; it lies in the cursor's slot and is due in its own time.
void timer_wheel::promote_until(instant horizon) noexcept {
  while (!overflow_.empty() && bodies_[overflow_.front()].deadline_ns <= horizon.ns) {
    const std::uint32_t node = overflow_.front();
    overflow_.erase(0, in_overflow());
    ready_.push(node, in_ready());
  }
  const std::uint64_t target = std::max(cursor_, detail::tick_of(horizon.ns));
  for (;;) {
    const std::uint32_t slot = detail::slot_of(cursor_, 0);
    ++slot_visits_;
    const auto nothing = [](detail::slot_entry) {};
    slots_.take_all(slot, nothing, [&](detail::slot_entry e) {
      if (bodies_[e.node].deadline_ns <= horizon.ns) {
        ready_.push(e.node, in_ready());
      } else {
        identities_[e.node].place = slots_.push(slot, e);
      }
    });
    if (cursor_ == target) return;
    const event next = next_event();
    cursor_ = std::min(next.tick, target);
    if (next.tick > target) return;
    for (std::uint32_t level = detail::level_count - 1; level > 0; --level) {
      const std::uint32_t coarse = detail::slot_of(cursor_, level);
      if ((cursor_ & (detail::resolution_ticks(level) - 1)) == 0 && !slots_.empty(coarse)) cascade(coarse);
    }
  }
}

}  // namespace asx
