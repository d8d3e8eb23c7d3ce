// Pieces on one thread, in virtual time and by virtual workers: what is called, in which order, and what comes of it.
// The laws are those of asx/runtime/parallel.hpp, R-330 and.
#include "asx/runtime/parallel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/journal/event.hpp"
#include "asx/kernel/extension.hpp"
#include "asx/runtime/metrics.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/runtime/testing/actor.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::actor;
using testing::events_of;
using testing::expect_legal;

runtime_config crew(std::uint32_t workers, std::uint64_t seed = 0) {
  runtime_config c;
  c.workers = workers;
  c.seed = seed;
  return c;
}

/// `body(cx)` as one poll of a task of a runtime of its own.
template <class F>
void in_a_poll(const runtime_config& config, F body) {
  runtime rt(config);
  ASSERT_EQ(rt.start_status(), status::ok);
  int polls = 0;
  actor a{[&](cx& c) {
    ++polls;
    body(c);
    return poll_result::ready;
  }};
  testing::must_spawn(rt, rt.root(), a);
  rt.run_until_idle();
  EXPECT_EQ(polls, 1);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}
/// The same, with pieces: on one worker, and on four virtual ones for a few seeds.
template <class F>
void everywhere(F body) {
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    SCOPED_TRACE(seed == 0 ? std::string("one worker") : "four workers, seed " + std::to_string(seed));
    in_a_poll(crew(seed == 0 ? 1 : 4, seed), [&](cx& c) { parallel(c, [&](pieces& p) { body(p); }); });
  }
}

/// Where the halves of [first, last) meet.
std::size_t middle_of(std::size_t first, std::size_t last) {
  return first + (last - first) / 2;
}

// ---- each is called once -------------------------------------------------------------------------------------

TEST(parallel, gives_what_the_function_returns_and_is_over_when_it_is) {
  in_a_poll(crew(1), [](cx& c) {
    int calls = 0;
    EXPECT_EQ(parallel(c, [&](pieces&) { return ++calls; }), 1);
    parallel(c, [&](pieces&) { ++calls; });
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(*parallel(c, [](pieces&) { return std::make_unique<int>(5); }), 5);
    int there = 7;
    auto&& same = parallel(c, [&](pieces&) -> int& { return there; });
    EXPECT_EQ(&same, &there) << "a reference is given as one";
    static_assert(std::is_void_v<decltype(parallel(c, [](pieces&) {}))>);
    const auto constant = [](pieces&) { return std::string("constant"); };
    EXPECT_EQ(parallel(c, constant), "constant");
  });
}

TEST(parallel, f_is_called_before_g_on_one_worker_and_each_once) {
  in_a_poll(crew(1), [](cx& c) {
    std::string order;
    parallel(c, [&](pieces& p) {
      for (int i = 0; i < 3; ++i) {
        p.both([&] { order += 'f'; }, [&] { order += 'g'; });
        order += '.';
      }
    });
    EXPECT_EQ(order, "fg.fg.fg.") << "both is over when both have ended";
  });
}

TEST(parallel, both_in_both_is_called_from_left_to_right_on_one_worker) {
  in_a_poll(crew(1), [](cx& c) {
    std::string order;
    const auto says = [&](char who) { return [&order, who] { order += who; }; };
    parallel(c, [&](pieces& p) {
      p.both(
          [&](pieces& left) {
            left.both(says('a'), [&](pieces& in) { in.both(says('b'), says('c')); });
            order += '-';
            left.both(says('d'), says('e'));
          },
          [&](pieces& right) { right.both([&](pieces& in) { in.both(says('f'), says('g')); }, says('h')); });
    });
    EXPECT_EQ(order, "abc-defgh");
  });
}

TEST(parallel, both_is_over_when_both_have_returned_in_either_order) {
  everywhere([](pieces& p) {
    for (int i = 0; i < 20; ++i) {
      int begun = 0;
      int over = 0;
      const auto works = [&](pieces& mine) {
        ++begun;
        mine.both([] {}, [] {});
        EXPECT_EQ(begun - over, 1) << "one goes on at a time on one thread";
        ++over;
      };
      p.both(works, works);
      EXPECT_EQ(begun, 2);
      EXPECT_EQ(over, 2);
    }
  });
}

// ---- what is returned, and with what it is called ------------------------------------------------------------

int seven() {
  return 7;
}
int counts(pieces& p) {
  const auto two = p.both(seven, &seven);
  return two.first + two.second;
}

struct only_of_an_lvalue {
  int calls = 0;
  int operator()() & { return ++calls; }
};
struct only_as_it_is {
  int operator()(pieces&) const { return 11; }
};

TEST(parallel, both_gives_a_pair_of_what_they_return) {
  everywhere([](pieces& p) {
    const auto numbers = p.both([] { return 1; }, [](pieces&) { return 2L; });
    static_assert(std::is_same_v<decltype(numbers), const std::pair<int, long>>);
    EXPECT_EQ(numbers, std::pair(1, 2L));
    auto [text, owned] = p.both([](pieces&) { return std::string("first"); }, [] { return std::make_unique<int>(2); });
    EXPECT_EQ(text, "first");
    EXPECT_EQ(*owned, 2);
    const auto nested = p.both([](pieces& in) { return in.both(seven, [] { return std::vector<int>{1, 2}; }); },
                               [](pieces& in) { return in.both(counts, counts); });
    EXPECT_EQ(nested.first.first, 7);
    EXPECT_EQ(nested.first.second, (std::vector<int>{1, 2}));
    EXPECT_EQ(nested.second, std::pair(14, 14));
    static_assert(std::is_void_v<decltype(p.both([] {}, [](pieces&) {}))>, "nothing when neither returns anything");
  });
}

// Neither copied nor made of nothing, and moved without leave to throw.
struct heavy {
  explicit heavy(int n) noexcept : number(n) {}
  heavy(heavy&& other) noexcept : number(std::exchange(other.number, 0)) {}
  heavy(const heavy&) = delete;
  heavy& operator=(heavy&&) = delete;
  heavy& operator=(const heavy&) = delete;
  ~heavy() = default;
  int number;
};

TEST(parallel, values_that_are_only_moved_and_never_made_of_nothing_are_given) {
  everywhere([](pieces& p) {
    const auto two = p.both([] { return heavy(3); }, [](pieces&) { return heavy(4); });
    EXPECT_EQ(two.first.number, 3);
    EXPECT_EQ(two.second.number, 4);
    EXPECT_EQ(p.both([] { return true; }, [] { return false; }), std::pair(true, false));
    enum class colour : std::uint8_t { red, green };
    EXPECT_EQ(p.both([] { return colour::green; }, [] { return nullptr; }).first, colour::green);
  });
}

TEST(parallel, whatever_can_be_called_is_a_piece) {
  everywhere([](pieces& p) {
    only_of_an_lvalue counter;
    const only_as_it_is constant;
    EXPECT_EQ(p.both(counter, constant), std::pair(1, 11));
    EXPECT_EQ(p.both(constant, counter), std::pair(11, 2));
    EXPECT_EQ(counter.calls, 2) << "it is called where it lies, not a copy of it";
    EXPECT_EQ(p.both(only_of_an_lvalue{}, only_of_an_lvalue{}), std::pair(1, 1));
    std::function<int(pieces&)> held = counts;
    EXPECT_EQ(p.both(held, std::function<int()>(seven)), std::pair(14, 7));
    EXPECT_EQ(p.both([n = 0]() mutable { return ++n; }, [owned = std::make_unique<int>(9)] { return *owned; }),
              std::pair(1, 9));
  });
}

// ---- deep and wide -------------------------------------------------------------------------------------------

std::uint64_t plain_fib(unsigned n) {
  return n < 2 ? n : plain_fib(n - 1) + plain_fib(n - 2);
}
std::uint64_t fib(pieces& p, unsigned n) {
  if (n < 2) return n;
  const auto [a, b] = p.both([n](pieces& in) { return fib(in, n - 1); }, [n](pieces& in) { return fib(in, n - 2); });
  return a + b;
}

TEST(parallel, a_tree_of_thousands_of_pieces_computes_what_plain_calls_do) {
  everywhere([](pieces& p) {
    for (const unsigned n : {0U, 1U, 2U, 7U, 16U}) EXPECT_EQ(fib(p, n), plain_fib(n)) << n;
  });
}

std::uint64_t leans_left(pieces& p, std::uint64_t depth) {
  if (depth == 0) return 0;
  const auto [below, here] =
      p.both([depth](pieces& in) { return leans_left(in, depth - 1); }, [depth] { return depth; });
  return below + here;
}
std::uint64_t leans_right(pieces& p, std::uint64_t depth) {
  if (depth == 0) return 0;
  const auto [here, below] =
      p.both([depth] { return depth; }, [depth](pieces& in) { return leans_right(in, depth - 1); });
  return below + here;
}

// Nothing but the stack bounds the depth; frames of an address sanitizer are several times as large.
#if defined(ASX_POISONS_POOLS)
constexpr std::uint64_t deep = 1'000;
#else
constexpr std::uint64_t deep = 10'000;
#endif

TEST(parallel, a_chain_of_ten_thousand_that_leans_to_either_side_is_called_to_its_end) {
  everywhere([](pieces& p) {
    EXPECT_EQ(leans_left(p, deep), deep * (deep + 1) / 2);
    EXPECT_EQ(leans_right(p, deep), deep * (deep + 1) / 2);
  });
}

// ---- what virtual workers draw -------------------------------------------------------------------------------

/// `count` boths in a row: f or g for each, whichever was called first.
std::string firsts(pieces& p, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    std::string order;
    p.both([&] { order += 'f'; }, [&] { order += 'g'; });
    EXPECT_TRUE(order == "fg" || order == "gf") << order << ": each is called once";
    out += order.substr(0, 1);
  }
  return out;
}

std::string drawn(std::uint32_t workers, std::uint64_t seed, const std::vector<int>& calls) {
  std::string out;
  in_a_poll(crew(workers, seed), [&](cx& c) {
    // asx: bounded by the list
    for (const int count : calls) out += parallel(c, [count](pieces& p) { return firsts(p, count); });
  });
  return out;
}

TEST(parallel, with_virtual_workers_g_is_called_first_now_and_then_and_the_same_seed_draws_the_same) {
  std::set<std::string> all;
  std::size_t g_first = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const std::string once = drawn(4, seed, {64});
    EXPECT_EQ(once, drawn(4, seed, {64})) << "seed " << seed;
    for (const char c : once) g_first += c == 'g' ? 1U : 0U;
    all.insert(once);
    EXPECT_EQ(drawn(1, seed, {64}), std::string(64, 'f')) << "one worker draws nothing, seed " << seed;
  }
  EXPECT_GE(all.size(), 16U) << "another seed draws otherwise";
  EXPECT_GE(g_first, 100U) << "of 2048";
  EXPECT_LE(g_first, 1'948U) << "of 2048";
  EXPECT_NE(drawn(2, 3, {64}).find('g'), std::string::npos) << "two are enough";
}

TEST(parallel, how_many_were_drawn_before_counts_and_not_in_how_many_calls) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string whole = drawn(4, seed, {48});
    for (const std::vector<int>& parts :
         {std::vector<int>{1, 47}, std::vector<int>{0, 20, 0, 28}, std::vector<int>(48, 1)}) {
      EXPECT_EQ(drawn(4, seed, parts), whole) << "seed " << seed << ", " << parts.size() << " calls";
    }
  }
}

TEST(parallel, draws_are_counted_modulo_65536) {
  const std::string first = drawn(4, 5, {64});
  const std::string all = drawn(4, 5, {100, 65'436, 64});
  EXPECT_EQ(all.substr(0, 64), first);
  EXPECT_EQ(all.substr(65'536), first) << "the 65,537th is as the first";
  EXPECT_NE(all.substr(32'768, 64), first) << "and none before it";
}

TEST(parallel, the_next_call_goes_on_drawing) {
  std::size_t repeated = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const std::string twice = drawn(4, seed, {24, 24});
    repeated += twice.substr(0, 24) == twice.substr(24) ? 1U : 0U;
  }
  EXPECT_EQ(repeated, 0U) << "the second call draws what the first one did";
}

// Numbers of the task's own stream, as a fair select draws them, between calls of parallel.
std::string drawn_with_selects(std::uint64_t seed, int selects, bool by_pieces, std::string& of_pieces) {
  std::string of_selects;
  in_a_poll(crew(4, seed), [&](cx& c) {
    for (int i = 0; i < 4; ++i) {
      if (by_pieces) of_pieces += parallel(c, [](pieces& p) { return firsts(p, 8); });
      // asx: bounded by `selects`
      for (int k = 0; k < selects; ++k) of_selects += std::to_string(extension::draw(c) % 10);
    }
  });
  return of_selects;
}

TEST(parallel, a_fair_select_draws_what_it_would_without_pieces_and_they_what_they_would_without_it) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::string alone;
    std::string beside;
    const std::string without = drawn_with_selects(seed, 3, false, alone);
    EXPECT_EQ(drawn_with_selects(seed, 3, true, beside), without) << "select, seed " << seed;
    static_cast<void>(drawn_with_selects(seed, 0, true, alone));
    EXPECT_EQ(beside, alone) << "pieces, seed " << seed;
  }
}

// Three tasks; which of them computes, and over how many polls, is the test's.
struct drawn_by_tasks {
  std::array<std::string, 3> by;
  drawn_by_tasks(std::uint64_t seed, const std::array<int, 3>& polls) {
    runtime rt(crew(3, seed));
    std::array<actor, 3> tasks;
    std::array<int, 3> at{};
    for (std::size_t i = 0; i < 3; ++i) {
      tasks[i].body = [this, i, &at, &polls](cx& c) {
        if (at[i] == polls[i]) return poll_result::ready;
        ++at[i];
        by[i] += parallel(c, [](pieces& p) { return firsts(p, 8); });
        c.yield();
        return poll_result::pending;
      };
      testing::must_spawn(rt, rt.root(), tasks[i]);
    }
    rt.run_until_idle();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
  }
};

TEST(parallel, what_a_task_draws_is_its_own_whatever_others_draw) {
  std::size_t same = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const drawn_by_tasks all(seed, {6, 6, 6});
    EXPECT_EQ(drawn_by_tasks(seed, {6, 0, 0}).by[0], all.by[0]) << "seed " << seed;
    EXPECT_EQ(drawn_by_tasks(seed, {0, 6, 2}).by[1], all.by[1]) << "seed " << seed;
    EXPECT_EQ(drawn_by_tasks(seed, {1, 3, 6}).by[2], all.by[2]) << "seed " << seed;
    same += all.by[0] == all.by[1] ? 1U : 0U;
    same += all.by[1] == all.by[2] ? 1U : 0U;
  }
  EXPECT_LE(same, 1U) << "another task draws otherwise";
}

// ---- ranges --------------------------------------------------------------------------------------------------

/// Takes from `seen` what [first, last) visits: leaves from first to last, halves in either order.
bool takes_the_tree(const std::vector<std::size_t>& seen, std::size_t& at, std::size_t first, std::size_t last,
                    std::size_t grain) {
  if (last - first <= grain) {
    for (std::size_t i = first; i < last; ++i) {
      if (at == seen.size() || seen[at++] != i) return false;
    }
    return true;
  }
  const std::size_t middle = middle_of(first, last);
  const bool is_turned = at < seen.size() && seen[at] >= middle;
  return is_turned ? takes_the_tree(seen, at, middle, last, grain) && takes_the_tree(seen, at, first, middle, grain)
                   : takes_the_tree(seen, at, first, middle, grain) && takes_the_tree(seen, at, middle, last, grain);
}

template <class List>
std::string told(const List& all) {
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "" : " ") + std::to_string(one);
  return out;
}

TEST(parallel, each_visits_every_index_once_in_runs_of_its_halves) {
  everywhere([](pieces& p) {
    for (std::size_t n = 0; n <= 40; ++n) {
      for (std::size_t grain = 0; grain <= 8; ++grain) {
        std::vector<std::size_t> seen;
        p.each(n, grain, [&](std::size_t i) { seen.push_back(i); });
        std::size_t at = 0;
        const bool is_the_tree = takes_the_tree(seen, at, 0, n, grain == 0 ? 1 : grain) && at == seen.size();
        EXPECT_TRUE(is_the_tree) << "n " << n << ", grain " << grain << ": " << told(seen);
      }
    }
  });
}

TEST(parallel, each_goes_from_first_to_last_on_one_worker) {
  in_a_poll(crew(1), [](cx& c) {
    parallel(c, [](pieces& p) {
      for (const std::size_t grain : {0U, 1U, 3U, 1'000U}) {
        std::vector<std::size_t> seen;
        std::vector<std::size_t> expected(777);
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        p.each(777, grain, [&](std::size_t i) { seen.push_back(i); });
        EXPECT_EQ(seen, expected) << "grain " << grain;
      }
    });
  });
}

TEST(parallel, a_grain_of_the_whole_range_or_more_is_one_run) {
  everywhere([](pieces& p) {
    for (const std::size_t grain : {std::size_t{40}, std::size_t{41}, SIZE_MAX}) {
      std::vector<std::size_t> seen;
      p.each(40, grain, [&](std::size_t i) { seen.push_back(i); });
      std::size_t at = 0;
      EXPECT_TRUE(takes_the_tree(seen, at, 0, 40, grain) && at == 40) << told(seen);
    }
    p.each(0, 0, [](std::size_t) { ADD_FAILURE() << "an empty range visits nobody"; });
    p.each(0, SIZE_MAX, [](std::size_t) { ADD_FAILURE() << "an empty range visits nobody"; });
  });
}

/// What reduce does, said with plain calls.
std::string plain_tree(std::size_t first, std::size_t last, std::size_t grain) {
  if (last - first <= grain) {
    std::string sum = "z";
    for (std::size_t i = first; i < last; ++i) sum = "(" + sum + "+" + std::to_string(i) + ")";
    return sum;
  }
  const std::size_t middle = middle_of(first, last);
  return "(" + plain_tree(first, middle, grain) + "+" + plain_tree(middle, last, grain) + ")";
}

TEST(parallel, reduce_joins_as_the_tree_that_n_and_grain_say) {
  EXPECT_EQ(plain_tree(0, 5, 2), "(((z+0)+1)+((z+2)+((z+3)+4)))") << "five in twos";
  everywhere([](pieces& p) {
    for (std::size_t n = 0; n <= 40; ++n) {
      for (std::size_t grain = 0; grain <= 8; ++grain) {
        const std::string tree = p.reduce(
            n, grain, std::string("z"), [](std::size_t i) { return std::to_string(i); },
            [](const std::string& a, const std::string& b) { return "(" + a + "+" + b + ")"; });
        EXPECT_EQ(tree, plain_tree(0, n, grain == 0 ? 1 : grain)) << "n " << n << ", grain " << grain;
      }
    }
  });
}

double odd_number(std::size_t i) {
  return (i % 7 == 0 ? 1e16 : 1.0) / static_cast<double>(i + 1);
}
double plain_sum(std::size_t first, std::size_t last, std::size_t grain) {
  if (last - first <= grain) {
    double sum = 0.0;
    for (std::size_t i = first; i < last; ++i) sum += odd_number(i);
    return sum;
  }
  const std::size_t middle = middle_of(first, last);
  const double left = plain_sum(first, middle, grain);
  return left + plain_sum(middle, last, grain);
}

TEST(parallel, reduce_of_what_rounds_is_the_same_to_the_last_bit) {
  for (const std::size_t grain : {1U, 3U, 64U}) {
    const double expected = plain_sum(0, 2'000, grain);
    everywhere([&](pieces& p) {
      const double sum = p.reduce(2'000, grain, 0.0, odd_number, std::plus<>());
      EXPECT_EQ(sum, expected) << "grain " << grain;
    });
  }
  EXPECT_NE(plain_sum(0, 2'000, 1), plain_sum(0, 2'000, 64)) << "the numbers round: another tree gives another sum";
}

TEST(parallel, an_empty_range_gives_zero_and_calls_nobody) {
  everywhere([](pieces& p) {
    for (const std::size_t grain : {std::size_t{0}, std::size_t{1}, SIZE_MAX}) {
      const int sum = p.reduce(
          0, grain, 42, [](std::size_t) { return ADD_FAILURE() << "there is no index", 0; },
          [](int, int) { return ADD_FAILURE() << "there is nothing to join", 0; });
      EXPECT_EQ(sum, 42);
    }
  });
}

// `of` gives something else than the sum is, as a word gives its length.
TEST(parallel, what_is_added_may_be_of_another_type_than_the_sum) {
  everywhere([](pieces& p) {
    struct range {
      std::size_t least = SIZE_MAX;
      std::size_t most = 0;
    };
    struct widens {
      range operator()(range a, std::size_t i) const { return {i < a.least ? i : a.least, i > a.most ? i : a.most}; }
      range operator()(range a, range b) const { return (*this)((*this)(a, b.least), b.most); }
    };
    const range all = p.reduce(100, 7, range{}, [](std::size_t i) { return (i * 37) % 101; }, widens{});
    EXPECT_EQ(all.least, 0U);
    EXPECT_EQ(all.most, 100U);
  });
}

// ---- the kernel hears nothing --------------------------------------------------------------------------------

/// Sums of squares, in one way or the other.
std::uint64_t compute(cx& c, bool by_pieces, std::size_t n) {
  if (by_pieces) {
    return parallel(c, [n](pieces& p) {
      const auto square = [](std::size_t i) { return static_cast<std::uint64_t>(i) * i; };
      const auto [low, high] =
          p.both([&](pieces& in) { return in.reduce(n, 2, std::uint64_t{0}, square, std::plus<>()); },
                 [&](pieces& in) { return fib(in, static_cast<unsigned>(n % 8)); });
      return low + high;
    });
  }
  std::uint64_t sum = plain_fib(static_cast<unsigned>(n % 8));
  for (std::size_t i = 0; i < n; ++i) sum += i * i;  // asx: bounded by n
  return sum;
}

struct told_run {
  digest128 digest{};
  std::uint64_t events = 0;
  std::uint64_t steps = 0;
  std::uint64_t polls = 0;
  std::uint64_t wakes = 0;
  std::uint64_t state = 0;
  std::uint64_t sum = 0;
  friend bool operator==(const told_run&, const told_run&) = default;
};

// Tasks that compute, yield, pay, sleep, wake each other and are cancelled.
told_run play(const runtime_config& config, bool by_pieces) {
  told_run out;
  metrics measured;
  runtime_config watched = config;
  watched.measure = &measured;
  runtime rt(watched);
  EXPECT_EQ(rt.start_status(), status::ok);
  constexpr std::size_t count = 7;
  std::array<actor, count> tasks;
  std::array<int, count> polls{};
  std::array<task_handle, count> handles;
  for (std::size_t i = 0; i < count; ++i) {
    tasks[i].body = [&, i](cx& c) {
      const budget before = c.budget_left();
      const std::uint64_t seq = rt.journal().seq();
      const std::uint64_t n = compute(c, by_pieces, i * 5 + static_cast<std::size_t>(polls[i]));
      EXPECT_EQ(c.budget_left(), before) << "pieces cost nothing";
      EXPECT_EQ(rt.journal().seq(), seq) << "pieces tell the journal nothing";
      out.sum = out.sum * 31 + n;
      if (c.checkpoint() != status::ok || ++polls[i] > 6) return poll_result::ready;
      static_cast<void>(c.consume_cost(n % 3));
      if (n % 4 == 1) {
        slab_key timer;
        static_cast<void>(rt.kernel().register_timer(c, c.now() + duration::microseconds(n % 90), timer));
        return poll_result::pending;
      }
      if (n % 5 == 2) static_cast<void>(rt.kernel().request_cancel(handles[(i + 1) % count]));
      c.yield();
      return poll_result::pending;
    };
    task_spec spec{.poll = &actor::poll, .context = &tasks[i]};
    spec.limits = {.poll_quota = 40, .cost_quota = 9};
    EXPECT_EQ(rt.kernel().spawn(rt.root(), spec, handles[i]), status::ok);
  }
  out.steps = rt.run_until_quiescent().steps;
  out.state = rt.kernel().state_hash();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
  out.digest = rt.journal().digest();
  out.events = rt.journal().seq();
  out.polls = measured.all_polls();
  out.wakes = measured.wakes;
  return out;
}

TEST(parallel, a_run_with_pieces_is_told_as_the_same_run_without_them) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      runtime_config config = crew(workers, seed);
      config.order = seed % 2 == 0 ? worker_order::kind::round_robin : worker_order::kind::drawn;
      config.ready_tiebreak = seed % 3 == 0 ? tie_break::rng : tie_break::fifo;
      const told_run plainly = play(config, false);
      const told_run in_pieces = play(config, true);
      EXPECT_TRUE(plainly == in_pieces) << workers << " workers, seed " << seed << "; with pieces " << in_pieces.events
                                        << " events, " << in_pieces.steps << " steps, " << in_pieces.polls << " polls, "
                                        << in_pieces.wakes << " wakes, sum " << in_pieces.sum << "; without "
                                        << plainly.events << ", " << plainly.steps << ", " << plainly.polls << ", "
                                        << plainly.wakes << ", sum " << plainly.sum;
      EXPECT_TRUE(in_pieces == play(config, true)) << "twice, seed " << seed;
      EXPECT_GT(in_pieces.polls, 10U) << "there is something to compare";
    }
  }
}

// ---- cancel --------------------------------------------------------------------------------------------------

std::size_t count_of(runtime& rt, event_kind kind) {
  std::size_t out = 0;
  for (const event& e : events_of(rt)) out += e.kind == kind ? 1U : 0U;
  return out;
}

// What is_stopped says at the beginning, in f, in g, below, and at the end: the same everywhere, or 'x'.
char says_stopped(cx& c) {
  std::string all;
  parallel(c, [&](pieces& p) {
    const auto looks = [&](pieces& in) { all += in.is_stopped() ? '1' : '0'; };
    looks(p);
    p.both(looks, [&](pieces& g) { g.both(looks, looks); });
    looks(p);
  });
  EXPECT_EQ(all.size(), 5U);
  return all.find_first_not_of(all.front()) == std::string::npos ? all.front() : 'x';
}

TEST(parallel, is_stopped_is_false_until_somebody_asks_and_true_from_then_on) {
  for (const std::uint32_t workers : {1U, 4U}) {
    runtime rt(crew(workers, 5));
    int at = 0;
    actor a{[&](cx& c) {
      if (at++ == 0) {
        EXPECT_EQ(says_stopped(c), '0') << "nobody has asked";
        static_cast<void>(c.get_waker());
        return poll_result::pending;
      }
      EXPECT_EQ(says_stopped(c), '1') << "it was asked before the poll";
      EXPECT_EQ(says_stopped(c), '1');
      EXPECT_EQ(count_of(rt, event_kind::task_acknowledged), 0U) << "that is no cancel point";
      EXPECT_EQ(c.checkpoint(), status::cancelled);
      EXPECT_EQ(count_of(rt, event_kind::task_acknowledged), 1U);
      EXPECT_EQ(says_stopped(c), '1') << "acknowledged, it is still asked";
      return poll_result::ready;
    }};
    const task_handle t = testing::must_spawn(rt, rt.root(), a);
    rt.run_until_idle();
    ASSERT_EQ(at, 1);
    ASSERT_EQ(rt.kernel().request_cancel(t), status::ok);
    rt.run_until_idle();
    EXPECT_EQ(at, 2);
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    expect_legal(rt);
  }
}

TEST(parallel, a_task_that_asks_itself_sees_it_in_the_next_call) {
  everywhere([](pieces& p) { EXPECT_FALSE(p.is_stopped()); });
  for (const std::uint32_t workers : {1U, 4U}) {
    in_a_poll(crew(workers), [](cx& c) {
      EXPECT_EQ(says_stopped(c), '0');
      EXPECT_EQ(c.kernel().request_cancel(c.handle()), status::ok);
      EXPECT_EQ(says_stopped(c), '1');
      EXPECT_EQ(c.checkpoint(), status::cancelled);
    });
  }
}

TEST(parallel, is_stopped_says_the_same_inside_a_mask_and_computing_there_acknowledges_nothing) {
  runtime rt(crew(4, 1));
  actor a{[&](cx& c) {
    EXPECT_EQ(c.mask_enter(), status::ok);
    EXPECT_EQ(says_stopped(c), '0');
    EXPECT_EQ(c.kernel().request_cancel(c.handle()), status::ok);
    EXPECT_EQ(c.checkpoint(), status::ok) << "inside a mask";
    EXPECT_EQ(says_stopped(c), '1');
    EXPECT_EQ(count_of(rt, event_kind::task_acknowledged), 0U);
    EXPECT_EQ(c.checkpoint(), status::ok) << "inside a mask";
    c.mask_leave();
    EXPECT_EQ(says_stopped(c), '1');
    EXPECT_EQ(count_of(rt, event_kind::task_acknowledged), 0U) << "parallel is no cancel point";
    EXPECT_EQ(c.checkpoint(), status::cancelled);
    return poll_result::ready;
  }};
  testing::must_spawn(rt, rt.root(), a);
  rt.run_until_idle();
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  expect_legal(rt);
}

TEST(parallel, a_task_in_the_place_of_one_that_was_asked_was_not_asked) {
  runtime rt(crew(4, 2));
  std::string seen;
  for (int i = 0; i < 6; ++i) {
    actor a{[&](cx& c) {
      seen += says_stopped(c);
      if (c.is_cancelled()) return poll_result::ready;
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }};
    const task_handle t = testing::must_spawn(rt, rt.root(), a);
    rt.run_until_idle();
    EXPECT_EQ(rt.kernel().request_cancel(t), status::ok);
    rt.run_until_idle();
  }
  EXPECT_EQ(seen, "010101010101");
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

// Whoever asks, and for whatever reason: a region that closes, a deadline, a cost that is spent, a shutdown.
TEST(parallel, is_stopped_says_so_whoever_asked_and_why) {
  const auto stopped_after = [](const budget& limits, const std::function<void(runtime&, region_handle)>& asks,
                                const std::function<void(cx&)>& does) {
    runtime rt;
    const region_handle region = testing::must_open(rt, rt.root());
    std::string seen;
    actor a{[&](cx& c) {
      if (seen.empty()) does(c);
      seen += says_stopped(c);
      if (seen.size() > 4 || c.checkpoint() != status::ok) return poll_result::ready;
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }};
    task_handle t;
    EXPECT_EQ(rt.kernel().spawn(region, {.poll = &actor::poll, .context = &a, .limits = limits}, t), status::ok);
    rt.run_until_idle();
    asks(rt, region);
    rt.run_until_quiescent();
    EXPECT_TRUE(rt.shutdown().is_quiescent());
    return seen;
  };
  const auto nobody = [](runtime&, region_handle) {};
  const auto nothing = [](cx&) {};
  EXPECT_EQ(stopped_after(
                {}, [](runtime& rt, region_handle r) { EXPECT_EQ(rt.kernel().begin_close(r), status::ok); }, nothing),
            "01");
  EXPECT_EQ(stopped_after({.deadline = instant{1'000}}, nobody, nothing), "01") << "its deadline";
  EXPECT_EQ(
      stopped_after({.cost_quota = 3}, nobody, [](cx& c) { EXPECT_EQ(c.consume_cost(4), status::budget_exhausted); }),
      "1")
      << "it has spent more than it had";
  EXPECT_EQ(stopped_after(
                {}, [](runtime& rt, region_handle) { EXPECT_EQ(rt.kernel().begin_shutdown(), status::ok); }, nothing),
            "01");
}

std::size_t counts_until_stopped(pieces& p, std::size_t n) {
  if (p.is_stopped()) return 0;
  if (n == 1) return 1;
  const auto [a, b] = p.both([n](pieces& in) { return counts_until_stopped(in, n / 2); },
                             [n](pieces& in) { return counts_until_stopped(in, n - n / 2); });
  return a + b;
}

TEST(parallel, a_program_that_looks_comes_sooner_to_its_cancel_point) {
  for (const bool is_asked : {false, true}) {
    in_a_poll(crew(1), [is_asked](cx& c) {
      if (is_asked) {
        EXPECT_EQ(c.kernel().request_cancel(c.handle()), status::ok);
      }
      const std::size_t done = parallel(c, [](pieces& p) { return counts_until_stopped(p, 1'000); });
      EXPECT_EQ(done, is_asked ? 0U : 1'000U);
      EXPECT_EQ(c.checkpoint(), is_asked ? status::cancelled : status::ok);
    });
  }
}

TEST(parallel, what_each_and_reduce_call_may_fork) {
  in_a_poll(crew(1, 0), [&](cx& c) {
    std::vector<int> seen(12);
    parallel(c, [&](pieces& p) {
      p.each(4, 1, [&](pieces& here, std::size_t i) { here.each(3, 1, [&](std::size_t k) { ++seen[3 * i + k]; }); });
    });
    EXPECT_EQ(seen, std::vector<int>(12, 1));
    const int sum = parallel(c, [](pieces& p) {
      return p.reduce(
          5, 2, 0,
          [](pieces& here, std::size_t i) {
            const auto [a, b] = here.both([i] { return static_cast<int>(i); }, [] { return 1; });
            return a * b;
          },
          [](int a, int b) { return a + b; });
    });
    EXPECT_EQ(sum, 10);
  });
}

TEST(parallel, may_be_called_inside_a_piece_of_the_same_task) {
  for (const std::uint32_t workers : {1U, 4U}) {
    in_a_poll(crew(workers, 7), [&](cx& c) {
      const auto [a, b] = parallel(c, [&c](pieces& p) {
        return p.both([] { return 1; },
                      [&c] {
                        return parallel(c, [](pieces& q) {
                          return q.reduce(4, 1, 0, [](std::size_t i) { return static_cast<int>(i); }, std::plus<>());
                        });
                      });
      });
      EXPECT_EQ(a + b, 7);
    });
  }
}

using parallel_death_test = ::testing::Test;
TEST(parallel_death_test, with_virtual_workers_a_piece_that_forks_by_another_ones_is_found) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(in_a_poll(crew(4, 1),
                         [](cx& c) { parallel(c, [](pieces& p) { p.both([&p] { p.both([] {}, [] {}); }, [] {}); }); }),
               "a piece forks by its own");
}

}  // namespace
}  // namespace asx
