#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

std::uint64_t now_ms(const cx& c) {
  return c.now().ns / 1'000'000;
}

// cut: children
task<> breaks(cx) {
  co_await sleep(duration::milliseconds(10));
  co_await fail(status::io);
}

task<> works(cx c) {
  co_await sleep(duration::milliseconds(30));
  std::cout << "  " << now_ms(c) << " ms  the other one is done\n";
}

task<> both(cx c) {
  co_await start(c, breaks);
  co_await start(c, works);
}
// end: children

// cut: policies
task<> program(cx c) {
  for (const auto policy : {region_policy::fail_fast, region_policy::supervise}) {
    std::cout << (policy == region_policy::fail_fast ? "fail_fast" : "supervise") << ":\n";
    const region_options how{.policy = policy};
    const auto ended = co_await attempt(region(c, how, both));
    std::cout << "  " << now_ms(c) << " ms  the block ends: " << name(ended.kind()) << ' ' << name(ended.error().code)
              << '\n';
  }
}
// end: policies

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
