// Asio's experimental channel between C++20 coroutines.
//
// Every async_send and async_receive completes through the io_context, even where there is room. With BENCH_TRY the
// coroutines use try_send and try_receive first and await only when those refuse: that is peer asio_try.
#include "bench/shared/asio.hpp"

#include <asio/experimental/channel.hpp>

#include "workload.hpp"

namespace {

#ifdef BENCH_TRY
constexpr bool tries_first = true;
#else
constexpr bool tries_first = false;
#endif

using bench::awaitable;
using bench::use_awaitable;
using channel = asio::experimental::basic_channel<bench::executor, asio::experimental::channel_traits<>,
                                                  void(asio::error_code, std::uint64_t)>;

bool sent(channel& to, std::uint64_t value) {
  return tries_first && to.try_send(asio::error_code{}, value);
}

bool received(channel& from, std::uint64_t& out) {
  return tries_first && from.try_receive([&out](asio::error_code, std::uint64_t value) { out = value; });
}

awaitable produce(channel& to, std::uint64_t first, std::uint64_t step, std::uint64_t end) {
  for (std::uint64_t value = first; value < end; value += step) {
    if (!sent(to, value)) co_await to.async_send(asio::error_code{}, value, use_awaitable);
  }
}

awaitable consume(channel& from, std::uint64_t n, std::uint64_t& sum) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t value = 0;
    if (!received(from, value)) value = co_await from.async_receive(use_awaitable);
    sum += value;
  }
}

awaitable serve(channel& to, channel& from, std::uint64_t n, std::uint64_t& sum) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t answer = 0;
    if (!sent(to, i)) co_await to.async_send(asio::error_code{}, i, use_awaitable);
    if (!received(from, answer)) answer = co_await from.async_receive(use_awaitable);
    sum += answer;
  }
}

awaitable answer(channel& to, channel& from, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t value = 0;
    if (!received(from, value)) value = co_await from.async_receive(use_awaitable);
    if (!sent(to, value + 1)) co_await to.async_send(asio::error_code{}, value + 1, use_awaitable);
  }
}

class stream {
 public:
  stream(std::uint32_t producers, std::uint32_t capacity)
      : channel_(io_.get_executor(), capacity), producers_(producers) {}

  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < producers_; ++i) {
      asio::co_spawn(io_.get_executor(), produce(channel_, i, producers_, n), asio::detached);
    }
    asio::co_spawn(io_.get_executor(), consume(channel_, n, sum), asio::detached);
    bench::run_all(io_);
    return sum;
  }

 private:
  asio::io_context io_{ASIO_CONCURRENCY_HINT_UNSAFE};
  channel channel_;
  std::uint32_t producers_;
};

class ping_pong {
 public:
  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    asio::co_spawn(io_.get_executor(), serve(there_, back_, n, sum), asio::detached);
    asio::co_spawn(io_.get_executor(), answer(back_, there_, n), asio::detached);
    bench::run_all(io_);
    return sum;
  }

 private:
  asio::io_context io_{ASIO_CONCURRENCY_HINT_UNSAFE};
  channel there_{io_.get_executor(), 1}, back_{io_.get_executor(), 1};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<stream, ping_pong>(argc, argv);
}
