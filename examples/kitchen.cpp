#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

int now_ms(const cx& c) {
  return static_cast<int>(c.now().ns / 1'000'000);
}

task<> cook(cx c, sender<int> counter, int table) {
  co_await sleep(duration::milliseconds(20 * static_cast<std::uint64_t>(table)));
  auto room = co_await reserve(counter);  // First a place on the counter, then the dish: no dish is ever lost.
  std::printf("%3d ms  table %d is cooked\n", now_ms(c), table);
  static_cast<void>(room.send(table));
}

task<int> kitchen(cx c) {
  auto [code, counter, window] = channel<int>(c, 2, "counter");
  if (code != status::ok) co_await fail(code);
  for (int table = 1; table <= 5; ++table) co_await start(c, cook, counter, table);
  counter.drop();  // The cooks have their own.
  int served = 0;
  while (const auto table = co_await recv(window)) {
    std::printf("%3d ms  table %d is served\n", now_ms(c), *table);
    ++served;
  }
  co_return served;
}

task<> evening(cx c) {
  // Whatever the kitchen started has ended when this line is over: served, or stopped and cleaned up.
  const auto early = co_await with_timeout(c, duration::milliseconds(70), kitchen);
  if (!early) std::printf("%3d ms  closing time\n", now_ms(c));
  if (const auto served = co_await with_timeout(c, duration::seconds(1), kitchen)) {
    std::printf("%3d ms  all %d tables are served\n", now_ms(c), *served);
  }
}

int main() {
  runtime rt;  // Virtual time: the evening takes no time at all. With asx::run(evening) it takes 170 ms.
  return run_in(rt, evening).is_ok() ? 0 : 1;
}
