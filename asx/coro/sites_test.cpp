// Where a coroutine stands: lists name the line of each co_await that waits, from the innermost outwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/cleanup.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/foreign.hpp"
#include "asx/coro/near.hpp"
#include "asx/coro/region.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/sync.hpp"
#include "asx/coro/time.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

constexpr duration hour = duration::hours(1);

/// Lines of this file, in the order in which somebody came there: an await stands on the line below its `below`.
class trail {
 public:
  void below(std::source_location here = std::source_location::current()) { lines_.push_back(here.line() + 1); }
  void clear() { lines_.clear(); }
  [[nodiscard]] std::vector<std::uint32_t> innermost_first() const { return {lines_.rbegin(), lines_.rend()}; }
  /// As a list tells it.
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::uint32_t line : innermost_first()) {
      out += (out.empty() ? " at sites_test.cpp:" : " < sites_test.cpp:") + std::to_string(line);
    }
    return out;
  }

 private:
  std::vector<std::uint32_t> lines_;
};

std::vector<std::uint32_t> lines_of(runtime& rt, task_handle task) {
  std::array<std::source_location, 32> room;
  const std::size_t seen = await_sites(rt.kernel(), task, room);
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < std::min(seen, room.size()); ++i) {
    const std::string_view file = room[i].file_name();
    EXPECT_TRUE(file.ends_with("sites_test.cpp")) << file;
    out.push_back(room[i].line());
  }
  return out;
}

/// The line of the list that names a task.
std::string line_of(runtime& rt, std::string_view name) {
  const std::string all = describe_tasks(rt.kernel());
  const std::size_t at = all.find("'" + std::string(name) + "'");
  if (at == std::string::npos) return {};
  const std::size_t begin = all.rfind('\n', at) + 1;
  return all.substr(begin, all.find('\n', at) - begin);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void expect_stands(runtime& rt, task_handle task, const trail& way, std::string_view name) {
  EXPECT_EQ(lines_of(rt, task), way.innermost_first()) << name;
  const std::string line = line_of(rt, name);
  EXPECT_TRUE(has(line, way.text() + "  ")) << line << "\nhas not " << way.text();
  EXPECT_TRUE(has(line, "  spawned sites_test.cpp:")) << line;
}

/// What a coroutine of the kinds below needs besides.
struct place_to_wait {
  trail way;
  sender<int> tx;
  receiver<int> rx;
  sender<int> full;
  receiver<int> full_rx;
};

using waits = std::function<task<>(cx, place_to_wait*)>;

/// Each of them waits for ever: a name, and who.
struct kind_of_wait {
  const char* name;
  waits run;
};

task<int> waits_and_gives(cx, trail* way) {
  way->below();
  co_await sleep(hour);
  co_return 1;
}

std::vector<kind_of_wait> operations() {
  std::vector<kind_of_wait> all;
  all.push_back({"sleep", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   co_await sleep(hour);
                 }});
  all.push_back({"tick", [](cx c, place_to_wait* p) -> task<> {
                   interval every(c, hour);
                   p->way.below();
                   co_await every.tick();
                 }});
  all.push_back({"recv", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   static_cast<void>(co_await recv(p->rx));
                 }});
  all.push_back({"reserve", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   auto permit = co_await reserve(p->full);
                   std::move(permit).abort();
                 }});
  all.push_back({"send", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   co_await send(p->full, 3);
                 }});
  all.push_back({"attempt", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   const auto got = co_await attempt(recv(p->rx));
                   if (!got.is_ok()) co_await fail(got.code);
                 }});
  all.push_back({"a named operation", [](cx, place_to_wait* p) -> task<> {
                   auto nap = sleep(hour);
                   p->way.below();
                   co_await std::move(nap);
                 }});
  all.push_back({"select", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   static_cast<void>(co_await select(recv(p->rx), sleep(hour)));
                 }});
  all.push_back({"select_fair", [](cx, place_to_wait* p) -> task<> {
                   p->way.below();
                   static_cast<void>(co_await select_fair(recv(p->rx), sleep(hour)));
                 }});
  all.push_back({"acquire", [](cx c, place_to_wait* p) -> task<> {
                   semaphore one;
                   EXPECT_EQ(semaphore::create(c, 1, one), status::ok);
                   const auto held = co_await acquire(one);
                   p->way.below();
                   static_cast<void>(co_await acquire(one));
                 }});
  all.push_back({"wait", [](cx c, place_to_wait* p) -> task<> {
                   notify never;
                   EXPECT_EQ(notify::create(c.kernel(), c.region(), never), status::ok);
                   p->way.below();
                   co_await wait(never);
                 }});
  all.push_back({"oneshot", [](cx c, place_to_wait* p) -> task<> {
                   auto made = oneshot<int>(c);
                   p->way.below();
                   static_cast<void>(co_await recv(made.rx));
                 }});
  all.push_back({"watch", [](cx c, place_to_wait* p) -> task<> {
                   auto made = watch<int>(c, 0);
                   p->way.below();
                   static_cast<void>(co_await changed(made.rx));
                 }});
  all.push_back({"rendezvous", [](cx c, place_to_wait* p) -> task<> {
                   auto made = rendezvous<int>(c);
                   p->way.below();
                   co_await hand_over(made.tx, 1);
                 }});
  all.push_back({"foreign", [](cx c, place_to_wait* p) -> task<> {
                   auto made = foreign_value<int>(c);
                   p->way.below();
                   static_cast<void>(co_await std::move(made.future));
                 }});
  all.push_back({"join", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   auto other = co_await start(c, waits_and_gives, &elsewhere);
                   p->way.below();
                   static_cast<void>(co_await join(other));
                 }});
  all.push_back({"in a mask", [](cx, place_to_wait* p) -> task<> {
                   const auto quiet = co_await mask();
                   p->way.below();
                   co_await sleep(hour);
                 }});
  all.push_back({"behind finally", [](cx c, place_to_wait* p) -> task<> {
                   co_await finally(c, [](cx) -> task<> { co_return; });
                   p->way.below();
                   co_await sleep(hour);
                 }});
  return all;
}

// What asx's own coroutines await is no place of the program: the line that awaits them is.
std::vector<kind_of_wait> children() {
  std::vector<kind_of_wait> all;
  all.push_back({"child", [](cx c, place_to_wait* p) -> task<> {
                   p->way.below();
                   co_await waits_and_gives(c, &p->way);
                 }});
  all.push_back({"attempted child", [](cx c, place_to_wait* p) -> task<> {
                   p->way.below();
                   static_cast<void>(co_await attempt(waits_and_gives(c, &p->way)));
                 }});
  all.push_back({"child of a child", [](cx c, place_to_wait* p) -> task<> {
                   const auto middle = [p](cx m) -> task<> {
                     p->way.below();
                     co_await waits_and_gives(m, &p->way);
                   };
                   p->way.below();
                   co_await middle(c);
                 }});
  all.push_back({"within", [](cx c, place_to_wait* p) -> task<> {
                   p->way.below();
                   static_cast<void>(co_await within(c, hour, waits_and_gives, &p->way));
                 }});
  all.push_back({"within within", [](cx c, place_to_wait* p) -> task<> {
                   const auto inner = [p](cx m) -> task<> {
                     p->way.below();
                     static_cast<void>(co_await within(m, hour, waits_and_gives, &p->way));
                   };
                   p->way.below();
                   static_cast<void>(co_await within(c, hour, inner));
                 }});
  all.push_back({"retry", [](cx c, place_to_wait* p) -> task<> {
                   const auto tries = [p](cx m) { return waits_and_gives(m, &p->way); };
                   p->way.below();
                   static_cast<void>(co_await retry(c, {}, tries));
                 }});
  all.push_back({"region", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   p->way.below();
                   co_await region(c, waits_and_gives, &elsewhere);
                 }});
  all.push_back({"with_timeout", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   p->way.below();
                   static_cast<void>(co_await with_timeout(c, hour, waits_and_gives, &elsewhere));
                 }});
  all.push_back({"join_all", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   const auto other = [&elsewhere](cx m) { return waits_and_gives(m, &elsewhere); };
                   p->way.below();
                   static_cast<void>(co_await join_all(c, other, other));
                 }});
  all.push_back({"race", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   const auto other = [&elsewhere](cx m) { return waits_and_gives(m, &elsewhere); };
                   p->way.below();
                   static_cast<void>(co_await race(c, other, other));
                 }});
  all.push_back({"first_ok", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   const auto other = [&elsewhere](cx m) { return waits_and_gives(m, &elsewhere); };
                   p->way.below();
                   static_cast<void>(co_await first_ok(c, other, other));
                 }});
  all.push_back({"quorum", [](cx c, place_to_wait* p) -> task<> {
                   trail elsewhere;
                   const auto other = [&elsewhere](cx m) { return waits_and_gives(m, &elsewhere); };
                   p->way.below();
                   static_cast<void>(co_await quorum(c, 1, other, other));
                 }});
  all.push_back({"for_each", [](cx c, place_to_wait* p) -> task<> {
                   const auto nap = [](cx, int) -> task<> { co_await sleep(hour); };
                   const std::array<int, 2> items{1, 2};
                   p->way.below();
                   co_await for_each(c, items, 2, nap);
                 }});
  return all;
}

void expect_each_stands(const std::vector<kind_of_wait>& all) {
  for (const kind_of_wait& kind : all) {
    SCOPED_TRACE(kind.name);
    runtime rt;
    place_to_wait p;
    auto open = channel<int>(rt.kernel(), rt.root(), 1);
    auto full = channel<int>(rt.kernel(), rt.root(), 1);
    p.tx = std::move(open.tx);
    p.rx = std::move(open.rx);
    p.full = std::move(full.tx);
    p.full_rx = std::move(full.rx);
    ASSERT_EQ(p.full.try_send(1).code, status::ok);
    auto made = spawn_in(rt.kernel(), rt.root(), {.name = "waits"}, kind.run, &p);
    ASSERT_EQ(made.code, status::ok);
    rt.run_until_idle();
    ASSERT_FALSE(made.handle.is_done());
    ASSERT_FALSE(p.way.innermost_first().empty());
    expect_stands(rt, made.handle.task(), p.way, "waits");
    ASSERT_EQ(made.handle.cancel(), status::ok);
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    EXPECT_TRUE(lines_of(rt, made.handle.task()).empty()) << "it has ended";
    EXPECT_FALSE(has(describe_tree(rt.kernel()), " at ")) << describe_tree(rt.kernel());
    made.handle.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
}

TEST(sites, an_operation_that_waits_is_told_with_the_line_of_its_await) {
  expect_each_stands(operations());
}

TEST(sites, coroutines_that_await_each_other_are_told_innermost_first_and_none_of_asx_own) {
  expect_each_stands(children());
}

// What a combinator starts was started by the line that awaits it, and asx's own work has no place in a program.
TEST(sites, no_line_of_asx_is_told_of_what_a_combinator_starts) {
  trail elsewhere;
  std::uint32_t line = 0;
  const auto here = [&line](std::source_location at = std::source_location::current()) { line = at.line() + 1; };
  const auto other = [&elsewhere](cx m) { return waits_and_gives(m, &elsewhere); };
  struct combined {
    const char* name;
    std::function<task<>(cx)> run;
  };
  const combined all[] = {{"join_all",
                           [&](cx c) -> task<> {
                             here();
                             static_cast<void>(co_await join_all(c, other, other));
                           }},
                          {"race",
                           [&](cx c) -> task<> {
                             here();
                             static_cast<void>(co_await race(c, other, other));
                           }},
                          {"first_ok",
                           [&](cx c) -> task<> {
                             here();
                             static_cast<void>(co_await first_ok(c, other, other));
                           }},
                          {"quorum",
                           [&](cx c) -> task<> {
                             here();
                             static_cast<void>(co_await quorum(c, 1, other, other));
                           }},
                          {"for_each", [&](cx c) -> task<> {
                             const auto nap = [](cx, int) -> task<> { co_await sleep(hour); };
                             const std::array<int, 2> items{1, 2};
                             here();
                             co_await for_each(c, items, 2, nap);
                           }}};
  for (const combined& kind : all) {
    SCOPED_TRACE(kind.name);
    runtime rt;
    auto made = spawn_in(rt.kernel(), rt.root(), {.name = "waits"}, kind.run);
    rt.run_until_idle();
    const std::string tasks = describe_tasks(rt.kernel());
    EXPECT_FALSE(has(tasks, ".hpp")) << tasks;
    const std::string spawned = "  spawned sites_test.cpp:" + std::to_string(line) + "  in region 2";
    const std::size_t first = tasks.find(spawned);
    ASSERT_NE(first, std::string::npos) << spawned << " is not in\n" << tasks;
    EXPECT_NE(tasks.find(spawned, first + 1), std::string::npos) << "both of them\n" << tasks;
    made.handle.drop();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
}

TEST(sites, the_first_task_of_a_program_was_spawned_nowhere) {
  runtime rt;
  std::string seen;
  const auto out = run_in(rt, [&seen](cx c) -> task<> {
    seen = describe_tasks(c.kernel());
    co_return;
  });
  EXPECT_TRUE(out.is_ok());
  EXPECT_TRUE(has(seen, "task 1 'main'  running, being polled")) << seen;
  EXPECT_FALSE(has(seen, ".hpp")) << seen;
}

// A list that names one branch of a select, or a number without its name, sends whoever reads it elsewhere.
TEST(sites, a_select_is_told_with_all_that_it_waits_for_by_their_names) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1, "jobs");
  auto [full_code, full_tx, full_rx] = channel<int>(rt.kernel(), rt.root(), 1, "out");
  ASSERT_EQ(full_tx.try_send(1).code, status::ok);
  mutex<int> stock;
  notify stop;
  ASSERT_EQ(mutex<int>::create(rt.kernel(), rt.root(), stock, "stock", 0), status::ok);
  ASSERT_EQ(notify::create(rt.kernel(), rt.root(), stop, "stop"), status::ok);
  auto holder = spawn_in(rt.kernel(), rt.root(), {.name = "holder"}, [&stock](cx) -> task<> {
    const auto held = co_await lock(stock);
    co_await sleep(hour);
  });
  rt.run_until_idle();
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "server"}, [&](cx) -> task<> {
    static_cast<void>(
        co_await select(recv(rx), reserve(full_tx), lock(stock), wait(stop), join(holder.handle), sleep(hour)));
  });
  rt.run_until_idle();
  const std::string wanted =
      "waits for a message of channel 1 'jobs', or a slot of channel 2 'out', or a turn of mutex 1 'stock', or a turn "
      "of "
      "notify 2 'stop', or the end of task 1, or timer 2 at sites_test.cpp:";
  EXPECT_TRUE(has(line_of(rt, "server"), wanted)) << line_of(rt, "server");
  const std::string json = describe_tree_json(rt.kernel());
  EXPECT_TRUE(has(json, "waits for a message of channel 1 'jobs', or a slot")) << json;
  const std::string left = describe_survivors(rt.kernel());
  EXPECT_TRUE(has(left, "channel 1 'jobs'  open  0 queued")) << "empty, and somebody waits there\n" << left;
  EXPECT_TRUE(has(left, "notify 2 'stop'  1 waiting")) << left;
  made.handle.drop();
  holder.handle.drop();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

TEST(sites, tasks_of_a_block_have_places_of_their_own) {
  runtime rt;
  trail block;
  trail body;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "owner"}, [&](cx c) -> task<> {
    const auto inside_it = [&body](cx r) -> task<> {
      body.below();
      co_await waits_and_gives(r, &body);
    };
    block.below();
    co_await region(c, {.name = "connection"}, inside_it);
  });
  rt.run_until_idle();
  expect_stands(rt, made.handle.task(), block, "owner");
  const std::string line = line_of(rt, "connection");  // The body bears the name of its block.
  EXPECT_TRUE(has(line, body.text() + "  ")) << line;
  EXPECT_TRUE(has(line_of(rt, "owner"), "waits for the close of region 2" + block.text())) << line_of(rt, "owner");
}

TEST(sites, a_finalizer_stands_where_its_own_coroutine_does) {
  runtime rt;
  trail last;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "owner"}, [&](cx c) -> task<> {
    co_await region(c, [&](cx r) -> task<> { co_await finally(r, waits_and_gives, &last); });
  });
  rt.run_until_idle();
  EXPECT_FALSE(last.innermost_first().empty());
  EXPECT_TRUE(has(line_of(rt, "finally"), last.text() + "  ")) << describe_tasks(rt.kernel());
}

TEST(sites, the_next_await_is_the_place_once_it_waits) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  trail way;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "waits"}, [&](cx c) -> task<> {
    way.below();
    static_cast<void>(co_await recv(rx));
    way.clear();
    way.below();
    static_cast<void>(co_await recv(rx));
    way.clear();
    way.below();
    co_await waits_and_gives(c, &way);
  });
  for (int i = 0; i < 3; ++i) {
    rt.run_until_idle();
    expect_stands(rt, made.handle.task(), way, "waits");
    EXPECT_EQ(tx.try_send(i).code, status::ok);
  }
  EXPECT_EQ(way.innermost_first().size(), 2U);
}

// Which of its lines, compilers do not agree on.
TEST(sites, an_await_of_several_lines_is_told_with_its_first_or_its_last) {
  runtime rt;
  trail begins;
  int woken = 0;
  const auto several = [&](cx c) -> task<> {
    begins.below();
    co_await region(c, [&](cx) -> task<> {
      co_await sleep(hour);
      ++woken;
    });
  };
  auto made = spawn_in(rt.kernel(), rt.root(), {}, several);
  rt.run_until_idle();
  const std::vector<std::uint32_t> seen = lines_of(rt, made.handle.task());
  ASSERT_EQ(seen.size(), 1U);
  const std::uint32_t first = begins.innermost_first().front();
  EXPECT_TRUE(seen.front() == first || seen.front() == first + 3) << seen.front();
}

// What was ready did not wait: the place is that of the await that did.
TEST(sites, an_await_that_was_ready_leaves_no_trace) {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 4);
  ASSERT_EQ(code, status::ok);
  ASSERT_EQ(tx.try_send(1).code, status::ok);
  trail way;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "waits"}, [&](cx c) -> task<> {
    static_cast<void>(co_await recv(rx));
    const auto at_once = [](cx) -> task<> { co_return; };
    co_await at_once(c);
    way.below();
    static_cast<void>(co_await recv(rx));
  });
  rt.run_until_idle();
  expect_stands(rt, made.handle.task(), way, "waits");
  static_cast<void>(rt.shutdown());  // While what it refers to is there.
}

TEST(sites, one_that_must_let_others_run_stands_where_it_goes_on) {
  runtime_config config;
  config.contract.coop_limit = 3;
  runtime rt(config);
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 8);
  ASSERT_EQ(code, status::ok);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(tx.try_send(i).code, status::ok);
  trail way;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "reads"}, [&](cx) -> task<> {
    for (int i = 0; i < 4; ++i) {
      if (i == 0) way.below();
      static_cast<void>(co_await recv(rx));
    }
  });
  rt.run_until_idle(1);
  ASSERT_FALSE(made.handle.is_done());
  expect_stands(rt, made.handle.task(), way, "reads");
  EXPECT_TRUE(has(line_of(rt, "reads"), "queued" + way.text())) << line_of(rt, "reads");
  static_cast<void>(rt.shutdown());  // As above.
}

TEST(sites, a_task_that_cleans_up_stands_in_its_cleanup) {
  runtime rt;
  trail way;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "tidier"}, [&](cx) -> task<> {
    static_cast<void>(co_await attempt(sleep(hour)));
    const auto quiet = co_await mask();
    way.below();
    co_await sleep(hour);
  });
  rt.run_until_idle();
  ASSERT_EQ(made.handle.cancel({cancel_kind::user, "closing time"}), status::ok);
  rt.run_until_idle();
  expect_stands(rt, made.handle.task(), way, "tidier");
  EXPECT_TRUE(has(line_of(rt, "tidier"), way.text() + "  (user \"closing time\")")) << line_of(rt, "tidier");
}

// A limit that is over drops the coroutines within it: the place is that of who goes on.
TEST(sites, behind_a_limit_the_place_is_that_of_who_goes_on) {
  runtime rt;
  trail way;
  auto made = spawn_in(rt.kernel(), rt.root(), {.name = "waits"}, [&](cx c) -> task<> {
    EXPECT_FALSE((co_await within(c, duration::milliseconds(1), waits_and_gives, &way)).has_value());
    way.clear();
    way.below();
    static_cast<void>(co_await attempt(region(c, [](cx) -> task<> { co_await sleep(hour); })));
  });
  rt.run_until_idle();
  EXPECT_EQ(rt.advance(duration::milliseconds(5)), status::ok);
  rt.run_until_idle();
  expect_stands(rt, made.handle.task(), way, "waits");
}

TEST(sites, who_has_not_begun_or_is_being_polled_stands_nowhere) {
  runtime rt;
  std::string seen;
  std::size_t mine = 1;
  trail way;
  auto other = spawn_in(rt.kernel(), rt.root(), {.name = "other"}, waits_and_gives, &way);
  EXPECT_TRUE(lines_of(rt, other.handle.task()).empty());
  EXPECT_FALSE(has(line_of(rt, "other"), " at ")) << line_of(rt, "other");
  rt.run_until_idle();
  auto looks = spawn_in(rt.kernel(), rt.root(), {.name = "looks"}, [&](cx c) -> task<> {
    co_await yield();
    const auto looks_inside = [&](cx m) -> task<> {
      co_await yield();
      mine = await_sites(m.kernel(), m.handle(), {});
      seen = describe_tasks(m.kernel());
    };
    co_await looks_inside(c);
  });
  rt.run_until_idle();
  EXPECT_EQ(mine, 0U);
  const std::size_t at = seen.find("'looks'");
  ASSERT_NE(at, std::string::npos) << seen;
  const std::string line = seen.substr(at, seen.find('\n', at) - at);
  EXPECT_TRUE(has(line, "being polled  polls 3")) << line;
  EXPECT_FALSE(has(line, " at ")) << line;
  EXPECT_FALSE(has(line, "spawned")) << line;
  EXPECT_TRUE(has(seen, way.text())) << seen;
}

TEST(sites, of_many_awaits_a_list_tells_eight_and_the_call_all) {
  struct ladder {
    static task<> climb(cx c, int more) {
      if (more == 0) {
        co_await sleep(hour);
      } else {
        co_await climb(c, more - 1);
      }
    }
  };
  for (const int depth : {7, 8, 100'000}) {
    runtime rt;
    auto made = spawn_in(rt.kernel(), rt.root(), {.name = "deep"}, ladder::climb, depth - 1);
    rt.run_until_idle();
    std::array<std::source_location, 3> room;
    EXPECT_EQ(await_sites(rt.kernel(), made.handle.task(), room), static_cast<std::size_t>(depth));
    EXPECT_NE(room[0].line(), room[1].line());
    EXPECT_EQ(room[1].line(), room[2].line());
    const std::string line = line_of(rt, "deep");
    const auto arrows = static_cast<std::size_t>(std::count(line.begin(), line.end(), '<'));
    EXPECT_EQ(arrows, std::min<std::size_t>(static_cast<std::size_t>(depth) - 1, 8)) << line;
    EXPECT_EQ(has(line, " < ...  polls"), depth > 8) << line;
  }
}

TEST(sites, are_told_to_programs_too) {
  runtime rt;
  trail way;
  auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
    way.below();
    co_await waits_and_gives(c, &way);
  });
  EXPECT_TRUE(has(describe_tree_json(rt.kernel()), "\"awaits\":[],\"site\":\"sites_test.cpp:"));
  rt.run_until_idle();
  std::string wanted = "\"awaits\":[";
  for (const std::uint32_t line : way.innermost_first()) wanted += "\"sites_test.cpp:" + std::to_string(line) + "\",";
  wanted.back() = ']';
  const std::string json = describe_tree_json(rt.kernel());
  EXPECT_TRUE(has(json, wanted + ",\"site\":")) << json;
  EXPECT_TRUE(has(describe_survivors(rt.kernel()), way.text())) << describe_survivors(rt.kernel());
  made.handle.drop();
  EXPECT_EQ(await_sites(rt.kernel(), task_handle{}, {}), 0U);
}

// lists change no event, with places neither.
TEST(sites, change_no_event) {
  const auto digest_of = [](bool looks) {
    runtime rt;
    trail way;
    auto made = spawn_in(rt.kernel(), rt.root(), {}, [&](cx c) -> task<> {
      static_cast<void>(co_await within(c, duration::seconds(1), waits_and_gives, &way));
      co_await waits_and_gives(c, &way);
    });
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(rt.advance(duration::milliseconds(300)), status::ok);
      rt.run_until_idle();
      const std::uint64_t hash = rt.kernel().state_hash();
      if (looks) {
        EXPECT_FALSE(describe_tree(rt.kernel()).empty());
      }
      EXPECT_EQ(rt.kernel().state_hash(), hash);
    }
    EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
    made.handle.drop();
    return rt.journal().digest();
  };
  EXPECT_EQ(digest_of(true), digest_of(false));
}

}  // namespace
}  // namespace asx
