// The least code that does the work: coroutines in a line, or in a heap by their time; a cancel runs them all to their
// end, and each frame goes back to operator delete. Nobody can be told why, and nobody can take its time to clean up.
#include "bench/shared/floor.hpp"

#include <queue>

#include "workload.hpp"

namespace {

using promise = bench::bare_task::promise_type;

struct sleeper {
  std::uint64_t due_ns;
  promise* who;
  bool operator<(const sleeper& other) const { return due_ns > other.due_ns; }
};

struct sleep {
  std::priority_queue<sleeper>& until;
  std::uint64_t due_ns;
  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<promise> h) const { until.push({due_ns, &h.promise()}); }
  static void await_resume() noexcept {}
};

bench::bare_task waits_for_slot(bench::task_list& line, std::uint64_t number, std::uint64_t& sum) {
  co_await bench::stand_in{line};
  sum += number;
}
bench::bare_task waits_for_time(std::priority_queue<sleeper>& until, std::uint64_t number, std::uint64_t& sum) {
  co_await sleep{until, 3'600'000'000'000 + number};
  sum += number;
}

void round(bool is_timer, std::uint64_t n, bench::stopwatch& watch) {
  std::uint64_t sum = 0;
  watch.begin();
  {
    bench::task_list line;
    std::priority_queue<sleeper> until;
    for (std::uint64_t i = 1; i <= n; ++i) {
      bench::ready.push(*(is_timer ? waits_for_time(until, i, sum) : waits_for_slot(line, i, sum)).self);
    }
    bench::ready.run_all();
    bench::require(sum == 0, "all of them wait");
    watch.parked();
    line.run_all();
    for (; !until.empty(); until.pop()) std::coroutine_handle<promise>::from_promise(*until.top().who).resume();
    bench::require(sum == n * (n + 1) / 2, "all have ended");
  }
  watch.over();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::main(round, argc, argv);
}
