// The same program on real threads: polls run side by side, and everything else means what it means on one thread. A
// run that was recorded is played again to the same digest.
#include <asx/asx.hpp>
#include <asx/runtime/entry_order.hpp>
#include <cstdint>
#include <cstdio>

using namespace asx;

// cut: program
bool is_prime(std::uint64_t n) {
  if (n < 2) return false;
  for (std::uint64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

task<> count_primes(cx, sender<std::uint64_t> to, std::uint64_t from, std::uint64_t end) {
  std::uint64_t found = 0;
  for (std::uint64_t n = from; n < end; ++n) found += is_prime(n) ? 1U : 0U;  // Side by side with the others.
  co_await send(to, found);
}

task<std::uint64_t> program(cx c) {
  auto [code, tx, rx] = channel<std::uint64_t>(c, 4);
  if (code != status::ok) co_await fail(code);
  for (std::uint64_t from = 0; from < 40'000; from += 5'000) co_await start(c, count_primes, tx, from, from + 5'000);
  tx.drop();
  std::uint64_t all = 0;
  auto& results = rx;
  while (const auto found = co_await recv(results)) all += *found;
  co_return all;
}
// end: program

// cut: main
digest128 play(const threads_config& how) {
  threaded_runtime rt(how);
  if (rt.start_status() != status::ok) return {};
  const auto out = run_in(*rt, program);
  if (out.result.is_ok()) std::printf("%llu primes\n", static_cast<unsigned long long>(out.result.value()));
  return rt->shutdown().is_quiescent() ? rt->journal().digest() : digest128{};
}

int main() {
  entry_order order;
  const digest128 there = play({.workers = 4, .record = &order});
  const digest128 again = play({.workers = 4, .replay = &order});
  std::printf("played again: %s\n", there == again && there != digest128{} ? "the same run" : "another run");
  return there == again ? 0 : 1;
}
// end: main
