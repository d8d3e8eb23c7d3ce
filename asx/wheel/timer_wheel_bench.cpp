// The wheel beside std::multimap and std::priority_queue: five workloads, deadlines uniform in [1 ms, 1 h], shuffled.
//
// bench/timers compares with other libraries; this one is for a change to the wheel. A queue cannot take an entry out,
// so cancel and churn have no priority_queue.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx {
namespace {

constexpr std::uint64_t hour_ns = 3'600'000'000'000;

struct script {
  explicit script(std::uint32_t n) : deadlines(n), order(n), churn(n) {
    splitmix64 random(n);
    for (auto& d : deadlines) d = 1'000'000 + random.next_below(hour_ns - 1'000'000);
    for (std::uint32_t i = 0; i < n; ++i) order[i] = i;
    for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
    for (auto& c : churn)
      c = {static_cast<std::uint32_t>(random.next_below(n)), 1'000'000 + random.next_below(hour_ns)};
  }
  std::vector<std::uint64_t> deadlines;
  std::vector<std::uint32_t> order;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> churn;
};

class wheel_set {
 public:
  explicit wheel_set(std::uint32_t n) : wheel_({.capacity = n}), handles_(n), out_(256) {}
  void add(std::uint32_t i, std::uint64_t delay) {
    if (wheel_.register_timer(wheel_.now() + duration{delay}, {i, 1}, handles_[i]) != status::ok) std::abort();
  }
  void cancel(std::uint32_t i) { wheel_.cancel(handles_[i]); }
  std::size_t advance(std::uint64_t ns) {
    const instant to = wheel_.now() + duration{ns};
    std::size_t fired = 0;
    std::size_t got = 0;
    do {
      got = wheel_.collect_expired(to, out_);
      fired += got;
    } while (got == out_.size());
    return fired;
  }
  void clear() { wheel_.cancel_all(); }

 private:
  timer_wheel wheel_;
  std::vector<timer_handle> handles_;
  std::vector<expired_timer> out_;
};

class multimap_set {
 public:
  explicit multimap_set(std::uint32_t n) : where_(n) {}
  void add(std::uint32_t i, std::uint64_t delay) { where_[i] = timers_.emplace(now_ + delay, i); }
  void cancel(std::uint32_t i) { timers_.erase(where_[i]); }
  std::size_t advance(std::uint64_t ns) {
    now_ += ns;
    std::size_t fired = 0;
    for (; !timers_.empty() && timers_.begin()->first <= now_; ++fired) timers_.erase(timers_.begin());
    return fired;
  }
  void clear() { timers_.clear(); }

 private:
  std::multimap<std::uint64_t, std::uint32_t> timers_;
  std::vector<std::multimap<std::uint64_t, std::uint32_t>::iterator> where_;
  std::uint64_t now_ = 0;
};

class queue_set {
 public:
  explicit queue_set(std::uint32_t) {}
  void add(std::uint32_t i, std::uint64_t delay) { timers_.push({now_ + delay, seq_++, i}); }
  std::size_t advance(std::uint64_t ns) {
    now_ += ns;
    std::size_t fired = 0;
    for (; !timers_.empty() && timers_.top().deadline <= now_; ++fired) timers_.pop();
    return fired;
  }
  void clear() { timers_ = {}; }

 private:
  struct entry {
    std::uint64_t deadline, seq;
    std::uint32_t timer;
    bool operator<(const entry& o) const { return deadline != o.deadline ? deadline > o.deadline : seq > o.seq; }
  };
  std::priority_queue<entry> timers_;
  std::uint64_t now_ = 0;
  std::uint64_t seq_ = 0;
};

template <class Set>
void add_all(Set& set, const script& s) {
  for (std::uint32_t i = 0; i < s.deadlines.size(); ++i) set.add(i, s.deadlines[i]);
}

// Runs `prepare`, which is not timed, then `body`, which handles `operations` timers.
template <class Set, class Prepare, class Body>
void measure(benchmark::State& state, Prepare prepare, Body body) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  const script s(n);
  const auto set = std::make_unique<Set>(n);
  for (auto _ : state) {
    state.PauseTiming();
    set->clear();
    prepare(*set, s);
    state.ResumeTiming();
    body(*set, s);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

constexpr auto nothing = [](auto&, const script&) {};
constexpr auto fill = [](auto& set, const script& s) { add_all(set, s); };

template <class Set>
void register_timers(benchmark::State& state) {
  measure<Set>(state, nothing, fill);
}
template <class Set>
void cancel(benchmark::State& state) {
  measure<Set>(state, fill, [](auto& set, const script& s) {
    for (const std::uint32_t i : s.order) set.cancel(i);
  });
}
template <class Set>
void churn(benchmark::State& state) {
  measure<Set>(state, fill, [](auto& set, const script& s) {
    for (const auto& [i, delay] : s.churn) {
      set.cancel(i);
      set.add(i, delay);
    }
  });
}
template <class Set>
void expire_all(benchmark::State& state) {
  measure<Set>(state, fill, [](auto& set, const script&) { benchmark::DoNotOptimize(set.advance(hour_ns)); });
}
template <class Set>
void expire_steps(benchmark::State& state) {
  measure<Set>(state, fill, [](auto& set, const script&) {
    for (int second = 0; second < 3'600; ++second) benchmark::DoNotOptimize(set.advance(1'000'000'000));
  });
}

#define ASX_BENCH_SIZES ->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond)
BENCHMARK(register_timers<wheel_set>) ASX_BENCH_SIZES;
BENCHMARK(register_timers<multimap_set>) ASX_BENCH_SIZES;
BENCHMARK(register_timers<queue_set>) ASX_BENCH_SIZES;
BENCHMARK(cancel<wheel_set>) ASX_BENCH_SIZES;
BENCHMARK(cancel<multimap_set>) ASX_BENCH_SIZES;
BENCHMARK(churn<wheel_set>) ASX_BENCH_SIZES;
BENCHMARK(churn<multimap_set>) ASX_BENCH_SIZES;
BENCHMARK(expire_all<wheel_set>) ASX_BENCH_SIZES;
BENCHMARK(expire_all<multimap_set>) ASX_BENCH_SIZES;
BENCHMARK(expire_all<queue_set>) ASX_BENCH_SIZES;
BENCHMARK(expire_steps<wheel_set>) ASX_BENCH_SIZES;
BENCHMARK(expire_steps<multimap_set>) ASX_BENCH_SIZES;
BENCHMARK(expire_steps<queue_set>) ASX_BENCH_SIZES;
#undef ASX_BENCH_SIZES

}  // namespace
}  // namespace asx
