// asx::channel between coroutines: `co_await send`, or as asx_reserve `co_await reserve`, then the permit's send;
// `co_await recv`. The receiver ends after n messages, since the sender that is kept for the next run leaves the
// channel open.
#include "asx/coro/chan.hpp"

#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

using asx::cx;
using asx::task;
using sender = asx::sender<std::uint64_t>;
using receiver = asx::receiver<std::uint64_t>;

#if defined(BENCH_RESERVES)
#define BENCH_SEND(to, value) static_cast<void>((co_await asx::reserve(to)).send(value))
#else
#define BENCH_SEND(to, value) co_await asx::send(to, value)
#endif

task<> produces(cx, sender* to, std::uint64_t first, std::uint64_t step, std::uint64_t end) {
  for (std::uint64_t value = first; value < end; value += step) BENCH_SEND(*to, value);
}

task<> consumes(cx, receiver* from, std::uint64_t n, std::uint64_t* sum) {
  for (std::uint64_t i = 0; i < n; ++i) *sum += *co_await asx::recv(*from);
}

task<> serves(cx, sender* to, receiver* from, std::uint64_t n, std::uint64_t* sum) {
  for (std::uint64_t i = 0; i < n; ++i) {
    BENCH_SEND(*to, i);
    *sum += *co_await asx::recv(*from);
  }
}

task<> answers(cx, sender* to, receiver* from, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto value = co_await asx::recv(*from);
    BENCH_SEND(*to, *value + 1);
  }
}

auto make(asx::runtime& rt, std::uint32_t capacity) {
  return asx::channel<std::uint64_t>(rt.kernel(), rt.root(), capacity);
}

template <class Home>
class stream {
 public:
  stream(std::uint32_t producers, std::uint32_t capacity) : ends_(make(*home_, capacity)), producers_(producers) {
    bench::require(ends_.code == asx::status::ok, "a channel is made");
    for (sender& to : to_) to = ends_.tx;  // One each.
  }

  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint32_t p = 0; p < producers_; ++p) {
      bench::spawn(*home_, produces, &to_[p], std::uint64_t{p}, std::uint64_t{producers_}, n);
    }
    bench::spawn(*home_, consumes, &ends_.rx, n, &sum);
    bench::run_all(*home_);
    return sum;
  }

 private:
  Home home_;
  decltype(make(*home_, 1)) ends_;
  sender to_[4];
  std::uint32_t producers_;
};

template <class Home>
class ping_pong {
 public:
  ping_pong() : there_(make(*home_, 1)), back_(make(*home_, 1)) {
    bench::require(there_.code == asx::status::ok && back_.code == asx::status::ok, "two channels are made");
  }

  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    bench::spawn(*home_, serves, &there_.tx, &back_.rx, n, &sum);
    bench::spawn(*home_, answers, &back_.tx, &there_.rx, n);
    bench::run_all(*home_);
    return sum;
  }

 private:
  Home home_;
  decltype(make(*home_, 1)) there_, back_;
};

}  // namespace

int main(int argc, char** argv) {
  using bench::on_this_thread;
  using bench::on_workers;
#if defined(BENCH_ONE_WORKER)
  return bench::main<stream<on_workers<1>>, ping_pong<on_workers<1>>>(argc, argv);
#else
  return bench::main<stream<on_this_thread>, ping_pong<on_this_thread>, stream<on_workers<2>>,
                     ping_pong<on_workers<2>>>(argc, argv);
#endif
}
