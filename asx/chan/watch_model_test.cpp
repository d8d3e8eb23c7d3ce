// asx/chan/watch_model_test.cpp - a watch against plain lists: every answer, every wake, every count.
//
//     ASX_MODEL_OPS   operations in all, 100,000 unless told otherwise
//     ASX_MODEL_SEED  the seed of the first episode
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/testing/near.hpp"
#include "asx/chan/watch.hpp"

namespace asx {
namespace {

using testing::model_stage;

constexpr std::uint32_t end_count = 3;
constexpr std::uint32_t wait_count = 5;

class watch_world : public model_stage {
 public:
  explicit watch_world(splitmix64& /*draws*/) : model_stage("watch") { open(); }

  std::string step(splitmix64& draws) {
    const auto end = static_cast<std::uint32_t>(draws.next_below(end_count));
    const auto other = static_cast<std::uint32_t>(draws.next_below(end_count));
    const auto task = static_cast<std::uint32_t>(draws.next_below(task_count));
    const auto w = static_cast<std::uint32_t>(draws.next_below(wait_count));
    woken_.clear();
    begin();
    std::string out;
    switch (draws.next_below(40)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: out = send(end); break;
      case 6: out = send_in_task(end, task); break;
      case 7: clone_sender(end, other); break;
      case 8: clone_receiver(end, other); break;
      case 9: out = subscribe(end, other); break;
      case 10: drop_sender(end); break;
      case 11: drop_receiver(end); break;
      case 12: move_receiver(end, other); break;
      case 13: drop_wait(w); break;
      case 14: out = cancel_task(task, end, w); break;
      case 15:
      case 16: end_task(task); break;
      case 17:
        if (draws.next_below(8) == 0) out = take_down();
        break;
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
    std::uint64_t seen = 0;
  };
  struct naive_wait {
    bool is_waiting = false;
    std::uint32_t receiver = 0;
    std::uint32_t task = 0;
  };

  void open() {
    in_ = s.region();
    auto ends = watch<int>(s.k, in_, value_);
    EXPECT_EQ(ends.code, status::ok);
    tx_[0] = std::move(ends.tx);
    rx_[0] = std::move(ends.rx);
    live_tx_ = {true};
    live_rx_ = {};
    live_rx_[0] = {true, 0};
    version_ = 0;
  }

  std::string send(std::uint32_t i) {
    say("send by sender " + std::to_string(i));
    const auto r = tx_[i].send(value_ + 1);
    return sent(i, r);
  }
  std::string send_in_task(std::uint32_t i, std::uint32_t task) {
    for (const std::uint32_t w : queue_) {
      if (waits_[w].task == task) return {};  // Nobody wakes itself here.
    }
    say("send by sender " + std::to_string(i) + " in task " + std::to_string(task));
    send_result<int> r;
    act(task, [&](cx&) { r = tx_[i].send(value_ + 1); });
    return sent(i, r);
  }
  std::string sent(std::uint32_t i, const send_result<int>& r) {
    std::string out;
    differ(out, "the send", r.code, live_tx_[i] ? status::ok : status::stale_handle);
    differ(out, "what came back", r.value.has_value(), !live_tx_[i]);
    if (live_tx_[i]) {
      ++value_;
      ++version_;
      wake_all(wake_code::message);
    }
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
    waits_[w].is_waiting = false;
    std::erase(queue_, w);
  }
  template <class Pick>
  void leave_if(Pick pick) {
    for (std::uint32_t w = 0; w < wait_count; ++w) {
      if (waits_[w].is_waiting && pick(waits_[w])) leave(w);
    }
  }
  void receiver_gone(std::uint32_t i) {
    for (const std::uint32_t w : std::vector<std::uint32_t>(queue_)) {
      if (waits_[w].receiver != i) continue;
      woken_.emplace_back(waits_[w].task, wake_code::disconnected);
      leave(w);
    }
  }
  void sender_gone() {
    if (senders() == 0) wake_all(wake_code::disconnected);
  }

  void clone_sender(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("sender " + std::to_string(to) + " = sender " + std::to_string(from));
    tx_[to] = tx_[from];
    live_tx_[to] = live_tx_[from];
    sender_gone();
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
    live_rx_[to] = std::exchange(live_rx_[from], {false, live_rx_[from].seen});
  }
  std::string subscribe(std::uint32_t from, std::uint32_t to) {
    say("receiver " + std::to_string(to) + " subscribed by sender " + std::to_string(from));
    const status code = tx_[from].subscribe(rx_[to]);
    std::string out;
    differ(out, "subscribe", code, live_tx_[from] ? status::ok : status::stale_handle);
    if (live_tx_[from]) {
      receiver_gone(to);
      live_rx_[to] = {true, version_};
    }
    return out;
  }
  void drop_sender(std::uint32_t i) {
    say("drop sender " + std::to_string(i));
    tx_[i].drop();
    if (std::exchange(live_tx_[i], false)) sender_gone();
  }
  void drop_receiver(std::uint32_t i) {
    say("drop receiver " + std::to_string(i));
    rx_[i].drop();
    live_rx_[i].is_live = false;
    receiver_gone(i);
  }
  void drop_wait(std::uint32_t w) {
    say("drop wait " + std::to_string(w));
    at_[w] = watch_wait();
    if (waits_[w].is_waiting) leave(w);
  }
  std::string cancel_task(std::uint32_t task, std::uint32_t r, std::uint32_t w) {
    say("cancel task " + std::to_string(task));
    cancel(task);
    std::string out = poll(task, r, w);
    end_task(task);
    return out;
  }
  void end_task(std::uint32_t task) {
    say("end task " + std::to_string(task));
    renew(task);
    leave_if([&](const naive_wait& w) { return w.task == task; });
  }

  std::string poll(std::uint32_t task, std::uint32_t r, std::uint32_t w) {
    say("task " + std::to_string(task) + " polls receiver " + std::to_string(r) + " with wait " + std::to_string(w));
    status got = status::ok;
    act(task, [&](cx& c) { got = rx_[r].poll_changed(c, at_[w]); });
    status want = status::ok;
    naive_wait& mine = waits_[w];
    if (mine.is_waiting && mine.receiver != r) leave(w);
    if (!live_rx_[r].is_live) {
      want = status::stale_handle;
    } else if (is_cancelled(task)) {
      want = status::cancelled;
    } else if (live_rx_[r].seen != version_) {
      live_rx_[r].seen = version_;
    } else if (senders() == 0) {
      want = status::disconnected;
    } else if (!mine.is_waiting && queue_.size() >= waiter_limit) {
      want = status::resource_exhausted;
    } else {
      want = status::would_block;
    }
    if (want != status::would_block && mine.is_waiting) leave(w);
    if (want == status::would_block) {
      if (!mine.is_waiting) queue_.push_back(w);
      mine = {true, r, task};
    }
    std::string out;
    differ(out, "the poll", met(got), want);
    return out;
  }

  // Everybody who waits is woken, every end that is left says disconnected, and another watch begins.
  std::string take_down() {
    say("the region takes it down");
    EXPECT_EQ(s.k.close(in_), status::ok);
    wake_all(wake_code::disconnected);
    std::string out = compare_wakes(woken_);
    for (std::uint32_t i = 0; i < end_count; ++i) {
      differ(out, "a send", tx_[i].send(0).code, live_tx_[i] ? status::disconnected : status::stale_handle);
      int value = 0;
      differ(out, "latest", rx_[i].latest(value), live_rx_[i].is_live ? status::disconnected : status::stale_handle);
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
    const auto look = [&](const auto& end) {
      watch_report r;
      differ(out, "inspect", end.inspect(r), status::ok);
      differ(out, "the version", r.version, version_);
      differ(out, "senders", r.ends.senders, senders());
      differ(out, "receivers", r.ends.receivers, receivers());
      differ(out, "waiters", r.ends.waiters, queue_.size());
    };
    for (std::uint32_t i = 0; i < end_count; ++i) {
      differ(out, "a live sender", tx_[i].is_live(), live_tx_[i]);
      differ(out, "a live receiver", rx_[i].is_live(), live_rx_[i].is_live);
      if (live_tx_[i]) look(tx_[i]);
      if (!live_rx_[i].is_live) continue;
      look(rx_[i]);
      int value = 0;
      differ(out, "latest", rx_[i].latest(value), status::ok);
      differ(out, "the value", value, value_);
      differ(out, "has_changed", rx_[i].has_changed(), live_rx_[i].seen != version_);
    }
    return out;
  }

  region_handle in_{};
  std::array<watch_sender<int>, end_count> tx_;
  std::array<watch_receiver<int>, end_count> rx_;
  std::array<watch_wait, wait_count> at_;

  std::array<bool, end_count> live_tx_{};
  std::array<naive_receiver, end_count> live_rx_{};
  std::array<naive_wait, wait_count> waits_{};
  std::vector<std::uint32_t> queue_;
  std::uint64_t version_ = 0;
  int value_ = 0;
  std::vector<std::pair<std::uint32_t, wake_code>> woken_;
};

// Goal:   no long life tells a watch from the model.
// Method: seeded operations by a host and four tasks that are cancelled, end and begin; compared one by one.
TEST(watch_random_worlds, a_hundred_thousand_operations_agree_with_the_model) {
  testing::run_random_worlds<watch_world>(
      "watch", {status::ok, status::would_block, status::disconnected, status::cancelled, status::stale_handle,
                status::resource_exhausted});
}

}  // namespace
}  // namespace asx
