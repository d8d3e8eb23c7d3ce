// Random calls through the C interface, with stale and forged handle words: no crash, no hang, no memory error.
//
// A small model knows what is alive for certain: a held task or region until it is released, an end that was not
// dropped, an obligation that was not resolved, a permit. Where it knows, statuses must agree: what is gone is stale,
// what was resolved is resolved, what is there is not stale. And a call that is refused for its arguments, or for want
// of room, leaves the canonical state as it was.
#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fuzz/capi_world.hpp"

namespace capi_fuzz {
namespace {

asx_status clean(void* context) {
  auto& w = *static_cast<world*>(context);
  if (w.depth < 3) w.act(nullptr);
  return static_cast<asx_status>(w.in.below(30));
}
asx_status finalize(void* context, asx_runtime*, asx_region_handle region) {
  auto& w = *static_cast<world*>(context);
  w.add_region(region, false);
  if (w.depth < 3) w.act(nullptr);
  return ASX_OK;
}
void closed(void* context, asx_region_handle) {
  auto& w = *static_cast<world*>(context);
  if (w.depth < 3) w.act(nullptr);
}
void destroy(void* value) {
  auto& w = *static_cast<world*>(value);
  if (w.depth < 3) w.act(nullptr);
}

asx_poll_result poll(void* context, asx_cx* cx) {
  auto& s = *static_cast<script*>(context);
  world& w = *s.home;
  if (w.kept != nullptr && w.kept != cx) MUST(asx_cx_set_value(w.kept, 1) == ASX_E_INVALID_ARGUMENT);
  w.kept = cx;
  if (w.depth < 3) w.act(cx);
  if (s.left == 0 || w.in.empty()) return ASX_POLL_READY;
  --s.left;
  return static_cast<asx_poll_result>(w.in.below(4));
}

}  // namespace

asx_task_spec world::spec() {
  auto* const s = new script{this, in.below(6)};
  scripts.push_back(s);
  asx_task_spec out = ASX_TASK_SPEC_INIT;
  out.poll = &poll;
  out.context = s;
  out.is_held = true;
  out.priority = in.byte();
  if (in.below(3) == 0) out.budget = {in.below(1000), in.below(9), in.below(9), in.byte()};
  return out;
}

void world::act_in_poll(asx_cx* cx) {
  asx_outcome outcome;
  asx_cancel_reason reason;
  asx_waker waker{};
  asx_task_handle self{};
  asx_region_handle own{};
  asx_budget left{};
  switch (in.below(22)) {
    case 0: static_cast<void>(asx_checkpoint(cx)); break;
    case 1: static_cast<void>(asx_cx_yield(cx)); break;
    case 2: static_cast<void>(asx_cx_waker(cx, &waker)); break;
    case 3: static_cast<void>(asx_cx_consume(cx, in.below(5))); break;
    case 4: static_cast<void>(asx_cx_mask(cx)); break;
    case 5: static_cast<void>(asx_cx_unmask(cx)); break;
    case 6: static_cast<void>(asx_cx_push_cleanup(cx, &clean, this, &cleanup)); break;
    case 7: static_cast<void>(tried([&] { return asx_cx_pop_cleanup(cx, handle(std::vector{cleanup})); })); break;
    case 8:
      static_cast<void>(tried([&] { return asx_cx_set_error(cx, static_cast<asx_status>(in.below(120)), 1); }));
      break;
    case 9: static_cast<void>(asx_cx_panic(cx, "fuzz")); break;
    case 10: static_cast<void>(asx_sleep_for(cx, in.below(500))); break;
    case 11: static_cast<void>(asx_sleep_until(cx, in.below(1000))); break;
    case 12: static_cast<void>(tried([&] { return asx_sleep_stop(cx); })); break;
    case 13: static_cast<void>(tried([&] { return asx_task_join(cx, handle(tasks), &outcome); })); break;
    case 14: static_cast<void>(tried([&] { return asx_task_stop_joining(cx, handle(tasks)); })); break;
    case 15: static_cast<void>(tried([&] { return asx_region_await_closed(cx, handle(regions)); })); break;
    case 16: static_cast<void>(tried([&] { return asx_region_stop_awaiting(cx, handle(regions)); })); break;
    case 17:
      if (asx_cx_reason(cx, &reason) == ASX_OK) {
        asx_cancel_reason level;
        for (std::uint32_t i = 0; i < reason.levels; ++i) {
          MUST(asx_cancel_reason_level(rt, &reason, i, &level) == ASX_OK || i != 0);
        }
        reason.cause ^= std::uint64_t{1} << in.below(64);
        static_cast<void>(asx_cancel_reason_level(rt, &reason, 1, &level));
      }
      MUST((asx_cx_reason(cx, &reason) == ASX_OK) == asx_is_cancelled(cx) || !asx_is_cancelled(cx));
      break;
    case 18:
      MUST(asx_cx_self(cx, &self, &own) == ASX_OK);
      MUST(asx_task_wake(rt, self) == ASX_OK);
      MUST(tried([&] { return asx_task_join(cx, self, &outcome); }) != ASX_OK);
      break;
    case 19: MUST(asx_cx_runtime(cx) == rt && asx_cx_now(cx) != ASX_TIME_NONE); break;
    case 20: MUST(asx_cx_budget_left(cx, &left) == ASX_OK); break;
    case 21: MUST(asx_cx_set_value(cx, in.byte()) == ASX_OK); break;
    default: break;
  }
}

void world::act_on_ends(asx_cx* cx) {
  asx_channel_report report{};
  report.size = sizeof report;
  const asx_channel_sender bent_tx = handle(senders);
  const asx_channel_receiver bent_rx = handle(receivers);
  asx_channel_sender tx{rt, bent_tx.word, bent_tx.generation};
  asx_channel_receiver rx{rt, bent_rx.word, bent_rx.generation};
  asx_channel_handle channel{};
  void* value = nullptr;
  switch (in.below(9)) {
    case 0: static_cast<void>(tried([&] { return asx_channel_inspect_sender(&tx, &report); })); break;
    case 1: static_cast<void>(tried([&] { return asx_channel_inspect_receiver(&rx, &report); })); break;
    case 2:
      if (asx_channel_of(&tx, &channel) == ASX_OK) channels.push_back(channel);
      break;
    case 3: static_cast<void>(tried([&] { return asx_channel_inspect(rt, handle(channels), &report); })); break;
    case 4: static_cast<void>(tried([&] { return asx_channel_stop_receiving(&rx, cx); })); break;
    case 5: static_cast<void>(tried([&] { return asx_channel_recv(&rx, cx, &value); })); break;
    case 6: static_cast<void>(tried([&] { return asx_channel_try_recv(&rx, &value); })); break;
    case 7: {
      if (tracked.empty()) break;
      asx_tracked_permit p = pick(tracked);
      const bool was_held = asx_tracked_is_held(&p);
      const std::uint64_t number = p.permit.number;
      p.obligation = handle(std::vector{p.obligation});
      if (asx_tracked_is_held(&p)) break;  // It was not bent.
      const asx_status s = tried(
          [&] { return in.below(2) == 0 ? asx_tracked_send(&p, this, nullptr) : asx_tracked_abort(&p, nullptr); });
      MUST(!was_held || (s == ASX_E_STALE_HANDLE && p.permit.number == number));
      break;
    }
    case 8: {
      if (permits.empty()) break;
      asx_tracked_permit p{pick(permits), {0, 0}};  // A plain one is no tracked one.
      const bool was_held = asx_send_permit_is_held(&p.permit);
      const asx_status s = tried([&] { return asx_tracked_drop(&p); });
      MUST(!was_held || (s == ASX_E_INVALID_ARGUMENT && asx_send_permit_is_held(&p.permit)));
      break;
    }
    default: break;
  }
}

static void put(void*, const char*, std::size_t) {}

void world::act_on_runtime(asx_cx* cx) {
  const bool is_outside = cx == nullptr && depth == 1;
  asx_step_report step{};
  step.size = sizeof step;
  asx_time time = 0;
  asx_runtime_report whole{};
  whole.size = sizeof whole;
  asx_quiescence_report rest{};
  rest.size = sizeof rest;
  asx_fairness_certificate fair{};
  fair.size = sizeof fair;
  asx_digest digest{};
  asx_event events[4];
  std::uint64_t size = 0;
  std::size_t count = 0;
  asx_status s = ASX_OK;
  switch (in.below(18)) {
    case 0:
      s = tried([&] { return asx_runtime_step(rt, &step); });
      MUST(cx == nullptr || s == ASX_E_REENTRANT);
      break;
    case 1:
      s = tried([&] { return asx_runtime_step_worker(rt, in.below(5), &step); });
      MUST(cx == nullptr || s != ASX_OK);
      break;
    case 2:
      if (cx != nullptr || (holds == 0 && foreign.empty())) {  // Nobody outside speaks up later: it would wait.
        s = asx_runtime_run_until_quiescent(rt, in.below(60), nullptr);
        MUST(cx == nullptr || s == ASX_E_REENTRANT);
      }
      break;
    case 3: MUST(asx_runtime_next_deadline(rt, &time) == ASX_OK); break;
    case 4: MUST(asx_runtime_now(rt, &time) == ASX_OK && time != ASX_TIME_NONE); break;
    case 5: static_cast<void>(asx_runtime_check_quiescence(rt, &rest)); break;
    case 6: MUST(asx_runtime_inspect(rt, &whole) == ASX_OK && whole.live_tasks <= 10); break;
    case 7: MUST(asx_runtime_describe(rt, &put, nullptr) == ASX_OK); break;
    case 8: MUST(asx_runtime_describe_json(rt, &put, nullptr) == ASX_OK); break;
    case 9:
      static_cast<void>(tried([&] { return asx_runtime_set_governor(rt, static_cast<asx_governor>(in.below(5))); }));
      break;
    case 10: MUST(asx_runtime_certificate(rt, &fair) == ASX_OK); break;
    case 11: MUST(asx_runtime_reset_certificate(rt) == ASX_OK); break;
    case 12: MUST(asx_journal_digest(rt, &digest) == ASX_OK && asx_journal_settle(rt) == ASX_OK); break;
    case 13:
      MUST(asx_journal_size(rt, &size) == ASX_OK);
      MUST(asx_journal_read(rt, in.below(300), events, 4, &count) != ASX_OK || count <= 4);
      break;
    case 14: static_cast<void>(asx_journal_discard(rt, in.below(300))); break;
    case 15:
      static_cast<void>(asx_journal_note_law(rt, in.byte(), static_cast<asx_status>(in.below(120)), in.byte()));
      break;
    case 16: MUST(asx_panic(rt, "fuzz") == ASX_OK); break;
    case 17:
      if (is_outside && in.below(16) == 0) static_cast<void>(asx_runtime_shutdown(rt, in.below(9), 1000, &rest));
      break;
    default: break;
  }
}

void world::act_from_outside() {
  asx_foreign_handle made{};
  if (foreign.empty() || in.below(3) == 0) {
    if (tried([&] { return asx_foreign_open(rt, handle(tasks), &made); }) == ASX_OK) foreign.push_back(made);
    return;
  }
  const std::uint32_t i = in.below(static_cast<std::uint32_t>(foreign.size()));
  switch (in.below(8)) {
    case 0: asx_foreign_shut_down(&foreign[i]); break;
    case 1:
    case 2: asx_foreign_cancel(&foreign[i], kind()); break;
    case 3:
    case 4:
      asx_foreign_drop(&foreign[i]);
      asx_foreign_drop(&foreign[i]);  // It is empty now.
      asx_foreign_wake(&foreign[i]);
      foreign[i] = foreign.back();
      foreign.pop_back();
      break;
    default: asx_foreign_wake(&foreign[i]); break;
  }
}

void world::release_region() {
  const asx_region_handle which = pick(regions);
  for (std::size_t i = 0; i < regions.size(); ++i) {  // A finalizer was told of it by another handle.
    const bool is_same = static_cast<std::uint32_t>(regions[i].word) == static_cast<std::uint32_t>(which.word) &&
                         regions[i].generation == which.generation;
    if (!is_same || !is_region_held[i]) continue;
    is_region_held[i] = false;
    MUST(asx_region_release(rt, which) == ASX_OK);
  }
  MUST(tried([&] { return asx_region_release(rt, which); }) != ASX_OK);
}

void world::act_on_channels(asx_cx* cx) {
  asx_send_permit permit{};
  asx_tracked_permit promise{};
  void* value = nullptr;
  const std::uint32_t s = senders.empty() ? 0 : in.below(static_cast<std::uint32_t>(senders.size()));
  const std::uint32_t r = receivers.empty() ? 0 : in.below(static_cast<std::uint32_t>(receivers.size()));
  asx_channel_sender tx = senders.empty() ? asx_channel_sender{rt, 0, 0} : senders[s];
  asx_channel_receiver rx = receivers.empty() ? asx_channel_receiver{rt, 0, 0} : receivers[r];
  const bool is_bent = in.below(8) == 0;
  if (is_bent) tx = {rt, handle(senders).word, handle(senders).generation};
  const bool is_gone = !is_bent && !senders.empty() && is_sender_dropped[s];
  asx_status said = ASX_OK;
  switch (in.below(16)) {
    case 0: said = tried([&] { return asx_channel_try_send(&tx, this); }); break;
    case 1:
      said = tried([&] { return asx_channel_try_reserve(&tx, &permit); });
      if (said == ASX_OK) permits.push_back(permit);
      break;
    case 2:
      said = asx_channel_reserve(&tx, cx, &permit);
      if (said == ASX_OK) permits.push_back(permit);
      if (cx == nullptr && tx.runtime != nullptr) MUST(said == ASX_E_INVALID_ARGUMENT);
      if (cx == nullptr) said = ASX_E_STALE_HANDLE;
      break;
    case 3: static_cast<void>(tried([&] { return asx_channel_stop_reserving(&tx, cx); })); return;
    case 4:
      said = tried([&] { return asx_channel_send_evicting(&tx, this, nullptr, in.below(2) == 0 ? nullptr : &value); });
      break;
    case 5: {
      asx_channel_sender clone{};
      said = tried([&] { return asx_channel_clone(&tx, &clone); });
      if (said == ASX_OK) {
        senders.push_back(clone);
        is_sender_dropped.push_back(false);
      }
      break;
    }
    case 6:
      said = asx_channel_drop_sender(&tx);
      for (std::size_t i = 0; said == ASX_OK && is_bent && i < senders.size(); ++i) {  // It may have hit a live one.
        if (senders[i].word == tx.word && senders[i].generation == tx.generation) is_sender_dropped[i] = true;
      }
      if (!is_bent && !senders.empty()) {
        MUST((said == ASX_OK) == !is_gone);
        is_sender_dropped[s] = true;
      }
      break;
    case 7: static_cast<void>(asx_channel_try_recv(&rx, &value)); return;
    case 8: static_cast<void>(asx_channel_recv(&rx, cx, &value)); return;
    case 9: {
      if (receivers.empty()) return;
      const bool was_gone = is_receiver_dropped[r];
      is_receiver_dropped[r] = true;
      MUST((asx_channel_drop_receiver(&rx) == ASX_OK) == !was_gone);
      return;
    }
    case 10: {
      if (permits.empty()) return;
      asx_send_permit& p = permits[in.below(static_cast<std::uint32_t>(permits.size()))];
      const bool was_held = asx_send_permit_is_held(&p);
      asx_send_permit copy = p;
      const asx_status sent = tried([&] { return asx_send_permit_send(&copy, this); });
      MUST(was_held || sent != ASX_OK);
      MUST(!was_held || sent == ASX_OK || sent == ASX_E_DISCONNECTED);
      return;
    }
    case 11:
      if (!permits.empty()) asx_send_permit_abort(&permits[in.below(static_cast<std::uint32_t>(permits.size()))]);
      return;
    case 12: {
      const asx_send_permit wild{rt, handle(permits).word, in.below(9), in.below(9), in.below(9)};
      asx_send_permit p = wild;
      const asx_status sent = tried([&] { return asx_send_permit_send(&p, this); });
      MUST(sent == ASX_OK || sent == ASX_E_DISCONNECTED || p.number == wild.number);
      return;
    }
    case 13: {
      const asx_region_handle region = handle(regions);
      if (asx_tracked_try_reserve(&tx, in.below(2) == 0 ? nullptr : &region, &promise) == ASX_OK) {
        tracked.push_back(promise);
      }
      return;
    }
    case 14:
      if (asx_tracked_reserve(&tx, cx, &promise) == ASX_OK) tracked.push_back(promise);
      return;
    case 15: {
      if (tracked.empty()) return;
      asx_tracked_permit& p = tracked[in.below(static_cast<std::uint32_t>(tracked.size()))];
      const bool was_held = asx_tracked_is_held(&p);
      asx_status ended = ASX_OK;
      switch (in.below(4)) {
        case 0: ended = asx_tracked_send(&p, this, nullptr); break;
        case 1: ended = asx_tracked_abort(&p, nullptr); break;
        case 2: ended = asx_tracked_drop(&p); break;
        default: MUST(!was_held || asx_send_permit_send(&p.permit, this) == ASX_E_INVALID_ARGUMENT); return;
      }
      MUST(was_held || ended != ASX_OK);
      return;
    }
    default: return;
  }
  if (is_gone) MUST(said == ASX_E_STALE_HANDLE);
}

void world::look() {
  newer_report newer;
  asx_task_report& task = newer.task;
  task.size = in.below(static_cast<std::uint32_t>(sizeof newer) - 8) + 8;
  const std::size_t handed_over = task.size;
  if (asx_task_inspect(rt, handle(tasks), &task) == ASX_OK) {
    MUST(handed_over >= sizeof task && newer.more[0] == (handed_over > sizeof task ? 0 : 1));
  }
  asx_region_report region{};
  region.size = sizeof region;
  static_cast<void>(asx_region_inspect(rt, handle(regions), &region));
  asx_outcome outcome;
  static_cast<void>(asx_task_outcome(rt, handle(tasks), &outcome));
  asx_cancel_witness witness;
  static_cast<void>(asx_task_witness(rt, handle(tasks), &witness));
  static_cast<void>(asx_region_outcome(rt, handle(regions), &outcome));
  asx_obligation_state state{};
  static_cast<void>(asx_obligation_inspect(rt, handle(obligations), &state));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (is_region_held[i]) MUST(asx_region_inspect(rt, regions[i], &region) == ASX_OK);
  }
  task.size = sizeof task;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!is_released[i]) MUST(asx_task_inspect(rt, tasks[i], &task) == ASX_OK);
  }
}

void world::act(asx_cx* cx) {
  ++depth;
  asx_region_handle region{};
  asx_task_handle task{};
  asx_obligation_handle obligation{};
  asx_timer_handle timer{};
  switch (in.below(31)) {
    case 0:
    case 1:
    case 2: {
      const asx_task_spec s = spec();
      if (tried([&] { return asx_task_spawn(rt, handle(regions), &s, &task); }) == ASX_OK) add_task(task);
      break;
    }
    case 3: {
      asx_region_spec s = ASX_REGION_SPEC_INIT;
      s.is_held = true;
      s.fails_fast = in.below(2) == 0;
      s.ends_when_empty = in.below(2) == 0;
      if (in.below(4) == 0) s.owner = handle(tasks);
      if (in.below(2) == 0) {
        s.closed = &closed;
        s.context = this;
      }
      if (tried([&] { return asx_region_create(rt, handle(regions), &s, &region); }) == ASX_OK) {
        add_region(region, true);
      }
      break;
    }
    case 4: static_cast<void>(tried([&] { return asx_region_close(rt, handle(regions), kind(), "fuzz"); })); break;
    case 5:
      switch (in.below(4)) {
        case 0:
          static_cast<void>(tried([&] { return asx_region_begin_close(rt, handle(regions), kind(), nullptr); }));
          break;
        case 1: static_cast<void>(tried([&] { return asx_region_begin_drain(rt, handle(regions)); })); break;
        case 2: static_cast<void>(tried([&] { return asx_region_begin_finalize(rt, handle(regions)); })); break;
        default: static_cast<void>(tried([&] { return asx_region_finish_close(rt, handle(regions)); })); break;
      }
      break;
    case 6:
      static_cast<void>(
          tried([&] { return asx_region_add_finalizer(rt, handle(regions), &finalize, this, in.below(2) == 0); }));
      break;
    case 7: {
      void* memory = nullptr;
      static_cast<void>(
          tried([&] { return asx_region_arena(rt, handle(regions), in.below(64), in.below(20), &memory); }));
      break;
    }
    case 8:
      static_cast<void>(tried([&] { return asx_task_request_cancel(rt, handle(tasks), kind(), "stop", nullptr); }));
      break;
    case 9: {
      asx_outcome o{};
      o.kind = static_cast<asx_outcome_kind>(in.below(5));
      o.error = static_cast<asx_status>(in.below(30));
      static_cast<void>(tried([&] { return asx_task_complete(rt, handle(tasks), &o); }));
      break;
    }
    case 10: static_cast<void>(tried([&] { return asx_task_wake(rt, handle(tasks)); })); break;
    case 11:
      if (!tasks.empty()) {  // Of a task that is held the model knows.
        const std::uint32_t i = in.below(static_cast<std::uint32_t>(tasks.size()));
        MUST((asx_task_release(rt, tasks[i]) == ASX_OK) == !is_released[i]);
        is_released[i] = true;
      }
      break;
    case 12: {
      asx_task_slot slot{};
      if (tried([&] { return asx_task_reserve(rt, handle(regions), &slot); }) == ASX_OK) slots.push_back(slot);
      break;
    }
    case 13: {
      const asx_task_spec s = spec();
      const asx_status said = tried([&] { return asx_task_commit(rt, handle(slots), &s, &task); });
      MUST(said == ASX_OK || said == ASX_E_STALE_HANDLE);
      if (said == ASX_OK) add_task(task);
      break;
    }
    case 14: static_cast<void>(tried([&] { return asx_task_abandon(rt, handle(slots)); })); break;
    case 15:
      if (tried([&] { return asx_obligation_reserve(rt, handle(regions), &obligation); }) == ASX_OK) {
        obligations.push_back(obligation);
      }
      break;
    case 16: {
      const asx_obligation_handle o = handle(obligations);
      const bool commits = in.below(2) == 0;
      if (tried([&] { return commits ? asx_obligation_commit(rt, o) : asx_obligation_abort(rt, o); }) == ASX_OK) {
        const asx_status again = asx_obligation_commit(rt, o);
        MUST(again == ASX_E_OBLIGATION_ALREADY_RESOLVED || again == ASX_E_STALE_HANDLE);
      }
      break;
    }
    case 17:
      if (tried([&] { return asx_region_add_timer(rt, handle(regions), in.below(2000), &timer); }) == ASX_OK) {
        timers.push_back(timer);
      }
      break;
    case 18: {
      asx_timer_handle t = pick(timers);
      if (in.below(6) == 0) t.id += in.below(9);
      static_cast<void>(asx_region_cancel_timer(rt, t, nullptr));
      break;
    }
    case 19: {
      asx_channel_sender tx{};
      asx_channel_receiver rx{};
      if (asx_channel_create(rt, handle(regions), in.below(5), in.below(2) == 0 ? nullptr : &destroy, &tx, &rx) ==
          ASX_OK) {
        senders.push_back(tx);
        is_sender_dropped.push_back(false);
        receivers.push_back(rx);
        is_receiver_dropped.push_back(false);
      }
      break;
    }
    case 20: look(); break;
    case 21: release_region(); break;
    case 22:
      if (in.below(2) == 0) {
        MUST(asx_runtime_hold(rt) == ASX_OK);
        ++holds;
      } else {
        const bool said = tried([&] { return asx_runtime_unhold(rt); }) == ASX_OK;
        MUST(is_ending || said == (holds != 0));
        holds -= holds != 0 ? 1 : 0;
      }
      break;
    case 23:
      if (cx == nullptr) {
        static_cast<void>(asx_runtime_run_until_idle(rt, in.below(50), nullptr));
        static_cast<void>(asx_runtime_advance(rt, in.below(300)));
      } else {
        MUST(asx_runtime_run_until_idle(rt, 5, nullptr) == ASX_E_REENTRANT);
        MUST(asx_runtime_destroy(rt) == ASX_E_REENTRANT);
        act_in_poll(cx);
      }
      break;
    case 24:
      if (cx != nullptr) {
        act_in_poll(cx);
      } else if (in.below(16) == 0) {
        static_cast<void>(asx_runtime_begin_shutdown(rt, kind(), nullptr));
      }
      break;
    case 25: act_on_ends(cx); break;
    case 26: act_on_runtime(cx); break;
    case 27: act_from_outside(); break;
    case 28: {
      const asx_task_handle t = handle(tasks);
      MUST(asx_waker_wake(rt, {t.word, t.generation}) == ASX_OK);
      break;
    }
    default:
      act_on_channels(cx);
      if (cx != nullptr) act_in_poll(cx);
      break;
  }
  --depth;
}

}  // namespace capi_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace capi_fuzz;
  fuzz_input in(data, size);
  world w(in);
  asx_runtime_config config;
  MUST(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_TINY) == ASX_OK);
  config.contract.reserve_all = in.below(2) == 0;
  config.contract.max_tasks = 2 + in.below(8);
  config.contract.max_waits = 1 + in.below(8);
  config.contract.max_senders = 1 + in.below(8);
  config.ghosts = in.below(2) == 0 ? ASX_GHOSTS_ON : ASX_GHOSTS_OFF;
  config.journaling = static_cast<asx_journal_mode>(in.below(3));
  config.workers = 1 + in.below(3);
  config.panic = {nullptr, [](void*, const char*) {}};
  asx_journal_writer* writer = nullptr;
  if (in.below(16) == 0) {
    static const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    MUST(asx_journal_writer_open(nowhere, ASX_PROFILE_TINY, 0, nullptr, &writer) == ASX_OK);
    config.writer = writer;
    config.journaling = ASX_JOURNAL_FULL;
  }
  if (in.below(4) == 0) {
    static std::byte memory[512 * 1024];
    config.contract.reserve_all = true;
    MUST(asx_runtime_create_in(memory, sizeof memory, &config, &w.rt) == ASX_OK);
  } else {
    MUST(asx_runtime_create(&config, &w.rt) == ASX_OK);
  }
  asx_region_handle root{};
  MUST(asx_region_root(w.rt, &root) == ASX_OK);
  w.add_region(root, false);
  for (int i = 0; i < 300 && !in.empty(); ++i) w.act(nullptr);
  // Everything that somebody outside holds is let go; then it must come to rest.
  for (auto& p : w.permits) asx_send_permit_abort(&p);
  for (auto& p : w.tracked) static_cast<void>(asx_tracked_abort(&p, nullptr));
  for (const auto o : w.obligations) static_cast<void>(asx_obligation_abort(w.rt, o));
  asx_status end = ASX_E_TASKS_STILL_ACTIVE;
  for (int i = 0; i < 4 && end != ASX_OK; ++i) {
    w.is_ending = true;
    end = asx_runtime_destroy(w.rt);
    if (end == ASX_OK) break;
    asx_outcome failed{};
    failed.kind = ASX_OUTCOME_ERR;
    failed.error = ASX_E_CANCELLED;
    for (const auto t : w.tasks) static_cast<void>(asx_task_complete(w.rt, t, &failed));
  }
  MUST(end == ASX_OK);
  if (writer != nullptr) static_cast<void>(asx_journal_writer_close(writer));
  for (auto& f : w.foreign) {  // They may outlive the runtime.
    asx_foreign_wake(&f);
    asx_foreign_drop(&f);
  }
  for (script* const s : w.scripts) delete s;
  return 0;
}
