#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

// cut: flaky
struct flaky {
  int& calls;
  int works_at;

  task<int> operator()(cx c) const {
    std::cout << "  call " << ++calls << " at " << c.now().ns / 1'000'000 << " ms\n";
    if (calls < works_at) co_await fail(status::io);
    co_return calls;
  }
};
// end: flaky

// cut: retry
task<> program(cx c) {
  int calls = 0;
  const retry_policy patient{.attempts = 5, .first_delay = duration::milliseconds(10), .factor = 2};
  const int got = co_await retry(c, patient, flaky{calls, 4});
  std::cout << "it worked at call " << got << '\n';

  calls = 0;
  const retry_policy hasty{.attempts = 2};
  const auto failed = co_await attempt(retry(c, hasty, flaky{calls, 9}));
  std::cout << "given up: " << name(failed.error().code) << '\n';

  calls = 0;
  const retry_policy punctual{.attempts = 9, .limit = duration::milliseconds(40)};
  const auto late = co_await attempt(retry(c, punctual, flaky{calls, 9}));
  std::cout << "no time for another call: " << name(late.error().code) << '\n';

  calls = 0;
  const retry_policy apart{.attempts = 3, .jitter = 50};  // Not all who failed at once come back at once.
  static_cast<void>(co_await attempt(retry(c, apart, flaky{calls, 9})));

  calls = 0;
  const retry_policy picky{.attempts = 9, .is_worth = [](const error& e) { return e.code == status::full; }};
  const auto other = co_await attempt(retry(c, picky, flaky{calls, 9}));
  std::cout << "not worth another call: " << name(other.error().code) << '\n';
}
// end: retry

int main() {
  runtime rt;
  return run_in(rt, program).is_ok() ? 0 : 1;
}
