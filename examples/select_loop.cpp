#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

// cut: loop
task<> serve(cx, receiver<int> requests, notify stop) {
  for (;;) {
    const auto next = co_await select(wait(stop), recv(requests), sleep(duration::milliseconds(50)));
    const auto* const request = std::get_if<1>(&next);                  // Null: stopped, or nobody came.
    if (next.index() == 0 || (request != nullptr && !*request)) break;  // Stopped, or no sender is left.
    request == nullptr ? std::puts("nobody came for 50 ms") : std::printf("request %d\n", **request);
  }
  std::puts("the server goes home");
}
// end: loop

task<> program(cx c) {
  auto [code, tx, rx] = channel<int>(c, 8, "requests");
  if (code != status::ok) co_await fail(code);
  notify stop;
  if (notify::create(c, stop) != status::ok) co_await fail(status::resource_exhausted);
  auto server = co_await start(c, serve, std::move(rx), stop);
  for (int request = 1; request <= 3; ++request) {
    co_await send(tx, request);
    co_await sleep(duration::milliseconds(request == 2 ? 70 : 20));
  }
  static_cast<void>(stop.notify_one());
  static_cast<void>(co_await join(server));
}

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
