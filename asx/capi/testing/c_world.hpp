// asx/capi/testing/c_world.hpp - the player's back end over the C interface: asx.h, plain values, and the way in which
// a contract is copied.
//
// Cancel points: as world.hpp. Threads: one. Lifetime: scripts are dropped before it.
#pragma once

#include <cstring>
#include <deque>
#include <memory>

#include "asx/capi/asx.h"
#include "asx/capi/detail/convert.hpp"
#include "asx/scenario/world.hpp"

namespace asx::scenario::detail {

inline status in(asx_status s) noexcept {
  return static_cast<status>(s);
}

/// A value on its way; it tells of its end, unless somebody has it.
struct message {
  std::uint64_t value;
  std::vector<std::uint64_t>* told;
};
inline void destroy_message(void* value) {
  auto* const m = static_cast<message*>(value);
  m->told->push_back(m->value);
  delete m;
}
inline std::uint64_t take_message(void* value) {
  auto* const m = static_cast<message*>(value);
  const std::uint64_t out = m->value;
  delete m;
  return out;
}

inline asx_budget plain(const budget& b) noexcept {
  return {b.deadline.ns, b.poll_quota, b.cost_quota, b.priority};
}

inline quiescence_look list(const asx_quiescence_report& from) {
  constexpr status checks[] = {status::tasks_still_active, status::obligations_unresolved, status::regions_not_closed,
                               status::timers_pending, status::channel_not_drained};
  quiescence_look out{in(from.first), {}};
  for (std::uint32_t i = 0; i < std::size(checks); ++i) {
    if ((from.failed >> i & 1U) != 0) out.failed.push_back(checks[i]);
  }
  return out;
}

class c_world final : public world {
 public:
  ~c_world() override {
    if (rt_ != nullptr) take_down();
  }

  // ---- beginning and end
  status start(const runtime_config& settings, event_sink sink) override;

  void take_down() override;

  // ---- regions
  status open_region(ref where, const region_order& order, made& out) override {
    asx_region_spec spec = ASX_REGION_SPEC_INIT;
    spec.budget = plain(order.limits);
    spec.max_tasks = order.max_tasks;
    spec.is_held = order.is_held;
    spec.ends_when_empty = order.ends_when_empty;
    spec.fails_fast = order.fails_fast;
    if (order.owner != no_ref) spec.owner = at(tasks_, order.owner);
    asx_region_handle region{};
    if (const asx_status s = asx_region_create(rt_, at(regions_, where), &spec, &region); s != ASX_OK) return in(s);
    asx_region_report report{};
    report.size = sizeof report;
    static_cast<void>(asx_region_inspect(rt_, region, &report));
    out = {static_cast<ref>(regions_.size()), report.id};
    regions_.push_back(region);
    return status::ok;
  }
  status close(ref region, const request& why) override {
    return in(asx_region_close(rt_, at(regions_, region), kind_of(why), text_of(why).c_str()));
  }
  status begin_close(ref region, const request& why) override {
    return in(asx_region_begin_close(rt_, at(regions_, region), kind_of(why), text_of(why).c_str()));
  }
  status begin_drain(ref region) override { return in(asx_region_begin_drain(rt_, at(regions_, region))); }
  status begin_finalize(ref region) override { return in(asx_region_begin_finalize(rt_, at(regions_, region))); }
  status finish_close(ref region) override { return in(asx_region_finish_close(rt_, at(regions_, region))); }
  status add_finalizer(ref region, status (*run)(void* context), void* context, bool in_turn) override {
    actions_.push_back({run, context});
    return in(asx_region_add_finalizer(
        rt_, at(regions_, region),
        [](void* a, asx_runtime*, asx_region_handle) {
          const auto& f = *static_cast<const action*>(a);
          return static_cast<asx_status>(f.run(f.context));
        },
        &actions_.back(), in_turn));
  }
  status arena(ref region, std::uint64_t bytes, std::uint64_t alignment) override {
    void* memory = nullptr;
    return in(asx_region_arena(rt_, at(regions_, region), bytes, alignment, &memory));
  }
  status release_region(ref region) override { return in(asx_region_release(rt_, at(regions_, region))); }
  status look_at_region(ref region, region_look& out) override {
    asx_region_report r{};
    r.size = sizeof r;
    if (const asx_status s = asx_region_inspect(rt_, at(regions_, region), &r); s != ASX_OK) return in(s);
    out = {static_cast<region_state>(r.state),           r.live_tasks, r.live_regions, r.reserved, r.leaked,
           r.has_reason ? copy(r.reason) : full_reason{}};
    return status::ok;
  }
  status region_outcome(ref region, full_outcome& out) override {
    asx_outcome o{};
    if (const asx_status s = asx_region_outcome(rt_, at(regions_, region), &o); s != ASX_OK) return in(s);
    out = copy(o);
    return status::ok;
  }

  // ---- tasks
  status spawn(ref region, const task_order& order, made& out) override {
    auto f = std::make_unique<frame>(frame{this, order});
    const asx_task_spec spec = spec_of(*f);
    asx_task_handle task{};
    if (const asx_status s = asx_task_spawn(rt_, at(regions_, region), &spec, &task); s != ASX_OK) return in(s);
    static_cast<void>(f.release());  // Its drop frees it.
    add_task(task, out);
    return status::ok;
  }
  status reserve_task(ref region, ref& slot) override {
    asx_task_slot made{};
    if (const asx_status s = asx_task_reserve(rt_, at(regions_, region), &made); s != ASX_OK) return in(s);
    slot = static_cast<ref>(slots_.size());
    slots_.push_back(made);
    return status::ok;
  }
  status commit_task(ref slot, const task_order& order, made& out) override {
    auto f = std::make_unique<frame>(frame{this, order});
    const asx_task_spec spec = spec_of(*f);
    asx_task_handle task{};
    const asx_status s = asx_task_commit(rt_, at(slots_, slot), &spec, &task);
    if (s != ASX_OK) return s == ASX_E_STALE_HANDLE ? status::invalid_argument : in(s);
    static_cast<void>(f.release());
    add_task(task, out);
    return status::ok;
  }
  status abandon_task(ref slot) override {
    const asx_status s = asx_task_abandon(rt_, at(slots_, slot));
    return s == ASX_E_STALE_HANDLE ? status::invalid_argument : in(s);
  }
  status cancel(ref task, const request& why, bool& newly) override {
    return in(asx_task_request_cancel(rt_, at(tasks_, task), kind_of(why), text_of(why).c_str(), &newly));
  }
  status complete(ref task, const full_outcome& result) override {
    asx_outcome o{};
    o.kind = static_cast<asx_outcome_kind>(result.kind);
    o.has_value = result.value.has_value();
    o.value = result.value.value_or(0);
    if (result.kind == outcome_kind::err) {
      o.error = static_cast<asx_status>(result.failure.code);
      o.detail = result.failure.detail;
    } else if (result.kind == outcome_kind::cancelled) {
      o.error = static_cast<asx_status>(result.cleanup_error);
      o.overran = result.overran;
      o.reason.levels = 1;
      if (!result.reason.empty()) {
        o.reason.kind = static_cast<asx_cancel_kind>(result.reason[0].kind);
        o.reason.timestamp = result.reason[0].at.ns;
        const std::string& text = texts_.emplace_back(result.reason[0].message);
        o.reason.message = {text.data(), text.size()};
      }
    }
    o.panic = {result.panic.data(), result.panic.size()};
    return in(asx_task_complete(rt_, at(tasks_, task), &o));
  }
  status wake(ref task) override { return in(asx_task_wake(rt_, at(tasks_, task))); }
  status release_task(ref task) override { return in(asx_task_release(rt_, at(tasks_, task))); }
  status look_at_task(ref task, task_look& out) override {
    asx_task_report r{};
    r.size = sizeof r;
    if (const asx_status s = asx_task_inspect(rt_, at(tasks_, task), &r); s != ASX_OK) return in(s);
    out.state = static_cast<task_state>(r.state);
    if (r.lane != ASX_LANE_NONE) out.queued_in = static_cast<lane>(r.lane);
    out.polls = r.polls;
    out.epoch = r.epoch;
    out.phase = static_cast<cancel_phase>(r.phase);
    if (r.epoch != 0) out.reason = copy(r.reason);
    out.cleanup_polls_left = r.cleanup_polls_left;
    out.mask_depth = r.mask_depth;
    out.left = {{r.left.deadline}, r.left.poll_quota, r.left.cost_quota, r.left.priority};
    return status::ok;
  }
  status task_outcome(ref task, full_outcome& out) override {
    asx_outcome o{};
    if (const asx_status s = asx_task_outcome(rt_, at(tasks_, task), &o); s != ASX_OK) return in(s);
    out = copy(o);
    return status::ok;
  }
  status witness(ref task, full_witness& out) override {
    asx_cancel_witness w{};
    if (const asx_status s = asx_task_witness(rt_, at(tasks_, task), &w); s != ASX_OK) return in(s);
    out = {task_id{w.task}, region_id{w.region}, w.epoch, static_cast<cancel_phase>(w.phase),
           static_cast<cancel_kind>(w.reason.kind)};
    return status::ok;
  }

  // ---- obligations and timers
  status reserve_obligation(ref region, made& out) override {
    asx_obligation_handle o{};
    if (const asx_status s = asx_obligation_reserve(rt_, at(regions_, region), &o); s != ASX_OK) return in(s);
    out = {static_cast<ref>(obligations_.size()), last_subject(event_kind::obligation_reserved)};
    obligations_.push_back(o);
    return status::ok;
  }
  status commit(ref obligation) override { return in(asx_obligation_commit(rt_, at(obligations_, obligation))); }
  status abort(ref obligation) override { return in(asx_obligation_abort(rt_, at(obligations_, obligation))); }
  status look_at_obligation(ref obligation, obligation_state& out) override {
    asx_obligation_state s{};
    const asx_status said = asx_obligation_inspect(rt_, at(obligations_, obligation), &s);
    if (said == ASX_OK) out = static_cast<obligation_state>(s);
    return in(said);
  }
  status add_timer(ref region, instant when, made& out) override {
    asx_timer_handle t{};
    if (const asx_status s = asx_region_add_timer(rt_, at(regions_, region), when.ns, &t); s != ASX_OK) return in(s);
    out = {static_cast<ref>(timers_.size()), last_subject(event_kind::timer_registered)};
    timers_.push_back(t);
    return status::ok;
  }
  bool cancel_timer(ref timer) override {
    bool was_live = false;
    return asx_region_cancel_timer(rt_, at(timers_, timer), &was_live) == ASX_OK && was_live;
  }

  // ---- channels
  status channel(ref region, std::uint64_t capacity, made& channel, ref& sender, ref& receiver) override {
    const auto slots = static_cast<std::uint32_t>(capacity < UINT32_MAX ? capacity : UINT32_MAX);
    asx_channel_sender tx{};
    asx_channel_receiver rx{};
    const asx_status s = asx_channel_create(rt_, at(regions_, region), slots, &destroy_message, &tx, &rx);
    if (s != ASX_OK) return in(s);
    asx_channel_report report{};
    report.size = sizeof report;
    static_cast<void>(asx_channel_inspect_sender(&tx, &report));
    channel = {static_cast<ref>(channels_.size()), report.id};
    channels_.emplace_back();
    static_cast<void>(asx_channel_of(&tx, &channels_.back()));
    sender = static_cast<ref>(senders_.size());
    receiver = static_cast<ref>(receivers_.size());
    senders_.push_back({tx, false});
    receivers_.push_back(rx);
    return status::ok;
  }
  status clone(ref sender, ref& out) override {
    if (sender >= senders_.size()) return status::stale_handle;
    sender_end copy{{}, senders_[sender].is_tracked};
    if (const asx_status s = asx_channel_clone(&senders_[sender].end, &copy.end); s != ASX_OK) return in(s);
    out = static_cast<ref>(senders_.size());
    senders_.push_back(copy);
    return status::ok;
  }
  status track(ref sender, ref& out) override {
    if (sender >= senders_.size() || senders_[sender].is_tracked || senders_[sender].end.word == 0) {
      return status::stale_handle;
    }
    out = static_cast<ref>(senders_.size());
    senders_.push_back({senders_[sender].end, true});
    senders_[sender].end = {rt_, 0, 0};
    return status::ok;
  }
  void drop_sender(ref sender) override {
    if (sender >= senders_.size()) return;
    static_cast<void>(asx_channel_drop_sender(&senders_[sender].end));
    senders_[sender].end = {rt_, 0, 0};
  }
  void drop_receiver(ref receiver) override {
    if (receiver < receivers_.size()) static_cast<void>(asx_channel_drop_receiver(&receivers_[receiver]));
  }
  void drop_permit(ref permit) override {
    if (!is_held(permit)) return;
    permit_end p = permits_[permit];
    if (p.is_tracked) {
      static_cast<void>(asx_tracked_drop(&p.permit));
    } else {
      asx_send_permit_abort(&p.permit.permit);
    }
    if (permit < permits_.size()) permits_[permit] = p;
  }
  status try_reserve(ref sender, ref region, ref& permit) override {
    if (sender >= senders_.size()) return status::stale_handle;
    permit_end out{{}, senders_[sender].is_tracked};
    asx_channel_sender tx = senders_[sender].end;
    const asx_region_handle where = at(regions_, region);
    const asx_status s = out.is_tracked ? asx_tracked_try_reserve(&tx, region == no_ref ? nullptr : &where, &out.permit)
                                        : asx_channel_try_reserve(&tx, &out.permit.permit);
    if (s == ASX_OK) permit = keep(out);
    return in(s);
  }
  status send(ref permit, std::uint64_t value, bool& proved) override {
    proved = false;
    if (permit >= permits_.size()) return status::stale_handle;
    permit_end& p = permits_[permit];
    auto* const m = new message{value, &destroyed_};
    const asx_status s =
        p.is_tracked ? asx_tracked_send(&p.permit, m, nullptr) : asx_send_permit_send(&p.permit.permit, m);
    if (s != ASX_OK) delete m;
    proved = p.is_tracked && s == ASX_OK;
    return in(s);
  }
  void abort_permit(ref permit, bool& proved) override {
    proved = false;
    if (permit >= permits_.size()) return;
    permit_end& p = permits_[permit];
    if (p.is_tracked) {
      proved = asx_tracked_abort(&p.permit, nullptr) == ASX_OK;
    } else {
      asx_send_permit_abort(&p.permit.permit);
    }
  }
  status try_send(ref sender, std::uint64_t value) override {
    if (sender >= senders_.size()) return status::stale_handle;
    if (senders_[sender].is_tracked) return status::invalid_argument;
    auto* const m = new message{value, &destroyed_};
    const asx_status s = asx_channel_try_send(&senders_[sender].end, m);
    if (s != ASX_OK) delete m;
    return in(s);
  }
  status send_evicting(ref sender, std::uint64_t value, std::optional<std::uint64_t>& evicted) override {
    evicted.reset();
    if (sender >= senders_.size()) return status::stale_handle;
    if (senders_[sender].is_tracked) return status::invalid_argument;
    auto* const m = new message{value, &destroyed_};
    bool evicts = false;
    void* oldest = nullptr;
    const asx_status s = asx_channel_send_evicting(&senders_[sender].end, m, &evicts, &oldest);
    if (s != ASX_OK) delete m;
    if (s == ASX_OK && evicts) evicted = take_message(oldest);
    return in(s);
  }
  status try_recv(ref receiver, std::uint64_t& value) override {
    if (receiver >= receivers_.size()) return status::stale_handle;
    void* m = nullptr;
    const asx_status s = asx_channel_try_recv(&receivers_[receiver], &m);
    if (s == ASX_OK) value = take_message(m);
    return in(s);
  }
  void stop_recv(ref receiver) override {
    if (receiver < receivers_.size()) static_cast<void>(asx_channel_stop_receiving(&receivers_[receiver], polled_));
  }
  bool is_held(ref permit) override {
    if (permit >= permits_.size()) return false;
    const permit_end& p = permits_[permit];
    return p.is_tracked ? asx_tracked_is_held(&p.permit) : asx_send_permit_is_held(&p.permit.permit);
  }
  status look_at_channel(ref channel, channel_look& out) override {
    asx_channel_report r{};
    r.size = sizeof r;
    if (channel >= channels_.size()) return status::stale_handle;
    if (const asx_status s = asx_channel_inspect(rt_, channels_[channel], &r); s != ASX_OK) return in(s);
    out = {static_cast<channel_state>(r.state),
           r.capacity,
           r.queued,
           r.reserved,
           r.waiters,
           r.senders,
           r.is_receiver_waiting,
           {r.count_reserved, r.count_sent, r.count_aborted, r.count_received, r.count_evicted, r.count_discarded}};
    return status::ok;
  }
  const std::vector<std::uint64_t>& destroyed() const override { return destroyed_; }

  void give_up(ref wait) override {
    if (wait >= waits_.size()) return;
    const wait_place w = std::exchange(waits_[wait], {});
    switch (w.what) {
      case waiting::nothing: break;
      case waiting::reserve: {
        asx_channel_sender tx = w.tx;
        static_cast<void>(asx_channel_stop_reserving(&tx, w.cx));
        break;
      }
      case waiting::sleep: static_cast<void>(asx_sleep_stop(w.cx)); break;
      case waiting::join: static_cast<void>(asx_task_stop_joining(w.cx, w.task)); break;
      case waiting::closed: static_cast<void>(asx_region_stop_awaiting(w.cx, w.region)); break;
    }
  }

  // ---- the whole
  void hold() override { static_cast<void>(asx_runtime_hold(rt_)); }
  status unhold() override { return in(asx_runtime_unhold(rt_)); }
  status begin_shutdown(const request& why) override {
    return in(asx_runtime_begin_shutdown(rt_, kind_of(why), text_of(why).c_str()));
  }
  void set_governor(governor to) override {
    static_cast<void>(asx_runtime_set_governor(rt_, static_cast<asx_governor>(to)));
  }
  status advance(duration by) override { return in(asx_runtime_advance(rt_, by.ns)); }
  step_look step(std::optional<std::uint32_t> worker) override {
    asx_step_report r{};
    r.size = sizeof r;
    const asx_status s = worker ? asx_runtime_step_worker(rt_, *worker, &r) : asx_runtime_step(rt_, &r);
    if (s != ASX_OK) return {in(s), true, dispatch_source::ready, {}};
    return {status::ok, r.is_idle, static_cast<dispatch_source>(r.from), task_id{r.task}};
  }
  run_look run_until_idle(std::uint64_t max_steps) override {
    asx_run_report r{};
    r.size = sizeof r;
    const asx_status s = asx_runtime_run_until_idle(rt_, max_steps, &r);
    return {in(s), r.steps};
  }
  run_look run_until_quiescent(std::uint64_t max_steps) override {
    asx_run_report r{};
    r.size = sizeof r;
    const asx_status s = asx_runtime_run_until_quiescent(rt_, max_steps, &r);
    return {in(s), r.steps};
  }
  quiescence_look shutdown(duration grace, std::uint64_t max_steps) override {
    asx_quiescence_report r{};
    r.size = sizeof r;
    static_cast<void>(asx_runtime_shutdown(rt_, grace.ns, max_steps, &r));
    return list(r);
  }
  quiescence_look quiescence() override {
    asx_quiescence_report r{};
    r.size = sizeof r;
    static_cast<void>(asx_runtime_check_quiescence(rt_, &r));
    return list(r);
  }
  fairness_certificate certificate() override {
    asx_fairness_certificate c{};
    c.size = sizeof c;
    static_cast<void>(asx_runtime_certificate(rt_, &c));
    return {c.cancel_dispatches,           c.timed_dispatches,       c.ready_dispatches,
            c.fallback_cancel_dispatches,  c.base_limit_exceedances, c.effective_limit_exceedances,
            c.max_effective_limit_observed};
  }
  void reset_certificate() override { static_cast<void>(asx_runtime_reset_certificate(rt_)); }
  runtime_look look() override {
    asx_runtime_report r{};
    r.size = sizeof r;
    static_cast<void>(asx_runtime_inspect(rt_, &r));
    return {{r.now},
            r.live_tasks,
            r.live_regions,
            r.live_timers,
            fatal_calls_,
            r.violations,
            static_cast<governor>(r.governor)};
  }
  std::uint64_t state_hash() override {
    std::uint64_t out = 0;
    static_cast<void>(asx_runtime_state_hash(rt_, &out));
    return out;
  }

  void settle_journal() override { static_cast<void>(asx_journal_settle(rt_)); }
  digest128 digest() override {
    asx_digest d{};
    static_cast<void>(asx_journal_digest(rt_, &d));
    return {d.high, d.low};
  }
  void note_law(std::uint64_t number, status answer, std::uint64_t hash) override {
    static_cast<void>(asx_journal_note_law(rt_, number, static_cast<asx_status>(answer), hash));
  }

 private:
  friend class c_face;
  struct frame {
    c_world* home;
    task_order order;
  };
  struct action {
    status (*run)(void* context);
    void* context;
  };
  struct sender_end {
    asx_channel_sender end;
    bool is_tracked;
  };
  struct permit_end {
    asx_tracked_permit permit;  // Of a plain one, its first part.
    bool is_tracked;
  };
  enum class waiting : std::uint8_t { nothing, reserve, sleep, join, closed };
  struct wait_place {
    waiting what = waiting::nothing;
    asx_cx* cx = nullptr;
    asx_channel_sender tx{};
    asx_task_handle task{};
    asx_region_handle region{};
  };

  template <class T>
  static T at(const std::vector<T>& from, ref r) {
    return r < from.size() ? from[r] : T{};
  }
  static asx_cancel_kind kind_of(const request& why) { return static_cast<asx_cancel_kind>(why.kind); }
  static std::string text_of(const request& why) { return std::string(why.message); }

  static asx_poll_result poll(void* self, asx_cx* cx);
  static asx_task_spec spec_of(frame& f) {
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = &c_world::poll;
    spec.context = &f;
    spec.drop = [](void* self) {
      auto* const gone = static_cast<frame*>(self);
      gone->order.drop(gone->order.script);
      delete gone;
    };
    spec.budget = plain(f.order.limits);
    spec.priority = f.order.priority;
    spec.is_held = f.order.is_held;
    return spec;
  }
  void add_task(asx_task_handle task, made& out) {
    asx_task_report report{};
    report.size = sizeof report;
    static_cast<void>(asx_task_inspect(rt_, task, &report));
    out = {static_cast<ref>(tasks_.size()), report.id};
    tasks_.push_back(task);
  }
  ref keep(const permit_end& permit) {
    permits_.push_back(permit);
    return static_cast<ref>(permits_.size() - 1);
  }
  full_reason copy(const asx_cancel_reason& head) {
    full_reason out;
    for (std::uint32_t i = 0; i < head.levels; ++i) {
      asx_cancel_reason r{};
      if (asx_cancel_reason_level(rt_, &head, i, &r) != ASX_OK) break;
      out.push_back({static_cast<cancel_kind>(r.kind),
                     std::string(r.message.data, r.message.size),
                     {r.timestamp},
                     region_id{r.origin_region},
                     task_id{r.origin_task},
                     r.levels,
                     r.truncated});
    }
    return out;
  }
  full_outcome copy(const asx_outcome& from) {
    full_outcome out;
    out.kind = static_cast<outcome_kind>(from.kind);
    if (from.has_value) out.value = from.value;
    if (from.kind == ASX_OUTCOME_ERR) out.failure = {in(from.error), from.detail};
    if (from.kind == ASX_OUTCOME_CANCELLED) {
      out.reason = copy(from.reason);
      out.overran = from.overran;
      out.cleanup_error = in(from.error);
    }
    if (from.kind == ASX_OUTCOME_PANICKED) out.panic = std::string(from.panic.data, from.panic.size);
    return out;
  }
  // Their numbers are in the journal and nowhere else. Diagnostics may stand behind the event.
  std::uint64_t last_subject(event_kind kind) {
    std::uint64_t size = 0;
    static_cast<void>(asx_journal_size(rt_, &size));
    asx_event tail[16];
    std::size_t count = 0;
    const std::uint64_t from = size > 16 ? size - 16 : 0;
    static_cast<void>(asx_journal_read(rt_, from, tail, 16, &count));
    for (; count != 0; --count) {
      if (tail[count - 1].kind == static_cast<std::uint16_t>(kind)) return tail[count - 1].subject;
    }
    return 0;
  }

  asx_runtime* rt_ = nullptr;
  asx_cx* polled_ = nullptr;
  event_sink sink_{};
  std::uint64_t fatal_calls_ = 0;
  std::vector<std::uint64_t> destroyed_;
  std::vector<asx_region_handle> regions_;
  std::vector<asx_task_handle> tasks_;
  std::vector<asx_task_slot> slots_;
  std::vector<asx_obligation_handle> obligations_;
  std::vector<asx_timer_handle> timers_;
  std::vector<asx_channel_handle> channels_;
  std::vector<sender_end> senders_;
  std::vector<asx_channel_receiver> receivers_;
  std::vector<permit_end> permits_;
  std::vector<wait_place> waits_;
  std::vector<asx_cleanup_handle> cleanups_;
  std::deque<action> actions_;
  std::deque<std::string> texts_;
};

}  // namespace asx::scenario::detail
