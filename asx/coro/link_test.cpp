// Tasks that end together: who is asked, with which reason, and what becomes of a link.
#include "asx/coro/link.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "asx/coro/cleanup.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/coro/time.hpp"
#include "asx/journal/why.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::events_of;
using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

enum class end : std::uint8_t { ok, err, panicked, cancelled };

duration ms(std::uint64_t n) {
  return duration::milliseconds(n);
}

task<int> ends(cx c, end how, int after) {
  co_await sleep(ms(static_cast<std::uint64_t>(after)));
  if (how == end::err) co_await fail(status::io, 5);
  if (how == end::panicked) c.panic("it burns");
  if (how == end::cancelled) co_await sleep(duration::hours(1));
  co_return 1;
}
task<> stays(cx) {
  co_await sleep(duration::hours(1));
}

bool is_told(end how, link_policy policy) {
  return how != end::ok || policy == link_policy::any_end;
}

// Every end of one of three, under both policies: the other two hear of it, or nobody does.
ASX_LAB_TEST_WITH(coro_link, asks_the_others_when_one_ends_and_by_its_policy_only_when_it_is_not_ok,
                  .may_panic = true) {
  for (const link_policy policy : {link_policy::not_ok, link_policy::any_end}) {
    for (const end how : {end::ok, end::err, end::panicked, end::cancelled}) {
      const instant begun = c.now();
      co_await attempt(region(c, {.policy = region_policy::body_decides}, [&](cx r) -> task<> {
        auto first = co_await start(r, stays);
        auto ended = co_await start(r, {.name = "short"}, ends, how, 10);
        auto last = co_await start(r, stays);
        EXPECT_EQ(link(policy, first, ended, last), status::ok);
        if (how == end::cancelled) {
          co_await sleep(ms(20));
          EXPECT_EQ(ended.cancel({cancel_kind::user, "enough"}), status::ok);
        }
        const auto it = co_await join(ended);
        const outcome_kind kinds[] = {outcome_kind::ok, outcome_kind::err, outcome_kind::panicked,
                                      outcome_kind::cancelled};
        EXPECT_EQ(it.kind(), kinds[static_cast<std::size_t>(how)]) << "it keeps its own outcome";
        if (!is_told(how, policy)) {
          co_await sleep(ms(5));
          EXPECT_FALSE(first.is_done() || last.is_done());
          EXPECT_EQ(first.cancel(), status::ok);
          EXPECT_EQ((co_await join(first)).cancelled_by().reason.kind, cancel_kind::user);
          const auto rest = co_await join(last);
          EXPECT_EQ(rest.cancelled_by().reason.kind, cancel_kind::linked_exit) << "those who are left stay linked";
          co_return;
        }
        for (auto* const other : {&first, &last}) {
          const auto got = co_await join(*other);
          EXPECT_TRUE(got.is_cancelled());
          const cancel_reason& why = got.cancelled_by().reason;
          EXPECT_EQ(why.kind, cancel_kind::linked_exit);
          task_report report;
          EXPECT_EQ(r.kernel().inspect(ended.task(), report), status::ok);
          EXPECT_EQ(why.origin_task, report.id) << "the reason names who ended";
          EXPECT_NE(why.message.find("'short' ended"), std::string_view::npos) << why.message;
          EXPECT_EQ(why.levels, how == end::cancelled ? 2U : 1U);
        }
        EXPECT_LT(c.now() - begun, ms(1'000)) << "nobody slept on";
      }));
    }
  }
}

TEST(coro_link, tells_in_the_chain_why_the_one_that_ended_was_cancelled_and_the_journal_can_say_it) {
  runtime rt;
  const nothing_left before(rt);
  task_id asked{}, ended{};
  const auto out = outcome_of(
      rt,
      [](cx c, task_id* who, task_id* by) -> task<int> {
        auto a = co_await start(c, {.name = "a"}, stays);
        auto b = co_await start(c, {.name = "b"}, stays);
        auto last = co_await start(c, {.name = "c"}, stays);
        EXPECT_EQ(link(a, b), status::ok);
        EXPECT_EQ(link(b, last), status::ok);
        co_await sleep(ms(1));
        EXPECT_EQ(a.cancel({cancel_kind::user, "the first word"}), status::ok);
        const auto how = co_await join(last);
        EXPECT_TRUE(how.is_cancelled());
        // It came by way of b: who was asked by one link passes it on by the others.
        const cancel_reason* why = &how.cancelled_by().reason;
        std::vector<std::string> told;
        for (; why != nullptr; why = c.kernel().reasons().find(why->cause)) {
          told.push_back(std::string(name(why->kind)) + ": " + std::string(why->message));
        }
        EXPECT_EQ(told,
                  (std::vector<std::string>{"linked_exit: linked task 3 'b' ended cancelled",
                                            "linked_exit: linked task 2 'a' ended cancelled", "user: the first word"}));
        task_report r;
        EXPECT_EQ(c.kernel().inspect(last.task(), r), status::ok);
        *who = r.id;
        EXPECT_EQ(c.kernel().inspect(b.task(), r), status::ok);
        *by = r.id;
        co_return 1;
      },
      &asked, &ended);
  EXPECT_EQ(out.value(), 1);
  const auto all = events_of(rt);
  const cancelled_answer why = why_cancelled(all, asked.value);
  EXPECT_TRUE(why.cancelled);
  EXPECT_EQ(why.kind, cancel_kind::linked_exit);
  EXPECT_FALSE(why.chain.beyond);
  ASSERT_GE(why.chain.events.size(), 2U);
  EXPECT_EQ(why.chain.events[1].subject, ended.value) << "the event is the end of the other: " << why.text;
  EXPECT_EQ(why.chain.events[1].kind, event_kind::task_finalized) << why.text;
  before.check();
  expect_legal(rt);
}

LAB_TEST(coro_link, with_one_that_has_ended_acts_at_once) {
  co_await attempt(region(c, {.policy = region_policy::body_decides}, [](cx r) -> task<> {
    auto good = co_await start(r, ends, end::ok, 1);
    auto bad = co_await start(r, ends, end::err, 1);
    co_await sleep(ms(5));
    auto a = co_await start(r, stays);
    auto b = co_await start(r, stays);
    EXPECT_EQ(link(a, good), status::ok);
    EXPECT_EQ(link(a, good, b), status::ok) << "one that ended ok is not asked for anything";
    co_await yield();
    EXPECT_FALSE(a.is_done() || b.is_done());
    EXPECT_EQ(link(bad, good), status::ok) << "nobody is left to be asked";
    const auto late = co_await start(r, stays);
    EXPECT_EQ(link(late, bad), status::ok);
    task_report report;
    EXPECT_EQ(r.kernel().inspect(late.task(), report), status::ok);
    EXPECT_EQ(report.reason == nullptr ? cancel_kind::user : report.reason->kind, cancel_kind::linked_exit);
    EXPECT_EQ(link(link_policy::any_end, good, a), status::ok);
    EXPECT_EQ((co_await join(a)).cancelled_by().reason.kind, cancel_kind::linked_exit);
    EXPECT_EQ((co_await join(b)).cancelled_by().reason.kind, cancel_kind::linked_exit) << "by way of a";
  }));
}

TEST(coro_link, refuses_what_cannot_be_linked_and_has_changed_nothing) {
  runtime rt, other;
  auto a = spawn_in(rt.kernel(), rt.root(), {}, stays);
  auto b = spawn_in(rt.kernel(), rt.root(), {}, stays);
  auto far = spawn_in(other.kernel(), other.root(), {}, stays);
  join_handle<> none;
  const std::uint64_t used = rt.kernel().nominal_used();
  EXPECT_EQ(link(a.handle, none), status::stale_handle);
  EXPECT_EQ(link(a.handle, a.handle), status::invalid_argument);
  EXPECT_EQ(link(a.handle, b.handle, far.handle), status::invalid_argument);
  EXPECT_EQ(rt.kernel().nominal_used(), used);
  EXPECT_EQ(link(a.handle, b.handle), status::ok);
  EXPECT_GT(rt.kernel().nominal_used(), used) << "it counts";
  a.handle.drop();
  b.handle.drop();  // A link needs no handle.
}

TEST(coro_link, is_refused_when_the_contract_has_no_memory_for_it) {
  std::uint64_t used = 0;
  {
    runtime rt;
    auto a = spawn_in(rt.kernel(), rt.root(), {}, stays);
    auto b = spawn_in(rt.kernel(), rt.root(), {}, stays);
    used = rt.kernel().nominal_used();
  }
  for (const std::uint64_t room : {0U, 255U, 256U}) {
    runtime_config tight;
    tight.contract.max_bytes = used + room;
    runtime rt(tight);
    auto a = spawn_in(rt.kernel(), rt.root(), {}, stays);
    auto b = spawn_in(rt.kernel(), rt.root(), {}, stays);
    ASSERT_EQ(b.code, status::ok);
    EXPECT_EQ(link(a.handle, b.handle), room < 256 ? status::resource_exhausted : status::ok);
    EXPECT_EQ(rt.kernel().nominal_used(), room < 256 ? used : used + 256);
    EXPECT_EQ(a.handle.cancel(), status::ok);
    rt.run_until_idle();
    EXPECT_EQ(b.handle.is_done(), room == 256);
  }
}

// R-14 refuses a call; nobody is left to refuse this one.
TEST(coro_link, reaches_the_other_whatever_the_cancel_queue_holds) {
  runtime_config config;
  config.contract.max_cancel_queue = 1;
  runtime rt(config);
  const auto masked = [](cx) -> task<> {
    const auto quiet = co_await mask();
    co_await sleep(ms(50));
  };
  auto holds = spawn_in(rt.kernel(), rt.root(), {}, masked);
  auto a = spawn_in(rt.kernel(), rt.root(), {}, ends, end::err, 10);
  auto b = spawn_in(rt.kernel(), rt.root(), {}, stays);
  EXPECT_EQ(link(a.handle, b.handle), status::ok);
  rt.run_until_idle();
  EXPECT_EQ(holds.handle.cancel(), status::ok);
  EXPECT_EQ(b.handle.cancel(), status::resource_exhausted);
  rt.run_until_quiescent();
  ASSERT_TRUE(b.handle.is_done());
  outcome<unit> how;
  ASSERT_EQ(b.handle.take(how), status::ok);
  EXPECT_EQ(how.cancelled_by().reason.kind, cancel_kind::linked_exit);
  expect_legal(rt);
}

ASX_LAB_TEST_WITH(coro_link, crosses_regions_and_closes_what_the_other_awaits, .may_panic = true) {
  int ended = 0;
  co_await attempt(region(c, {.policy = region_policy::body_decides}, [&](cx r) -> task<> {
    auto outer = co_await start(
        r,
        [](cx own, int* count) -> task<> {
          co_await region(own, [count](cx in) -> task<> {
            struct counted {
              int* n;
              explicit counted(int* of) : n(of) {}
              ~counted() { ++*n; }
            };
            const auto child = [](cx, int* to) -> task<> {
              const counted here(to);
              co_await sleep(duration::hours(1));
            };
            co_await start(in, child, count);
            co_await start(in, child, count);
          });
        },
        &ended);
    co_await region(r, {.policy = region_policy::body_decides}, [&](cx in) -> task<> {
      auto inner = co_await start(in, ends, end::panicked, 7);
      EXPECT_EQ(link(inner, outer), status::ok);
      EXPECT_TRUE((co_await join(inner)).is_panicked());
    });
    EXPECT_EQ((co_await join(outer)).cancelled_by().reason.kind, cancel_kind::linked_exit);
    EXPECT_EQ(ended, 2);
  }));
}

// All of them end at once, in every order that the lab draws: nobody hears of an end twice, and nothing is left.
ASX_LAB_TEST_WITH(coro_link, of_those_who_end_at_the_same_moment_asks_nobody_who_has_ended, .may_panic = true) {
  co_await attempt(region(c, {.policy = region_policy::body_decides}, [](cx r) -> task<> {
    for (int round = 0; round < 4; ++round) {
      auto a = co_await start(r, ends, end::err, 3);
      auto b = co_await start(r, ends, end::err, 3);
      auto d = co_await start(r, ends, end::panicked, 3);
      EXPECT_EQ(link(a, b, d), status::ok);
      EXPECT_EQ(link(d, a), status::ok);
      int failed = 0;
      failed += (co_await join(a)).is_ok() ? 0 : 1;
      failed += (co_await join(b)).is_ok() ? 0 : 1;
      failed += (co_await join(d)).is_ok() ? 0 : 1;
      EXPECT_EQ(failed, 3);
    }
  }));
}

TEST(coro_link, asks_nobody_for_memory_once_it_has_been_there) {
  runtime rt;
  const nothing_left before(rt);
  std::uint64_t peak = 0;
  const auto out = outcome_of(
      rt,
      [](cx c, std::uint64_t* most) -> task<int> {
        for (int i = 0; i < 50; ++i) {
          auto a = co_await start(c, ends, i % 2 == 0 ? end::ok : end::err, 1);
          auto b = co_await start(c, ends, end::ok, 2);
          EXPECT_EQ(link(a, b), status::ok);
          static_cast<void>(co_await join(a));
          static_cast<void>(co_await join(b));
          if (i == 0) *most = c.kernel().nominal_used();
          EXPECT_EQ(c.kernel().nominal_used(), *most) << "what was taken is given back";
        }
        co_return 1;
      },
      &peak);
  EXPECT_EQ(out.value(), 1);
  before.check();
}

TEST(coro_link, leaves_nothing_behind_wherever_it_is_cancelled) {
  const auto body = [](cx c) -> task<> {
    co_await region(c, {.policy = region_policy::supervise}, [](cx r) -> task<> {
      auto a = co_await start(r, ends, end::ok, 3);
      auto b = co_await start(r, ends, end::ok, 2);
      auto d = co_await start(r, ends, end::ok, 1);
      if (const status s = link(a, b, d); s != status::ok) co_await fail(s);
      if (const status s = link(link_policy::any_end, a, d); s != status::ok) co_await fail(s);
      static_cast<void>(co_await attempt(join(a)));
    });
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({.may_fail = true}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, 0U);
  }
}

}  // namespace
}  // namespace asx
