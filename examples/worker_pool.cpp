#include <algorithm>
#include <array>
#include <asx/asx.hpp>
#include <functional>
#include <iostream>

using namespace asx;

// cut: job
struct pool {
  int at_once = 0;
  int most = 0;
  int done = 0;
};

task<> job(cx, pool& p, std::uint64_t takes_ms) {
  p.most = std::max(p.most, ++p.at_once);
  co_await sleep(duration::milliseconds(takes_ms));
  --p.at_once;
  ++p.done;
}
// end: job

void tell(const char* how, const pool& p, const cx& c) {
  std::cout << how << ": " << p.done << " jobs, at most " << p.most << " at once, at " << c.now().ns / 1'000'000
            << " ms\n";
}

// cut: for_each
task<> by_for_each(cx c) {
  const std::array<std::uint64_t, 6> jobs{30, 10, 20, 10, 40, 10};
  pool p;
  co_await for_each(c, jobs, 2, [&p](cx w, const std::uint64_t& takes_ms) -> task<> { co_await job(w, p, takes_ms); });
  tell("for_each", p, c);
}
// end: for_each

// cut: semaphore
task<> guarded(cx c, semaphore desks, pool& p, std::uint64_t takes_ms) {
  const auto desk = co_await acquire(desks);  // Given back when it goes, however this ends.
  co_await job(c, p, takes_ms);
}

task<> by_semaphore(cx c) {
  semaphore desks;
  if (semaphore::create(c, 2, desks) != status::ok) co_await fail(status::resource_exhausted);
  pool p;
  co_await region(c, [&p, desks](cx r) -> task<> {
    for (const std::uint64_t takes_ms : {30U, 10U, 20U, 10U, 40U, 10U})
      co_await start(r, guarded, desks, std::ref(p), takes_ms);
  });
  tell("semaphore", p, c);
}
// end: semaphore

int main() {
  runtime rt;
  return run_in(rt, by_for_each).is_ok() && run_in(rt, by_semaphore).is_ok() ? 0 : 1;
}
