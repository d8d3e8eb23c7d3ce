// asx: pieces of one task's poll, one put aside and one called, as TBB's task_group has it. On this thread, or on
// workers.
#include "bench/shared/asx.hpp"
#include "asx/runtime/parallel.hpp"
#include "workload.hpp"

namespace {

std::uint64_t fib(asx::pieces& p, std::uint64_t n) {
  if (n < 2) return n;
  const auto [own, other] = p.both([n](asx::pieces& here) { return fib(here, n - 2); },
                                   [n](asx::pieces& there) { return fib(there, n - 1); });
  return own + other;
}

asx::task<> first(asx::cx c, std::uint64_t n, std::uint64_t* out) {
  *out = asx::parallel(c, [n](asx::pieces& p) { return fib(p, n); });
  co_return;
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
