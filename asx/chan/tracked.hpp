// asx/chan/tracked.hpp - channel permits that must not be forgotten: each is an obligation as well.
//
//     tracked_sender --reserve--> tracked_permit --send--> committed_proof
//                                       |  +----abort---> aborted_proof
//                                       +--- dropped ---> the task panics, and its region reports a leak
//
// R-128   the obligation belongs to the region of the task that reserves, not to that of the channel; whether that
//         region takes one is asked first, at every poll (R-149). A reserve that blocks or fails has made none.
// R-64    send and try_send never fail for room. With the receiver gone the value comes back, and the obligation is
//         aborted: a promise that nobody is left to keep to.
// R-32    a permit that goes away unresolved panics its task, which tells where it was reserved; the slot comes back,
//         the next waiter is woken; the obligation stays reserved until its region sweeps, and shows in the leak report
//         with its site.
// R-342   who resolves the obligation by its handle leaves a permit that sends nothing and owes nothing.
// R-179   so does a task that returns ok or err with one in hand.
// R-236   a task that is cancelled, panics or is completed by force has not forgotten: its permits are aborted.
//
// Cancel points: poll_reserve. Threads: the runtime's. Lifetime: as mpsc.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "asx/chan/mpsc.hpp"

namespace asx {

/// Evidence that a promise was kept: only a send that queued its value makes one.
class committed_proof {
 public:
  [[nodiscard]] channel_id channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint64_t permit() const noexcept { return permit_; }

 private:
  friend class tracked_core;
  committed_proof(channel_id channel, std::uint64_t permit) noexcept : channel_(channel), permit_(permit) {}
  channel_id channel_;
  std::uint64_t permit_;
};

/// Evidence that a promise was given back.
class aborted_proof {
 public:
  [[nodiscard]] channel_id channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint64_t permit() const noexcept { return permit_; }

 private:
  friend class tracked_core;
  aborted_proof(channel_id channel, std::uint64_t permit) noexcept : channel_(channel), permit_(permit) {}
  channel_id channel_;
  std::uint64_t permit_;
};

/// `value` is handed back when the code is not ok; `proof` is there when it is.
template <class T>
struct [[nodiscard]] tracked_result {
  status code = status::ok;
  std::optional<T> value{};
  std::optional<committed_proof> proof{};
};

/// A tracked permit without its value type.
class ASX_API tracked_core {
 public:
  tracked_core() noexcept = default;
  tracked_core(tracked_core&& other) noexcept = default;
  tracked_core& operator=(tracked_core&& other) noexcept;
  ~tracked_core() {
    if (permit_.number_ != 0) drop();
  }

  [[nodiscard]] static status poll_reserve(sender_core& from, cx& c, reserve_wait& w, tracked_core& out,
                                           const std::source_location& site) noexcept;
  /// As channel_core::poll_reserve_now.
  [[nodiscard]] static status poll_reserve_now(sender_core& from, cx& c, std::uint32_t limit, tracked_core& out,
                                               const std::source_location& site) noexcept;
  [[nodiscard]] static status try_reserve(sender_core& from, region_handle region, tracked_core& out,
                                          const std::source_location& site) noexcept;
  /// The region of the task that is polled; none outside of polls.
  [[nodiscard]] static std::optional<region_handle> region_of_caller(const sender_core& from) noexcept;

  /// ok: a value may be constructed at the tail and committed; otherwise why not. Changes nothing.
  [[nodiscard]] status admit_send() const noexcept;
  /// Resolves the permit, if it was not, as the answer of admit_send says. The caller has its value back.
  void give_up(status why) noexcept;
  [[nodiscard]] committed_proof commit() noexcept;
  std::optional<aborted_proof> abort() noexcept;
  [[nodiscard]] channel_core* held_in() const noexcept { return permit_.held_in(); }
  [[nodiscard]] const gate_port* gate() const noexcept { return permit_.gate(); }
  [[nodiscard]] std::uint64_t number() const noexcept { return permit_.number(); }
  [[nodiscard]] obligation_handle obligation() const noexcept { return obligation_; }

  /// As permit_core's; the obligation is named beside it.
  [[nodiscard]] permit_name leave_to_name() noexcept { return permit_.leave_to_name(); }
  /// ok: the permit of that name, held or not. invalid_argument: a plain permit is held there; stale_handle: a tracked
  /// one is, with another obligation. `out` is left empty then.
  [[nodiscard]] static status of(kernel& k, const permit_name& name, obligation_handle obligation,
                                 tracked_core& out) noexcept;
  /// Gives it up as a task that forgot it does.
  void forget() noexcept {
    if (permit_.number_ != 0) drop();
  }

 private:
  void take(permit_core& permit, const std::source_location& site) noexcept;
  void drop() noexcept;
  /// ok: it is owed. obligation_leaked, obligation_already_resolved.
  [[nodiscard]] status state_of_promise(const channel_core& c) const noexcept;

  permit_core permit_;
  obligation_handle obligation_{};
  std::source_location site_{};  // Where it was reserved: what a panic tells.
  int exceptions_ = 0;           // In flight when it was taken: one more, and its poll is being unwound.
};

template <class T>
class [[nodiscard("a tracked permit is sent or aborted: forgetting it panics the task")]] tracked_permit {
 public:
  tracked_permit() noexcept = default;
  tracked_permit(tracked_permit&&) noexcept = default;
  tracked_permit& operator=(tracked_permit&&) noexcept = default;
  ~tracked_permit() = default;

  /// ok and a proof. disconnected: the obligation is aborted; obligation_already_resolved (by its handle, too),
  /// obligation_leaked (its region has swept): `value` is handed back. So it is with reentrant, and the permit
  /// is as it was.
  tracked_result<T> send(T value) {
    const inside in(core_.gate());
    if (const status s = core_.admit_send(); s != status::ok) return hand_back(s, value);
    if (detail::is_in_the_way<T>(core_.held_in())) {
      return {status::reentrant, std::optional<T>(std::in_place, std::move(value)), {}};
    }
    detail::place<T>(*core_.held_in(), value);
    return {status::ok, {}, core_.commit()};
  }
  /// As send, by the name that a plain permit has for it: neither fails for room.
  tracked_result<T> try_send(T value) { return send(std::move(value)); }
  /// Empty when it was resolved already.
  std::optional<aborted_proof> abort() noexcept { return core_.abort(); }

  [[nodiscard]] bool is_held() const noexcept { return core_.held_in() != nullptr; }
  [[nodiscard]] std::uint64_t number() const noexcept { return core_.number(); }
  /// kernel::inspect tells its state, also after it was resolved.
  [[nodiscard]] obligation_handle obligation() const noexcept { return core_.obligation(); }

 private:
  template <class>
  friend class tracked_sender;
  // The value first: a move that throws leaves permit and obligation as they were.
  tracked_result<T> hand_back(status why, T& value) {
    tracked_result<T> out{why, std::optional<T>(std::in_place, std::move(value)), {}};
    core_.give_up(why);
    return out;
  }
  tracked_core core_;
};

template <class T>
class tracked_sender {
 public:
  tracked_sender() noexcept = default;
  explicit tracked_sender(sender<T> from) noexcept : base_(std::move(from)) {}

  void drop() noexcept { base_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return base_.is_live(); }
  [[nodiscard]] const sender<T>& base() const noexcept { return base_; }

  /// A cancel point. As sender::poll_reserve, and region_not_open or admission_closed, resource_exhausted also
  /// for obligations: then it waits no more.
  [[nodiscard]] status poll_reserve(cx& c, reserve_wait& w, tracked_permit<T>& out,
                                    std::source_location site = std::source_location::current()) noexcept {
    return tracked_core::poll_reserve(base_.core(), c, w, out.core_, site);
  }
  /// In a poll; the obligation is of the polled task's region. invalid_argument outside of polls.
  [[nodiscard]] status try_reserve(tracked_permit<T>& out,
                                   std::source_location site = std::source_location::current()) noexcept {
    const inside in(base_.core().gate());
    const std::optional<region_handle> region = tracked_core::region_of_caller(base_.core());
    if (!region) return base_.core().is_stale() ? status::stale_handle : status::invalid_argument;
    return tracked_core::try_reserve(base_.core(), *region, out.core_, site);
  }
  /// For a host, which names the region.
  [[nodiscard]] status try_reserve(region_handle region, tracked_permit<T>& out,
                                   std::source_location site = std::source_location::current()) noexcept {
    return tracked_core::try_reserve(base_.core(), region, out.core_, site);
  }

 private:
  sender<T> base_;
};

}  // namespace asx
