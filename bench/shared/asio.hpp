// bench/shared/asio.hpp - Asio as its users write coroutines when they care for speed: its own executor type
// throughout (any_io_executor would add a virtual call to each completion), and an io_context that is told that there
// is one thread (ASIO_CONCURRENCY_HINT_UNSAFE), so that it takes no locks.
#pragma once

#if defined(__clang__)  // Asio 1.22 knows only GCC's word for coroutines.
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif
#include <utility>  // Before Asio, which forgot it.

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <thread>

namespace bench {

using executor = asio::io_context::executor_type;
using awaitable = asio::awaitable<void, executor>;
inline constexpr asio::use_awaitable_t<executor> use_awaitable;

/// Until every coroutine has ended.
inline void run_all(asio::io_context& io) {
  io.restart();
  io.run();
}

/// Where coroutines run: an io_context, and who is in it.
struct one_thread {
  asio::io_context io{ASIO_CONCURRENCY_HINT_UNSAFE};
  void run_all() { bench::run_all(io); }
};
struct two_threads {
  asio::io_context io{2};
  void run_all() {
    io.restart();
    std::thread other([this] { io.run(); });
    io.run();
    other.join();
  }
};

}  // namespace bench
