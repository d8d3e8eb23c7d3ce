// asx/chan/broadcast_model_test.cpp - a broadcast against one plain list for each receiver: every answer, every wake,
// every count.
//
//     ASX_MODEL_OPS   operations in all, 100,000 unless told otherwise
//     ASX_MODEL_SEED  the seed of the first episode
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/broadcast.hpp"
#include "asx/chan/testing/near.hpp"

namespace asx {
namespace {

using testing::model_stage;

constexpr std::uint32_t end_count = 3;
constexpr std::uint32_t wait_count = 5;

// The model has no ring and no cursor: each receiver has a list of what it will see, and loses its oldest when that
// grows beyond the capacity. That is the same as one ring, because all lists are ends of one list.
class broadcast_world : public model_stage {
 public:
  explicit broadcast_world(splitmix64& draws)
      : model_stage("broadcast"),
        capacity_(1 + static_cast<std::uint32_t>(draws.next_below(4))),
        is_quiet_(draws.next_below(2) == 0) {
    open();
  }

  std::string step(splitmix64& draws) {
    const auto end = static_cast<std::uint32_t>(draws.next_below(end_count));
    const auto other = static_cast<std::uint32_t>(draws.next_below(end_count));
    const auto task = static_cast<std::uint32_t>(draws.next_below(task_count));
    const auto w = static_cast<std::uint32_t>(draws.next_below(wait_count));
    woken_.clear();
    begin();
    std::string out;
    std::uint64_t what = draws.next_below(48);
    if (is_quiet_ && what >= 12 && what <= 25 && draws.next_below(8) != 0) what = 47;
    switch (what) {
      case 0: drop_sender(end); break;
      case 1: drop_receiver(end); break;
      case 2:
      case 3: clone_sender(end, other); break;
      case 4:
      case 5: clone_receiver(end, other); break;
      case 6: out = subscribe(end, other); break;
      case 7: move_receiver(end, other); break;
      case 8: drop_wait(w); break;
      case 9: end_task(task); break;
      case 10: out = cancel_task(task, end, w); break;
      case 11:
        if (draws.next_below(8) == 0) out = take_down();
        break;
      case 12:
      case 13:
      case 14:
      case 15:
      case 16:
      case 17:
      case 18:
      case 19:
      case 20:
      case 21:
      case 22: out = send(likely_sender(end)); break;
      case 23:
      case 24:
      case 25: out = send(end); break;
      case 26:
      case 27:
      case 28:
      case 29: out = try_recv(end); break;
      default: out = poll(task, end, w); break;
    }
    if (out.empty()) out = compare_wakes(woken_);
    rest();
    if (out.empty()) out = compare();
    if (senders() == 0 && receivers() == 0) open();
    return out;
  }
  std::string finish() { return compare(); }

 private:
  struct naive_receiver {
    bool is_live = false;
    std::deque<int> values;
    std::uint64_t missed = 0;
  };
  struct naive_wait {
    bool is_waiting = false;
    std::uint32_t receiver = 0;
    std::uint32_t task = 0;
  };

  void open() {
    in_ = s.region();
    auto ends = broadcast<int>(s.k, in_, capacity_);
    EXPECT_EQ(ends.code, status::ok);
    tx_[0] = std::move(ends.tx);
    rx_[0] = std::move(ends.rx);
    live_tx_ = {true};
    live_rx_ = {};
    live_rx_[0].is_live = true;
    counts_ = {};
    kept_ = 0;
  }
  [[nodiscard]] std::uint32_t likely_sender(std::uint32_t otherwise) const {
    const auto at = std::find(live_tx_.begin(), live_tx_.end(), true);
    return at == live_tx_.end() ? otherwise : static_cast<std::uint32_t>(at - live_tx_.begin());
  }

  std::string send(std::uint32_t i) {
    say("send by sender " + std::to_string(i));
    const auto r = tx_[i].send(++last_value_);
    status want = live_tx_[i] ? status::ok : status::stale_handle;
    if (want == status::ok && receivers() == 0) want = status::disconnected;
    std::string out;
    differ(out, "the send", met(r.code), want);
    differ(out, "what came back", r.value.has_value(), want != status::ok);
    if (want != status::ok) return out;
    ++counts_.sent;
    if (kept_ == capacity_) {
      ++counts_.overwritten;
    } else {
      ++kept_;
    }
    for (naive_receiver& to : live_rx_) {
      if (!to.is_live) continue;
      to.values.push_back(last_value_);
      if (to.values.size() > capacity_) {
        to.values.pop_front();
        ++to.missed;
      }
    }
    wake_all(wake_code::message);
    return out;
  }
  void wake_all(wake_code why) {
    for (const std::uint32_t w : queue_) {
      woken_.emplace_back(waits_[w].task, why);
      waits_[w].is_waiting = false;
    }
    queue_.clear();
  }
  void leave(std::uint32_t w) {
    if (!waits_[w].is_waiting) return;
    waits_[w].is_waiting = false;
    std::erase(queue_, w);
  }
  template <class Pick>
  void leave_if(Pick pick) {
    for (std::uint32_t w = 0; w < wait_count; ++w) {
      if (pick(waits_[w])) leave(w);
    }
  }
  void waits_gone(std::uint32_t receiver) {
    for (const std::uint32_t w : std::vector<std::uint32_t>(queue_)) {
      if (waits_[w].receiver != receiver) continue;
      woken_.emplace_back(waits_[w].task, wake_code::disconnected);
      leave(w);
    }
  }
  void receiver_gone(std::uint32_t i) {
    waits_gone(i);
    const bool was_live = std::exchange(live_rx_[i], {}).is_live;
    if (was_live && receivers() == 0) {
      counts_.discarded += kept_;
      kept_ = 0;
    }
  }
  void sender_gone(std::uint32_t i) {
    if (std::exchange(live_tx_[i], false) && senders() == 0) wake_all(wake_code::disconnected);
  }

  void clone_sender(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("sender " + std::to_string(to) + " = sender " + std::to_string(from));
    tx_[to] = tx_[from];
    if (live_tx_[from]) {
      live_tx_[to] = true;
    } else {
      sender_gone(to);
    }
  }
  void clone_receiver(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("receiver " + std::to_string(to) + " = receiver " + std::to_string(from));
    rx_[to] = rx_[from];
    receiver_gone(to);
    live_rx_[to] = live_rx_[from];
  }
  void move_receiver(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("receiver " + std::to_string(to) + " = move of receiver " + std::to_string(from));
    rx_[to] = std::move(rx_[from]);
    receiver_gone(to);
    for (naive_wait& w : waits_) {
      if (w.is_waiting && w.receiver == from) w.receiver = to;
    }
    live_rx_[to] = std::exchange(live_rx_[from], {});
  }
  std::string subscribe(std::uint32_t from, std::uint32_t to) {
    say("receiver " + std::to_string(to) + " subscribed by sender " + std::to_string(from));
    std::string out;
    differ(out, "subscribe", tx_[from].subscribe(rx_[to]), live_tx_[from] ? status::ok : status::stale_handle);
    if (live_tx_[from]) {
      waits_gone(to);
      live_rx_[to] = {true, {}, 0};
    }
    return out;
  }
  void drop_sender(std::uint32_t i) {
    say("drop sender " + std::to_string(i));
    tx_[i].drop();
    sender_gone(i);
  }
  void drop_receiver(std::uint32_t i) {
    say("drop receiver " + std::to_string(i));
    rx_[i].drop();
    receiver_gone(i);
  }
  void drop_wait(std::uint32_t w) {
    say("drop wait " + std::to_string(w));
    at_[w] = broadcast_wait();
    leave(w);
  }
  void end_task(std::uint32_t task) {
    say("end task " + std::to_string(task));
    renew(task);
    leave_if([&](const naive_wait& w) { return w.task == task; });
  }
  std::string cancel_task(std::uint32_t task, std::uint32_t r, std::uint32_t w) {
    say("cancel task " + std::to_string(task));
    cancel(task);
    std::string out = poll(task, r, w);
    end_task(task);
    return out;
  }

  // What this receiver is to be given now, or `nothing`.
  std::string received(std::uint32_t r, const broadcast_result<int>& got, status nothing) {
    naive_receiver& to = live_rx_[r];
    std::string out;
    if (!to.is_live || nothing == status::cancelled || (to.missed == 0 && to.values.empty())) {
      differ(out, "the receive", met(got.code), nothing);
    } else if (to.missed != 0) {
      differ(out, "the receive", met(got.code), status::lagged);
      differ(out, "skipped", got.skipped, to.missed);
      counts_.skipped += std::exchange(to.missed, 0);
      ++counts_.lagged;
    } else {
      differ(out, "the receive", met(got.code), status::ok);
      differ(out, "the value", got.value.value_or(0), to.values.front());
      to.values.pop_front();
      ++counts_.delivered;
    }
    return out;
  }
  std::string try_recv(std::uint32_t r) {
    say("try_recv of receiver " + std::to_string(r));
    const status nothing = !live_rx_[r].is_live ? status::stale_handle
                           : senders() == 0     ? status::disconnected
                                                : status::empty;
    return received(r, rx_[r].try_recv(), nothing);
  }
  std::string poll(std::uint32_t task, std::uint32_t r, std::uint32_t w) {
    say("task " + std::to_string(task) + " polls receiver " + std::to_string(r) + " with wait " + std::to_string(w));
    broadcast_result<int> got;
    act(task, [&](cx& c) { got = rx_[r].poll_recv(c, at_[w]); });
    naive_wait& mine = waits_[w];
    if (mine.receiver != r) leave(w);
    status nothing = status::would_block;
    if (!live_rx_[r].is_live) {
      nothing = status::stale_handle;
    } else if (is_cancelled(task)) {
      nothing = status::cancelled;
    } else if (senders() == 0) {
      nothing = status::disconnected;
    } else if (!mine.is_waiting && queue_.size() >= waiter_limit) {
      nothing = status::resource_exhausted;
    }
    const bool waits = nothing == status::would_block && live_rx_[r].missed == 0 && live_rx_[r].values.empty();
    if (!waits) leave(w);
    if (waits) {
      if (!mine.is_waiting) queue_.push_back(w);
      mine = {true, r, task};
    }
    return received(r, got, nothing);
  }

  std::string take_down() {
    say("the region takes it down");
    EXPECT_EQ(s.k.close(in_), status::ok);
    wake_all(wake_code::disconnected);
    std::string out = compare_wakes(woken_);
    for (std::uint32_t i = 0; i < end_count; ++i) {
      differ(out, "a send", tx_[i].send(0).code, live_tx_[i] ? status::disconnected : status::stale_handle);
      differ(out, "try_recv", rx_[i].try_recv().code,
             live_rx_[i].is_live ? status::disconnected : status::stale_handle);
    }
    for (auto& tx : tx_) tx.drop();
    for (auto& rx : rx_) rx.drop();
    open();
    return out;
  }

  [[nodiscard]] std::uint64_t senders() const {
    return static_cast<std::uint64_t>(std::count(live_tx_.begin(), live_tx_.end(), true));
  }
  [[nodiscard]] std::uint64_t receivers() const {
    return static_cast<std::uint64_t>(
        std::count_if(live_rx_.begin(), live_rx_.end(), [](const naive_receiver& r) { return r.is_live; }));
  }
  std::string compare() {
    std::string out;
    for (std::uint32_t w = 0; w < wait_count; ++w)
      differ(out, "wait " + std::to_string(w), at_[w].is_waiting(), waits_[w].is_waiting);
    std::uint64_t owed = 0;
    for (const naive_receiver& r : live_rx_) owed += r.missed + r.values.size();
    const auto look = [&](const auto& end) {
      broadcast_report r;
      differ(out, "inspect", end.inspect(r), status::ok);
      differ(out, "senders", r.ends.senders, senders());
      differ(out, "receivers", r.ends.receivers, receivers());
      differ(out, "waiters", r.ends.waiters, queue_.size());
      differ(out, "kept", r.kept, kept_);
      differ(out, "owed", r.owed, owed);
      differ(out, "sent", r.counts.sent, counts_.sent);
      differ(out, "delivered", r.counts.delivered, counts_.delivered);
      differ(out, "overwritten", r.counts.overwritten, counts_.overwritten);
      differ(out, "discarded", r.counts.discarded, counts_.discarded);
      differ(out, "lagged", r.counts.lagged, counts_.lagged);
      differ(out, "skipped", r.counts.skipped, counts_.skipped);
      differ(out, "R-259", r.counts.sent, r.counts.overwritten + r.counts.discarded + r.kept);
    };
    for (std::uint32_t i = 0; i < end_count; ++i) {
      differ(out, "a live sender", tx_[i].is_live(), live_tx_[i]);
      differ(out, "a live receiver", rx_[i].is_live(), live_rx_[i].is_live);
      if (live_tx_[i]) look(tx_[i]);
      if (!live_rx_[i].is_live) continue;
      look(rx_[i]);
      differ(out, "the backlog", rx_[i].backlog(), live_rx_[i].missed + live_rx_[i].values.size());
    }
    return out;
  }

  std::uint32_t capacity_;
  bool is_quiet_;  // Hardly ever sends, so that the queue fills up.
  region_handle in_{};
  std::array<broadcast_sender<int>, end_count> tx_;
  std::array<broadcast_receiver<int>, end_count> rx_;
  std::array<broadcast_wait, wait_count> at_;

  std::array<bool, end_count> live_tx_{};
  std::array<naive_receiver, end_count> live_rx_{};
  std::array<naive_wait, wait_count> waits_{};
  std::vector<std::uint32_t> queue_;
  broadcast_counts counts_;
  std::uint32_t kept_ = 0;
  int last_value_ = 0;
  std::vector<std::pair<std::uint32_t, wake_code>> woken_;
};

// Goal:   no long life tells a broadcast from the model.
// Method: seeded operations by a host and four tasks that are cancelled, end and begin, with capacities of 1 to 4;
//         compared one by one.
TEST(broadcast_random_worlds, a_hundred_thousand_operations_agree_with_the_model) {
  testing::run_random_worlds<broadcast_world>(
      "broadcast", {status::ok, status::lagged, status::would_block, status::disconnected, status::cancelled,
                    status::stale_handle, status::resource_exhausted, status::empty});
}

}  // namespace
}  // namespace asx
