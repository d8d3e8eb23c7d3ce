// A wait is moved by one thread while another one serves it, in every order in which they can enter the kernel, and
// stand still behind it: its place in a queue and what it says there are one thing, and nobody meets half of it. The
// laws are those of asx/sync, asx/chan/hub.hpp and docs/spec/rulings.md.
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "asx/chan/broadcast.hpp"
#include "asx/chan/mpsc.hpp"
#include "asx/chan/watch.hpp"
#include "asx/sync/notify.hpp"
#include "asx/sync/semaphore.hpp"
#include "tests/interleave/expect.hpp"
#include "tests/interleave/kernel_world.hpp"

namespace {

using namespace asx;
using namespace asx::interleave;

/// Whoever goes out may stand there before it goes on: what follows a way out, outside, is not a part of it.
struct moved_world : kernel_world {
  moved_world() { dawdles(); }
};

// ---- who wants so many units

// The place that it is moved to has wanted more than it does, and there will never be as many.
template <bool Assigned>
struct moves_to_its_units : moved_world {
  semaphore sem;
  semaphore_units held;
  semaphore_units got;
  semaphore_wait first;
  std::optional<semaphore_wait> second;
  script waits{*this, [this](cx& c) {
                 if (waits.polls() == 1) {
                   second.emplace();
                   check(sem.poll_acquire(c, *second, 3, got) == status::would_block, "there are not so many");
                   second->leave();
                   if (sem.poll_acquire(c, first, 1, got) == status::would_block) {
                     if (Assigned) {
                       *second = std::move(first);
                     } else {
                       second.emplace(std::move(first));
                     }
                     return poll_result::pending;
                   }
                 } else {
                   check(sem.poll_acquire(c, *second, 1, got) == status::ok, "who is woken has come to its turn");
                 }
                 got.release();
                 return poll_result::ready;
               }};
  moves_to_its_units() {
    check(semaphore::create(k(), rt.root(), 3, sem) == status::ok, "made");
    check(sem.try_acquire(3, held) == status::ok, "taken");
    check(waits.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(sem.add(1) == status::ok, "one more");
  }
  void judge() override {
    check(waits.has_ended(), "law 2: who waits for units that are there is served");
    held.release();
  }
};

TEST(interleave_moved_waits, units_come_while_who_waits_for_them_is_moved) {
  expect_all_hold<moves_to_its_units<false>>();
}
TEST(interleave_moved_waits, units_come_while_who_waits_for_them_is_assigned) {
  expect_all_hold<moves_to_its_units<true>>();
}

// ---- who was told

// It goes without having asked: what it was told is the next one's, or kept.
template <bool Assigned>
struct moves_to_its_notice : moved_world {
  notify bell;
  notify_wait first;
  bool was_told = false;
  script waits{*this, [this](cx& c) {
                 was_told = bell.poll_wait(c, first) == status::ok;
                 if (was_told) return poll_result::ready;
                 if (Assigned) {
                   notify_wait second;
                   second = std::move(first);
                 } else {
                   const notify_wait second(std::move(first));
                 }
                 return poll_result::ready;
               }};
  moves_to_its_notice() {
    check(notify::create(k(), rt.root(), bell) == status::ok, "made");
    check(waits.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(bell.notify_one() == status::ok, "told");
  }
  void judge() override {
    std::uint32_t waiters = 0;
    bool is_kept = false;
    check(bell.inspect(waiters, is_kept) == status::ok && waiters == 0, "it is looked at");
    check(is_kept != was_told, "law 2: who was told and goes before it has seen that passes it on");
  }
};

TEST(interleave_moved_waits, a_notice_comes_while_who_waits_for_it_is_moved) {
  expect_all_hold<moves_to_its_notice<false>>();
}
TEST(interleave_moved_waits, a_notice_comes_while_who_waits_for_it_is_assigned) {
  expect_all_hold<moves_to_its_notice<true>>();
}

// ---- whose wait it is

// The place that it is moved to has been another end's. That one counts who waits with it: as long as somebody does, it
// tells them when it goes.
template <class Ends, bool Assigned>
struct moves_to_its_value : moved_world {
  typename Ends::all own = Ends::make(k(), rt.root());
  typename Ends::all other = Ends::make(k(), rt.root());
  end_wait first;
  std::optional<end_wait> second;
  script waits{*this, [this](cx& c) {
                 if (waits.polls() == 1) {
                   second.emplace();
                   check(Ends::ask(other, c, *second) == status::would_block, "nothing was sent there");
                   second->leave();
                   if (Ends::ask(own, c, first) == status::ok) return poll_result::ready;
                   if (Assigned) {
                     *second = std::move(first);
                   } else {
                     second.emplace(std::move(first));
                   }
                   return poll_result::pending;
                 }
                 check(Ends::ask(own, c, *second) == status::ok, "who is woken finds what was sent");
                 return poll_result::ready;
               }};
  end_wait still;
  script stays{*this, [this](cx& c) {
                 const status s = Ends::ask(other, c, still);
                 if (s == status::would_block) return poll_result::pending;
                 check(s != status::ok, "nothing was sent there");
                 return poll_result::ready;
               }};
  moves_to_its_value() {
    check(stays.spawn(rt.root()) == status::ok, "spawned");
    static_cast<void>(rt.step(0));
    check(waits.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(own.tx.send(1).code == status::ok, "sent");
  }
  void judge() override {
    check(waits.has_ended(), "who waits is woken by what is sent");
    const auto last = other.rx;  // So that the one that goes is not: that would tell everybody.
    other.rx.drop();
    const inside here(k());
    rt.run_until_idle();
    check(stays.has_ended(), "R-249: who waits with an end that goes is told");
    second.reset();
    own = {};
    other = {};
  }
};

struct watched {
  struct all {
    watch_sender<int> tx;
    watch_receiver<int> rx;
  };
  static all make(kernel& k, region_handle region) {
    auto made = watch<int>(k, region, 0);
    check(made.code == status::ok, "made");
    return {std::move(made.tx), std::move(made.rx)};
  }
  static status ask(all& ends, cx& c, end_wait& w) { return ends.rx.poll_changed(c, w); }
};
struct broadcasted {
  struct all {
    broadcast_sender<int> tx;
    broadcast_receiver<int> rx;
  };
  static all make(kernel& k, region_handle region) {
    auto made = broadcast<int>(k, region, 2);
    check(made.code == status::ok, "made");
    return {std::move(made.tx), std::move(made.rx)};
  }
  static status ask(all& ends, cx& c, end_wait& w) { return ends.rx.poll_recv(c, w).code; }
};

TEST(interleave_moved_waits, a_watch_changes_while_who_waits_for_it_is_moved) {
  expect_all_hold<moves_to_its_value<watched, false>>();
}
TEST(interleave_moved_waits, a_watch_changes_while_who_waits_for_it_is_assigned) {
  expect_all_hold<moves_to_its_value<watched, true>>();
}
TEST(interleave_moved_waits, a_broadcast_is_sent_while_who_waits_for_it_is_moved) {
  expect_all_hold<moves_to_its_value<broadcasted, false>>();
}
TEST(interleave_moved_waits, a_broadcast_is_sent_while_who_waits_for_it_is_assigned) {
  expect_all_hold<moves_to_its_value<broadcasted, true>>();
}

// ---- who waits with its message

// it keeps its place without its message, or the message was taken; told once, whichever it was.
struct moves_with_its_message : moved_world {
  sender<int> tx;
  receiver<int> rx;
  reserve_wait first;
  std::optional<reserve_wait> second;
  int message = 7;
  script writes{*this, [this](cx& c) {
                  if (writes.polls() == 1) {
                    check(tx.poll_send(c, first, message) == status::would_block, "it is full");
                    c.yield();
                    return poll_result::pending;
                  }
                  if (writes.polls() == 2) {
                    second.emplace(std::move(first));
                    c.yield();
                    return poll_result::pending;
                  }
                  const status s = tx.poll_send(c, *second, message);
                  if (s == status::would_block) return poll_result::pending;
                  check(s == status::ok, "there is room");
                  tx.drop();
                  return poll_result::ready;
                }};
  moves_with_its_message() {
    auto made = channel<int>(k(), rt.root(), 1);
    check(made.code == status::ok, "made");
    tx = std::move(made.tx);
    rx = std::move(made.rx);
    check(tx.try_send(1).code == status::ok, "the channel is full");
    check(writes.spawn(rt.root()) == status::ok, "spawned");
    static_cast<void>(rt.step(0));
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    const recv_result<int> r = rx.try_recv();
    check(r.code == status::ok && r.value == 1, "INV-CH-02: what came first");
  }
  void judge() override {
    check(writes.has_ended(), "R-61: who waits for room is served when there is some");
    const recv_result<int> r = rx.try_recv();
    check(r.code == status::ok && r.value == 7, "what it sent is there");
    check(rx.try_recv().code == status::disconnected, "and once");
    rx.drop();
  }
};

TEST(interleave_moved_waits, a_message_is_taken_while_its_wait_is_moved) {
  expect_all_hold<moves_with_its_message>();
}

}  // namespace
