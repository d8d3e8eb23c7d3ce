// asx/chan/oneshot.hpp - one value, once: the answer to one question.
//
//     auto [code, tx, rx] = asx::oneshot<reply>(c);        // in the region of the task
//     ...
//     tx.send(reply{42});                                   // never waits, and uses the sender up
//     ...
//     switch (auto r = rx.poll_recv(c); r.code) {           // in a poll
//       case status::ok: use(*r.value); break;
//       case status::disconnected: break;                   // the sender went without a word
//       ...
//
// R-250      a send uses the sender up, whether it was delivered or not; what was not delivered comes back.
// INV-CH-06  a cancelled recv has consumed nothing.
// R-71       the region takes it down; ends that are left report disconnected.
// R-240      a move that throws leaves sender, receiver and value as they were.
//
// It is a channel of capacity 1 with a sender that cannot be copied: same core, same events, same limits.
//
// Cancel points: poll_recv. Threads: the runtime's. Lifetime: as mpsc.hpp.
#pragma once

#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "asx/chan/mpsc.hpp"

namespace asx {

template <class T>
class oneshot_sender {
 public:
  oneshot_sender() noexcept = default;  // Dead, as is one that has sent, was dropped or moved from.
  oneshot_sender(oneshot_sender&&) noexcept = default;
  oneshot_sender& operator=(oneshot_sender&&) noexcept = default;
  ~oneshot_sender() = default;  // Whoever waits sees disconnected.

  /// ok, stale_handle, disconnected: `value` is handed back when it is not ok. The sender is dead afterwards; only
  /// resource_exhausted (a trace that rejects) leaves it to try again.
  send_result<T> send(T value) {
    channel_core* const core = core_.get();
    const status s = core == nullptr ? core_.why_not() : core->admit_now();
    if (s != status::ok) {
      send_result<T> back{s, std::optional<T>(std::in_place, std::move(value))};
      if (s != status::resource_exhausted) core_.drop();
      return back;
    }
    new (core->tail()) T(std::move(value));
    core->commit_now();
    core_.drop();
    return {};
  }
  void drop() noexcept { core_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !core_.is_dead(); }
  /// False when a send would be disconnected: whoever makes the answer may save the work.
  [[nodiscard]] bool has_receiver() const noexcept {
    const channel_core* const core = core_.get();
    return core != nullptr && core->has_receiver();
  }
  /// ok, stale_handle, or disconnected once its region took it down.
  [[nodiscard]] status inspect(channel_report& out) const noexcept {
    const channel_core* const core = core_.get();
    if (core == nullptr) return core_.why_not();
    core->inspect(out);
    return status::ok;
  }

 private:
  template <class U>
  friend struct oneshot_ends;
  explicit oneshot_sender(channel_core& core) noexcept : core_(core) {}
  sender_core core_;
};

template <class T>
class oneshot_receiver {
 public:
  oneshot_receiver() noexcept = default;  // Dead, as is one that was dropped or moved from.

  void drop() noexcept { core_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return !core_.is_dead(); }

  /// A cancel point. ok and the value; stale_handle, cancelled; disconnected: it was received, or will never come;
  /// would_block: the task is woken.
  recv_result<T> poll_recv(cx& c) {
    channel_core* const core = core_.get();
    const status s = core == nullptr ? core_.why_not() : core->poll_recv(c);
    if (s != status::ok) return {s, {}};
    return detail::take_from<T>(*core);
  }
  /// ok and the value; stale_handle, disconnected, empty.
  recv_result<T> try_recv() {
    channel_core* const core = core_.get();
    const status s = core == nullptr ? core_.why_not() : core->try_recv();
    if (s != status::ok) return {s, {}};
    return detail::take_from<T>(*core);
  }
  /// As oneshot_sender::inspect.
  [[nodiscard]] status inspect(channel_report& out) const noexcept {
    const channel_core* const core = core_.get();
    if (core == nullptr) return core_.why_not();
    core->inspect(out);
    return status::ok;
  }

 private:
  template <class U>
  friend struct oneshot_ends;
  explicit oneshot_receiver(channel_core& core) noexcept : core_(core) {}
  receiver_core core_;
};

template <class T>
struct [[nodiscard]] oneshot_ends {
  status code = status::ok;
  oneshot_sender<T> tx{};
  oneshot_receiver<T> rx{};

  static oneshot_ends of(status code, channel_core* core) noexcept {
    if (code != status::ok) return {code, {}, {}};
    return {code, oneshot_sender<T>(*core), oneshot_receiver<T>(*core)};
  }
};

/// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_channels, max_bytes, memory): both ends
/// are dead then.
template <class T>
oneshot_ends<T> oneshot(kernel& k, region_handle region, std::string_view name = {}) noexcept {
  static_assert(std::is_nothrow_destructible_v<T>, "a message must be destructible without throwing");
  channel_core* core = nullptr;
  const status s = channel_core::create(k, region, detail::element_of<T>, 1, name, core);
  return oneshot_ends<T>::of(s, core);
}

/// In the region of the task.
template <class T>
oneshot_ends<T> oneshot(cx& c, std::string_view name = {}) noexcept {
  return oneshot<T>(c.kernel(), c.region(), name);
}

}  // namespace asx
