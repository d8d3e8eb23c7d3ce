#include <asx/asx.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace asx;

int now_ms(const cx& c) {
  return static_cast<int>(c.now().ns / 1'000'000);
}

// cut: writes
task<> works(cx, sender<std::string> log, std::string name) {
  std::vector<std::string> lines;
  for (int i = 1; i <= 3; ++i) lines.push_back(name + std::to_string(i));
  co_await send_many(log, lines);  // In its turn, as many as there is room for.
}

task<> writes(cx c, receiver<std::string> log) {
  std::vector<std::string> lines;
  while (const auto count = co_await recv_many(log, lines, 64)) {  // One line or more, and no wait for a second one.
    std::printf("%2d ms  %zu in one write:", now_ms(c), count);
    for (const std::string& line : lines) std::printf(" %s", line.c_str());
    std::printf("\n");
    lines.clear();
    co_await sleep(duration::milliseconds(5));  // The disk.
  }
}
// end: writes

// cut: kept
task<> gives_up(cx c, sender<std::string> log) {
  std::vector<std::string> lines(10, "late");
  auto sending = send_many(log, lines);
  const auto done = co_await select(std::ref(sending), sleep(duration::milliseconds(1)));
  if (done.index() == 1) std::printf("%2d ms  %zu sent, the others are still here\n", now_ms(c), sending.sent());
}
// end: kept

task<> day(cx c) {
  auto [code, log, lines] = channel<std::string>(c, 4, "log");
  if (code != status::ok) co_await fail(code);
  for (const char* const name : {"a", "b", "c"}) co_await start(c, works, log, std::string(name));
  co_await start(c, writes, moved(lines));
  co_await sleep(duration::milliseconds(12));
  co_await start(c, gives_up, moved(log));
}

int main() {
  runtime rt;
  return run_in(rt, day).is_ok() ? 0 : 1;
}
