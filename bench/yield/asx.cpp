// asx: coroutines that await yield().
#include "bench/shared/asx.hpp"
#include "asx/coro/time.hpp"
#include "workload.hpp"

namespace {

asx::task<> gives_way(asx::cx, std::uint64_t times, std::uint64_t* done) {
  for (std::uint64_t i = 0; i < times; ++i) co_await asx::yield();
  *done += times;
}

class peer {
 public:
  std::uint64_t run(std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < tasks; ++i) bench::spawn(rt_, gives_way, each, &done);
    bench::run_all(rt_);
    return done;
  }

 private:
  asx::runtime rt_{bench::quiet()};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
