// asx: run(), as in the first program of the README: a live runtime with everything on, journal included, and an
// orderly shutdown.
#include "asx/coro/run.hpp"
#include "workload.hpp"

namespace {

asx::task<std::uint64_t> says_one(asx::cx) {
  co_return 1;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::startup(argc, argv, [] { return asx::run(says_one).result.value(); });
}
