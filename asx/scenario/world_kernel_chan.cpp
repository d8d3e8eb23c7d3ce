// Channels, and what a script may do while it is polled.
#include "asx/scenario/detail/kernel_world.hpp"

namespace asx::scenario::detail {

namespace {

channel_look look_of(const channel_report& r) {
  return {
      r.state,
      r.capacity,
      r.queued,
      r.reserved,
      r.waiters,
      r.senders,
      r.is_receiver_waiting,
      {r.counts.reserved, r.counts.sent, r.counts.aborted, r.counts.received, r.counts.evicted, r.counts.discarded}};
}

}  // namespace

// ---- the ends ----------------------------------------------------------------------------------------------------

status kernel_world::channel(ref region, std::uint64_t capacity, made& channel, ref& sender, ref& receiver) {
  const auto slots = static_cast<std::uint32_t>(capacity < UINT32_MAX ? capacity : UINT32_MAX);
  auto [code, tx, rx] = asx::channel<message>(kernel(), region_at(region), slots);
  if (code != status::ok) return code;
  channel_core& core = *tx.core().get();
  channel = {static_cast<ref>(channels_.size()), core.id().value};
  sender = static_cast<ref>(senders_.size());
  receiver = static_cast<ref>(receivers_.size());
  channels_.emplace_back(core);
  senders_.push_back({std::move(tx), {}, false});
  receivers_.push_back(std::move(rx));
  return status::ok;
}

status kernel_world::clone(ref sender, ref& out) {
  if (sender >= senders_.size()) return status::stale_handle;
  const sender_end& from = senders_[sender];
  asx::sender<message> copy;
  const status s = from.is_tracked ? from.tracked.base().clone(copy) : from.plain.clone(copy);
  if (s != status::ok) return s;
  sender_end end;
  end.is_tracked = from.is_tracked;
  if (end.is_tracked) {
    end.tracked = tracked_sender<message>(std::move(copy));
  } else {
    end.plain = std::move(copy);
  }
  out = static_cast<ref>(senders_.size());
  senders_.push_back(std::move(end));
  return status::ok;
}

status kernel_world::track(ref sender, ref& out) {
  if (sender >= senders_.size() || !senders_[sender].plain.is_live()) return status::stale_handle;
  sender_end end;
  end.is_tracked = true;
  end.tracked = tracked_sender<message>(std::move(senders_[sender].plain));
  out = static_cast<ref>(senders_.size());
  senders_.push_back(std::move(end));
  return status::ok;
}

void kernel_world::drop_sender(ref sender) {
  if (sender >= senders_.size()) return;
  senders_[sender].plain.drop();
  senders_[sender].tracked.drop();
}

void kernel_world::drop_receiver(ref receiver) {
  if (receiver < receivers_.size()) receivers_[receiver].drop();
}

void kernel_world::drop_permit(ref permit) {
  if (permit >= permits_.size()) return;
  // What goes away is a local: the table is in order when its end calls back.
  const permit_end gone = std::move(permits_[permit]);
}

ref kernel_world::keep(permit_end permit) {
  if (permit.is_tracked) promised_.push_back(permit.tracked.obligation());
  permits_.push_back(std::move(permit));
  return static_cast<ref>(permits_.size() - 1);
}

status kernel_world::try_reserve(ref sender, ref region, ref& permit) {
  if (sender >= senders_.size()) return status::stale_handle;
  sender_end& from = senders_[sender];
  permit_end out;
  out.is_tracked = from.is_tracked;
  const status s = !from.is_tracked   ? from.plain.try_reserve(out.plain)
                   : region == no_ref ? from.tracked.try_reserve(out.tracked)
                                      : from.tracked.try_reserve(region_at(region), out.tracked);
  if (s == status::ok) permit = keep(std::move(out));
  return s;
}

status kernel_world::send(ref permit, std::uint64_t value, bool& proved) {
  proved = false;
  if (permit >= permits_.size()) return status::stale_handle;
  permit_end& p = permits_[permit];
  if (p.is_tracked) {
    tracked_result<message> sent = p.tracked.send(message(value, *this));
    if (sent.value) static_cast<void>(sent.value->take());
    proved = sent.proof.has_value();
    return sent.code;
  }
  send_result<message> sent = p.plain.send(message(value, *this));
  if (sent.value) static_cast<void>(sent.value->take());
  return sent.code;
}

void kernel_world::abort_permit(ref permit, bool& proved) {
  proved = false;
  if (permit >= permits_.size()) return;
  permit_end& p = permits_[permit];
  if (p.is_tracked) {
    proved = p.tracked.abort().has_value();
  } else {
    p.plain.abort();
  }
}

status kernel_world::try_send(ref sender, std::uint64_t value) {
  if (sender >= senders_.size()) return status::stale_handle;
  if (senders_[sender].is_tracked) return status::invalid_argument;
  send_result<message> sent = senders_[sender].plain.try_send(message(value, *this));
  if (sent.value) static_cast<void>(sent.value->take());
  return sent.code;
}

status kernel_world::send_evicting(ref sender, std::uint64_t value, std::optional<std::uint64_t>& evicted) {
  evicted.reset();
  if (sender >= senders_.size()) return status::stale_handle;
  if (senders_[sender].is_tracked) return status::invalid_argument;
  evict_result<message> sent = senders_[sender].plain.send_evict_oldest(message(value, *this));
  if (sent.value) static_cast<void>(sent.value->take());
  if (sent.evicted) evicted = sent.evicted->take();
  return sent.code;
}

status kernel_world::try_recv(ref receiver, std::uint64_t& value) {
  if (receiver >= receivers_.size()) return status::stale_handle;
  recv_result<message> got = receivers_[receiver].try_recv();
  if (got.value) value = got.value->take();
  return got.code;
}

void kernel_world::stop_recv(ref receiver) {
  if (receiver < receivers_.size()) receivers_[receiver].stop_waiting();
}

bool kernel_world::is_held(ref permit) {
  if (permit >= permits_.size()) return false;
  return permits_[permit].is_tracked ? permits_[permit].tracked.is_held() : permits_[permit].plain.is_held();
}

status kernel_world::look_at_channel(ref channel, channel_look& out) {
  if (channel >= channels_.size()) return status::stale_handle;
  const channel_core* const core = channels_[channel].get();
  if (core == nullptr) return channels_[channel].absence();
  channel_report report;
  core->inspect(report);
  out = look_of(report);
  return status::ok;
}

// ---- waits -------------------------------------------------------------------------------------------------------

ref kernel_world::take_wait() {
  if (free_waits_.empty()) {
    waits_.emplace_back();
    return static_cast<ref>(waits_.size() - 1);
  }
  const ref taken = free_waits_.back();
  free_waits_.pop_back();
  return taken;
}

void kernel_world::end_wait(ref& wait) {
  give_up(wait);
  wait = no_ref;
}

void kernel_world::give_up(ref wait) {
  if (wait >= waits_.size()) return;
  waits_[wait].reserving.reset();
  waits_[wait].sleeping.reset();
  waits_[wait].watching.reset();
  free_waits_.push_back(wait);
}

// ---- a poll ------------------------------------------------------------------------------------------------------

class kernel_face final : public poll_face {
 public:
  kernel_face(kernel_world& home, cx& c) noexcept : home_(home), c_(c) {}

  [[nodiscard]] status checkpoint() override { return c_.checkpoint(); }
  [[nodiscard]] bool is_cancelled() override { return c_.is_cancelled(); }
  void yield() override { c_.yield(); }
  void take_waker() override { static_cast<void>(c_.get_waker()); }
  [[nodiscard]] status consume(std::uint64_t cost) override { return c_.consume_cost(cost); }
  [[nodiscard]] status mask() override { return c_.mask_enter(); }
  void unmask() override { c_.mask_leave(); }
  void set_value(std::uint64_t value) override { c_.set_value(value); }
  void set_error(status code, std::uint64_t detail) override { c_.set_error(code, detail); }
  void panic(std::string_view text) override { c_.panic(text); }

  [[nodiscard]] status push_cleanup(status (*undo)(void* context), void* context, ref& out) override {
    cleanup_ref pushed;
    home_.actions_.push_back({&home_, undo, context});
    if (const status s = c_.push_cleanup(&kernel_world::act, &home_.actions_.back(), &pushed); s != status::ok)
      return s;
    out = static_cast<ref>(home_.cleanups_.size());
    home_.cleanups_.push_back(pushed);
    return status::ok;
  }
  [[nodiscard]] status pop_cleanup(ref cleanup) override {
    return c_.pop_cleanup(cleanup < home_.cleanups_.size() ? home_.cleanups_[cleanup] : cleanup_ref{});
  }

  [[nodiscard]] status reserve(ref sender, ref& wait, ref& permit) override {
    if (sender >= home_.senders_.size()) return status::stale_handle;
    sender_end& from = home_.senders_[sender];
    if (wait == no_ref) {
      wait = home_.take_wait();
      home_.waits_[wait].reserving.emplace();
    }
    reserve_wait& place = *home_.waits_[wait].reserving;
    permit_end out;
    out.is_tracked = from.is_tracked;
    const status s = from.is_tracked ? from.tracked.poll_reserve(c_, place, out.tracked)
                                     : from.plain.poll_reserve(c_, place, out.plain);
    if (s == status::ok) permit = home_.keep(std::move(out));
    if (s != status::would_block) home_.end_wait(wait);
    return s;
  }

  [[nodiscard]] status recv(ref receiver, std::uint64_t& value) override {
    if (receiver >= home_.receivers_.size()) return status::stale_handle;
    recv_result<message> got = home_.receivers_[receiver].poll_recv(c_);
    if (got.value) value = got.value->take();
    return got.code;
  }

  [[nodiscard]] status sleep(instant until, ref& wait) override {
    if (wait == no_ref) {
      wait = home_.take_wait();
      home_.waits_[wait].sleeping.emplace(until);
    }
    const status s = home_.waits_[wait].sleeping->poll(c_);
    if (s != status::would_block) home_.end_wait(wait);
    return s;
  }

  [[nodiscard]] status join(ref task, ref& wait) override {
    task_report there;
    const task_handle of = home_.task_at(task);
    const bool is_there = home_.kernel().inspect(of, there) == status::ok;
    return watch(wait, is_there, [&](waiter& w) { return home_.kernel().await_completed(of, c_, w); });
  }

  [[nodiscard]] status await_closed(ref region, ref& wait) override {
    region_report there;
    const region_handle of = home_.region_at(region);
    const bool is_there = home_.kernel().inspect(of, there) == status::ok;
    return watch(wait, is_there, [&](waiter& w) { return home_.kernel().await_closed(of, c_, w); });
  }

 private:
  // A cancel point says stale_handle first, then cancelled.
  template <class Ask>
  status watch(ref& wait, bool is_there, Ask ask) {
    if (wait == no_ref) {
      wait = home_.take_wait();
      home_.waits_[wait].watching.emplace();
    }
    status s = is_there ? c_.checkpoint() : status::ok;
    if (s == status::ok) s = ask(*home_.waits_[wait].watching);
    if (s != status::would_block) home_.end_wait(wait);
    return s;
  }

  kernel_world& home_;
  cx& c_;
};

poll_result kernel_world::poll(void* frame, cx& c) {
  auto& f = *static_cast<task_frame*>(frame);
  const inside here(f.home->kernel());
  kernel_face face(*f.home, c);
  switch (f.order.poll(f.order.script, face)) {
    case poll_answer::pending: return poll_result::pending;
    case poll_answer::ready: return poll_result::ready;
    case poll_answer::error: return poll_result::error;
  }
  return poll_result::ready;
}

}  // namespace asx::scenario::detail
