// Asio: co_spawn with `detached`, and the end of io_context::run() says that all have ended. A completion handler that
// counts would cost more.
#include "bench/shared/asio.hpp"

#include "workload.hpp"

namespace {

bench::awaitable adds(std::uint64_t number, std::uint64_t& sum) {
  sum += number;
  co_return;
}

class peer {
 public:
  std::uint64_t run(std::uint64_t n, std::uint64_t batch) {
    std::uint64_t sum = 0;
    for (std::uint64_t first = 0; first < n; first += batch) {
      for (std::uint64_t i = first; i < std::min(first + batch, n); ++i) {
        asio::co_spawn(io_.get_executor(), adds(i, sum), asio::detached);
      }
      bench::run_all(io_);
    }
    return sum;
  }

 private:
  asio::io_context io_{ASIO_CONCURRENCY_HINT_UNSAFE};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
