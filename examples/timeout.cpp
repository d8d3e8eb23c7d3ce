#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

// cut: helper
struct connection {
  ~connection() { std::cout << "  the connection is closed\n"; }
};

task<int> ask(cx, std::uint64_t takes_ms) {
  const connection to_server;
  co_await sleep(duration::milliseconds(takes_ms));
  co_return 42;
}
// end: helper

// cut: timeout
task<> program(cx c) {
  for (const std::uint64_t takes_ms : {20U, 2000U}) {
    std::cout << "an answer that takes " << takes_ms << " ms:\n";
    if (const auto answer = co_await with_timeout(c, duration::milliseconds(100), ask, takes_ms)) {
      std::cout << "  " << *answer << ", at " << c.now().ns / 1'000'000 << " ms\n";
    } else {  // Whatever was started has ended by now.
      std::cout << "  none, at " << c.now().ns / 1'000'000 << " ms\n";
    }
  }
}
// end: timeout

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
