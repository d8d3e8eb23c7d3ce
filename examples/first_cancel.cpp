#include <asx/asx.hpp>
#include <cstdio>
#include <string>

using namespace asx;

// cut: task
struct lamp {
  lamp() { std::puts("the lamp is lit"); }
  ~lamp() { std::puts("the lamp is out"); }
};

task<> keep_watch(cx c) {
  const lamp light;
  for (;;) {
    co_await sleep(duration::seconds(1));  // A cancel point: cancelled, the coroutine ends here.
    std::printf("%llu s, all is quiet\n", static_cast<unsigned long long>(c.now().ns / 1'000'000'000));
  }
}
// end: task

// cut: cancel
task<> night(cx c) {
  auto watch = co_await start(c, keep_watch);
  co_await sleep(duration::milliseconds(2500));
  std::puts("asked to stop");
  static_cast<void>(watch.cancel({cancel_kind::user, "the day begins"}));
  const auto how = co_await join(watch);  // It has cleaned up when this is over.
  std::printf("the watch is %s by %s: %s\n", name(how.kind()).data(), name(how.reason().kind).data(),
              std::string(how.reason().message).c_str());
}
// end: cancel

// cut: attempt
task<> patient(cx) {
  const auto slept = co_await attempt(sleep(duration::hours(1)));  // The whole answer as a value; it never ends here.
  std::printf("slept: %s\n", name(slept.code).data());
  co_await sleep(duration::hours(1));  // A cancelled task does not wait again: it ends at its next cancel point.
  std::puts("never printed");
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
