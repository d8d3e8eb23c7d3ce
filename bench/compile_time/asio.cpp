#if defined(__clang__)  // Asio 1.22 knows only GCC's word for coroutines.
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif
#include <utility>  // Before Asio, which forgot it.

#ifdef BENCH_SINGLE_HEADERS
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#else
#include <asio.hpp>
#endif
#include <cstdio>

asio::awaitable<void> greets(int number) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
  co_await timer.async_wait(asio::use_awaitable);
  std::printf("hello from %d\n", number);
}

int main() {
  asio::io_context io;
  for (int number = 0; number < 3; ++number) asio::co_spawn(io, greets(number), asio::detached);
  io.run();
  return 0;
}
