#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

// cut: helper
struct connection {
  ~connection() { std::puts("  the connection is closed"); }
};

task<int> ask(cx, int takes_ms) {
  const connection to_server;
  co_await sleep(duration::milliseconds(static_cast<unsigned>(takes_ms)));
  co_return 42;
}
// end: helper

// cut: timeout
task<> program(cx c) {
  for (const int takes_ms : {20, 2000}) {
    std::printf("an answer that takes %d ms:\n", takes_ms);
    if (const auto answer = co_await with_timeout(c, duration::milliseconds(100), ask, takes_ms)) {
      std::printf("  %d, after %llu ms\n", *answer, static_cast<unsigned long long>(c.now().ns / 1'000'000));
    } else {  // Whatever was started has ended by now.
      std::printf("  none, after %llu ms\n", static_cast<unsigned long long>(c.now().ns / 1'000'000));
    }
  }
}
// end: timeout

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
