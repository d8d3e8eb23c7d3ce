#include <asx/asx.hpp>
#include <asx/lab/lab.hpp>
#include <cstdio>

using namespace asx;

// cut: bug
// Two clerks, two keys, taken in opposite order. When bert comes, anna is about to take her second key and to go.
task<> clerk(cx, duration comes_after, mutex<int> first, mutex<int> second) {
  co_await sleep(comes_after);
  const auto one = co_await lock(first);
  co_await sleep(duration::milliseconds(1));
  const auto two = co_await lock(second);
}

task<> office(cx c) {
  mutex<int> safe, drawer;
  if (mutex<int>::create(c, safe, "safe", 0) != status::ok) co_await fail(status::resource_exhausted);
  if (mutex<int>::create(c, drawer, "drawer", 0) != status::ok) co_await fail(status::resource_exhausted);
  co_await start(c, {.name = "anna"}, clerk, duration{}, safe, drawer);
  co_await start(c, {.name = "bert"}, clerk, duration::milliseconds(1), drawer, safe);
}
// end: bug

// cut: explore
int main() {
  runtime rt;
  std::printf("run once: %s\n", run_in(rt, office).is_ok() && rt.kernel().live_tasks() == 0 ? "all is well" : "stuck");

  const lab_result found = explore({.seeds = 100}, office);
  if (found.is_ok) return 1;
  std::printf("found at seed %llu: %s", static_cast<unsigned long long>(found.seed), found.finding.c_str());
  std::printf("token %s\n", found.token.c_str());

  const lab_result again = replay({}, found.token, office);
  std::printf("replayed: %s\n", again.digest == found.digest ? "the same run" : "another run");
  return again.finding == found.finding ? 0 : 1;
}
// end: explore
