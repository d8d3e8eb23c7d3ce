// asx/sync/semaphore.hpp - a number of units that tasks take and give back, first come, first served.
//
//     left 3   waiters: [wants 4] -> [wants 1]        who wants 1 waits behind who wants 4: nobody jumps the queue
//
//     const status s = sem.poll_acquire(c, waiting, 1, units);
//     if (s == status::would_block) return poll_result::pending;
//     ...                                              // units.release(), or let it go out of scope
//
// 1  left + held = total, at all times.
// 2  Waiters are served in order of arrival; try_acquire never jumps the queue. A cancelled waiter has taken nothing,
//    and the next one is served if it can be.
// 3  Units that are held are an obligation of the holder's region: given back it is committed; when the holder is
//    cancelled or panics it is aborted; a task that ends ok or err with units in hand has forgotten them: they go to
//    the next waiter, and the region reports the leak with the place where they were taken.
// 4  Where no obligation is admitted - cleanup in a region that closes, a host outside of polls - units are held
//    without one: they still come back when their task ends.
//
// Cancel points: poll_acquire. Nothing else waits.
// Threads: the runtime's.
// Lifetime: the semaphore belongs to its region. When that finalizes, who waits sees disconnected; units that are
//           held elsewhere keep the storage until they are given back. They are given back before the runtime
//           ends. Handles are plain values.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>
#include <utility>

#include "asx/kernel/extension.hpp"

namespace asx {

class semaphore_core;
class semaphore;

struct semaphore_report {
  std::uint64_t total = 0;
  std::uint64_t left = 0;
  std::uint32_t waiters = 0;
  bool is_closed = false;
};

/// The place in the queue of one pending acquire; as reserve_wait in asx/chan/mpsc.hpp.
class ASX_API semaphore_wait : public waiter {
 public:
  semaphore_wait() noexcept = default;
  semaphore_wait(semaphore_wait&& other) noexcept
      : semaphore_wait(static_cast<semaphore_wait&&>(other), inside(extension::gate_of(other))) {}
  semaphore_wait& operator=(semaphore_wait&& other) noexcept {
    if (this != &other) {
      leave();
      const inside here(extension::gate_of(other));
      wants_ = other.wants_;
      waiter::operator=(static_cast<waiter&&>(other));
    }
    return *this;
  }
  ~semaphore_wait() { leave(); }

 private:
  friend class semaphore_core;
  // Inside until it is whole: whoever gives units back looks at both.
  semaphore_wait(semaphore_wait&& other, const inside& /*here*/) noexcept
      : waiter(static_cast<waiter&&>(other)), wants_(other.wants_) {}
  std::uint64_t wants_ = 0;
};

/// Units in hand. Move-only; given back when it goes. (ASX_API, spelt so that GCC takes it beside another attribute.)
class [[nodiscard("units that nobody keeps are given back at once"), gnu::visibility("default")]] semaphore_units
    : private cleanup_hook {
 public:
  semaphore_units() noexcept;
  semaphore_units(semaphore_units&& other) noexcept;
  semaphore_units& operator=(semaphore_units&& other) noexcept;
  ~semaphore_units() { release(); }

  [[nodiscard]] bool is_held() const noexcept { return core_ != nullptr; }
  /// How many; 0 when they are given back.
  [[nodiscard]] std::uint64_t count() const noexcept { return core_ == nullptr ? 0 : count_; }
  void release() noexcept;

 private:
  friend class semaphore_core;
  void take(semaphore_units& other) noexcept;
  static void unwind(cleanup_hook& hook, kernel& k, bool is_leak) noexcept;
  static const cleanup_ops ops_table;

  semaphore_core* core_ = nullptr;  // Units keep it there.
  std::uint64_t count_ = 0;
  obligation_handle promise_{};
};

class ASX_API semaphore_core final : public thing {
 public:
  /// `value`: what a mutex guards lies behind the record; `destroy` ends it.
  struct value_type {
    std::size_t bytes = 0;
    std::size_t alignment = 1;
    void (*destroy)(void* value) noexcept = nullptr;
  };
  /// `units` above 0, else invalid_argument. A mutex constructs its value at value() right after.
  static status create(kernel& k, region_handle region, std::uint64_t units, const value_type& value,
                       std::string_view called, semaphore_core*& out) noexcept;
  /// Around that, when it is done outside: its units are held meanwhile, so that its region does not free it.
  void begin_value() noexcept;
  /// It may be gone afterwards.
  void end_value() noexcept;
  /// Takes back what create made, when the value could not be constructed.
  void abandon() noexcept;

  [[nodiscard]] status poll_acquire(cx& c, semaphore_wait& w, std::uint64_t units, semaphore_units& out,
                                    const std::source_location& site) noexcept;
  [[nodiscard]] status try_acquire(std::uint64_t units, semaphore_units& out,
                                   const std::source_location& site) noexcept;
  void add(std::uint64_t units) noexcept;
  void close() noexcept;
  void inspect(semaphore_report& out) const noexcept;
  [[nodiscard]] void* value() const noexcept { return block_; }
  void check() const noexcept;

 private:
  friend class semaphore_units;
  semaphore_core(kernel& k, std::string_view called, std::uint64_t units, const value_type& value,
                 const thing_order& order, void* block) noexcept;
  ~semaphore_core() = default;

  /// What reports call it by.
  [[nodiscard]] std::string_view noun() const noexcept { return block_ != nullptr ? "mutex" : "semaphore"; }
  static void take_down(owned& self, kernel& k) noexcept;
  static bool is_drained(const owned& self) noexcept;
  static bool is_awaited(const owned& self) noexcept;
  static void describe(const owned& self, const text_port& out);
  static void hash(const owned& self, digest_stream& out) noexcept;
  static std::uint64_t events(const owned& self) noexcept;
  static void waiter_left(wait_queue& queue, waiter& w, waiter_name who, leave_code how) noexcept;
  static const owned_ops ops_table;

  [[nodiscard]] bool can_take(std::uint64_t units) const noexcept { return units <= left_; }
  [[nodiscard]] std::uint64_t room() const noexcept {
    return pack(left_ < UINT32_MAX ? left_ : UINT32_MAX, waiters_.size());
  }
  /// `waited_as`: the number of the waiter that has come to its turn; 0 for who did not wait.
  [[nodiscard]] status claim(std::uint64_t units, semaphore_units& out, const std::source_location& site,
                             std::uint64_t waited_as = 0) noexcept;
  std::uint64_t note_left(std::uint64_t task, std::uint64_t waiter_id, leave_code how) noexcept;
  void give_back(std::uint64_t units, std::uint32_t flags) noexcept;
  void serve(std::uint64_t cause) noexcept;
  void wake_all(std::uint64_t cause) noexcept;
  void free() noexcept;

  struct queue : wait_queue {
    explicit queue(semaphore_core& c) noexcept : wait_queue(&waiter_left), core(c) {}
    semaphore_core& core;
  };

  std::uint64_t left_;
  std::uint64_t held_ = 0;
  std::uint64_t total_;
  std::uint64_t last_waiter_ = 0;
  bool is_closed_ = false;
  bool is_orphan_ = false;  // Its region is gone; the last units that come back free it.
  queue waiters_;
  void (*destroy_)(void*) noexcept;
  thing_order order_;
  void* block_;
};

static_assert(sizeof(semaphore_core) <= detail::thing_table::cell_bytes);

/// A handle; copies name the same semaphore.
class ASX_API semaphore {
 public:
  semaphore() noexcept = default;

  /// ok, invalid_argument (no units), stale_handle, region_not_open, admission_closed, resource_exhausted (max_sync,
  /// bytes).
  [[nodiscard]] static status create(kernel& k, region_handle region, std::uint64_t units, semaphore& out,
                                     std::string_view name = {}) noexcept;
  [[nodiscard]] static status create(cx& c, std::uint64_t units, semaphore& out, std::string_view name = {}) noexcept {
    return create(c.kernel(), c.region(), units, out, name);
  }

  /// A cancel point. ok: `out` holds them. would_block: `w` waits. stale_handle, cancelled, disconnected (closed),
  /// invalid_argument (0, or more than there are), resource_exhausted (waiters, obligations): nothing is left in the
  /// queue.
  [[nodiscard]] status poll_acquire(cx& c, semaphore_wait& w, std::uint64_t units, semaphore_units& out,
                                    std::source_location site = std::source_location::current()) noexcept;
  /// ok, stale_handle, disconnected, invalid_argument, full (not enough left, or somebody waits), resource_exhausted.
  [[nodiscard]] status try_acquire(std::uint64_t units, semaphore_units& out,
                                   std::source_location site = std::source_location::current()) noexcept;
  /// More units; the total grows.
  [[nodiscard]] status add(std::uint64_t units) noexcept;
  /// Nobody acquires any more: who waits sees disconnected. Units in hand are given back as ever.
  [[nodiscard]] status close() noexcept;
  [[nodiscard]] status inspect(semaphore_report& out) const noexcept;

 private:
  thing_ref<semaphore_core> core_;
};

}  // namespace asx
