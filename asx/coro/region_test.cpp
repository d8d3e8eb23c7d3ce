// Region blocks: nothing outlives the line that started it. as users meet them.
#include "asx/coro/region.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asx/coro/chan.hpp"
#include "asx/coro/combine.hpp"
#include "asx/coro/testing/lives.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::book_of_lives;
using testing::expect_legal;
using testing::life;
using testing::nothing_left;
using testing::outcome_of;

task<> sleeps(cx, duration d, int* ended) {
  co_await sleep(d);
  ++*ended;
}
task<> fails_after(cx, duration d, status code) {
  co_await sleep(d);
  co_await fail(code, 8);
}

TEST(coro_region, gives_the_value_of_the_body_when_every_child_has_ended) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    int ended = 0;
    const int got = co_await region(c, {.name = "block"}, [&](cx r) -> task<int> {
      for (std::uint64_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(spawn(r, sleeps, duration::seconds(i), &ended).code, status::ok);
      }
      co_return 5;
    });
    EXPECT_EQ(ended, 3);
    EXPECT_EQ(c.now(), instant{3'000'000'000});
    co_return got;
  });
  EXPECT_EQ(out.value(), 5);
  before.check();
  expect_legal(rt);
}

TEST(coro_region, hands_its_name_to_everything_in_it) {
  runtime rt;
  std::vector<std::string> paths;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {.name = "server"},
      [](cx c, std::vector<std::string>* to) -> task<> {
        to->push_back(path_of(c));
        co_await region(c, {.name = "connection 7"}, [to](cx r) -> task<> {
          co_await region(r, [to](cx rr) -> task<> {
            const auto reads = [](cx own, std::vector<std::string>* log) -> task<> {
              log->push_back(path_of(own));
              co_return;
            };
            EXPECT_EQ(spawn(rr, {.name = "reader"}, reads, to).code, status::ok);
            co_return;
          });
        });
      },
      &paths);
  rt.run_until_quiescent();
  EXPECT_EQ(paths, (std::vector<std::string>{"root/server", "root/connection 7/region 3/reader"}));
}

// Goal: a block is lazy, and what it was called with may be gone when it is awaited.
TEST(coro_region, has_its_name_though_the_text_is_gone_when_it_is_awaited) {
  runtime rt;
  std::string path;
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx c, std::string* to) -> task<> {
        std::string called = "connection 7";
        auto block = region(c, {.name = called}, [to](cx r) -> task<> {
          *to = path_of(r);
          co_return;
        });
        called.assign(called.size(), '?');
        co_await std::move(block);
      },
      &path);
  rt.run_until_quiescent();
  EXPECT_EQ(path, "root/connection 7/connection 7");
}

TEST(coro_region, gives_what_can_only_be_moved_and_takes_arguments) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto got = co_await region(
        c,
        [](cx, std::unique_ptr<int> n, const std::string& text) -> task<std::unique_ptr<std::string>> {
          co_await yield();
          co_return std::make_unique<std::string>(text + std::to_string(*n));
        },
        std::make_unique<int>(7), std::string("seven "));
    EXPECT_EQ(*got, "seven 7");
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_region, closes_at_the_first_failure_and_answers_with_it) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  const auto out = outcome_of(
      rt,
      [](cx c, book_of_lives* b) -> task<int> {
        int ended = 0;
        const outcome<int> how = co_await attempt(region(c, [&](cx r) -> task<int> {
          const life body(*b, 1);
          EXPECT_EQ(spawn(r, sleeps, duration::hours(1), &ended).code, status::ok);
          EXPECT_EQ(spawn(r, fails_after, duration::seconds(1), status::corrupt).code, status::ok);
          EXPECT_EQ(spawn(r, fails_after, duration::seconds(2), status::full).code, status::ok);
          co_await sleep(duration::hours(1));
          co_return 1;
        }));
        EXPECT_EQ(ended, 0);
        EXPECT_TRUE(how.is_err());
        EXPECT_EQ(how.error(), (error{status::corrupt, 8}));
        EXPECT_EQ(c.now(), instant{1'000'000'000});
        EXPECT_TRUE(b->is_balanced());
        co_await region(c, [](cx) -> task<> { co_await fail(status::would_block, 3); });
        co_return 1;
      },
      &book);
  ASSERT_TRUE(out.is_err()) << "without attempt it ends whoever awaits";
  EXPECT_EQ(out.error(), (error{status::would_block, 3}));
  before.check();
  expect_legal(rt);
}

TEST(coro_region, lets_the_others_go_on_under_supervision) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    int ended = 0;
    const auto how = co_await attempt(region(c, {.policy = region_policy::supervise}, [&](cx r) -> task<> {
      EXPECT_EQ(spawn(r, fails_after, duration::seconds(1), status::corrupt).code, status::ok);
      EXPECT_EQ(spawn(r, sleeps, duration::seconds(5), &ended).code, status::ok);
      co_return;
    }));
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(c.now(), instant{5'000'000'000});
    EXPECT_TRUE(how.is_err());
    EXPECT_EQ(how.error().code, status::corrupt) << "the worst outcome";
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

TEST(coro_region, panics_whoever_awaits_a_child_that_panicked) {
  for (const region_policy policy : {region_policy::fail_fast, region_policy::supervise}) {
    runtime rt;
    const nothing_left before(rt);
    {
      auto made = spawn_in(
          rt.kernel(), rt.root(), {},
          [](cx c, region_policy p) -> task<int> {
            const outcome<unit> how = co_await attempt(region(c, {.policy = p}, [](cx r) -> task<> {
              const auto panics = [](cx own) -> task<> {
                own.panic("a child is wrong");
                co_return;
              };
              EXPECT_EQ(spawn(r, panics).code, status::ok);
              co_await sleep(duration::seconds(1));
            }));
            EXPECT_TRUE(how.is_panicked());
            EXPECT_EQ(how.panic().text, "a child is wrong");
            co_await region(c, [](cx own) -> task<> {
              own.panic("the body is wrong");
              co_return;
            });
            co_return 1;
          },
          policy);
      rt.run_until_quiescent();
      outcome<int> out;
      ASSERT_EQ(made.handle.take(out), status::ok);
      ASSERT_TRUE(out.is_panicked()) << name(out.kind());
      EXPECT_EQ(out.panic().text, "the body is wrong") << "through blocks and tasks";
    }
    before.check();
  }
}

// a panic in the cleanup of a block that was cancelled is told as one, and not as the cancel.
TEST(coro_region, cancelled_still_tells_the_panic_of_a_child) {
  runtime rt;
  const nothing_left before(rt);
  {
    auto made = spawn_in(rt.kernel(), rt.root(), {}, [](cx c) -> task<> {
      co_await region(c, [](cx r) -> task<> {
        const auto child = [](cx own) -> task<> {
          static_cast<void>(co_await attempt(sleep(duration::hours(1))));
          own.panic("the goodbye is wrong");
        };
        EXPECT_EQ(spawn(r, child).code, status::ok);
        co_await sleep(duration::hours(1));
      });
    });
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel(), status::ok);
    rt.run_until_quiescent();
    outcome<unit> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    ASSERT_TRUE(out.is_panicked()) << name(out.kind());
    EXPECT_EQ(out.panic().text, "the goodbye is wrong");
  }
  before.check();
}

// A child that was cancelled alone has not failed, but the block is not ok either.
TEST(coro_region, is_cancelled_by_a_child_that_was_and_never_pretends_to_be_ok) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    const auto block = [](cx cc) -> task<int> {
      return region(cc, [](cx r) -> task<int> {
        int ended = 0;
        auto child = spawn(r, sleeps, duration::hours(1), &ended);
        co_await yield();
        EXPECT_EQ(child.handle.cancel(), status::ok);
        EXPECT_TRUE((co_await join(child.handle)).is_cancelled());
        co_return 5;
      });
    };
    const outcome<int> how = co_await attempt(block(c));
    EXPECT_TRUE(how.is_cancelled());
    EXPECT_EQ(c.checkpoint(), status::ok) << "this one was not";
    co_return co_await block(c);
  });
  ASSERT_TRUE(out.is_err()) << name(out.kind());
  EXPECT_EQ(out.error().code, status::cancelled);
}

TEST(coro_region, closes_and_drains_before_a_cancelled_task_goes_on) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, book_of_lives* b) -> task<int> {
          const life outer(*b, 1);
          co_await region(c, [b](cx r) -> task<> {
            const life body(*b, 2);
            const auto cleans = [](cx own, book_of_lives* bb) -> task<> {
              const life child(*bb, 3);
              static_cast<void>(co_await attempt(sleep(duration::hours(1))));
              EXPECT_EQ(own.mask_enter(), status::ok);
              co_await sleep(duration::seconds(2));  // A goodbye that takes its time.
              own.mask_leave();
            };
            EXPECT_EQ(spawn(r, cleans, b).code, status::ok);
            co_await sleep(duration::hours(1));
          });
          ADD_FAILURE() << "a cancelled task ends at its block";
          co_return 1;
        },
        &book);
    rt.run_until_idle();
    EXPECT_EQ(book.alive.size(), 3U);
    EXPECT_EQ(made.handle.cancel(), status::ok);
    rt.run_until_idle();
    EXPECT_EQ(book.alive, (std::vector<int>{1, 3})) << "the parent waits for the goodbye";
    EXPECT_FALSE(made.handle.is_done());
    rt.run_until_quiescent();
    EXPECT_EQ(rt.now(), instant{2'000'000'000});
    EXPECT_EQ(book.deaths, (std::vector<int>{2, 3, 1}));
    outcome<int> out;
    ASSERT_EQ(made.handle.take(out), status::ok);
    EXPECT_TRUE(out.is_cancelled());
  }
  before.check();
  expect_legal(rt);
}

TEST(coro_region, starts_nothing_for_a_task_that_is_cancelled_already) {
  runtime rt;
  const nothing_left before(rt);
  int started = 0;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, int* n) -> task<> {
          static_cast<void>(co_await attempt(sleep(duration::hours(1))));
          co_await region(c, [n](cx) -> task<> {
            ++*n;
            co_await sleep(duration::hours(1));
          });
        },
        &started);
    rt.run_until_idle();
    EXPECT_EQ(made.handle.cancel(), status::ok);
    rt.run_until_quiescent();
    EXPECT_TRUE(made.handle.is_done());
  }
  EXPECT_EQ(started, 0);
  EXPECT_EQ(rt.now(), instant{});
  before.check();
}

// R-135, and what the address sanitizer sees: the parent's quota is spent while children still write into its frame.
TEST(coro_region, keeps_the_frame_of_a_parent_that_overran_until_its_children_are_gone) {
  runtime rt;
  const nothing_left before(rt);
  book_of_lives book;
  {
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, book_of_lives* b) -> task<> {
          std::vector<std::uint64_t> written(1000);
          const life outer(*b, 1);
          co_await region(c, [&written, b](cx r) -> task<> {
            const auto stubborn = [](cx own, std::vector<std::uint64_t>* to, book_of_lives* bb, int n) -> task<> {
              const life child(*bb, n);
              EXPECT_EQ(own.mask_enter(), status::ok);
              for (std::size_t i = 0;; ++i) {
                (*to)[i % to->size()] += 1;
                co_await yield();
              }
            };
            for (int i = 0; i < 3; ++i) EXPECT_EQ(spawn(r, stubborn, &written, b, 10 + i).code, status::ok);
            for (std::size_t i = 0;; ++i) {
              written[i % written.size()] += 1;
              co_await yield();
            }
          });
        },
        &book);
    rt.run_until_quiescent(50);
    EXPECT_EQ(made.handle.cancel({cancel_kind::shutdown, {}}), status::ok);
    EXPECT_EQ(rt.run_until_quiescent(100'000).ended, status::ok);
    EXPECT_TRUE(made.handle.is_done());
  }
  EXPECT_TRUE(book.is_balanced());
  EXPECT_EQ(book.deaths.back(), 1) << "the parent's frame went last";
  before.check();
  expect_legal(rt);
}

TEST(coro_region, nests_and_each_block_ends_before_the_one_around_it) {
  runtime rt;
  const nothing_left before(rt);
  std::vector<int> order;
  const auto out = outcome_of(
      rt,
      [](cx c, std::vector<int>* log) -> task<int> {
        co_return co_await region(c, [log](cx r) -> task<int> {
          const auto child = [](cx cc, std::vector<int>* to, int n) -> task<> {
            co_await region(cc, [to, n](cx rr) -> task<> {
              const auto grandchild = [](cx, std::vector<int>* t, int m) -> task<> {
                co_await sleep(duration::seconds(static_cast<std::uint64_t>(m)));
                t->push_back(m);
              };
              EXPECT_EQ(spawn(rr, grandchild, to, n).code, status::ok);
              co_return;
            });
            to->push_back(10 * n);
          };
          EXPECT_EQ(spawn(r, child, log, 1).code, status::ok);
          EXPECT_EQ(spawn(r, child, log, 2).code, status::ok);
          log->push_back(0);
          co_return 3;
        });
      },
      &order);
  EXPECT_EQ(out.value(), 3);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 10, 2, 20}));
  before.check();
}

TEST(coro_region, runs_finalizers_before_the_await_is_over) {
  runtime rt;
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    std::vector<int> order;
    co_await region(c, [&](cx r) -> task<> {
      const finalizer_function run = [](void* log, region_handle, kernel&) {
        static_cast<std::vector<int>*>(log)->push_back(2);
        return status::ok;
      };
      EXPECT_EQ(r.kernel().add_finalizer(r.region(), run, &order), status::ok);
      co_await sleep(duration::seconds(1));
      order.push_back(1);
    });
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    co_return 1;
  });
  EXPECT_EQ(out.value(), 1);
}

// Law 7, R-350: neither its cancel nor its limit would reach a block of another task.
TEST(coro_region, given_the_cx_of_another_task_starts_nothing_and_says_so) {
  using wrong_block = task<> (*)(cx, cx, int*);
  const wrong_block all[] = {
      [](cx, cx outer, int* n) -> task<> { co_await region(outer, sleeps, duration::hours(1), n); },
      [](cx, cx outer, int* n) -> task<> {
        co_await with_timeout(outer, duration::seconds(1), sleeps, duration::hours(1), n);
      },
      [](cx, cx outer, int* n) -> task<> {
        const auto child = [n](cx own) { return sleeps(own, duration::hours(1), n); };
        static_cast<void>(co_await race(outer, child));
      },
      [](cx, cx outer, int* n) -> task<> {
        const auto child = [n](cx own) { return sleeps(own, duration::hours(1), n); };
        static_cast<void>(co_await join_all(outer, child));
      },
      [](cx, cx outer, int* n) -> task<> {
        const auto child = [n](cx own) { return sleeps(own, duration::hours(1), n); };
        static_cast<void>(co_await quorum(outer, 1, child));
      },
      [](cx, cx outer, int* n) -> task<> {
        const auto child = [n](cx own, int) { return sleeps(own, duration::hours(1), n); };
        const std::vector<int> items{1};
        co_await for_each(outer, items, 1, child);
      },
  };
  for (const wrong_block& wrong : all) {
    SCOPED_TRACE(&wrong - all);
    runtime rt;
    const nothing_left before(rt);
    {
      int ended = 0;
      auto made = spawn_in(rt.kernel(), rt.root(), {}, [wrong, &ended](cx outer) -> task<> {
        auto inner = co_await start(outer, wrong, outer, &ended);
        const auto how = co_await join(inner);
        EXPECT_TRUE(how.is_panicked());
        if (!how.is_panicked()) co_return;
        EXPECT_TRUE(how.panic().text.starts_with("a block was given the cx of another task")) << how.panic().text;
      });
      rt.run_until_quiescent();
      EXPECT_TRUE(made.handle.is_done());
      EXPECT_EQ(ended, 0);
      EXPECT_EQ(rt.now(), instant{}) << "nobody slept";
    }
    before.check();
  }
}

task<int> block(cx c, book_of_lives* book, region_options how) {
  co_return co_await region(
      c, how,
      [](cx, life) -> task<int> {
        co_await yield();
        co_return 1;
      },
      life(*book, 1));
}

TEST(coro_region, refused_starts_nothing_and_says_why) {
  book_of_lives book;
  {
    runtime_config config;
    config.contract.max_regions = 1;  // The root.
    runtime rt(config);
    const auto out = outcome_of(rt, block, &book, region_options{});
    ASSERT_TRUE(out.is_err());
    EXPECT_EQ(out.error().code, status::resource_exhausted);
  }
  {
    runtime rt;
    const nothing_left before(rt);
    const auto out = outcome_of(rt, block, &book, region_options{.max_tasks = 0});
    ASSERT_TRUE(out.is_err()) << "the region was made, and its body was refused";
    EXPECT_EQ(out.error().code, status::resource_exhausted);
    before.check();
  }
  {
    runtime rt;
    status code = status::ok;
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx c, book_of_lives* b, status* to) -> task<> {
          static_cast<void>(co_await attempt(sleep(duration::hours(1))));
          EXPECT_EQ(c.mask_enter(), status::ok);
          const outcome<int> how = co_await attempt(block(c, b, region_options{}));
          if (how.is_err()) *to = how.error().code;
        },
        &book, &code);
    rt.run_until_idle();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    EXPECT_EQ(code, status::region_not_open);
  }
  EXPECT_TRUE(book.is_balanced());
}

TEST(coro_region, leaves_nothing_behind_after_a_thousand_blocks) {
  runtime rt;
  const nothing_left before(rt);
  const auto out = outcome_of(rt, [](cx c) -> task<int> {
    int ended = 0;
    const std::uint64_t used = c.kernel().nominal_used();
    const std::uint64_t regions = c.kernel().live_regions();
    for (int i = 0; i < 1000; ++i) {
      const outcome<unit> how = co_await attempt(region(c, [&ended, i](cx r) -> task<> {
        EXPECT_EQ(spawn(r, sleeps, duration::milliseconds(1), &ended).code, status::ok);
        if (i % 3 == 1) co_await fail(status::corrupt);
        if (i % 3 == 2) co_await sleep(duration::milliseconds(2));
      }));
      EXPECT_EQ(how.is_err(), i % 3 == 1);
    }
    EXPECT_EQ(c.kernel().nominal_used(), used);
    EXPECT_EQ(c.kernel().live_regions(), regions);
    co_return ended;
  });
  EXPECT_EQ(out.value(), 667);
  before.check();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

}  // namespace
}  // namespace asx
