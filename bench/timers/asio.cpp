// Asio: basic_waitable_timer on a clock of our own, so that time can jump; steady_timer is the same template.
// register is expires_at and async_wait, cancel is cancel() and the run of the aborted handler (settled by poll),
// expiry is io_context::poll. One thread, and the io_context is told so. Asio arms a timerfd of the kernel for the
// earliest timer, which knows nothing of our clock; a timer that is due at once makes it look again after a jump.
#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>
#include <chrono>

#include "workload.hpp"

namespace {

struct mock_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<mock_clock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static inline time_point at{};
  static time_point now() { return at; }
};

class peer {
 public:
  explicit peer(std::uint32_t n) : io_(ASIO_CONCURRENCY_HINT_UNSAFE), alarm_(io_) {
    timers_.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) timers_.emplace_back(io_);
  }

  void add(std::uint32_t i, std::uint32_t ms) {
    timers_[i].expires_at(mock_clock::at + std::chrono::milliseconds(ms));
    timers_[i].async_wait([this](const asio::error_code& e) { fired_ += !e; });
  }
  void cancel(std::uint32_t i) {
    timers_[i].cancel();
    if (++cancelled_ % 64 == 0) settle();  // A loop runs its handlers often; a million at once would be unfair.
  }
  void settle() {
    io_.restart();
    io_.poll();
  }
  std::size_t advance(std::uint32_t ms) {
    mock_clock::at += std::chrono::milliseconds(ms);
    fired_ = 0;
    bool looked = false;
    alarm_.expires_at(mock_clock::time_point::min());
    alarm_.async_wait([&looked](const asio::error_code&) { looked = true; });
    while (!looked) settle();
    return fired_;
  }
  void clear() {
    for (auto& t : timers_) t.cancel();
    settle();
  }

 private:
  asio::io_context io_;
  asio::basic_waitable_timer<mock_clock> alarm_;
  std::vector<asio::basic_waitable_timer<mock_clock>> timers_;
  std::size_t fired_ = 0, cancelled_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
