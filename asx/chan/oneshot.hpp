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

#include <string_view>
#include <utility>

#include "asx/chan/mpsc.hpp"

namespace asx {

template <class T>
class oneshot_sender {
 public:
  oneshot_sender() noexcept = default;  // Dead, as is one that has sent, was dropped or moved from.
  explicit oneshot_sender(sender<T>&& only) noexcept : only_(std::move(only)) {}
  oneshot_sender(oneshot_sender&&) noexcept = default;
  oneshot_sender& operator=(oneshot_sender&&) noexcept = default;
  ~oneshot_sender() = default;  // Whoever waits sees disconnected.

  /// ok, stale_handle, disconnected: `value` is handed back when it is not ok. The sender is dead afterwards; only
  /// resource_exhausted (a trace that rejects) leaves it to try again.
  send_result<T> send(T value) {
    send_result<T> out = only_.try_send(std::move(value));
    if (out.code != status::resource_exhausted) only_.drop();
    return out;
  }
  void drop() noexcept { only_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return only_.is_live(); }
  /// False when a send would be disconnected: whoever makes the answer may save the work.
  [[nodiscard]] bool has_receiver() const noexcept {
    channel_report r;
    return only_.inspect(r) == status::ok && r.has_receiver;
  }
  /// ok, stale_handle, or disconnected once its region took it down.
  [[nodiscard]] status inspect(channel_report& out) const noexcept { return only_.inspect(out); }

 private:
  sender<T> only_;
};

template <class T>
class oneshot_receiver {
 public:
  oneshot_receiver() noexcept = default;  // Dead, as is one that was dropped or moved from.
  explicit oneshot_receiver(receiver<T>&& only) noexcept : only_(std::move(only)) {}

  void drop() noexcept { only_.drop(); }
  [[nodiscard]] bool is_live() const noexcept { return only_.is_live(); }

  /// A cancel point. ok and the value; stale_handle, cancelled; disconnected: it was received, or will never come;
  /// would_block: the task is woken.
  recv_result<T> poll_recv(cx& c) { return only_.poll_recv(c); }
  /// The receiver that it is made of, for who awaits it.
  [[nodiscard]] receiver<T>& as_receiver() noexcept { return only_; }
  /// ok and the value; stale_handle, disconnected, empty.
  recv_result<T> try_recv() { return only_.try_recv(); }
  /// As oneshot_sender::inspect.
  [[nodiscard]] status inspect(channel_report& out) const noexcept { return only_.inspect(out); }

 private:
  receiver<T> only_;
};

template <class T>
struct [[nodiscard]] oneshot_ends {
  status code = status::ok;
  oneshot_sender<T> tx{};
  oneshot_receiver<T> rx{};
};

/// ok, stale_handle, region_not_open, admission_closed, resource_exhausted (max_channels, max_bytes, memory): both ends
/// are dead then.
template <class T>
oneshot_ends<T> oneshot(kernel& k, region_handle region, std::string_view name = {}) noexcept {
  channel_ends<T> ends = channel<T>(k, region, 1, name);
  return {ends.code, oneshot_sender<T>(std::move(ends.tx)), oneshot_receiver<T>(std::move(ends.rx))};
}

/// In the region of the task.
template <class T>
oneshot_ends<T> oneshot(cx& c, std::string_view name = {}) noexcept {
  return oneshot<T>(c.kernel(), c.region(), name);
}

}  // namespace asx
