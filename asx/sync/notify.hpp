// asx/sync/notify.hpp - one task tells others that something happened.
//
//     notify_one   the first who waits goes on; nobody waits: the next who asks goes on at once
//     notify_all   all who wait now go on; nothing is kept
//
// 1  Who waits is told in order of arrival. At most one notification is kept.
// 2  No notification is lost: a waiter that was told by notify_one and goes away before it has seen that - cancelled,
//    dropped, its task ended - passes it on to the next, or it is kept.
//
// Cancel points: poll_wait. Nothing else waits.
// Threads: the runtime's.
// Lifetime: it belongs to its region; when that finalizes, who waits sees disconnected. Handles are plain values.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "asx/kernel/extension.hpp"

namespace asx {

class notify_core;

/// The place in the queue of one pending wait; as reserve_wait in asx/chan/mpsc.hpp.
class ASX_API notify_wait : public waiter {
 public:
  notify_wait() noexcept = default;
  notify_wait(notify_wait&& other) noexcept
      : notify_wait(static_cast<notify_wait&&>(other), inside(extension::gate_of(other))) {}
  notify_wait& operator=(notify_wait&& other) noexcept {
    if (this != &other) {
      leave();
      const inside here(extension::gate_of(other));
      waiter::operator=(static_cast<waiter&&>(other));
      told_ = std::exchange(other.told_, told::no);
    }
    return *this;
  }
  ~notify_wait() { leave(); }

 private:
  friend class notify_core;
  enum class told : std::uint8_t { no, alone, with_all };
  // Inside until it is whole: whoever notifies says so here.
  notify_wait(notify_wait&& other, const inside& /*here*/) noexcept
      : waiter(static_cast<waiter&&>(other)), told_(std::exchange(other.told_, told::no)) {}
  told told_ = told::no;
};

class ASX_API notify_core final : public thing {
 public:
  static status create(kernel& k, region_handle region, std::string_view called, notify_core*& out) noexcept;
  [[nodiscard]] status poll_wait(cx& c, notify_wait& w) noexcept;
  void notify_one() noexcept;
  void notify_all() noexcept;
  [[nodiscard]] bool is_kept() const noexcept { return is_kept_; }
  [[nodiscard]] std::uint32_t waiters() const noexcept { return waiting_.size(); }

 private:
  notify_core(kernel& k, std::string_view called, const thing_order& order) noexcept;
  ~notify_core() = default;
  static void take_down(owned& self, kernel& k) noexcept;
  static bool is_drained(const owned& self) noexcept;
  static bool is_awaited(const owned& self) noexcept;
  static void describe(const owned& self, const text_port& out);
  static void hash(const owned& self, digest_stream& out) noexcept;
  static std::uint64_t events(const owned& self) noexcept;
  static void waiter_left(wait_queue& queue, waiter& w, waiter_name who, leave_code how) noexcept;
  static const owned_ops ops_table;
  void tell(notify_wait& w, notify_wait::told how, std::uint64_t cause) noexcept;
  void pass_on() noexcept;
  void note_removed(std::uint64_t task, std::uint64_t id, leave_code how) noexcept;

  struct queue : wait_queue {
    explicit queue(notify_core& c) noexcept : wait_queue(&waiter_left), core(c) {}
    notify_core& core;
  };

  queue waiting_;
  queue told_;  // They know, and have not been polled since.
  bool is_kept_ = false;
  std::uint64_t last_waiter_ = 0;
  thing_order order_;
};

static_assert(sizeof(notify_core) <= detail::thing_table::cell_bytes);

/// A handle; copies name the same thing.
class ASX_API notify {
 public:
  notify() noexcept = default;

  /// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_sync, max_bytes, memory).
  [[nodiscard]] static status create(kernel& k, region_handle region, notify& out, std::string_view name = {}) noexcept;
  [[nodiscard]] static status create(cx& c, notify& out, std::string_view name = {}) noexcept {
    return create(c.kernel(), c.region(), out, name);
  }

  /// A cancel point. ok: it was notified. would_block: `w` waits. stale_handle, cancelled, disconnected,
  /// resource_exhausted (waiters): nothing is left in the queue.
  [[nodiscard]] status poll_wait(cx& c, notify_wait& w) noexcept;
  [[nodiscard]] status notify_one() noexcept;
  [[nodiscard]] status notify_all() noexcept;
  [[nodiscard]] status inspect(std::uint32_t& waiters, bool& is_kept) const noexcept;

 private:
  thing_ref<notify_core> core_;
};

}  // namespace asx
