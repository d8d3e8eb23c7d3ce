#include <asx/asx.hpp>
#include <cstdio>

using namespace asx;

int main() {
  // A region ends as its worst child; a milder reason never hides a stronger one.
  cancel_reason user, shutdown;
  shutdown.kind = cancel_kind::shutdown;
  const auto region =
      join(join(outcome<int>::ok(42), outcome<int>::cancelled(user)), outcome<int>::cancelled(shutdown));
  std::printf("region: %s by %s\n", name(region.kind()).data(), name(region.reason().kind).data());

  // A move that the state machine does not have is refused, and the code says what to do.
  const status refused = task_lifecycle.check(task_state::running, task_state::cancelling);
  std::printf("%s: %s\n", name(refused).data(), sentence(refused).data());

  // The same laws hold when compiling.
  static_assert(meet(budget::infinite(), budget::zero()) == budget::zero());
  static_assert(task_lifecycle.every_state_reaches(task_state::completed));
}
