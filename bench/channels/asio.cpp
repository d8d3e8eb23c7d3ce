// Asio's experimental channel between C++20 coroutines on one io_context, which is told that there is one thread. Its
// own executor type throughout: any_io_executor would add a virtual call to each completion.
//
// Every async_send and async_receive completes through the io_context, even where there is room. With BENCH_TRY the
// coroutines use try_send and try_receive first and await only when those refuse: that is peer asio_try.
#if defined(__clang__)  // Asio 1.22 knows only GCC's word for coroutines.
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif
#include <utility>  // Before Asio, which forgot it.

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include "workload.hpp"

namespace {

#ifdef BENCH_TRY
constexpr bool tries_first = true;
#else
constexpr bool tries_first = false;
#endif

using executor = asio::io_context::executor_type;
using channel = asio::experimental::basic_channel<executor, asio::experimental::channel_traits<>,
                                                  void(asio::error_code, std::uint64_t)>;
using awaitable = asio::awaitable<void, executor>;
constexpr asio::use_awaitable_t<executor> use_awaitable;

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
    io_.restart();
    io_.run();
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
    io_.restart();
    io_.run();
    return sum;
  }

 private:
  asio::io_context io_{ASIO_CONCURRENCY_HINT_UNSAFE};
  channel there_{io_.get_executor(), 1}, back_{io_.get_executor(), 1};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<stream, ping_pong>(tries_first ? "asio_try" : "asio", argc, argv);
}
