// A run that takes the short ways is the run that every step by itself gives, and the one that is journalled.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::must_create;

enum class how { journalled, stepped, plain };

// What can be seen of a run from outside: who was polled and what it saw, how everybody ended, what was counted.
struct story {
  std::string told;
  fairness_certificate certificate;
  std::uint64_t state = 0;
  std::uint64_t steps = 0;  // That dispatched.

  friend bool operator==(const story&, const story&) = default;
};

class world {
 public:
  world(std::uint64_t seed, how mode, bool is_live)
      : mode_(mode), is_live_(is_live), draw_(seed, 0, random_stream::faults), rt_(config(mode)) {
    for (int i = 0; i < 3; ++i) regions_.push_back(must_create(rt_, i == 0 ? rt_.root() : regions_[0]));
    for (int i = 0; i < 6; ++i) spawn();
  }

  story play() {
    for (int round = 0; round < 12; ++round) {
      run();
      say('|', polls_);
      act(nullptr);
      if (draw_.next_below(3) == 0) static_cast<void>(rt_.advance(duration::milliseconds(draw_.next_below(4))));
    }
    story out;
    out.state = rt_.kernel().state_hash();
    out.certificate = rt_.certificate();
    EXPECT_TRUE(rt_.shutdown().is_quiescent());
    for (const actor& a : actors_) {
      task_outcome result;
      say('=', static_cast<std::uint64_t>(rt_.kernel().result(a.handle, result)));
      say(':', static_cast<std::uint64_t>(result.kind()));
      static_cast<void>(rt_.kernel().release_task(a.handle));
    }
    for (const region_handle r : regions_) static_cast<void>(rt_.kernel().release_region(r));
    out.told = std::move(told_);
    out.steps = polls_;
    return out;
  }

 private:
  struct actor {
    body run;
    task_handle handle;
    waker to_wake;
  };

  // A clock that moves by itself: with every poll, and while nobody has anything to do.
  runtime_config config(how mode) {
    runtime_config c;
    if (is_live_) {
      c.clock = {this, [](void* self) noexcept { return static_cast<world*>(self)->live_; }};
      c.park = {this,
                [](void* self, instant, instant until) noexcept {
                  auto& w = *static_cast<world*>(self);
                  if (!until.is_none()) w.live_ = later(w.live_, until);
                },
                nullptr};
    }
    c.journaling = mode == how::journalled ? journal_mode::full : journal_mode::off;
    c.behaviour.ghosts = mode == how::journalled ? ghost_mode::on : ghost_mode::off;
    return c;
  }

  void say(char what, std::uint64_t number) { told_ += what + std::to_string(number) + ' '; }

  // Steps are limited on purpose: a run that is cut in the middle goes on where it was.
  void run() {
    const std::uint64_t most = 1 + draw_.next_below(80);
    if (mode_ != how::stepped) {
      static_cast<void>(rt_.run_until_idle(most));
      return;
    }
    for (std::uint64_t i = 0; i < most; ++i) {
      if (rt_.step().is_idle) break;
    }
    rt_.kernel().set_time(rt_.now());  // A run ends with a look at the clock.
  }

  void spawn() {
    if (actors_.size() == 40) return;
    const std::size_t which = actors_.size();
    actor& a = actors_.emplace_back();
    a.run.run = [this, which](cx& c) { return poll(which, c); };
    task_spec spec{.poll = &body::poll, .context = &a.run};
    spec.is_held = true;
    if (draw_.next_below(4) == 0) spec.limits.poll_quota = 1 + draw_.next_below(6);
    if (draw_.next_below(6) == 0) spec.limits.cost_quota = draw_.next_below(4);
    if (draw_.next_below(6) == 0) spec.limits.deadline = rt_.now() + duration::milliseconds(draw_.next_below(5));
    if (draw_.next_below(4) == 0) spec.priority = static_cast<std::uint8_t>(draw_.next_below(256));
    say('s',
        static_cast<std::uint64_t>(rt_.kernel().spawn(regions_[draw_.next_below(regions_.size())], spec, a.handle)));
  }

  // Something that a task, or whoever stands outside, may do to the others.
  void act(cx* c) {
    actor& other = actors_[draw_.next_below(actors_.size())];
    switch (draw_.next_below(9)) {
      case 0: return spawn();
      case 1: return say('c', static_cast<std::uint64_t>(rt_.kernel().request_cancel(other.handle)));
      case 2:
        if (draw_.next_below(4) != 0) return;
        return say('x', static_cast<std::uint64_t>(rt_.kernel().close(regions_[draw_.next_below(regions_.size())])));
      case 3: {
        if (c == nullptr) return;
        slab_key timer;
        const instant at = c->now() + duration::milliseconds(draw_.next_below(3));
        return say('t', static_cast<std::uint64_t>(rt_.kernel().register_timer(*c, at, timer)));
      }
      case 4:
        if (c != nullptr) say('$', static_cast<std::uint64_t>(c->consume_cost(1)));
        return;
      default: return other.to_wake.wake();
    }
  }

  poll_result poll(std::size_t which, cx& c) {
    ++polls_;
    say('p', which);
    live_ = live_ + duration::microseconds(draw_.next_below(400));
    say(c.is_cancelled() ? '!' : '.', c.now().ns);
    actor& self = actors_[which];
    if (draw_.next_below(2) == 0) self.to_wake = c.get_waker();
    for (std::uint64_t i = draw_.next_below(3); i != 0; --i) act(&c);
    switch (draw_.next_below(16)) {
      case 0: return poll_result::ready;
      case 1: c.set_error(status::disconnected, which); return poll_result::error;
      case 2: c.panic("as the dice fell"); return poll_result::pending;
      case 3: return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
      case 4:
      case 5: c.yield(); return poll_result::pending;
      default: return poll_result::pending;
    }
  }

  how mode_;
  bool is_live_;
  instant live_{};
  splitmix64 draw_;
  std::uint64_t polls_ = 0;
  std::string told_;
  std::deque<actor> actors_;
  std::vector<region_handle> regions_;
  runtime rt_;
};

// Three tasks that never finish their cleanup, on a clock that moves a millisecond with every poll.
struct stubborn {
  std::uint64_t live = 1'000'000'000;
  std::uint64_t polls = 0, untold = 0;
  std::uint64_t over = UINT64_MAX;  // When the grace is.

  static poll_result poll(void* self, cx& c) {
    auto& s = *static_cast<stubborn*>(self);
    static_cast<void>(c.checkpoint());
    ++s.polls;
    if (s.live >= s.over && c.reason()->kind != cancel_kind::shutdown) ++s.untold;
    s.live += 1'000'000;
    return poll_result::pending;
  }
};

stubborn shut_down_with_grace(journal_mode mode) {
  stubborn s;
  runtime_config config;
  config.journaling = mode;
  config.behaviour.ghosts = ghost_mode::off;
  config.clock = {&s.live, [](void* ns) noexcept { return instant{*static_cast<std::uint64_t*>(ns)}; }};
  config.park = {&s.live,
                 [](void* ns, instant, instant until) noexcept {
                   auto& live = *static_cast<std::uint64_t*>(ns);
                   if (!until.is_none() && until.ns > live) live = until.ns;
                 },
                 nullptr};
  runtime rt(config);
  task_handle t;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &stubborn::poll, .context = &s}, t), status::ok);
  }
  rt.run_until_idle(5);
  s.over = s.live + 3'000'000;
  EXPECT_TRUE(rt.shutdown(duration::milliseconds(3)).is_quiescent());
  return s;
}

TEST(plain_runs, see_the_end_of_a_grace_as_single_steps_do) {
  const stubborn told = shut_down_with_grace(journal_mode::full);
  const stubborn plain = shut_down_with_grace(journal_mode::off);
  EXPECT_EQ(plain.polls, told.polls);
  EXPECT_EQ(plain.untold, told.untold);
  EXPECT_LE(plain.untold, 1U);
}

// The machine's clock, which moves by itself and is read only where somebody asks.
struct asked_clock {
  std::uint64_t ns = 0;
  std::uint64_t reads = 0;
  runtime_config config() {
    runtime_config c;
    c.journaling = journal_mode::off;
    c.behaviour.ghosts = ghost_mode::off;
    c.clock = {this,
               [](void* self) noexcept {
                 auto& clock = *static_cast<asked_clock*>(self);
                 ++clock.reads;
                 return instant{clock.ns};
               },
               true};
    c.park = {this,
              [](void* self, instant, instant until) noexcept {
                auto& clock = *static_cast<asked_clock*>(self);
                if (!until.is_none() && until.ns > clock.ns) clock.ns = until.ns;
              },
              nullptr};
    return c;
  }
};
body yields(int times, std::function<void(cx&)> each) {
  return {[times, each = std::move(each)](cx& c) mutable {
    each(c);
    if (times-- == 0) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
}

TEST(plain_runs, read_a_clock_of_the_machine_when_somebody_asks) {
  asked_clock clock;
  runtime rt(clock.config());
  body quiet = yields(1000, [&](cx&) { clock.ns += 100; });
  testing::must_spawn(rt, rt.root(), quiet, {}, false);
  rt.run_until_idle();
  EXPECT_LT(clock.reads, 50U) << "nobody asked in a thousand dispatches";
  std::uint64_t asked = 0;
  body curious = yields(1000, [&](cx& c) {
    clock.ns += 100;
    if (++asked % 10 != 0) return;
    EXPECT_EQ(c.now().ns, clock.ns);
    clock.ns += 7;
    EXPECT_EQ(c.now().ns, clock.ns - 7) << "it is one moment in one dispatch";
  });
  const std::uint64_t before = clock.reads;
  testing::must_spawn(rt, rt.root(), curious, {}, false);
  rt.run_until_idle();
  EXPECT_GE(clock.reads - before, 100U);
  EXPECT_LT(clock.reads - before, 200U);
}

// Whatever is written down with a time, or counted from one, has the one of its dispatch, however long it is since
// somebody has asked.
TEST(plain_runs, know_what_time_it_is_when_something_depends_on_it) {
  asked_clock clock;
  runtime rt(clock.config());
  instant woken = instant::none();
  const auto sleeps = [&](cx& c, slab_key& timer, bool& is_set) {
    if (std::exchange(is_set, true)) {
      woken = c.now();
      return poll_result::ready;
    }
    EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::nanoseconds(1'000), timer), status::ok);
    return poll_result::pending;
  };
  body sleeper{[&, timer = slab_key{}, is_set = false, polls = 0](cx& c) mutable {
    if (++polls < 10) {
      c.yield();
      return poll_result::pending;
    }
    return sleeps(c, timer, is_set);
  }};
  std::uint64_t began = 0;
  body busy = yields(200, [&](cx& c) {
    clock.ns += 100;
    if (began == 0 && c.kernel().live_timers() != 0) began = clock.ns;
  });
  testing::must_spawn(rt, rt.root(), sleeper, {}, false);
  testing::must_spawn(rt, rt.root(), busy, {}, false);
  rt.run_until_quiescent();
  EXPECT_GE(woken.ns, began - 100 + 1'000) << "it slept from the moment in which it asked";
  EXPECT_LE(woken.ns, began + 1'200) << "and was woken among dispatches that ask nothing";

  // A cancel says when it was asked for.
  body waits{[](cx& c) {
    static_cast<void>(c.get_waker());
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  const task_handle victim = testing::must_spawn(rt, rt.root(), waits);
  std::uint64_t asked_at = 0;
  body cancels = yields(50, [&, n = 0](cx& c) mutable {
    clock.ns += 100;
    if (++n != 40) return;
    asked_at = clock.ns;
    EXPECT_EQ(c.kernel().request_cancel(victim), status::ok);
  });
  testing::must_spawn(rt, rt.root(), cancels, {}, false);
  rt.run_until_quiescent();
  task_outcome result;
  ASSERT_EQ(rt.kernel().result(victim, result), status::ok);
  ASSERT_EQ(result.kind(), outcome_kind::cancelled);
  EXPECT_EQ(result.reason().timestamp.ns, asked_at);
  EXPECT_EQ(rt.kernel().release_task(victim), status::ok);
}

TEST(plain_runs, are_what_single_steps_and_journalled_runs_are) {
  std::uint64_t dispatches = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    const bool is_live = seed % 2 == 0;
    const story single = world(seed, how::stepped, is_live).play();
    EXPECT_EQ(world(seed, how::plain, is_live).play(), single);
    EXPECT_EQ(world(seed, how::journalled, is_live).play(), single);
    dispatches += single.steps;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(dispatches, 20'000U);  // Worlds in which nothing happens agree easily.
}

}  // namespace
}  // namespace asx
