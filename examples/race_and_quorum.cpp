#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

// cut: replica
struct replica {
  std::uint64_t takes_ms;
  bool is_broken = false;

  task<std::uint64_t> operator()(cx) const {
    co_await sleep(duration::milliseconds(takes_ms));
    if (is_broken) co_await fail(status::io);
    co_return takes_ms;
  }
};
// end: replica

std::uint64_t now_ms(const cx& c) {
  return c.now().ns / 1'000'000;
}

// cut: all
task<> program(cx c) {
  const auto first = co_await race(c, replica{30}, replica{10}, replica{20});
  std::cout << "race:     " << first.value() << ", at " << now_ms(c) << " ms\n";

  const auto good = co_await first_ok(c, replica{5, true}, replica{20}, replica{40});
  std::cout << "first_ok: " << good.value() << ", at " << now_ms(c) << " ms\n";

  const auto most = co_await quorum(c, 2, replica{10, true}, replica{20}, replica{30}, replica{900});
  std::cout << "quorum:   " << (most.is_reached ? "two have answered" : "not reached") << ", at " << now_ms(c)
            << " ms\n";

  const auto [left, right] = co_await join_all(c, replica{15}, replica{25, true});
  std::cout << "join_all: " << name(left.kind()) << " and " << name(right.kind()) << ", at " << now_ms(c) << " ms\n";
}
// end: all

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
