#include <asx/asx.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

using namespace asx;

void tell(const cx& c, const std::string& text) {
  std::printf("%3d ms  %s\n", static_cast<int>(c.now().ns / 1'000'000), text.c_str());
}

// cut: failed
task<> relays(cx c, receiver<int> in, sender<int> out) {
  const auto next = co_await attempt(select(recv(in), reserve(out), sleep(duration::seconds(1))));
  if (next.is_ok()) co_return;
  tell(c, "operation " + std::to_string(next.branch) + " failed: " + std::string(name(next.code)));
}
// end: failed

// cut: cancel
task<> beats(cx c) {
  for (int beat = 1;; ++beat) {
    const auto next = co_await select(cancel_requested(), sleep(duration::milliseconds(10)));
    if (const auto* const kind = std::get_if<0>(&next)) {
      tell(c, "asked to stop (" + std::string(name(*kind)) + ") at beat " + std::to_string(beat));
      co_return;  // Cancelled all the same: it was asked to be, and has answered.
    }
  }
}
// end: cancel

// cut: named
task<> offers(cx c, rendezvous_sender<std::unique_ptr<int>> to) {
  auto offer = hand_over(to, std::make_unique<int>(7));
  const auto late = co_await select(std::ref(offer), sleep(duration::milliseconds(10)));
  if (late.index() == 0) co_return;
  const auto back = offer.take_back();
  tell(c, "nobody wanted it: " + std::to_string(**back) + " is still here");
}
// end: named

task<> program(cx c) {
  auto quiet = channel<int>(c, 1);
  auto gone = channel<int>(c, 1);
  gone.rx.drop();
  co_await relays(c, std::move(quiet.rx), std::move(gone.tx));
  auto heart = co_await start(c, beats);
  co_await sleep(duration::milliseconds(35));
  if (heart.cancel() != status::ok) co_await fail(status::resource_exhausted);
  static_cast<void>(co_await join(heart));

  auto meeting = rendezvous<std::unique_ptr<int>>(c);
  co_await offers(c, std::move(meeting.tx));
}

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
