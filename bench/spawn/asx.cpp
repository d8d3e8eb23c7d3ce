// asx: a region block a batch: what is spawned in it has ended when its await is over.
#include "bench/shared/asx.hpp"
#include "asx/coro/region.hpp"
#include "workload.hpp"

namespace {

using asx::cx;
using asx::task;

task<> adds(cx, std::uint64_t number, std::uint64_t* sum) {
  *sum += number;
  co_return;
}

task<> runs(cx c, std::uint64_t n, std::uint64_t batch, std::uint64_t* sum) {
  for (std::uint64_t first = 0; first < n; first += batch) {
    co_await asx::region(c, [first, end = std::min(first + batch, n), sum](cx r) -> task<> {
      for (std::uint64_t i = first; i < end; ++i) co_await asx::start(r, adds, i, sum);
    });
  }
}

class peer {
 public:
  std::uint64_t run(std::uint64_t n, std::uint64_t batch) {
    std::uint64_t sum = 0;
    bench::spawn(rt_, runs, n, batch, &sum);
    bench::run_all(rt_);
    return sum;
  }

 private:
  asx::runtime rt_{bench::quiet()};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
