// Registration, cancellation and bookkeeping; what happens when time moves is in timer_wheel_expiry.cpp.
//
// All memory is one block, asked for once. Whatever is refused is refused before the first write (U-36), so that no
// operation here ever has to be undone.
#include "asx/wheel/timer_wheel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "asx/base/assert.hpp"
#include "asx/wheel/detail/wheel_geometry.hpp"

namespace asx {
namespace {

constexpr std::uint32_t max_capacity = 1U << 28;  // A place has two bits to spare.
constexpr std::size_t block_alignment = 128;      // Chunks begin at a pair of lines.

static_assert(detail::slot_store::cells(max_capacity) <= 1U << 29, "no cell has the number of another place");

// Where each array lies in the block.
struct block_layout {
  std::uint64_t identities, bodies, cells, words, links, heads, holes, ready, free_bits, scratch, bytes;

  block_layout(std::uint32_t capacity, std::uint64_t scratch_bytes) noexcept {
    const std::uint64_t n = capacity;
    std::uint64_t at = 0;
    const auto carve = [&at](std::uint64_t size) {
      const std::uint64_t here = at;
      at += (size + block_alignment - 1) / block_alignment * block_alignment;
      return here;
    };
    identities = carve(n * sizeof(detail::timer_identity));
    bodies = carve(n * sizeof(detail::timer_body));
    cells = carve(detail::slot_store::cells(capacity) * sizeof(detail::slot_entry));
    words = carve(detail::slot_store::chunks(capacity) * sizeof(std::uint16_t));
    links = carve(detail::slot_store::chunks(capacity) * sizeof(detail::slot_chunk));
    heads = carve(detail::slot_store::rings * sizeof(std::uint32_t));
    holes = carve(detail::slot_store::rings * sizeof(std::uint16_t));
    ready = carve(n * sizeof(std::uint32_t));
    free_bits = carve(detail::index_pool::words(capacity) * sizeof(std::uint64_t));
    scratch = carve(scratch_bytes);
    bytes = at;
  }
};

template <class T>
T* begin_array(std::byte* at, std::uint64_t count) noexcept {
  T* const first = reinterpret_cast<T*>(at);
  // Every page is touched here: a first write must not fault in the middle of a run.
  std::uninitialized_value_construct_n(first, count);
  return first;
}

}  // namespace

status timer_wheel::validate(const wheel_config& config) noexcept {
  if (config.max_wheel_duration > detail::max_wheel_range) return status::invalid_argument;
  if (config.capacity > max_capacity) return status::invalid_argument;
  return status::ok;
}

timer_wheel::timer_wheel(const wheel_config& config, memory_port memory) noexcept
    : now_(config.start),
      cursor_(detail::tick_of(config.start.ns)),
      first_generation_(static_cast<std::uint32_t>(config.first_generation) | 1U),
      generation_mix_(config.first_generation & ~std::uint64_t{UINT32_MAX}),
      max_wheel_duration_(config.max_wheel_duration),
      max_timer_duration_(config.max_timer_duration),
      capacity_(config.capacity),
      coalesce_min_group_(config.coalesce_min_group),
      coalesce_window_(config.coalesce_window),
      memory_(memory) {
  set_next_id(config.first_id);
  draw_lines();
  if (validate(config) != status::ok) return;

  const std::uint32_t n = config.capacity;
  const std::uint32_t scratch = n < scratch_room ? n : scratch_room;
  const block_layout layout(n, 2 * std::uint64_t{scratch} * sizeof(due_item));
  if (layout.bytes > SIZE_MAX) return;
  bytes_ = static_cast<std::size_t>(layout.bytes);
  block_ = memory_.allocate(memory_.context, bytes_, block_alignment);
  if (block_ == nullptr) {
    bytes_ = 0;
    return;
  }
  auto* const base = static_cast<std::byte*>(block_);
  identities_ = begin_array<detail::timer_identity>(base + layout.identities, n);
  for (std::uint32_t node = 0; node < n; ++node) identities_[node].place = detail::place_free;
  bodies_ = begin_array<detail::timer_body>(base + layout.bodies, n);
  const std::uint32_t chunks = detail::slot_store::chunks(n);
  slots_.attach(n, begin_array<detail::slot_entry>(base + layout.cells, detail::slot_store::cells(n)),
                begin_array<std::uint16_t>(base + layout.words, chunks),
                begin_array<detail::slot_chunk>(base + layout.links, chunks),
                begin_array<std::uint32_t>(base + layout.heads, detail::slot_store::rings),
                begin_array<std::uint16_t>(base + layout.holes, detail::slot_store::rings), identities_);
  auto* const ready = begin_array<std::uint32_t>(base + layout.ready, n);
  ready_.attach(ready);
  if (n != 0) overflow_.attach(ready + (n - 1));
  free_.attach(begin_array<std::uint64_t>(base + layout.free_bits, detail::index_pool::words(n)), n);
  scratch_ = begin_array<due_item>(base + layout.scratch, 2 * std::uint64_t{scratch});
  limit_ = n;
}

timer_wheel::~timer_wheel() {
  if (block_ != nullptr) memory_.release(memory_.context, block_, bytes_, block_alignment);
}

// A handle's generation holds the node's index in its upper half, so that a handle is looked up without a table.
timer_handle timer_wheel::handle_of(std::uint32_t node) const noexcept {
  const detail::timer_identity& i = identities_[node];
  return {i.id, (std::uint64_t{node} << 32 | i.generation) ^ generation_mix_};
}

std::uint32_t timer_wheel::find(timer_handle handle) const noexcept {
  const std::uint64_t plain = handle.generation ^ generation_mix_;
  const auto node = static_cast<std::uint32_t>(plain >> 32);
  if (node >= limit_) return npos;
  const detail::timer_identity& i = identities_[node];
  const bool is_same = i.id == handle.id && i.generation == static_cast<std::uint32_t>(plain);
  return is_same && i.place != detail::place_free ? node : npos;
}

// Draws the lines that registration compares with, whenever the time or the cursor has moved: which deadlines are
// admitted and within the wheel, and where each level ends as seen from the cursor. Three comparisons of
// nanoseconds name the level while the tick is still being divided out.
void timer_wheel::draw_lines() noexcept {
  const auto end_of = [this](std::uint32_t level) {
    const std::uint64_t tick = ((cursor_ >> 8 * level) + 256) << 8 * level;
    return tick > UINT64_MAX / detail::tick_ns ? UINT64_MAX : tick * detail::tick_ns;
  };
  for (std::uint32_t level = 0; level < 3; ++level) level_end_ns_[level] = end_of(level);
  const instant horizon = now_ + std::min(max_wheel_duration_, max_timer_duration_ + duration{1});
  near_end_ns_ = std::min(horizon.ns, end_of(3));
}

bool timer_wheel::admits(instant deadline) const noexcept {
  if (deadline.ns < near_end_ns_) [[likely]]
    return true;
  return !deadline.is_none() && deadline - now_ <= max_timer_duration_;
}

// Like cancel below one straight line, with what is rare in calls at its end.
status timer_wheel::register_timer(instant deadline, wake_token token, timer_handle& out) noexcept {
  if (deadline.ns >= near_end_ns_) [[unlikely]]
    return register_far(deadline, token, out);
  if (live_ == limit_) [[unlikely]]
    return status::resource_exhausted;
  if (seq_ == seq_stop_ || !free_.is_at_hand()) [[unlikely]]
    return register_looking(deadline, token, out);
  const std::uint32_t node = begin_timer(deadline, token, out);

  const std::uint32_t level = static_cast<std::uint32_t>(deadline.ns >= level_end_ns_[0]) +
                              static_cast<std::uint32_t>(deadline.ns >= level_end_ns_[1]) +
                              static_cast<std::uint32_t>(deadline.ns >= level_end_ns_[2]);
  const std::uint64_t tick = std::max(cursor_, detail::tick_of(deadline.ns));
  const std::uint32_t slot = detail::slot_of(tick, level);
  const detail::slot_entry entry{node, static_cast<std::uint32_t>(tick)};
  if (!slots_.has_room(slot)) [[unlikely]]
    return end_register(slot, entry);
  identities_[node].place = slots_.push_into_room(slot, entry);
  return status::ok;
}

status timer_wheel::end_register(std::uint32_t slot, detail::slot_entry entry) noexcept {
  slots_.make_room(slot);
  identities_[entry.node].place = slots_.push_into_room(slot, entry);
  return status::ok;
}

// Gives a new timer its numbers: all but its place.
inline std::uint32_t timer_wheel::begin_timer(instant deadline, wake_token token, timer_handle& out) noexcept {
  const std::uint32_t node = free_.take();
  const std::uint64_t seq = seq_++;
  const std::uint64_t id = seq + id_ahead_;
  // Odd numbers, so that no wrap meets 0.
  const std::uint32_t generation = first_generation_ + 2 * static_cast<std::uint32_t>(seq);
  ++live_;
  out = {id, (std::uint64_t{node} << 32 | generation) ^ generation_mix_};
  bodies_[node] = {deadline.ns, seq, token};
  identities_[node].id = id;
  identities_[node].generation = generation;
  if (deadline.ns < next_deadline_ns_) {
    next_deadline_ns_ = deadline.ns;
    next_node_ = node;
  }
  return node;
}

status timer_wheel::register_looking(instant deadline, wake_token token, timer_handle& out) noexcept {
  look_ahead();
  return register_timer(deadline, token, out);
}

void timer_wheel::look_ahead() noexcept {
  if (seq_ == seq_stop_) pass_taken_ids();
  if (!free_.is_at_hand()) free_.look();
}

// Whatever is not plainly within the wheel. A deadline that has passed is, even if the wheel has no length at all; and
// when the cursor is far behind now(), a near timer may be one that no level can hold.
status timer_wheel::register_far(instant deadline, wake_token token, timer_handle& out) noexcept {
  if (!admits(deadline)) return status::timer_duration_exceeded;
  if (live_ == limit_) return status::resource_exhausted;
  look_ahead();
  const std::uint32_t node = begin_timer(deadline, token, out);
  const std::uint64_t tick = std::max(cursor_, detail::tick_of(deadline.ns));
  const bool is_far = deadline > now_ && deadline - now_ >= max_wheel_duration_;
  if (is_far || detail::level_of(tick, cursor_) >= detail::level_count) {
    push_overflow(node);
  } else {
    place(node, tick);
  }
  return status::ok;
}

// The two fill one array from both ends. Together they hold live timers only, but for the gaps of a run.
void timer_wheel::push_overflow(std::uint32_t node) noexcept {
  if (ready_.extent() + overflow_.size() == limit_) ready_.close_gaps(in_ready());
  overflow_.push(node, in_overflow());
}

status timer_wheel::update(timer_handle old_handle, instant deadline, wake_token token, timer_handle& out) noexcept {
  if (!admits(deadline)) return status::timer_duration_exceeded;
  cancel(old_handle);  // A live one makes room for the new one; a stale one changes nothing, and the wheel may be full.
  return register_timer(deadline, token, out);
}

// One straight line for a timer that waits in a slot, with what is rare in calls at its end. Among a million timers
// each cancel waits for memory, so that what counts is how many of them a processor has under way at once: those that
// fit into the few hundred instructions that it looks ahead. A free node keeps its numbers, and is told by its place.
bool timer_wheel::cancel(timer_handle handle) noexcept {
  const std::uint64_t plain = handle.generation ^ generation_mix_;
  const auto node = static_cast<std::uint32_t>(plain >> 32);
  if (node >= limit_) return false;
  detail::timer_identity& identity = identities_[node];
  if (identity.id != handle.id || identity.generation != static_cast<std::uint32_t>(plain)) return false;
  const std::uint32_t place = identity.place;
  if (place >= detail::place_elsewhere) [[unlikely]]
    return cancel_elsewhere(node);
  identity.place = detail::place_free;
  --live_;
  if (!slots_.begin_remove(place)) [[unlikely]]
    return end_cancel(node, place);
  std::uint32_t spare = 0;
  if (!free_.begin_give_back(node, spare)) [[unlikely]]
    return end_give_back(spare);
  return true;
}

bool timer_wheel::end_cancel(std::uint32_t node, std::uint32_t place) noexcept {
  slots_.settle(place);
  free_.give_back(node);
  return true;
}

bool timer_wheel::end_give_back(std::uint32_t spare) noexcept {
  free_.end_give_back(spare);
  return true;
}

bool timer_wheel::cancel_elsewhere(std::uint32_t node) noexcept {
  const std::uint32_t place = identities_[node].place;
  if (place == detail::place_free) return false;
  if (place < detail::place_ready) {
    overflow_.erase(place & detail::position_mask, in_overflow());
  } else {
    ready_.erase(place & detail::position_mask, in_ready());
  }
  release(node);
  return true;
}

// Called when the next id was live when last looked at, or is 0, or is not known to be free. Ids only meet after 2^64
// registrations or in a test, so a look at all nodes is cheap enough; a window of bits skips a whole run of live ids in
// one look.
void timer_wheel::pass_taken_ids() noexcept {
  constexpr std::uint64_t window = 4096;
  ASX_ASSERT(seq_ != UINT64_MAX, "the insertion sequence never wraps: order would be lost (U-37)");
  std::uint64_t next = seq_ + id_ahead_;
  std::uint64_t taken = 0;  // The lowest live id from next on; 0, the end of the numbers, when there is none.
  for (;;) {
    if (next == 0) next = 1;
    std::array<std::uint64_t, window / 64> is_taken{};
    taken = 0;
    for (std::uint32_t node = 0; node < limit_; ++node) {
      const std::uint64_t id = identities_[node].id;
      if (id < next || identities_[node].place == detail::place_free) continue;
      if (taken == 0 || id < taken) taken = id;
      const std::uint64_t ahead = id - next;
      if (ahead < window) is_taken[static_cast<std::size_t>(ahead / 64)] |= std::uint64_t{1} << (ahead % 64);
    }
    if (taken != next) break;
    for (const std::uint64_t word : is_taken) {
      const auto run = static_cast<std::uint64_t>(std::countr_one(word));
      next += run;
      if (run != 64) break;
    }
  }
  id_ahead_ = next - seq_;
  seq_stop_ = seq_ + std::min(taken - next, UINT64_MAX - seq_);
}

void timer_wheel::set_next_id(std::uint64_t id) noexcept {
  id_ahead_ = (id == 0 ? 1 : id) - seq_;
  seq_stop_ = seq_;  // Not known to be free: the next registration looks.
}

void timer_wheel::purge() const noexcept {
  ASX_ASSERT(live_ != 0 || (ready_.empty() && overflow_.empty() && slots_.empty()),
             "a wheel without live timers holds no entry anywhere (INV-TM-05)");
}

void timer_wheel::cancel_all() noexcept {
  if (live_ == 0) return;
  for (std::uint32_t node = 0; node < limit_; ++node) {
    if (identities_[node].place != detail::place_free) release(node);
  }
  slots_.clear();
  ready_.clear();
  overflow_.clear();
  next_node_ = npos;
  next_deadline_ns_ = UINT64_MAX;
}

detail::timer_order timer_wheel::in_ready() const noexcept {
  return {bodies_, identities_, detail::place_ready};
}

detail::timer_order timer_wheel::in_overflow() const noexcept {
  return {bodies_, identities_, detail::place_overflow};
}

void timer_wheel::check() const noexcept {
  if (!ready()) {
    ASX_ASSERT(live_ == 0 && limit_ == 0, "a wheel without memory has no timers");
    return;
  }
  slots_.check();
  ready_.check(in_ready());
  overflow_.check(in_overflow());

  std::uint32_t named = 0;
  std::uint64_t least = UINT64_MAX;
  for (std::uint32_t node = 0; node < limit_; ++node) {
    const detail::timer_identity& i = identities_[node];
    ASX_ASSERT((i.place == detail::place_free) == free_.is_free(node), "a free node is told by its place");
    if (i.place == detail::place_free) continue;
    ++named;
    ASX_ASSERT(i.id != 0, "no live timer has the id of the null handle (R-83)");
    ASX_ASSERT(bodies_[node].seq < seq_ && bodies_[node].deadline_ns != UINT64_MAX, "a live timer was registered");
    ASX_ASSERT(find(handle_of(node)) == node, "a live timer is found by its handle (INV-TM-01)");
    ASX_ASSERT(i.id - (seq_ + id_ahead_) >= seq_stop_ - seq_, "no id up to the stop is live (INV-TM-06)");
    least = bodies_[node].deadline_ns < least ? bodies_[node].deadline_ns : least;
  }
  ASX_ASSERT(named == live_ && live_ <= limit_, "the live count is the number of live timers (R-86)");
  ASX_ASSERT(knows_next() ? next_deadline_ns_ == least : next_deadline_ns_ <= least,
             "the next deadline is the smallest, exactly, while its timer waits (R-91)");

  std::uint32_t seen = 0;
  for (std::uint32_t slot = 0; slot < detail::slot_store::slots; ++slot) {
    const std::uint32_t level = slot / 256;
    slots_.for_each(slot, [&](detail::slot_entry e, std::uint32_t place) {
      const detail::timer_identity& i = identities_[e.node];
      const std::uint64_t tick = full_tick(e.tick);
      const std::uint64_t true_tick = detail::tick_of(bodies_[e.node].deadline_ns);
      ASX_ASSERT(i.place != detail::place_free, "every entry is of a live timer (INV-TM-02, INV-TM-05, INV-TM-07)");
      ASX_ASSERT(i.place == place && slots_.slot_at(place) == slot, "a timer knows where it waits");
      ASX_ASSERT(tick == std::max(true_tick, cursor_), "an entry's tick is its deadline's (R-79)");
      ASX_ASSERT(slot == detail::slot_of(tick, level), "an entry lies in its tick's slot (R-79)");
      ASX_ASSERT((tick >> 8 * level) - (cursor_ >> 8 * level) < 256, "no slot is a turn ahead (R-78)");
      ASX_ASSERT(level == 0 || tick >> 8 * level != cursor_ >> 8 * level,
                 "above L0 the cursor's own slot is empty: it cascaded when it was entered (R-80)");
      ++seen;
      return true;
    });
  }
  ready_.for_each([&](std::uint32_t node) {
    ASX_ASSERT(identities_[node].place != detail::place_free, "every ready timer is live (INV-TM-02)");
    ++seen;
    return true;
  });
  for (std::uint32_t i = 0; i < overflow_.size(); ++i, ++seen) {
    const detail::timer_identity& far = identities_[overflow_.at(i)];
    ASX_ASSERT(far.place == (detail::place_overflow | i), "a timer knows where it waits");
  }
  ASX_ASSERT(seen == live_, "every live timer waits in exactly one place (INV-TM-05)");
}

}  // namespace asx
