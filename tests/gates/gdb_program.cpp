// A program that stands still with tasks in several states; gdb_test.py looks into it.
#include <asx/asx.hpp>
#include <utility>

using namespace asx;

task<> reads(cx, receiver<int>& from) {
  static_cast<void>(co_await recv(from));
}
task<> session(cx c, receiver<int> from) {
  co_await reads(c, from);
}
task<> limited_session(cx c) {
  const auto naps = [](cx) -> task<> { co_await sleep(duration::hours(3)); };
  static_cast<void>(co_await within(c, duration::hours(2), naps));
}
task<> serves(cx c) {
  const auto talks = [](cx r) -> task<> {
    auto sleeper = spawn(r, {.name = "sleeper"}, limited_session);
    static_cast<void>(co_await join(sleeper.handle));
  };
  co_await region(c, {.name = "connection"}, talks);
}

[[gnu::noinline]] void stop_here(runtime& rt, instant when, task_handle whom, outcome<int> how, outcome<int> bad) {
  asm volatile("" : : "r"(&rt), "r"(&when), "r"(&whom), "r"(&how), "r"(&bad) : "memory");
}

int main() {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1, "orders");
  auto reader = spawn_in(rt.kernel(), rt.root(), {.name = "reader"}, session, std::move(rx));
  auto server = spawn_in(rt.kernel(), rt.root(), {.name = "server"}, serves);
  rt.run_until_idle();
  stop_here(rt, instant{3'500'000'000}, reader.handle.task(), outcome<int>::ok(7),
            outcome<int>::err({status::corrupt, 9}));
  return code == status::ok ? 0 : 1;
}
