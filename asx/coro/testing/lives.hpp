// asx/coro/testing/lives.hpp - what tests of coroutines share: locals that tell when they live and die, and a short way
// to run one coroutine to its end.
//
// Cancel points: none. Threads: one owner. Lifetime: a book outlives its lives.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include "asx/coro/spawn.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
// So that a failed expectation speaks in words.
inline void PrintTo(status s, std::ostream* out) {
  *out << name(s);
}
inline void PrintTo(outcome_kind k, std::ostream* out) {
  *out << name(k);
}
inline void PrintTo(cancel_kind k, std::ostream* out) {
  *out << name(k);
}
}  // namespace asx

namespace asx::testing {

struct book_of_lives {
  int born = 0;
  int died = 0;
  int out_of_order = 0;     // Died while somebody born later was alive.
  std::vector<int> alive;   // In order of birth.
  std::vector<int> deaths;  // In order of death.
  [[nodiscard]] bool is_balanced() const { return alive.empty() && born == died; }
};

/// A local of a coroutine, or an argument of one. What it was moved from counts no more.
class life {
 public:
  life(book_of_lives& book, int number) : book_(&book), number_(number) {
    ++book.born;
    book.alive.push_back(number);
  }
  life(life&& other) noexcept : book_(std::exchange(other.book_, nullptr)), number_(other.number_) {}
  life& operator=(life&&) = delete;
  ~life() {
    if (book_ == nullptr) return;
    ++book_->died;
    book_->deaths.push_back(number_);
    if (book_->alive.empty() || book_->alive.back() != number_) ++book_->out_of_order;
    std::erase(book_->alive, number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  book_of_lives* book_;
  int number_;
};

/// Runs it as a task of the root until nothing more happens; a bare ok with no value when it has not ended.
template <class F, class... Args>
auto outcome_of(runtime& rt, F&& f, Args&&... args) {
  auto made = spawn_in(rt.kernel(), rt.root(), {}, std::forward<F>(f), std::forward<Args>(args)...);
  EXPECT_EQ(made.code, status::ok);
  EXPECT_EQ(rt.run_until_quiescent().ended, status::ok);
  outcome<typename detail::spawned<typename detail::task_of<F, Args...>::value_type>::stored> out;
  EXPECT_EQ(made.handle.take(out), status::ok);
  return out;
}

/// What is left once everything has ended: nothing.
class nothing_left {
 public:
  explicit nothing_left(runtime& rt)
      : rt_(rt), bytes_(rt.kernel().nominal_used()), regions_(rt.kernel().live_regions()) {}
  void check() const {
    EXPECT_EQ(rt_.kernel().nominal_used(), bytes_);
    EXPECT_EQ(rt_.kernel().live_regions(), regions_);
    EXPECT_EQ(rt_.kernel().live_tasks(), 0U);
    EXPECT_EQ(rt_.kernel().live_timers(), 0U);
  }

 private:
  runtime& rt_;
  std::uint64_t bytes_;
  std::uint64_t regions_;
};

}  // namespace asx::testing
