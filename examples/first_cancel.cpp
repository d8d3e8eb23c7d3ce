#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

// cut: task
struct lamp {
  lamp() { std::cout << "the lamp is lit\n"; }
  ~lamp() { std::cout << "the lamp is out\n"; }
};

task<> keep_watch(cx c) {
  const lamp light;
  for (;;) {
    co_await sleep(duration::seconds(1));  // A cancel point: cancelled, the coroutine ends here.
    std::cout << c.now().ns / 1'000'000'000 << " s, all is quiet\n";
  }
}
// end: task

// cut: cancel
task<> night(cx c) {
  auto watch = co_await start(c, keep_watch);
  co_await sleep(duration::milliseconds(2500));
  std::cout << "asked to stop\n";
  static_cast<void>(watch.cancel({cancel_kind::user, "the day begins"}));
  const auto how = co_await join(watch);  // It has cleaned up when this is over.
  std::cout << "the watch is " << name(how.kind()) << " by " << name(how.reason().kind) << ": " << how.reason().message
            << '\n';
}
// end: cancel

// cut: attempt
task<> patient(cx) {
  const auto slept = co_await attempt(sleep(duration::hours(1)));  // The whole answer as a value; it never ends here.
  std::cout << "slept: " << name(slept.code) << '\n';
  co_await sleep(duration::hours(1));  // A cancelled task does not wait again: it ends at its next cancel point.
  std::cout << "never printed\n";
}
// end: attempt

task<> morning(cx c) {
  auto sleeper = co_await start(c, patient);
  co_await yield();  // Let it fall asleep.
  static_cast<void>(sleeper.cancel());
  static_cast<void>(co_await join(sleeper));
}

int main() {
  runtime rt;  // Virtual time: it jumps when everybody waits.
  return run_in(rt, night).is_ok() && run_in(rt, morning).is_ok() ? 0 : 1;
}
