// Every local of every coroutine is destroyed once, the youngest first, wherever it is cancelled, ended from outside,
// or left behind by a runtime that shuts down or goes: a program that the gate frames_test.py compiles with each
// compiler, with and without optimisation, under the address sanitizer. Compilers lay frames out and destroy them, so
// this is a test of theirs as much as of ours; that is why it is built by itself.
//
// Locals own memory of the heap, so that one that is destroyed twice, or not at all, is seen by the sanitizer, too.
#include <asx/asx.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace asx;

struct book {
  std::vector<int> alive;
  int born = 0, died = 0, wrong = 0;
};

// A book for each of the tasks that are alive at a time: there is an order among the locals of one, and none among
// those of two, of which either may be ended first.
struct shelf {
  book own, block, last, limited, left, right;
};

// What it was moved from counts no more.
class local {
 public:
  local(book& in, int number) : book_(&in), number_(std::make_unique<int>(number)) {
    ++in.born;
    in.alive.push_back(number);
  }
  local(local&& other) noexcept : book_(std::exchange(other.book_, nullptr)), number_(std::move(other.number_)) {}
  local& operator=(local&&) = delete;
  ~local() {
    if (book_ == nullptr) return;
    ++book_->died;
    if (book_->alive.empty() || book_->alive.back() != *number_) {
      ++book_->wrong;
    } else {
      book_->alive.pop_back();
    }
  }
  [[nodiscard]] int number() const { return *number_; }

 private:
  book* book_;
  std::unique_ptr<int> number_;
};

task<int> leaf(cx, book& b, int n) {
  const local here(b, n);
  co_await yield();
  const local later(b, n + 1);
  co_await sleep(duration::milliseconds(1));
  co_return here.number() + later.number();
}

// A value that is made by one and moved out by the other, in the midst of an expression.
task<std::string> words(cx c, book& b, int n) {
  const local here(b, n);
  const int got = co_await leaf(c, b, n + 10);
  co_return std::string(40, 'x') + std::to_string(got);
}

task<> last(cx c, book& b, local argument) {
  const local here(b, argument.number() + 1);
  static_cast<void>(co_await leaf(c, b, argument.number() + 2));
}

// A region's body, with a finalizer of the region and a mask.
task<int> block(cx c, shelf& s, local argument) {
  const local here(s.block, argument.number() + 1);
  co_await finally(c, last, std::ref(s.last), local(s.last, 10));
  int got = co_await leaf(c, s.block, 10);
  {
    const local inner(s.block, 20);
    const auto quiet = co_await mask();
    const local innermost(s.block, 21);
    got += co_await leaf(c, s.block, 30);
  }
  co_return got + co_await leaf(c, s.block, 40);
}

task<int> rival(cx c, book& b, int rounds) {
  const local here(b, 1);
  int got = 0;
  for (int i = 0; i < rounds; ++i) got += co_await leaf(c, b, 10 * i + 2);
  co_return got;
}

// What runs in tasks of its own while this one waits, and a mask here. Gives how much went well.
task<int> blocks(cx c, shelf& s) {
  const local here(s.own, 1);
  int well = co_await region(c, block, std::ref(s), local(s.block, 1)) == 10 + 11 + 30 + 31 + 40 + 41 ? 1 : 0;
  {
    const local inner(s.own, 2);
    const auto in_time = co_await with_timeout(c, duration::hours(1), rival, std::ref(s.limited), 2);
    const local innermost(s.own, 3);
    const auto late = co_await with_timeout(c, duration::milliseconds(2), rival, std::ref(s.limited), 1000);
    well += in_time && !late ? 1 : 0;
  }
  const auto quick = [&s](cx own) { return rival(own, s.left, 1); };
  const auto slow = [&s](cx own) { return rival(own, s.right, 1000); };
  const auto won = co_await race(c, quick, slow);
  well += won.is_ok() && won.value() == 2 + 3 ? 1 : 0;
  {
    const auto quiet = co_await mask();
    const local inner(s.own, 4);
    well += co_await leaf(c, s.own, 10) == 10 + 11 ? 1 : 0;
  }
  co_return well;
}

task<int> middle(cx c, shelf& s, int depth) {
  book& b = s.own;
  const local here(b, 100 * depth);
  std::string text = co_await words(c, b, 100 * depth + 1) + co_await words(c, b, 100 * depth + 2);
  {
    const local inner(b, 100 * depth + 3);
    const auto how = co_await attempt(leaf(c, b, 100 * depth + 50));
    if (!how.is_ok()) co_await fail(status::cancelled);
  }
  if (depth > 0) text += std::to_string(co_await middle(c, s, depth - 1));
  if (co_await blocks(c, s) != 4) co_await fail(status::corrupt);
  const auto in_time = co_await within(c, duration::milliseconds(5), leaf, std::ref(b), 100 * depth + 60);
  const auto late = co_await within(
      c, duration::milliseconds(3),
      [](cx own, book& to, int n) -> task<> {
        const local mine(to, n);
        for (;;) static_cast<void>(co_await leaf(own, to, n + 1));
      },
      std::ref(b), 100 * depth + 70);
  co_return static_cast<int>(text.size()) + (in_time ? 1 : 0) + (late ? 100000 : 0);
}

task<> first(cx c, shelf& s, local argument) {
  const local here(s.own, 9000);
  auto [code, tx, rx] = channel<std::unique_ptr<int>>(c, 1);
  if (code != status::ok) co_await fail(code);
  co_await send(tx, std::make_unique<int>(1));
  const auto got = co_await select(sleep(duration::hours(1)), recv(rx));
  if (std::get<1>(got) == nullptr) co_await fail(status::empty);
  static_cast<void>(co_await middle(c, s, 2));
  if (argument.number() != 8000) co_await fail(status::corrupt);
}

/// Who destroys the coroutines where they stand.
enum class way { cancel, complete, complete_as_panicked, shutdown, runtime_goes };
constexpr way all_ways[] = {way::cancel, way::complete, way::complete_as_panicked, way::shutdown, way::runtime_goes};

const char* name_of(way how) {
  constexpr const char* names[] = {"cancelled", "completed", "completed as panicked", "shut down",
                                   "left by its runtime"};
  return names[static_cast<int>(how)];
}

bool is_expected(way how, const outcome<unit>& out) {
  switch (how) {
    case way::complete: return out.is_err() && out.error().code == status::io;
    case way::complete_as_panicked: return out.is_panicked();
    case way::shutdown:  // One that had not begun finds a region that closes, and makes no channel there.
      return out.is_cancelled() || (out.is_err() && out.error().code == status::region_not_open);
    default: return out.is_cancelled();
  }
}

// Ended after `steps` steps; true when it was over before.
bool run_once(way how, std::uint64_t steps, const char** wrong) {
  shelf s;
  bool was_over = false;
  {
    runtime rt;
    auto made = spawn_in(rt.kernel(), rt.root(), {}, first, std::ref(s), local(s.own, 8000));
    if (made.code != status::ok) std::abort();
    rt.run_until_quiescent(steps);
    was_over = made.handle.is_done();
    // What is in a block may refer to those who await it: they stay until its region is closed.
    const bool is_in_block = rt.kernel().live_regions() > 1;
    const task_handle t = made.handle.task();
    switch (how) {
      case way::cancel: static_cast<void>(made.handle.cancel()); break;
      case way::complete: static_cast<void>(rt.kernel().complete(t, task_outcome::err({status::io, 0}))); break;
      case way::complete_as_panicked:
        static_cast<void>(rt.kernel().complete(t, task_outcome::panicked({"enough", {}, 0})));
        break;
      case way::shutdown: static_cast<void>(rt.shutdown()); break;
      case way::runtime_goes: made.handle.drop(); break;
    }
    if (how != way::runtime_goes) {
      const bool is_at_once = how == way::complete || how == way::complete_as_panicked;
      if (is_at_once && !is_in_block && !s.own.alive.empty()) *wrong = "it was not destroyed where it stood";
      rt.run_until_quiescent();
      outcome<unit> out;
      if (made.handle.take(out) != status::ok)
        *wrong = "it has not ended";
      else if (was_over ? !out.is_ok() : !is_expected(how, out))
        *wrong = "it ended otherwise";
    }
  }
  for (const book* const b : {&s.own, &s.block, &s.last, &s.limited, &s.left, &s.right}) {
    if (b->wrong != 0) *wrong = "somebody was destroyed out of order";
    if (!b->alive.empty() || b->born != b->died) *wrong = "somebody was destroyed twice, or not at all";
    if (was_over && b->born == 0) *wrong = "somebody never ran";
  }
  return was_over;
}

}  // namespace

int main() {
  std::uint64_t points = 0;
  for (const way how : all_ways) {
    std::uint64_t steps = 0;
    for (;; ++steps) {
      const char* wrong = nullptr;
      const bool was_over = run_once(how, steps, &wrong);
      if (wrong != nullptr) {
        std::printf("%s after %llu steps: %s\n", name_of(how), static_cast<unsigned long long>(steps), wrong);
        return 1;
      }
      if (was_over) break;
    }
    if (steps <= 40) return 1;  // Fewer, and the program was not swept at all.
    points += steps;
  }
  std::printf("%llu points\n", static_cast<unsigned long long>(points));
  return 0;
}
