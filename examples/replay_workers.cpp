// A race on four threads, written down as the order in which they went into the kernel, and run again on one thread: a
// debugger that stops there stops all four workers, at the same place every time.
#include <asx/asx.hpp>
#include <asx/lab/replay_workers.hpp>
#include <cstdint>
#include <cstdio>
#include <string>

using namespace asx;

// cut: program
task<> runs(cx, sender<int> to, int number) {
  volatile std::uint64_t steps = 0;
  while (steps < 3'000'000) steps = steps + 1;  // Side by side with the others.
  co_await send(to, number);
}

task<std::string> contest(cx c) {
  auto [code, tx, rx] = channel<int>(c, 1);
  if (code != status::ok) co_await fail(code);
  for (int i = 0; i < 8; ++i) co_await start(c, runs, tx, i);
  tx.drop();
  std::string finish;
  auto& results = rx;
  while (const auto number = co_await recv(results)) finish += std::to_string(*number);
  co_return finish;  // Seldom the same one twice.
}

void program(runtime& rt, std::string& finish) {
  if (const auto out = run_in(rt, contest); out.is_ok()) finish = out.result.value();
  rt.shutdown();
}
// end: program

// cut: main
int main() {
  entry_order order;
  std::string there;
  std::string here;
  {
    threaded_runtime rt({.workers = 4, .record = &order});
    program(*rt, there);
  }
  const workers_replay again = replay_workers(order, {}, [&](runtime& rt) { program(rt, here); });
  if (!again.is_same()) std::fputs(again.report().c_str(), stdout);
  std::printf("the same finish: %s\n", here == there && here.size() == 8 ? "yes" : "no");
  std::printf("the same digest: %s\n", again.digest == order.digest_at_end() ? "yes" : "no");
  return again.is_same() && here == there ? 0 : 1;
}
// end: main
