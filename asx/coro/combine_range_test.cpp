// Combinators over ranges: as those of functions that are given one by one, of as many as there are.
#include "asx/coro/combine_range.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/lab/gtest.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::expect_legal;
using testing::nothing_left;
using testing::outcome_of;

duration ms(int n) {
  return duration::milliseconds(static_cast<std::uint64_t>(n));
}
instant at_ms(int n) {
  return instant{ms(n).ns};
}

enum class end : std::uint8_t { ok, err, panics, panics_late, masked, masked_panics };

/// What one of them does, and when.
struct part {
  int after = 0;
  end how = end::ok;
};

task<int> play(cx c, const part& p) {
  if (p.how == end::panics_late) {
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    c.panic("late");
    co_return 0;
  }
  if (p.how == end::masked || p.how == end::masked_panics) {
    const auto quiet = co_await mask();
    co_await sleep(ms(p.after));
    if (p.how == end::masked_panics) c.panic("behind the mask");
    co_return p.after;
  }
  co_await sleep(ms(p.after));
  if (p.how == end::err) co_await fail(status::io, 5);
  if (p.how == end::panics) c.panic("it burns");
  co_return p.after;
}
using parts = std::vector<part>;

// GCC 12 takes no braced list inside of an await.
template <class... Ts>
auto list(const Ts&... items) {
  return std::vector{items...};
}
template <class... Ts>
parts of(const Ts&... items) {
  return list(items...);
}

// ---- what they give -------------------------------------------------------------------------------------------------

LAB_TEST(combine_range, r382_join_all_gives_every_outcome_in_the_order_of_the_range) {
  const auto all = co_await join_all(c, of(part{30}, part{10}, part{20, end::err}), play);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].value(), 30);
  EXPECT_EQ(all[1].value(), 10);
  EXPECT_EQ(all[2].error(), (error{status::io, 5}));
  EXPECT_EQ(c.now(), at_ms(30)) << "they ran at once";
}

LAB_TEST(combine_range, r382_race_gives_the_first_and_its_number_and_drains_the_others) {
  int left = 0;
  struct counted {
    int& count;
    explicit counted(int& n) : count(n) { ++count; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --count; }
  };
  const auto [index, how] = co_await race(c, list(3'600'000, 10, 20), [&left](cx, int& after) -> task<int> {
    const counted local(left);
    co_await sleep(ms(after));
    co_return after;
  });
  EXPECT_EQ(index, 1U);
  EXPECT_EQ(how.value(), 10);
  EXPECT_EQ(left, 0) << "their destructors have run when race returns";
  EXPECT_EQ(c.now(), at_ms(10));
  const auto failed = co_await race(c, of(part{20}, part{5, end::err}), play);
  EXPECT_EQ(failed.index, 1U);
  EXPECT_TRUE(failed.how.is_err()) << "a failure wins, too";
}

LAB_TEST(combine_range, r382_first_ok_passes_over_failures) {
  const auto got = co_await first_ok(c, of(part{5, end::err}, part{20}, part{10}), play);
  EXPECT_EQ(got.index, 2U);
  EXPECT_EQ(got.how.value(), 10);
  const auto none = co_await first_ok(c, of(part{7, end::err}, part{5, end::err}), play);
  EXPECT_EQ(none.index, 0U) << "the last";
  EXPECT_TRUE(none.how.is_err());
}

LAB_TEST(combine_range, r382_quorum_stops_when_it_is_reached_or_cannot_be) {
  const auto two = co_await quorum(c, 2, of(part{5, end::err}, part{10}, part{20}, part{3'600}), play);
  EXPECT_TRUE(two.is_reached);
  EXPECT_EQ(two.values.size(), 4U);
  EXPECT_FALSE(two.values[0].has_value() || two.values[3].has_value());
  EXPECT_EQ(*two.values[1] + *two.values[2], 30);
  EXPECT_EQ(c.now(), at_ms(20));
  const auto three = co_await quorum(c, 3, of(part{1, end::err}, part{2, end::err}, part{3}, part{3'600}), play);
  EXPECT_FALSE(three.is_reached);
  EXPECT_EQ(c.now(), at_ms(22)) << "two failures of four make three impossible";
  EXPECT_FALSE((co_await quorum(c, 5, parts(4), play)).is_reached) << "there are not so many";
  EXPECT_TRUE((co_await quorum(c, 0, of(part{3'600}), play)).is_reached) << "before anybody has begun";
  EXPECT_EQ(c.now(), at_ms(22));
}

// Each ends in one dispatch, and the first after all others: whoever waits for them finds all of them ended.
TEST(combine_range, r382_of_equals_the_one_that_stands_before_the_others_is_the_first) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto at_once = [](cx, const int& value) -> task<int> {
      if (value == 7) co_await yield();
      co_return value;
    };
    EXPECT_EQ((co_await race(c, list(7, 8, 9), at_once)).index, 0U);
    EXPECT_EQ((co_await first_ok(c, list(7, 8, 9), at_once)).index, 0U);
    const auto q = co_await quorum(c, 2, list(7, 8, 9), at_once);
    EXPECT_EQ(q.values, (std::vector<std::optional<int>>{7, 8, std::nullopt}));
    co_return 1;
  });
  EXPECT_TRUE(out.is_ok());
}

// ---- ranges ---------------------------------------------------------------------------------------------------------

LAB_TEST(combine_range, r383_of_nobody) {
  EXPECT_TRUE((co_await join_all(c, parts(), play)).empty());
  EXPECT_TRUE((co_await quorum(c, 0, parts(), play)).is_reached);
  const auto one = co_await quorum(c, 1, parts(), play);
  EXPECT_FALSE(one.is_reached);
  EXPECT_TRUE(one.values.empty());
  EXPECT_EQ((co_await attempt(race(c, parts(), play))).error().code, status::empty);
  EXPECT_EQ((co_await attempt(first_ok(c, parts(), play))).error().code, status::empty);
  EXPECT_EQ(c.now(), at_ms(0));
}

LAB_TEST(combine_range, r382_of_one) {
  EXPECT_EQ((co_await join_all(c, of(part{1}), play))[0].value(), 1);
  EXPECT_EQ((co_await race(c, of(part{1}), play)).how.value(), 1);
  EXPECT_EQ((co_await first_ok(c, of(part{1}), play)).how.value(), 1);
  EXPECT_EQ((co_await quorum(c, 1, of(part{1}), play)).values[0], 1);
}

LAB_TEST(combine_range, r382_takes_lists_and_views_and_makes_items_that_are_made_as_they_are_asked_for) {
  const auto give = [](cx, const int& value) -> task<int> {
    co_await sleep(ms(10 - value));
    co_return value;
  };
  const std::forward_list<int> linked{3, 1, 2};
  EXPECT_EQ((co_await join_all(c, linked, give))[1].value(), 1);
  EXPECT_EQ((co_await race(c, std::views::iota(0, 5), give)).index, 4U);
  const std::vector<int> kept{1, 2, 3};
  const auto some = co_await join_all(c, std::span(kept).subspan(1), give);
  EXPECT_EQ(some[0].value() + some[1].value(), 5);
  std::vector<int> mine{1, 2, 3};
  co_await join_all(c, std::span(mine), [](cx, int& value) -> task<> {
    value *= 2;
    co_return;
  });
  EXPECT_EQ(mine, (list(2, 4, 6))) << "an item is the range's own";
  const std::vector<std::function<task<int>(cx)>> functions(3, [](cx) -> task<int> { co_return 7; });
  EXPECT_EQ((co_await join_all(c, functions, [](cx own, const auto& f) { return f(own); }))[2].value(), 7);
}

LAB_TEST(combine_range, r382_gives_values_that_can_only_be_moved_and_none_at_all) {
  const auto made = [](cx, const int& value) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(value); };
  auto all = co_await join_all(c, list(1, 2), made);
  EXPECT_EQ(*std::move(all[1]).value(), 2);
  EXPECT_EQ(*(co_await quorum(c, 1, list(5), made)).values[0].value(), 5);
  const auto nothing = [](cx, const int&) -> task<> { co_return; };
  EXPECT_TRUE((co_await join_all(c, list(1, 2), nothing))[1].is_ok());
  EXPECT_TRUE((co_await quorum(c, 2, list(1, 2), nothing)).values[1].has_value());
}

TEST(combine_range, r382_of_a_thousand) {
  resource_contract much = resource_contract::core();
  much.max_tasks = much.max_tasks_per_region = much.max_ready_queue = much.max_cancel_queue = 2'000;
  much.max_bytes = 16 << 20;
  runtime rt({.contract = much});
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto later = [](cx, const int& i) -> task<int> {
      co_await sleep(ms(i % 17));
      co_return i;
    };
    const auto all = co_await join_all(c, std::views::iota(0, 1'000), later);
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].value(), i);
    EXPECT_EQ((co_await race(c, std::views::iota(1, 1'001), later)).how.value(), 17);
    EXPECT_EQ((co_await quorum(c, 500, std::views::iota(0, 1'000), later)).values.size(), 1'000U);
    co_return static_cast<int>(all.size());
  });
  EXPECT_EQ(out.value(), 1'000);
  before.check();
  expect_legal(rt);
}

// ---- panics, refusals, cancels --------------------------------------------------------------------------------------

ASX_LAB_TEST_WITH(combine_range, r382_no_panic_is_lost_whoever_panicked_and_whenever, .may_panic = true) {
  const auto first = co_await race(c, of(part{10}, part{0, end::panics_late}, part{20}), play);
  EXPECT_EQ(first.how.panic().text, "late");
  EXPECT_EQ(first.index, 1U);
  const auto good = co_await first_ok(c, of(part{3'600}, part{10, end::panics}, part{0, end::panics_late}), play);
  EXPECT_EQ(good.how.panic().text, "it burns") << "the one that decided counts";
  EXPECT_EQ(c.now(), at_ms(20));
  const auto most = co_await attempt(quorum(c, 1, of(part{10}, part{0, end::panics_late}), play));
  EXPECT_EQ(most.panic().text, "late");
  const auto all = co_await join_all(c, of(part{10}, part{0, end::panics}), play);
  EXPECT_EQ(all[0].value(), 10);
  EXPECT_EQ(all[1].panic().text, "it burns");
}

ASX_LAB_TEST_WITH(combine_range, r382_a_panic_is_told_when_the_caller_is_cancelled_during_the_drain,
                  .may_panic = true) {
  const parts two = of(part{5}, part{20, end::masked_panics});
  const auto callers = std::vector<std::function<task<>(cx)>>{
      [&two](cx own) -> task<> { static_cast<void>(co_await race(own, two, play)); },
      [&two](cx own) -> task<> { static_cast<void>(co_await first_ok(own, two, play)); },
      [&two](cx own) -> task<> { static_cast<void>(co_await quorum(own, 1, two, play)); },
      [&two](cx own) -> task<> { static_cast<void>(co_await join_all(own, two, play)); }};
  co_await region(c, {.policy = region_policy::body_decides}, [&callers](cx r) -> task<> {
    for (const auto& caller : callers) {
      auto h = co_await start(r, std::ref(caller));
      co_await sleep(ms(10));
      EXPECT_EQ(h.cancel(), status::ok);
      const auto how = co_await join(h);
      EXPECT_TRUE(how.is_panicked());
      if (!how.is_panicked()) continue;
      EXPECT_EQ(how.panic().text, "behind the mask");
    }
  });
}

TEST(combine_range, r382_who_could_not_be_started_ended_err) {
  resource_contract little = resource_contract::core();
  little.max_tasks = 6;  // The program, the body, and four of ten.
  runtime rt({.contract = little});
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto all = co_await join_all(c, parts(10), play);
    int refused = 0;
    for (const auto& one : all) {
      if (one.is_ok()) continue;
      EXPECT_EQ(one.error().code, status::resource_exhausted);
      ++refused;
    }
    const auto first = co_await race(c, parts(10), play);
    EXPECT_TRUE(first.how.is_err()) << "who was refused ended first";
    EXPECT_EQ((co_await first_ok(c, parts(10), play)).how.value(), 0);
    EXPECT_FALSE((co_await quorum(c, 5, parts(10), play)).is_reached);
    co_return refused;
  });
  EXPECT_EQ(out.value(), 6);
  before.check();
}

LAB_TEST(combine_range, r382_a_cancelled_caller_has_drained_them_all) {
  int left = 0;
  const auto waits = [&left](cx, const int&) -> task<int> {
    ++left;
    static_cast<void>(co_await attempt(sleep(duration::hours(1))));
    --left;
    co_return 0;
  };
  auto h = co_await start(c, [&waits](cx own) -> task<> { co_await join_all(own, std::vector<int>(20, 1), waits); });
  co_await sleep(ms(5));
  EXPECT_EQ(left, 20);
  EXPECT_EQ(h.cancel(), status::ok);
  EXPECT_TRUE((co_await join(h)).is_cancelled());
  EXPECT_EQ(left, 0);
}

TEST(combine_range, r382_leaves_nothing_behind_wherever_it_breaks) {
  const auto body = [](cx c) -> task<> {
    co_await race(c, of(part{10}, part{20}, part{30, end::err}), play);
    co_await join_all(c, of(part{1}, part{2, end::err}), play);
    static_cast<void>(co_await quorum(c, 2, of(part{1}, part{2}, part{3}), play));
    co_await first_ok(c, list(3, 1), [](cx, const int& after) -> task<> { co_await sleep(ms(after)); });
  };
  for (const lab_fault fault : {lab_fault::cancel, lab_fault::admission, lab_fault::polls, lab_fault::memory}) {
    const lab_result r = sweep({}, fault, body);
    EXPECT_TRUE(r.is_ok) << r.report();
    EXPECT_GT(r.faults, 1U);
  }
}

// A loser's message is in its channel, or was taken and went with the loser: never both, never neither.
LAB_TEST(combine_range, r382_what_a_loser_had_not_committed_has_not_happened) {
  auto [code, tx, rx] = channel<int>(c, 1);
  const auto sends = [&outbox = tx](cx, const int& value) -> task<int> {
    co_await send(outbox, value);
    co_return value;
  };
  const auto first = co_await race(c, list(1, 2, 3), sends);
  EXPECT_EQ(rx.try_recv().value, first.how.value());
  EXPECT_FALSE(rx.try_recv().value.has_value());
}

}  // namespace
}  // namespace asx
