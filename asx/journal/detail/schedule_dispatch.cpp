// How a dispatch is judged: was the task there, was it its turn, was anything due, and how long did it wait?
#include <algorithm>
#include <iterator>

#include "asx/journal/describe.hpp"
#include "asx/journal/detail/schedule_model.hpp"

namespace asx::detail {

void schedule_model::on_dispatched(const event& e) {
  ++verdict_.dispatches;
  if (!whole_) ++verdict_.unchecked;
  const std::uint32_t code = high_half(e.a);
  schedule_worker& by = worker(e, e.worker);
  check_phase_zero(e);
  if (code > static_cast<std::uint32_t>(lane_code::stall)) {
    violate(e.seq, "R-96", say("expected a source from 0 to 4, found ", code));
  } else {
    const auto source = static_cast<lane_code>(code);
    if (source == lane_code::stall) {
      check_stall(e, by);
    } else {
      if (chosen_ && *chosen_ != e.worker) {
        violate(e.seq, "R-210", say("expected worker ", *chosen_, " to step, found worker ", e.worker));
      }
      check_from_lane(e, source, by);
    }
    count(source, by);
  }
  by.idle = false;
  chosen_.reset();
  tie_.reset();
  theft_.reset();
  stall_task_.reset();
  last_fired_.reset();
}

void schedule_model::check_phase_zero(const event& e) {
  const auto overdue = [&e](by_time& due) {
    std::uint64_t found = 0;
    for (; !due.empty() && due.begin()->first <= e.time_ns; ++found) due.erase(due.begin());
    return found;
  };
  if (!due_timers_.empty() && due_timers_.begin()->first <= e.time_ns) {
    const auto [when, timer] = *due_timers_.begin();
    violate(e.seq, "INV-SC-07",
            say("expected timer ", timer, ", due at ", when, " ns, to fire first; found ", overdue(due_timers_),
                " overdue at ", e.time_ns, " ns"));
  }
  if (!due_deadlines_.empty() && due_deadlines_.begin()->first <= e.time_ns) {
    const auto [when, task] = *due_deadlines_.begin();
    violate(e.seq, "INV-SC-07",
            say("expected the deadline of task ", task, ", ", when, " ns, to pass first; found ",
                overdue(due_deadlines_), " overdue at ", e.time_ns, " ns"));
  }
}

void schedule_model::check_stall(const event& e, schedule_worker& by) {
  if (!queued_.empty()) {
    violate(e.seq, "R-132",
            say("expected nothing to be runnable at a stall poll, found ", queued_.size(), " tasks queued"));
  } else if ((!ignores_time_ && (!timers_.empty() || !deadlines_.empty())) || foreign_holds_ != 0) {
    violate(e.seq, "R-132",
            say("expected nothing to be pending at a stall poll, found ", timers_.size(), " timers, ",
                deadlines_.size(), " deadlines and ", foreign_holds_, " holds from outside"));
  } else if (whole_ && stall_task_ != e.subject) {
    violate(e.seq, "R-132", say("expected a stall_poll of task ", e.subject, " before its dispatch, found none"));
  } else if (e.b != 0 || e.cause != 0 || e.object != 0) {
    violate(e.seq, "R-132", say("expected no insertion number, deadline or cause: nobody queued task ", e.subject));
  } else if (whole_ && (by.cancel_streak != 0 || by.timed_streak != 0)) {
    violate(e.seq, "R-207",
            say("expected worker ", e.worker, " to be idle, with streaks of 0; found ", by.cancel_streak, " and ",
                by.timed_streak));
  }
  if (const auto at = queued_.find(e.subject); at != queued_.end()) remove(queued_task(at->second));
  by.park();
}

void schedule_model::check_from_lane(const event& e, lane_code source, schedule_worker& by) {
  const lane_code lane = source == lane_code::fallback ? lane_code::cancel : source;
  const bool stolen = theft_ && theft_->told.worker == e.worker && theft_->told.subject == e.subject;
  if (theft_ && !stolen) {
    violate(theft_->told.seq, "R-208",
            say("expected the dispatch of task ", theft_->told.subject, " by worker ", theft_->told.worker,
                " directly after it, found event ", e.seq));
  }
  const auto at = queued_.find(e.subject);
  if (at == queued_.end()) {
    if (whole_) return violate(e.seq, "R-96", say("expected task ", e.subject, " to be in a lane, found it in none"));
    if (e.cause >= intact_from_) {
      violate(e.seq, "R-113",
              say("expected event ", e.cause, ", its cause, to have put task ", e.subject, " into a lane; it has not"));
    }
    // Queued before the journal begins: its own record is all there is, and enough to compare it with what is known.
    const queued_task told{.task = e.subject,
                           .lane = lane,
                           .priority = static_cast<std::uint8_t>(low_half(e.a)),
                           .worker = e.worker,
                           .deadline = e.object,
                           .insertion = e.b,
                           .queued_by = e.cause,
                           .before = {}};
    if (!stolen) check_order(e, told, by);
    return;
  }
  queued_task entry = at->second;
  if (check_record(e, entry, lane, stolen)) {
    if (stolen) {
      if (whole_ && theft_->judged) check_choice(e, by, step_choice::theft);
    } else {
      if (whole_) check_choice(e, by, static_cast<step_choice>(source));
      check_order(e, entry, by);
    }
  }
  judge_wait(e, entry);
  remove(entry);
}

/// False when the entry was not where the dispatch says: then its turn cannot be judged.
bool schedule_model::check_record(const event& e, const queued_task& entry, lane_code lane, bool stolen) {
  if (entry.lane != lane) {
    violate(e.seq, "R-96",
            say("expected task ", e.subject, " from ", name(entry.lane), ", found it from ", name(lane)));
    return false;
  }
  if (entry.worker != e.worker && !stolen) {
    violate(e.seq, "R-208",
            say("expected worker ", entry.worker, " to dispatch task ", e.subject,
                ", which is in its lane; found worker ", e.worker, " without a theft"));
    return false;
  }
  const std::uint64_t deadline = entry.deadline_known ? entry.deadline : e.object;
  if (low_half(e.a) != entry.priority) {
    violate(
        e.seq, "R-96",
        say("expected priority ", std::uint64_t{entry.priority}, " of task ", e.subject, ", found ", low_half(e.a)));
  } else if (e.object != deadline) {
    violate(e.seq, "R-96", say("expected deadline ", deadline, " ns of task ", e.subject, ", found ", e.object, " ns"));
  } else if (e.b != entry.insertion) {
    violate(e.seq, "R-96", say("expected insertion number ", entry.insertion, " of task ", e.subject, ", found ", e.b));
  } else if (e.cause != entry.queued_by) {
    violate(
        e.seq, "R-113",
        say("expected event ", entry.queued_by, " as the cause, which queued task ", e.subject, "; found ", e.cause));
  }
  return true;
}

void schedule_model::check_choice(const event& e, schedule_worker& by, step_choice found) {
  const step_choice wanted = prescribed(by, others_have_ready(by), setup_, governor_);
  if (wanted == found) return;
  std::string state;
  append_value(state, field_type::governor, static_cast<std::uint64_t>(governor_));
  violate(e.seq, rule_broken(wanted, found, by, setup_, governor_),
          say("expected ", name(wanted), ", found ", name(found), ": worker ", e.worker, " has ",
              by.lane(lane_code::cancel).size(), " cancel, ", by.lane(lane_code::timed).size(), " timed, ",
              by.lane(lane_code::ready).size(), " ready; cancel streak ", by.cancel_streak, " of ",
              setup_.cancel_limit_under(governor_), ", timed streak ", by.timed_streak, " of ", setup_.timed_limit,
              "; ", state));
}

void schedule_model::check_order(const event& e, const queued_task& entry, schedule_worker& by) {
  if (whole_ && entry.lane == lane_code::ready && (setup_.random_ties || tie_)) return check_tie(e, entry, by);
  if (whole_ && tie_) {
    violate(tie_->seq, "R-209", say("expected a tie-break for a ready dispatch, found one for ", name(entry.lane)));
  }
  const std::set<lane_key>& lane = by.lane(entry.lane);
  const lane_key mine = entry.key();
  if (lane.empty() || !(*lane.begin() < mine) || !entry.deadline_known) return;
  const lane_key first = *lane.begin();
  const bool timed = entry.lane == lane_code::timed, equal = first.rank == mine.rank;
  if (!whole_ && equal && entry.lane == lane_code::ready) return;  // A tie-break may have chosen it.
  violate(e.seq,
          timed   ? equal ? "INV-SC-03" : "R-96"
          : equal ? "INV-SC-02"
                  : "R-97",
          say("expected task ", first.task, timed ? ", due at " : ", priority ", timed ? first.rank : 255 - first.rank,
              timed ? " ns" : "", ", insertion ", first.insertion, "; found task ", mine.task,
              timed ? ", due at " : ", priority ", timed ? mine.rank : 255 - mine.rank, timed ? " ns" : "",
              ", insertion ", mine.insertion));
}

/// one draw when several entries have the highest priority, which stand in insertion order.
void schedule_model::check_tie(const event& e, const queued_task& entry, schedule_worker& by) {
  const std::set<lane_key>& lane = by.lane(lane_code::ready);
  const std::uint64_t rank = lane.begin()->rank;
  std::uint64_t candidates = 0, mine = UINT64_MAX;
  for (auto at = lane.begin(); at != lane.end() && at->rank == rank; ++at, ++candidates) {
    if (at->task == entry.task) mine = candidates;
  }
  if (mine == UINT64_MAX) {
    violate(e.seq, "R-97",
            say("expected a task of priority ", 255 - rank, ", found task ", entry.task, " of priority ",
                std::uint64_t{entry.priority}));
  }
  const bool wanted = setup_.random_ties && candidates > 1;
  if (!tie_) {
    if (!wanted) return;
    violate(e.seq, "R-98", say("expected a tie-break among ", candidates, " candidates before it, found none"));
    by.ties_known = false;
    return;
  }
  const std::uint64_t told = low_half(tie_->a), chosen = high_half(tie_->a);
  if (!wanted) {
    return violate(
        tie_->seq, "R-98",
        say("expected no tie-break: ", setup_.random_ties ? "there is one candidate" : "ready_tiebreak is fifo"));
  }
  const std::uint64_t drawn = by.ties.next() % candidates;
  if (tie_->worker != e.worker || told != candidates) {
    violate(tie_->seq, "R-98",
            say("expected ", candidates, " candidates of worker ", e.worker, ", found ", told, " of worker ",
                tie_->worker));
  } else if (mine != UINT64_MAX && chosen != mine) {
    const lane_key picked =
        chosen < candidates ? *std::next(lane.begin(), static_cast<std::ptrdiff_t>(chosen)) : lane_key{};
    violate(
        e.seq, "R-98",
        say("expected candidate ", chosen, ", task ", picked.task, ", as the tie-break says; found task ", entry.task));
  } else if (by.ties_known && chosen != drawn) {
    violate(tie_->seq, "R-99",
            say("expected candidate ", drawn, " of ", candidates, ", which the seed draws, found ", chosen));
    by.ties_known = false;  // Whether a draw was missed or one was wrong cannot be told: later ones are believed.
    return;
  }
  if (!by.ties_known) ++unjudged_ties_;
}

void schedule_model::count(lane_code source, schedule_worker& by) {
  recomputed_certificate& c = verdict_.certificate;
  const std::uint64_t limit = setup_.cancel_limit_under(governor_);
  c.max_effective_limit_observed = std::max(c.max_effective_limit_observed, limit);
  by.run(source, setup_);
  switch (source) {
    case lane_code::cancel:
    case lane_code::fallback:
      ++(source == lane_code::cancel ? c.cancel_dispatches : c.fallback_cancel_dispatches);
      if (by.cancel_streak > setup_.cancel_limit) ++c.base_limit_exceedances;
      if (by.cancel_streak > limit) ++c.effective_limit_exceedances;
      break;
    case lane_code::timed: ++c.timed_dispatches; break;
    case lane_code::ready: ++c.ready_dispatches; break;
    default: ++c.fallback_cancel_dispatches; break;
  }
  ++by.counts.all;
  const lane_code lane = source == lane_code::fallback || source == lane_code::stall ? lane_code::cancel : source;
  ++by.counts.of[static_cast<std::size_t>(lane)];
  switch (governor_) {
    case governor_code::no_preference: by.last_plain = by.counts.all; break;
    case governor_code::meet_deadlines: by.last_meet = by.counts.all; break;
    default: by.last_drain = by.counts.all; break;
  }
}

std::uint64_t schedule_model::bound_of(const queued_task& entry, const schedule_worker& of) const {
  const std::uint64_t since = entry.before.all;
  const auto passed = [&entry, &of](lane_code lane) {
    const auto i = static_cast<std::size_t>(lane);
    return of.counts.of[i] - entry.before.of[i];
  };
  const bool drains = governor_ == governor_code::drain_obligations || governor_ == governor_code::drain_regions;
  const bool meets = governor_ == governor_code::meet_deadlines;
  const bool was_plain = of.last_plain > since || governor_ == governor_code::no_preference;
  const bool was_met = of.last_meet > since || meets, was_drained = of.last_drain > since || drains;
  return wait_bound({.lane = entry.lane,
                     .same_lane = passed(entry.lane),
                     .timed = passed(lane_code::timed),
                     .limit_min = was_plain || was_met ? setup_.cancel_limit : 2 * setup_.cancel_limit,
                     .limit_max = was_drained ? 2 * setup_.cancel_limit : setup_.cancel_limit,
                     .met_deadlines = was_met,
                     .only_deadlines = was_met && !was_plain && !was_drained},
                    setup_.timed_limit);
}

void schedule_model::judge_wait(const event& e, const queued_task& entry) {
  const schedule_worker& of = workers_[entry.worker];
  const std::uint64_t wait = of.counts.all - entry.before.all + 1;
  lane_waits& seen = verdict_.waits[static_cast<std::size_t>(entry.lane)];
  ++seen.entries;
  if (wait > seen.longest) {
    seen.longest = wait;
    seen.longest_seq = e.seq;
  }
  const std::uint64_t bound = bound_of(entry, of);
  if (!whole_ || bound == no_bound) return;
  ++seen.judged;
  if (static_cast<double>(wait) / static_cast<double>(bound) > seen.worst_ratio()) {
    seen.worst_wait = wait;
    seen.worst_bound = bound;
    seen.worst_seq = e.seq;
  }
  if (wait > bound) {
    violate(e.seq, entry.lane == lane_code::cancel ? "R-204" : "INV-SC-04",
            say("expected task ", entry.task, " to be dispatch ", bound, " of worker ", entry.worker,
                " after it was queued, at the latest; found it to be dispatch ", wait));
  }
}

}  // namespace asx::detail
