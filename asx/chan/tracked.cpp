#include "asx/chan/tracked.hpp"

#include <exception>

namespace asx {

namespace {

int exceptions_in_flight() noexcept {
#if defined(__cpp_exceptions)
  return std::uncaught_exceptions();
#else
  return 0;
#endif
}

}  // namespace

void tracked_core::take(permit_core& permit, const std::source_location& site) noexcept {
  if (permit_.number_ != 0) drop();
  obligation_ = permit.slot_->obligation;
  site_ = site;
  exceptions_ = exceptions_in_flight();
  permit_ = std::move(permit);
}

status tracked_core::of(kernel& k, const permit_name& name, obligation_handle obligation, tracked_core& out) noexcept {
  permit_core named = permit_core::of(k, name);
  if (named.held_in() != nullptr) {
    // Only with the obligation that the permit was made with: another one is not its to resolve.
    const bool is_tracked = named.is_tracked();
    if (!is_tracked || !(named.slot_->obligation == obligation)) {
      named.number_ = 0;  // It is held by whoever has it, and not given up here.
      return is_tracked ? status::stale_handle : status::invalid_argument;
    }
  }
  out.permit_ = std::move(named);
  out.obligation_ = obligation;
  out.site_ = {};
  out.exceptions_ = exceptions_in_flight();
  return status::ok;
}

tracked_core& tracked_core::operator=(tracked_core&& other) noexcept {
  if (this != &other) {
    if (permit_.number_ != 0) drop();
    permit_ = std::move(other.permit_);
    obligation_ = other.obligation_;
    site_ = other.site_;
    exceptions_ = other.exceptions_;
  }
  return *this;
}

status tracked_core::poll_reserve(sender_core& from, cx& c, reserve_wait& w, tracked_core& out,
                                  const std::source_location& site) noexcept {
  const inside in(from.gate());
  channel_core* const core = from.get();
  const tracked_order promise{c.region(), site};
  if (core == nullptr) return from.poll_gone(c, w, &promise.region);
  permit_core permit;
  const status s = core->poll_reserve(from, c, w, permit, &promise);
  if (s == status::ok) out.take(permit, site);
  return s;
}

status tracked_core::poll_reserve_now(sender_core& from, cx& c, std::uint32_t limit, tracked_core& out,
                                      const std::source_location& site) noexcept {
  channel_core* const core = from.get();
  const tracked_order promise{c.region(), site};
  reserve_wait nowhere;
  if (core == nullptr) return from.poll_gone(c, nowhere, &promise.region);
  permit_core permit;
  const status s = core->poll_reserve_now(from, c, permit, limit, &promise);
  if (s == status::ok) out.take(permit, site);
  return s;
}

status tracked_core::try_reserve(sender_core& from, region_handle region, tracked_core& out,
                                 const std::source_location& site) noexcept {
  const inside in(from.gate());
  channel_core* const core = from.get();
  if (core == nullptr) return from.try_gone(region);
  const tracked_order promise{region, site};
  permit_core permit;
  const status s = core->try_reserve(permit, &promise);
  if (s == status::ok) out.take(permit, site);
  return s;
}

std::optional<region_handle> tracked_core::region_of_caller(const sender_core& from) noexcept {
  const kernel* const k = from.home();
  if (k == nullptr) return std::nullopt;
  const auto* const t = extension::polled(*k);
  if (t == nullptr) return std::nullopt;
  return extension::region_of(*t);
}

// A host's may be swept; anybody's may be resolved by its handle, past the permit.
status tracked_core::state_of_promise(const channel_core& c) const noexcept {
  obligation_state state = obligation_state::reserved;
  if (c.home.inspect(obligation_, state) != status::ok) return status::obligation_leaked;
  switch (state) {
    case obligation_state::reserved: return status::ok;
    case obligation_state::leaked: return status::obligation_leaked;
    default: return status::obligation_already_resolved;
  }
}

status tracked_core::admit_send() const noexcept {
  const inside in(permit_.gate());
  const channel_core* const c = permit_.held_in();
  if (c == nullptr) return permit_.refusal();
  if (const status s = state_of_promise(*c); s != status::ok) return s;
  return c->has_receiver() ? status::ok : status::disconnected;
}

void tracked_core::give_up(status why) noexcept {
  const inside in(permit_.gate());
  channel_core* const c = permit_.held_in();
  if (c == nullptr) {
    static_cast<void>(permit_.refuse_again());
    return;
  }
  kernel& k = c->home;
  const bool is_owed = why == status::disconnected;
  c->give_up(permit_, is_owed ? event_kind::permit_disconnected : event_kind::permit_aborted);
  if (is_owed) static_cast<void>(k.abort(obligation_));
}

committed_proof tracked_core::commit() noexcept {
  const inside in(permit_.gate());
  channel_core& c = *permit_.held_in();
  kernel& k = c.home;
  const committed_proof proof(c.id(), permit_.number_);
  c.commit(permit_);
  static_cast<void>(k.commit(obligation_));
  return proof;
}

std::optional<aborted_proof> tracked_core::abort() noexcept {
  const inside in(permit_.gate());
  channel_core* const c = permit_.held_in();
  if (c == nullptr) {
    static_cast<void>(permit_.refuse_again());
    return std::nullopt;
  }
  kernel& k = c->home;
  const aborted_proof proof(c->id(), permit_.number_);
  c->give_up(permit_, event_kind::permit_aborted);
  if (k.abort(obligation_) != status::ok) return std::nullopt;  // A host's, whose region has swept it.
  return proof;
}

// who is cancelled or panics has not forgotten.
void tracked_core::drop() noexcept {
  const inside in(permit_.gate());
  channel_core* const c = permit_.held_in();
  if (c == nullptr) {
    permit_.number_ = 0;
    return;
  }
  kernel& k = c->home;
  const auto* const t = extension::polled(k);
  if (exceptions_in_flight() > exceptions_ || (t != nullptr && extension::is_giving_up(*t))) {
    static_cast<void>(abort());
    return;
  }
  if (state_of_promise(*c) == status::obligation_already_resolved) {  // Nothing is owed any more.
    c->give_up(permit_, event_kind::permit_aborted);
    return;
  }
  c->give_up(permit_, event_kind::permit_dropped);
  k.panic(tracked_leak_message, site_);
}

}  // namespace asx
