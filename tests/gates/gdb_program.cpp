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

struct machines {  // On the machine's clock, by one thread and by several.
  live_runtime live;
  threaded_runtime crew{{.workers = 2}};
};

[[gnu::noinline]] void stop_here(runtime& rt, instant when, task_handle whom, outcome<int> how, outcome<int> bad,
                                 live_runtime& live, threaded_runtime* crew) {
  asm volatile("" : : "r"(&rt), "r"(&when), "r"(&whom), "r"(&how), "r"(&bad), "r"(&live), "r"(crew) : "memory");
}

int main() {
  runtime rt;
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1, "orders");
  auto reader = spawn_in(rt.kernel(), rt.root(), {.name = "reader"}, session, std::move(rx));
  auto server = spawn_in(rt.kernel(), rt.root(), {.name = "server"}, serves);
  rt.run_until_idle();
  machines m;
  auto lives = spawn_in(m.live->kernel(), m.live->root(), {.name = "lives"}, limited_session);
  auto toils = spawn_in(m.crew->kernel(), m.crew->root(), {.name = "toils"}, limited_session);
  m.live->run_until_idle();
  m.crew->run_until_idle();
  stop_here(rt, instant{3'500'000'000}, reader.handle.task(), outcome<int>::ok(7),
            outcome<int>::err({status::corrupt, 9}), m.live, &m.crew);
  return code == status::ok ? 0 : 1;
}
