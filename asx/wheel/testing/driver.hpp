// asx/wheel/testing/driver.hpp - gives a wheel and its model the same operations and says where they differ.
//
//     wheel_scenarios   the configurations that the random tests and the fuzzer run under
//     operation_source  the next operation, from any source of draws: a seed, or a fuzzer's bytes
//     wheel_pair        a wheel and a model; apply() compares them after each operation
//
// Compared: every status, id, batch (order, handles, deadlines, tokens), next deadline, count, time, and the
// liveness of handles that are live, stale or forged. Not compared: the value of a generation; but no
// handle may be given out twice.
//
// Cancel points: none. Threads: one owner. Lifetime: a pair owns its wheel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/wheel/testing.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx {

// A configuration, how many timers its driver keeps alive, how far its clock usually jumps, and how many operations
// one wheel lives: few where the end of time is near, since nothing happens after it.
struct wheel_scenario {
  std::string_view name;
  wheel_config config;
  std::size_t population = 0;
  duration stride;
  std::uint64_t episode = 8000;
};

inline std::vector<wheel_scenario> wheel_scenarios() {
  constexpr auto ms = [](std::uint64_t n) { return duration::milliseconds(n); };
  constexpr auto ago = [](duration d) { return instant{UINT64_MAX - d.ns}; };
  constexpr std::uint64_t last = UINT64_MAX;
  const duration day = duration::days(1);
  const duration week = duration::days(7);
  const instant year_ten{duration::days(3650).ns + 123'456'789};
  // name, {capacity, max wheel, max timer, window, group, start, first id, first generation}, population, stride,
  // episode
  return {
      {"defaults", {65536, day, week, {}, 2, {}, 1, 1}, 400, duration::seconds(20)},
      {"crowd", {65536, day, week, {}, 2, year_ten, 1, 1}, 2500, ms(40)},
      {"full", {4, day, week, {}, 2, year_ten, last - 2, last - 2}, 6, duration::hours(6)},
      {"alone", {1, ms(1), ms(300), {}, 2, {}, last, last}, 2, ms(200)},
      {"overflow", {64, ms(1), week, {}, 2, {}, last - 40, 1}, 60, duration::minutes(2)},
      {"widest", {256, largest_wheel_duration, duration::days(100), {}, 2, year_ten, 1, last - 40}, 200, day},
      {"endless", {256, duration::hours(5), duration::max(), {}, 2, {}, 1, 1}, 100, duration::hours(3)},
      {"short", {32, day, ms(400), {}, 2, year_ten, 1, 1}, 30, ms(90)},
      {"window", {256, day, week, ms(10), 3, {}, 1, 1}, 120, ms(30)},
      {"pair window", {64, ms(70'000), day, ms(256), 2, year_ten, 1, 1}, 60, duration::seconds(2)},
      {"odd window", {512, duration::hours(1), week, duration{999'983}, 5, {}, last - 9, last - 9}, 300, ms(3)},
      {"hour window", {128, ms(500), week, duration::hours(1), 7, {}, 1, 1}, 120, duration::minutes(9)},
      {"lone window", {16, day, week, ms(5), 1, year_ten, 1, 1}, 16, ms(9)},
      {"last week", {64, day, week, {}, 2, ago(duration::days(9)), last - 9, last - 9}, 50, duration::hours(1), 2000},
      {"last window",
       {64, largest_wheel_duration, week, ms(1000), 4, ago(duration::hours(3)), 1, 1},
       50,
       ms(900),
       4000},
      {"last second", {8, ms(1), duration::max(), ms(7), 2, ago(duration::seconds(1)), last, 1}, 8, ms(20), 300},
  };
}

enum class wheel_target : std::uint8_t { live, stale, forged };

enum class wheel_call : std::uint8_t {
  register_timer,
  try_register,
  cancel,
  update,
  collect,
  advance,
  is_live,
  purge,
  set_next_id,
  check
};

struct wheel_operation {
  wheel_call call = wheel_call::check;
  instant when;                              // A deadline, or the present of collect and advance.
  std::size_t room = 0;                      // collect: how many fit.
  wheel_target target = wheel_target::live;  // cancel, update, is_live: which kind of handle,
  std::uint64_t pick = 0;                    // and which one of them; for set_next_id the id.
};

// What a run has met. A driver that never meets one of these proves less than it says.
enum class wheel_event : std::uint8_t {
  accepted,
  accepted_past,
  accepted_overflow,
  refused_duration,
  refused_full,
  cancelled,
  cancel_refused,
  updated_live,
  updated_stale,
  update_refused_live,
  update_refused_stale,
  reused_old_id,
  skipped_live_id,
  fired,
  fired_tied,
  fired_early,
  left_due,
  left_early,
  time_back,
  count
};

inline constexpr auto wheel_event_names = std::to_array<std::string_view>(
    {"accepted", "accepted_past", "accepted_overflow", "refused_duration", "refused_full", "cancelled",
     "cancel_refused", "updated_live", "updated_stale", "update_refused_live", "update_refused_stale", "reused_old_id",
     "skipped_live_id", "fired", "fired_tied", "fired_early", "left_due", "left_early", "time_back"});
static_assert(wheel_event_names.size() == static_cast<std::size_t>(wheel_event::count));

using wheel_coverage = std::array<std::uint64_t, static_cast<std::size_t>(wheel_event::count)>;

class wheel_pair {
 public:
  explicit wheel_pair(const wheel_config& config) : config_(config), wheel_(config), model_(config) {}

  /// Empty when wheel and model agree; otherwise what differs and the last ten operations.
  [[nodiscard]] std::string apply(const wheel_operation& op) {
    history_[applied_ % history_.size()] = {op, model_.now()};
    ++applied_;
    std::string difference = perform(op);
    if (difference.empty()) difference = compare_state();
    return difference.empty() ? difference : difference + "\n" + recent_operations();
  }

  [[nodiscard]] const wheel_config& config() const { return config_; }
  [[nodiscard]] const wheel_model& model() const { return model_; }
  [[nodiscard]] const timer_wheel& wheel() const { return wheel_; }
  [[nodiscard]] const wheel_coverage& coverage() const { return coverage_; }
  [[nodiscard]] std::uint64_t applied() const { return applied_; }
  [[nodiscard]] std::string recent_operations() const;

 private:
  struct known {
    timer_handle wheel;
    timer_handle model;
    std::uint64_t record;  // The token's serial number: unique in a pair, ascending in live_.
  };
  struct past {
    wheel_operation op;
    instant now;
  };

  std::string perform(const wheel_operation& op) {
    switch (op.call) {
      case wheel_call::register_timer:
      case wheel_call::try_register: return enter(op);
      case wheel_call::update: return update(op);
      case wheel_call::collect: return collect(op);
      case wheel_call::cancel: {
        const known target = find_target(op);
        const bool want = model_.cancel(target.model);
        saw(want ? wheel_event::cancelled : wheel_event::cancel_refused);
        if (wheel_.cancel(target.wheel) != want) return text("cancel gave ", !want, ", the model ", want);
        if (want) retire(target);
        return expect_dead(target, want);
      }
      case wheel_call::advance: {
        if (op.when < model_.now()) saw(wheel_event::time_back);
        model_.advance(op.when);
        wheel_.advance(op.when);
        return {};
      }
      case wheel_call::is_live: {
        const known target = find_target(op);
        const bool want = model_.is_live(target.model);
        if (wheel_.is_live(target.wheel) != want) return text("is_live gave ", !want, ", the model ", want);
        return {};
      }
      case wheel_call::purge:
        wheel_.purge();
        model_.purge();
        return {};
      case wheel_call::set_next_id:
        wheel_.set_next_id(op.pick);
        model_.set_next_id(op.pick);
        return {};
      case wheel_call::check: wheel_.check(); return {};
    }
    return "no such call";
  }

  std::string enter(const wheel_operation& op) {
    const wake_token token = next_token();
    const bool is_past = op.when <= model_.now();
    const bool is_overflow = op.when - model_.now() >= config_.max_wheel_duration;
    const std::uint64_t counter = model_.next_id();
    timer_handle got;
    timer_handle want;
    const bool is_try = op.call == wheel_call::try_register;
    const status expected =
        is_try ? model_.try_register(op.when, token, want) : model_.register_timer(op.when, token, want);
    const status actual =
        is_try ? wheel_.try_register(op.when, token, got) : wheel_.register_timer(op.when, token, got);
    if (actual != expected) return text("register gave ", name(actual), ", the model ", name(expected));
    if (expected != status::ok) {
      saw(expected == status::resource_exhausted ? wheel_event::refused_full : wheel_event::refused_duration);
      return got.is_null() ? std::string{} : "a refused register made up a handle";
    }
    saw(wheel_event::accepted);
    if (is_past) saw(wheel_event::accepted_past);
    if (is_overflow) saw(wheel_event::accepted_overflow);
    if (counter != 0 && want.id != counter) saw(wheel_event::skipped_live_id);
    return remember(got, want, token);
  }

  std::string update(const wheel_operation& op) {
    const known target = find_target(op);
    const bool was_live = model_.is_live(target.model);
    const wake_token token = next_token();
    timer_handle got;
    timer_handle want;
    const status expected = model_.update(target.model, op.when, token, want);
    const status actual = wheel_.update(target.wheel, op.when, token, got);
    if (actual != expected) return text("update gave ", name(actual), ", the model ", name(expected));
    if (expected != status::ok) {
      saw(was_live ? wheel_event::update_refused_live : wheel_event::update_refused_stale);
      if (!got.is_null()) return "a refused update made up a handle";
      return wheel_.is_live(target.wheel) == was_live ? std::string{} : "a refused update touched the old timer (R-85)";
    }
    saw(was_live ? wheel_event::updated_live : wheel_event::updated_stale);
    if (was_live) retire(target);
    if (was_live && want.id == target.model.id) saw(wheel_event::reused_old_id);
    std::string difference = remember(got, want, token);
    return difference.empty() ? expect_dead(target, true) : difference;
  }

  std::string collect(const wheel_operation& op) {
    if (op.when < model_.now()) saw(wheel_event::time_back);
    got_.assign(op.room, {});
    want_.assign(op.room, {});
    const std::size_t want = model_.collect_expired(op.when, want_);
    const std::size_t got = wheel_.collect_expired(op.when, got_);
    for (std::size_t i = 0; i < std::min(got, want); ++i) {
      const known* timer = find_live(want_[i].token.record);
      if (timer == nullptr) return text("the model fired an unknown timer at place ", i);
      if (got_[i].token != want_[i].token || got_[i].deadline != want_[i].deadline || got_[i].handle != timer->wheel) {
        return text("place ", i, " of the batch is id ", got_[i].handle.id, " deadline ", got_[i].deadline.ns,
                    ", the model's is id ", want_[i].handle.id, " deadline ", want_[i].deadline.ns);
      }
      saw(wheel_event::fired);
      if (i > 0 && want_[i].deadline == want_[i - 1].deadline) saw(wheel_event::fired_tied);
      if (want_[i].deadline > model_.now()) saw(wheel_event::fired_early);
      const known fired = *timer;
      retire(fired);
      if (wheel_.is_live(fired.wheel)) return text("id ", fired.wheel.id, " fired and is still live");
    }
    if (got != want) return text("collect gave ", got, " timers, the model ", want);
    for (const wheel_model::entry& e : model_.timers()) {
      if (e.chosen) saw(e.deadline <= model_.now() ? wheel_event::left_due : wheel_event::left_early);
    }
    return {};
  }

  std::string compare_state() const {
    if (wheel_.live() != model_.live()) return text("live() is ", wheel_.live(), ", the model's ", model_.live());
    if (wheel_.now() != model_.now()) return text("now() is ", wheel_.now().ns, ", the model's ", model_.now().ns);
    const instant got = wheel_.next_deadline();
    const instant want = model_.next_deadline();
    if (got != want) return text("next_deadline() is ", got.ns, ", the model's ", want.ns);
    if (wheel_.capacity() != model_.capacity()) return text("capacity() is ", wheel_.capacity());
    return {};
  }

  // the id is the model's; the pair of numbers was never seen before.
  std::string remember(timer_handle got, timer_handle want, wake_token token) {
    if (got.id != want.id) return text("the new id is ", got.id, ", the model's ", want.id);
    if (!wheel_.is_live(got)) return text("id ", got.id, " was accepted and is not live");
    const auto is_same = [&](const known& k) { return k.wheel == got; };
    if (std::any_of(live_.begin(), live_.end(), is_same) || std::any_of(stale_.begin(), stale_.end(), is_same)) {
      return text("the handle of id ", got.id, " was given out before");
    }
    live_.push_back({got, want, token.record});
    return {};
  }

  std::string expect_dead(const known& target, bool must_be_dead) const {
    return must_be_dead && wheel_.is_live(target.wheel) ? text("id ", target.wheel.id, " is dead and still live") : "";
  }

  void retire(const known& timer) {
    std::erase_if(live_, [&](const known& k) { return k.record == timer.record; });
    if (stale_.size() < 64) {
      stale_.push_back(timer);
    } else {
      stale_[timer.record % stale_.size()] = timer;
    }
  }

  [[nodiscard]] const known* find_live(std::uint64_t record) const {
    const auto at = std::lower_bound(live_.begin(), live_.end(), record,
                                     [](const known& k, std::uint64_t wanted) { return k.record < wanted; });
    return at != live_.end() && at->record == record ? &*at : nullptr;
  }

  [[nodiscard]] known find_target(const wheel_operation& op) const {
    const std::vector<known>& first = op.target == wheel_target::stale ? stale_ : live_;
    const std::vector<known>& from = first.empty() ? stale_ : first;
    if (from.empty()) return {};
    const known base = from[op.pick % from.size()];
    return op.target == wheel_target::forged ? forge(base, op.pick / from.size()) : base;
  }

  // INV-TM-01: one number right is not enough. The other is off by one, gone, or a neighbour's.
  [[nodiscard]] known forge(const known& base, std::uint64_t how) const {
    const known other = live_.empty() ? base : live_[how / 8 % live_.size()];
    known forged{base.wheel, {}, 0};
    switch (how % 8) {
      case 0: ++forged.wheel.generation; break;
      case 1: --forged.wheel.generation; break;
      case 2: forged.wheel.generation = 0; break;
      case 3: forged.wheel.generation = other.wheel.generation; break;
      case 4: ++forged.wheel.id; break;
      case 5: forged.wheel.id = other.wheel.id; break;
      case 6: forged.wheel = {0, 0}; break;
      default: forged.wheel.generation ^= std::uint64_t{1} << (how / 8 % 64); break;
    }
    for (const known& k : live_) {
      if (k.wheel == forged.wheel) return k;  // By chance a real one.
    }
    return forged;
  }

  wake_token next_token() {
    ++serial_;
    return {serial_, serial_ * 0x9e3779b97f4a7c15U};
  }

  void saw(wheel_event event) { ++coverage_[static_cast<std::size_t>(event)]; }

  template <class... Parts>
  static std::string text(const Parts&... parts) {
    std::string all;
    (append(all, parts), ...);
    return all;
  }
  static void append(std::string& all, std::string_view part) { all += part; }
  static void append(std::string& all, const char* part) { all += part; }
  static void append(std::string& all, bool part) { all += part ? "true" : "false"; }
  static void append(std::string& all, std::uint64_t part) { all += std::to_string(part); }
  static void append(std::string& all, std::uint32_t part) { all += std::to_string(part); }

  wheel_config config_;
  timer_wheel wheel_;
  wheel_model model_;
  std::vector<known> live_;
  std::vector<known> stale_;
  std::vector<expired_timer> got_;
  std::vector<expired_timer> want_;
  std::array<past, 10> history_{};
  std::uint64_t applied_ = 0;
  std::uint64_t serial_ = 0;
  wheel_coverage coverage_{};
};

/// One line: the call, its handle, its time and how far that is from the present before the call.
inline std::string describe(const wheel_operation& op, instant now) {
  static constexpr auto calls =
      std::to_array<std::string_view>({"register", "try_register", "cancel", "update", "collect", "advance", "is_live",
                                       "purge", "set_next_id", "check"});
  static constexpr auto targets = std::to_array<std::string_view>({" live", " stale", " forged"});
  const bool has_target =
      op.call == wheel_call::cancel || op.call == wheel_call::update || op.call == wheel_call::is_live;
  const bool has_time = op.call <= wheel_call::try_register || op.call == wheel_call::update ||
                        op.call == wheel_call::collect || op.call == wheel_call::advance;
  std::string line(calls[static_cast<std::size_t>(op.call)]);
  if (has_target) line += targets[static_cast<std::size_t>(op.target)];
  if (has_target || op.call == wheel_call::set_next_id) line += " " + std::to_string(op.pick);
  if (has_time && op.when < now) line += " at now-" + std::to_string(now.ns - op.when.ns) + "ns";
  if (has_time && op.when >= now) line += " at now+" + std::to_string(op.when.ns - now.ns) + "ns";
  if (op.call == wheel_call::collect) line += " room " + std::to_string(op.room);
  return line + " (now " + std::to_string(now.ns) + ")";
}

inline std::string wheel_pair::recent_operations() const {
  std::string lines;
  const std::uint64_t first = applied_ > history_.size() ? applied_ - history_.size() : 0;
  for (std::uint64_t i = first; i < applied_; ++i) {
    const past& p = history_[i % history_.size()];
    lines += "  operation " + std::to_string(i) + ": " + describe(p.op, p.now) + "\n";
  }
  return lines;
}

[[nodiscard]] constexpr instant earlier_by(instant t, duration d) noexcept {
  return {t.ns > d.ns ? t.ns - d.ns : 0};
}

/// Draws the next operation for a pair. `Draws` has next_below(bound); everything else comes from the model, so
/// that a wheel that errs does not change what it is asked.
template <class Draws>
class operation_source {
 public:
  operation_source(Draws& draws, const wheel_scenario& scenario) : draws_(draws), scenario_(scenario) {}

  wheel_operation draw(const wheel_model& model) {
    constexpr auto rooms = std::to_array<std::size_t>({0, 1, 2, 7, 1000});
    wheel_operation op;
    const std::uint64_t dice = draws_.next_below(64);
    const std::uint64_t growth = model.live() < scenario_.population ? 34 : 14;
    const std::uint64_t rest = dice < growth ? 0 : (dice - growth) * 30 / (64 - growth);  // 0 to 29
    if (dice < growth) {
      op.call = dice % 4 == 0 ? wheel_call::try_register : wheel_call::register_timer;
      op.when = deadline(model);
    } else if (rest < 14) {
      op.call = rest < 6 ? wheel_call::cancel : rest < 12 ? wheel_call::update : wheel_call::is_live;
      const std::uint64_t kind = draws_.next_below(8);
      op.target = kind < 5 ? wheel_target::live : kind < 7 ? wheel_target::stale : wheel_target::forged;
      op.pick = draws_.next_below(UINT64_MAX);
      if (op.call == wheel_call::update) op.when = deadline(model);
    } else if (rest < 25) {
      op.call = wheel_call::collect;
      op.room = rooms[draws_.next_below(rooms.size())];
      op.when = present(model);
    } else if (rest < 27) {
      op.call = wheel_call::advance;
      op.when = present(model);
    } else if (rest < 28) {
      op.call = wheel_call::set_next_id;
      op.pick = id(model);
    } else {
      op.call = rest < 29 ? wheel_call::purge : wheel_call::check;
    }
    return op;
  }

 private:
  static constexpr duration tick = duration::milliseconds(1);
  static constexpr duration one{1};

  [[nodiscard]] static constexpr duration resolution(std::uint64_t level) {
    return duration::milliseconds(std::uint64_t{1} << (8 * level));
  }

  duration below(duration bound) { return duration{draws_.next_below(std::max<std::uint64_t>(bound.ns, 1))}; }

  instant nudge(instant t) {
    switch (draws_.next_below(6)) {
      case 0: return t + one;
      case 1: return earlier_by(t, one);
      case 2: return t + tick;
      case 3: return earlier_by(t, tick);
      default: return t;
    }
  }

  // The edge of a slot: the next one, or the last ones that a level reaches.
  instant slot_edge(instant now) {
    constexpr auto slots = std::to_array<std::uint64_t>({1, 2, 255, 256, 257});
    const duration size = resolution(draws_.next_below(4));
    const std::uint64_t choice = draws_.next_below(slots.size() + 3);
    const std::uint64_t slot = choice < slots.size() ? slots[choice] : 1 + draws_.next_below(256);
    return nudge(instant{now.ns - now.ns % size.ns} + duration{slot * size.ns});
  }

  instant window_edge(instant now) {
    const std::uint64_t window = std::max(scenario_.config.coalesce_window, tick).ns;
    return nudge(instant{now.ns - now.ns % window} + duration{window * draws_.next_below(4)});
  }

  instant some_deadline(const wheel_model& model) {
    const auto timers = model.timers();
    return timers.empty() ? model.now() : timers[draws_.next_below(timers.size())].deadline;
  }

  // Most deadlines should be accepted: three of four that are too far come nearer.
  instant admissible(instant t, instant now) {
    const duration limit = scenario_.config.max_timer_duration;
    if (t - now <= limit || draws_.next_below(4) == 0) return t;
    return now + duration{(t - now).ns % (limit + one).ns};
  }

  instant deadline(const wheel_model& model) {
    const instant now = model.now();
    const duration limit = scenario_.config.max_timer_duration;
    const std::uint64_t choice = draws_.next_below(20);
    switch (choice) {
      case 0: return nudge(now);
      case 1: return earlier_by(now, below(duration::seconds(2)));
      case 2: return now + below(tick);
      case 3:
      case 4:
      case 5:
      case 6: return admissible(now + below(resolution(choice - 2)), now);
      case 7:
      case 8: return admissible(slot_edge(now), now);
      case 9: return nudge(now + scenario_.config.max_wheel_duration);
      case 10: return nudge(now + limit);
      case 11: return now + below(limit);
      case 12: return now + limit + below(duration::days(100));
      case 13:
      case 14:
      case 15: return some_deadline(model);
      case 16: return earlier_by(some_deadline(model), tick) + below(tick + tick);
      case 17: return admissible(window_edge(now), now);
      case 18: return now + below(scenario_.stride + scenario_.stride);
      default: return edge_of_time();
    }
  }

  instant edge_of_time() {
    constexpr auto edges = std::to_array<std::uint64_t>({0, 1, UINT64_MAX - 1, UINT64_MAX});
    return {edges[draws_.next_below(edges.size())]};
  }

  instant present(const wheel_model& model) {
    const instant now = model.now();
    if (draws_.next_below(16) == 0) return earlier_by(now, below(duration::days(2)));  // counts as now.
    const instant to = any_present(model);
    const duration jump = to - now;
    const bool is_usual = jump <= scenario_.stride || draws_.next_below(200) == 0;
    return earlier(is_usual ? to : now + duration{jump.ns % scenario_.stride.ns}, instant{UINT64_MAX - 1});
  }

  instant any_present(const wheel_model& model) {
    const instant now = model.now();
    const instant next = model.next_deadline();
    switch (draws_.next_below(14)) {
      case 0: return now;
      case 1: return now + one;
      case 2: return now + below(tick);
      case 3: return now + tick;
      case 4: return now + below(resolution(1 + draws_.next_below(4)));
      case 5: return slot_edge(now);
      case 6: return now + below(duration::days(100));
      case 7:
      case 8: return next.is_none() ? now : next;
      case 9: return next.is_none() ? now : nudge(next);
      case 10: return some_deadline(model);
      case 11: return window_edge(now);
      default: return now + below(scenario_.stride);
    }
  }

  // near the wrap, at a live id, just before one, or a used one.
  std::uint64_t id(const wheel_model& model) {
    const auto timers = model.timers();
    const std::uint64_t some = timers.empty() ? 1 : timers[draws_.next_below(timers.size())].handle.id;
    switch (draws_.next_below(6)) {
      case 0: return 0;
      case 1: return UINT64_MAX - draws_.next_below(4);
      case 2: return some;
      case 3: return some - 1;
      default: return model.next_id() - 1 - draws_.next_below(64);
    }
  }

  Draws& draws_;
  const wheel_scenario& scenario_;
};

}  // namespace asx
