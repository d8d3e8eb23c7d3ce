// Ten million awaits of a coroutine, and as many of operations that are ready, on a stack of 256 KiB: a program that
// the gate frames_test.py compiles with each compiler where it makes no tail calls, and runs under `ulimit -s 256`.
//
// Whether the stack stays flat is in how the compiler resumes one coroutine from another, and so in the program's own
// flags, not in the library's.
#include <asx/asx.hpp>
#include <cstdio>

namespace {

using namespace asx;

constexpr int many = 10'000'000;

task<int> one(cx) {
  co_return 1;
}

task<std::int64_t> children(cx c) {
  std::int64_t sum = 0;
  for (int i = 0; i < many; ++i) sum += co_await one(c);
  co_return sum;
}

task<std::int64_t> operations(cx c) {
  auto [code, tx, rx] = channel<int>(c, 1);
  if (code != status::ok) co_await fail(code);
  std::int64_t sum = 0;
  for (int i = 0; i < many / 2; ++i) {
    co_await send(tx, 2);
    const auto got = co_await recv(rx);
    sum += got.value_or(0);
  }
  co_return sum;
}

template <class F>
bool gives_all(F f) {
  runtime_config config;
  config.journaling = journal_mode::off;
  runtime rt(config);
  const auto out = run_in(rt, f);
  return out.is_ok() && out.result.value() == many;
}

}  // namespace

int main() {
  const bool is_right = gives_all(children) && gives_all(operations);
  std::printf("%d awaits of a child, and of operations: %s\n", many, is_right ? "flat" : "wrong");
  return is_right ? 0 : 1;
}
