#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

// cut: child
task<int> square(cx, int n) {
  co_await sleep(duration::milliseconds(10 * static_cast<std::uint64_t>(n)));
  const int squared = n * n;
  std::cout << "  " << n << " squared is " << squared << '\n';
  co_return squared;
}
// end: child

// cut: block
task<int> sum_of_squares(cx c) {
  co_await start(c, square, 4);             // Nobody waits for this one by name; the block still does.
  auto two = co_await start(c, square, 2);  // They run beside each other,
  auto one = co_await start(c, square, 1);  // and beside this coroutine.
  const auto a = co_await join(two);
  const auto b = co_await join(one);
  std::cout << "  the body returns\n";
  co_return a.value() + b.value();
}

task<> program(cx c) {
  std::cout << "the block begins\n";
  const int sum = co_await region(c, sum_of_squares);
  std::cout << "the block is over: " << sum << "; " << c.kernel().live_tasks() << " task is left, this one\n";
}
// end: block

// cut: main
int main() {
  runtime rt;  // Virtual time: it jumps when everybody waits. asx::run(program) takes 40 ms.
  return run_in(rt, program).is_ok() ? 0 : 1;
}
// end: main
