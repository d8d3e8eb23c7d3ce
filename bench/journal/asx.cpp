// What the journal costs asx: a yield, and a message through a channel of 64, with the journal off, with its digest
// alone, and in full. BENCH_JOURNAL says which; the program is built three times.
//
// Arguments: operations rounds.
#include "bench/shared/asx.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/time.hpp"

#ifndef BENCH_JOURNAL
#define BENCH_JOURNAL off
#endif

namespace {

using asx::cx;
using asx::task;

task<> gives_way(cx, std::uint64_t times, std::uint64_t* done) {
  for (std::uint64_t i = 0; i < times; ++i) co_await asx::yield();
  *done += times;
}

task<> produces(cx, asx::sender<std::uint64_t> to, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    auto permit = co_await asx::reserve(to);
    static_cast<void>(permit.send(i));
  }
}

task<> consumes(cx c, std::uint64_t n, std::uint64_t* done) {
  auto [code, tx, rx] = asx::channel<std::uint64_t>(c, 64);
  bench::require(code == asx::status::ok, "there is a channel");
  co_await asx::start(c, produces, std::move(tx), n);
  auto& from = rx;
  while (co_await asx::recv(from)) ++*done;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::arguments given(argc, argv);
  asx::runtime rt(bench::quiet(asx::journal_mode::BENCH_JOURNAL));
  const auto runs = [&rt](auto function, auto... more) {
    bench::spawn(rt, function, more...);
    bench::run_all(rt);
  };
  bench::measure("yield", given.number(1), given.rounds(2), &bench::processor_ns, [&](std::uint64_t n) {
    std::uint64_t done = 0;
    runs(gives_way, n, &done);
    return done == n;
  });
  bench::measure("message", given.number(1), given.rounds(2), &bench::processor_ns, [&](std::uint64_t n) {
    std::uint64_t done = 0;
    runs(consumes, n, &done);
    return done == n;
  });
  return 0;
}
