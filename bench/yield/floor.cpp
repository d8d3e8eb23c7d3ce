// The least code that does the work: a coroutine puts itself at the end of the list.
#include "bench/shared/floor.hpp"

#include "workload.hpp"

namespace {

bench::bare_task gives_way(std::uint64_t times, std::uint64_t& done) {
  for (std::uint64_t i = 0; i < times; ++i) co_await bench::stand_in{bench::ready};
  done += times;
}

struct peer {
  static std::uint64_t run(std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < tasks; ++i) bench::ready.push(*gives_way(each, done).self);
    bench::ready.run_all();
    return done;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
