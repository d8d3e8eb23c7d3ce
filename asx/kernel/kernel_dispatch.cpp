// Tasks: lanes, and what a dispatch does.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "asx/kernel/kernel.hpp"

#if defined(__cpp_exceptions)
#include <exception>
#endif

namespace asx {

using detail::task_record;

namespace {

// Nothing but its own poll is the matter: no deadline, no end, no panic.
bool is_undisturbed(const task_record& t) noexcept {
  return t.left.deadline.is_none() && !t.has_panicked && !t.is_held_back && !t.is_ending && !t.is_leaving &&
         !t.is_polled;
}
// It runs besides, and was not asked to cancel.
bool is_plain(const task_record& t) noexcept {
  return t.state == task_state::running && is_undisturbed(t);
}
// It may be polled and nobody would hear of that: it runs, or will from now on, and its budget cannot end.
bool starts_plain(const task_record& t) noexcept {
  static_assert(task_state::created < task_state::running && static_cast<int>(task_state::running) == 1);
  return t.state <= task_state::running && is_undisturbed(t) && t.left.is_endless();
}

// Plain after its poll, which is over then.
template <bool IsAlone>
bool is_plain_after(task_record& t) noexcept {
  if constexpr (!IsAlone) {
    t.is_polled = false;
    if (is_plain(t)) return true;
    t.is_polled = true;
    return false;
  }
  return is_plain(t);
}

bool is_answering(task_state s) noexcept {
  return s == task_state::cancel_requested || s == task_state::cancelling || s == task_state::finalizing;
}

// Many are cancelled at once, and more of them than a cache holds: two dispatches ahead the record is asked for, one
// ahead what it polls.
void fetch_ahead(const scheduler::plain_turn::cancels_ahead& next) noexcept {
  if (next.second == nullptr) return;
  static_cast<const task_record*>(next.second)->fetch();
  // As a number: nobody knows how much lies there, and adding to the pointer itself would be a promise.
  const auto context = reinterpret_cast<std::uintptr_t>(static_cast<const task_record*>(next.first)->context);
  ASX_FETCH(reinterpret_cast<const void*>(context));       // NOLINT(performance-no-int-to-ptr)
  ASX_FETCH(reinterpret_cast<const void*>(context + 64));  // NOLINT(performance-no-int-to-ptr)
}

// A call, so that the other lanes, which are most of it, need no registers for a heap.
ASX_OUT_OF_THE_WAY void push_timed(scheduler& to, task_record& t) noexcept {
  to.push(t.home, t, lane::timed, t.left.priority, t.left.deadline);
}

std::uint64_t place_operand(const task_record& t, wake_code why) noexcept {
  return pack(place_code(static_cast<lane_code>(t.queued_in()), t.priority(), t.worker()),
              static_cast<std::uint64_t>(why));
}

}  // namespace

// ---- lanes --------------------------------------------------------------------------------------------------------

// One function says where a task belongs.
ASX_ALWAYS_INLINE void kernel::queue_up(task_record& t) noexcept {
  if (is_answering(t.state)) {
    tell_of(t.home);
    sched_.push_plain<lane::cancel>(t.home, t, t.cleanup_priority);
  } else if (!t.left.deadline.is_none()) {
    tell_of(t.home);
    push_timed(sched_, t);
  } else {
    tell_of(worker_);
    sched_.push_plain<lane::ready>(worker_, t, t.left.priority);
  }
}

void kernel::enqueue(task_record& t, wake_code why, std::uint64_t cause, std::uint64_t by) noexcept {
  if (log_.mode() == journal_mode::off) [[likely]]
    return queue_up(t);
  enqueue_and_tell(t, why, cause, by);
}

void kernel::enqueue_and_tell(task_record& t, wake_code why, std::uint64_t cause, std::uint64_t by) noexcept {
  queue_up(t);
  t.queued_by = note(event_kind::task_woken, t.task().value, by, place_operand(t, why), t.insertion_seq(), cause);
}

void kernel::wake(task_record& t, wake_code why, std::uint64_t cause) noexcept {
  if (is_plain(t) && &t != current_ && log_.mode() == journal_mode::off) [[likely]] {  // What enqueue would do.
    tell_of(worker_);
    sched_.push_plain<lane::ready>(worker_, t, t.left.priority);
  } else {
    wake_and_tell(t, why, cause);
  }
}

void kernel::wake_and_tell(task_record& t, wake_code why, std::uint64_t cause) noexcept {
  if (t.state == task_state::completed || t.is_held_back || t.is_ending) return;
  if (t.is_leaving && !t.owned_regions.empty()) return;
  if (&t == current_ || t.is_polled) {
    t.was_woken = true;
  } else if (!t.is_queued()) {
    enqueue(t, why, cause, caller());
  }
}

void kernel::wake(slab_key key) noexcept {
  const inside here(gate_);
  task_record* const t = tasks_.find(key);
  if (t == nullptr || t->is_queued() || t->is_held_back || t->state == task_state::completed) return;
  const std::uint64_t asked = note_input(event_kind::input_wake, t->task().value, 0, inputs_ + 1);
  wake(*t, asked == 0 ? wake_code::other : wake_code::input, asked);
}

void waker::wake() const noexcept {
  if (kernel_ != nullptr) kernel_->wake(key_);
}

waker kernel::waker_of(task_handle task) noexcept {
  const inside here(gate_);
  task_record* const t = find(task);
  return t == nullptr ? waker{} : waker{*this, t->key()};
}

// ---- a dispatch ---------------------------------------------------------------------------------------------------

void kernel::poll(std::uint32_t worker, place& p, dispatch_source, instant now, std::uint64_t dispatched) noexcept {
  auto& t = static_cast<task_record&>(p);
  ASX_ASSERT(current_ == nullptr, "one task is polled at a time");
  set_time(now);
  worker_ = worker;
  cause_ = dispatched;
  t.home = static_cast<std::uint16_t>(worker);
  t.is_polled = true;
  current_ = &t;
  run_dispatch(t);
  current_ = nullptr;
  settle();
  cause_ = 0;
  worker_ = 0;  // What comes from outside the steps is worker 0's.
  ghosts_.dispatched();
  if (faults_.strikes != nullptr) [[unlikely]]
    strike_behind_poll();
}

// A loop of its own for the plainest dispatches, which are most of them: nobody listens, nothing is due, nothing waits
// but in the ready lane, or in the cancel lane. What is done is what worker_step and poll do; what they look for
// besides cannot be there.
std::uint64_t kernel::run_plain(std::uint32_t worker, const time_source& clock, std::uint64_t& left, std::uint64_t most,
                                instant until) noexcept {
  if (is_shared()) return run_plain_as<false>(worker, clock, left, most, until);
  const std::uint64_t done = run_plain_as<true>(worker, clock, left, std::min(left, most), until);
  left -= done;
  return done;
}

template <bool IsAlone>
std::uint64_t kernel::run_plain_as(std::uint32_t worker, const time_source& clock, [[maybe_unused]] std::uint64_t& left,
                                   std::uint64_t most, instant until) noexcept {
  ASX_ASSERT(current_ == nullptr, "one task is polled at a time");
  std::uint64_t done = 0;
  if (!is_quiet() || rejects() || !sched_.is_plain()) return 0;
  const scheduler::plain_turn turn(sched_, worker);
  worker_ = worker;
  late_ = clock;
  const bool reads_clock = clock.read != nullptr;
  const bool may_be_late = clock.may_be_late && until.is_none();
  task_record* again = nullptr;  // It yields, and nobody else waits: it goes round without a place in the lane.
  for (; done < most; ++done) {  // asx: bounded by `most`
    if (until <= now_) break;    // By the time of the dispatch before, as the drive itself decides.
    if constexpr (!IsAlone) {
      if (left == 0) break;  // Others have taken them since.
    }
    if (reads_clock) {
      if (may_be_late && !has_deadlines()) {
        is_late_ = true;
      } else {
        set_time(clock.read(clock.context));
      }
    }
    if (may_be_due(now_) || has_inputs()) break;
    place* p = again;
    if (p != nullptr) {
      turn.go_round(*p, again->left.priority);
    } else if (p = turn.next(); p == nullptr) {
      p = turn.next_cancel();
      if (p == nullptr) break;
      fetch_ahead(turn.after_cancel(p->priority()));
    }
    if constexpr (!IsAlone) --left;
    again = nullptr;
    auto& t = static_cast<task_record&>(*p);
    t.home = static_cast<std::uint16_t>(worker);
    current_ = &t;
    const bool was_plain = starts_plain(t);
    if constexpr (!IsAlone) t.is_polled = true;
    if (was_plain) [[likely]] {
      begin_poll(t);
      t.state = task_state::running;
      const poll_result said = say<IsAlone>(t);
      if (said == poll_result::pending && is_plain_after<IsAlone>(t)) [[likely]] {
        const bool parks = !t.wants_yield && !t.was_woken && (t.took_waker || t.registrations != 0);
        if (!parks && !turn.push_back(t, t.left.priority)) again = &t;
      } else if (said == poll_result::ready && is_plain(t)) {
        end(t, task_trigger::complete, t.has_value ? detail::task_end::ok(t.value) : detail::task_end::ok());
      } else {
        after_poll(t, said);
      }
    } else {
      run_dispatch(t);
    }
    current_ = nullptr;
    if (!pending_.empty()) [[unlikely]] {
      if (again != nullptr) sched_.push_plain<lane::ready>(worker, *again, again->left.priority);
      again = nullptr;
      settle_pending();
    }
  }
  if (again != nullptr) sched_.push_plain<lane::ready>(worker, *again, again->left.priority);
  worker_ = 0;
  if constexpr (IsAlone) is_late_ = false;  // The next step reads it itself.
  return done;
}

void kernel::read_late() const noexcept {
  is_late_ = false;
  now_ = later(now_, late_.read(late_.context));
}

void kernel::run_dispatch(task_record& t) noexcept {
  if (t.state == task_state::finalizing) {
    return end(t, task_trigger::finalize_done, detail::task_end::cancelled());
  }
  if (t.is_leaving) return end(t, t.last_trigger, t.result, t.last_flags);
  if (faults_.strikes != nullptr) [[unlikely]]
    strike_before_poll(t);
  if (prepare_poll(t)) after_poll(t, say<false>(t));
}

inline void kernel::begin_poll(task_record& t) noexcept {
  t.took_waker = t.wants_yield = t.has_value = false;
  t.was_woken = t.was_cancelled_in_poll = t.has_panicked = t.was_decided = false;
  t.waits_for = 0;
  t.failure_code = status::ok;
}

// Budgets, quotas and the moves that come before a poll. False: there is no poll.
bool kernel::prepare_poll(task_record& t) noexcept {
  begin_poll(t);
  if (t.state == task_state::created || t.state == task_state::running) {
    constexpr cancel_kind kinds[] = {cancel_kind::user, cancel_kind::deadline, cancel_kind::poll_quota,
                                     cancel_kind::cost_budget};
    const budget_part spent = t.left.exhausted(now_);
    if (spent != budget_part::none) static_cast<void>(raise(t, kinds[static_cast<std::size_t>(spent)]));
    t.was_cancelled_in_poll = false;  // This poll can see it.
  }
  switch (t.state) {
    case task_state::created:
    case task_state::running:
      if (t.left.consume_poll() != status::ok) {
        t.is_polled = false;
        t.is_held_back = true;  // The cancel found no room: nobody polls it until it does.
        return false;
      }
      if (t.state == task_state::created) {
        t.state = task_state::running;
        note(event_kind::task_started, t.task().value, t.region->id.value);
      }
      return true;
    case task_state::cancel_requested: {
      const std::uint64_t limit = unobserved_limit(t);
      if (limit == 0 || t.unobserved < limit) {
        if (t.unobserved != UINT32_MAX) ++t.unobserved;
        return true;
      }
      acknowledge(t, true);
      break;
    }
    default: break;
  }
  ASX_ASSERT(t.state == task_state::cancelling, "what is polled is created, running, or answers a cancel (R-23)");
  if (t.cleanup_polls == 0) {
    force_complete(t);
    return false;
  }
  --t.cleanup_polls;
  ++t.cleanup_used;
  return true;
}

template <bool IsAlone>
ASX_ALWAYS_INLINE poll_result kernel::say(task_record& t) noexcept {
  cx c(t);
  ++t.polls;
  const auto ask = [&] {
    if constexpr (IsAlone) {
      return t.poll(t.context, c);
    } else {
      const outside open(gate_);
      return t.poll(t.context, c);
    }
  };
#if defined(__cpp_exceptions)
  try {
    return ask();
  } catch (...) {
    panic_with_exception(t);
    return poll_result::pending;
  }
#else
  return ask();
#endif
}

// With the one that is being handled.
void kernel::panic_with_exception([[maybe_unused]] task_record& t) noexcept {
#if defined(__cpp_exceptions)
  try {
    throw;
  } catch (const std::exception& e) {
    const char* const text = e.what();
    panic(t, text == nullptr ? std::string_view() : std::string_view(text), t.site);
  } catch (...) {
    panic(t, "an exception that is no std::exception", t.site);
  }
#endif
}

// The text becomes the record's own.
void kernel::keep_panic(task_record& t, std::string_view text, const std::source_location& site) noexcept {
  if (t.has_panic_text) causes_.release(t.panic_text);
  t.has_panic_text = true;
  t.panic_text = causes_.keep({.message = text});
  t.panic_site = site;
}

void kernel::panic(task_record& t, std::string_view text, const std::source_location& site) noexcept {
  if (t.has_panicked) return;              // The first one tells the story.
  if (t.state == task_state::completed) {  // Its result is out: what is dropped with it can only be told of.
    note(event_kind::task_panicked, t.task().value, t.region->id.value);
    if (log_.mode() == journal_mode::full) {
      log_.append_text(text_code::panic, type_tag::task, t.task().value, text, now().ns);
    }
    return;
  }
  t.has_panicked = true;
  keep_panic(t, text, site);
  note(event_kind::task_panicked, t.task().value, t.region->id.value);
  if (log_.mode() == journal_mode::full) {
    log_.append_text(text_code::panic, type_tag::task, t.task().value, causes_.text_of(t.panic_text), now().ns);
  }
}

void kernel::fatal(std::string_view text) const noexcept {
  if (options_.fatal != nullptr) return options_.fatal(options_.fatal_context, text);
  std::fprintf(stderr, "asx: %.*s\n", static_cast<int>(text.size()), text.data());
  std::abort();
}

void kernel::panic(std::string_view text, std::source_location site) noexcept {
  const inside here(gate_);
  if (in_finalizer_ != nullptr) {
    panic(*in_finalizer_, text, site);
  } else if (current_ != nullptr) {
    panic(*current_, text, site);
  } else {
    fatal(text);
  }
}

void kernel::after_poll(task_record& t, poll_result said) noexcept {
  const bool parks = said == poll_result::pending && !t.has_panicked && !t.wants_yield && !t.was_woken &&
                     !t.was_cancelled_in_poll && (t.took_waker || t.registrations != 0);
  if (parks && t.waits_for == static_cast<std::uint8_t>(wait_code::other)) {
    note(event_kind::task_waits, t.task().value, 0, static_cast<std::uint64_t>(wait_code::other));
  }
  const std::uint64_t left = t.polls_left();
  const poll_code what = t.has_panicked ? poll_code::panicked : static_cast<poll_code>(said);
  note(event_kind::poll_ended, t.task().value, t.region->id.value, static_cast<std::uint64_t>(what),
       left == unlimited ? 0 : left);

  if (t.has_panicked) return end(t, task_trigger::complete, detail::task_end::panicked());
  switch (said) {
    case poll_result::pending:
      ghosts_.pending(t);
      t.is_polled = false;
      if (parks) return;
      if (t.wants_yield) note(event_kind::task_yielded, t.task().value, t.region->id.value);
      return enqueue(t,
                     t.was_cancelled_in_poll ? wake_code::cancel
                     : t.was_woken           ? wake_code::other
                                             : wake_code::yield,
                     0);
    case poll_result::error: {
      const error e =
          t.failure_code == status::ok ? error{status::invalid_argument, 0} : error{t.failure_code, t.failure_detail};
      if (t.state != task_state::cancelling) return end(t, task_trigger::complete, detail::task_end::err(e));
      return end(t, task_trigger::complete, detail::task_end::cancelled(false, e));
    }
    case poll_result::ready: break;
  }
  if (t.state != task_state::cancelling) {
    return end(t, task_trigger::complete, t.has_value ? detail::task_end::ok(t.value) : detail::task_end::ok());
  }
  if (has_cleanups(t)) static_cast<void>(unwind(t, false));
  t.state = task_state::finalizing;  // T10, and the next dispatch does T13.
  t.phase = cancel_phase::finalizing;
  note(event_kind::task_cleaned_up, t.task().value, t.region->id.value, static_cast<std::uint64_t>(t.reason().kind),
       t.cleanup_polls);
  t.is_polled = false;
  enqueue(t, wake_code::yield, 0);
}

}  // namespace asx
