// asx/sched/testing/stage.hpp - a scheduler with numbered tasks, and its dispatches as a short text.
//
//     stage s(config);
//     s.push_many(40, lane::cancel);
//     s.push_many(2, lane::ready);
//     s.run();        // "c16 r c16 r c8"
//
// c, t and r are dispatches from the lanes, f is a fallback cancel, s a theft; a number is a run of equal ones.
//
// Cancel points: none. Threads: one. Lifetime: what is still queued leaves its lane when the stage goes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/sched/scheduler.hpp"
#include "asx/sched/testing.hpp"

namespace asx::testing {

inline constexpr std::uint8_t usual_priority = 128;

class stage {
 public:
  using tasks = std::vector<std::uint64_t>;

  static constexpr std::uint32_t task_count = 256;
  static constexpr std::size_t all = task_count + 1;  // A run that gets this far dispatches what is not there.

  explicit stage(const sched_config& config = {}) : scheduler_(config) {
    EXPECT_EQ(scheduler::validate(config), status::ok);
    EXPECT_TRUE(scheduler_.ready());
    EXPECT_EQ(scheduler_.admit(task_count), status::ok);
    for (std::uint64_t number = 1; number <= task_count; ++number) places_.emplace_back(task_id{number});
  }
  ~stage() {
    for (place& p : places_) scheduler_.remove(p);
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  [[nodiscard]] scheduler& operator*() { return scheduler_; }
  [[nodiscard]] scheduler* operator->() { return &scheduler_; }
  [[nodiscard]] place& task(std::uint64_t number) { return places_[static_cast<std::size_t>(number - 1)]; }

  void push(std::uint64_t number, lane into, std::uint8_t priority = usual_priority, std::uint32_t worker = 0) {
    EXPECT_TRUE(scheduler_.push(worker, task(number), into, priority)) << "task " << number;
  }
  void push_timed(std::uint64_t number, instant deadline, std::uint32_t worker = 0) {
    EXPECT_TRUE(scheduler_.push(worker, task(number), lane::timed, usual_priority, deadline)) << "task " << number;
  }

  /// The next `count` numbers that were never used here, all alike.
  void push_many(std::size_t count, lane into, std::uint32_t worker = 0) {
    for (std::size_t i = 0; i < count; ++i) {
      push(task_count - used_++, into, usual_priority, worker);
    }
  }

  dispatch next(std::uint32_t worker = 0) {
    const dispatch d = scheduler_.next(worker);
    scheduler_.check();
    return d;
  }

  /// 0: it found nothing.
  static std::uint64_t task_of(const dispatch& d) { return d.who == nullptr ? 0 : d.who->task().value; }

  /// Up to `limit` dispatches of one worker, fewer when it finds nothing; their tasks are in dispatched().
  std::string run(std::size_t limit = all, std::uint32_t worker = 0) {
    dispatched_.clear();
    std::string letters;
    while (dispatched_.size() < limit) {
      const dispatch d = next(worker);
      if (d.who == nullptr) break;
      dispatched_.push_back(d.who->task().value);
      letters += letter(d);
    }
    return shorten(letters);
  }

  /// As run, but every task of the timed or ready lane yields: it goes back to where it came from at once.
  std::string run_yielding(std::size_t limit, std::uint32_t worker = 0) {
    dispatched_.clear();
    std::string letters;
    while (dispatched_.size() < limit) {
      const dispatch d = next(worker);
      if (d.who == nullptr) break;
      dispatched_.push_back(d.who->task().value);
      letters += letter(d);
      const bool is_cancel = d.from == dispatch_source::cancel || d.from == dispatch_source::fallback;
      if (!is_cancel) {
        EXPECT_TRUE(scheduler_.push(worker, *d.who, d.who->queued_in(), d.who->priority(), d.who->deadline()));
      }
    }
    return shorten(letters);
  }

  [[nodiscard]] const tasks& dispatched() const { return dispatched_; }

  /// The tasks of up to `limit` dispatches of one worker.
  tasks run_tasks(std::size_t limit = all, std::uint32_t worker = 0) {
    run(limit, worker);
    return dispatched_;
  }

  /// The certificate is `expected`, and its hash is that of the seven numbers.
  void expect_certificate(const fairness_certificate& expected) const {
    const fairness_certificate actual = scheduler_.certificate();
    EXPECT_EQ(actual.cancel_dispatches, expected.cancel_dispatches);
    EXPECT_EQ(actual.timed_dispatches, expected.timed_dispatches);
    EXPECT_EQ(actual.ready_dispatches, expected.ready_dispatches);
    EXPECT_EQ(actual.fallback_cancel_dispatches, expected.fallback_cancel_dispatches);
    EXPECT_EQ(actual.base_limit_exceedances, expected.base_limit_exceedances);
    EXPECT_EQ(actual.effective_limit_exceedances, expected.effective_limit_exceedances);
    EXPECT_EQ(actual.max_effective_limit_observed, expected.max_effective_limit_observed);
    EXPECT_EQ(actual.witness_hash(), witness_of(expected));
    EXPECT_EQ(actual.dispatches(), expected.cancel_dispatches + expected.timed_dispatches + expected.ready_dispatches +
                                       expected.fallback_cancel_dispatches);
  }

 private:
  static char letter(const dispatch& d) {
    if (d.victim != no_worker) return 's';
    constexpr char letters[] = "ctrf";
    return d.from == dispatch_source::stall ? '?' : letters[static_cast<std::size_t>(d.from)];
  }

  // "ccr" -> "c2 r"
  static std::string shorten(const std::string& letters) {
    std::string runs;
    for (std::size_t i = 0; i < letters.size();) {
      std::size_t end = i;
      while (end < letters.size() && letters[end] == letters[i]) ++end;
      if (i != 0) runs += ' ';
      runs += letters[i];
      if (end - i > 1) runs += std::to_string(end - i);
      i = end;
    }
    return runs;
  }

  std::deque<place> places_;
  scheduler scheduler_;
  tasks dispatched_;
  std::uint64_t used_ = 0;
};

}  // namespace asx::testing
