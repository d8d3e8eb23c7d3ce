// Registration, cancellation and bookkeeping; what happens when time moves is in timer_wheel_expiry.cpp.
//
// All memory is one block, asked for once. Whatever is refused is refused before the first write (U-36), so that no
// operation here ever has to be undone.
#include "asx/wheel/timer_wheel.hpp"

#include <array>
#include <bit>
#include <memory>

#include "asx/base/assert.hpp"
#include "asx/wheel/detail/wheel_geometry.hpp"

namespace asx {
namespace {

constexpr std::uint32_t max_capacity = 1U << 28;  // A place has 30 bits, and a chunk of seven counts as eight.
constexpr std::size_t block_alignment = 64;

// Where each array lies in the block.
struct block_layout {
  std::uint64_t identities, bodies, chunks, tails, ready, overflow, free_bits, scratch, bytes;

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
    chunks = carve(detail::slot_store::chunks(capacity) * sizeof(detail::slot_chunk));
    tails = carve(detail::slot_store::slots * sizeof(std::uint32_t));
    ready = carve(n * sizeof(std::uint32_t));
    overflow = carve(n * sizeof(std::uint32_t));
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
      next_generation_(static_cast<std::uint32_t>(config.first_generation)),
      generation_high_(static_cast<std::uint32_t>(config.first_generation >> 32)),
      max_wheel_duration_(config.max_wheel_duration),
      max_timer_duration_(config.max_timer_duration),
      capacity_(config.capacity),
      coalesce_min_group_(config.coalesce_min_group),
      coalesce_window_(config.coalesce_window),
      memory_(memory) {
  if (next_generation_ == 0) next_generation_ = 1;
  set_next_id(config.first_id);
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
  bodies_ = begin_array<detail::timer_body>(base + layout.bodies, n);
  const std::uint32_t chunks = detail::slot_store::chunks(n);
  slots_.attach(begin_array<detail::slot_chunk>(base + layout.chunks, chunks), chunks,
                begin_array<std::uint32_t>(base + layout.tails, detail::slot_store::slots));
  ready_.attach(begin_array<std::uint32_t>(base + layout.ready, n));
  overflow_.attach(begin_array<std::uint32_t>(base + layout.overflow, n));
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
  return {i.id, std::uint64_t{node ^ generation_high_} << 32 | i.generation};
}

std::uint32_t timer_wheel::find(timer_handle handle) const noexcept {
  const std::uint32_t node = static_cast<std::uint32_t>(handle.generation >> 32) ^ generation_high_;
  if (node >= limit_ || handle.id == 0) return npos;
  const detail::timer_identity& i = identities_[node];
  return i.id == handle.id && i.generation == static_cast<std::uint32_t>(handle.generation) ? node : npos;
}

bool timer_wheel::admits(instant deadline) const noexcept {
  return !deadline.is_none() && deadline - now_ <= max_timer_duration_;
}

status timer_wheel::register_timer(instant deadline, wake_token token, timer_handle& out) noexcept {
  if (!admits(deadline)) return status::timer_duration_exceeded;
  if (live_ == limit_) return status::resource_exhausted;
  out = insert(deadline, token);
  return status::ok;
}

status timer_wheel::update(timer_handle old_handle, instant deadline, wake_token token, timer_handle& out) noexcept {
  if (!admits(deadline)) return status::timer_duration_exceeded;
  if (!cancel(old_handle) && live_ == limit_) return status::resource_exhausted;
  out = insert(deadline, token);
  return status::ok;
}

bool timer_wheel::cancel(timer_handle handle) noexcept {
  const std::uint32_t node = find(handle);
  if (node == npos) return false;
  unplace(node);
  release(node);
  if (node == next_node_) forget_next();
  return true;
}

timer_handle timer_wheel::insert(instant deadline, wake_token token) noexcept {
  ASX_ASSERT(seq_ != UINT64_MAX, "the insertion sequence never wraps: order would be lost (U-37)");
  if (next_id_ == taken_id_) [[unlikely]] {
    pass_taken_ids();
  }
  const std::uint32_t node = free_.take();
  identities_[node].id = next_id_++;
  identities_[node].generation = next_generation_++;
  next_generation_ += next_generation_ == 0 ? 1 : 0;
  bodies_[node] = {deadline.ns, seq_++, token};
  ++live_;

  const bool is_far = deadline > now_ && deadline - now_ >= max_wheel_duration_;
  if (is_far) [[unlikely]] {
    overflow_.push(node, in_overflow());
  } else {
    place(node, detail::tick_of(deadline.ns));
  }
  if (deadline.ns < next_deadline_ns_ && next_known_) {
    next_deadline_ns_ = deadline.ns;
    next_node_ = node;
  }
  return handle_of(node);
}

// The cursor's slot takes everything that the cursor has reached or passed; sorting it puts late ones in their place.
void timer_wheel::place(std::uint32_t node, std::uint64_t tick) noexcept {
  tick = tick < cursor_ ? cursor_ : tick;
  const std::uint32_t level = detail::level_of(tick, cursor_);
  if (level == detail::level_count) [[unlikely]] {  // The cursor is far behind now(), and no level can hold it.
    overflow_.push(node, in_overflow());
    return;
  }
  identities_[node].place = slots_.push(detail::slot_of(tick, level), {node, static_cast<std::uint32_t>(tick)});
}

void timer_wheel::unplace(std::uint32_t node) noexcept {
  const std::uint32_t place = identities_[node].place;
  if ((place & ~detail::place_mask) == 0) [[likely]] {
    identities_[slots_.remove(place)].place = place;
  } else if ((place & detail::place_in_overflow) != 0) {
    overflow_.erase(place & detail::place_mask, in_overflow());
  } else {
    ready_.erase(place & detail::place_mask, in_ready());
  }
}

void timer_wheel::release(std::uint32_t node) noexcept {
  identities_[node].id = 0;
  free_.give_back(node);
  --live_;
}

// Called when the counter meets an id that was live when last looked at, or the end of the numbers. Ids only meet
// after 2^64 registrations or in a test, so a look at all nodes is cheap enough; a window of bits skips a whole run
// of live ids in one look.
void timer_wheel::pass_taken_ids() noexcept {
  constexpr std::uint64_t window = 4096;
  for (;;) {
    if (next_id_ == 0) next_id_ = 1;
    std::array<std::uint64_t, window / 64> is_taken{};
    std::uint64_t lowest = 0;  // The lowest live id at or above next_id_; 0: none.
    for (std::uint32_t node = 0; node < limit_; ++node) {
      const std::uint64_t id = identities_[node].id;
      if (id < next_id_) continue;
      if (lowest == 0 || id < lowest) lowest = id;
      const std::uint64_t ahead = id - next_id_;
      if (ahead < window) is_taken[ahead / 64] |= std::uint64_t{1} << (ahead % 64);
    }
    taken_id_ = lowest;
    if (lowest != next_id_) return;
    for (std::uint64_t w = 0; w < is_taken.size() && next_id_ != 0; ++w) {
      const auto run = static_cast<std::uint64_t>(std::countr_one(is_taken[w]));
      next_id_ += run;
      if (run != 64) break;
    }
  }
}

void timer_wheel::set_next_id(std::uint64_t id) noexcept {
  next_id_ = id == 0 ? 1 : id;
  taken_id_ = next_id_;  // Unknown: the next registration looks.
}

void timer_wheel::purge() noexcept {
  if (live_ == 0) return;
  for (std::uint32_t node = 0; node < limit_; ++node) {
    if (identities_[node].id != 0) release(node);
  }
  slots_.clear();
  ready_.clear();
  overflow_.clear();
  forget_next();
}

instant timer_wheel::next_deadline() const noexcept {
  if (!next_known_) find_next();
  return {next_deadline_ns_};
}

detail::timer_order timer_wheel::in_ready() const noexcept {
  return {bodies_, identities_, detail::place_in_ready};
}

detail::timer_order timer_wheel::in_overflow() const noexcept {
  return {bodies_, identities_, detail::place_in_overflow};
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
    ASX_ASSERT((i.id == 0) == free_.is_free(node), "a node is free exactly while it has no id (R-83)");
    if (i.id == 0) continue;
    ++named;
    ASX_ASSERT(bodies_[node].seq < seq_ && bodies_[node].deadline_ns != UINT64_MAX, "a live timer was registered");
    ASX_ASSERT(find(handle_of(node)) == node, "a live timer is found by its handle (INV-TM-01)");
    ASX_ASSERT(i.id < next_id_ || taken_id_ == next_id_ || (taken_id_ != 0 && i.id >= taken_id_),
               "no live id lies between the counter and the next taken one (INV-TM-06)");
    least = bodies_[node].deadline_ns < least ? bodies_[node].deadline_ns : least;
  }
  ASX_ASSERT(named == live_ && live_ <= limit_, "the live count is the number of live timers (R-86)");
  ASX_ASSERT(!next_known_ || next_deadline_ns_ == least, "the next deadline is the smallest, exactly (R-91)");

  std::uint32_t seen = 0;
  for (std::uint32_t slot = 0; slot < detail::slot_store::slots; ++slot) {
    const std::uint32_t level = slot / 256;
    for (std::uint32_t at = slots_.tail(slot); at != detail::slot_store::nil; at = slots_.chunk(at).previous) {
      for (std::uint32_t k = 0; k < slots_.chunk(at).fill; ++k, ++seen) {
        const detail::slot_entry e = slots_.chunk(at).entry[k];
        const std::uint64_t tick = full_tick(e.tick);
        const std::uint64_t true_tick = detail::tick_of(bodies_[e.node].deadline_ns);
        ASX_ASSERT(identities_[e.node].id != 0, "every entry is of a live timer (INV-TM-02, INV-TM-05, INV-TM-07)");
        ASX_ASSERT(identities_[e.node].place == at * 8 + k, "a timer knows where it waits");
        ASX_ASSERT(tick == (true_tick < cursor_ ? cursor_ : true_tick), "an entry's tick is its deadline's (R-79)");
        ASX_ASSERT(slot == detail::slot_of(tick, level), "an entry lies in its tick's slot (R-79)");
        ASX_ASSERT((tick >> 8 * level) - (cursor_ >> 8 * level) < 256, "no slot is a turn ahead (R-78)");
        ASX_ASSERT(level == 0 || tick >> 8 * level != cursor_ >> 8 * level,
                   "above L0 the cursor's own slot is empty: it cascaded when it was entered (R-80)");
      }
    }
  }
  ready_.for_each([&](std::uint32_t node) {
    ASX_ASSERT(identities_[node].id != 0, "every ready timer is live (INV-TM-02)");
    ++seen;
    return true;
  });
  for (std::uint32_t i = 0; i < overflow_.size(); ++i, ++seen) {
    ASX_ASSERT(identities_[overflow_.at(i)].place == (detail::place_in_overflow | i), "a timer knows where it waits");
  }
  ASX_ASSERT(seen == live_, "every live timer waits in exactly one place (INV-TM-05)");
}

}  // namespace asx
