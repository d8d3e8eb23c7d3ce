// Asio: an io_context, a coroutine, run().
#include "bench/shared/asio.hpp"

#include "workload.hpp"

namespace {

bench::awaitable says_one(std::uint64_t& out) {
  out = 1;
  co_return;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::startup(argc, argv, [] {
    std::uint64_t out = 0;
    asio::io_context io{ASIO_CONCURRENCY_HINT_UNSAFE};
    asio::co_spawn(io.get_executor(), says_one(out), asio::detached);
    io.run();
    return out;
  });
}
