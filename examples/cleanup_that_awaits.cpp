#include <asx/asx.hpp>
#include <cstdio>
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

int now_ms(const cx& c) {
  return static_cast<int>(c.now().ns / 1'000'000);
}

// cut: session
task<> say_goodbye(cx, sender<std::string> line, int takes_ms) {
  co_await sleep(duration::milliseconds(static_cast<unsigned>(takes_ms)));
  co_await send(line, std::string("goodbye"));
}

task<> session(cx c, sender<std::string> line, int takes_ms) {
  const auto work = co_await attempt(sleep(duration::hours(1)));  // Its work; cancelled, it goes on here.
  if (work.is_ok()) co_return;
  const masked cleanup(c);
  const auto said = co_await with_timeout(c, duration::milliseconds(100), say_goodbye, line, takes_ms);
  std::printf("%3d ms  cleanup is over, %s\n", now_ms(c), said ? "goodbye was said" : "goodbye took too long");
}
// end: session

task<> program(cx c) {
  auto [code, tx, rx] = channel<std::string>(c, 1, "line");
  if (code != status::ok) co_await fail(code);
  for (const int takes_ms : {30, 3000}) {
    auto peer = co_await start(c, session, tx, takes_ms);
    co_await sleep(duration::milliseconds(10));
    std::printf("%3d ms  the session is cancelled\n", now_ms(c));
    static_cast<void>(peer.cancel({cancel_kind::user, "hang up"}));
    const auto how = co_await join(peer);
    std::printf("%3d ms  the session ended: %s; in the line: %s\n", now_ms(c), name(how.kind()).data(),
                rx.try_recv().value.value_or("nothing").c_str());
  }
}

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
