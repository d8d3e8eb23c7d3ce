// asx/chan/testing/near.hpp - what the tests of oneshot, watch, broadcast and rendezvous share: values that are hard to
// carry, memory that is counted, runs that are held to their digest, and the loop of a random run.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/base/memory.hpp"
#include "asx/base/random.hpp"
#include "asx/base/testing/replay_on_assert.hpp"
#include "asx/chan/testing/puppets.hpp"
#include "asx/journal/event_table.hpp"

namespace asx::testing {

/// The heap, counted: what a runtime asks for shows here.
struct counted_memory {
  std::uint64_t calls = 0;

  [[nodiscard]] memory_port port() noexcept {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept {
              ++static_cast<counted_memory*>(self)->calls;
              const memory_port heap = heap_memory();
              return heap.allocate(heap.context, bytes, alignment);
            },
            [](void*, void* block, std::size_t bytes, std::size_t alignment) noexcept {
              const memory_port heap = heap_memory();
              heap.release(heap.context, block, bytes, alignment);
            }};
  }
};

/// Runs `story` on two fresh stages: every event in order is the same.
inline void expect_same_digest_twice(const std::function<void(puppet_stage&)>& story) {
  digest128 first{};
  std::uint64_t events = 0;
  for (int run = 0; run < 2; ++run) {
    puppet_stage s;
    story(s);
    s.end();
    if (run == 0) {
      first = s.rt.journal().digest();
      events = s.rt.journal().seq();
    } else {
      EXPECT_TRUE(s.rt.journal().digest() == first);
      EXPECT_EQ(s.rt.journal().seq(), events);
    }
  }
}

/// Refused with `code`, told by one event, and nothing else changed.
template <class Call>
void expect_refused(puppet_stage& s, status code, limit_code limit, Call call) {
  const std::uint64_t hash = s.k.state_hash();
  const std::uint64_t seq = s.mark();
  EXPECT_EQ(call(), code);
  EXPECT_EQ(s.k.state_hash(), hash) << "a refusal changes nothing (R-139)";
  ASSERT_EQ(s.mark(), seq + 1) << "a refusal says one thing";
  const event e = s.events(seq).back();
  EXPECT_TRUE(is_refusal(e.kind)) << name(e.kind);
  EXPECT_EQ(low_half(e.a), static_cast<std::uint32_t>(code));
  EXPECT_EQ(high_half(e.a), static_cast<std::uint32_t>(limit));
}

/// Answered with `code` without a word, and nothing changed.
template <class Call>
void expect_silent(puppet_stage& s, status code, Call call) {
  const std::uint64_t hash = s.k.state_hash();
  const std::uint64_t seq = s.mark();
  EXPECT_EQ(call(), code);
  EXPECT_EQ(s.k.state_hash(), hash);
  EXPECT_EQ(s.mark(), seq);
}

/// Copyable, over-aligned, and it knows where it lies.
struct alignas(64) wide_value {
  explicit wide_value(int n) noexcept : number(n) {}
  // Written out, so that it is passed by address: g++ has something to say about the other way.
  wide_value(const wide_value& other) noexcept : number(other.number) {}
  wide_value& operator=(const wide_value&) noexcept = default;
  ~wide_value() = default;
  int number;
  [[nodiscard]] bool is_aligned() const noexcept { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
};

/// Does something when a value that still has it goes away.
class last_words {
 public:
  last_words(int n, std::function<void()> say) : number(n), say_(std::move(say)) {}
  last_words(last_words&& other) noexcept : number(other.number), say_(std::exchange(other.say_, nullptr)) {}
  last_words& operator=(last_words&& other) noexcept {
    number = other.number;
    say_ = std::exchange(other.say_, nullptr);
    return *this;
  }
  ~last_words() {
    if (say_) say_();
  }
  int number;

 private:
  std::function<void()> say_;
};

#if defined(__cpp_exceptions)
/// Throws at the copy or move that is counted down to.
struct thrower {
  explicit thrower(int n, int* fuse = nullptr) noexcept : number(n), fuse_(fuse) {}
  thrower(const thrower& other) : number(other.number), fuse_(other.fuse_) { burn(); }
  thrower(thrower&& other) : number(other.number), fuse_(other.fuse_) { burn(); }  // NOLINT: it throws.
  thrower& operator=(const thrower&) = default;
  thrower& operator=(thrower&&) = default;
  ~thrower() = default;
  int number;

 private:
  void burn() const {
    if (fuse_ != nullptr && *fuse_ > 0 && --*fuse_ == 0) throw std::string("moved once too often");
  }
  int* fuse_;
};
#endif

[[nodiscard]] inline std::uint64_t told(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing writes it.
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 0);
}

/// A stage with a few tasks that come and go, and what a model of a primitive is held against: who was woken, and why.
class model_stage {
 public:
  static constexpr std::uint32_t task_count = 4;
  static constexpr std::uint32_t waiter_limit = 3;

  explicit model_stage(std::string_view what) : what_(what), s(config()) {
    for (std::uint32_t i = 0; i < task_count; ++i) tasks_[i] = {&s.task(), false};
  }

  [[nodiscard]] std::string recent() const {
    std::string out = std::string(what_) + ", the last operations:\n";
    for (const std::string& line : log_) out += "  " + line + "\n";
    return out;
  }

 protected:
  /// Answers that the primitive gave are counted: a run that hardly ever meets one proves too little.
  status met(status code) {
    ++coverage[name(code)];
    return code;
  }
  /// An operation begins.
  void begin() { mark_ = s.mark(); }
  /// Says what comes next; a failure shows the last of these.
  void say(std::string line) {
    log_.push_back(std::move(line));
    if (log_.size() > 24) log_.pop_front();
  }
  /// Everybody who was woken has been polled and has parked.
  void rest() { s.rt.run_until_idle(); }

  void act(std::uint32_t task, const std::function<void(cx&)>& deed) { s.act(*tasks_[task].who, deed); }
  /// It has acknowledged; it must be renewed before it comes to rest, because its cleanup is bounded.
  void cancel(std::uint32_t task) {
    tasks_[task].is_cancelled = true;
    s.cancel(*tasks_[task].who);
  }
  /// The task ends, and another takes its place.
  void renew(std::uint32_t task) {
    s.finish(*tasks_[task].who);
    tasks_[task] = {&s.task(), false};
  }
  [[nodiscard]] bool is_cancelled(std::uint32_t task) const { return tasks_[task].is_cancelled; }

  /// Empty when exactly these tasks were woken by the primitive since `begin`, in this order, each once.
  [[nodiscard]] std::string compare_wakes(const std::vector<std::pair<std::uint32_t, wake_code>>& expected) {
    told_wakes want;
    for (const auto& [task, why] : expected) {
      const std::uint64_t number = tasks_[task].who->number;
      bool is_known = false;
      for (const told_wake& w : want) is_known = is_known || w.task == number;
      if (!is_known) want.push_back({number, why});
    }
    told_wakes got;
    for (std::uint64_t i = s.rt.journal().size(); i-- > 0;) {
      const event e = s.rt.journal().at(i);
      if (e.seq <= mark_) break;
      const auto why = static_cast<wake_code>(high_half(e.a));
      const bool is_ours = why == wake_code::message || why == wake_code::slot || why == wake_code::disconnected;
      if (e.kind == event_kind::task_woken && is_ours) got.insert(got.begin(), {e.subject, why});
    }
    if (got == want) return {};
    return "woken " + ::testing::PrintToString(got) + ", the model says " + ::testing::PrintToString(want);
  }
  template <class A, class B>
  static void differ(std::string& out, std::string_view what, const A& got, const B& want) {
    if (!(got == want) && out.empty()) out = std::string(what) + " is " + word(got) + ", the model says " + word(want);
  }

 private:
  static std::string word(status code) { return std::string(name(code)); }
  template <class A>
  static std::string word(const A& value) {
    return ::testing::PrintToString(value);
  }
  static runtime_config config() {
    runtime_config out = puppet_config();
    out.contract.max_tasks = out.contract.max_ready_queue = out.contract.max_cancel_queue = 1024;
    out.contract.max_regions = 1024;
    out.contract.max_channel_waiters = waiter_limit;
    return out;
  }
  struct place {
    puppet* who = nullptr;
    bool is_cancelled = false;
  };
  std::string_view what_;
  std::deque<std::string> log_;
  std::uint64_t mark_ = 0;
  std::array<place, task_count> tasks_{};

 public:
  puppet_stage s;
  std::map<std::string_view, std::uint64_t> coverage;
};

/// Runs episodes of a `World(draws)` with step(draws) -> difference, until ASX_MODEL_OPS operations are done. A failure
/// prints the line that replays it. Each of `answers` must have been met.
template <class World>
void run_random_worlds(std::string_view scenario, std::initializer_list<status> answers, std::uint64_t episode = 500) {
  std::map<std::string_view, std::uint64_t> coverage;
  const std::uint64_t operations = told("ASX_MODEL_OPS", 100'000);
  const std::uint64_t seed = told("ASX_MODEL_SEED", 20'261'115);
  splitmix64 seeds(seed);
  std::uint64_t episode_seed = seed;
  for (std::uint64_t done = 0; done < operations; episode_seed = seeds.next()) {
    splitmix64 draws(episode_seed);
    std::uint64_t applied = 0;
    const replay_line line{scenario, "ASX_MODEL_SEED=" + std::to_string(episode_seed)};
    World world(draws);
    const replay_on_assert running([&] { return line.text(applied) + world.recent(); });
    const std::uint64_t length = episode < operations - done ? episode : operations - done;
    std::string difference;
    while (difference.empty() && applied < length) {
      ++applied;
      difference = world.step(draws);
    }
    if (difference.empty()) difference = world.finish();
    ASSERT_TRUE(difference.empty()) << line.text(applied) << difference << "\n" << world.recent();
    if (::testing::Test::HasFailure()) FAIL() << line.text(applied) << world.recent();
    for (const auto& [what, times] : world.coverage) coverage[what] += times;
    done += length;
  }
  if (operations < 50'000) return;
  for (const status code : answers) {
    EXPECT_GE(coverage[name(code)], 50U) << "the run hardly ever met " << name(code);
  }
}

}  // namespace asx::testing
