#include <asx/asx.hpp>
#include <iostream>
#include <string>

using namespace asx;

// cut: mask
// Within its life a task that was cancelled may wait again: its cleanup needs that.
class masked {
 public:
  explicit masked(cx c) : cx_(c), is_on_(cx_.mask_enter() == status::ok) {}
  masked(const masked&) = delete;
  masked& operator=(const masked&) = delete;
  ~masked() {
    if (is_on_) cx_.mask_leave();
  }

 private:
  cx cx_;
  bool is_on_;
};
// end: mask

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
  const masked cleanup(c);
  const auto said = co_await with_timeout(c, duration::milliseconds(100), say_goodbye, line, takes_ms);
  std::cout << now_ms(c) << " ms: cleanup is over, goodbye " << (said ? "was said\n" : "took too long\n");
}
// end: session

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
}

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
