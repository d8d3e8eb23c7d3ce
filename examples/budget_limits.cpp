#include <asx/asx.hpp>
#include <iostream>

using namespace asx;

task<> idle(cx) {
  co_await sleep(duration::seconds(1));
}

// cut: refusal
task<> too_many(cx r) {
  for (int i = 1; i <= 4; ++i) {
    const auto made = spawn(r, idle);
    std::cout << "child " << i << ": " << name(made.code) << '\n';
  }
  co_return;
}
// end: refusal

// cut: cost
task<> spender(cx c) {
  const status first = c.consume_cost(60);
  std::cout << "spend 60: " << name(first) << ", " << c.budget_left().cost_quota << " left\n";
  const status second = c.consume_cost(60);  // Nothing is taken, and the task is asked to stop.
  std::cout << "spend 60: " << name(second) << ", " << c.budget_left().cost_quota << " left\n";
  co_await checkpoint();
  std::cout << "never printed\n";
}
// end: cost

// cut: limits
task<> program(cx c) {
  const region_options small{.name = "small", .max_tasks = 3};  // The body is one of them.
  co_await region(c, small, too_many);

  auto spent = co_await start(c, {.limits = {.cost_quota = 100}}, spender);
  const auto by_cost = co_await join(spent);
  std::cout << "spender: " << name(by_cost.kind()) << " by " << name(by_cost.reason().kind) << '\n';

  auto late = co_await start(c, {.limits = {.deadline = c.now() + duration::milliseconds(5)}}, idle);
  const auto by_time = co_await join(late);
  std::cout << "sleeper: " << name(by_time.kind()) << " by " << name(by_time.reason().kind) << '\n';
}
// end: limits

// cut: contract
int main() {
  runtime_config config;
  config.contract = resource_contract::tiny();  // 64 tasks, 16 regions, 64 timers, all memory taken at the start.
  runtime rt(config);
  return run_in(rt, program).is_ok() ? 0 : 1;
}
// end: contract
