// A program that does not end, and who waits for whom in it.
#include <asx/asx.hpp>
#include <asx/kernel/report.hpp>
#include <asx/lab/lab.hpp>
#include <cstdio>
#include <functional>

using namespace asx;

// cut: program
task<> adds(cx, receiver<int> numbers, int& sum) {
  while (const auto n = co_await recv(numbers)) sum += *n;  // Until the last sender is gone.
}

task<> program(cx c) {
  int sum = 0;
  auto [code, to, numbers] = channel<int>(c, 4, "numbers");
  if (code != status::ok) co_await fail(code);
  auto adder = co_await start(c, {.name = "adder"}, adds, std::move(numbers), std::ref(sum));
  for (int i = 1; i <= 3; ++i) co_await send(to, i);
  co_await join(adder);
  std::printf("%d\n", sum);
}
// end: program

// cut: main
int main() {
  runtime rt;
  if (run_in(rt, program).is_ok()) return 1;
  std::printf("%s", describe_tree(rt.kernel()).c_str());

  const lab_result found = explore({.seeds = 1}, program);
  std::printf("\nthe lab: %s", found.finding.c_str());
  return found.is_ok ? 1 : 0;
}
// end: main
