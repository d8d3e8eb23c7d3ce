// asx/scenario/detail/play.hpp - one play of a scenario: names, transcript, journal, and who acts.
//
//     play --+-- driver steps          player.cpp
//            +-- operations            operations.cpp      what tasks, driver and synchronous steps share
//            +-- scripted tasks        script_task.cpp     a stack of frames, and the waits that a task stands in
//            +-- expectations          expect.cpp, expect_journal.cpp
//            +-- laws                  laws.cpp            the model and a timer wheel, without a runtime
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/scenario/player.hpp"
#include "asx/scenario/scenario.hpp"
#include "asx/scenario/words.hpp"
#include "asx/scenario/world.hpp"
#include "asx/wheel/timer_wheel.hpp"

namespace asx::scenario::detail {

class script_task;

/// What a name stands for.
struct bound {
  std::uint32_t what = 0;  // A bit of `thing`.
  ref at = no_ref;
  std::uint64_t id = 0;  // In journals: of an end or a permit that of its channel.
};
using name_table = std::map<std::string, bound, std::less<>>;

/// What begins with `$`: the names of one task, and the ends that go with it.
struct own_names {
  name_table names{};
  std::vector<bound> ends{};
  bool is_orphaned = false;  // The task has gone; finalizers that it added may still use the names.
};

/// Who does a step, and where in the file that is.
struct actor {
  script_task* task = nullptr;  // Being polled.
  std::shared_ptr<own_names> own{};
  ref region = root_ref;  // What `region` means when it is left out.
  std::string path{};     // Of the step: "steps[3]"; of a task it is asked for (path_of).
  bool is_driver = false;
};

/// A place in the run.
struct mark_place {
  std::size_t events = 0;
  std::size_t said = 0;
};

struct law_timer {
  ref wheel = no_ref;
  timer_handle handle{};
};

class play_run;

/// Steps that run when a task is unwound or a region finalized.
struct sync_block {
  play_run* home = nullptr;
  const steps* list = nullptr;
  status returns = status::ok;
  actor who{};
};

/// What a step came to.
enum class next_step : std::uint8_t { behind, branch, cancelled };
struct judgement {
  next_step go = next_step::behind;
  const steps* branch = nullptr;
  std::string_view label{};  // Of the branch: the status that led there.
};

class play_run {
 public:
  play_run(const scenario& s, const play_options& options);
  ~play_run();
  play_run(const play_run&) = delete;
  play_run& operator=(const play_run&) = delete;

  [[nodiscard]] verdict run();

  // ---- steps
  /// The step, by whoever acts; false: it could not be done, and that is told already. Not for what waits.
  [[nodiscard]] bool perform(actor& who, const step& st, status& answer);
  /// Whether the answer was right, and what comes next.
  [[nodiscard]] judgement judge(const actor& who, const step& st, status answer);
  /// Steps that do not wait, one after the other. Paths are `path`[i].
  void run_list(const actor& who, const steps& list, const std::string& path);
  static status run_block(void* block);
  [[nodiscard]] static std::string path_of(const actor& who);

  // ---- names
  /// Null, with a failure, when the field names nothing, or a thing of another kind.
  [[nodiscard]] const bound* find(const actor& who, const step& st, std::string_view field, std::uint32_t kinds);
  [[nodiscard]] const bound* find_called(const actor& who, const step& st, const std::string& name,
                                         std::uint32_t kinds);
  [[nodiscard]] const bound* find_name(const actor& who, std::string_view name) const;
  /// The region that a field names, or the actor's own; empty, with a failure, when it names none.
  [[nodiscard]] std::optional<ref> region_of(const actor& who, const step& st, std::string_view field = "region");
  void bind(const actor& who, const step& st, std::string_view field, const bound& what);
  void bind_as(const actor& who, std::string_view name, const bound& what);
  /// "worker", or "task 7" for what has no name.
  [[nodiscard]] std::string name_of(char type, std::uint64_t id) const;

  // ---- what was expected
  /// Of a check that was counted.
  void fail(const actor& who, const step& st, std::string text);
  /// What could not be compared at all: a check, and it failed.
  void fail_to_look(const actor& who, const step& st, std::string text);
  void fail_expected(const actor& who, const step& st, std::string_view what, std::string_view wanted,
                     std::string_view got);
  /// Whether the answer is one that the step knows of: what came with it is looked at then.
  [[nodiscard]] static bool knows(const step& st, status answer);
  void want_number(const actor& who, const step& st, std::string_view field, std::uint64_t got);
  void want_flag(const actor& who, const step& st, std::string_view field, bool got);
  void want_word(const actor& who, const step& st, std::string_view field, std::string_view got);
  void want_reason(const actor& who, const step& st, const node& wanted, const full_reason& got,
                   const std::string& what, std::size_t level = 0);
  void want_outcome(const actor& who, const step& st, const node& wanted, const full_outcome& got);
  void want_budget(const actor& who, const step& st, std::string_view field, const budget& got, bool all);
  void expect(const actor& who, const step& st);

  // ---- laws
  [[nodiscard]] bool perform_law(actor& who, const step& st, status& answer);
  [[nodiscard]] std::uint64_t wheels_hash() const;

  /// A new script, ready to be polled; the world's drop frees it.
  [[nodiscard]] task_order order_for(const step& st, ref region, std::string_view called);
  /// Steps of a cleanup action or a finalizer, ready to be called: their address stays.
  [[nodiscard]] sync_block& block_of(const actor& who, const step& st, ref region);
  void drop_end(const bound& end);
  /// Last made, first dropped, as locals are.
  void drop_ends(own_names& of);
  /// False: scripts have done more than a play may do, and nothing is done any more.
  [[nodiscard]] bool may_go_on(const actor& who, const step& st, std::uint64_t steps = 1);
  /// Everything that was told so far.
  [[nodiscard]] const std::vector<event>& events();
  void count_check() noexcept { ++out_.checks; }
  [[nodiscard]] asx::scenario::world& back_end() noexcept { return *world_; }
  [[nodiscard]] std::uint64_t step_limit() const noexcept { return options_.max_steps; }
  [[nodiscard]] std::uint64_t script_limit() const noexcept { return 10 * options_.max_steps; }
  [[nodiscard]] bool is_over() const noexcept { return scripted_ > script_limit(); }

  std::vector<std::string>& said() noexcept { return out_.said; }

 private:
  friend class script_task;

  // operations.cpp
  [[nodiscard]] bool perform_region(actor& who, const step& st, status& answer);
  [[nodiscard]] bool perform_task(actor& who, const step& st, status& answer);
  [[nodiscard]] bool perform_channel(actor& who, const step& st, status& answer);
  [[nodiscard]] bool perform_thing(actor& who, const step& st, status& answer);
  // player.cpp
  [[nodiscard]] bool perform_driver(actor& who, const step& st, status& answer);
  void shut_down(const actor& who, const step& st, status& answer);
  void look_at_step(const actor& who, const step& st, const step_look& last);
  void look_at_certificate(const actor& who, const step& st);
  void want_proof(const actor& who, const step& st, bool proved, std::string_view word);
  void add_failure(failure f);
  // expect.cpp
  void expect_task(const actor& who, const step& st);
  void expect_witness(const actor& who, const step& st, const node& wanted, ref task);
  void expect_region(const actor& who, const step& st);
  void expect_obligation(const actor& who, const step& st);
  void expect_channel(const actor& who, const step& st);
  void expect_permit(const actor& who, const step& st);
  void expect_wheel(const actor& who, const step& st);
  void expect_quiescence(const actor& who, const step& st);
  void expect_runtime(const actor& who, const step& st);
  [[nodiscard]] std::uint64_t count_limit_refusals();
  /// False: it is gone, whether that was expected or not, and there is nothing more to look at.
  [[nodiscard]] bool is_there(const actor& who, const step& st, std::string_view noun, status looked);
  [[nodiscard]] channel_look look_at_channel(const bound& end);
  // expect_journal.cpp
  void expect_said(const actor& who, const step& st);
  void expect_destroyed(const actor& who, const step& st);
  void expect_dispatched(const actor& who, const step& st);
  void expect_events(const actor& who, const step& st);
  void expect_count(const actor& who, const step& st);
  [[nodiscard]] mark_place since(const actor& who, const step& st);
  void want_list(const actor& who, const step& st, std::string_view what, const std::vector<std::string>& wanted,
                 const std::vector<std::string>& got);
  /// The same, unless order does not count.
  void want_in_order(const actor& who, const step& st, std::string_view what, std::vector<std::string> wanted,
                     std::vector<std::string> got);
  struct wanted_event;
  void want_events_anyhow(const actor& who, const step& st, const std::vector<wanted_event>& wanted,
                          std::vector<event> seen);
  [[nodiscard]] bool read_wanted(const actor& who, const step& st, const node& item, wanted_event& out);
  [[nodiscard]] std::string show_event(const wanted_event& e) const;
  [[nodiscard]] std::string show_event(const event& e, const wanted_event* like) const;
  // laws.cpp
  [[nodiscard]] bool perform_wheel(actor& who, const step& st, status& answer, std::vector<std::uint64_t>& came_out);
  [[nodiscard]] ref wheel_of(const actor& who, const step& st);  // no_ref, with a failure: there is none.
  [[nodiscard]] std::string name_of_timer(const actor& who, ref wheel, timer_handle handle) const;
  void want_fired(const actor& who, const step& st, std::span<const expired_timer> fired, ref wheel);
  [[nodiscard]] status check_transition(const node& f) const;

  const scenario& s_;
  play_options options_;
  std::unique_ptr<world> world_;
  verdict out_;
  name_table names_;
  std::map<std::string, mark_place, std::less<>> marks_;  // Apart from things: no field takes both.
  std::vector<std::uint64_t> certificates_;               // Their hashes.
  std::vector<ref> slot_regions_;                         // By slot.
  std::map<std::uint64_t, ref> channels_;                 // By number.
  std::vector<std::unique_ptr<timer_wheel>> wheels_;
  std::vector<law_timer> timers_;
  std::deque<sync_block> blocks_;
  std::map<ref, const script_task*> receiving_;  // By receiver: who waits there. The last to come takes the place.
  std::uint64_t scripted_ = 0;                   // Steps of scripts.
  std::uint64_t laws_ = 0;
  bool was_shut_down_ = false;
  bool was_cut_off_ = false;  // Scripts did too much; what comes of that is not told.
};

/// A task that follows a script: the context of its polls.
class script_task {
 public:
  script_task(play_run& home, const script& follows, std::string_view name, ref region);
  script_task(const script_task&) = delete;
  script_task& operator=(const script_task&) = delete;

  static poll_answer poll(void* self, poll_face& face);
  /// Gives up its waits, and the ends that are its own.
  static void drop(void* self) noexcept;

 private:
  friend class play_run;
  struct frame {
    const steps* list;
    std::size_t at;
    std::uint64_t rounds;  // Left, this one included; UINT64_MAX: for ever.
    std::string label;     // What stands before the index in a path.
  };
  struct own_wait {
    op what;
    ref target;
    ref wait;
    instant until;
  };
  enum class turn : std::uint8_t { on, pending, ready, error };

  [[nodiscard]] poll_answer go_on(poll_face& face);
  [[nodiscard]] turn do_one(poll_face& face, const step& st);
  /// What a step that waits, or that only a poll can do, answers; empty: it could not be done.
  [[nodiscard]] std::optional<status> ask(poll_face& face, const step& st);
  [[nodiscard]] std::optional<status> ask_wait(poll_face& face, const step& st);
  [[nodiscard]] status poll_wait(poll_face& face, const step& st, own_wait& w);
  [[nodiscard]] turn after(const step& st, status answer);
  void stop_waiting();
  [[nodiscard]] std::string path() const;

  play_run& home_;
  const script& follows_;
  std::string name_;
  actor who_;
  std::vector<frame> stack_;
  bool is_cleaning_up_ = false;  // In when_cancelled.
  std::vector<own_wait> waits_;
  std::uint64_t masks_ = 0;           // That the script has open.
  const step* parked_at_ = nullptr;   // The step that waits,
  ref parked_on_ = no_ref;            // and for what,
  std::uint64_t parked_channel_ = 0;  // of which channel.
};

// ---- texts
// ------------------------------------------------------------------------------------------------------------

[[nodiscard]] std::string show(const budget& b);
[[nodiscard]] std::string show(const full_outcome& o);
[[nodiscard]] std::string show(const full_reason& r);
[[nodiscard]] std::string show_statuses(std::span<const status> codes);  // One of these,
[[nodiscard]] std::string show_all(std::span<const status> codes);       // or all of them.
[[nodiscard]] std::string show_list(std::span<const std::string> items);
[[nodiscard]] std::string show_time(instant t);
[[nodiscard]] inline std::string_view show(bool flag) noexcept {
  return flag ? "true" : "false";
}
[[nodiscard]] full_outcome full(const outcome<std::uint64_t>& from);
[[nodiscard]] std::string_view noun_of(std::uint32_t what) noexcept;

}  // namespace asx::scenario::detail
