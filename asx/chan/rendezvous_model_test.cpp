// asx/chan/rendezvous_model_test.cpp - a rendezvous against a plain list of offers: every answer, every wake, every
// value.
//
//     ASX_MODEL_OPS   operations in all, 100,000 unless told otherwise
//     ASX_MODEL_SEED  the seed of the first episode
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/rendezvous.hpp"
#include "asx/chan/testing/near.hpp"

namespace asx {
namespace {

using testing::model_stage;

constexpr std::uint32_t end_count = 3;
constexpr std::uint32_t offer_count = 5;

class rendezvous_world : public model_stage {
 public:
  explicit rendezvous_world(splitmix64& draws) : model_stage("rendezvous"), is_slow_(draws.next_below(2) == 0) {
    open();
  }

  std::string step(splitmix64& draws) {
    const auto end = static_cast<std::uint32_t>(draws.next_below(end_count));
    const auto other = static_cast<std::uint32_t>(draws.next_below(end_count));
    const auto task = static_cast<std::uint32_t>(draws.next_below(task_count));
    const auto o = static_cast<std::uint32_t>(draws.next_below(offer_count));
    const auto p = static_cast<std::uint32_t>(draws.next_below(offer_count));
    woken_.clear();
    begin();
    std::string out;
    std::uint64_t what = draws.next_below(48);
    if (is_slow_ && what >= 17 && what <= 26 && draws.next_below(4) != 0) what = 47;
    switch (what) {
      case 0: clone_sender(end, other); break;
      case 1: drop_sender(end); break;
      case 2: move_sender(end, other); break;
      case 3:
        if (draws.next_below(4) == 0) drop_receiver();
        break;
      case 4: out = take(o); break;
      case 5: move_offer(o, p); break;
      case 6: drop_offer(o); break;
      case 7:
        if (draws.next_below(4) == 0) out = take_down();
        break;
      case 8: end_task(task); break;
      case 9: out = cancel_send(task, end, o); break;
      case 10: out = cancel_recv(task); break;
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
      case 16: put(o); break;
      case 17:
      case 18:
      case 19: out = try_recv(); break;
      case 20:
      case 21:
      case 22:
      case 23:
      case 24:
      case 25:
      case 26: out = poll_recv(task); break;
      default: out = poll_send(task, draws.next_below(4) == 0 ? end : likely_sender(o), o); break;
    }
    if (out.empty()) out = compare_wakes(woken_);
    rest();
    if (out.empty()) out = compare();
    if (senders() == 0 && !live_rx_) open();
    return out;
  }
  std::string finish() { return compare(); }

 private:
  struct naive_offer {
    std::optional<int> value;
    bool is_waiting = false;
    bool is_taken = false;
    std::uint32_t sender = 0;
    std::uint32_t task = 0;
  };

  void open() {
    in_ = s.region();
    auto ends = rendezvous<int>(s.k, in_);
    EXPECT_EQ(ends.code, status::ok);
    tx_[0] = std::move(ends.tx);
    rx_ = std::move(ends.rx);
    live_tx_ = {true};
    live_rx_ = true;
    offered_ = taken_ = 0;
    receiver_.reset();
  }

  // One with which the offer may keep its place, or find one.
  [[nodiscard]] std::uint32_t likely_sender(std::uint32_t o) const {
    if (offers_[o].is_waiting) return offers_[o].sender;
    const auto at = std::find(live_tx_.begin(), live_tx_.end(), true);
    return at == live_tx_.end() ? 0 : static_cast<std::uint32_t>(at - live_tx_.begin());
  }
  void leave(std::uint32_t o) {
    if (!offers_[o].is_waiting) return;
    offers_[o].is_waiting = false;
    std::erase(queue_, o);
  }
  template <class Pick>
  void leave_if(Pick pick) {
    for (std::uint32_t o = 0; o < offer_count; ++o) {
      if (pick(offers_[o])) leave(o);
    }
  }
  void wake_offers() {
    for (const std::uint32_t o : queue_) {
      woken_.emplace_back(offers_[o].task, wake_code::disconnected);
      offers_[o].is_waiting = false;
    }
    queue_.clear();
  }
  void wake_receiver(wake_code why) {
    if (receiver_) woken_.emplace_back(*receiver_, why);
    receiver_.reset();
  }
  void drop_naive_sender(std::uint32_t i) {
    for (const std::uint32_t o : std::vector<std::uint32_t>(queue_)) {
      if (offers_[o].sender != i) continue;
      woken_.emplace_back(offers_[o].task, wake_code::disconnected);
      leave(o);
    }
    const bool was_live = std::exchange(live_tx_[i], false);
    if (was_live && senders() == 0) wake_receiver(wake_code::disconnected);
  }

  void put(std::uint32_t o) {
    say("put a value into offer " + std::to_string(o));
    real_[o].put(++last_value_);
    leave(o);
    offers_[o].is_taken = false;
    offers_[o].value = last_value_;
  }
  std::string take(std::uint32_t o) {
    say("take offer " + std::to_string(o) + " back");
    std::string out;
    differ(out, "the value", real_[o].take(), offers_[o].value);
    leave(o);
    offers_[o].value.reset();
    return out;
  }
  void drop_offer(std::uint32_t o) {
    say("drop offer " + std::to_string(o));
    real_[o] = rendezvous_offer<int>();
    leave(o);
    offers_[o] = {};
  }
  void move_offer(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("offer " + std::to_string(to) + " = move of offer " + std::to_string(from));
    real_[to] = std::move(real_[from]);
    leave(to);
    offers_[to] = std::exchange(offers_[from], {});
    std::replace(queue_.begin(), queue_.end(), from, to);
  }
  void clone_sender(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("sender " + std::to_string(to) + " = sender " + std::to_string(from));
    tx_[to] = tx_[from];
    const bool is_live = live_tx_[from];
    drop_naive_sender(to);
    live_tx_[to] = is_live;
  }
  void move_sender(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    say("sender " + std::to_string(to) + " = move of sender " + std::to_string(from));
    tx_[to] = std::move(tx_[from]);
    drop_naive_sender(to);
    live_tx_[to] = std::exchange(live_tx_[from], false);
    for (naive_offer& o : offers_) {
      if (o.is_waiting && o.sender == from) o.sender = to;
    }
  }
  void drop_sender(std::uint32_t i) {
    say("drop sender " + std::to_string(i));
    tx_[i].drop();
    drop_naive_sender(i);
  }
  void drop_receiver() {
    say("drop the receiver");
    rx_.drop();
    if (!std::exchange(live_rx_, false)) return;
    receiver_.reset();
    wake_offers();
  }
  void end_task(std::uint32_t task) {
    say("end task " + std::to_string(task));
    renew(task);
    leave_if([&](const naive_offer& o) { return o.task == task; });
    if (receiver_ == task) receiver_.reset();
  }
  std::string cancel_send(std::uint32_t task, std::uint32_t i, std::uint32_t o) {
    say("cancel task " + std::to_string(task));
    cancel(task);
    std::string out = poll_send(task, i, o);
    end_task(task);
    return out;
  }
  std::string cancel_recv(std::uint32_t task) {
    say("cancel task " + std::to_string(task));
    cancel(task);
    std::string out = poll_recv(task);
    end_task(task);
    return out;
  }

  std::string poll_send(std::uint32_t task, std::uint32_t i, std::uint32_t o) {
    if (receiver_ == task) return {};  // Nobody wakes itself here.
    say("task " + std::to_string(task) + " polls offer " + std::to_string(o) + " with sender " + std::to_string(i));
    status got = status::ok;
    act(task, [&](cx& c) { got = tx_[i].poll_send(c, real_[o]); });
    naive_offer& mine = offers_[o];
    status want = status::ok;
    if (mine.is_taken) {
      mine.is_taken = false;
    } else if (!live_tx_[i]) {
      want = status::stale_handle;
      leave(o);
    } else if (!mine.value) {
      want = status::invalid_argument;
    } else {
      if (mine.sender != i) leave(o);
      if (is_cancelled(task)) {
        want = status::cancelled;
      } else if (!live_rx_) {
        want = status::disconnected;
      } else if (!mine.is_waiting && queue_.size() >= waiter_limit) {
        want = status::resource_exhausted;
      } else {
        want = status::would_block;
        if (!mine.is_waiting) {
          queue_.push_back(o);
          ++offered_;
          wake_receiver(wake_code::message);
        }
        mine.is_waiting = true;
        mine.sender = i;
        mine.task = task;
      }
      if (want != status::would_block) leave(o);
    }
    std::string out;
    differ(out, "poll_send", met(got), want);
    return out;
  }

  // What the model receives: the head's value, if there is one.
  std::string compare_received(const recv_result<int>& got, status want_when_empty) {
    std::string out;
    if (!live_rx_ || want_when_empty == status::cancelled || queue_.empty()) {
      differ(out, "the receive", met(got.code), want_when_empty);
      return out;
    }
    naive_offer& head = offers_[queue_.front()];
    differ(out, "the receive", met(got.code), status::ok);
    differ(out, "the value", got.value, head.value);
    woken_.emplace_back(head.task, wake_code::slot);
    head.value.reset();
    head.is_taken = true;
    leave(queue_.front());
    ++taken_;
    return out;
  }
  std::string try_recv() {
    say("try_recv");
    const bool was_empty = queue_.empty();
    std::string out = compare_received(
        rx_.try_recv(), live_rx_ ? senders() == 0 ? status::disconnected : status::empty : status::stale_handle);
    if (live_rx_ && !was_empty) receiver_.reset();
    return out;
  }
  std::string poll_recv(std::uint32_t task) {
    if (!queue_.empty() && offers_[queue_.front()].task == task) return {};
    say("task " + std::to_string(task) + " polls the receiver");
    recv_result<int> got;
    act(task, [&](cx& c) { got = rx_.poll_recv(c); });
    status want = status::would_block;
    if (!live_rx_) {
      want = status::stale_handle;
    } else if (is_cancelled(task)) {
      want = status::cancelled;
    } else if (senders() == 0) {
      want = status::disconnected;
    }
    if (live_rx_) receiver_.reset();
    if (want == status::would_block && queue_.empty()) receiver_ = task;
    return compare_received(got, want);
  }

  std::string take_down() {
    say("the region takes it down");
    EXPECT_EQ(s.k.close(in_), status::ok);
    wake_offers();
    wake_receiver(wake_code::disconnected);
    std::string out = compare_wakes(woken_);
    differ(out, "try_recv", rx_.try_recv().code, live_rx_ ? status::disconnected : status::stale_handle);
    for (std::uint32_t i = 0; i < end_count; ++i) {
      rendezvous_report r;
      differ(out, "inspect", tx_[i].inspect(r), live_tx_[i] ? status::disconnected : status::stale_handle);
      tx_[i].drop();
    }
    rx_.drop();
    open();
    return out;
  }

  [[nodiscard]] std::uint64_t senders() const {
    return static_cast<std::uint64_t>(std::count(live_tx_.begin(), live_tx_.end(), true));
  }
  std::string compare() {
    std::string out;
    for (std::uint32_t o = 0; o < offer_count; ++o) {
      differ(out, "a waiting offer", real_[o].is_waiting(), offers_[o].is_waiting);
      differ(out, "a taken offer", real_[o].is_taken(), offers_[o].is_taken);
      differ(out, "an offer's value", real_[o].has_value() ? std::optional<int>(*real_[o].value()) : std::nullopt,
             offers_[o].value);
    }
    const auto look = [&](const auto& end) {
      rendezvous_report r;
      differ(out, "inspect", end.inspect(r), status::ok);
      differ(out, "senders", r.ends.senders, senders());
      differ(out, "receivers", r.ends.receivers, live_rx_ ? 1U : 0U);
      differ(out, "waiters", r.ends.waiters, queue_.size());
      differ(out, "offered", r.offered, offered_);
      differ(out, "taken", r.taken, taken_);
      differ(out, "withdrawn", r.withdrawn, offered_ - taken_ - queue_.size());
      differ(out, "the waiting receiver", r.is_receiver_waiting, receiver_.has_value());
    };
    for (std::uint32_t i = 0; i < end_count; ++i) {
      differ(out, "a live sender", tx_[i].is_live(), live_tx_[i]);
      if (live_tx_[i]) look(tx_[i]);
    }
    differ(out, "the live receiver", rx_.is_live(), live_rx_);
    if (live_rx_) look(rx_);
    return out;
  }

  region_handle in_{};
  std::array<rendezvous_sender<int>, end_count> tx_;
  rendezvous_receiver<int> rx_;
  std::array<rendezvous_offer<int>, offer_count> real_;

  std::array<bool, end_count> live_tx_{};
  bool live_rx_ = false;
  std::array<naive_offer, offer_count> offers_{};
  std::vector<std::uint32_t> queue_;
  std::optional<std::uint32_t> receiver_;  // The task that waits to receive.
  bool is_slow_;                           // Hardly ever receives, so that the queue fills up.
  std::uint64_t offered_ = 0;
  std::uint64_t taken_ = 0;
  int last_value_ = 0;
  std::vector<std::pair<std::uint32_t, wake_code>> woken_;
};

// Goal:   no long life tells a rendezvous from the model, and no value is ever in two places or in none.
// Method: seeded operations by a host and four tasks that are cancelled, end and begin; compared one by one.
TEST(rendezvous_random_worlds, a_hundred_thousand_operations_agree_with_the_model) {
  testing::run_random_worlds<rendezvous_world>(
      "rendezvous", {status::ok, status::would_block, status::disconnected, status::cancelled, status::stale_handle,
                     status::resource_exhausted, status::invalid_argument, status::empty});
}

}  // namespace
}  // namespace asx
