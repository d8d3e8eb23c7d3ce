// asx: a region block a batch: what is spawned in it has ended when its await is over.
#include <atomic>

#include "asx/coro/region.hpp"
#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

using asx::cx;
using asx::task;

template <class Sum>
task<> adds(cx, std::uint64_t number, Sum* sum) {
  *sum += number;
  co_return;
}

template <class Sum>
task<> runs(cx c, std::uint64_t n, std::uint64_t batch, Sum* sum) {
  for (std::uint64_t first = 0; first < n; first += batch) {
    co_await asx::region(c, [first, end = std::min(first + batch, n), sum](cx r) -> task<> {
      for (std::uint64_t i = first; i < end; ++i) co_await asx::start(r, adds<Sum>, i, sum);
    });
  }
}

template <class Home, class Sum>
class peer {
 public:
  std::uint64_t run(std::uint64_t n, std::uint64_t batch) {
    Sum sum{0};
    bench::spawn(*home_, runs<Sum>, n, batch, &sum);
    bench::run_all(*home_);
    return sum;
  }

 private:
  Home home_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer<bench::on_this_thread, std::uint64_t>,
                     peer<bench::on_workers<2>, std::atomic<std::uint64_t>>>(argc, argv);
}
