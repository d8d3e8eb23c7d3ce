#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

// cut: stages
task<> read_numbers(cx, sender<int> out, int from) {
  for (int i = from; i < from + 3; ++i) co_await send(out, i);
}  // The sender goes with the task: the channel ends when the last of them has.

task<> keep_even(cx, receiver<int> in, sender<int> out) {
  while (const auto n = co_await recv(in)) {
    if (*n % 2 == 0) co_await send(out, *n);
  }
}
// end: stages

// cut: pipeline
task<int> pipeline(cx c) {
  auto [no_raw, raw_in, raw] = channel<int>(c, 2, "raw");
  auto [no_even, even_in, even] = channel<int>(c, 1, "even");
  if (no_raw != status::ok || no_even != status::ok) co_await fail(status::resource_exhausted);
  for (const int from : {0, 100, 200}) co_await start(c, read_numbers, raw_in, from);
  raw_in.drop();  // The readers have their own.
  co_await start(c, keep_even, std::move(raw), std::move(even_in));
  int sum = 0;
  while (const auto n = co_await recv(even)) sum += *n;
  co_return sum;
}
// end: pipeline

task<> program(cx c) {
  const int sum = co_await region(c, pipeline);
  std::printf("the even ones sum to %d\n", sum);
}

// cut: main
int main() {
  return asx::run(program).is_ok() ? 0 : 1;
}
// end: main
