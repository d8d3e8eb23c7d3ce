#ifdef BENCH_SINGLE_HEADERS
#include <asx/coro/region.hpp>
#include <asx/coro/run.hpp>
#else
#include <asx/asx.hpp>
#endif
#include <cstdio>

asx::task<> greets(asx::cx, int number) {
  co_await asx::sleep(asx::duration::milliseconds(1));
  std::printf("hello from %d\n", number);
}

asx::task<> program(asx::cx c) {
  co_await asx::region(c, [](asx::cx r) -> asx::task<> {
    for (int number = 0; number < 3; ++number) co_await asx::start(r, greets, number);
  });
}

int main() {
  return asx::run(program).is_ok() ? 0 : 1;
}
