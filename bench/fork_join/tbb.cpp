// oneTBB: a task_group on the stack; one branch is run in it, the other is called, as its documentation does it.
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "workload.hpp"

namespace {

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  std::uint64_t other = 0;
  tbb::task_group fork;
  fork.run([&other, n] { other = fib(n - 1); });
  const std::uint64_t own = fib(n - 2);
  fork.wait();
  return own + other;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::arguments given(argc, argv);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(given.number(3)));
  return bench::fork_join(argc, argv, [](std::uint64_t n) { return fib(n); });
}
