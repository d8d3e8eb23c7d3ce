#include "asx/sched/scheduler.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace asx {

using detail::priority_lane;

// ---- construction -------------------------------------------------------------------------------------------------

status scheduler::validate(const sched_config& config) noexcept {
  const bool is_good = config.workers >= 1 && config.workers <= 65535 && config.cancel_streak_limit >= 1 &&
                       config.cancel_streak_limit < (1U << 31) && config.max_places <= (1U << 28);
  return is_good ? status::ok : status::invalid_argument;
}

scheduler::scheduler(const sched_config& config, memory_port memory) noexcept
    : config_(config), memory_(memory), is_plain_(!config.has_threads && config.ready_tiebreak == tie_break::fifo) {
  if (validate(config) != status::ok) return;
  const std::size_t table = detail::pages_of_one_lane(config.max_places);
  const std::size_t lanes_bytes = sizeof(worker_lanes) * config.workers;
  const std::size_t pool_bytes = (sizeof(detail::timed_pages) + 63) / 64 * 64;
  // On a machine of 32 bits the product can be more than there are addresses.
  if (table != 0 && config.workers > SIZE_MAX / 2 / (table * sizeof(void*))) return;
  block_bytes_ = lanes_bytes + pool_bytes + table * sizeof(detail::timed_page*) * config.workers;
  block_ = memory.allocate(memory.context, block_bytes_, alignof(worker_lanes));
  if (block_ == nullptr) return;

  auto* const bytes = static_cast<std::byte*>(block_);
  pages_ = new (bytes + lanes_bytes) detail::timed_pages(memory, config.has_threads);
  auto** const tables = reinterpret_cast<detail::timed_page**>(bytes + lanes_bytes + pool_bytes);
  workers_ = static_cast<worker_lanes*>(block_);
  for (std::uint32_t i = 0; i < config.workers; ++i) {
    new (workers_ + i)
        worker_lanes(config.has_threads, config.seed, i, config.timed_streak_limit, tables + i * table, *pages_);
  }
  if (!config.has_threads) unlocked_ = config.workers;
  reset_certificate();
}

scheduler::~scheduler() {
  if (block_ == nullptr) return;
  for (std::uint32_t i = 0; i < config_.workers; ++i) workers_[i].~worker_lanes();
  pages_->~timed_pages();
  memory_.release(memory_.context, block_, block_bytes_, alignof(worker_lanes));
}

status scheduler::admit(std::uint32_t places) noexcept {
  if (!ready() || places > config_.max_places) return status::resource_exhausted;
  return pages_->grow_to(detail::pages_of_all_lanes(places, config_.workers)) ? status::ok : status::resource_exhausted;
}

// ---- into a lane and out of it --------------------------------------------------------------------------------------

void scheduler::take_out(worker_lanes& w, place& p) noexcept {
  switch (p.lane_) {
    case lane::cancel: w.cancel.remove(p, p.priority_); return;
    case lane::timed: w.timed.remove(p); return;
    case lane::ready: w.ready.remove(p, p.priority_); return;
  }
}

// Calls `act(lanes)` under the lock of the worker in whose lanes the place is; false when it is in none. A place that
// moves between the look and the lock is looked at again.
template <class Act>
bool scheduler::where_it_is(const place& p, Act act) noexcept {
  for (std::uint32_t seen = p.where(); (seen & place::queued_bit) != 0; seen = p.where()) {
    worker_lanes& w = at(seen & ~place::queued_bit);
    const lock_guard guard(w.lock);
    if (p.where() != seen) continue;
    act(w);
    return true;
  }
  return false;
}

bool scheduler::take_away(place& p) noexcept {
  return where_it_is(p, [&p](worker_lanes& w) {
    take_out(w, p);
    p.take_from();
  });
}

bool scheduler::push_cancel(std::uint32_t worker, place& p, std::uint8_t priority) noexcept {
  bool has_changed = false;
  bool is_answered = false;
  const bool was_queued = where_it_is(p, [&](worker_lanes& w) {
    is_answered = p.lane_ == lane::cancel;
    if (is_answered && priority <= p.priority_) return;
    has_changed = true;
    take_out(w, p);
    if (is_answered) {
      insert(w, p, lane::cancel, priority, instant::none());
    } else {
      p.take_from();
    }
  });
  if (was_queued && is_answered) return has_changed;
  return push(worker, p, lane::cancel, priority);
}

// ---- the choice ---------------------------------------------------------------------------------------------------

// The first of the highest priority, or the one that a draw picks among its equals.
place* scheduler::take_ready(worker_lanes& w, dispatch& out) const noexcept {
  if (config_.ready_tiebreak == tie_break::fifo) [[likely]]
    return w.ready.pop();
  const priority_lane::list& equals = w.ready.at(static_cast<std::uint8_t>(w.ready.top()));
  std::uint32_t candidates = 0;
  for (const place* p = equals.front(); p != nullptr; p = equals.after(*p)) ++candidates;
  if (candidates == 1) return w.ready.pop();
  out.candidates = candidates;
  out.chosen = static_cast<std::uint32_t>(w.tie_stream.next_below(candidates));
  place* p = equals.front();
  for (std::uint32_t i = 0; i < out.chosen; ++i) p = equals.after(*p);
  w.ready.remove(*p, p->priority_);
  return p;
}

// What the governor and the streaks let go now; false leaves everything as it was.
bool scheduler::take_own(worker_lanes& w, dispatch& out) noexcept {
  const governor g = suggestion();
  const std::uint32_t limit = asx::effective_limit(g, config_.cancel_streak_limit);
  const lane_choice choice = choose_lane(g, w.streaks, limit, w.waiting());
  if (!choice.found) return false;
  out.from = static_cast<dispatch_source>(choice.from);
  out.is_limited = choice.is_limited;
  out.limited = choice.limited;
  out.full = choice.limited == lane::cancel && w.streaks.cancel() < limit ? lane::timed : choice.limited;
  switch (choice.from) {
    case lane::cancel: out.who = w.cancel.pop(); break;
    case lane::timed: out.who = w.timed.pop(); break;
    case lane::ready: out.who = take_ready(w, out); break;
  }
  out.who->take_from();
  count(w, out.from, limit);
  return true;
}

place* scheduler::plain_turn::next_cancel() const noexcept {
  if (of_.config_.workers != 1 || !lanes_.has_only_cancel()) return nullptr;
  place* const first = lanes_.cancel.pop();
  ASX_ASSERT(first != nullptr, "a lane that is not empty has a first entry");
  first->take_from(worker_);
  const std::uint32_t limit = of_.effective_limit();
  of_.count(lanes_, lanes_.streaks.cancel() < limit ? dispatch_source::cancel : dispatch_source::fallback, limit);
  return first;
}

dispatch scheduler::next_of_many(std::uint32_t worker) noexcept {
  worker_lanes& w = at(worker);
  dispatch out;
  {
    const lock_guard guard(w.lock);
    if (take_own(w, out)) return out;
  }
  // Own lanes are empty, or only cancel waits and has had its streak: steal, then fall back, then idle.
  place* const stolen = config_.workers == 1 ? nullptr : steal(w, worker, out);

  const lock_guard guard(w.lock);
  if (stolen != nullptr) {
    out.who = stolen;
    out.from = dispatch_source::ready;
    out.is_limited = !w.cancel.empty();
    count(w, out.from, effective_limit());
  } else if (config_.has_threads && take_own(w, out)) {
    // Another thread pushed something while the lock was free: that goes before the fallback.
  } else if (!w.cancel.empty()) {
    out.who = w.cancel.pop();
    out.who->take_from();
    out.from = dispatch_source::fallback;
    count(w, out.from, effective_limit());
  } else {
    out.went_idle = !w.is_idle;
    w.is_idle = true;
    w.streaks.reset();
  }
  return out;
}

place* scheduler::steal(worker_lanes& thief, std::uint32_t worker, dispatch& out) noexcept {
  const std::uint32_t others = config_.workers - 1;
  out.scan_start = static_cast<std::uint32_t>(thief.steal_stream.next_below(others));
  for (std::uint32_t i = 0; i < others; ++i) {
    const std::uint32_t index = (out.scan_start + i) % others;
    const std::uint32_t victim = index < worker ? index : index + 1;
    out.scanned = i + 1;
    worker_lanes& v = workers_[victim];
    const lock_guard guard(v.lock);
    place* const last = v.ready.last_ranked();
    if (last == nullptr) continue;
    v.ready.remove(*last, last->priority_);
    last->take_from();
    out.victim = victim;
    return last;
  }
  return nullptr;
}

void scheduler::count_stall(std::uint32_t worker) noexcept {
  worker_lanes& w = at(worker);
  const lock_guard guard(w.lock);
  ASX_ASSERT(w.is_idle && w.streaks.cancel() == 0, "a stall poll is for a worker that has nothing to dispatch (R-132)");
  const std::uint32_t limit = effective_limit();
  if (limit > w.counted.max_effective_limit_observed) w.counted.max_effective_limit_observed = limit;
  ++w.counted.fallback_cancel_dispatches;
}

// ---- what can be read ---------------------------------------------------------------------------------------------

fairness_certificate scheduler::certificate() const noexcept {
  fairness_certificate sum;
  for (std::uint32_t i = 0; ready() && i < config_.workers; ++i) {
    const lock_guard guard(workers_[i].lock);
    sum.add(workers_[i].counted);
  }
  return sum;
}

void scheduler::reset_certificate() noexcept {
  for (std::uint32_t i = 0; ready() && i < config_.workers; ++i) {
    const lock_guard guard(workers_[i].lock);
    workers_[i].counted = {};
    workers_[i].counted.max_effective_limit_observed = config_.cancel_streak_limit;
  }
}

std::size_t scheduler::depth(std::uint32_t worker, lane of) const noexcept {
  const worker_lanes& w = at(worker);
  const lock_guard guard(w.lock);
  switch (of) {
    case lane::cancel: return w.cancel.size();
    case lane::timed: return w.timed.size();
    default: return w.ready.size();
  }
}

bool scheduler::empty() const noexcept {
  for (std::uint32_t i = 0; ready() && i < config_.workers; ++i) {
    const lock_guard guard(workers_[i].lock);
    const waiting_lanes has = workers_[i].waiting();
    if (has.cancel || has.timed || has.ready) return false;
  }
  return true;
}

std::uint64_t scheduler::cancel_streak(std::uint32_t worker) const noexcept {
  const worker_lanes& w = at(worker);
  const lock_guard guard(w.lock);
  return w.streaks.cancel();
}

std::uint64_t scheduler::timed_streak(std::uint32_t worker) const noexcept {
  const worker_lanes& w = at(worker);
  const lock_guard guard(w.lock);
  return w.streaks.timed();
}

void scheduler::check() const noexcept {
  for (std::uint32_t i = 0; ready() && i < config_.workers; ++i) {
    const worker_lanes& w = workers_[i];
    const lock_guard guard(w.lock);
    w.timed.check();
    for (const auto& [queue, name] : {std::pair{&w.cancel, lane::cancel}, std::pair{&w.ready, lane::ready}}) {
      queue->check();
      for (unsigned priority = 0; priority < 256; ++priority) {
        const priority_lane::list& equals = queue->at(static_cast<std::uint8_t>(priority));
        std::uint64_t before = 0;
        for (const place* p = equals.front(); p != nullptr; p = equals.after(*p)) {
          ASX_ASSERT(p->insertion_seq_ > before, "equal priorities stand in order of insertion (INV-SC-02)");
          ASX_ASSERT(p->lane_ == name && p->is_queued() && p->worker() == i && p->priority_ == priority,
                     "a place knows where it is queued");
          before = p->insertion_seq_;
        }
        ASX_ASSERT(before <= w.last_insertion, "insertion numbers are given out once (R-208)");
      }
    }
  }
}

}  // namespace asx
