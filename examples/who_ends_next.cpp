#include <asx/asx.hpp>
#include <cstdio>
#include <string>
#include <vector>

using namespace asx;

struct mirror {
  std::string name;
  std::uint64_t takes_ms;
  bool is_down = false;
};

task<int> fetch(cx, mirror from) {
  co_await sleep(duration::milliseconds(from.takes_ms));
  if (from.is_down) co_await fail(status::disconnected);
  co_return static_cast<int>(from.takes_ms) * 100;
}

int now_ms(const cx& c) {
  return static_cast<int>(c.now().ns / 1'000'000);
}

// cut: next
task<> as_they_come(cx c, std::vector<mirror> mirrors) {
  join_set<int> fetches;
  for (const mirror& from : mirrors) co_await fetches.start(c, fetch, from);
  while (const auto next = co_await join_next(fetches)) {  // Empty: nobody is left.
    const char* const name = mirrors[next->index].name.c_str();
    const bool is_ok = next->how.is_ok();
    std::printf("%2d ms  %s: %s\n", now_ms(c), name, is_ok ? std::to_string(next->how.value()).c_str() : "is down");
  }
}
// end: next

// cut: ranges
task<> all_of_them(cx c, std::vector<mirror> mirrors) {
  const auto pages = co_await join_all(c, mirrors, fetch);
  int up = 0;
  for (const auto& page : pages) up += page.is_ok() ? 1 : 0;
  std::printf("%d ms  %d of %zu are up\n", now_ms(c), up, pages.size());
  const auto [index, page] = co_await first_ok(c, mirrors, fetch);
  std::printf("%d ms  the first page is of %s, %d bytes\n", now_ms(c), mirrors[index].name.c_str(), page.value());
  const auto two = co_await quorum(c, 2, mirrors, fetch);
  std::printf("%d ms  two have it: %s\n", now_ms(c), two.is_reached ? "yes" : "no");
}
// end: ranges

task<> program(cx c) {
  const std::vector<mirror> mirrors{{"oslo", 30}, {"rome", 5, true}, {"bern", 10}, {"kyiv", 20}};
  co_await region(c, {.policy = region_policy::body_decides}, as_they_come, mirrors);  // One that is down ends nobody.
  co_await all_of_them(c, mirrors);
}

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
