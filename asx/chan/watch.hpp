// asx/chan/watch.hpp - the latest value: a setting, a state, a leader's name. Who looks sees the newest; nobody sees
// all.
//
//     sender --send--> [ current | leaving ] <--visit, latest-- receiver (seen: 3)
//                        version 5           <--poll_changed--- receiver (seen: 5) waits
//
//     auto [code, tx, rx] = asx::watch<config>(c, initial);
//     ...
//     switch (rx.poll_changed(c, waiting)) {                       // in a poll
//       case status::ok: rx.visit([&](const config& now) { ... }); break;
//       case status::would_block: return poll_result::pending;     // woken by the next send
//       ...
//
// R-251  the first value is version 0 and counts as seen; each send makes the next version. A receiver has its own last
//        seen version, and so has each copy of it. Versions that came in between are skipped, and not counted.
// R-252  a send while user code runs on the value - a visit, a copy, the destructor of the value that leaves - is
//        refused with reentrant: there are two places, and none is free.
// R-253  a watch without receivers takes values: one that is subscribed later sees them.
// R-121  the value that leaves is destroyed after the state has changed; its destructor may use the watch. Among
//        threads it is destroyed outside, and only its own thread's sends are refused meanwhile.
// R-240  a move that throws leaves the watch as it was.
//
// Nothing is allocated after `watch` returned. T may be move-only; latest needs copies.
//
// Cancel points: poll_changed. Threads: the runtime's.
// Lifetime: the watch belongs to its region, which takes it down when it finalizes; ends that are left report
//           disconnected then. With all senders gone the last value can still be read.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/base/construct.hpp"
#include "asx/chan/hub.hpp"
#include "asx/chan/mpsc.hpp"

namespace asx {

/// Of one poll_changed that waits. Move-only; destroying it leaves the queue.
using watch_wait = end_wait;

struct watch_report {
  hub_counts ends{};
  std::uint64_t version = 0;
};

class ASX_API watch_core final : public hub {
 public:
  /// It is held, and has no value: construct one at `spare`, say `start`, make its ends, and release it.
  static status create(kernel& k, region_handle region, const element_type& values, std::string_view called,
                       watch_core*& out) noexcept;
  void start() noexcept { has_value_ = true; }

  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] void* current() const noexcept { return at(current_, stride_); }
  [[nodiscard]] void* spare() const noexcept { return at(has_value_ ? 1 - current_ : current_, stride_); }
  /// ok: a value may be constructed at `spare` and published. reentrant, resource_exhausted.
  [[nodiscard]] status admit() const noexcept {
    if (is_held()) return status::reentrant;
    return has_trace() ? status::ok : status::resource_exhausted;
  }
  /// The value at `spare` is the current one; the caller destroys the one at the place that this returns.
  [[nodiscard]] void* publish() noexcept;
  [[nodiscard]] status poll_changed(hub_end& from, std::uint64_t& seen, cx& c, end_wait& w) noexcept;

 private:
  watch_core(kernel& k, std::string_view called, const element_type& values, const thing_order& order,
             void* block) noexcept
      : hub(ops_table, k, called, order, block), stride_(values.bytes), destroy_(values.destroy) {}
  ~watch_core() = default;

  static bool is_drained(const owned& self) noexcept;
  static void describe(const owned& self, const text_port& out);
  static void hash(const owned& self, digest_stream& out) noexcept;
  static void discard(hub& self) noexcept;
  static void end(hub& self) noexcept;
  static const hub_ops ops_table;

  std::uint64_t version_ = 0;
  std::size_t stride_;
  std::uint32_t current_ = 0;
  bool has_value_ = false;
  void (*destroy_)(void*) noexcept;
};

static_assert(sizeof(watch_core) <= detail::thing_table::cell_bytes);

template <class T>
class watch_receiver {
 public:
  watch_receiver() noexcept = default;  // Dead, as is one that was dropped or moved from.

  /// stale_handle from a dead one. A copy is the same without the answer; both have seen the same.
  [[nodiscard]] status clone(watch_receiver& out) const noexcept {
    const inside in(end_.gate());
    if (end_.get() == nullptr) return end_.why_not();
    out = *this;
    return status::ok;
  }
  void drop() noexcept { end_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !end_.is_dead(); }

  /// A cancel point. ok: there is a newer version than the one that this has seen, and now it has. stale_handle,
  /// cancelled; disconnected: the last version was seen, and all senders are gone; resource_exhausted
  /// (max_channel_waiters): nothing is left in the queue. would_block: `w` waits, and the task is woken.
  [[nodiscard]] status poll_changed(cx& c, watch_wait& w) noexcept {
    const inside in(end_.gate());
    watch_core* const core = get();
    if (core == nullptr) {
      w.leave();
      return end_.poll_gone(c);
    }
    return core->poll_changed(end_, seen_, c, w);
  }
  /// Marks nothing. False when it is dead, or the watch is gone.
  [[nodiscard]] bool has_changed() const noexcept {
    const inside in(end_.gate());
    const watch_core* const core = get();
    return core != nullptr && core->version() != seen_;
  }
  /// Calls look(const T&) with the newest value, and marks nothing. ok, stale_handle; disconnected: its region took the
  /// watch down.
  template <class Look>
  status visit(Look&& look) const {
    const inside in(end_.gate());
    watch_core* const core = get();
    if (core == nullptr) return end_.why_not();
    const hub_hold held(*core);
    std::forward<Look>(look)(*std::launder(static_cast<const T*>(core->current())));
    return status::ok;
  }
  /// A copy of the newest value; as visit.
  status latest(T& out) const
    requires std::is_copy_assignable_v<T>
  {
    if constexpr (!std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T>) {
      if (end_.gate() != nullptr) [[unlikely]] {  // What `out` was ends outside.
        std::optional<T> copy;
        const status s = visit([&copy](const T& now) { copy.emplace(now); });
        if (copy) out = std::move(*copy);
        return s;
      }
    }
    return visit([&out](const T& now) { out = now; });
  }
  /// Of the newest value; 0 when there is none to ask.
  [[nodiscard]] std::uint64_t version() const noexcept {
    const inside in(end_.gate());
    const watch_core* const core = get();
    return core == nullptr ? 0 : core->version();
  }
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }
  [[nodiscard]] status inspect(watch_report& out) const noexcept {
    const inside in(end_.gate());
    const watch_core* const core = get();
    if (core == nullptr) return end_.why_not();
    out = {core->count(), core->version()};
    return status::ok;
  }

 private:
  template <class>
  friend class watch_sender;
  template <class>
  friend struct watch_ends;
  watch_receiver(watch_core& core, std::uint64_t seen) noexcept : end_(core, hub_side::receiver), seen_(seen) {}
  [[nodiscard]] watch_core* get() const noexcept { return static_cast<watch_core*>(end_.get()); }

  hub_end end_;
  std::uint64_t seen_ = 0;
};

template <class T>
class watch_sender {
 public:
  watch_sender() noexcept = default;  // Dead, as is one that was dropped or moved from.

  /// stale_handle from a dead one. A copy is the same without the answer.
  [[nodiscard]] status clone(watch_sender& out) const noexcept {
    const inside in(end_.gate());
    if (end_.get() == nullptr) return end_.why_not();
    out = *this;
    return status::ok;
  }
  void drop() noexcept { end_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !end_.is_dead(); }

  /// Never waits. ok: this is the value now, and all who wait are woken. stale_handle, disconnected (its region took
  /// the watch down), reentrant, resource_exhausted (a trace that rejects): `value` is
  /// handed back.
  send_result<T> send(T value) {
    if constexpr (ends_outside<T>) {
      if (end_.gate() != nullptr) [[unlikely]]
        return send_among_threads(value);
    }
    const inside in(end_.gate());
    watch_core* const core = get();
    const status s = core == nullptr ? end_.why_not() : core->admit();
    if (s != status::ok) return {s, std::optional<T>(std::in_place, std::move(value))};
    const hub_hold held(*core);
    new (core->spare()) T(std::move(value));
    std::destroy_at(std::launder(static_cast<T*>(core->publish())));
    return {};
  }
  /// A receiver that has seen what there is now. ok, stale_handle, disconnected.
  [[nodiscard]] status subscribe(watch_receiver<T>& out) const noexcept {
    const inside in(end_.gate());
    watch_core* const core = get();
    if (core == nullptr) return end_.why_not();
    core->add(hub_side::receiver);
    out = watch_receiver<T>(*core, core->version());
    return status::ok;
  }
  [[nodiscard]] std::uint64_t version() const noexcept {
    const inside in(end_.gate());
    const watch_core* const core = get();
    return core == nullptr ? 0 : core->version();
  }
  [[nodiscard]] status inspect(watch_report& out) const noexcept {
    const inside in(end_.gate());
    const watch_core* const core = get();
    if (core == nullptr) return end_.why_not();
    out = {core->count(), core->version()};
    return status::ok;
  }

 private:
  template <class>
  friend struct watch_ends;
  explicit watch_sender(watch_core& core) noexcept : end_(core, hub_side::sender) {}
  [[nodiscard]] watch_core* get() const noexcept { return static_cast<watch_core*>(end_.get()); }

  // the value that leaves is taken out, and destroyed when this thread is out. Its destructor may drop this end.
  ASX_OUT_OF_THE_WAY send_result<T> send_among_threads(T& value) {
    std::optional<hub_ending> held;
    std::optional<T> left;
    {
      const inside in(end_.gate());
      watch_core* const core = get();
      const status s = core == nullptr ? end_.why_not() : core->admit();
      if (s != status::ok) return {s, std::optional<T>(std::in_place, std::move(value))};
      const hub_hold until_out(*core);
      new (core->spare()) T(std::move(value));
      hub_ending::take_out(held, left, *core, core->publish());
    }
    return {};
  }

  hub_end end_;
};

template <class T>
struct [[nodiscard]] watch_ends {
  status code = status::ok;
  watch_sender<T> tx{};
  watch_receiver<T> rx{};

  static watch_ends of(watch_core& core) noexcept {
    return {status::ok, watch_sender<T>(core), watch_receiver<T>(core, 0)};
  }
};

/// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_channels, max_bytes, memory): both ends
/// are dead then. A first value that throws when it is moved in leaves no watch behind.
template <class T>
watch_ends<T> watch(kernel& k, region_handle region, T initial, std::string_view name = {}) {
  static_assert(std::is_nothrow_destructible_v<T>, "a value must be destructible without throwing");
  const inside here(k);  // Its region must not take it down before there is a value.
  watch_core* core = nullptr;
  const status s = watch_core::create(k, region, detail::element_of<T>, name, core);
  if (s != status::ok) return {s, {}, {}};
  struct newborn {  // Until it has its ends it is held, and given up when it does not get them.
    watch_core& core;
    bool has_ends = false;
    ~newborn() {
      if (!has_ends) core.abandon();
      core.release();
    }
  } made{*core};
  new (core->spare()) T(std::move(initial));
  core->start();
  made.has_ends = true;
  return watch_ends<T>::of(*core);
}

/// In the region of the task.
template <class T>
watch_ends<T> watch(cx& c, T initial, std::string_view name = {}) {
  return watch<T>(c.kernel(), c.region(), std::move(initial), name);
}

}  // namespace asx
