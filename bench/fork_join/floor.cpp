// The least code that does the work: plain recursion, no tasks at all.
#include "workload.hpp"

namespace {

[[gnu::noinline]] std::uint64_t fib(std::uint64_t n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::fork_join(argc, argv, [](std::uint64_t n) { return fib(n); });
}
