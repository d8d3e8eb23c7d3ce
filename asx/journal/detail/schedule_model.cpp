#include "asx/journal/detail/schedule_model.hpp"

#include <algorithm>

#include "asx/journal/describe.hpp"
#include "asx/model/cancel_kind.hpp"

namespace asx::detail {

using enum event_kind;

// ---- the walk ------------------------------------------------------------------------------------------------------

void schedule_model::violate(std::uint64_t seq, std::string_view rule, std::string text) {
  ++verdict_.violation_count;
  if (verdict_.violations.size() < schedule_verdict::violations_kept) {
    verdict_.violations.push_back({seq, rule, std::move(text)});
  }
}

void schedule_model::forget_the_past() {
  whole_ = count_known_ = governor_known_ = order_known_ = false;
  workers_.clear();
  queued_.clear();
  ready_entries_ = 0;
  tie_.reset();
  theft_.reset();
  stall_task_.reset();
  chosen_.reset();
  timers_.clear();
  due_timers_.clear();
  deadlines_.clear();
  due_deadlines_.clear();
  passed_.clear();
  last_fired_.reset();
  foreign_holds_ = 0;
}

void schedule_model::follow_numbers(const event& e) {
  if (verdict_.events++ == 0) {
    verdict_.first_seq = intact_from_ = e.seq;
    if (e.seq > 1) {
      verdict_.unknown.push_back(say("The journal begins at event ", e.seq, ": what came before is not known."));
      forget_the_past();
    }
  } else if (e.seq > verdict_.last_seq + 1) {
    verdict_.unknown.push_back(say("Events ", verdict_.last_seq + 1, " to ", e.seq - 1, " are missing."));
    forget_the_past();
    intact_from_ = e.seq;
  } else if (e.seq != verdict_.last_seq + 1) {
    violate(e.seq, "R-113", say("expected event number ", verdict_.last_seq + 1, ", found ", e.seq));
  }
  verdict_.last_seq = e.seq;
}

void schedule_model::follow_time(const event& e) {
  if (e.time_ns < time_ns_) {
    violate(e.seq, "R-87",
            say("expected a time of at least ", time_ns_, " ns, found ", e.time_ns, " ns: time went back"));
  }
  if (e.time_ns != time_ns_) last_fired_.reset();
  time_ns_ = e.time_ns;
  if (e.kind == input_time) {
    if (e.a < e.b)
      violate(e.seq, "R-87", say("expected the clock to stand or to rise from ", e.b, " ns, found ", e.a, " ns"));
    time_ns_ = std::max(time_ns_, e.a);
  }
}

void schedule_model::drop_unfinished_decision(const event& e) {
  if (e.kind == task_dispatched || e.kind == streak_limited) return;
  if (tie_) violate(tie_->seq, "R-98", say("expected its dispatch directly after it, found event ", e.seq));
  if (theft_) violate(theft_->told.seq, "R-208", say("expected its dispatch directly after it, found event ", e.seq));
  tie_.reset();
  theft_.reset();
}

void schedule_model::take(const event& e) {
  if (!e.semantic()) return;
  follow_numbers(e);
  follow_time(e);
  drop_unfinished_decision(e);
  switch (e.kind) {
    case runtime_started: return on_started(e);
    case scheduler_configured: return on_configured(e);
    case governor_changed: return on_governor(e);
    case task_woken:
    case task_requeued: return on_inserted(e);
    case task_dequeued: return on_dequeued(e);
    case task_stolen: return on_stolen(e);
    case tie_broken: tie_ = e; return;
    case task_dispatched: return on_dispatched(e);
    case worker_idled: return on_idled(e);
    case streak_limited: return on_streak_limited(e);
    case worker_chosen: return on_chosen(e);
    case certificate_issued:
    case certificate_reset: return on_certificate(e);
    case stall_poll: stall_task_ = e.subject; return;
    case timer_registered:
    case timer_cancelled:
    case timer_updated:
    case timers_coalesced: return on_timer(e);
    case timer_fired: return on_timer_fired(e);
    case deadline_indexed:
    case deadline_passed:
    case deadline_dropped: return on_deadline(e);
    case cancel_requested:
    case task_failed_at_spawn:
    case task_completed: passed_.erase(e.subject); return;
    case region_closing: return on_root_told(e, low_half(e.b));
    case region_reason_strengthened: return on_root_told(e, low_half(e.a));
    case foreign_hold_taken:
    case foreign_hold_released: foreign_holds_ = e.a; return;
    default: return;
  }
}

schedule_verdict schedule_model::finish() {
  for (const auto& [task, entry] : queued_) {  // Who still waits has waited at least as long as the next dispatch.
    const schedule_worker& of = workers_[entry.worker];
    const std::uint64_t waited = of.counts.all - entry.before.all, bound = bound_of(entry, of);
    if (whole_ && bound != no_bound && waited >= bound) {
      violate(entry.queued_by, entry.lane == lane_code::cancel ? "R-204" : "INV-SC-04",
              say("expected task ", task, " to be dispatch ", bound, " of worker ", entry.worker,
                  " after it was queued, at the latest; ", waited, " have passed it by and it still waits"));
    }
  }
  if (verdict_.unchecked > 0) {
    verdict_.unknown.push_back(say(
        verdict_.unchecked, verdict_.unchecked == 1 ? " dispatch" : " dispatches",
        " could not be checked fully: limits, streaks and parts of the lanes are from before event ", intact_from_,
        ". The order inside lanes, insertion numbers, causes, timers and time were checked as far as they are known."));
  }
  if (unjudged_ties_ > 0) {
    verdict_.unknown.push_back(say(unjudged_ties_, unjudged_ties_ == 1 ? " tie-break was" : " tie-breaks were",
                                   " not held against the seed: how many draws came before is not known."));
  }
  verdict_.certificate_known = whole_;
  return std::move(verdict_);
}

schedule_worker& schedule_model::worker(const event& e, std::uint16_t number) {
  if (whole_ && number >= setup_.workers) {
    violate(e.seq, "R-101", say("expected a worker below ", setup_.workers, ", found worker ", number));
    setup_.workers = std::uint64_t{number} + 1;
  }
  const auto [at, is_new] = workers_.try_emplace(number);
  if (is_new) {
    at->second.next_insertion = whole_ ? 1 : 0;
    at->second.ties = draw_stream(setup_.seed, number, 0);
    at->second.ties_known = whole_;
  }
  return at->second;
}

void schedule_model::remove(const queued_task& entry) {
  workers_[entry.worker].lane(entry.lane).erase(entry.key());
  if (entry.lane == lane_code::ready) --ready_entries_;
  queued_.erase(entry.task);
}

bool schedule_model::others_have_ready(const schedule_worker& w) const noexcept {
  return ready_entries_ > w.lanes[static_cast<std::size_t>(lane_code::ready)].size();
}

// ---- the setting ---------------------------------------------------------------------------------------------------

void schedule_model::on_started(const event& e) {
  setup_.seed = e.a;
  setup_.workers = std::clamp<std::uint64_t>(e.b, 1, 65'536);
  order_ = draw_stream(setup_.seed, 0, 2);
}

void schedule_model::on_configured(const event& e) {
  if (verdict_.dispatches > 0)
    violate(e.seq, "R-102", "expected the limits before the first dispatch, found them after it");
  setup_.cancel_limit = low_half(e.a);
  setup_.timed_limit = high_half(e.a);
  setup_.random_ties = low_half(e.b) == 1;
  verdict_.certificate.max_effective_limit_observed =
      verdict_.dispatches == 0 ? setup_.cancel_limit
                               : std::max(verdict_.certificate.max_effective_limit_observed, setup_.cancel_limit);
}

void schedule_model::on_governor(const event& e) {
  if (low_half(e.a) > 3 || high_half(e.a) > 3) {
    return violate(e.seq, "R-107",
                   say("expected suggestions from 0 to 3, found ", low_half(e.a), " instead of ", high_half(e.a)));
  }
  if (governor_known_ && high_half(e.a) != static_cast<std::uint32_t>(governor_)) {
    violate(e.seq, "R-107",
            say("expected suggestion ", static_cast<std::uint32_t>(governor_), " before the change, found ",
                high_half(e.a)));
  }
  governor_ = static_cast<governor_code>(low_half(e.a));
  governor_known_ = true;
}

void schedule_model::on_chosen(const event& e) {
  chosen_ = static_cast<std::uint16_t>(e.subject);
  if (!whole_) return;
  if (e.a != setup_.workers || setup_.workers < 2) {
    return violate(e.seq, "R-210",
                   say("expected a draw among ", setup_.workers, " workers, and none when there is one; found ", e.a));
  }
  const std::uint64_t drawn = order_.next() % setup_.workers;
  if (order_known_ && drawn != e.subject) {
    violate(e.seq, "R-210", say("expected worker ", drawn, ", which the seed draws, found worker ", e.subject));
    order_known_ = false;  // Whether a draw was missed or one was wrong cannot be told: later ones are believed.
  }
}

void schedule_model::on_streak_limited(const event& e) {
  if (!whole_) return;
  const schedule_worker& w = worker(e, e.worker);
  const bool of_cancel = e.a == static_cast<std::uint64_t>(lane_code::cancel);
  const std::uint64_t limit = of_cancel ? setup_.cancel_limit_under(governor_) : setup_.timed_limit;
  const std::uint64_t streak = of_cancel ? w.cancel_streak : w.timed_streak;
  const std::string_view rule = of_cancel ? "R-102" : "R-106";
  if (e.a > static_cast<std::uint64_t>(lane_code::timed)) {
    violate(e.seq, rule, say("expected the cancel or the timed lane to step back, found lane ", e.a));
  } else if (e.b != limit) {
    violate(e.seq, rule, say("expected the limit in force, ", limit, ", found ", e.b));
  } else if (streak < limit) {
    violate(e.seq, rule, say("expected a streak of at least ", limit, ", found one of ", streak));
  }
}

void schedule_model::on_idled(const event& e) {
  schedule_worker& w = worker(e, e.worker);
  if (e.subject != e.worker) {
    violate(e.seq, "R-206", say("expected worker ", e.worker, " to be named, found ", e.subject));
  }
  if (w.has_any()) {
    violate(e.seq, "R-206",
            say("expected worker ", e.worker, " to dispatch: ", w.lane(lane_code::cancel).size(), " cancel, ",
                w.lane(lane_code::timed).size(), " timed and ", w.lane(lane_code::ready).size(),
                " ready tasks wait for it; found it idle"));
  } else if (others_have_ready(w)) {
    violate(e.seq, "R-206",
            say("expected worker ", e.worker, " to steal: ", ready_entries_,
                " ready tasks wait for others; found it idle"));
  } else if (w.idle) {
    violate(e.seq, "R-206", say("worker ", e.worker, " was idle already: expected no event before its next dispatch"));
  }
  w.idle = true;
  w.park();
}

void schedule_model::on_certificate(const event& e) {
  recomputed_certificate& mine = verdict_.certificate;
  if (e.kind == certificate_reset) {
    mine = {};
    mine.max_effective_limit_observed = setup_.cancel_limit;
    count_known_ = true;
    return;
  }
  if (count_known_ && e.b != mine.dispatches()) {
    violate(e.seq, "R-103", say("expected ", mine.dispatches(), " dispatches, found ", e.b));
  } else if (whole_ && e.a != mine.hash()) {
    violate(e.seq, "INV-SC-06", say("expected the hash ", mine.hash(), ", found ", e.a));
  }
  if (whole_) ++verdict_.certificates_checked;
}

// ---- lanes ---------------------------------------------------------------------------------------------------------

void schedule_model::on_inserted(const event& e) {
  const std::uint32_t place = low_half(e.a);
  if (place_lane(place) > lane_code::ready) {
    return violate(e.seq, "R-105", say("expected the cancel, timed or ready lane, found lane ", place & 0xffU));
  }
  queued_task made{.task = e.subject,
                   .lane = place_lane(place),
                   .priority = place_priority(place),
                   .worker = place_worker(place),
                   .insertion = e.b,
                   .queued_by = e.seq,
                   .before = {}};
  if (const auto was = queued_.find(e.subject); was != queued_.end()) {
    const queued_task old = was->second;
    if (e.kind == task_woken) {
      violate(e.seq, "R-177",
              say("expected nothing: task ", e.subject, " is queued since event ", old.queued_by,
                  "; found it queued again"));
    } else if (old.lane == lane_code::cancel && made.lane != lane_code::cancel) {
      violate(e.seq, "R-105",
              say("expected task ", e.subject, " to stay in the cancel lane, found it moved to ", name(made.lane)));
    } else if (old.lane == lane_code::cancel && made.priority <= old.priority) {
      violate(e.seq, "R-27",
              say("expected a priority above ", std::uint64_t{old.priority},
                  " for a move within the cancel lane, found ", std::uint64_t{made.priority}));
    }
    remove(old);
  }
  schedule_worker& w = worker(e, made.worker);
  if (w.next_insertion != 0 && e.b != w.next_insertion) {
    violate(e.seq, "R-208",
            say("expected insertion number ", w.next_insertion, " of worker ", made.worker, ", found ", e.b));
  }
  w.next_insertion = e.b + 1;
  const std::optional<std::uint64_t> until = deadline_of(e.subject);
  if (made.lane == lane_code::timed) {
    made.deadline_known = until.has_value();
    if (until) made.deadline = *until;
    if (whole_ && !until) {
      violate(e.seq, "R-105",
              say("expected the ready lane: task ", e.subject, " has no deadline in the index; found the timed lane"));
    }
  } else if (made.lane == lane_code::ready && until) {
    violate(e.seq, "R-105",
            say("expected the timed lane: task ", e.subject, " has until ", *until, " ns; found the ready lane"));
  }
  made.before = w.counts;
  if (made.lane == lane_code::ready) ++ready_entries_;
  w.lane(made.lane).insert(made.key());
  queued_.insert_or_assign(made.task, made);
}

void schedule_model::on_dequeued(const event& e) {
  const auto at = queued_.find(e.subject);
  if (at == queued_.end()) {
    if (whole_) violate(e.seq, "R-96", say("expected task ", e.subject, " to be in a lane, found it in none"));
    return;
  }
  const queued_task entry = at->second;
  if (entry.insertion != e.b) {
    violate(e.seq, "R-96", say("expected insertion number ", entry.insertion, " of task ", e.subject, ", found ", e.b));
  }
  remove(entry);
}

void schedule_model::on_stolen(const event& e) {
  theft_ = {e};
  const std::uint64_t seen = low_half(e.a), start = high_half(e.a), others = setup_.workers - 1;
  if (whole_) {
    // Victims are the other workers in ascending order: number i of that list is worker i, or i + 1 behind oneself.
    const auto victim = [&e, others](std::uint64_t i) { return i % others < e.worker ? i % others : i % others + 1; };
    if (others == 0) {
      violate(e.seq, "R-101", "expected no theft: there is no other worker");
      theft_->judged = false;
    } else if (start >= others || seen == 0 || seen > others || victim(start + seen - 1) != e.object) {
      violate(e.seq, "R-163",
              say("expected a scan of ", others, " other workers in a circle; starting at ", start, ", victim ", seen,
                  " is not worker ", e.object));
    } else {
      for (std::uint64_t i = start; i + 1 < start + seen; ++i) {
        const auto passed = workers_.find(static_cast<std::uint16_t>(victim(i)));
        if (passed == workers_.end() || !passed->second.has(lane_code::ready)) continue;
        violate(e.seq, "R-163",
                say("expected a theft from worker ", victim(i),
                    ", which comes first in the scan and has ready work; found worker ", e.object));
        break;
      }
    }
  }
  const auto at = queued_.find(e.subject);
  if (at == queued_.end()) {
    if (!whole_) return;
    violate(e.seq, "R-101", say("expected task ", e.subject, " in a ready lane, found it in none"));
    theft_->judged = false;
    return;
  }
  const queued_task& entry = at->second;
  if (entry.lane != lane_code::ready) {
    violate(e.seq, "R-101", say("expected an entry of a ready lane, found task ", e.subject, " of ", name(entry.lane)));
    theft_->judged = false;
  } else if (entry.worker != e.object) {
    violate(e.seq, "R-208",
            say("expected worker ", entry.worker, " to be the victim: task ", e.subject,
                " is in its lane; found worker ", e.object));
  } else if (const lane_key last = *workers_[entry.worker].lane(lane_code::ready).rbegin(); last.task != e.subject) {
    violate(e.seq, "R-101",
            say("expected the last-ranked ready entry of worker ", e.object, ", task ", last.task, "; found task ",
                e.subject));
  } else if (entry.insertion != e.b) {
    violate(e.seq, "R-208", say("expected insertion number ", entry.insertion, ", which the victim gave, found ", e.b));
  }
}

// ---- timers and deadlines ------------------------------------------------------------------------------------------

void schedule_model::add_timer(std::uint64_t id, live_timer made) {
  drop_timer(id);
  timers_.emplace(id, made);
  due_timers_.emplace(made.deadline, id);
  last_fired_.reset();  // What is new was not there when the others were collected.
}

bool schedule_model::drop_timer(std::uint64_t id) {
  const auto at = timers_.find(id);
  if (at == timers_.end()) return false;
  due_timers_.erase({at->second.deadline, id});
  timers_.erase(at);
  return true;
}

void schedule_model::on_timer(const event& e) {
  switch (e.kind) {
    case timer_registered: return add_timer(e.subject, {e.a, e.b});
    case timer_updated: drop_timer(e.b); return add_timer(e.subject, {e.a, 0});
    case timers_coalesced:
      promoted_until_ = std::max(promoted_until_, e.b);
      last_fired_.reset();
      return;
    default: drop_timer(e.subject);
  }
}

void schedule_model::on_timer_fired(const event& e) {
  const auto at = timers_.find(e.subject);
  if (at == timers_.end()) {
    if (whole_) violate(e.seq, "INV-TM-02", say("expected a live timer, found timer ", e.subject, ", which is none"));
  } else if (at->second.deadline != e.a) {
    violate(e.seq, "INV-TM-08", say("expected the deadline ", at->second.deadline, " ns, found ", e.a, " ns"));
  } else if (at->second.insertion != 0 && at->second.insertion != e.b) {
    violate(e.seq, "R-81", say("expected insertion number ", at->second.insertion, ", found ", e.b));
  } else if (e.a > e.time_ns && e.a > promoted_until_) {
    violate(e.seq, "INV-TM-08", say("expected it to wait until ", e.a, " ns, found it fired at ", e.time_ns, " ns"));
  } else if (last_fired_ && *last_fired_ > std::pair(e.a, e.b)) {
    violate(e.seq, last_fired_->first == e.a ? "INV-TM-03" : "R-81",
            say("expected timers by deadline, then insertion; found (", e.a, " ns, ", e.b, ") after (",
                last_fired_->first, " ns, ", last_fired_->second, ")"));
  }
  drop_timer(e.subject);
  last_fired_ = {e.a, e.b};
}

void schedule_model::on_deadline(const event& e) {
  const auto at = deadlines_.find(e.subject);
  if (e.kind == deadline_indexed) {
    if (at != deadlines_.end()) due_deadlines_.erase({at->second, e.subject});
    deadlines_.insert_or_assign(e.subject, e.a);
    due_deadlines_.emplace(e.a, e.subject);
    return;
  }
  if (at == deadlines_.end()) {
    if (whole_)
      violate(e.seq, "R-54", say("expected task ", e.subject, " in the deadline index, found it is not there"));
    return;
  }
  if (at->second != e.a) {
    violate(e.seq, "R-54",
            say("expected the deadline ", at->second, " ns of task ", e.subject, ", found ", e.a, " ns"));
  } else if (e.kind == deadline_passed && e.a > e.time_ns) {
    violate(e.seq, "R-54", say("expected it to pass at ", e.a, " ns, found it passed at ", e.time_ns, " ns"));
  }
  if (e.kind == deadline_passed) passed_.insert_or_assign(e.subject, at->second);
  due_deadlines_.erase({at->second, e.subject});
  deadlines_.erase(at);
}

// A deadline that passed still decides the lane until the cancel that it asks for finds room.
std::optional<std::uint64_t> schedule_model::deadline_of(std::uint64_t task) const {
  if (const auto at = deadlines_.find(task); at != deadlines_.end()) return at->second;
  if (const auto at = passed_.find(task); at != passed_.end()) return at->second;
  return std::nullopt;
}

// once the root is told to shut down, nobody waits for a cleanup that sleeps.
void schedule_model::on_root_told(const event& e, std::uint32_t kind) {
  if (e.object == 0 && kind == static_cast<std::uint32_t>(cancel_kind::shutdown)) ignores_time_ = true;
}

}  // namespace asx::detail
