#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

// cut: replica
struct replica {
  int takes_ms;
  bool is_broken = false;

  task<int> operator()(cx) const {
    co_await sleep(duration::milliseconds(static_cast<unsigned>(takes_ms)));
    if (is_broken) co_await fail(status::io);
    co_return takes_ms;
  }
};
// end: replica

int now_ms(const cx& c) {
  return static_cast<int>(c.now().ns / 1'000'000);
}

// cut: all
task<> program(cx c) {
  const auto first = co_await race(c, replica{30}, replica{10}, replica{20});
  std::printf("race:     %d, at %d ms\n", first.value(), now_ms(c));

  const auto good = co_await first_ok(c, replica{5, true}, replica{20}, replica{40});
  std::printf("first_ok: %d, at %d ms\n", good.value(), now_ms(c));

  const auto most = co_await quorum(c, 2, replica{10, true}, replica{20}, replica{30}, replica{900});
  std::printf("quorum:   %s, at %d ms\n", most.is_reached ? "two have answered" : "not reached", now_ms(c));

  const auto [left, right] = co_await join_all(c, replica{15}, replica{25, true});
  std::printf("join_all: %s and %s, at %d ms\n", name(left.kind()).data(), name(right.kind()).data(), now_ms(c));
}
// end: all

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
