// The monitors through a whole runtime: each rule provoked by ordinary code, the same results with monitors on and off,
// and random runs that nobody can tell apart by state or digest.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/kernel/ghost.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/runtime/testing/real_world.hpp"

namespace asx {
namespace {

using testing::action;
using testing::real_world;
using testing::script;

struct body {
  std::function<poll_result(cx&)> run;
  static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
};

task_handle must_spawn(runtime& rt, body& b) {
  task_handle out;
  EXPECT_EQ(rt.kernel().spawn(rt.root(), {.poll = &body::poll, .context = &b}, out), status::ok);
  return out;
}

runtime_config watched(ghost_mode mode, std::uint32_t workers = 1) {
  runtime_config out;
  out.behaviour.ghosts = mode;
  out.workers = workers;
  return out;
}

/// What a story returned, and what can be seen of the run: all of it must be the same with monitors on and off.
struct seen {
  std::vector<status> results;
  std::uint64_t state = 0;
  std::uint64_t seq = 0;
  digest128 digest{};
  std::string report{};

  friend bool operator==(const seen& a, const seen& b) {
    return a.results == b.results && a.state == b.state && a.seq == b.seq && a.digest == b.digest;
  }
};

using story = std::function<void(runtime&, std::vector<status>&)>;

seen tell(const story& what, ghost_mode mode, std::uint32_t workers) {
  runtime rt(watched(mode, workers));
  seen out;
  what(rt, out.results);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
  out.state = rt.kernel().state_hash();
  out.seq = rt.journal().seq();
  out.digest = rt.journal().digest();
  out.report = rt.kernel().ghosts().report();
  return out;
}

/// How many events a story has is other tests' business.
std::string without_events(std::string report) {
  constexpr std::string_view mark = ", after event ";
  for (std::size_t at = report.find(mark); at != std::string::npos; at = report.find(mark, at)) {
    report.erase(at, report.find_first_not_of("0123456789", at + mark.size()) - at);
  }
  return report;
}

/// Tells it twice, and returns the report of the run that was watched.
std::string tell_both(const story& what, std::uint32_t workers = 1) {
  const seen on = tell(what, ghost_mode::on, workers);
  const seen off = tell(what, ghost_mode::off, workers);
  EXPECT_EQ(on, off) << "the monitors changed something";
  EXPECT_EQ(off.report, "ghosts: off\n");
  return without_events(on.report);
}

TEST(ghost_story, illegal_moves_return_the_same_codes_and_are_counted) {  // R-17, FB-007, FB-009
  const story moves = [](runtime& rt, std::vector<status>& out) {
    body b{[](cx& c) {
      if (c.is_cancelled()) return poll_result::ready;
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }};
    const task_handle t = must_spawn(rt, b);
    out.push_back(rt.kernel().complete(t, task_outcome::ok()));
    out.push_back(rt.run_until_idle().ended);
    out.push_back(rt.kernel().complete(t, task_outcome::cancelled(cancel_reason{})));
    region_handle r;
    out.push_back(rt.kernel().create_region(rt.root(), {}, r));
    out.push_back(rt.kernel().begin_close(r));
    out.push_back(rt.kernel().close(r));
    out.push_back(rt.kernel().begin_finalize(r));
    out.push_back(rt.kernel().finish_close(r));
    static_cast<void>(rt.shutdown());
  };
  EXPECT_EQ(tell_both(moves),
            "ghosts: 3 violations, 0 notes\n"
            "  illegal_transition 3\n"
            "FB-009  illegal_transition  task 1 completed from outside while created, by the host, worker 0\n"
            "FB-009  illegal_transition  task 1 completed from outside while running, by the host, worker 0\n"
            "FB-007  illegal_transition  region 2 asked to close while closing, by the host, worker 0\n");
  const seen on = tell(moves, ghost_mode::on, 1);
  EXPECT_EQ(on.results[0], status::invalid_transition);
  EXPECT_EQ(on.results[2], status::invalid_transition);
  EXPECT_EQ(on.results[5], status::invalid_transition);
}

TEST(ghost_story, an_obligation_is_resolved_once_and_never_leaks_unseen) {  // FB-003, FB-011
  const story debts = [](runtime& rt, std::vector<status>& out) {
    region_handle r;
    out.push_back(rt.kernel().create_region(rt.root(), {}, r));
    obligation_handle kept;
    obligation_handle forgotten;
    body debtor{[&](cx& c) {
      out.push_back(c.kernel().reserve(r, kept, std::source_location{}));
      out.push_back(c.kernel().reserve(r, forgotten, std::source_location{}));
      out.push_back(c.kernel().commit(kept));
      out.push_back(c.kernel().commit(kept));
      return poll_result::ready;
    }};
    must_spawn(rt, debtor);
    out.push_back(rt.run_until_idle().ended);
    out.push_back(rt.kernel().close(r));
    out.push_back(rt.kernel().abort(forgotten));
  };
  EXPECT_EQ(tell_both(debts),
            "ghosts: 3 violations, 0 notes\n"
            "  use_after_resolve 2\n"
            "  leak 1\n"
            "FB-003  use_after_resolve  obligation 1 committed while committed, by task 1, worker 0\n"
            "FB-011  leak  obligation 2 never resolved: its region closed first, by task 1, worker 0\n"
            "FB-011  use_after_resolve  obligation 2 aborted while leaked, by the host, worker 0\n");
}

TEST(ghost_story, a_second_cancel_is_a_note) {
  const story cancels = [](runtime& rt, std::vector<status>& out) {
    body b{[](cx& c) { return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready; }};
    const task_handle t = must_spawn(rt, b);
    for (const cancel_kind kind : {cancel_kind::user, cancel_kind::shutdown}) {
      out.push_back(rt.kernel().request_cancel(t, {kind, {}}));
    }
    out.push_back(rt.run_until_idle().ended);
    out.push_back(rt.kernel().request_cancel(t));
  };
  EXPECT_EQ(tell_both(cancels), "ghosts: 0 violations, 1 note\n  double_cancel 1 (note)\n");
}

TEST(ghost_story, waiting_with_a_borrow_that_an_obligation_guards) {  // FB-200
  const story wait = [](runtime& rt, std::vector<status>& out) {
    obligation_handle o;
    ghost_borrow held;
    int polls = 0;
    body b{[&](cx& c) {
      if (polls++ == 0) {
        out.push_back(c.kernel().reserve(c.region(), o));
        held = c.kernel().ghosts().borrow(c, ghost_object{41}, o);
        slab_key timer;
        out.push_back(c.kernel().register_timer(c, c.now() + duration::milliseconds(5), timer));
        return poll_result::pending;
      }
      c.kernel().ghosts().release(held);
      out.push_back(c.kernel().commit(o));
      return poll_result::ready;
    }};
    must_spawn(rt, b);
    out.push_back(rt.run_until_quiescent().ended);
  };
  EXPECT_EQ(
      tell_both(wait),
      "ghosts: 1 violation, 0 notes\n"
      "  borrow_across_pending 1\n"
      "FB-200  borrow_across_pending  object 41 held across pending without a copy, tied to a reserved obligation "
      "(obligation 1), by task 1, worker 0\n");
}

TEST(ghost_story, writing_while_another_task_reads) {  // FB-201
  const story share = [](runtime& rt, std::vector<status>& out) {
    const ghost_object table{3};
    ghost_borrow reading;
    int polls = 0;
    body reader{[&](cx& c) {
      if (polls++ != 0) {
        c.kernel().ghosts().release(reading);
        return poll_result::ready;
      }
      reading = c.kernel().ghosts().borrow(c, table);
      c.yield();
      return poll_result::pending;
    }};
    body writer{[&](cx& c) {
      c.kernel().ghosts().release(c.kernel().ghosts().borrow_mut(c, table));
      return poll_result::ready;
    }};
    must_spawn(rt, reader);
    must_spawn(rt, writer);
    out.push_back(rt.run_until_idle().ended);
    body calm = writer;
    must_spawn(rt, calm);  // Nobody reads any more.
    out.push_back(rt.run_until_idle().ended);
  };
  EXPECT_EQ(tell_both(share),
            "ghosts: 1 violation, 0 notes\n"
            "  borrow_conflict 1\n"
            "FB-201  borrow_conflict  object 3 borrowed mutably while it is borrowed (epoch 1), by task 2, worker 0\n");
}

TEST(ghost_story, two_workers_and_one_certificate) {  // FB-202
  const auto handing_over = [](bool with_certificate) -> story {
    return [with_certificate](runtime& rt, std::vector<status>& out) {
      const ghost_object thing{8};
      body use{[&](cx& c) {
        c.kernel().ghosts().touch(c, thing);
        return poll_result::ready;
      }};
      must_spawn(rt, use);
      out.push_back(rt.step(0).is_idle ? status::empty : status::ok);
      if (with_certificate) rt.kernel().ghosts().transfer(thing, 0, 1);
      must_spawn(rt, use);
      out.push_back(rt.step(1).is_idle ? status::empty : status::ok);
    };
  };
  EXPECT_EQ(tell_both(handing_over(true), 2), "ghosts: 0 violations, 0 notes\n");
  EXPECT_EQ(
      tell_both(handing_over(false), 2),
      "ghosts: 1 violation, 0 notes\n"
      "  foreign_use 1\n"
      "FB-202  foreign_use  object 8 touched without a transfer certificate (worker 0 owns it), by task 2, worker 1\n");
}

TEST(ghost_story, tasks_that_are_stolen_all_day_are_never_reported) {  // FB-202
  const story busy = [](runtime& rt, std::vector<status>& out) {
    std::vector<int> polls(32, 0);
    std::vector<body> bodies(32);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      bodies[i].run = [&polls, i](cx& c) {
        EXPECT_EQ(c.checkpoint(), status::ok);
        if (++polls[i] == 20) return poll_result::ready;
        c.yield();
        return poll_result::pending;
      };
      must_spawn(rt, bodies[i]);
    }
    int stolen = 0;
    while (rt.kernel().live_tasks() != 0) stolen += rt.step().victim == no_worker ? 0 : 1;
    EXPECT_GT(stolen, 0);
    out.push_back(status::ok);
  };
  EXPECT_EQ(tell_both(busy, 4), "ghosts: 0 violations, 0 notes\n");
}

// ---- determinism --------------------------------------------------------------------------------------------------

// A program whose order depends on `entropy`, which a deterministic one must not have.
void wander(runtime& rt, std::uint64_t entropy) {
  body b;
  int polls = 0;
  b.run = [&](cx& c) {
    if (++polls == 1500) return poll_result::ready;
    if (polls == 901 && entropy != 0) static_cast<void>(c.mask_enter());
    c.yield();
    return poll_result::pending;
  };
  must_spawn(rt, b);
  EXPECT_EQ(rt.run_until_idle().ended, status::ok);
}

TEST(ghost_story, a_program_that_draws_from_somewhere_else_is_told_at_the_next_checkpoint) {  // FB-015
  std::vector<digest_checkpoint> earlier;
  {
    runtime rt(watched(ghost_mode::on));
    wander(rt, 0);
    earlier.assign(rt.kernel().ghosts().digests().begin(), rt.kernel().ghosts().digests().end());
  }
  ASSERT_GE(earlier.size(), 4U);
  for (const std::uint64_t entropy : {0U, 1U}) {
    runtime rt(watched(ghost_mode::on));
    rt.kernel().ghosts().expect_digests(earlier);
    wander(rt, entropy);
    EXPECT_EQ(rt.kernel().ghosts().count(ghost_kind::nondeterminism), entropy);
    const digest_difference* const d = rt.kernel().ghosts().difference();
    ASSERT_EQ(d != nullptr, entropy != 0);
    if (d == nullptr) continue;
    // Four events a poll: the mask of poll 901 is behind the third checkpoint and before the fourth.
    EXPECT_EQ(d->expected, earlier[3]);
    EXPECT_NE(rt.kernel().ghosts().report().find("FB-015  nondeterminism  event " + std::to_string(d->expected.seq)),
              std::string::npos);
  }
}

// ---- random runs --------------------------------------------------------------------------------------------------

std::vector<script> random_scripts(splitmix64& draw) {
  using kind = action::kind;
  constexpr kind kinds[] = {kind::yield,        kind::park,       kind::sleep,       kind::pend,
                            kind::return_ok,    kind::checkpoint, kind::spawn,       kind::create_region,
                            kind::reserve,      kind::commit,     kind::commit,      kind::abort,
                            kind::push_cleanup, kind::wake_task,  kind::cancel_task, kind::cancel_task,
                            kind::close_region, kind::mask_enter, kind::mask_leave};
  std::vector<script> out(6);
  for (script& s : out) {
    const std::uint64_t length = 2 + draw.next_below(10);
    for (std::uint64_t i = 0; i < length; ++i) {
      action a{kinds[draw.next_below(std::size(kinds))], draw.next_below(6)};
      a.k = static_cast<cancel_kind>(draw.next_below(11));
      a.b.priority = static_cast<std::uint8_t>(draw.next_below(256));
      if (a.what == kind::sleep) a.n *= 1'000'000;
      s.actions.push_back(a);
    }
    s.cleanup_at = draw.next_below(2) == 0 ? SIZE_MAX : draw.next_below(s.actions.size());
  }
  return out;
}

struct trail {
  std::vector<std::uint64_t> states;
  std::vector<status> results;
  std::vector<std::string> log;
  std::vector<event> events;  // Without diagnostics.
  digest128 digest{};
  std::uint64_t recorded = 0;  // By the monitors.

  friend bool operator==(const trail& a, const trail& b) {
    return a.states == b.states && a.results == b.results && a.log == b.log && a.events == b.events &&
           a.digest == b.digest;
  }
};

trail random_run(std::uint64_t seed, ghost_mode mode) {
  splitmix64 draw(seed);
  const std::vector<script> scripts = random_scripts(draw);
  testing::world_config config;
  config.seed = seed;
  config.max_obligations = 8;
  config.ghosts = mode;
  real_world w(config, scripts);
  trail out;
  for (int i = 0; i < 200; ++i) {
    const auto pick = [&draw](std::uint64_t count) { return 1 + draw.next_below(count); };
    bool newly = false;
    budget b;
    b.priority = static_cast<std::uint8_t>(draw.next_below(256));
    switch (draw.next_below(12)) {
      case 0: out.results.push_back(w.create_region(pick(w.regions()), b, draw.next_below(2) == 0)); break;
      case 1: out.results.push_back(w.spawn(pick(w.regions()), draw.next_below(6), b, draw.next_below(2) == 0)); break;
      case 2:
        if (w.tasks() != 0) out.results.push_back(w.request_cancel(pick(w.tasks()), cancel_kind::user, newly));
        break;
      case 3: out.results.push_back(w.close(pick(w.regions()), cancel_kind::user)); break;
      case 4: out.results.push_back(w.begin_drain(pick(w.regions()))); break;
      case 5: out.results.push_back(w.finish_close(pick(w.regions()))); break;
      case 6: out.results.push_back(w.reserve(pick(w.regions()))); break;
      case 7:
        if (w.obligations() != 0) out.results.push_back(w.commit(pick(w.obligations())));
        break;
      case 8: w.advance(draw.next_below(3'000'000)); break;
      default: static_cast<void>(w.step()); break;
    }
    out.states.push_back(w.rt.kernel().state_hash());
  }
  out.log = w.log();
  out.digest = w.rt.journal().digest();
  for (std::uint64_t i = 0; i < w.rt.journal().size(); ++i) {
    if (const event e = w.rt.journal().at(i); e.semantic()) out.events.push_back(e);
  }
  out.recorded = w.rt.kernel().ghosts().violations() + w.rt.kernel().ghosts().notes();
  return out;
}

TEST(ghost_story, random_runs_are_the_same_with_monitors_on_and_off) {  // R-115, U-35
  std::uint64_t recorded = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const trail on = random_run(seed, ghost_mode::on);
    const trail off = random_run(seed, ghost_mode::off);
    ASSERT_TRUE(on == off) << "seed " << seed;
    EXPECT_EQ(off.recorded, 0U);
    recorded += on.recorded;
  }
  EXPECT_GT(recorded, 600U) << "runs in which nothing is recorded prove nothing";
}

}  // namespace
}  // namespace asx
