// Asio: C++20 coroutines, each with a cancellation signal of its own, which is how Asio cancels one; all are emitted in
// order. The signal is part of what a coroutine costs that can be cancelled.
#include "bench/shared/asio.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <deque>

#include "workload.hpp"

namespace {

using bench::awaitable;
using bench::executor;
using bench::use_awaitable;
using channel = asio::experimental::basic_channel<executor, asio::experimental::channel_traits<>,
                                                  void(asio::error_code, std::uint64_t)>;
using timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, executor>;

awaitable waits_for_slot(channel& to, std::uint64_t number, std::uint64_t& ended) {
  asio::error_code failed;
  co_await to.async_send(asio::error_code{}, number, asio::redirect_error(use_awaitable, failed));
  ++ended;
}
awaitable waits_for_time(executor on, std::uint64_t& ended) {
  asio::error_code failed;
  timer sleep(on, std::chrono::hours(1));
  co_await sleep.async_wait(asio::redirect_error(use_awaitable, failed));
  ++ended;
}

void round(bool is_timer, std::uint64_t n, bench::stopwatch& watch) {
  asio::io_context io{ASIO_CONCURRENCY_HINT_UNSAFE};
  std::uint64_t ended = 0;
  watch.begin();
  {
    channel full(io.get_executor(), 1);
    bench::require(full.try_send(asio::error_code{}, std::uint64_t{0}), "the channel is full");
    std::deque<asio::cancellation_signal> signals(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      if (is_timer) {
        asio::co_spawn(io.get_executor(), waits_for_time(io.get_executor(), ended),
                       asio::bind_cancellation_slot(signals[i].slot(), asio::detached));
      } else {
        asio::co_spawn(io.get_executor(), waits_for_slot(full, i, ended),
                       asio::bind_cancellation_slot(signals[i].slot(), asio::detached));
      }
    }
    io.poll();
    bench::require(ended == 0, "all of them wait");
    watch.parked();
    for (auto& signal : signals) signal.emit(asio::cancellation_type::terminal);
    io.restart();
    io.poll();
    bench::require(ended == n, "all have ended");
  }
  watch.over();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::main(round, argc, argv);
}
