// The least code that does the work: a coroutine frame from operator new, resumed once. As a process: what the system
// takes to start any C++ program.
#include "bench/shared/floor.hpp"

#include "workload.hpp"

namespace {

bench::bare_task says_one(std::uint64_t& out) {
  out = 1;
  co_return;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::startup(argc, argv, [] {
    std::uint64_t out = 0;
    bench::ready.push(*says_one(out).self);
    bench::ready.run_all();
    return out;
  });
}
