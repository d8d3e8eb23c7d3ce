// How a runtime is made, and how a scripted task is polled, through asx.h.
#include "asx/capi/testing/world_c.hpp"

#include "asx/capi/detail/state.hpp"
#include "asx/capi/testing/c_world.hpp"

namespace asx::scenario::detail {

namespace {

// A receiver that moves to another task takes the wait with it. C has no moves, and refuses a second task while
// one waits; here the first one's wait is given up in its name.
void end_wait_of_another(const asx_channel_receiver& rx, const asx_cx& by) {
  const slab_key key = capi::key_of(rx.word, rx.generation, type_tag::channel, capi::receiver_mask);
  const capi::receiver_cell* const cell = rx.runtime->receivers.find(key);
  channel_core* const c = cell == nullptr ? nullptr : cell->end.get();
  if (c != nullptr && c->receiving() != &extension::task_of(*by.current)) c->stop_waiting();
}

}  // namespace

class c_face final : public poll_face {
 public:
  c_face(c_world& home, asx_cx* cx) noexcept : home_(home), cx_(cx) {}

  status checkpoint() override { return in(asx_checkpoint(cx_)); }
  bool is_cancelled() override { return asx_is_cancelled(cx_); }
  void yield() override { static_cast<void>(asx_cx_yield(cx_)); }
  void take_waker() override { static_cast<void>(asx_cx_waker(cx_, nullptr)); }
  status consume(std::uint64_t cost) override { return in(asx_cx_consume(cx_, cost)); }
  status mask() override { return in(asx_cx_mask(cx_)); }
  void unmask() override { static_cast<void>(asx_cx_unmask(cx_)); }
  void set_value(std::uint64_t value) override { static_cast<void>(asx_cx_set_value(cx_, value)); }
  void set_error(status code, std::uint64_t detail) override {
    static_cast<void>(asx_cx_set_error(cx_, static_cast<asx_status>(code), detail));
  }
  void panic(std::string_view text) override { static_cast<void>(asx_cx_panic(cx_, std::string(text).c_str())); }
  status push_cleanup(status (*undo)(void* context), void* context, ref& out) override {
    home_.actions_.push_back({undo, context});
    asx_cleanup_handle pushed{};
    const asx_status s = asx_cx_push_cleanup(
        cx_,
        [](void* a) {
          const auto& f = *static_cast<const c_world::action*>(a);
          return static_cast<asx_status>(f.run(f.context));
        },
        &home_.actions_.back(), &pushed);
    if (s != ASX_OK) return in(s);
    out = static_cast<ref>(home_.cleanups_.size());
    home_.cleanups_.push_back(pushed);
    return status::ok;
  }
  status pop_cleanup(ref cleanup) override {
    return in(asx_cx_pop_cleanup(cx_, c_world::at(home_.cleanups_, cleanup)));
  }

  status reserve(ref sender, ref& wait, ref& permit) override {
    if (sender >= home_.senders_.size()) return status::stale_handle;
    asx_channel_sender tx = home_.senders_[sender].end;
    c_world::permit_end out{{}, home_.senders_[sender].is_tracked};
    const asx_status s =
        out.is_tracked ? asx_tracked_reserve(&tx, cx_, &out.permit) : asx_channel_reserve(&tx, cx_, &out.permit.permit);
    if (s == ASX_OK) permit = home_.keep(out);
    return over(wait, s, {c_world::waiting::reserve, cx_, tx, {}, {}});
  }
  status recv(ref receiver, std::uint64_t& value) override {
    if (receiver >= home_.receivers_.size()) return status::stale_handle;
    void* m = nullptr;
    asx_channel_receiver rx = home_.receivers_[receiver];
    end_wait_of_another(rx, *cx_);
    const asx_status s = asx_channel_recv(&rx, cx_, &m);
    if (s == ASX_OK) value = take_message(m);
    return in(s);
  }
  status sleep(instant until, ref& wait) override {
    return over(wait, asx_sleep_until(cx_, until.ns), {c_world::waiting::sleep, cx_, {}, {}, {}});
  }
  status join(ref task, ref& wait) override {
    const asx_task_handle t = c_world::at(home_.tasks_, task);
    return over(wait, asx_task_join(cx_, t, nullptr), {c_world::waiting::join, cx_, {}, t, {}});
  }
  status await_closed(ref region, ref& wait) override {
    const asx_region_handle r = c_world::at(home_.regions_, region);
    return over(wait, asx_region_await_closed(cx_, r), {c_world::waiting::closed, cx_, {}, {}, r});
  }

 private:
  status over(ref& wait, asx_status s, const c_world::wait_place& place) {
    if (s != ASX_E_WOULD_BLOCK) {
      if (wait < home_.waits_.size()) home_.waits_[wait] = {};
      wait = no_ref;
      return in(s);
    }
    if (wait == no_ref) {
      wait = static_cast<ref>(home_.waits_.size());
      home_.waits_.emplace_back();
    }
    home_.waits_[wait] = place;
    return status::would_block;
  }

  c_world& home_;
  asx_cx* cx_;
};

status c_world::start(const runtime_config& settings, event_sink sink) {
  asx_runtime_config c;
  if (const asx_status s = asx_runtime_config_init(&c, sizeof c, ASX_PROFILE_CORE); s != ASX_OK) return in(s);
  capi::copy_limits(settings.contract, c.contract);
  c.contract.max_senders = c.contract.max_waits = 4096;
  c.seed = settings.seed;
  c.workers = settings.workers;
  c.order = static_cast<asx_worker_order>(settings.order);
  c.cancel_streak_limit = settings.cancel_streak_limit;
  c.timed_streak_limit = settings.timed_streak_limit;
  c.ready_tiebreak = static_cast<asx_tie_break>(settings.ready_tiebreak);
  c.leaks = static_cast<asx_leak_policy>(settings.behaviour.leaks);
  c.max_unobserved_cancel_polls = settings.behaviour.max_unobserved_cancel_polls;
  c.ghosts = static_cast<asx_ghost_mode>(settings.behaviour.ghosts);
  c.coalesce_window_ns = settings.coalesce_window.ns;
  sink_ = sink;
  c.sink = {this, [](void* self, const asx_event* events, std::size_t count) {
              const event_sink& s = static_cast<c_world*>(self)->sink_;
              if (s.take != nullptr) s.take(s.context, {reinterpret_cast<const event*>(events), count});
            }};
  c.panic = {this, [](void* self, const char*) { ++static_cast<c_world*>(self)->fatal_calls_; }};
  if (const asx_status s = asx_runtime_create(&c, &rt_); s != ASX_OK) return in(s);
  regions_.emplace_back();
  return in(asx_region_root(rt_, &regions_.back()));
}

void c_world::take_down() {
  for (permit_end& p : permits_) {
    if (p.is_tracked && asx_tracked_is_held(&p.permit)) static_cast<void>(asx_tracked_abort(&p.permit, nullptr));
    if (!p.is_tracked) asx_send_permit_abort(&p.permit.permit);
  }
  for (sender_end& s : senders_) static_cast<void>(asx_channel_drop_sender(&s.end));
  for (asx_channel_receiver& r : receivers_) static_cast<void>(asx_channel_drop_receiver(&r));
  for (const asx_obligation_handle o : obligations_) static_cast<void>(asx_obligation_abort(rt_, o));
  for (int i = 0; i < 4; ++i) {
    std::uint64_t size = 0;
    static_cast<void>(asx_journal_size(rt_, &size));
    static_cast<void>(asx_journal_discard(rt_, size));  // A trace that rejects must not stand in the way.
    if (asx_runtime_destroy(rt_) == ASX_OK) {
      rt_ = nullptr;
      return;
    }
    asx_outcome err{};
    err.kind = ASX_OUTCOME_ERR;
    err.error = ASX_E_CANCELLED;
    for (const asx_task_handle t : tasks_) static_cast<void>(asx_task_complete(rt_, t, &err));
  }
}

asx_poll_result c_world::poll(void* self, asx_cx* cx) {
  auto& f = *static_cast<frame*>(self);
  c_face face(*f.home, cx);
  f.home->polled_ = cx;
  switch (f.order.poll(f.order.script, face)) {
    case poll_answer::pending: return ASX_POLL_PENDING;
    case poll_answer::ready: return ASX_POLL_READY;
    case poll_answer::error: return ASX_POLL_ERROR;
  }
  return ASX_POLL_READY;
}

}  // namespace asx::scenario::detail

namespace asx::scenario {

std::unique_ptr<world> make_c_world() {
  return std::make_unique<detail::c_world>();
}

}  // namespace asx::scenario
