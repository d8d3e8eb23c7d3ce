// Asio's experimental channel between C++20 coroutines.
//
// Every async_send and async_receive completes through the io_context, even where there is room. With BENCH_TRY the
// coroutines use try_send and try_receive first and await only when those refuse: that is peer asio_try. With two
// threads under one io_context it is the concurrent channel, which has a lock.
#include "bench/shared/asio.hpp"

#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>

#include "workload.hpp"

namespace {

#ifdef BENCH_TRY
constexpr bool tries_first = true;
#else
constexpr bool tries_first = false;
#endif

using bench::awaitable;
using bench::use_awaitable;
using carried = void(asio::error_code, std::uint64_t);
using bench::one_thread;
using bench::two_threads;
template <class Home>
using channel_of = std::conditional_t<
    std::is_same_v<Home, one_thread>,
    asio::experimental::basic_channel<bench::executor, asio::experimental::channel_traits<>, carried>,
    asio::experimental::basic_concurrent_channel<bench::executor, asio::experimental::channel_traits<>, carried>>;

template <class Channel>
bool sent(Channel& to, std::uint64_t value) {
  return tries_first && to.try_send(asio::error_code{}, value);
}

template <class Channel>
bool received(Channel& from, std::uint64_t& out) {
  return tries_first && from.try_receive([&out](asio::error_code, std::uint64_t value) { out = value; });
}

template <class Channel>
awaitable produce(Channel& to, std::uint64_t first, std::uint64_t step, std::uint64_t end) {
  for (std::uint64_t value = first; value < end; value += step) {
    if (!sent(to, value)) co_await to.async_send(asio::error_code{}, value, use_awaitable);
  }
}

template <class Channel>
awaitable consume(Channel& from, std::uint64_t n, std::uint64_t& sum) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t value = 0;
    if (!received(from, value)) value = co_await from.async_receive(use_awaitable);
    sum += value;
  }
}

template <class Channel>
awaitable serve(Channel& to, Channel& from, std::uint64_t n, std::uint64_t& sum) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t answer = 0;
    if (!sent(to, i)) co_await to.async_send(asio::error_code{}, i, use_awaitable);
    if (!received(from, answer)) answer = co_await from.async_receive(use_awaitable);
    sum += answer;
  }
}

template <class Channel>
awaitable answer(Channel& to, Channel& from, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t value = 0;
    if (!received(from, value)) value = co_await from.async_receive(use_awaitable);
    if (!sent(to, value + 1)) co_await to.async_send(asio::error_code{}, value + 1, use_awaitable);
  }
}

template <class Home>
class stream {
 public:
  stream(std::uint32_t producers, std::uint32_t capacity)
      : channel_(home_.io.get_executor(), capacity), producers_(producers) {}

  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < producers_; ++i) {
      asio::co_spawn(home_.io.get_executor(), produce(channel_, i, producers_, n), asio::detached);
    }
    asio::co_spawn(home_.io.get_executor(), consume(channel_, n, sum), asio::detached);
    home_.run_all();
    return sum;
  }

 private:
  Home home_;
  channel_of<Home> channel_;
  std::uint32_t producers_;
};

template <class Home>
class ping_pong {
 public:
  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    asio::co_spawn(home_.io.get_executor(), serve(there_, back_, n, sum), asio::detached);
    asio::co_spawn(home_.io.get_executor(), answer(back_, there_, n), asio::detached);
    home_.run_all();
    return sum;
  }

 private:
  Home home_;
  channel_of<Home> there_{home_.io.get_executor(), 1}, back_{home_.io.get_executor(), 1};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<stream<one_thread>, ping_pong<one_thread>, stream<two_threads>, ping_pong<two_threads>>(argc,
                                                                                                             argv);
}
