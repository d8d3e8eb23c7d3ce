// The least code that does the work: a frame from operator new, a place in the list, and gone.
#include "bench/shared/floor.hpp"

#include "workload.hpp"

namespace {

bench::bare_task adds(std::uint64_t number, std::uint64_t& sum) {
  sum += number;
  co_return;
}

struct peer {
  static std::uint64_t run(std::uint64_t n, std::uint64_t batch) {
    std::uint64_t sum = 0;
    for (std::uint64_t first = 0; first < n; first += batch) {
      for (std::uint64_t i = first; i < std::min(first + batch, n); ++i) bench::ready.push(*adds(i, sum).self);
      bench::ready.run_all();
    }
    return sum;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
