// Semaphores and mutexes, one promise a test. Their naive model is in sync_model_test.
#include "asx/sync/semaphore.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "asx/journal/describe.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/testing/actor.hpp"
#include "asx/sync/mutex.hpp"

namespace asx {
namespace {

using testing::actor;
using testing::must_spawn;

semaphore_report look(const semaphore& s) {
  semaphore_report r;
  EXPECT_EQ(s.inspect(r), status::ok);
  return r;
}

TEST(semaphore, serves_in_order_of_arrival_and_lets_nobody_jump) {
  struct one {
    semaphore_wait wait;
    semaphore_units units;
    actor a;
  };
  std::deque<one> all;
  std::vector<int> order;
  runtime rt;
  semaphore s;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 3, s, "gate"), status::ok);
  semaphore_units host;
  ASSERT_EQ(s.try_acquire(3, host), status::ok);
  const std::uint64_t wants[] = {3, 1, 1};
  for (int i = 0; i < 3; ++i) {
    one& o = all.emplace_back();
    o.a.body = [&o, &s, &order, i, want = wants[i]](cx& c) {
      if (s.poll_acquire(c, o.wait, want, o.units) == status::would_block) return poll_result::pending;
      order.push_back(i);
      o.units.release();
      return poll_result::ready;
    };
    must_spawn(rt, rt.root(), o.a, true);
  }
  rt.run_until_idle();
  EXPECT_EQ(look(s).waiters, 3U);
  semaphore_units more;
  EXPECT_EQ(s.add(1), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(s.try_acquire(1, more), status::full) << "there is one, but somebody waits";
  EXPECT_TRUE(order.empty()) << "the head wants 3, and who wants 1 waits behind it";
  host.release();
  rt.run_until_idle();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(look(s).left, 4U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(semaphore, gives_the_turn_of_a_cancelled_waiter_to_the_next) {
  struct world {
    semaphore s;
    semaphore_wait waits[2];
    semaphore_units units[2];
    actor a[2];
    status got[2] = {status::ok, status::ok};
  } w;
  runtime rt;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 2, w.s), status::ok);
  semaphore_units host;
  ASSERT_EQ(w.s.try_acquire(1, host), status::ok);
  for (int i = 0; i < 2; ++i) {
    w.a[i].body = [&w, i](cx& c) {
      w.got[i] = w.s.poll_acquire(c, w.waits[i], i == 0 ? 2 : 1, w.units[i]);
      if (w.got[i] == status::would_block) return poll_result::pending;
      w.units[i].release();
      return poll_result::ready;
    };
  }
  const task_handle first = must_spawn(rt, rt.root(), w.a[0], true);
  const task_handle second = must_spawn(rt, rt.root(), w.a[1], true);
  rt.run_until_idle();
  ASSERT_EQ(w.got[1], status::would_block);
  ASSERT_EQ(rt.kernel().request_cancel(first), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.got[0], status::cancelled);
  EXPECT_EQ(w.got[1], status::ok);
  host.release();
  EXPECT_EQ(rt.kernel().release_task(first), status::ok);
  EXPECT_EQ(rt.kernel().release_task(second), status::ok);
  EXPECT_EQ(look(w.s).left, 2U);
}

// given back, aborted, or leaked and reported, by how the holder ends.
TEST(semaphore, takes_back_what_a_task_that_ends_has_in_hand_and_reports_who_forgot) {
  enum class ending { releases, forgets, is_cancelled, panics };
  for (const ending how : {ending::releases, ending::forgets, ending::is_cancelled, ending::panics}) {
    struct world {
      semaphore s;
      semaphore_units units;
      semaphore_wait wait, heir_wait;
      semaphore_units heir_units;
      actor holder, heir;
      bool has_heir = false;
    } w;
    runtime rt;
    region_handle region;
    ASSERT_EQ(rt.kernel().create_region(rt.root(), {.is_held = true}, region), status::ok);
    ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, w.s), status::ok);
    int polls = 0;
    std::uint32_t line = 0;
    w.holder.body = [&w, &polls, &line, how](cx& c) {
      if (++polls == 1) {
        EXPECT_EQ(w.s.poll_acquire(c, w.wait, 1, w.units), status::ok);
        line = __LINE__ - 1;
        c.yield();
        return poll_result::pending;
      }
      if (polls < 4 && how != ending::is_cancelled) {
        c.yield();
        return poll_result::pending;
      }
      if (how == ending::releases) w.units.release();
      if (how == ending::panics) c.panic("no more");
      if (how == ending::is_cancelled && c.checkpoint() == status::ok) {
        static_cast<void>(c.get_waker());
        return poll_result::pending;
      }
      return poll_result::ready;
    };
    w.heir.body = [&w](cx& c) {
      if (w.s.poll_acquire(c, w.heir_wait, 1, w.heir_units) == status::would_block) return poll_result::pending;
      w.has_heir = true;
      w.heir_units.release();
      return poll_result::ready;
    };
    const task_handle holder = must_spawn(rt, region, w.holder, true);
    rt.step();
    const task_handle heir = must_spawn(rt, rt.root(), w.heir, true);
    rt.run_until_idle();
    if (how == ending::is_cancelled) {
      EXPECT_FALSE(w.has_heir);
      ASSERT_EQ(rt.kernel().request_cancel(holder), status::ok);
      rt.run_until_idle();
    }
    EXPECT_TRUE(w.has_heir) << "the next waiter is served";
    EXPECT_FALSE(w.units.is_held());
    ASSERT_EQ(rt.kernel().close(region), status::ok);
    rt.run_until_idle();
    region_report r;
    ASSERT_EQ(rt.kernel().inspect(region, r), status::ok);
    EXPECT_EQ(r.leaked, how == ending::forgets ? 1U : 0U);
    std::vector<std::string> places;
    name_book texts;
    for (std::uint64_t i = 0; i < rt.journal().size(); ++i) texts.learn(rt.journal().at(i));
    for (std::uint64_t i = 0; i < rt.journal().size(); ++i) {
      const event e = rt.journal().at(i);
      if (e.kind != event_kind::obligation_leaked) continue;
      places.emplace_back(texts.find(field_type::obligation, e.subject, text_code::site));
    }
    std::vector<std::string> expected;
    if (how == ending::forgets) expected.push_back("semaphore_test.cpp:" + std::to_string(line));
    EXPECT_EQ(places, expected) << "it is reported with the place where they were taken";
    task_outcome out;
    ASSERT_EQ(rt.kernel().result(holder, out), status::ok);
    EXPECT_EQ(out.is_ok(), how == ending::releases || how == ending::forgets);
    for (const task_handle t : {holder, heir}) EXPECT_EQ(rt.kernel().release_task(t), status::ok);
    EXPECT_EQ(rt.kernel().release_region(region), status::ok);
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
}

//
TEST(semaphore, can_be_taken_by_a_cleanup_in_a_region_that_closes) {
  struct world {
    semaphore s;
    semaphore_wait wait;
    semaphore_units units;
    actor a;
    status got = status::empty;
  } w;
  runtime rt;
  region_handle region;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), {.is_held = true}, region), status::ok);
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, w.s), status::ok);
  w.a.body = [&w](cx& c) {
    if (c.checkpoint() == status::ok) {
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }
    EXPECT_EQ(c.mask_enter(), status::ok);
    w.got = w.s.poll_acquire(c, w.wait, 1, w.units);
    c.mask_leave();
    return poll_result::ready;
  };
  const task_handle t = must_spawn(rt, region, w.a, true);
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(w.got, status::ok);
  EXPECT_EQ(look(w.s).left, 1U) << "it came back with the end of the task";
  region_report r;
  ASSERT_EQ(rt.kernel().inspect(region, r), status::ok);
  EXPECT_EQ(r.leaked, 0U);
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

TEST(semaphore, tells_who_waits_that_it_is_closed_or_gone) {
  struct world {
    semaphore s;
    semaphore_wait wait;
    semaphore_units units;
    actor a;
    std::vector<status> got;
  };
  for (const bool is_closed_by_region : {false, true}) {
    world w;
    runtime rt;
    region_handle region;
    ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, region), status::ok);
    ASSERT_EQ(semaphore::create(rt.kernel(), region, 1, w.s), status::ok);
    semaphore_units host;
    ASSERT_EQ(w.s.try_acquire(1, host), status::ok);
    w.a.body = [&w](cx& c) {
      w.got.push_back(w.s.poll_acquire(c, w.wait, 1, w.units));
      return w.got.back() == status::would_block ? poll_result::pending : poll_result::ready;
    };
    const task_handle t = must_spawn(rt, rt.root(), w.a, true);
    rt.run_until_idle();
    ASSERT_EQ(is_closed_by_region ? rt.kernel().close(region) : w.s.close(), status::ok);
    rt.run_until_idle();
    EXPECT_EQ(w.got, (std::vector<status>{status::would_block, status::disconnected}));
    host.release();
    semaphore_units more;
    EXPECT_EQ(w.s.try_acquire(1, more), status::disconnected);
    EXPECT_EQ(rt.kernel().release_task(t), status::ok);
  }
}

TEST(semaphore, refuses_what_can_never_be_served) {
  runtime rt;
  semaphore s, none;
  EXPECT_EQ(semaphore::create(rt.kernel(), rt.root(), 0, none), status::invalid_argument);
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 2, s), status::ok);
  const std::uint64_t before = rt.kernel().state_hash();
  semaphore_units units;
  EXPECT_EQ(s.try_acquire(3, units), status::invalid_argument);
  EXPECT_EQ(s.try_acquire(0, units), status::invalid_argument);
  EXPECT_EQ(none.try_acquire(1, units), status::stale_handle);
  EXPECT_EQ(s.add(UINT64_MAX), status::invalid_argument);
  EXPECT_EQ(rt.kernel().state_hash(), before);
}

TEST(semaphore, is_refused_beyond_the_contract_and_nothing_has_changed) {
  runtime_config config;
  config.contract.max_sync = 2;
  runtime rt(config);
  semaphore a, b, c;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, a), status::ok);
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, b), status::ok);
  const std::uint64_t before = rt.kernel().state_hash();
  EXPECT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, c), status::resource_exhausted);
  EXPECT_EQ(rt.kernel().state_hash(), before);
}

TEST(semaphore, units_that_the_drop_of_a_task_takes_belong_to_nobody) {
  struct world {
    semaphore s;
    semaphore_units units;
  };
  runtime rt;
  world w;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, w.s), status::ok);
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(),
                              {.poll = [](void*, cx&) { return poll_result::ready; },
                               .context = &w,
                               .drop =
                                   [](void* p) noexcept {
                                     auto& at = *static_cast<world*>(p);
                                     EXPECT_EQ(at.s.try_acquire(1, at.units), status::ok);
                                   }},
                              t),
            status::ok);
  rt.run_until_idle();
  EXPECT_TRUE(w.units.is_held());
  w.units.release();
  EXPECT_EQ(look(w.s).left, 1U);
}

TEST(semaphore, lets_units_be_handed_to_another_task) {
  struct world {
    semaphore s;
    semaphore_wait wait;
    semaphore_units mine, yours;
    actor giver, taker;
  } w;
  runtime rt;
  ASSERT_EQ(semaphore::create(rt.kernel(), rt.root(), 1, w.s), status::ok);
  w.giver.body = [&w](cx& c) {
    EXPECT_EQ(w.s.poll_acquire(c, w.wait, 1, w.mine), status::ok);
    w.yours = std::move(w.mine);
    EXPECT_FALSE(w.mine.is_held());
    w.yours.release();
    return poll_result::ready;
  };
  must_spawn(rt, rt.root(), w.giver, true);
  rt.run_until_idle();
  EXPECT_EQ(look(w.s).left, 1U);
}

// ---- mutex

TEST(mutex, lets_one_task_at_a_time_touch_the_value_across_its_polls) {
  struct counter {
    int value = 0;
    bool is_busy = false;
  };
  struct one {
    semaphore_wait wait;
    mutex_guard<counter> guard;
    actor a;
    int polls = 0;
  };
  std::deque<one> all;
  mutex<counter> m;
  runtime rt;
  ASSERT_EQ(mutex<counter>::create(rt.kernel(), rt.root(), m, "counter"), status::ok);
  for (int i = 0; i < 5; ++i) {
    one& o = all.emplace_back();
    o.a.body = [&o, &m](cx& c) {
      if (!o.guard.is_held()) {
        if (m.poll_lock(c, o.wait, o.guard) == status::would_block) return poll_result::pending;
        EXPECT_FALSE(o.guard->is_busy);
        o.guard->is_busy = true;
      }
      if (++o.polls < 4) {
        c.yield();
        return poll_result::pending;
      }
      ++o.guard->value;
      o.guard->is_busy = false;
      o.guard.unlock();
      return poll_result::ready;
    };
    must_spawn(rt, rt.root(), o.a, true);
  }
  rt.run_until_idle();
  mutex_guard<counter> mine;
  ASSERT_EQ(m.try_lock(mine), status::ok);
  EXPECT_EQ(mine->value, 5);
  mutex_guard<counter> second;
  EXPECT_EQ(m.try_lock(second), status::full);
  mine.unlock();
}

TEST(mutex, keeps_the_value_while_a_guard_outlives_the_region) {
  static int alive = 0;
  struct noisy {
    noisy() { ++alive; }
    noisy(const noisy&) = delete;
    noisy& operator=(const noisy&) = delete;
    ~noisy() { --alive; }
    int number = 7;
  };
  runtime rt;
  region_handle region;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), {}, region), status::ok);
  mutex<noisy> m;
  ASSERT_EQ(mutex<noisy>::create(rt.kernel(), region, m, "noisy"), status::ok);
  mutex_guard<noisy> guard;
  ASSERT_EQ(m.try_lock(guard), status::ok);
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(guard->number, 7);
  guard.unlock();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(m.try_lock(guard), status::disconnected);
}

// it was freed under the constructor that closed its region, and the value was made in memory that was gone.
TEST(mutex, ends_its_value_once_when_the_region_closes_while_it_is_made) {
  struct closes {
    closes(runtime& at, region_handle region, int& ended) : ends(ended) {
      EXPECT_EQ(at.kernel().close(region), status::ok);
      EXPECT_EQ(ends, 0);
    }
    closes(const closes&) = delete;
    closes& operator=(const closes&) = delete;
    ~closes() { ++ends; }
    int& ends;
  };
  runtime rt;
  const region_handle region = testing::must_open(rt, rt.root());
  int ended = 0;
  mutex<closes> m;
  EXPECT_EQ(mutex<closes>::create(rt.kernel(), region, m, "brief", rt, region, ended), status::ok);
  EXPECT_EQ(ended, 1);
  mutex_guard<closes> guard;
  EXPECT_EQ(m.try_lock(guard), status::disconnected);
}

// Goal:   a lock is taken before the guard that it is written over ends, whatever ends with that one.
// Method: the last guard of a mutex whose region is gone: the destructor of its value asks for the lock being taken.
TEST(mutex, is_one_holders_though_the_guard_that_is_written_over_ends_a_value_that_asks_for_it) {
  struct asks {
    asks() noexcept = default;
    asks(mutex<asks>& m, mutex_guard<asks>& g, status& s) noexcept : at(&m), into(&g), told(&s) {}
    asks(const asks&) = delete;
    asks& operator=(const asks&) = delete;
    ~asks() {
      if (at != nullptr) *told = at->try_lock(*into);
    }
    mutex<asks>* at = nullptr;
    mutex_guard<asks>* into = nullptr;
    status* told = nullptr;
  };
  runtime rt;
  const region_handle region = testing::must_open(rt, rt.root());
  mutex<asks> wanted;
  ASSERT_EQ(mutex<asks>::create(rt.kernel(), rt.root(), wanted, "wanted"), status::ok);
  mutex_guard<asks> inner;
  status told = status::ok;
  mutex<asks> orphan;
  ASSERT_EQ(mutex<asks>::create(rt.kernel(), region, orphan, "orphan", wanted, inner, told), status::ok);
  mutex_guard<asks> guard;
  ASSERT_EQ(orphan.try_lock(guard), status::ok);
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(wanted.try_lock(guard), status::ok);
  EXPECT_EQ(told, status::full);
  EXPECT_FALSE(inner.is_held());
  semaphore_report now;
  EXPECT_EQ(wanted.inspect(now), status::ok);
  EXPECT_EQ(now.left, 0U);
  guard.unlock();
}

TEST(mutex, shows_in_the_report_of_what_is_alive) {
  runtime rt;
  mutex<int> m;
  ASSERT_EQ(mutex<int>::create(rt.kernel(), rt.root(), m, "accounts", 5), status::ok);
  const std::string tree = describe_tree(rt.kernel());
  EXPECT_NE(tree.find("mutex 1 'accounts'  1 of 1 left, 0 waiting"), std::string::npos) << tree;
}

#if defined(__cpp_exceptions)
TEST(mutex, is_not_made_when_its_value_throws) {
  struct thrower {
    thrower() { throw 1; }
  };
  runtime rt;
  mutex<thrower> m;
  EXPECT_THROW(static_cast<void>(mutex<thrower>::create(rt.kernel(), rt.root(), m, "no")), int);
  mutex_guard<thrower> guard;
  EXPECT_EQ(m.try_lock(guard), status::stale_handle);
}
#endif

}  // namespace
}  // namespace asx
