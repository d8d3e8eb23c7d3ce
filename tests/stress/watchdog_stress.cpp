// The watchdog on real threads: it names the poll that hangs while it hangs, once, and says nothing otherwise.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "asx/runtime/drive_live.hpp"
#include "asx/runtime/drive_watchdog.hpp"

namespace {

using asx::cx;
using asx::poll_result;

struct body {
  std::function<poll_result(cx&)> run;
  static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
};

struct told {
  std::string_view
      whom{};  // Only of that one, if it is said: a machine may stop a short poll for as long as a long one.
  std::atomic<int> times{0};
  asx::running_poll last{};
  asx::duration so_far{};
  static void report(void* self, const asx::running_poll& p, asx::duration so_far) noexcept {
    auto& at = *static_cast<told*>(self);
    if (!at.whom.empty() && at.whom != p.name.data()) return;
    at.last = p;
    at.so_far = so_far;
    at.times.fetch_add(1);
  }
};

TEST(watchdog_stress, names_a_poll_that_hangs_while_it_hangs_and_once) {  // laws 1, 2
  told t{.whom = "stuck"};
  asx::live_runtime rt;
  const asx::watchdog dog(*rt, {.limit = asx::duration::milliseconds(20), .context = &t, .report = told::report});
  ASSERT_TRUE(dog.is_on());
  body quick{[n = 0](cx& c) mutable {
    if (++n == 1'000) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  body hangs{[&](cx&) {
    while (t.times.load() == 0) std::this_thread::yield();  // Ends only because it is told of.
    return poll_result::ready;
  }};
  asx::task_handle out;
  const std::uint32_t line = __LINE__ + 1;
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &quick}, out), asx::status::ok);
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &hangs, .name = "stuck"}, out),
            asx::status::ok);
  EXPECT_EQ(rt->run_until_quiescent().ended, asx::status::ok);
  EXPECT_EQ(t.times.load(), 1);
  EXPECT_EQ(t.last.task.value, 2U);
  EXPECT_STREQ(t.last.name.data(), "stuck");
  EXPECT_NE(std::string(t.last.file).find("watchdog_stress.cpp"), std::string::npos);
  EXPECT_GT(t.last.line, line);
  EXPECT_GE(t.so_far, asx::duration::milliseconds(20));
}

TEST(watchdog_stress, names_a_poll_that_hangs_in_virtual_time_and_changes_no_event) {  // law 4, R-285, R-293
  asx::digest128 digests[2];
  for (const bool is_watched : {false, true}) {
    told t;
    asx::runtime rt;
    std::unique_ptr<asx::watchdog> dog;
    if (is_watched) {
      dog = std::make_unique<asx::watchdog>(
          rt, asx::watchdog_options{.limit = asx::duration::seconds(2), .context = &t, .report = told::report});
      ASSERT_TRUE(dog->is_on());
    }
    body hangs{[&](cx&) {
      while (is_watched && t.times.load() == 0) std::this_thread::yield();  // Ends only because it is told of.
      return poll_result::ready;
    }};
    body waits{[n = 0](cx& c) mutable {
      if (++n == 50) return poll_result::ready;
      asx::slab_key timer;
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + asx::duration::hours(1), timer), asx::status::ok);
      return poll_result::pending;
    }};
    asx::task_handle out;
    ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &body::poll, .context = &waits}, out), asx::status::ok);
    ASSERT_EQ(rt.kernel().spawn(rt.root(), {.poll = &body::poll, .context = &hangs, .name = "stuck"}, out),
              asx::status::ok);
    EXPECT_EQ(rt.run_until_quiescent().ended, asx::status::ok);
    EXPECT_EQ(t.times.load(), is_watched ? 1 : 0) << "hours of virtual time are no poll that takes long";
    if (is_watched) {
      EXPECT_STREQ(t.last.name.data(), "stuck");
      EXPECT_GE(t.so_far, asx::duration::seconds(2));
      EXPECT_EQ(t.last.began, asx::instant{}) << "in the runtime's time";
    }
    dog.reset();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    digests[is_watched ? 1 : 0] = rt.journal().digest();
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(watchdog_stress, a_reader_sees_one_poll_or_none) {  // law 1 of poll_probe.hpp
  asx::poll_probe probe;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    constexpr const char* names[] = {"a", "bbbbbbbbbbbb", "cccccccccccccccccccccc"};
    for (std::uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
      probe.end(probe.begin(asx::task_id{i}, names[i % 3], std::source_location::current(), asx::instant{i}));
    }
  });
  std::uint64_t seen = 0;
  constexpr std::size_t sizes[] = {1, 12, 22};
  for (int i = 0; i < 200'000 || seen == 0; ++i) {
    asx::running_poll p;
    if (!probe.read(p)) continue;
    ++seen;
    ASSERT_EQ(p.task.value, p.began.ns);
    ASSERT_EQ(p.turn, 2 * p.task.value - 1);
    ASSERT_EQ(std::string(p.name.data()).size(), sizes[p.task.value % 3]);
  }
  stop.store(true);
  writer.join();
}

TEST(watchdog_stress, may_go_in_the_middle_of_a_poll) {
  asx::live_runtime rt;
  auto dog = std::make_unique<asx::watchdog>(*rt, asx::watchdog_options{});
  body ends_it{[&](cx&) {
    dog.reset();
    return poll_result::ready;
  }};
  asx::task_handle out;
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &ends_it}, out), asx::status::ok);
  rt->run_until_idle();
  EXPECT_EQ(dog, nullptr);
}

// Whether the new one lies where the old one was is the allocator's to say: here it does.
TEST(watchdog_stress,
     a_probe_put_in_the_place_of_another_in_a_poll_begins_with_the_next_poll) {  // law 3 of poll_probe.hpp
  asx::live_runtime rt;
  std::optional<asx::poll_probe> probe(std::in_place);
  rt->attach(&*probe);
  asx::running_poll seen;
  std::vector<bool> is_polled;
  body replaces{[&](cx& c) {
    is_polled.push_back(probe->read(seen));
    if (is_polled.size() == 3) return poll_result::ready;
    if (is_polled.size() == 1) {
      rt->attach(nullptr);
      rt->attach(&probe.emplace());
      is_polled.push_back(probe->read(seen));
    }
    c.yield();
    return poll_result::pending;
  }};
  asx::task_handle out;
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &replaces}, out), asx::status::ok);
  rt->run_until_idle();
  EXPECT_EQ(is_polled, (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(probe->read(seen)) << "nobody is polled any more";
  body brings{[&](cx&) {  // The first of all comes while somebody is polled.
    rt->attach(&probe.emplace());
    return poll_result::ready;
  }};
  rt->attach(nullptr);
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &brings}, out), asx::status::ok);
  rt->run_until_idle();
  EXPECT_FALSE(probe->read(seen));
  rt->attach(nullptr);
}

TEST(watchdog_stress, one_that_takes_the_place_of_another_in_a_poll_names_the_next_that_hangs) {
  told t{.whom = "stuck"};
  asx::live_runtime rt;
  const asx::watchdog_options how{.limit = asx::duration::milliseconds(20), .context = &t, .report = told::report};
  auto dog = std::make_unique<asx::watchdog>(*rt, how);
  body replaces{[&](cx&) {
    dog.reset();
    dog = std::make_unique<asx::watchdog>(*rt, how);
    return poll_result::ready;
  }};
  body hangs{[&](cx&) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);  // Only when nobody tells of it.
    while (t.times.load() == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return poll_result::ready;
  }};
  asx::task_handle out;
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &replaces}, out), asx::status::ok);
  ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &hangs, .name = "stuck"}, out),
            asx::status::ok);
  EXPECT_EQ(rt->run_until_quiescent().ended, asx::status::ok);
  dog.reset();
  EXPECT_EQ(t.times.load(), 1);
  EXPECT_STREQ(t.last.name.data(), "stuck");
}

TEST(watchdog_stress, leaves_a_run_as_it_was_when_it_goes) {
  asx::live_runtime rt;
  told t;
  for (int i = 0; i < 20; ++i) {
    const asx::watchdog dog(*rt, {.limit = asx::duration::seconds(60), .context = &t, .report = told::report});
    body b{[](cx&) { return poll_result::ready; }};
    asx::task_handle out;
    ASSERT_EQ(rt->kernel().spawn(rt->root(), {.poll = &body::poll, .context = &b}, out), asx::status::ok);
    rt->run_until_idle();
  }
  EXPECT_EQ(t.times.load(), 0);
}

}  // namespace
