// bench/timers/workload.hpp - the one problem that every peer in this folder solves, and how it is timed.
//
//     register       n timers, deadlines uniform in [1 ms, 1 h], shuffled, into an empty set        ns a timer
//     cancel         all n of them, in another random order                                          ns a timer
//     churn          with n pending: cancel a random one, register it anew                           ns a pair
//     expire_all     one jump of an hour; all n come out in order of their deadlines                 ns a timer
//     expire_steps   3600 steps of a second; those that are due come out at each                     ns a timer
//
// A peer is a class with: `peer(n)`, `add(i, ms)`, `cancel(i)`, `settle()` (what a library must still do for its
// cancelled timers, counted), `advance(ms)` returning how many fired, `clear()`. Timer i is a fixed object of the
// caller, as a connection's timeout is. Deadlines are whole milliseconds, because libuv knows no others.
//
// Arguments: pairs of n and rounds.
#pragma once

#include <memory>

#include "bench/shared/measure.hpp"

namespace bench {

class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((next() >> 32) * n >> 32); }

 private:
  std::uint64_t state_;
};

inline constexpr std::uint32_t hour_ms = 3'600'000;

struct problem {
  explicit problem(std::uint32_t n) : deadline_ms(n), cancel_order(n), churn(std::max<std::uint32_t>(n, 100'000)) {
    generator g(n);
    for (auto& d : deadline_ms) d = 1 + g.below(hour_ms);
    for (std::uint32_t i = 0; i < n; ++i) cancel_order[i] = i;
    for (std::uint32_t i = n; i > 1; --i) std::swap(cancel_order[i - 1], cancel_order[g.below(i)]);
    for (auto& c : churn) c = {g.below(n), 1 + g.below(hour_ms)};
  }
  struct swap_timer {
    std::uint32_t timer, deadline_ms;
  };
  std::vector<std::uint32_t> deadline_ms;
  std::vector<std::uint32_t> cancel_order;
  std::vector<swap_timer> churn;
};

template <class Peer>
void run(std::uint32_t n, int rounds) {
  const problem p(n);
  auto peer = std::make_unique<Peer>(n);
  std::vector<double> times[5];
  const auto timed = [&](int workload, std::size_t operations, auto&& body) {
    const std::uint64_t begin = processor_ns();
    body();
    times[workload].push_back(static_cast<double>(processor_ns() - begin) / static_cast<double>(operations));
  };
  const auto add_all = [&] {
    for (std::uint32_t i = 0; i < n; ++i) peer->add(i, p.deadline_ms[i]);
  };
  for (int round = 0; round < rounds; ++round) {
    timed(0, n, add_all);
    timed(1, n, [&] {
      for (const std::uint32_t i : p.cancel_order) peer->cancel(i);
      peer->settle();
    });
    add_all();
    timed(2, p.churn.size(), [&] {
      for (const auto& c : p.churn) {
        peer->cancel(c.timer);
        peer->add(c.timer, c.deadline_ms);
      }
      peer->settle();
    });
    peer->clear();
    add_all();
    std::size_t fired = 0;
    timed(3, n, [&] { fired = peer->advance(hour_ms + 1); });
    require(fired == n, "expire_all: every timer must fire");
    add_all();
    fired = 0;
    timed(4, n, [&] {
      for (std::uint32_t s = 0; s < 3600; ++s) fired += peer->advance(1000);
      fired += peer->advance(1);
    });
    require(fired == n, "expire_steps: every timer must fire");
  }
  const char* const names[5] = {"register", "cancel", "churn", "expire_all", "expire_steps"};
  for (int w = 0; w < 5; ++w) {
    std::printf("{\"workload\": \"%s\", \"n\": %u, \"ns\": %.2f}\n", names[w], n, median(times[w]));
  }
  std::fflush(stdout);
}

template <class Peer>
int main(int argc, char** argv) {
  const arguments given(argc, argv);
  for (int a = 1; a < argc; a += 2) run<Peer>(static_cast<std::uint32_t>(given.number(a)), given.rounds(a + 1));
  return 0;
}

}  // namespace bench
