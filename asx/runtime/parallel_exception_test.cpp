// Pieces that throw, on one thread: what comes out, that the other one is called all the same, and that nothing
// of what is not given out is left.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/runtime/parallel.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/runtime/testing/actor.hpp"

namespace asx {
namespace {

using testing::actor;

/// A value that counts how many of its kind there are, in a ledger of the test.
class counted {
 public:
  counted(int& alive, int number) noexcept : alive_(&alive), number_(number) { ++*alive_; }
  counted(counted&& other) noexcept : alive_(other.alive_), number_(std::exchange(other.number_, -1)) { ++*alive_; }
  counted(const counted& other) noexcept : alive_(other.alive_), number_(other.number_) { ++*alive_; }
  counted& operator=(counted&& other) noexcept {
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  counted& operator=(const counted&) noexcept = default;
  ~counted() { --*alive_; }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int* alive_;
  int number_;
};

/// `body(pieces&)` in a poll: on one worker, and on four virtual ones for a few seeds, which draw either order.
template <class F>
void everywhere(F body) {
  for (std::uint64_t seed = 0; seed < 17; ++seed) {
    SCOPED_TRACE(seed == 0 ? std::string("one worker") : "four workers, seed " + std::to_string(seed));
    runtime_config config;
    config.workers = seed == 0 ? 1 : 4;
    config.seed = seed;
    runtime rt(config);
    bool is_over = false;
    actor a{[&](cx& c) {
      EXPECT_EQ(parallel(c, [&](pieces& p) { return body(p), 1; }), 1);
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      is_over = true;
      return poll_result::ready;
    }};
    testing::must_spawn(rt, rt.root(), a);
    rt.run_until_idle();
    EXPECT_TRUE(is_over);
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
}

/// What `f` throws, as text; "nothing" when it does not.
template <class F>
std::string thrown_by(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  } catch (int number) {
    return std::to_string(number);
  }
  return "nothing";
}

TEST(parallel_exceptions, what_either_throws_comes_out_and_f_goes_before_g) {
  everywhere([](pieces& p) {
    for (int i = 0; i < 16; ++i) {
      const bool f_throws = i % 2 != 0;
      const bool g_throws = i / 2 % 2 != 0;
      std::string called;
      const std::string out = thrown_by([&] {
        p.both(
            [&] {
              called += 'f';
              if (f_throws) throw std::runtime_error("of f");
            },
            [&](pieces&) {
              called += 'g';
              if (g_throws) throw std::logic_error("of g");
            });
      });
      EXPECT_EQ(out, f_throws ? "of f" : g_throws ? "of g" : "nothing");
      EXPECT_TRUE(called == "fg" || called == "gf") << called << ": the other one is called all the same";
    }
  });
}

TEST(parallel_exceptions, what_the_other_one_returned_is_destroyed_once) {
  everywhere([](pieces& p) {
    for (int i = 0; i < 16; ++i) {
      const bool f_throws = i % 2 != 0;
      const bool g_throws = i / 2 % 2 != 0;
      int alive = 0;
      int made = 0;
      const auto makes = [&](bool throws, int number) {
        const counted inside(alive, number);  // Of the frame that the exception leaves.
        if (throws) throw number;
        ++made;
        return counted(alive, number);
      };
      const std::string out = thrown_by([&] {
        const auto two = p.both([&] { return makes(f_throws, 1); }, [&](pieces&) { return makes(g_throws, 2); });
        EXPECT_EQ(two.first.number(), 1);
        EXPECT_EQ(two.second.number(), 2);
        EXPECT_EQ(alive, 2) << "nothing besides what was given";
      });
      EXPECT_EQ(out, f_throws ? "1" : g_throws ? "2" : "nothing");
      EXPECT_EQ(made, (f_throws ? 0 : 1) + (g_throws ? 0 : 1));
      EXPECT_EQ(alive, 0);
    }
  });
}

TEST(parallel_exceptions, an_exception_that_is_not_given_out_is_destroyed) {
  everywhere([](pieces& p) {
    for (int i = 0; i < 4; ++i) {
      int alive = 0;
      try {
        p.both([&] { throw counted(alive, 1); }, [&] { throw counted(alive, 2); });
        ADD_FAILURE() << "both throw";
      } catch (const counted& out) {
        EXPECT_EQ(out.number(), 1);
        EXPECT_EQ(alive, 1) << "that of g is gone";
      }
      EXPECT_EQ(alive, 0);
    }
  });
}

// The pieces below are over before what one of them throws goes on.
TEST(parallel_exceptions, whoever_is_below_has_ended_before_it_comes_out) {
  everywhere([](pieces& p) {
    for (int i = 0; i < 8; ++i) {
      int under_way = 0;
      int called = 0;
      struct stay {
        int* of;
        explicit stay(int& n) : of(&n) { ++n; }
        stay(const stay&) = delete;
        stay& operator=(const stay&) = delete;
        ~stay() { --*of; }
      };
      const auto works = [&](pieces& in) {
        const stay here(under_way);
        in.both([&] { ++called; }, [&] { ++called; });
      };
      const auto throws = [&](pieces& in) {
        const stay here(under_way);
        in.both([&]() { throw std::runtime_error("deep"); }, works);
      };
      EXPECT_EQ(thrown_by([&] { p.both([&](pieces& in) { in.both(throws, works); }, works); }), "deep");
      EXPECT_EQ(under_way, 0);
      EXPECT_EQ(called, 6) << "three work, whoever throws beside them";
    }
  });
}

// ---- trees: of all that throw, the leftmost is heard ----------------------------------------------------------------

/// Calls every leaf of [first, last), of which some throw their number.
int sums(pieces& p, std::vector<int>& calls, const std::vector<bool>& throws, std::size_t first, std::size_t last) {
  if (last - first == 1) {
    ++calls[first];
    if (throws[first]) throw static_cast<int>(first);
    return static_cast<int>(first);
  }
  const std::size_t middle = first + (last - first) / 2;
  const auto [a, b] = p.both([&, first, middle](pieces& in) { return sums(in, calls, throws, first, middle); },
                             [&, middle, last](pieces& in) { return sums(in, calls, throws, middle, last); });
  return a + b;
}

/// Bit i of `which`: leaf i throws.
std::vector<bool> some_of(std::size_t n, std::uint64_t which) {
  std::vector<bool> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = (which >> i & 1U) != 0;
  return out;
}

TEST(parallel_exceptions, of_a_tree_the_leftmost_comes_out_and_every_leaf_was_called) {
  everywhere([](pieces& p) {
    for (std::size_t n = 1; n <= 6; ++n) {
      for (std::uint64_t which = 0; which < std::uint64_t{1} << n; ++which) {
        std::vector<int> calls(n);
        const std::vector<bool> throws = some_of(n, which);
        std::size_t leftmost = 0;
        while (leftmost < n && !throws[leftmost]) ++leftmost;
        const std::string out =
            thrown_by([&] { EXPECT_EQ(sums(p, calls, throws, 0, n), static_cast<int>(n * (n - 1) / 2)); });
        EXPECT_EQ(out, leftmost == n ? "nothing" : std::to_string(leftmost)) << n << " leaves, " << which;
        EXPECT_EQ(calls, std::vector<int>(n, 1)) << n << " leaves, " << which;
      }
    }
  });
}

// ---- each and reduce ------------------------------------------------------------------------------------------------

/// How often `each` visits every index when some throw: a run ends where it throws, the others do not.
void plain_visits(std::vector<int>& visits, const std::vector<bool>& throws, std::size_t first, std::size_t last,
                  std::size_t grain) {
  if (last - first <= grain) {
    for (std::size_t i = first; i < last; ++i) {
      ++visits[i];
      if (throws[i]) return;
    }
    return;
  }
  const std::size_t middle = first + (last - first) / 2;
  plain_visits(visits, throws, first, middle, grain);
  plain_visits(visits, throws, middle, last, grain);
}

TEST(parallel_exceptions, each_throws_what_the_leftmost_throws_and_ends_no_other_run) {
  everywhere([](pieces& p) {
    for (std::size_t n = 0; n <= 12; n += 3) {
      for (std::size_t grain = 0; grain <= 4; ++grain) {
        for (std::uint64_t draw = 0; draw < 24; ++draw) {
          splitmix64 bits(draw);
          const std::uint64_t one = bits.next();
          const std::vector<bool> throws = some_of(n, one & bits.next());
          std::vector<int> expected(n);
          plain_visits(expected, throws, 0, n, grain == 0 ? 1 : grain);
          std::size_t leftmost = 0;
          while (leftmost < n && !throws[leftmost]) ++leftmost;
          std::vector<int> visits(n);
          const std::string out = thrown_by([&] {
            p.each(n, grain, [&](std::size_t i) {
              ++visits[i];
              if (throws[i]) throw std::out_of_range(std::to_string(i));
            });
          });
          EXPECT_EQ(out, leftmost == n ? "nothing" : std::to_string(leftmost)) << "n " << n << ", grain " << grain;
          EXPECT_EQ(visits, expected) << "n " << n << ", grain " << grain;
        }
      }
    }
  });
}

TEST(parallel_exceptions, reduce_leaves_no_part_of_a_sum_behind) {
  everywhere([](pieces& p) {
    for (std::size_t n = 1; n <= 9; ++n) {
      for (std::size_t grain = 1; grain <= 3; ++grain) {
        for (std::size_t bad = 0; bad <= n; ++bad) {  // At n nobody throws.
          int alive = 0;
          const counted zero(alive, 0);
          const std::string out = thrown_by([&] {
            const counted sum = p.reduce(
                n, grain, zero,
                [&](std::size_t i) {
                  if (i == bad) throw std::runtime_error("of");
                  return counted(alive, static_cast<int>(i));
                },
                [&](counted a, const counted& b) { return counted(alive, a.number() + b.number()); });
            EXPECT_EQ(sum.number(), static_cast<int>(n * (n - 1) / 2));
          });
          EXPECT_EQ(out, bad == n ? "nothing" : "of");
          EXPECT_EQ(alive, 1) << "zero alone: n " << n << ", grain " << grain << ", index " << bad;
        }
        for (int fuse = 0; fuse < 20; ++fuse) {
          int alive = 0;
          int left = fuse;
          const counted zero(alive, 0);
          static_cast<void>(thrown_by([&] {
            static_cast<void>(p.reduce(
                n, grain, zero, [&](std::size_t i) { return counted(alive, static_cast<int>(i)); },
                [&](counted a, const counted& b) {
                  if (left-- == 0) throw std::runtime_error("with");
                  return counted(alive, a.number() + b.number());
                }));
          }));
          EXPECT_EQ(alive, 1) << "zero alone: n " << n << ", grain " << grain << ", join " << fuse;
        }
      }
    }
  });
}

// ---- exceptions in hand, and what comes of one that leaves the poll -------------------------------------------------

TEST(parallel_exceptions, pieces_may_throw_and_catch_while_one_is_handled) {
  everywhere([](pieces& p) {
    try {
      throw std::runtime_error("outer");
    } catch (const std::exception& outer) {
      const auto catches = [](pieces& in) {
        EXPECT_EQ(thrown_by([&] { in.both([] {}, [] { throw std::logic_error("inner"); }); }), "inner");
        return 1;
      };
      EXPECT_EQ(p.both(catches, catches), std::pair(1, 1));
      EXPECT_STREQ(outer.what(), "outer");
      EXPECT_EQ(thrown_by([] { throw; }), "outer") << "whichever is being handled";
    }
  });
}

TEST(parallel_exceptions, one_that_comes_out_can_be_answered_and_the_next_both_is_as_any) {
  everywhere([](pieces& p) {
    int sum = 0;
    for (int i = 0; i < 50; ++i) {
      try {
        p.both([&] { sum += 1; }, [&] { throw i; });
      } catch (int number) {
        EXPECT_EQ(number, i);
        sum += p.both([] { return 2; }, [] { return 3; }).second;
      }
    }
    EXPECT_EQ(sum, 50 * 4);
  });
}

TEST(parallel_exceptions, a_move_that_throws_comes_out_as_if_its_function_had) {
  struct throws_when_moved {
    int* alive;
    explicit throws_when_moved(int& n) : alive(&n) { ++n; }
    throws_when_moved(throws_when_moved&& other)
        : alive(other.alive) {  // NOLINT(performance-noexcept-move-constructor)
      if (alive != nullptr) throw std::runtime_error("moved");
    }
    throws_when_moved(const throws_when_moved&) = delete;
    throws_when_moved& operator=(throws_when_moved&&) = delete;
    throws_when_moved& operator=(const throws_when_moved&) = delete;
    ~throws_when_moved() { --*alive; }
  };
  everywhere([](pieces& p) {
    int alive = 0;
    int called = 0;
    const auto makes = [&] { return ++called, throws_when_moved(alive); };
    EXPECT_EQ(thrown_by([&] { static_cast<void>(p.both(makes, [&] { return ++called; })); }), "moved");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(p.both([&] { return ++called; }, makes)); }), "moved");
    EXPECT_EQ(called, 4);
    EXPECT_EQ(alive, 0);
  });
}

TEST(parallel_exceptions, one_that_leaves_the_poll_is_the_tasks_panic) {  // R-331, U-14
  for (const std::uint32_t workers : {1U, 4U}) {
    runtime_config config;
    config.workers = workers;
    config.seed = 3;
    runtime rt(config);
    int called = 0;
    actor a{[&](cx& c) {
      parallel(c, [&](pieces& p) {
        p.each(20, 1, [&](std::size_t i) {
          ++called;
          if (i % 5 == 3) throw std::runtime_error("of index " + std::to_string(i));
        });
      });
      return poll_result::ready;
    }};
    const task_handle t = testing::must_spawn(rt, rt.root(), a, true);
    rt.run_until_idle();
    task_outcome out;
    ASSERT_EQ(rt.kernel().result(t, out), status::ok);
    ASSERT_TRUE(out.is_panicked());
    EXPECT_EQ(out.panic().text, "of index 3");
    EXPECT_EQ(called, 20);
    EXPECT_EQ(rt.kernel().release_task(t), status::ok);
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
}

}  // namespace
}  // namespace asx
