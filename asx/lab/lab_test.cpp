// The lab finds what it says it finds: one planted fault for each oracle, and none in a program that is right.
#include "asx/lab/lab.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <source_location>
#include <string>

#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/time.hpp"
#include "asx/kernel/extension.hpp"
#include "asx/lab/gtest.hpp"

namespace asx {
namespace {

task<> produce(cx, sender<int> tx, int from, int count) {
  for (int i = 0; i < count; ++i) co_await send(tx, from + i);
}

// Three producers into one consumer, in a region of their own.
task<int> pipeline(cx c) {
  co_return co_await region(c, [](cx r) -> task<int> {
    auto [code, tx, rx] = channel<int>(r, 2, "numbers");
    if (code != status::ok) co_await fail(code);
    for (int i = 0; i < 3; ++i) {
      if (const auto s = spawn(r, produce, tx, i * 100, 5); s.code != status::ok) co_await fail(s.code);
    }
    tx.drop();
    int sum = 0;
    while (auto got = co_await recv(rx)) sum += *got;
    co_return sum;
  });
}

// cut: lab_test
LAB_TEST(lab, finds_nothing_in_a_program_that_is_right) {
  const int sum = co_await pipeline(c);
  EXPECT_EQ(sum, 3 * 10 + 500 + 1000);
}
// end: lab_test

TEST(lab, explores_schedules_that_differ) {
  const auto body = [](cx c) -> task<> { co_await pipeline(c); };
  const lab_result a = explore({.first_seed = 1, .seeds = 1}, body);
  const lab_result b = explore({.first_seed = 2, .seeds = 1}, body);
  EXPECT_TRUE(a.is_ok) << a.report();
  EXPECT_NE(a.digest.low, b.digest.low);
}

TEST(lab, survives_every_sweep_of_a_program_that_is_right) {
  const auto body = [](cx c) -> task<> { co_await pipeline(c); };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, fault == lab_fault::cancel ? 10U : 0U);
  }
}

TEST(lab, finds_a_body_that_fails_or_throws) {
  const lab_result failed = explore({}, [](cx) -> task<> { co_await fail(status::io, 3); });
  EXPECT_FALSE(failed.is_ok);
  EXPECT_NE(failed.finding.find("err: io"), std::string::npos) << failed.finding;
#if defined(__cpp_exceptions)
  const lab_result thrown = explore({}, [](cx) -> task<> {
    co_await yield();
    throw std::runtime_error("boom");
  });
  EXPECT_NE(thrown.finding.find("panicked: std::runtime_error: boom"), std::string::npos) << thrown.finding;
#endif
}

// Two tasks that take two locks in opposite order: a knot in some schedules only.
TEST(lab, finds_a_knot_and_names_who_waits_for_whom) {
  static std::uint32_t second_lock = 0;
  const auto body = [](cx c) -> task<> {
    co_await region(c, [](cx r) -> task<> {
      mutex<int> a, b;
      if (mutex<int>::create(r, a, "a", 0) != status::ok || mutex<int>::create(r, b, "b", 0) != status::ok) {
        co_await fail(status::resource_exhausted);
      }
      const auto take = [](cx, mutex<int> first, mutex<int> second) -> task<> {
        const auto one = co_await lock(first);
        co_await yield();
        second_lock = std::source_location::current().line() + 1;
        const auto two = co_await lock(second);
      };
      if (spawn(r, take, a, b).code != status::ok || spawn(r, take, b, a).code != status::ok) {
        co_await fail(status::resource_exhausted);
      }
    });
  };
  const lab_result r = explore({.seeds = 50}, body);
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("blocked for ever"), std::string::npos) << r.finding;
  EXPECT_NE(r.finding.find("holds 1 of mutex"), std::string::npos) << r.finding;
  const std::string where = " at lab_test.cpp:" + std::to_string(second_lock) + "  polls";
  const std::size_t one = r.finding.find(where);
  ASSERT_NE(one, std::string::npos) << where << " is not in\n" << r.finding;
  EXPECT_NE(r.finding.find(where, one + 1), std::string::npos) << "both of them\n" << r.finding;
  const lab_result again = replay({}, r.token, body);
  EXPECT_EQ(again.finding, r.finding);
  EXPECT_EQ(again.digest, r.digest);
}

TEST(lab, finds_a_promise_that_is_broken) {
  const lab_result r = explore({}, [](cx c) -> task<> {
    obligation_handle o;
    if (c.kernel().reserve(c.region(), o) != status::ok) co_await fail(status::resource_exhausted);
  });
  EXPECT_NE(r.finding.find("1 obligation leaked\n"), std::string::npos) << r.finding;
}

TEST(lab, finds_a_cleanup_that_overruns_its_budget) {
  const lab_result r = explore({.may_block = true}, [](cx c) -> task<> {
    const auto stubborn = [](cx s) -> task<> {
      for (;;) {
        static_cast<void>(s.checkpoint());
        co_await yield();
      }
    };
    auto spawned = spawn(c, stubborn);
    co_await yield();
    static_cast<void>(spawned.handle.cancel());
  });
  EXPECT_NE(r.finding.find("completed by force"), std::string::npos) << r.finding;
}

// Ends at once unless it is cancelled, and then opens a block in a mask.
task<> tidies_in_a_block(cx c, bool is_bounded_by_within) {
  static_cast<void>(co_await attempt(sleep(duration::hours(1))));
  const auto quiet = co_await mask();
  const auto steps = [](cx) -> task<> { co_await yield(); };
  if (is_bounded_by_within) {
    static_cast<void>(co_await within(c, duration::seconds(1), steps));
  } else {
    static_cast<void>(co_await with_timeout(c, duration::seconds(1), steps));
  }
}

TEST(lab, finds_a_cleanup_that_ended_with_a_failure) {
  for (const bool is_right : {false, true}) {
    const auto closes = [is_right](cx c) -> task<> {
      const auto failed = co_await attempt(region(c, [is_right](cx r) -> task<> {
        co_await start(r, {.name = "tidier"}, tidies_in_a_block, is_right);
        co_await sleep(duration::milliseconds(1));
        co_await fail(status::io);
      }));
      EXPECT_TRUE(failed.is_err());
    };
    const auto waits_for_shutdown = [is_right](cx c) -> task<> {
      auto [code, tx, rx] = channel<int>(c, 1);
      if (code != status::ok) co_await fail(code);
      const auto waits = [is_right](cx own, sender<int> to, receiver<int> from) -> task<> {
        static_cast<void>(co_await attempt(recv(from)));
        co_await tidies_in_a_block(own, is_right);
        to.drop();
      };
      co_await start(c, {.name = "tidier"}, waits, moved(tx), moved(rx));
    };
    const auto alone = [](cx c) -> task<> {
      auto h = co_await start(c, {.name = "tidier"}, tidies_in_a_block, false);
      co_await sleep(duration::milliseconds(1));
      EXPECT_EQ(h.cancel(), status::ok);
      EXPECT_TRUE((co_await join(h)).is_cancelled());
    };
    for (const lab_result& r : {explore({}, closes), explore({.may_block = true}, waits_for_shutdown)}) {
      EXPECT_EQ(r.is_ok, is_right) << r.report();
      if (is_right) continue;
      EXPECT_NE(r.finding.find("'tidier' was cancelled, and its cleanup ended with region_not_open: no block"),
                std::string::npos)
          << r.report();
      EXPECT_NE(r.tail.find("completed in cleanup: cancelled"), std::string::npos) << r.tail;
    }
    const lab_result may = explore({.may_block = true, .may_fail_cleanup = true}, waits_for_shutdown);
    EXPECT_TRUE(may.is_ok) << may.report();
    const lab_result by_itself = explore({}, alone);
    EXPECT_TRUE(by_itself.is_ok) << "its region is open: " << by_itself.report();
  }
}

TEST(lab, finds_a_program_that_is_not_the_same_twice) {
  int runs = 0;
  const lab_result r = explore({}, [&runs](cx) -> task<> {
    if (++runs % 2 == 0) co_await yield();
  });
  EXPECT_NE(r.finding.find("two digests"), std::string::npos) << r.finding;
  EXPECT_NE(r.finding.find("what the poll said"), std::string::npos) << "where they part is told: " << r.finding;
}

TEST(lab, finds_a_program_that_never_ends) {
  const lab_result r = explore({.max_steps = 1000}, [](cx) -> task<> {
    for (;;) co_await yield();
  });
  EXPECT_NE(r.finding.find("still work: step_limit"), std::string::npos) << r.finding;
}

TEST(lab, says_what_is_wrong_with_a_token) {
  const auto body = [](cx) -> task<> { co_return; };
  EXPECT_NE(replay({}, "nonsense", body).finding.find("this is no token: 'nonsense'"), std::string::npos);
  EXPECT_NE(replay({}, "lab1.1.2.none.0.0123456789abcdef", body).finding.find("the program is another"),
            std::string::npos);
  const lab_result known = explore({.seeds = 1}, body);
  EXPECT_TRUE(replay({}, known.token, body).is_ok);
}

TEST(lab, calls_a_sweep_that_hits_nothing_a_finding) {
  const auto spends_nothing = [](cx) -> task<> { co_return; };
  const lab_result r = sweep({}, lab_fault::cost, spends_nothing);
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.finding, "the sweep hit nothing: the run has no point where cost can strike");
  EXPECT_EQ(r.faults, 0U);
  EXPECT_EQ(r.runs, 1U);
  const lab_result hits = sweep({}, lab_fault::cost, [](cx c) -> task<> {
    static_cast<void>(c.consume_cost(1));
    co_return;
  });
  EXPECT_TRUE(hits.is_ok) << hits.report();
  EXPECT_EQ(hits.faults, 1U);
}

// A supervisor that takes whatever becomes of its workers.
task<> takes_anything(cx c) {
  auto worker = co_await start(c, {.name = "worker"}, [](cx own) -> task<> {
    co_await yield();
    own.panic("the disk burns");
  });
  static_cast<void>(co_await attempt(join(worker)));
  co_await attempt(region(c, [](cx r) -> task<> {
    co_await start(r, [](cx own) -> task<> {
      co_await yield();
      own.panic("and the house");
    });
  }));
}

TEST(lab, finds_a_panic_though_somebody_joined_it) {
  const lab_result r = explore({.seeds = 4}, takes_anything);
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.finding, "task 2 'worker' panicked: the disk burns, and 1 more panicked");
  const lab_result fails = explore({.seeds = 4, .may_fail = true}, takes_anything);
  EXPECT_FALSE(fails.is_ok) << "to fail is not to panic";
  EXPECT_TRUE(explore({.seeds = 4, .may_panic = true}, takes_anything).is_ok);
}

TEST(lab, finds_a_panic_of_a_body_unless_it_may) {
  static std::uint32_t line = 0;
  const auto body = [](cx c) -> task<> {
    line = std::source_location::current().line() + 1;
    c.panic("boom");
    co_return;
  };
  const lab_result found = explore({}, body);
  EXPECT_EQ(found.finding, "the body ended panicked: boom at lab_test.cpp:" + std::to_string(line));
  EXPECT_FALSE(explore({.may_fail = true}, body).is_ok);
  EXPECT_FALSE(explore({.may_panic = true}, body).is_ok) << "then it ended otherwise than ok all the same";
  EXPECT_TRUE(explore({.may_fail = true, .may_panic = true}, body).is_ok);
}

TEST(lab, finds_a_failure_whose_handle_was_dropped_unheard) {
  const auto body = [](cx c) -> task<> {
    auto child = co_await start(c, {.name = "child"}, [](cx) -> task<> { co_await fail(status::io); });
    while (!child.is_done()) co_await yield();
  };
  const lab_result r = explore({}, body);
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("err: io"), std::string::npos) << r.finding;
  EXPECT_NE(r.finding.find("in task 2 'child', which nobody joined"), std::string::npos) << r.finding;
}

// ---- a program that is another by now

task<> counts_to(cx c, int last) {
  for (int i = 0; i < last; ++i) co_await yield();
  co_await sleep(duration::milliseconds(static_cast<std::uint64_t>(last)));
  co_await fail(status::io);
  static_cast<void>(c);
}

std::string scratch(const char* name) {
  return ::testing::TempDir() + name;
}

TEST(lab, shows_the_last_events_of_a_replay_that_parts) {
  const lab_result found = explore({}, [](cx c) -> task<> { co_await counts_to(c, 3); });
  ASSERT_FALSE(found.is_ok);
  EXPECT_TRUE(found.journal.empty()) << "nobody asked for a file";
  const lab_result parted = replay({}, found.token, [](cx c) -> task<> {
    for (int i = 0; i < 4; ++i) co_await yield();
    EXPECT_EQ(c.now().ns, 0U);
  });
  ASSERT_FALSE(parted.is_ok);
  EXPECT_NE(parted.finding.find("the program is another"), std::string::npos) << parted.finding;
  EXPECT_NE(parted.tail.find("the record of task 1 'body' is free"), std::string::npos) << parted.report();
  int runs = 0;
  const lab_result twice = explore({}, [&runs](cx) -> task<> {
    if (++runs % 2 == 0) co_await yield();
  });
  EXPECT_NE(twice.finding.find("two digests"), std::string::npos) << twice.finding;
  EXPECT_NE(twice.tail.find("task 1 'body'"), std::string::npos) << twice.report();
}

TEST(lab, keeps_the_journal_of_what_it_found_and_shows_where_a_replay_parts) {
  const std::string file = scratch("asx_lab_found.asxj");
  const lab_options how{.journal = file};
  // More than the ring keeps: the file has them all.
  const auto body = [](cx c) -> task<> { co_await counts_to(c, 30'000); };
  const lab_result found = explore(how, body);
  ASSERT_FALSE(found.is_ok);
  EXPECT_EQ(found.journal, file);
  EXPECT_NE(found.report().find("its journal: " + file), std::string::npos);
  const lab_result same = replay(how, found.token, body);
  EXPECT_EQ(same.finding, found.finding);

  const lab_result parted = replay(how, found.token, [](cx c) -> task<> { co_await counts_to(c, 29'999); });
  ASSERT_FALSE(parted.is_ok);
  EXPECT_NE(parted.finding.find("the program is another; it ends with: the body ended err: io"), std::string::npos)
      << parted.finding;
  EXPECT_NE(parted.finding.find("\n  - "), std::string::npos) << "the event as it was\n" << parted.finding;
  EXPECT_NE(parted.finding.find("\n  + "), std::string::npos) << "and as it is\n" << parted.finding;
  EXPECT_NE(parted.finding.find("kind: 220 in the reference, 600 in the run"), std::string::npos) << parted.finding;

  const lab_result other = explore({.first_seed = 2, .journal = file}, body);  // Over the one before.
  ASSERT_EQ(other.journal, file);
  const lab_result stranger = replay(how, found.token, [](cx) -> task<> { co_return; });
  EXPECT_NE(stranger.finding.find("is of another run"), std::string::npos) << stranger.finding;
  std::remove(file.c_str());
}

TEST(lab, keeps_the_journal_of_a_sweep_and_of_a_program_that_is_not_the_same_twice) {
  const std::string file = scratch("asx_lab_swept.asxj");
  const lab_options how{.journal = file};
  const auto fragile = [](cx c) -> task<> {
    auto slept = co_await attempt(sleep(duration::milliseconds(1)));
    if (!slept.is_ok()) c.panic("not ready for that");
  };
  const lab_result swept = sweep(how, lab_fault::cancel, fragile);
  ASSERT_FALSE(swept.is_ok);
  ASSERT_EQ(swept.journal, file);
  const lab_result parted = replay(how, swept.token, [](cx) -> task<> { co_await sleep(duration::milliseconds(2)); });
  EXPECT_NE(parted.finding.find("\n  + "), std::string::npos) << parted.finding;
  int runs = 0;
  const lab_result twice = explore(how, [&runs](cx) -> task<> {
    if (++runs % 2 == 0) co_await yield();
  });
  EXPECT_EQ(twice.journal, file);
  std::remove(file.c_str());
}

TEST(lab, says_why_there_is_no_journal_to_compare_with) {
  const std::string nowhere = scratch("no_such_folder/found.asxj");
  const auto fails = [](cx c) -> task<> { co_await counts_to(c, 1); };
  const lab_result found = explore({.journal = nowhere}, fails);
  EXPECT_TRUE(found.journal.empty());
  EXPECT_NE(found.finding.find("its journal cannot be written to '" + nowhere + "'"), std::string::npos)
      << found.finding;
  const lab_result parted = replay({.journal = nowhere}, found.token, [](cx) -> task<> { co_return; });
  EXPECT_NE(parted.finding.find("the journal '" + nowhere + "' cannot be read"), std::string::npos) << parted.finding;
}

// ---- the accounts of channels

// Plants an event that no channel told of.
void pretend(cx c, event_kind kind, std::uint64_t channel, std::uint64_t a, std::uint64_t b) {
  const inside here(c.kernel());
  extension::note(c.kernel(), kind, channel, c.task().value, a, b);
}

TEST(lab, finds_a_channel_whose_account_does_not_balance) {
  struct planted {
    const char* what;
    event_kind kind;
    std::uint64_t a, b;
  };
  for (const planted& p : {
           planted{"received what nobody sent", event_kind::message_received, 2, pack(0, 0)},
           planted{"a message is gone and nobody said so", event_kind::permit_sent, 2, pack(1, 0)},
           planted{"a permit ends that nobody has", event_kind::permit_aborted, 1, pack(1, 0)},
           planted{"a permit is skipped", event_kind::permit_reserved, 9, pack(1, 1)},
           planted{"a slot is lost", event_kind::permit_sent, 2, pack(2, 1)},
           planted{"the last sender leaves other than there is", event_kind::channel_sender_closed, 0, pack(7, 0)},
           planted{"the receiver throws away too little", event_kind::channel_receiver_closed, pack(1, 0), 0},
           planted{"freed with a message in it", event_kind::channel_freed, 0, 0},
       }) {
    const lab_result r = explore({.seeds = 1}, [&p](cx c) -> task<> {
      auto [code, tx, rx] = channel<int>(c, 4);
      co_await send(tx, 1);
      pretend(c, p.kind, 1, p.a, p.b);
      auto got = co_await recv(rx);
      EXPECT_TRUE(got);
    });
    EXPECT_FALSE(r.is_ok) << p.what;
    EXPECT_NE(r.finding.find("the account of a channel does not balance (R-234)"), std::string::npos)
        << p.what << ": " << r.finding;
  }
}

TEST(lab, finds_a_broadcast_whose_account_does_not_balance) {
  for (const event_kind kind : {event_kind::value_published, event_kind::message_evicted}) {
    const lab_result r = explore({.seeds = 1}, [kind](cx c) -> task<> {
      auto [code, tx, rx] = broadcast<int>(c, 4);
      EXPECT_EQ(code, status::ok);
      for (int i = 0; i < 6; ++i) EXPECT_EQ(tx.send(i).code, status::ok);
      pretend(c, kind, 1, 7, pack(1, 4));
      EXPECT_EQ(tx.send(6).code, status::ok);
      co_return;
    });
    EXPECT_NE(r.finding.find("does not balance"), std::string::npos) << r.report();
  }
}

// Every way in which a message or a permit may go, and every other channel beside it.
LAB_SWEEP(lab, accounts_of_channels_balance_whatever_happens, cancel, admission, polls, memory) {
  co_await region(c, {.policy = region_policy::body_decides}, [](cx r) -> task<> {
    auto [code, tx, rx] = channel<int>(r, 2);
    if (code != status::ok) co_await fail(code);
    auto [wide, to_all, from_all] = broadcast<int>(r, 2);
    if (wide != status::ok) co_await fail(wide);
    auto [narrow, to_one, from_one] = watch<int>(r, 0);
    if (narrow != status::ok) co_await fail(narrow);
    auto [short_code, to_hand, from_hand] = rendezvous<int>(r);
    if (short_code != status::ok) co_await fail(short_code);
    auto [once, ask, answer] = oneshot<int>(r);
    if (once != status::ok) co_await fail(once);
    const auto hands = [](cx, rendezvous_sender<int> to) -> task<> { co_await hand_over(to, 1); };
    if (const auto s = spawn(r, hands, std::move(to_hand)); s.code != status::ok) co_await fail(s.code);
    static_cast<void>(spawn(r, produce, tx, 0, 5));
    auto permit = co_await reserve(tx);
    co_await sleep(duration::milliseconds(1));
    static_cast<void>(rx.try_recv());
    std::move(permit).abort();
    static_cast<void>(tx.send_evict_oldest(7));
    static_cast<void>(tx.try_send(8));
    for (int i = 0; i < 4; ++i) {
      static_cast<void>(to_all.send(i));
      static_cast<void>(to_one.send(i));
    }
    static_cast<void>(from_all.try_recv());
    static_cast<void>(co_await recv(from_hand));
    static_cast<void>(rx.try_recv());
  });
}

TEST(lab, finds_a_failure_that_nobody_joined) {
  const lab_result r = explore({}, [](cx c) -> task<> {
    co_await start(c, {.name = "child"}, [](cx) -> task<> {
      co_await yield();
      co_await fail(status::io);
    });
  });
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("in task 2 'child', which nobody joined"), std::string::npos) << r.finding;
  EXPECT_TRUE(explore({.may_fail = true}, [](cx c) -> task<> {
                co_await start(c, [](cx) -> task<> { co_await fail(status::io); });
              }).is_ok);
}

TEST(lab, remembers_what_the_ring_of_the_journal_forgets) {
  const lab_result r = explore({.seeds = 1}, [](cx c) -> task<> {
    auto child = co_await start(c, [](cx own) -> task<> {
      for (;;) {
        static_cast<void>(own.checkpoint());
        static_cast<void>(co_await attempt(yield()));
      }
    });
    EXPECT_EQ(child.cancel(), status::ok);
    for (int i = 0; i < 40'000; ++i) co_await yield();
  });
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("completed by force"), std::string::npos) << r.finding;
}

// Who took the locks has left the ring long before they wait for each other: the run is made again, and watched.
TEST(lab, names_a_knot_however_long_ago_it_was_tied) {
  const auto body = [](cx c) -> task<> {
    mutex<int> stock, till;
    if (mutex<int>::create(c, stock, "stock", 0) != status::ok) co_await fail(status::resource_exhausted);
    if (mutex<int>::create(c, till, "till", 0) != status::ok) co_await fail(status::resource_exhausted);
    const auto take = [](cx, mutex<int> first, mutex<int> second) -> task<> {
      const auto one = co_await lock(first);
      for (int i = 0; i < 30'000; ++i) co_await yield();
      const auto two = co_await lock(second);
    };
    co_await start(c, {.name = "anna"}, take, stock, till);
    co_await start(c, {.name = "bert"}, take, till, stock);
  };
  const lab_result r = explore({.seeds = 1, .workers = 1}, body);
  ASSERT_FALSE(r.is_ok);
  EXPECT_NE(r.finding.find("could be woken by task 3 'bert': holds 1 of mutex 2 'till'"), std::string::npos)
      << r.finding;
  EXPECT_NE(r.finding.find("could be woken by task 2 'anna': holds 1 of mutex 1 'stock'"), std::string::npos)
      << r.finding;
  EXPECT_EQ(replay({.workers = 1}, r.token, body).finding, r.finding);
}

// What came after a finding is the shutdown, the same for every program; what workers do idly tells of none.
TEST(lab, shows_the_events_before_the_finding) {
  const lab_result knot = explore({.seeds = 1, .workers = 2}, [](cx c) -> task<> {
    auto [code, tx, rx] = channel<int>(c, 1, "jobs");
    static_cast<void>(co_await recv(rx));
  });
  ASSERT_FALSE(knot.is_ok);
  EXPECT_NE(knot.tail.find("task 1 'body' waits for a message of channel 1 'jobs'"), std::string::npos) << knot.tail;
  const lab_result fails = explore({.seeds = 1, .workers = 2}, [](cx) -> task<> { co_await fail(status::io); });
  const lab_result checked = explore({.seeds = 1, .has_failed = [] { return true; }}, [](cx) -> task<> { co_return; });
  const lab_result lost =
      explore({.seeds = 1}, [](cx c) -> task<> { co_await start(c, [](cx) -> task<> { co_await fail(status::io); }); });
  for (const lab_result* const r : {&knot, &fails, &checked, &lost}) {
    ASSERT_FALSE(r->is_ok);
    EXPECT_EQ(r->tail.find("shutdown begins"), std::string::npos) << r->tail;
    EXPECT_EQ(r->tail.find("steps next"), std::string::npos) << r->tail;
    EXPECT_EQ(r->tail.find("found nothing to steal"), std::string::npos) << r->tail;
  }
  const lab_result forced = explore({.seeds = 1}, [](cx c) -> task<> {
    auto child = co_await start(c, {.name = "stubborn"}, [](cx own) -> task<> {
      for (;;) {
        static_cast<void>(own.checkpoint());
        static_cast<void>(co_await attempt(yield()));
      }
    });
    co_await yield();
    EXPECT_EQ(child.cancel(), status::ok);
    static_cast<void>(co_await join(child));
    co_await sleep(duration::seconds(1));
  });
  EXPECT_EQ(forced.finding, "task 2 'stubborn' overran its cleanup budget and was completed by force");
  const std::size_t last = forced.tail.rfind('\n', forced.tail.size() - 2);
  EXPECT_NE(forced.tail.find("task 2 'stubborn' is force-completed", last), std::string::npos) << forced.tail;
}

TEST(lab, names_who_is_at_work_when_a_run_does_not_end) {
  const lab_result r = explore({.seeds = 1, .max_steps = 1000}, [](cx c) -> task<> {
    co_await start(c, {.name = "spinner"}, [](cx) -> task<> {
      for (;;) co_await yield();
    });
  });
  EXPECT_NE(r.finding.find("step_limit\ntask 2 'spinner'  running, "), std::string::npos) << r.finding;
  EXPECT_EQ(r.finding.find("lab.cpp"), std::string::npos) << "who waits is told without places of asx\n" << r.finding;
}

TEST(lab, stops_where_a_framework_has_seen_a_failure) {
  static int asked;
  asked = 0;
  const lab_result r = explore({.has_failed = [] { return ++asked == 3; }}, [](cx) -> task<> { co_return; });
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.runs, 3U);
  EXPECT_EQ(r.finding, "an expectation did not hold");
  EXPECT_FALSE(r.token.empty());
  EXPECT_FALSE(r.tail.empty());
}

TEST(lab, names_the_seed_whose_second_run_failed) {
  static int asked;
  asked = 0;
  const lab_result r = explore({.has_failed = [] { return ++asked >= 4; }}, [](cx) -> task<> { co_return; });
  ASSERT_FALSE(r.is_ok);
  EXPECT_EQ(r.seed, 2U);
  EXPECT_EQ(r.runs, 4U);
}

TEST(lab, refuses_what_would_show_nothing) {
  const auto body = [](cx) -> task<> { co_return; };
  EXPECT_FALSE(explore({.seeds = 0}, body).is_ok);
  EXPECT_FALSE(explore({.workers = 65}, body).is_ok);
  EXPECT_TRUE(explore({.seeds = 65, .workers = 64}, body).is_ok);
}

TEST(lab, reads_a_token_to_the_letter) {
  const auto body = [](cx) -> task<> { co_return; };
  const lab_result whole = explore({.seeds = 1}, body);
  ASSERT_TRUE(replay({}, whole.token, body).is_ok) << whole.token;
  const std::string tail = whole.token.substr(whole.token.rfind('.'));
  for (const char* const wrong :
       {"lab1. 1.2.none.0", "lab1.0x1.2.none.0", "lab1.1.4294967298.none.0", "lab1.-1.2.none.0", "lab1.1.65.none.0",
        "lab1.1.0.none.0", "lab1.1.2.nine.0", "lab1.1.2.none.", "lab2.1.2.none.0", "lab1.10000000000000000.2.none.0",
        "lab1.1.2.none.0.0"}) {
    const lab_result r = replay({}, wrong + tail, body);
    EXPECT_NE(r.finding.find("this is no token"), std::string::npos) << wrong << tail << ": " << r.finding;
  }
}

// The line of the test, and not one of gtest.hpp: an editor goes there.
TEST(lab, a_finding_is_a_failure_at_the_line_of_its_test) {
  ::testing::TestPartResultArray seen;
  {
    const ::testing::ScopedFakeTestPartResultReporter here(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &seen);
    detail::test_in_lab(
        {.seeds = 1}, [](cx) -> task<> { co_await fail(status::io); },
        [](const lab_options& how, const lab_body& body) { return explore(how, body); }, "shop_test.cpp", 12);
  }
  ASSERT_EQ(seen.size(), 1);
  EXPECT_STREQ(seen.GetTestPartResult(0).file_name(), "shop_test.cpp");
  EXPECT_EQ(seen.GetTestPartResult(0).line_number(), 12);
  EXPECT_NE(std::string(seen.GetTestPartResult(0).message()).find("err: io"), std::string::npos);
}

}  // namespace
}  // namespace asx
