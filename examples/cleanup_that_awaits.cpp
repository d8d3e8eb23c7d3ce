#include <asx/asx.hpp>
#include <iostream>
#include <string>
using namespace asx;

std::uint64_t now_ms(const cx& c) {
  return c.now().ns / 1'000'000;
}

// cut: session
task<> say_goodbye(cx, sender<std::string> line, std::uint64_t takes_ms) {
  co_await sleep(duration::milliseconds(takes_ms));
  co_await send(line, std::string("goodbye"));
}

task<> session(cx c, sender<std::string> line, std::uint64_t takes_ms) {
  const auto work = co_await attempt(sleep(duration::hours(1)));  // Its work; cancelled, it goes on here.
  if (work.is_ok()) co_return;
  const auto quiet = co_await mask();
  const auto said = co_await within(c, duration::milliseconds(100), say_goodbye, line, takes_ms);
  std::cout << now_ms(c) << " ms: cleanup is over, goodbye " << (said ? "was said\n" : "took too long\n");
}
// end: session

// cut: finally
task<> close_up(cx c) {
  co_await sleep(duration::milliseconds(5));
  std::cout << now_ms(c) << " ms: the shop is closed up, after everybody has gone\n";
}

task<> visitor(cx c) {
  co_await sleep(duration::milliseconds(20));
  std::cout << now_ms(c) << " ms: a visitor goes\n";
}

task<> shop(cx c) {
  co_await finally(c, close_up);
  co_await start(c, visitor);
}
// end: finally

task<> program(cx c) {
  auto [code, tx, rx] = channel<std::string>(c, 1, "line");
  if (code != status::ok) co_await fail(code);
  for (const std::uint64_t takes_ms : {30U, 3000U}) {
    auto peer = co_await start(c, session, tx, takes_ms);
    co_await sleep(duration::milliseconds(10));
    std::cout << now_ms(c) << " ms: the session is cancelled\n";
    static_cast<void>(peer.cancel({cancel_kind::user, "hang up"}));
    const auto how = co_await join(peer);
    std::cout << now_ms(c) << " ms: the session ended: " << name(how.kind())
              << "; in the line: " << rx.try_recv().value.value_or("nothing") << '\n';
  }
  co_await region(c, shop);
}

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
