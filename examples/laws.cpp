#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

int main() {
  // A region ends as its worst child; a milder reason never hides a stronger one.
  cancel_reason user, shutdown;
  shutdown.kind = cancel_kind::shutdown;
  const auto region =
      join(join(outcome<int>::ok(42), outcome<int>::cancelled(user)), outcome<int>::cancelled(shutdown));
  std::cout << "region: " << name(region.kind()) << " by " << name(region.reason().kind) << '\n';

  // A move that the state machine does not have is refused, and the code says what to do.
  const status refused = task_lifecycle.check(task_state::running, task_state::cancelling);
  std::cout << name(refused) << ": " << sentence(refused) << '\n';

  // The same laws hold when compiling.
  static_assert(meet(budget::infinite(), budget::zero()) == budget::zero());
  static_assert(task_lifecycle.every_state_reaches(task_state::completed));
}
