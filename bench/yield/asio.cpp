// Asio: coroutines that await post(), which is its way to give way. It puts the rest of the coroutine behind what is in
// the io_context's queue; dispatch() would run it at once.
#include "bench/shared/asio.hpp"

#include "workload.hpp"

namespace {

bench::awaitable gives_way(bench::executor on, std::uint64_t times, std::uint64_t& done) {
  for (std::uint64_t i = 0; i < times; ++i) co_await asio::post(on, bench::use_awaitable);
  done += times;
}

class peer {
 public:
  std::uint64_t run(std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < tasks; ++i) {
      asio::co_spawn(io_.get_executor(), gives_way(io_.get_executor(), each, done), asio::detached);
    }
    bench::run_all(io_);
    return done;
  }

 private:
  asio::io_context io_{ASIO_CONCURRENCY_HINT_UNSAFE};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
