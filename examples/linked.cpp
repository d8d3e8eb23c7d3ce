#include <asx/asx.hpp>
#include <cstdio>
#include <string>

using namespace asx;

void tell(const cx& c, const std::string& text) {
  std::printf("%3d ms  %s\n", static_cast<int>(c.now().ns / 1'000'000), text.c_str());
}

// cut: tasks
task<> reads(cx) {
  co_await sleep(duration::milliseconds(20));
  co_await fail(status::disconnected);  // The peer is gone.
}

task<> writes(cx c) {
  static_cast<void>(co_await attempt(sleep(duration::hours(1))));  // Nothing to write.
  if (const cancel_reason* const why = c.reason()) tell(c, "the writer stops: " + std::string(why->message));
}
// end: tasks

// cut: link
task<> connection(cx c) {
  auto reader = co_await start(c, {.name = "reader"}, reads);
  auto writer = co_await start(c, {.name = "writer"}, writes);
  if (const status s = link(reader, writer); s != status::ok) co_await fail(s);

  const auto first = co_await join(reader);
  tell(c, "the reader ended " + std::string(name(first.kind())));
  const auto second = co_await join(writer);
  tell(c, "the writer ended " + std::string(name(second.kind())) + ", " +
              std::string(name(second.cancelled_by().reason.kind)));
}
// end: link

int main() {
  runtime rt;
  return run_in(rt, connection).is_ok() ? 0 : 1;
}
