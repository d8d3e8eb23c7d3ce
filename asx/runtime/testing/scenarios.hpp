// asx/runtime/testing/scenarios.hpp - small plays that together use everything a kernel has, written to cope.
//
//     family       regions in regions, tasks that spawn, errors and panics, closes from inside and outside
//     promises     obligations that are kept, given back, leaked, and settled by a finalizer
//     sleepers     timers of tasks and regions, deadlines, polls and costs that run out
//     undo         stacks of cleanup actions, masks, cleanup that takes its time
//     farewells    finalizers that spawn, whose tasks spawn again
//     meetings     joins, waits for a close, records that are held, tasks spawned in two stages
//     households   tasks that own regions, arenas
//     stubborn     tasks that never observe, never end, or wait for nobody
//     crowd        more of everything than one chunk of a pool holds
//
// Each play goes on whatever is refused or cancelled in it, at any moment, and ends before shutdown or by it.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "asx/runtime/testing/stage.hpp"

namespace asx::testing {

struct scenario {
  std::string_view name;
  void (*play)(stage& s);
  bool is_long = false;  // Hundreds of polls.
};

namespace play {

using actor = stage::actor;

/// Yields `n` times and ends; a cancel ends it at once.
inline stage::body yields(std::uint32_t n) {
  return [n](stage&, cx& c, actor& a) {
    if (c.checkpoint() != status::ok || a.at >= n) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  };
}
/// Waits for a wake that may never come.
inline poll_result waits(stage&, cx& c, actor& a) {
  if (c.checkpoint() != status::ok || a.at >= 1) return poll_result::ready;
  static_cast<void>(c.get_waker());
  return poll_result::pending;
}

/// Nobody can cancel it, and it would go on for ever: the cancel queue was full.
inline bool is_given_up(cx& c, const actor& me) {
  return !c.is_cancelled() && me.at > 30;
}

inline void family(stage& s) {
  const region_handle a = s.region(s.root());
  const region_handle b = s.region(a);
  const region_handle c = s.region(a);
  const region_handle d = s.region(c);
  for (const region_handle r : {a, b, c, d}) {
    s.spawn(r, yields(2));
    s.spawn(r, waits);
  }
  s.spawn(b, [](stage& on, cx& cx, actor& me) {
    if (cx.checkpoint() != status::ok) return poll_result::ready;
    on.spawn(cx.region(), yields(me.at));
    const region_handle own = on.region(cx.region());
    on.spawn(own, waits);
    if (me.at == 1) on.close(own, {cancel_kind::fail_fast, "second thoughts"});
    if (me.at == 2) return poll_result::ready;
    cx.yield();
    return poll_result::pending;
  });
  s.steps(5);
  s.close(c, {cancel_kind::timeout, "too slow"});
  s.spawn(c, yields(1));  // Refused: it closes.
  s.run();
  s.spawn(b, [](stage&, cx& cx, actor&) {
    cx.set_error(status::io, 7);
    return poll_result::error;
  });
  s.spawn(b, [](stage&, cx& cx, actor&) {
    cx.panic("as it was meant to");
    return poll_result::ready;
  });
  s.spawn(b, [](stage& on, cx& cx, actor&) {
    if (cx.region() == on.root() || !on.close(cx.region())) return poll_result::ready;  // U-23
    cx.yield();
    return cx.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  });
  s.run();
  s.close(a);
  s.run();
}

inline void promises(stage& s) {
  const region_handle outer = s.region(s.root());
  const region_handle inner = s.region(outer);
  const obligation_handle host = s.promise(outer);
  s.finalizer(outer, [host](stage& on, region_handle) { static_cast<void>(on.k().commit(host)); });
  for (const region_handle r : {outer, inner}) {
    s.spawn(r, [kept = std::array<obligation_handle, 3>{}](stage& on, cx& c, actor& me) mutable {
      if (c.checkpoint() != status::ok) {
        static_cast<void>(on.k().abort(kept[1]));
        return poll_result::ready;
      }
      if (me.at < 3) {
        kept[me.at] = on.promise(c.region());
      } else if (me.at == 3) {
        static_cast<void>(on.k().commit(kept[0]));
        static_cast<void>(on.k().commit(kept[0]));  // Refused: FB-003.
      } else if (me.at == 4) {
        static_cast<void>(on.k().abort(kept[1]));
        return poll_result::ready;  // The third is leaked.
      }
      c.yield();
      return poll_result::pending;
    });
  }
  s.steps(6);
  s.promise(s.root());
  s.close(inner);
  s.promise(inner);
  s.run();
  for (const obligation_handle o : s.promises) {
    if (o != host) static_cast<void>(s.k().commit(o));
  }
  s.promise(outer);
  s.close(outer);
  s.run();
}

inline void sleepers(stage& s) {
  const region_handle r = s.region(s.root());
  for (std::uint32_t i = 0; i < 4; ++i) {
    s.spawn(r, [i](stage& on, cx& c, actor& me) {
      if (c.checkpoint() != status::ok || me.at == 3) return poll_result::ready;
      if (me.at == 2 && i % 2 == 0 && on.sleep(c, me, duration::hours(1))) on.k().cancel_timer(me.timer);
      if (!on.sleep(c, me, duration::milliseconds(5 + 10 * i))) c.yield();
      return poll_result::pending;
    });
  }
  task_spec late;
  late.limits.deadline = instant{12'000'000};
  s.spawn(r, waits, late);
  s.spawn(
      r,
      [](stage& on, cx& c, actor& me) {  // Its deadline passes while it sleeps.
        if (c.is_cancelled()) return c.checkpoint() == status::ok ? poll_result::error : poll_result::ready;
        if (me.at > 0 || !on.sleep(c, me, duration::seconds(1))) static_cast<void>(c.get_waker());
        return poll_result::pending;
      },
      late);
  task_spec poor;
  poor.limits.poll_quota = 2;
  s.spawn(r, yields(9), poor);
  poor.limits = {.cost_quota = 5, .priority = 128};
  s.spawn(
      r,
      [](stage&, cx& c, actor& me) {
        if (c.consume_cost(3) != status::ok && c.checkpoint() != status::ok) return poll_result::ready;
        if (is_given_up(c, me)) return poll_result::ready;
        c.yield();
        return poll_result::pending;
      },
      poor);
  slab_key timer{};
  static_cast<void>(s.watch([&] { return s.k().register_timer(r, instant{20'000'000}, timer); }));
  static_cast<void>(s.watch([&] { return s.k().register_timer(s.root(), instant{40'000'000}, timer); }));
  s.run();
  static_cast<void>(s.rt.advance(duration::milliseconds(11)));
  s.run();
  s.run_on();
  s.spawn(r, [](stage& on, cx& c, actor& me) {  // Still asleep when its region closes, and in its cleanup too.
    if (me.at == 2) return poll_result::ready;
    if (c.checkpoint() != status::ok && me.at == 0) return poll_result::ready;
    if (c.is_cancelled() && !on.mask(c)) return poll_result::ready;
    if (!on.sleep(c, me, duration::hours(me.at + 1))) c.yield();
    return poll_result::pending;
  });
  s.run();
  s.close(r, {cancel_kind::deadline, {}});
  s.run_on();
}

inline void undo(stage& s) {
  const region_handle r = s.region(s.root());
  std::array<actor*, 3> patients{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    patients[i] = s.spawn(r, [i](stage& on, cx& c, actor& me) {
      if (c.checkpoint() != status::ok) {
        on.push(c, me);  // Cleanup may need undoing too.
        if (!c.is_cancelled()) return poll_result::error;
        if (i == 1 && me.at < 8 && on.mask(c)) {
          EXPECT_EQ(c.checkpoint(), status::ok) << "inside a mask (R-134)";
          c.mask_leave();
          c.yield();
          return poll_result::pending;
        }
        return i == 2 ? poll_result::error : poll_result::ready;
      }
      if (me.at < 3) {
        on.push(c, me);
        on.push(c, me);
        if (me.at == 1) on.pop(c, me);
        int depth = 0;
        while (depth < 3 && on.mask(c)) ++depth;  // asx: bounded by a limit of the contract
        while (depth-- > 0) c.mask_leave();       // asx: bounded by a limit of the contract
        c.yield();
      } else {
        static_cast<void>(c.get_waker());
      }
      return poll_result::pending;
    });
  }
  s.spawn(r, [](stage& on, cx& c, actor& me) {  // A stack that is unwound by an ordinary end.
    on.push(c, me);
    if (me.at == 2) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  });
  s.spawn(r, [](stage& on, cx& c, actor& me) {  // One that is unwound by a panic inside a mask.
    on.push(c, me);
    static_cast<void>(on.mask(c));
    if (me.at == 1) c.panic("in the middle");
    c.yield();
    return poll_result::pending;
  });
  s.steps(9);
  s.cancel(patients[0], {cancel_kind::race_lost, "first of three"});
  s.run();
  s.cancel(patients[1], {cancel_kind::linked_exit, {}});
  s.cancel(patients[1], {cancel_kind::resource_unavailable, "and again"});
  s.run();
  s.cancel(patients[2]);
  s.run();
  s.close(r);
  s.run();
}

inline void farewells(stage& s) {
  const region_handle outer = s.region(s.root());
  const region_handle inner = s.region(outer);
  for (const region_handle r : {outer, inner}) {
    s.finalizer(r, {});
    s.finalizer(r, [](stage& on, region_handle region) {
      on.spawn(region, [](stage& where, cx& c, actor& me) {
        where.push(c, me);
        if (c.checkpoint() != status::ok || me.at == 2) return poll_result::ready;
        if (me.at == 1) where.spawn(c.region(), yields(1));  // Of the same kind.
        c.yield();
        return poll_result::pending;
      });
      on.region(region);   // Refused.
      on.promise(region);  // Likewise.
      on.arena(region, 24);
    });
    s.finalizer(r, [](stage& on, region_handle region) { on.spawn(region, yields(3)); });
    s.spawn(r, waits);
    s.spawn(r, yields(2));
  }
  s.steps(3);
  s.close(inner, {cancel_kind::cost_budget, {}});
  s.run();
  s.close(outer);
  s.run();
}

inline void meetings(stage& s) {
  region_spec kept;
  kept.is_held = true;
  const region_handle r = s.region(s.root(), kept);
  task_spec held;
  held.is_held = true;
  actor* const busy = s.spawn(r, yields(3), held);
  actor* const idle = s.spawn(r, waits, held);
  for (actor* const other : {busy, idle}) {
    if (other == nullptr) continue;
    for (int i = 0; i < 2; ++i) {
      s.spawn(s.root(), [t = other->handle](stage& on, cx& c, actor& me) {
        if (c.checkpoint() != status::ok || !on.join(c, me, t)) return poll_result::ready;
        return poll_result::pending;
      });
    }
  }
  s.spawn(s.root(), [r](stage& on, cx& c, actor& me) {
    if (r == on.root() || c.checkpoint() != status::ok || !on.await_closed(c, me, r)) return poll_result::ready;
    return poll_result::pending;
  });
  task_slot early, unused, late;
  const bool has_early = s.reserve(r, early);
  const bool has_unused = s.reserve(r, unused);
  const bool has_late = s.reserve(r, late);
  s.steps(4);
  if (has_early) s.commit(early, yields(2), held);
  s.run();
  s.wake(idle);
  s.run();
  s.close(r, {cancel_kind::poll_quota, "enough"});
  if (has_unused) s.k().abandon(unused);
  s.run();
  if (has_late) s.commit(late, yields(2));
  s.run();
}

inline void households(stage& s) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    const region_handle street = s.region(s.root());
    s.arena(street, 100);
    actor* const owner = s.spawn(street, [i](stage& on, cx& c, actor& me) {
      if (me.at == 0) {
        region_spec home;
        home.owner = c.handle();
        const region_handle house = on.region(c.region(), home);
        on.arena(house, 3'000, 64);
        on.spawn(house, waits);
        on.spawn(house, yields(4));
        on.arena(house, 20'000);
      }
      if ((c.checkpoint() != status::ok && i != 2) || is_given_up(c, me)) return poll_result::ready;
      if (i == 1 && me.at == 5) {
        c.set_value(5);
        return poll_result::ready;
      }
      c.yield();
      return poll_result::pending;
    });
    s.steps(4);
    if (i == 0) s.cancel(owner, {cancel_kind::user, "moving out"});
    if (i == 2) s.cancel(owner, {cancel_kind::shutdown, {}});  // It never looks: overrun.
    s.steps(8);
    if (i == 1) s.close(street);
  }
  s.run();
}

inline void stubborn(stage& s) {
  const region_handle r = s.region(s.root());
  actor* const deaf = s.spawn(r, [](stage& on, cx& c, actor& me) {
    if (me.at == 0) on.push(c, me);
    if (is_given_up(c, me)) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  });
  actor* const endless = s.spawn(r, [](stage& on, cx& c, actor& me) {
    if (me.at == 0) on.push(c, me);
    if (c.checkpoint() == status::ok && is_given_up(c, me)) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  });
  actor* const asleep = s.spawn(r, [](stage& on, cx& c, actor& me) {  // Nothing ever wakes it: stall polls.
    if (me.at == 0) on.push(c, me);
    static_cast<void>(c.checkpoint());
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  });
  s.steps(5);
  for (const actor* a : {deaf, endless, asleep}) s.cancel(a, {cancel_kind::shutdown, {}});
  s.run();
  s.close(r, {cancel_kind::shutdown, {}});
  s.run();
}

inline void crowd(stage& s) {
  const region_handle r = s.region(s.root());
  for (std::uint32_t i = 0; i < 70; ++i) {
    if (i % 10 == 0) s.finalizer(s.region(r), {});
    s.spawn(r, [i](stage& on, cx& c, actor& me) {
      if (c.checkpoint() != status::ok || me.at == 2) return poll_result::ready;
      if (me.at == 1) {
        static_cast<void>(c.get_waker());
        return poll_result::pending;
      }
      on.push(c, me);
      on.promise(c.region());
      if (!on.sleep(c, me, duration::milliseconds(i))) c.yield();
      return poll_result::pending;
    });
  }
  s.run();
  for (std::uint32_t i = 0; i < s.actors.size(); i += 3) {
    s.cancel(&s.actors[i], {i % 2 == 0 ? cancel_kind::user : cancel_kind::fail_fast, "one in three"});
  }
  s.run_on();
  s.close(r, {cancel_kind::parent_cancelled, "all of them"});
  s.run();
}

}  // namespace play

[[nodiscard]] inline std::span<const scenario> scenarios() {
  static constexpr auto all = std::to_array<scenario>({
      {"family", &play::family},
      {"promises", &play::promises},
      {"sleepers", &play::sleepers},
      {"undo", &play::undo},
      {"farewells", &play::farewells},
      {"meetings", &play::meetings},
      {"households", &play::households},
      {"stubborn", &play::stubborn, true},
      {"crowd", &play::crowd, true},
  });
  return all;
}

}  // namespace asx::testing
