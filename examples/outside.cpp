// A runtime and the world outside it: a blocking call, a value from another thread, and Ctrl-C as an orderly end.
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "asx/coro/blocking.hpp"
#include "asx/coro/foreign.hpp"
#include "asx/coro/run.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/drive_signal.hpp"
#include "asx/runtime/metrics.hpp"

namespace {

// Pretends to be a library that calls back on a thread of its own.
std::jthread measure_temperature(asx::foreign_promise<int> answer) {
  return std::jthread([answer = std::move(answer)]() mutable { answer.set(21); });
}

// cut: program
asx::task<> program(asx::cx c, asx::blocking_pool& pool) {
  const std::string name = co_await asx::blocking(pool, [] { return std::string("a file that was read elsewhere"); });
  std::printf("%s\n", name.c_str());

  auto value = asx::foreign_value<int>(c);
  if (value.code != asx::status::ok) co_await asx::fail(value.code);
  const std::jthread library = measure_temperature(std::move(value.promise));  // Joins when it goes, cancelled or not.
  const int degrees = co_await std::move(value.future);
  std::printf("%d degrees\n", degrees);

  std::raise(SIGINT);  // As if somebody had pressed Ctrl-C.
  const auto slept = co_await asx::attempt(asx::sleep(asx::duration::hours(1)));
  std::printf("asked to stop: %s\n", slept.code == asx::status::cancelled ? "cleaning up" : "no");
}
// end: program

}  // namespace

// cut: main
int main() {
  asx::blocking_pool pool({.threads = 2});
  asx::metrics measured;
  asx::runtime_config config;
  config.measure = &measured;
  asx::live_runtime rt(config);
  const asx::signal_watch stop = asx::cancel_on_signal(*rt, {SIGINT, SIGTERM});
  if (!stop.is_on()) return 1;
  const auto out = asx::run_in(*rt, [&pool](asx::cx c) { return program(c, pool); });
  std::printf("the program was %s\n", out.result.is_cancelled() ? "cancelled" : "done");
  std::printf("polls were counted: %s\n", rt->measured().all_polls() > 3 ? "yes" : "no");
  return rt->shutdown().is_quiescent() && out.result.is_cancelled() ? 0 : 1;
}
// end: main
