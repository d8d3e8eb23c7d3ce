// Two and three threads at semaphores, mutexes and notifies, in every order in which they can enter the kernel. The
// laws are those of asx/sync and docs/spec/rulings.md.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "asx/chan/watch.hpp"
#include "asx/sync/mutex.hpp"
#include "asx/sync/notify.hpp"
#include "asx/sync/semaphore.hpp"
#include "tests/interleave/expect.hpp"
#include "tests/interleave/kernel_world.hpp"

namespace {

using namespace asx;
using namespace asx::interleave;
using asx::interleave::atomic;

// ---- one unit, two tasks on two workers

struct one_unit : kernel_world {
  semaphore sem;
  plain<int> inside_it{0};
  struct place {
    semaphore_wait waiting;
    semaphore_units units;
  };
  std::array<place, 2> places;
  poll_result use(cx& c, unsigned who) {
    place& p = places[who];
    if (p.units.is_held()) {  // Once more, with the unit in hand.
      check(inside_it == 1, "law 1: one unit, one holder");
      inside_it = 0;
      p.units.release();
      return poll_result::ready;
    }
    const status s = sem.poll_acquire(c, p.waiting, 1, p.units);
    if (s == status::would_block) return poll_result::pending;
    check(s == status::ok, "nothing else can happen to it");
    check(inside_it == 0, "law 1: one unit, one holder");
    inside_it = 1;
    c.yield();
    return poll_result::pending;
  }
  script a{*this, [this](cx& c) { return use(c, 0); }};
  script b{*this, [this](cx& c) { return use(c, 1); }};
  one_unit() {
    check(semaphore::create(k(), rt.root(), 1, sem) == status::ok, "made");
    check(a.spawn(rt.root()) == status::ok && b.spawn(rt.root()) == status::ok, "spawned");
  }
  void run(unsigned thread) override { work(thread, true); }
  void judge() override {
    check(a.has_ended() && b.has_ended(), "law 2: who waits is served");
    semaphore_report report;
    check(sem.inspect(report) == status::ok && report.left == 1 && report.waiters == 0, "law 1: left + held = total");
  }
};

TEST(interleave_sync, one_unit_has_one_holder_and_comes_back) {
  expect_all_hold<one_unit>();
}

// The unit comes back while the one who waits for it is cancelled; another one waits behind.
struct unit_for_the_next : kernel_world {
  semaphore sem;
  semaphore_units held;
  struct place {
    semaphore_wait waiting;
    semaphore_units units;
    std::optional<status> said;
  };
  std::array<place, 2> places;
  poll_result wait(cx& c, unsigned who) {
    place& p = places[who];
    const status s = sem.poll_acquire(c, p.waiting, 1, p.units);
    if (s == status::would_block) return poll_result::pending;
    p.said = s;
    p.units.release();
    return poll_result::ready;
  }
  script first{*this, [this](cx& c) { return wait(c, 0); }};
  script second{*this, [this](cx& c) { return wait(c, 1); }};
  unit_for_the_next() {
    check(semaphore::create(k(), rt.root(), 1, sem) == status::ok, "made");
    check(sem.try_acquire(1, held) == status::ok, "taken");
    check(first.spawn(rt.root()) == status::ok && second.spawn(rt.root()) == status::ok, "spawned");
    work(0);
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0, true);
    if (thread == 1) return check(k().request_cancel(first.handle) == status::ok, "R-18");
    held.release();
  }
  void judge() override {
    check(first.has_ended() && second.has_ended(), "law 2: a cancelled waiter has taken nothing, the next is served");
    check(places[0].said == status::ok || places[0].said == status::cancelled, "law 2");
    check(places[1].said == status::ok, "law 2");
    semaphore_report report;
    check(sem.inspect(report) == status::ok && report.left == 1 && report.waiters == 0, "law 1: left + held = total");
  }
};

TEST(interleave_sync, a_unit_that_comes_back_while_its_heir_is_cancelled_goes_to_the_next) {
  expect_all_hold<unit_for_the_next>(3);
}

// ---- no notification is lost

struct notified : kernel_world {
  notify bell;
  std::array<notify_wait, 2> waits;
  std::array<std::optional<status>, 2> said;
  poll_result wait(cx& c, unsigned who) {
    const status s = bell.poll_wait(c, waits[who]);
    if (s == status::would_block) return poll_result::pending;
    said[who] = s;
    return poll_result::ready;
  }
  script first{*this, [this](cx& c) { return wait(c, 0); }};
  script second{*this, [this](cx& c) { return wait(c, 1); }};
  notified() {
    check(notify::create(k(), rt.root(), bell) == status::ok, "made");
    check(first.spawn(rt.root()) == status::ok, "spawned");
  }
};

struct notified_once : notified {
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    check(bell.notify_one() == status::ok, "told");
  }
  void judge() override { check(first.has_ended() && said[0] == status::ok, "law 2: no notification is lost"); }
};

TEST(interleave_sync, a_notification_is_seen_whether_somebody_waits_already_or_not) {
  expect_all_hold<notified_once>();
}

struct notified_and_cancelled : notified {
  notified_and_cancelled() {
    check(second.spawn(rt.root()) == status::ok, "spawned");
    work(0);
  }
  void run(unsigned thread) override {
    if (thread == 0) return work(0, true);
    if (thread == 1) return check(k().request_cancel(first.handle) == status::ok, "R-18");
    check(bell.notify_one() == status::ok, "told");
  }
  void judge() override {
    check(first.has_ended() && said[0], "it was cancelled, at the latest");
    check((said[0] == status::ok) != (said[1] == status::ok), "law 2: one of them has it, and not both");
    check(said[0] == status::ok || second.has_ended(), "law 2: it goes to the next");
  }
};

TEST(interleave_sync, a_notification_of_one_who_is_cancelled_goes_to_the_next) {
  expect_all_hold<notified_and_cancelled>(3);
}

// ---- a mutex is made while its region closes

struct made_late : kernel_world {
  struct guarded {
    made_late& world;
    bool is_whole = false;
    explicit guarded(made_late& of) : world(of) {
      world.door.fetch_add(1, std::memory_order_relaxed);  // It takes its time.
      is_whole = true;
      ++world.made;
    }
    ~guarded() {
      check(is_whole, "nobody is destroyed who was not made");
      ++world.gone;
    }
    guarded(const guarded&) = delete;
    guarded& operator=(const guarded&) = delete;
  };
  atomic<unsigned> door{0};
  unsigned made = 0;
  unsigned gone = 0;
  region_handle room = open(rt.root());
  asx::mutex<guarded> lock;
  status said = status::ok;
  void run(unsigned thread) override {
    if (thread == 0) {
      check(k().close(room) == status::ok, "an open region can be closed");
    } else {
      said = asx::mutex<guarded>::create(k(), room, lock, {}, *this);
    }
  }
  void judge() override {
    check(said == status::ok || said == status::region_not_open, "R-09");
    check(state_of(room) == region_state::closed, "R-07");
    check(made == gone && made == (said == status::ok ? 1U : 0U), "whatever was made is gone with its region, once");
    static_cast<void>(k().release_region(room));
  }
};

TEST(interleave_sync, a_mutex_is_made_while_its_region_closes) {
  expect_all_hold<made_late>();
}

// A watch has a value from the beginning, which is moved in.
struct watched_late : kernel_world {
  struct shown {
    watched_late* world;
    explicit shown(watched_late& of) : world(&of) {}
    shown(shown&& other) noexcept : world(other.world) {
      if (other.world != nullptr) world->moves.fetch_add(1, std::memory_order_relaxed);  // It takes its time.
      other.world = nullptr;
    }
    shown& operator=(shown&&) = delete;
    ~shown() {
      if (world != nullptr) ++world->gone;
    }
  };
  atomic<unsigned> moves{0};
  unsigned gone = 0;
  region_handle room = open(rt.root());
  watch_sender<shown> tx;
  watch_receiver<shown> rx;
  status said = status::ok;
  void run(unsigned thread) override {
    if (thread == 0) {
      check(k().close(room) == status::ok, "an open region can be closed");
    } else {
      auto made = watch<shown>(k(), room, shown(*this));
      said = made.code;
      tx = std::move(made.tx);
      rx = std::move(made.rx);
    }
  }
  void judge() override {
    check(said == status::ok || said == status::region_not_open, "R-09");
    check(state_of(room) == region_state::closed, "R-07");
    check(gone == 1, "the value is gone, once");
    static_cast<void>(k().release_region(room));
    tx.drop();
    rx.drop();
  }
};

TEST(interleave_sync, a_watch_is_made_while_its_region_closes) {
  expect_all_hold<watched_late>();
}

}  // namespace
