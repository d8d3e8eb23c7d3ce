// asx::channel between coroutines, a list at a time: `co_await send_many`, `co_await recv_many`.
#include <vector>

#include "asx/coro/many.hpp"
#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

using asx::cx;
using asx::task;
using sender = asx::sender<std::uint64_t>;
using receiver = asx::receiver<std::uint64_t>;
using list = std::vector<std::uint64_t>;

task<> produces(cx, sender* to, list* values, std::uint64_t first, std::uint64_t step, std::uint64_t end) {
  for (std::uint64_t value = first; value < end;) {
    values->clear();
    for (; value < end && values->size() < bench::batch; value += step) values->push_back(value);
    co_await asx::send_many(*to, *values);
  }
}

task<> consumes(cx, receiver* from, list* values, std::uint64_t n, std::uint64_t* sum) {
  while (n != 0) {
    values->clear();
    n -= co_await asx::recv_many(*from, *values, bench::batch);
    for (const std::uint64_t value : *values) *sum += value;
  }
}

template <class Home>
class stream {
 public:
  stream(std::uint32_t producers, std::uint32_t capacity)
      : ends_(asx::channel<std::uint64_t>((*home_).kernel(), (*home_).root(), capacity)), producers_(producers) {
    bench::require(ends_.code == asx::status::ok, "a channel is made");
    for (sender& to : to_) to = ends_.tx;
    for (list& values : values_) values.reserve(bench::batch);
  }

  std::uint64_t run(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint32_t p = 0; p < producers_; ++p) {
      bench::spawn(*home_, produces, &to_[p], &values_[p], std::uint64_t{p}, std::uint64_t{producers_}, n);
    }
    bench::spawn(*home_, consumes, &ends_.rx, &values_[4], n, &sum);
    bench::run_all(*home_);
    return sum;
  }

 private:
  Home home_;
  asx::channel_ends<std::uint64_t> ends_;
  sender to_[4];
  list values_[5];
  std::uint32_t producers_;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::arguments given(argc, argv);
  const char* const only = argc > 4 ? argv[4] : nullptr;
  if (given.is(1, "stream")) {
    bench::streams<stream<bench::on_this_thread>>(given, only, "", &bench::processor_ns);
  } else {
    bench::require(given.is(1, "threads"), "the first argument is stream or threads");
    bench::streams<stream<bench::on_workers<2>>>(given, only, " threads", &bench::wall_ns);
  }
  return 0;
}
