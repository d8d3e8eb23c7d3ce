// Random calls through the C interface, with stale and forged handle words: no crash, no hang, no memory error.
//
// A small model knows what is alive for certain: a held task until it is released, a region that is held, a sender that
// was not dropped, an obligation that was not resolved, a permit. Where it knows, statuses must agree: what is gone is
// stale, what was resolved is resolved, what is there is not stale.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "asx/capi/asx.h"
#include "tests/fuzz/input.hpp"

namespace {

struct world;

struct script {
  world* home;
  std::uint32_t left = 0;  // Polls until it is ready.
  std::uint8_t first = 0;
  std::uint8_t bytes[6] = {};
};

#define MUST(condition) \
  ((condition) ? static_cast<void>(0) : (std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), std::abort()))

struct world {
  explicit world(fuzz_input& bytes) : in(bytes) {}
  fuzz_input& in;
  asx_runtime* rt = nullptr;
  std::vector<asx_region_handle> regions;
  std::vector<asx_task_handle> tasks;
  std::vector<bool> is_released;
  std::vector<asx_obligation_handle> obligations;
  std::vector<asx_task_slot> slots;
  std::vector<asx_channel_sender> senders;
  std::vector<bool> is_sender_dropped;
  std::vector<asx_channel_receiver> receivers;
  std::vector<bool> is_receiver_dropped;
  std::vector<asx_send_permit> permits;
  std::vector<asx_tracked_permit> tracked;
  std::vector<asx_timer_handle> timers;
  std::vector<script*> scripts;
  asx_cleanup_handle cleanup{};
  int depth = 0;

  template <class T>
  T pick(const std::vector<T>& from) {
    return from.empty() ? T{} : from[in.below(static_cast<std::uint32_t>(from.size()))];
  }
  /// Mostly one that was given out; sometimes with its words bent.
  template <class T>
  T handle(const std::vector<T>& from) {
    T h = pick(from);
    switch (in.below(12)) {
      case 0: h.word ^= std::uint64_t{1} << in.below(64); break;
      case 1: h.generation += in.below(5) - std::uint64_t{2}; break;
      case 2: h.word = (std::uint64_t{in.below(8)} << 48) | in.below(8); break;
      case 3: h.generation = in.below(8); break;
      default: break;
    }
    return h;
  }
  asx_cancel_kind kind() { return static_cast<asx_cancel_kind>(in.below(12)); }
  asx_task_spec spec();
  void act(asx_cx* cx);
  void act_in_poll(asx_cx* cx);
  void act_on_channels(asx_cx* cx);
  void look();
};

asx_status clean(void* context) {
  auto& w = *static_cast<world*>(context);
  if (w.depth < 3) w.act(nullptr);
  return static_cast<asx_status>(w.in.below(30));
}
asx_status finalize(void* context, asx_runtime*, asx_region_handle region) {
  auto& w = *static_cast<world*>(context);
  w.regions.push_back(region);
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
  if (w.depth < 3) w.act(cx);
  if (s.left == 0 || w.in.empty()) return ASX_POLL_READY;
  --s.left;
  return static_cast<asx_poll_result>(w.in.below(4));
}

asx_task_spec world::spec() {
  auto* const s = new script{this, in.below(6), 0, {}};
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
  switch (in.below(18)) {
    case 0: static_cast<void>(asx_checkpoint(cx)); break;
    case 1: static_cast<void>(asx_cx_yield(cx)); break;
    case 2: static_cast<void>(asx_cx_waker(cx, &waker)); break;
    case 3: static_cast<void>(asx_cx_consume(cx, in.below(5))); break;
    case 4: static_cast<void>(asx_cx_mask(cx)); break;
    case 5: static_cast<void>(asx_cx_unmask(cx)); break;
    case 6: static_cast<void>(asx_cx_push_cleanup(cx, &clean, this, &cleanup)); break;
    case 7: static_cast<void>(asx_cx_pop_cleanup(cx, handle(std::vector{cleanup}))); break;
    case 8: static_cast<void>(asx_cx_set_error(cx, static_cast<asx_status>(in.below(120)), 1)); break;
    case 9: static_cast<void>(asx_cx_panic(cx, "fuzz")); break;
    case 10: static_cast<void>(asx_sleep_for(cx, in.below(500))); break;
    case 11: static_cast<void>(asx_sleep_until(cx, in.below(1000))); break;
    case 12: static_cast<void>(asx_sleep_stop(cx)); break;
    case 13: static_cast<void>(asx_task_join(cx, handle(tasks), &outcome)); break;
    case 14: static_cast<void>(asx_task_stop_joining(cx, handle(tasks))); break;
    case 15: static_cast<void>(asx_region_await_closed(cx, handle(regions))); break;
    case 16: static_cast<void>(asx_region_stop_awaiting(cx, handle(regions))); break;
    case 17:
      if (asx_cx_reason(cx, &reason) == ASX_OK) {
        asx_cancel_reason level;
        for (std::uint32_t i = 0; i < reason.levels; ++i) {
          static_cast<void>(asx_cancel_reason_level(rt, &reason, i, &level));
        }
      }
      break;
    default: break;
  }
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
    case 0: said = asx_channel_try_send(&tx, this); break;
    case 1:
      said = asx_channel_try_reserve(&tx, &permit);
      if (said == ASX_OK) permits.push_back(permit);
      break;
    case 2:
      said = asx_channel_reserve(&tx, cx, &permit);
      if (said == ASX_OK) permits.push_back(permit);
      if (cx == nullptr && tx.runtime != nullptr) MUST(said == ASX_E_INVALID_ARGUMENT);
      if (cx == nullptr) said = ASX_E_STALE_HANDLE;
      break;
    case 3: static_cast<void>(asx_channel_stop_reserving(&tx, cx)); return;
    case 4: said = asx_channel_send_evicting(&tx, this, nullptr, in.below(2) == 0 ? nullptr : &value); break;
    case 5: {
      asx_channel_sender clone{};
      said = asx_channel_clone(&tx, &clone);
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
      const asx_status sent = asx_send_permit_send(&copy, this);
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
      static_cast<void>(asx_send_permit_send(&p, this));
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
  asx_task_report task{};
  task.size = in.below(200) + 8;
  static_cast<void>(asx_task_inspect(rt, handle(tasks), &task));
  asx_region_report region{};
  region.size = sizeof region;
  static_cast<void>(asx_region_inspect(rt, handle(regions), &region));
  asx_outcome outcome;
  static_cast<void>(asx_task_outcome(rt, handle(tasks), &outcome));
  asx_cancel_witness witness;
  static_cast<void>(asx_task_witness(rt, handle(tasks), &witness));
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  MUST(asx_runtime_state_hash(rt, &before) == ASX_OK);
  if (asx_region_begin_drain(rt, handle(std::vector<asx_region_handle>{{0, 0}})) != ASX_OK) {
    MUST(asx_runtime_state_hash(rt, &after) == ASX_OK);
    MUST(before == after);
  }
}

void world::act(asx_cx* cx) {
  ++depth;
  asx_region_handle region{};
  asx_task_handle task{};
  asx_obligation_handle obligation{};
  asx_timer_handle timer{};
  switch (in.below(26)) {
    case 0:
    case 1:
    case 2: {
      const asx_task_spec s = spec();
      if (asx_task_spawn(rt, handle(regions), &s, &task) == ASX_OK) {
        tasks.push_back(task);
        is_released.push_back(false);
      }
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
      if (asx_region_create(rt, handle(regions), &s, &region) == ASX_OK) regions.push_back(region);
      break;
    }
    case 4: static_cast<void>(asx_region_close(rt, handle(regions), kind(), "fuzz")); break;
    case 5:
      switch (in.below(4)) {
        case 0: static_cast<void>(asx_region_begin_close(rt, handle(regions), kind(), nullptr)); break;
        case 1: static_cast<void>(asx_region_begin_drain(rt, handle(regions))); break;
        case 2: static_cast<void>(asx_region_begin_finalize(rt, handle(regions))); break;
        default: static_cast<void>(asx_region_finish_close(rt, handle(regions))); break;
      }
      break;
    case 6: static_cast<void>(asx_region_add_finalizer(rt, handle(regions), &finalize, this, in.below(2) == 0)); break;
    case 7: {
      void* memory = nullptr;
      static_cast<void>(asx_region_arena(rt, handle(regions), in.below(64), in.below(20), &memory));
      break;
    }
    case 8: static_cast<void>(asx_task_request_cancel(rt, handle(tasks), kind(), "stop", nullptr)); break;
    case 9: {
      asx_outcome o{};
      o.kind = static_cast<asx_outcome_kind>(in.below(5));
      o.error = static_cast<asx_status>(in.below(30));
      static_cast<void>(asx_task_complete(rt, handle(tasks), &o));
      break;
    }
    case 10: static_cast<void>(asx_task_wake(rt, handle(tasks))); break;
    case 11:
      if (!tasks.empty()) {  // Of a task that is held the model knows.
        const std::uint32_t i = in.below(static_cast<std::uint32_t>(tasks.size()));
        MUST((asx_task_release(rt, tasks[i]) == ASX_OK) == !is_released[i]);
        is_released[i] = true;
      }
      break;
    case 12: {
      asx_task_slot slot{};
      if (asx_task_reserve(rt, handle(regions), &slot) == ASX_OK) slots.push_back(slot);
      break;
    }
    case 13: {
      const asx_task_spec s = spec();
      if (asx_task_commit(rt, handle(slots), &s, &task) == ASX_OK) {
        tasks.push_back(task);
        is_released.push_back(false);
      }
      break;
    }
    case 14: static_cast<void>(asx_task_abandon(rt, handle(slots))); break;
    case 15:
      if (asx_obligation_reserve(rt, handle(regions), &obligation) == ASX_OK) obligations.push_back(obligation);
      break;
    case 16: {
      const asx_obligation_handle o = handle(obligations);
      const bool commits = in.below(2) == 0;
      if ((commits ? asx_obligation_commit(rt, o) : asx_obligation_abort(rt, o)) == ASX_OK) {
        const asx_status again = asx_obligation_commit(rt, o);
        MUST(again == ASX_E_OBLIGATION_ALREADY_RESOLVED || again == ASX_E_STALE_HANDLE);
      }
      break;
    }
    case 17:
      if (asx_region_add_timer(rt, handle(regions), in.below(2000), &timer) == ASX_OK) timers.push_back(timer);
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
    case 21: static_cast<void>(asx_region_release(rt, handle(regions))); break;
    case 22: static_cast<void>(in.below(2) == 0 ? asx_runtime_hold(rt) : asx_runtime_unhold(rt)); break;
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
    default:
      act_on_channels(cx);
      if (cx != nullptr) act_in_poll(cx);
      break;
  }
  --depth;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
  MUST(asx_runtime_create(&config, &w.rt) == ASX_OK);
  asx_region_handle root{};
  MUST(asx_region_root(w.rt, &root) == ASX_OK);
  w.regions.push_back(root);
  for (int i = 0; i < 300 && !in.empty(); ++i) w.act(nullptr);
  // Everything that somebody outside holds is let go; then it must come to rest.
  for (auto& p : w.permits) asx_send_permit_abort(&p);
  for (auto& p : w.tracked) static_cast<void>(asx_tracked_abort(&p, nullptr));
  for (const auto o : w.obligations) static_cast<void>(asx_obligation_abort(w.rt, o));
  asx_status end = ASX_E_TASKS_STILL_ACTIVE;
  for (int i = 0; i < 4 && end != ASX_OK; ++i) {
    end = asx_runtime_destroy(w.rt);
    if (end == ASX_OK) break;
    asx_outcome failed{};
    failed.kind = ASX_OUTCOME_ERR;
    failed.error = ASX_E_CANCELLED;
    for (const auto t : w.tasks) static_cast<void>(asx_task_complete(w.rt, t, &failed));
  }
  MUST(end == ASX_OK);
  for (script* const s : w.scripts) delete s;
  return 0;
}
