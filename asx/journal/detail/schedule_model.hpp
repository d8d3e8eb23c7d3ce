// asx/journal/detail/schedule_model.hpp - the scheduler's world as its journal tells it, judged event by event.
//
//     runtime_started  scheduler_configured  governor_changed         the setting
//     task_woken  task_requeued  task_dequeued                        the lanes
//     deadline_*  timer_*                                             what is due (INV-SC-07)
//     [streak_limited] [tie_broken | task_stolen] task_dispatched     one decision, judged when its dispatch comes
//     worker_idled  certificate_*                                     the rest
//
// Whatever is wrong is reported and then believed: the model always follows the journal.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "asx/journal/detail/schedule_rules.hpp"
#include "asx/journal/event.hpp"
#include "asx/journal/schedule_check.hpp"

namespace asx::detail {

class schedule_model {
 public:
  void take(const event& e);
  [[nodiscard]] schedule_verdict finish();

 private:
  struct live_timer {
    std::uint64_t deadline = 0;
    std::uint64_t insertion = 0;  // 0 when it is not known, as after timer_updated.
  };
  struct theft {
    event told;          // task_stolen
    bool judged = true;  // False when it was reported already: then nothing more follows from it.
  };
  using by_time = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // (when, who)

  void violate(std::uint64_t seq, std::string_view rule, std::string text);
  void forget_the_past();
  void follow_numbers(const event& e);
  void follow_time(const event& e);
  void drop_unfinished_decision(const event& e);

  // ---- settings, lanes, thefts and ties: schedule_model.cpp
  void on_started(const event& e);
  void on_configured(const event& e);
  void on_governor(const event& e);
  void on_inserted(const event& e);
  void on_dequeued(const event& e);
  void on_stolen(const event& e);
  void on_idled(const event& e);
  void on_streak_limited(const event& e);
  void on_chosen(const event& e);
  void on_certificate(const event& e);

  // ---- dispatches: schedule_dispatch.cpp
  void on_dispatched(const event& e);
  void check_phase_zero(const event& e);
  void check_stall(const event& e, schedule_worker& by);
  void check_from_lane(const event& e, lane_code source, schedule_worker& by);
  bool check_record(const event& e, const queued_task& entry, lane_code lane, bool stolen);
  void check_choice(const event& e, schedule_worker& by, step_choice found);
  void check_order(const event& e, const queued_task& entry, schedule_worker& by);
  void check_tie(const event& e, const queued_task& entry, schedule_worker& by);
  void count(lane_code source, schedule_worker& by);
  [[nodiscard]] std::uint64_t bound_of(const queued_task& entry, const schedule_worker& of) const;
  void judge_wait(const event& e, const queued_task& entry);

  // ---- timers and deadlines: schedule_model.cpp
  void on_timer(const event& e);
  void on_timer_fired(const event& e);
  void add_timer(std::uint64_t id, live_timer made);
  bool drop_timer(std::uint64_t id);
  void on_deadline(const event& e);
  void on_root_told(const event& e, std::uint32_t kind);
  [[nodiscard]] std::optional<std::uint64_t> deadline_of(std::uint64_t task) const;

  schedule_worker& worker(const event& e, std::uint16_t number);
  void remove(const queued_task& entry);
  [[nodiscard]] bool others_have_ready(const schedule_worker& w) const noexcept;

  schedule_verdict verdict_;
  schedule_setup setup_;
  bool whole_ = true;              // Every event from 1 on was there.
  bool count_known_ = true;        // No dispatch is missing since the certificate was last reset.
  std::uint64_t intact_from_ = 1;  // The first event after which nothing is missing.
  std::uint64_t time_ns_ = 0;
  std::uint64_t unjudged_ties_ = 0;

  governor_code governor_ = governor_code::no_preference;
  bool governor_known_ = true;
  std::map<std::uint16_t, schedule_worker> workers_;
  std::map<std::uint64_t, queued_task> queued_;
  std::uint64_t ready_entries_ = 0;  // In all workers' ready lanes.

  std::optional<event> tie_;
  std::optional<theft> theft_;
  std::optional<std::uint64_t> stall_task_;
  std::optional<std::uint16_t> chosen_;
  draw_stream order_;
  bool order_known_ = true;

  std::map<std::uint64_t, live_timer> timers_;
  by_time due_timers_;  // Those that may not be overdue; one that was reported is taken out.
  std::map<std::uint64_t, std::uint64_t> deadlines_;
  by_time due_deadlines_;
  std::map<std::uint64_t, std::uint64_t> passed_;  // Deadlines that passed; their tasks are not cancelled yet.
  std::uint64_t promoted_until_ = 0;               // The last boundary of timers_coalesced.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> last_fired_;  // In this phase 0: (deadline, insertion).
  std::uint64_t foreign_holds_ = 0;
  bool ignores_time_ = false;  // Everything was told to shut down: stall polls wait for no timer.
};

inline void append_part(std::string& out, std::string_view part) {
  out += part;
}
inline void append_part(std::string& out, std::uint64_t number) {
  out += std::to_string(number);
}
/// A sentence from words and numbers.
template <class... Parts>
[[nodiscard]] std::string say(const Parts&... parts) {
  std::string out;
  (append_part(out, parts), ...);
  return out;
}

}  // namespace asx::detail
