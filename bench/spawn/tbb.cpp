// oneTBB: task_group::run and wait, with one thread. Its tasks are functions that run to their end and cannot wait:
// less than a coroutine, and the yardstick for what is more.
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "workload.hpp"

namespace {

class peer {
 public:
  std::uint64_t run(std::uint64_t n, std::uint64_t batch) {
    std::uint64_t sum = 0;
    for (std::uint64_t first = 0; first < n; first += batch) {
      for (std::uint64_t i = first; i < std::min(first + batch, n); ++i) all_.run([&sum, i] { sum += i; });
      all_.wait();
    }
    return sum;
  }

 private:
  tbb::global_control one_thread_{tbb::global_control::max_allowed_parallelism, 1};
  tbb::task_group all_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
