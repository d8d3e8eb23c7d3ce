#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

int now_ms(const cx& c) {
  return static_cast<int>(c.now().ns / 1'000'000);
}

// cut: children
task<> breaks(cx) {
  co_await sleep(duration::milliseconds(10));
  co_await fail(status::io);
}

task<> works(cx c) {
  co_await sleep(duration::milliseconds(30));
  std::printf("  %d ms  the other one is done\n", now_ms(c));
}

task<> both(cx c) {
  co_await start(c, breaks);
  co_await start(c, works);
}
// end: children

// cut: policies
task<> program(cx c) {
  for (const auto policy : {region_policy::fail_fast, region_policy::supervise}) {
    std::printf("%s:\n", policy == region_policy::fail_fast ? "fail_fast" : "supervise");
    const region_options how{.policy = policy};
    const auto ended = co_await attempt(region(c, how, both));
    std::printf("  %d ms  the block ends: %s %s\n", now_ms(c), name(ended.kind()).data(),
                name(ended.error().code).data());
  }
}
// end: policies

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
