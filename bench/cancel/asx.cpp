// asx: coroutines in a region block, whose owner is cancelled: one request closes the region, and the await of the
// block is over when all have ended.
#include "asx/asx.hpp"
#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

using namespace asx;

task<> waits_for_slot(cx, sender<std::uint64_t> to, std::uint64_t number) {
  co_await send(to, number);
}
task<> waits_for_time(cx, std::uint64_t number) {
  co_await sleep(duration::hours(1));
  bench::require(number == 0, "nobody gets here");
}

task<> parks(cx c, bool is_timer, std::uint64_t n) {
  auto [code, tx, rx] = channel<std::uint64_t>(c, 1);
  bench::require(code == status::ok, "there is a channel");
  auto& to = tx;
  co_await send(to, std::uint64_t{0});
  co_await region(c, [&to, is_timer, n](cx r) -> task<> {
    for (std::uint64_t i = 1; i <= n; ++i) {
      const status s = is_timer ? spawn(r, waits_for_time, i).code : spawn(r, waits_for_slot, to, i).code;
      bench::require(s == status::ok, "a task is spawned");
    }
    co_await sleep(duration::hours(1));
  });
}

void round(runtime& rt, bool is_timer, std::uint64_t n, bench::stopwatch& watch) {
  watch.begin();
  auto first = spawn_in(rt.kernel(), rt.root(), {}, parks, is_timer, n);
  bench::require(first.code == status::ok && rt.run_until_idle(UINT64_MAX).ended == status::ok, "all of them wait");
  bench::require(rt.kernel().live_tasks() == n + 2, "and none has ended");
  watch.parked();
  bench::require(first.handle.cancel() == status::ok, "the cancel is taken");
  bench::require(rt.run_until_idle(UINT64_MAX).ended == status::ok && rt.kernel().live_tasks() == 0, "all have ended");
  watch.over();
}

}  // namespace

int main(int argc, char** argv) {
  runtime rt(bench::quiet());
  return bench::main([&rt](bool is_timer, std::uint64_t n, bench::stopwatch& watch) { round(rt, is_timer, n, watch); },
                     argc, argv);
}
