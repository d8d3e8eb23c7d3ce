// asx, with tasks: a task for one branch, the other awaited in place, and a join. The handle gives the value. On this
// thread, or on workers.
#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

// What lies deeper goes first: few tasks are alive at a time, and their memory is at hand.
asx::spawn_options deeper(std::uint64_t n) {
  asx::spawn_options how;
  how.priority = static_cast<std::uint8_t>(255 - n);
  return how;
}

asx::task<std::uint64_t> fib(asx::cx c, std::uint64_t n) {
  if (n < 2) co_return n;
  auto fork = co_await asx::start(c, deeper(n), fib, n - 1);
  const std::uint64_t own = co_await fib(c, n - 2);
  const auto other = co_await asx::join(fork);
  co_return own + other.value();
}

asx::task<> first(asx::cx c, std::uint64_t n, std::uint64_t* out) {
  *out = co_await fib(c, n);
}

}  // namespace

int main(int argc, char** argv) {
  const auto fork_join = [&](auto&& home) {
    return bench::fork_join(argc, argv, [&home](std::uint64_t n) {
      std::uint64_t out = 0;
      bench::spawn(*home, first, n, &out);
      bench::run_all(*home);
      return out;
    });
  };
  const bench::arguments given(argc, argv);
  return given.number(3) == 1 ? fork_join(bench::on_this_thread{}) : fork_join(bench::on_workers<2>{});
}
