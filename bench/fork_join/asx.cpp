// asx: a task for one branch, the other awaited in place, and a join. The handle gives the value; one thread.
#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

asx::task<std::uint64_t> fib(asx::cx c, std::uint64_t n) {
  if (n < 2) co_return n;
  auto fork = co_await asx::start(c, fib, n - 1);
  const std::uint64_t own = co_await fib(c, n - 2);
  const auto other = co_await asx::join(fork);
  co_return own + other.value();
}

asx::task<> first(asx::cx c, std::uint64_t n, std::uint64_t* out) {
  *out = co_await fib(c, n);
}

}  // namespace

int main(int argc, char** argv) {
  asx::runtime rt(bench::quiet());
  return bench::fork_join(argc, argv, [&rt](std::uint64_t n) {
    std::uint64_t out = 0;
    bench::spawn(rt, first, n, &out);
    bench::run_all(rt);
    return out;
  });
}
