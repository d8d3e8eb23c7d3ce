// Sweeps: a fault at every point of a run, whoever it belongs to. Planted mistakes that only they find, each with the
// point and a token that replays it; and programs that are right, which survive all of them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/broadcast.hpp"
#include "asx/chan/oneshot.hpp"
#include "asx/chan/rendezvous.hpp"
#include "asx/chan/watch.hpp"
#include "asx/coro/blocking.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/foreign.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/time.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/lab/lab.hpp"

namespace asx {
namespace {

constexpr duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}

constexpr std::array all_faults{lab_fault::cancel, lab_fault::cancel_body,  lab_fault::admission,
                                lab_fault::polls,  lab_fault::region_polls, lab_fault::memory};

// Every sweep, from several schedules: one task more or less that is polled first is another run.
void expect_survives(const lab_body& body, lab_options how = {}) {
  for (const lab_fault fault : all_faults) {
    for (how.first_seed = 1; how.first_seed <= 3; ++how.first_seed) {
      const lab_result r = sweep(how, fault, body);
      ASSERT_TRUE(r.is_ok) << r.report();
      ASSERT_GT(r.faults, 0U);
    }
  }
}

// ---- programs that are right --------------------------------------------------------------------------------------

struct told_at_the_end {
  notify whom;
  ~told_at_the_end() { static_cast<void>(whom.notify_one()); }
};

// Producers behind a semaphore, with permits that must not be forgotten; a consumer that counts under a lock.
task<> pipeline(cx c) {
  co_await region(c, [](cx r) -> task<> {
    auto [code, tx, rx] = channel<int>(r, 1, "work");
    semaphore slots;
    mutex<int> sum;
    notify done;
    if (code != status::ok || semaphore::create(r, 2, slots, "slots") != status::ok ||
        mutex<int>::create(r, sum, "sum", 0) != status::ok || notify::create(r, done, "done") != status::ok) {
      co_await fail(status::resource_exhausted);
    }
    const auto produce = [](cx, tracked_sender<int> to, semaphore from, int first) -> task<> {
      for (int i = 0; i < 2; ++i) {
        auto unit = co_await acquire(from);
        auto permit = co_await reserve(to);
        const auto slept = co_await attempt(sleep(ms(1)));
        if (slept.code != status::ok) {  // No timer: a permit must not be forgotten in a failure.
          static_cast<void>(permit.abort());
          co_await fail(slept.code);
        }
        static_cast<void>(permit.send(first + i));
        unit.release();
      }
    };
    const auto consume = [](cx, receiver<int> from, mutex<int> to, notify tell) -> task<> {
      const told_at_the_end end{tell};  // However it ends.
      while (auto got = co_await recv(from)) {
        auto held = co_await lock(to);
        *held += *got;
        co_await yield();
      }
    };
    for (int i = 0; i < 2; ++i) {
      const auto s = spawn(r, {.name = "producer"}, produce, tracked_sender<int>(tx), slots, 10 * i);
      if (s.code != status::ok) co_await fail(s.code);
    }
    tx.drop();
    if (const auto s = spawn(r, {.name = "consumer"}, consume, std::move(rx), sum, done); s.code != status::ok) {
      co_await fail(s.code);
    }
    co_await wait(done);
    const auto held = co_await lock(sum);
    if (*held != 0 + 1 + 10 + 11) co_await fail(status::io);
  });
}

TEST(lab_sweep, a_pipeline_with_permits_units_locks_and_timers_survives_everything) {
  expect_survives(pipeline);
}

// Timeouts in timeouts, a mask, a cleanup that awaits.
task<> limits_and_cleanup(cx c) {
  auto [code, tx, rx] = channel<int>(c, 1);
  if (code != status::ok) co_await fail(code);
  auto& to = tx;
  const auto work = [&to](cx r) -> task<int> {
    co_await finally(
        r,
        [](cx, sender<int> out) -> task<> {
          static_cast<void>(co_await attempt(sleep(ms(1))));
          static_cast<void>(out.try_send(1));
        },
        to);
    const auto child = co_await start(r, [](cx) -> task<> { co_await sleep(ms(5)); });
    const auto got = co_await within(r, ms(2), [](cx) -> task<int> {
      co_await sleep(ms(10));
      co_return 1;
    });
    {
      const auto quiet = co_await mask();
      co_await sleep(ms(1));
    }
    co_return got.value_or(2);
  };
  const auto got = co_await with_timeout(c, ms(20), work);
  const auto late = co_await with_timeout(c, ms(1), work);
  if (got != 2 || late) co_await fail(status::io);
  co_await select(recv(rx), sleep(ms(1)));
}

TEST(lab_sweep, limits_masks_and_cleanup_that_awaits_survive_everything) {
  expect_survives(limits_and_cleanup);
}

auto in(std::uint64_t after, int value) {
  return [after, value](cx) -> task<int> {
    co_await sleep(ms(after));
    co_return value;
  };
}
auto broken(std::uint64_t after) {
  return [after](cx) -> task<int> {
    co_await sleep(ms(after));
    co_await fail(status::io);
    co_return 0;
  };
}

task<> combinations(cx c) {
  static_cast<void>(co_await race(c, in(3, 1), in(5, 2), broken(9)));
  static_cast<void>(co_await first_ok(c, broken(1), in(2, 2)));
  static_cast<void>(co_await join_all(c, in(1, 1), broken(2)));
  static_cast<void>(co_await quorum(c, 2, in(1, 1), in(4, 2), broken(2)));
  static_cast<void>(co_await attempt(retry(c, {.attempts = 2, .first_delay = ms(1)}, broken(1))));
  std::vector<int> items{1, 2, 3};
  co_await for_each(c, items, 2, [](cx, int& n) -> task<> { co_await sleep(ms(static_cast<std::uint64_t>(n))); });
}

TEST(lab_sweep, combinators_survive_everything) {
  expect_survives(combinations);
}

// Operations for ends that have no awaitable face.
struct hears {
  broadcast_receiver<int>& from;
  broadcast_wait wait{};
  std::optional<int> got{};
  explicit hears(broadcast_receiver<int>& rx) : from(rx) {}
  status poll(cx& c) {
    auto r = from.poll_recv(c, wait);
    if (r.code == status::disconnected) return status::ok;
    if (r.code == status::ok) got = r.value;
    return r.code;
  }
  std::optional<int> take() { return got; }
};
struct offers {
  rendezvous_sender<int>& to;
  rendezvous_offer<int> offer;
  offers(rendezvous_sender<int>& tx, int value) : to(tx), offer(value) {}
  status poll(cx& c) { return to.poll_send(c, offer); }
  void take() const {}
};
struct meets {
  rendezvous_receiver<int>& from;
  std::optional<int> got{};
  explicit meets(rendezvous_receiver<int>& rx) : from(rx) {}
  status poll(cx& c) {
    auto r = from.poll_recv(c);
    if (r.code == status::disconnected) return status::ok;
    if (r.code == status::ok) got = r.value;
    return r.code;
  }
  std::optional<int> take() { return got; }
};
struct changes {
  watch_receiver<int>& of;
  watch_wait wait{};
  explicit changes(watch_receiver<int>& rx) : of(rx) {}
  status poll(cx& c) { return of.poll_changed(c, wait); }
  void take() const {}
};

task<> other_channels(cx c) {
  co_await region(c, [](cx r) -> task<> {
    auto [code, say, hear] = broadcast<int>(r, 2);
    auto [code2, offer, meet] = rendezvous<int>(r);
    auto [code3, set, see] = watch<int>(r, 0);
    auto [code4, answer, answered] = oneshot<int>(r);
    if (code != status::ok || code2 != status::ok || code3 != status::ok || code4 != status::ok) {
      co_await fail(status::resource_exhausted);
    }
    const auto talk = [](cx, broadcast_sender<int> to, rendezvous_sender<int> here, watch_sender<int> sets) -> task<> {
      for (int i = 1; i < 3; ++i) {
        static_cast<void>(to.send(i));
        co_await offers(here, i);
        static_cast<void>(sets.send(i));
        co_await sleep(ms(1));
      }
    };
    const auto listen = [](cx, broadcast_receiver<int> from, oneshot_sender<int> to) -> task<> {
      int sum = 0;
      while (const auto got = co_await hears(from)) sum += *got;
      static_cast<void>(to.send(sum));
    };
    const auto look = [](cx, watch_receiver<int> at) -> task<> {
      while ((co_await attempt(changes(at))).code == status::ok) {
      }
    };
    const auto a = spawn(r, {.name = "talk"}, talk, std::move(say), std::move(offer), std::move(set));
    if (a.code != status::ok) co_await fail(a.code);
    const auto b = spawn(r, {.name = "listen"}, listen, std::move(hear), std::move(answer));
    if (b.code != status::ok) co_await fail(b.code);
    const auto d = spawn(r, {.name = "look"}, look, std::move(see));
    if (d.code != status::ok) co_await fail(d.code);
    while (co_await meets(meet)) {
    }
    const auto sum = co_await recv(answered.as_receiver());
    if (sum != 3) co_await fail(status::io);
  });
}

TEST(lab_sweep, broadcast_rendezvous_watch_and_oneshot_survive_everything) {
  expect_survives(other_channels);
}

// What comes from elsewhere: here a task plays the library, and a pool runs in the step (virtual time).
task<> from_elsewhere(cx c, blocking_pool& pool) {
  co_await region(c, [&pool](cx r) -> task<> {
    // cut: elsewhere
    auto made = foreign_value<int>(r);
    if (made.code != status::ok) co_await fail(made.code);
    const auto library = [](cx, foreign_promise<int> p) -> task<> {
      co_await sleep(ms(1));
      p.set(42);
    };
    if (const auto s = spawn(r, {.name = "library"}, library, std::move(made.promise)); s.code != status::ok) {
      co_await fail(s.code);
    }
    const int got = co_await std::move(made.future);
    // end: elsewhere
    const int twice = co_await blocking(pool, [got] { return 2 * got; });
    if (twice != 84) co_await fail(status::io);
  });
}

TEST(lab_sweep, foreign_values_and_blocking_calls_survive_everything) {
  blocking_pool pool;
  expect_survives([&pool](cx c) { return from_elsewhere(c, pool); });
}

// Cleanup actions, an arena, a region that others close, tasks with deadlines.
task<> by_hand(cx c) {
  int undone = 0;
  int done = 0;
  const auto work = [&undone, &done](cx own) -> task<> {
    void* block = nullptr;
    cleanup_ref ref;
    const status s = own.push_cleanup(
        [](void* at) {
          ++*static_cast<int*>(at);
          return status::ok;
        },
        &undone, &ref);
    if (s != status::ok) co_await fail(s);
    ++done;
    if (const status a = own.kernel().arena_allocate(own.region(), 64, 8, block); a != status::ok) co_await fail(a);
    co_await sleep(ms(3));
    static_cast<void>(own.pop_cleanup(ref));
    --done;
  };
  co_await region(c, region_options{.policy = region_policy::body_decides}, [&work](cx r) -> task<> {
    budget soon;
    soon.deadline = r.now() + ms(2);
    static_cast<void>(spawn(r, {.name = "late", .limits = soon}, work));
    auto stopped = spawn(r, {.name = "stopped"}, work);
    static_cast<void>(spawn(r, {.name = "whole"}, work));
    co_await sleep(ms(1));
    while (stopped.code == status::ok && stopped.handle.cancel() == status::resource_exhausted) co_await sleep(ms(1));
  });
  if (undone != done) throw std::logic_error("an action that was not popped is done, and no other");
}

TEST(lab_sweep, cleanup_actions_arenas_deadlines_and_cancels_survive_everything) {
  expect_survives(by_hand);
}

// ---- planted mistakes ---------------------------------------------------------------------------------------------

// The mistake is found by that sweep, at a point, and the token gives the same run again.
lab_result expect_found(lab_fault fault, const lab_body& body, const std::string& words, lab_options how = {}) {
  lab_result r = sweep(how, fault, body);
  EXPECT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find(words), std::string::npos) << r.report();
  EXPECT_GT(r.at, 0U);
  EXPECT_EQ(r.faults, r.at) << "every point before it was struck as well";
  const lab_result again = replay(how, r.token, body);
  EXPECT_EQ(again.finding, r.finding);
  EXPECT_EQ(again.digest, r.digest);
  EXPECT_EQ(again.fault, fault);
  EXPECT_EQ(again.at, r.at);
  return r;
}
void expect_missed(std::initializer_list<lab_fault> by, const lab_body& body) {
  const lab_result explored = explore({}, body);
  EXPECT_TRUE(explored.is_ok) << explored.report();
  for (const lab_fault fault : by) {
    const lab_result r = sweep({}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
  }
}

TEST(lab_sweep, finds_a_promise_that_a_child_loses_when_it_is_cancelled_itself) {
  const auto body = [](cx c) -> task<> {
    co_await start(c, {.name = "clerk"}, [](cx own) -> task<> {
      obligation_handle item;
      if (own.kernel().reserve(own.region(), item) != status::ok) co_return;
      co_await checkpoint();
      static_cast<void>(own.kernel().commit(item));
    });
    for (int i = 0; i < 5; ++i) co_await sleep(ms(1));
  };
  expect_missed({lab_fault::cancel_body, lab_fault::admission, lab_fault::memory}, body);
  const lab_result r = expect_found(lab_fault::cancel, body, "1 obligation leaked");
  EXPECT_NE(r.tail.find("clerk"), std::string::npos) << "who it was is in the journal's tail";
  EXPECT_EQ(r.struck, "task 2 'clerk', in a poll") << r.report();
}

TEST(lab_sweep, says_who_was_struck_and_where_it_stood) {
  static std::uint32_t line = 0;
  const auto body = [](cx c) -> task<> {
    const auto work = [](cx own) -> task<> {
      obligation_handle item;
      if (own.kernel().reserve(own.region(), item) != status::ok) co_return;
      line = std::source_location::current().line() + 1;
      const auto slept = co_await attempt(sleep(ms(1)));
      if (slept.is_ok()) static_cast<void>(own.kernel().commit(item));
      co_return;
    };
    co_await start(c, {.name = "clerk"}, work);
    co_await sleep(ms(5));
  };
  lab_result r = sweep({}, lab_fault::cancel, body);
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.struck.rfind("task 2 'clerk', ", 0), 0U) << r.report();
  EXPECT_NE(r.report().find("\nstruck: " + r.struck + "\nreplay: "), std::string::npos) << r.report();
  EXPECT_EQ(replay({}, r.token, body).struck, r.struck);
  const auto waits = [](cx c) -> task<> {  // Nobody passes a cancel point before it waits.
    line = std::source_location::current().line() + 1;
    const auto slept = co_await attempt(sleep(ms(1)));
    if (!slept.is_ok()) c.panic("gives up");
  };
  r = sweep({}, lab_fault::cancel_body, waits);
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.struck, "task 1 'body', where it waits at sweep_test.cpp:" + std::to_string(line)) << r.report();
}

TEST(lab_sweep, finds_who_waits_for_a_word_that_a_cancelled_child_does_not_say) {
  const auto body = [](cx c) -> task<> {
    co_await region(c, [](cx r) -> task<> {
      notify done;
      if (notify::create(r, done) != status::ok) co_await fail(status::resource_exhausted);
      const auto work = [](cx, notify tell) -> task<> {
        co_await sleep(ms(1));
        static_cast<void>(tell.notify_one());
      };
      if (const auto s = spawn(r, work, done); s.code != status::ok) co_await fail(s.code);
      co_await wait(done);
    });
  };
  expect_missed({lab_fault::cancel_body}, body);
  static_cast<void>(expect_found(lab_fault::cancel, body, "blocked for ever"));
}

// A server with two slots, which are tokens in a channel.
class slot {
 public:
  slot(sender<int> home, int number) : home_(std::move(home)), number_(number) {}
  slot(slot&&) noexcept = default;
  ~slot() {
    if (home_.is_live()) static_cast<void>(home_.try_send(number_));
  }

 private:
  sender<int> home_;
  int number_;
};

task<> serve_by_slot(cx, slot) {
  co_await sleep(ms(1));
}
task<> serve_by_number(cx, sender<int> home, int number) {
  const slot mine(std::move(home), number);
  co_await sleep(ms(1));
}

task<> server(cx c, bool is_careless) {
  auto [code, tx, rx] = channel<int>(c, 2, "slots");
  if (code != status::ok) co_await fail(code);
  auto& to = tx;
  auto& from = rx;
  for (int i = 1; i <= 2; ++i) static_cast<void>(to.try_send(i));
  co_await region(c, region_options{.policy = region_policy::body_decides}, [&, is_careless](cx r) -> task<> {
    for (int request = 0; request < 4; ++request) {
      const int number = *co_await recv(from);
      if (is_careless) {  // Nobody looks whether it was refused: then the slot is nobody's.
        static_cast<void>(spawn(r, {.name = "request"}, serve_by_number, to, number));
      } else {
        static_cast<void>(spawn(r, {.name = "request"}, serve_by_slot, slot(to, number)));
      }
    }
    for (int i = 1; i <= 2; ++i) static_cast<void>(co_await recv(from));  // All requests are over.
  });
}

TEST(lab_sweep, finds_a_slot_that_is_not_given_back_when_a_spawn_is_refused) {
  const auto careless = [](cx c) { return server(c, true); };
  expect_missed({lab_fault::cancel, lab_fault::cancel_body, lab_fault::polls}, careless);
  const lab_result r = expect_found(lab_fault::admission, careless, "blocked for ever");
  EXPECT_NE(r.report().find(", admission at point " + std::to_string(r.at)), std::string::npos) << r.report();
  EXPECT_NE(r.token.find(".admission." + std::to_string(r.at) + "."), std::string::npos) << r.token;
  expect_survives([](cx c) { return server(c, false); });
}

TEST(lab_sweep, finds_a_promise_that_is_lost_when_the_polls_or_the_cost_of_a_child_are_spent) {
  const auto body = [](cx c) -> task<> {
    co_await start(c, {.name = "clerk"}, [](cx own) -> task<> {
      obligation_handle item;
      if (own.kernel().reserve(own.region(), item) != status::ok) co_return;
      co_await yield();
      if (own.consume_cost(3) != status::ok) co_return;  // Here,
      co_await checkpoint();                             // and here: out of polls it is cancelled.
      static_cast<void>(own.kernel().commit(item));
    });
    co_await sleep(ms(1));
  };
  expect_missed({lab_fault::cancel_body, lab_fault::memory}, body);
  static_cast<void>(expect_found(lab_fault::cost, body, "1 obligation leaked"));
  static_cast<void>(expect_found(lab_fault::polls, body, "1 obligation leaked"));
}

TEST(lab_sweep, gives_everybody_the_same_polls_as_a_region_with_that_budget_does) {
  const auto body = [](cx c) -> task<> {
    std::array<int, 2> polls{};
    co_await region(c, region_options{.policy = region_policy::body_decides}, [&polls](cx r) -> task<> {
      const auto work = [](cx, int* counts) -> task<> {
        for (int i = 0; i < 6; ++i) {
          ++*counts;
          co_await yield();
          co_await checkpoint();
        }
      };
      static_cast<void>(spawn(r, work, &polls[0]));
      static_cast<void>(spawn(r, work, &polls[1]));
      co_return;
    });
    EXPECT_EQ(polls[0], polls[1]) << "both have the same";
  };
  const lab_result r = sweep({}, lab_fault::region_polls, body);
  EXPECT_TRUE(r.is_ok) << r.report();
}

TEST(lab_sweep, takes_no_failure_for_the_injected_one_that_is_another) {
  const auto fails_with = [](status code) {
    return [code](cx c) -> task<> {
      co_await start(c, {.name = "child"}, [code](cx own) -> task<> {
        if ((co_await attempt(sleep(ms(1)))).code != status::ok) {
          static_cast<void>(own);
          co_await fail(code);
        }
      });
    };
  };
  static_cast<void>(expect_found(lab_fault::admission, fails_with(status::io), "'child', which nobody joined"));
  const lab_result injected = sweep({}, lab_fault::admission, fails_with(status::resource_exhausted));
  EXPECT_TRUE(injected.is_ok) << injected.report();
  const lab_result peer_is_gone = sweep({}, lab_fault::admission, fails_with(status::disconnected));
  EXPECT_TRUE(peer_is_gone.is_ok) << peer_is_gone.report();
  const lab_result may = sweep({.may_fail = true}, lab_fault::admission, fails_with(status::io));
  EXPECT_TRUE(may.is_ok) << may.report();
}

// As a failure that nobody joined: the fault itself, and the loss of a peer, are no findings in cleanup either.
TEST(lab_sweep, finds_a_cleanup_that_failed_and_takes_no_failure_for_the_injected_one) {
  const auto tidies_up = [](auto cleanup) {
    return [cleanup](cx c) -> task<> {
      static_cast<void>(co_await attempt(region(c, [cleanup](cx r) -> task<> {
        const auto works = [cleanup](cx own) -> task<> {
          const auto worked = co_await attempt(sleep(ms(5)));
          if (worked.is_ok()) co_return;
          const auto quiet = co_await mask();
          co_await cleanup(own);
        };
        co_await start(r, {.name = "worker"}, works);
        co_await sleep(ms(1));
        co_await region(r, works);
      })));
    };
  };
  const auto opens = tidies_up([](cx c) -> task<> { co_await region(c, [](cx) -> task<> { co_await yield(); }); });
  const std::string words = "'worker' was cancelled, and its cleanup ended with region_not_open";
  const lab_result r = expect_found(lab_fault::cancel_body, opens, words);
  EXPECT_NE(r.struck.find("'body'"), std::string::npos) << r.report();
  const lab_result may = sweep({.may_fail_cleanup = true}, lab_fault::cancel_body, opens);
  EXPECT_TRUE(may.is_ok) << may.report();
  for (const status code : {status::cancelled, status::disconnected}) {
    const auto explained = tidies_up([code](cx) -> task<> { co_await fail(code); });
    const lab_result told = sweep({}, lab_fault::cancel, explained);
    EXPECT_TRUE(told.is_ok) << told.report();
  }
  static_cast<void>(expect_found(lab_fault::cancel_body, tidies_up([](cx) -> task<> { co_await fail(status::io, 7); }),
                                 "its cleanup ended with io (7)"));
}

// the first failure that nobody joined is the fault itself, and is no excuse for the next.
TEST(lab_sweep, finds_what_fails_after_the_injected_failure) {
  bool was_there = false;
  bool* const there = &was_there;
  static_cast<void>(expect_found(
      lab_fault::admission,
      [there](cx c) -> task<> {
        *there = false;
        co_await start(c, {.name = "struck"}, [there](cx) -> task<> {
          co_await sleep(ms(1));
          *there = true;
        });
        co_await start(c, {.name = "careless"}, [there](cx own) -> task<> {
          if ((co_await attempt(sleep(ms(2)))).code == status::ok && !*there) own.panic("nobody was there");
        });
      },
      "nobody was there"));
}

TEST(lab_sweep, takes_no_panic_for_a_way_to_end) {
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls}) {
    static_cast<void>(expect_found(
        fault,
        [](cx c) -> task<> {
          const auto slept = co_await attempt(sleep(ms(1)));
          if (slept.code != status::ok) c.panic("it never fails");
        },
        "it never fails"));
  }
}

TEST(lab_sweep, calls_every_sweep_that_strikes_nowhere_a_finding) {
  const auto empty = [](cx) -> task<> { co_return; };
  for (const lab_fault fault :
       {lab_fault::cancel_body, lab_fault::admission, lab_fault::region_polls, lab_fault::cost, lab_fault::none}) {
    const lab_result r = sweep({}, fault, empty);
    EXPECT_FALSE(r.is_ok);
    EXPECT_EQ(r.faults, 0U);
    EXPECT_NE(r.finding.find("the sweep hit nothing"), std::string::npos) << r.finding;
  }
}

TEST(lab_sweep, strikes_at_every_point_and_at_each_once) {
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls}) {
    const lab_result r = sweep({}, fault, pipeline);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_EQ(r.faults + 1, r.runs) << "one run without, then one for each point";
    EXPECT_EQ(r.at, r.faults);
  }
}

TEST(lab_sweep, sweeps_as_many_seeds_as_it_is_told_and_one_when_it_is_not) {
  const auto swept = [](lab_options how) { return sweep(how, lab_fault::cancel, pipeline); };
  const lab_result first = swept({.seeds = 1});
  const lab_result second = swept({.first_seed = 2, .seeds = 1});
  const lab_result both = swept({.seeds = 2});
  EXPECT_TRUE(both.is_ok) << both.report();
  EXPECT_EQ(swept({}).runs, first.runs) << "one, when nothing is said";
  EXPECT_EQ(both.runs, first.runs + second.runs);
  EXPECT_EQ(both.faults, first.faults + second.faults);
  EXPECT_EQ(both.seed, 2U);
  EXPECT_EQ(both.digest, second.digest);
  const lab_result none = swept({.seeds = 0});
  EXPECT_FALSE(none.is_ok);
  EXPECT_EQ(none.finding, "no seed is asked for, so nothing is shown");
}

// What a schedule alone shows is found at the seed whose schedule it is.
TEST(lab_sweep, stops_at_the_first_seed_that_shows_something) {
  const auto body = [](cx c) -> task<> {
    EXPECT_EQ(c.kernel().live_tasks(), 1U);
    if (extension::draw(c) % 5 == 0) co_await fail(status::corrupt);
    co_await checkpoint();
  };
  const lab_result r = sweep({.seeds = 50}, lab_fault::cancel, body);
  EXPECT_FALSE(r.is_ok);
  EXPECT_GT(r.seed, 1U) << "another one would be as good";
  EXPECT_LT(r.seed, 50U);
  EXPECT_EQ(replay({}, r.token, body).finding, r.finding);
}

// ---- by a word, in GoogleTest -------------------------------------------------------------------------------------

// cut: lab_sweep
LAB_SWEEP(lab_sweep, the_pipeline_loses_nothing_wherever_it_is_struck, cancel, admission, polls, memory) {
  co_await pipeline(c);
}
// end: lab_sweep

ASX_LAB_SWEEP_WITH(lab_sweep, takes_the_fields_of_the_options, admission, .first_seed = 5, .workers = 1) {
  co_await pipeline(c);
}

}  // namespace
}  // namespace asx
