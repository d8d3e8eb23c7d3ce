// A host that steps by itself has what a run has: the end of a grace, the refusal of a full trace; and no clock holds a
// run for ever.
#include <gtest/gtest.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "asx/kernel/report.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::expect_legal;
using testing::must_create;
using testing::must_spawn;

// Sleeps for an hour, and goes on with that when it is asked to cancel: only a shutdown ends it.
struct stubborn : body {
  stubborn()
      : body{[this](cx& c) {
          if (timer == slab_key{}) {
            EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::hours(1), timer), status::ok);
          }
          return poll_result::pending;
        }} {}
  slab_key timer{};
};

step_report step_until_idle(runtime& rt) {
  step_report last;
  for (int i = 0; i < 1000 && !last.is_idle; ++i) last = rt.step();
  EXPECT_TRUE(last.is_idle);
  return last;
}

TEST(stepping, ends_the_grace_that_a_handle_began) {
  runtime_config config;
  config.grace = duration::seconds(1);
  runtime rt(config);
  stubborn b;
  const task_handle t = must_spawn(rt, rt.root(), b, {}, false);
  foreign_handle h;
  ASSERT_EQ(rt.foreign(t, h), status::ok);
  step_until_idle(rt);
  EXPECT_EQ(rt.next_due(), instant{} + duration::hours(1));
  h.shut_down();
  h.drop();
  const step_report waits = step_until_idle(rt);
  EXPECT_EQ(rt.kernel().live_tasks(), 1U);
  EXPECT_EQ(rt.next_due(), instant{} + duration::seconds(1)) << "a host that waits for the timer waits too long";
  EXPECT_EQ(waits.park_until, rt.next_due());
  EXPECT_EQ(rt.run_until_idle().next_due, rt.next_due());
  ASSERT_EQ(rt.advance(duration::seconds(1)), status::ok);
  step_until_idle(rt);
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
  EXPECT_TRUE(rt.next_due().is_none());
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(stepping, is_refused_when_the_journal_may_lose_an_event) {
  for (const std::uint32_t workers : {1U, 3U}) {
    runtime_config config;
    config.workers = workers;
    config.order = worker_order::kind::drawn;
    config.contract.overflow = trace_overflow::reject;
    config.contract.max_trace_events = 256;
    runtime rt(config);
    std::uint64_t polls = 0;
    body b{[&](cx& c) {
      if (c.checkpoint() != status::ok) return poll_result::ready;
      ++polls;
      c.yield();
      return poll_result::pending;
    }};
    must_spawn(rt, rt.root(), b, {}, false);
    status refused = status::ok;
    for (int i = 0; i < 1000 && refused == status::ok; ++i) refused = rt.step().refused;
    EXPECT_EQ(refused, status::resource_exhausted);
    const std::uint64_t before = polls;
    const std::uint64_t told = rt.journal().seq();
    EXPECT_EQ(rt.step().refused, status::resource_exhausted);
    EXPECT_EQ(rt.step(0).refused, status::resource_exhausted);
    EXPECT_TRUE(rt.step().is_idle);
    EXPECT_EQ(polls, before);
    EXPECT_EQ(rt.journal().seq(), told) << "no worker was drawn either";
    EXPECT_EQ(rt.journal().overwritten(), 0U);
    rt.journal().discard_oldest(rt.journal().size());
    for (int i = 0; i < 8; ++i) EXPECT_EQ(rt.step().refused, status::ok);
    EXPECT_GT(polls, before);
    rt.journal().discard_oldest(rt.journal().size());
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
}

TEST(stepping, a_clock_that_stands_still_uses_up_the_steps_of_a_run) {  // U-03
  std::uint64_t parks = 0;
  runtime_config config;
  // It moves at last, so that a run which does wait for it is seen here, and does not hang.
  config.clock = {&parks, [](void* n) noexcept {
                    return *static_cast<std::uint64_t*>(n) < 1000 ? instant{5} : instant{} + duration::hours(2);
                  }};
  config.park = {&parks, [](void* count, instant, instant) noexcept { ++*static_cast<std::uint64_t*>(count); },
                 nullptr};
  runtime rt(config);
  stubborn b;
  must_spawn(rt, rt.root(), b, {}, false);
  EXPECT_EQ(rt.run_until_quiescent(10).ended, status::step_limit);
  EXPECT_LE(parks, 10U);
  EXPECT_FALSE(rt.shutdown(duration::milliseconds(1), 10).steps > 10U);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(stepping, a_slow_clock_uses_up_no_steps) {  // U-03
  struct slow {
    instant now{};
    std::uint64_t parks = 0;
  } host;
  runtime_config config;
  config.clock = {&host, [](void* h) noexcept { return static_cast<slow*>(h)->now; }};
  config.park = {&host,
                 [](void* self, instant, instant) noexcept {
                   auto& h = *static_cast<slow*>(self);
                   ++h.parks;
                   h.now = h.now + duration::milliseconds(1);
                 },
                 nullptr};
  runtime rt(config);
  slab_key timer{};
  body b{[&](cx& c) {
    if (timer != slab_key{}) return poll_result::ready;
    EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::milliseconds(200), timer), status::ok);
    return poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  EXPECT_EQ(rt.run_until_quiescent(10).ended, status::ok);
  EXPECT_GE(host.parks, 200U);
  EXPECT_EQ(rt.kernel().live_tasks(), 0U);
}

TEST(stepping, what_a_finalizer_said_in_its_panic_is_the_regions_outcome) {
  runtime rt;
  const region_handle region = must_create(rt, rt.root());
  const auto panics = [](void*, region_handle, kernel& k) {
    std::string text = "no room for the log";
    k.panic(text);
    text.assign(text.size(), '#');
    k.panic("and this as well");
    return status::ok;
  };
  ASSERT_EQ(rt.kernel().add_finalizer(region, panics, nullptr), status::ok);
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(region, out), status::ok);
  ASSERT_TRUE(out.is_panicked());
  EXPECT_EQ(out.panic().text, "no room for the log") << "the first one tells the story";
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(stepping, a_report_shows_no_place_where_there_is_none) {
  body b{[](cx& c) {
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  runtime rt;  // After what it polls at its end.
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &body::poll, .context = &b}, t, std::source_location{}), status::ok);
  rt.run_until_idle();
  const std::string text = describe_tree(rt.kernel());
  EXPECT_NE(text.find("age 0\n"), std::string::npos) << text;
  EXPECT_NE(describe_tree_json(rt.kernel()).find("\"site\":null"), std::string::npos);
  must_spawn(rt, rt.root(), b, {}, false);
  EXPECT_NE(describe_tree_json(rt.kernel()).find("\"site\":\"program.hpp:"), std::string::npos)
      << describe_tree_json(rt.kernel());
  std::string pieces;
  describe_tree(rt.kernel(),
                {&pieces, [](void* to, std::string_view piece) { *static_cast<std::string*>(to) += piece; }});
  EXPECT_EQ(pieces, describe_tree(rt.kernel()));
}

}  // namespace
}  // namespace asx
