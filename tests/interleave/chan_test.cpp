// Two and three threads at the ends of one channel, in every order in which they can enter the kernel: last sender drop
// against recv, send against receiver drop, cancel against both. The laws are those of docs/spec/rulings.md.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "tests/interleave/expect.hpp"
#include "tests/interleave/kernel_world.hpp"

namespace {

using namespace asx;
using namespace asx::interleave;
using asx::interleave::atomic;

class chan_world : public kernel_world {
 public:
  /// A message that is somewhere, and once. Its end takes its time.
  class letter {
   public:
    letter(chan_world& of, unsigned number) : world_(&of), number_(number) { ++of.written_; }
    letter(letter&& other) noexcept : world_(std::exchange(other.world_, nullptr)), number_(other.number_) {}
    letter& operator=(letter&&) = delete;
    ~letter() {
      if (world_ == nullptr) return;
      ++world_->burnt_;
      world_->fire.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    /// Nobody has moved it away.
    [[nodiscard]] bool is_here() const noexcept { return world_ != nullptr; }

   private:
    chan_world* world_;
    unsigned number_;
  };

 protected:
  explicit chan_world(std::uint32_t capacity, bool in_a_room = false) {
    if (in_a_room) room = open(rt.root());
    auto made = channel<letter>(k(), in_a_room ? room : rt.root(), capacity);
    check(made.code == status::ok, "there is a channel");
    tx = std::move(made.tx);
    rx = std::move(made.rx);
  }
  /// Sends, and counts what became of it.
  status send(sender<letter>& by, unsigned number) {
    send_result<letter> said = by.try_send(letter(*this, number));
    check(said.code == status::ok || said.value.has_value(), "R-64: what was not taken is handed back");
    check(said.code != status::ok || !said.value.has_value(), "and what was taken is not");
    return said.code;
  }
  /// What a task that receives does in a poll: everything that is there, then as it ended.
  poll_result receive_all(cx& c) {
    for (;;) {
      recv_result<letter> r = rx.poll_recv(c);
      if (r.code == status::ok) {
        got.push_back(r.value->number());
        continue;
      }
      if (r.code == status::would_block) return poll_result::pending;
      receiver_said = r.code;
      return poll_result::ready;
    }
  }
  void expect_nothing_lost() { check(written_ == burnt_, "every letter has gone, and once"); }

  atomic<unsigned> fire{0};
  region_handle room;
  sender<letter> tx;
  receiver<letter> rx;
  std::vector<unsigned> got;  // Of the task that receives, or of the one thread that does.
  std::optional<status> receiver_said;

 private:
  unsigned written_ = 0;
  unsigned burnt_ = 0;
};

// ---- last sender drop against recv

struct last_sender : chan_world {
  script reader{*this, [this](cx& c) { return receive_all(c); }};
  status sent = status::ok;
  last_sender() : chan_world(1) { check(reader.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    sent = send(tx, 1);
    tx.drop();
  }
  void judge() override {
    check(sent == status::ok, "there was room");
    check(got == std::vector<unsigned>{1}, "what was sent before the last sender went is received");
    check(reader.has_ended() && receiver_said == status::disconnected, "R-59: and then it is told that nothing comes");
    rx.drop();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, the_last_sender_goes_and_the_receiver_has_everything_and_is_told) {
  expect_all_hold<last_sender>();
}

struct last_of_two_senders : chan_world {
  script reader{*this, [this](cx& c) { return receive_all(c); }};
  std::array<sender<letter>, 2> ends;
  last_of_two_senders() : chan_world(2) {
    check(reader.spawn(rt.root()) == status::ok, "spawned");
    check(tx.clone(ends[0]) == status::ok, "cloned");
    ends[1] = std::move(tx);
  }
  void run(unsigned thread) override {
    if (thread == 2) return work(0, true);
    check(send(ends[thread], thread) == status::ok, "there is room for both");
    ends[thread].drop();
  }
  void judge() override {
    check(got.size() == 2 && got[0] + got[1] == 1, "both have come, each once");
    check(reader.has_ended() && receiver_said == status::disconnected, "R-57: and not before both are gone");
    rx.drop();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, the_last_of_two_senders_goes) {
  expect_all_hold<last_of_two_senders>(3);
}

// One goes while the other makes one more of itself: R-58, the count was never 0.
struct clones : chan_world {
  script reader{*this, [this](cx& c) { return receive_all(c); }};
  sender<letter> other;
  sender<letter> spare;
  clones() : chan_world(1) {
    check(reader.spawn(rt.root()) == status::ok, "spawned");
    check(tx.clone(other) == status::ok, "cloned");
  }
  void run(unsigned thread) override {
    if (thread == 0) {
      tx.drop();
      work(0);
    } else {
      check(other.clone(spare) == status::ok, "R-58: a live sender can be cloned");
      other.drop();
    }
  }
  void judge() override {
    check(!reader.has_ended(), "a sender lives");
    spare.drop();
    const inside here(k());
    rt.run_until_idle();
    check(reader.has_ended() && receiver_said == status::disconnected, "R-57");
    rx.drop();
  }
};

TEST(interleave_chan, a_sender_goes_while_another_is_cloned) {
  expect_all_hold<clones>();
}

// ---- try_send against receiver drop

struct receiver_goes : chan_world {
  std::array<status, 2> sent{};
  script reader{*this, [this](cx&) {
                  recv_result<letter> r = rx.try_recv();
                  if (r.code == status::ok) got.push_back(r.value->number());
                  rx.drop();
                  return poll_result::ready;
                }};
  receiver_goes() : chan_world(2) { check(reader.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    sent[0] = send(tx, 0);
    sent[1] = send(tx, 1);
  }
  void judge() override {
    for (const status s : sent) check(s == status::ok || s == status::disconnected, "R-67");
    check(sent[0] == status::ok || sent[1] == status::disconnected, "a receiver does not come back");
    check(got.empty() || (got[0] == 0 && sent[0] == status::ok), "what was received was sent");
    tx.drop();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_send_meets_the_end_of_the_receiver) {
  expect_all_hold<receiver_goes>();
}

struct receiver_goes_from_a_permit : chan_world {
  send_permit<letter> permit;
  reserve_wait waiting;
  status reserved = status::ok;
  std::optional<status> sent;
  script writer{*this, [this](cx& c) {
                  if (writer.polls() == 1) {
                    reserved = tx.poll_reserve(c, waiting, permit);
                    c.yield();
                    return poll_result::pending;
                  }
                  if (reserved == status::ok) {
                    send_result<letter> said = permit.send(letter(*this, 1));
                    check((said.code == status::ok) != said.value.has_value(), "R-64: taken, or handed back");
                    sent = said.code;
                  }
                  return poll_result::ready;
                }};
  receiver_goes_from_a_permit() : chan_world(1) { check(writer.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    rx.drop();
  }
  void judge() override {
    check(reserved == status::ok || reserved == status::disconnected, "R-67");
    check(!sent || sent == status::ok || sent == status::disconnected, "R-64");
    check(writer.has_ended() && writer.outcome().is_ok(), "R-124: a failed operation ends nobody");
    tx.drop();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_permit_meets_the_end_of_the_receiver) {
  expect_all_hold<receiver_goes_from_a_permit>();
}

// ---- who waits for room, first come, first served

struct queue_for_room : chan_world {
  struct place {
    reserve_wait waiting;
    send_permit<letter> permit;
    sender<letter> by;
  };
  std::array<place, 2> places;
  poll_result write(cx& c, unsigned who) {
    place& p = places[who];
    const status s = p.by.poll_reserve(c, p.waiting, p.permit);
    if (s == status::would_block) return poll_result::pending;
    check(s == status::ok || s == status::cancelled, "nothing else can happen to it");
    if (s == status::ok) check(p.permit.send(letter(*this, who + 1)).code == status::ok, "R-64: a permit has room");
    p.by.drop();
    return poll_result::ready;
  }
  script first{*this, [this](cx& c) { return write(c, 0); }};
  script second{*this, [this](cx& c) { return write(c, 1); }};

  queue_for_room() : chan_world(1) {
    check(tx.clone(places[0].by) == status::ok && tx.clone(places[1].by) == status::ok, "cloned");
    check(send(tx, 0) == status::ok, "the channel is full");
    check(first.spawn(rt.root()) == status::ok && second.spawn(rt.root()) == status::ok, "spawned");
    work(0);  // Both wait, in this order.
  }
  void take_one() {
    recv_result<letter> r = rx.try_recv();
    check(r.code == status::ok || r.code == status::empty || r.code == status::disconnected, "R-67");
    if (r.code == status::ok) got.push_back(r.value->number());
    channel_report report;
    check(rx.inspect(report) == status::ok, "a live end can be looked at");
    check(report.queued + report.reserved <= report.capacity, "INV-CH-01");
  }
  void take_the_rest() {
    for (int i = 0; i < 4; ++i) {
      take_one();
      const inside here(k());
      rt.run_until_idle();
    }
    tx.drop();
    rx.drop();
  }
};

struct served_in_turn : queue_for_room {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    take_one();
    take_one();
  }
  void judge() override {
    take_the_rest();
    check(first.has_ended() && second.has_ended(), "nobody is left in the queue");
    check(got == std::vector<unsigned>{0, 1, 2}, "INV-CH-02, INV-CH-03: first come, first served");
    expect_nothing_lost();
  }
};

TEST(interleave_chan, who_waits_for_room_is_served_in_turn) {
  expect_all_hold<served_in_turn>();
}

// The first in the queue is cancelled while the room is made that it waits for.
struct cancelled_in_turn : queue_for_room {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (thread == 1) return check(k().request_cancel(first.handle) == status::ok, "R-18");
    take_one();
  }
  void judge() override {
    take_the_rest();
    check(first.has_ended() && second.has_ended(), "INV-CH-05: a cancelled reserve passes its turn on");
    const std::vector<unsigned> all{0, 1, 2};
    const std::vector<unsigned> without{0, 2};
    check(got == (first.outcome().is_cancelled() ? without : all), "R-63: it holds nothing, or it has sent");
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_cancelled_reserve_passes_its_turn_on) {
  expect_all_hold<cancelled_in_turn>(3);
}

// ---- a message that waits is taken from where it is

// Who waits with its letter, which the channel takes in its turn; and a reader, which makes room.
struct letter_waits : chan_world {
  std::optional<letter> mine;
  std::optional<reserve_wait> waiting;
  std::optional<status> said;
  script writer{*this, [this](cx& c) { return ask(c); }};
  virtual poll_result ask(cx& c) {
    const status s = tx.poll_send(c, *waiting, *mine);
    if (s == status::would_block) return poll_result::pending;
    said = s;
    return poll_result::ready;
  }
  letter_waits() : chan_world(1) {
    check(send(tx, 0) == status::ok, "the channel is full");
    mine.emplace(*this, 1);
    waiting.emplace();
    check(writer.spawn(rt.root()) == status::ok, "spawned");
    work(0);  // It waits.
  }
  void take_one() {
    recv_result<letter> r = rx.try_recv();
    if (r.code == status::ok) got.push_back(r.value->number());
  }
  [[nodiscard]] bool has_come() const { return !got.empty() && got.back() == 1; }
  /// Everything that was sent is in `got` then, and the ends are gone.
  void take_the_rest() {
    take_one();
    take_one();
    tx.drop();
    rx.drop();
    check(got.empty() || got.front() == 0, "INV-CH-02: what came first");
  }
};

// ok, if it was taken, whatever else has come.
struct letter_meets_cancel : letter_waits {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (thread == 1) return check(k().request_cancel(writer.handle) == status::ok, "R-18");
    take_one();
  }
  void judge() override {
    check(writer.has_ended() && (said == status::ok || said == status::cancelled), "sent, or cancelled");
    check(mine->is_here() == (said == status::cancelled), "R-322: untouched, or taken");
    take_the_rest();
    check(has_come() == (said == status::ok), "R-322: what was taken is sent, and nothing else");
    mine.reset();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_message_that_waits_meets_a_cancel) {
  expect_all_hold<letter_meets_cancel>(3);
}

// Its task ends from outside, and takes its frame along.
struct letter_meets_drop : letter_waits {
  bool was_here = false;
  letter_meets_drop() {
    writer.at_drop = [this] {
      was_here = mine->is_here();
      waiting.reset();
      mine.reset();
    };
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (thread == 1) {
      const status s = k().complete(writer.handle, task_outcome::err({status::io, 7}));
      check(s == status::ok || s == status::reentrant || s == status::invalid_transition, "R-16, R-17");
      return;
    }
    take_one();
  }
  void judge() override {
    take_the_rest();
    const inside here(k());
    rt.run_until_idle();
    check(writer.has_ended(), "nobody is lost");
    check(has_come() != was_here, "R-322: it was sent, or it has gone with its task");
    check(said != status::ok || has_come(), "who is told that it was sent has sent it");
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_message_that_waits_meets_the_end_of_its_task) {
  expect_all_hold<letter_meets_drop>(3);
}

// It gives up without asking again, as a branch of a select that has lost.
struct letter_is_given_up : letter_waits {
  atomic<unsigned> has_lost{0};
  bool was_here = false;
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (thread == 2) return take_one();
    has_lost.store(1, std::memory_order_relaxed);
    k().waker_of(writer.handle).wake();
  }
  poll_result ask(cx& c) override {
    if (has_lost.load(std::memory_order_relaxed) == 0) return letter_waits::ask(c);
    waiting.reset();  // Nobody takes it any more.
    was_here = mine->is_here();
    return poll_result::ready;
  }
  void judge() override {
    check(writer.has_ended() && (!said || said == status::ok), "it was sent, or given up");
    check(mine->is_here() == was_here, "R-322: who has left has its message as it was");
    take_the_rest();
    check(has_come() != was_here, "R-322: it was sent, or it is still there");
    mine.reset();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_message_that_waits_meets_who_gives_it_up) {
  expect_all_hold<letter_is_given_up>(3);
}

// The receiver makes room, and goes.
struct letter_meets_end : letter_waits {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    take_one();
    rx.drop();
  }
  void judge() override {
    check(writer.has_ended() && (said == status::ok || said == status::disconnected), "sent, or told");
    check(mine->is_here() == (said == status::disconnected), "R-322: untouched, or taken");
    check(got == std::vector<unsigned>{0}, "INV-CH-02: what came first");
    tx.drop();
    mine.reset();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_message_that_waits_meets_the_end_of_the_receiver) {
  expect_all_hold<letter_meets_end>();
}

// The same while its task is cancelled.
struct letter_meets_end_and_cancel : letter_waits {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (thread == 1) return check(k().request_cancel(writer.handle) == status::ok, "R-18");
    take_one();
    rx.drop();
  }
  void judge() override {
    check(writer.has_ended() && said && *said != status::would_block, "it was told");
    check(mine->is_here() == (said != status::ok), "R-322: untouched, or taken");
    tx.drop();
    mine.reset();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_message_that_waits_meets_a_cancel_and_the_end_of_the_receiver) {
  expect_all_hold<letter_meets_end_and_cancel>(3);
}

// ---- a cancelled recv has consumed nothing

struct cancelled_recv : chan_world {
  script reader{*this, [this](cx& c) {
                  recv_result<letter> r = rx.poll_recv(c);
                  if (r.code == status::would_block) return poll_result::pending;
                  receiver_said = r.code;
                  if (r.code == status::ok) got.push_back(r.value->number());
                  return poll_result::ready;
                }};
  cancelled_recv() : chan_world(1) { check(reader.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    if (thread == 1) return check(k().request_cancel(reader.handle) == status::ok, "R-18");
    check(send(tx, 1) == status::ok, "there is room, and the receiver lives");
  }
  void judge() override {
    check(reader.has_ended(), "nobody is lost");
    check(receiver_said == status::ok || receiver_said == status::cancelled, "R-70");
    recv_result<letter> rest = rx.try_recv();
    check((rest.code == status::ok) == got.empty(), "INV-CH-06: received, or still there");
    rest.value.reset();
    tx.drop();
    rx.drop();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_cancelled_recv_has_consumed_nothing) {
  expect_all_hold<cancelled_recv>(3);
}

// ---- the region takes its channel down

struct taken_down : chan_world {
  std::optional<status> sent;
  std::optional<status> received;
  taken_down() : chan_world(2, true) { check(send(tx, 0) == status::ok, "there is room"); }
  void run(unsigned thread) override {
    if (thread == 0) {
      check(k().close(room) == status::ok, "an open region can be closed");
      return;
    }
    sent = send(tx, 1);
    recv_result<letter> r = rx.try_recv();
    received = r.code;
    if (r.code == status::ok) got.push_back(r.value->number());
  }
  void judge() override {
    check(sent == status::ok || sent == status::disconnected, "R-71");
    check(received == status::ok || received == status::disconnected, "R-71");
    check(received != status::ok || got[0] == 0, "INV-CH-02");
    check(sent == status::ok || received == status::disconnected, "what was taken down does not come back");
    check(state_of(room) == region_state::closed, "R-07");
    static_cast<void>(k().release_region(room));
    tx.drop();
    rx.drop();
    expect_nothing_lost();
  }
};

TEST(interleave_chan, a_region_takes_its_channel_down_while_others_use_it) {
  expect_all_hold<taken_down>();
}

// ---- the checks can fail

// Looks first, and waits without a place in any queue.
struct looks_and_sleeps : chan_world {
  script reader{*this, [this](cx& c) {
                  recv_result<letter> r = rx.try_recv();
                  if (r.code != status::empty) return poll_result::ready;
                  static_cast<void>(c.get_waker());
                  return poll_result::pending;
                }};
  looks_and_sleeps() : chan_world(1) { check(reader.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(send(tx, 1) == status::ok, "there is room");
  }
  void judge() override { check(reader.has_ended(), "nobody is lost"); }
};

TEST(interleave_chan_faults, a_receiver_that_waits_in_no_queue_is_noticed) {
  expect_noticed<looks_and_sleeps>("nobody is lost");
}

// Takes a message for its own because it was cancelled, and does not ask what became of it.
struct looks_at_its_cancel : letter_meets_cancel {
  poll_result ask(cx& c) override {
    if (c.checkpoint() == status::ok) return letter_waits::ask(c);
    said = status::cancelled;
    waiting.reset();
    return poll_result::ready;
  }
};

TEST(interleave_chan_faults, a_sender_that_does_not_ask_what_became_of_its_message_is_noticed) {
  expect_noticed<looks_at_its_cancel>("R-322: untouched, or taken", 3);
}

// Counts a letter that was handed back as sent.
struct counts_wrong : last_sender {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    tx.drop();
    sent = send(tx, 1);
  }
};

TEST(interleave_chan_faults, a_sender_that_goes_before_it_sends_is_noticed) {
  expect_noticed<counts_wrong>("there was room");
}

}  // namespace
