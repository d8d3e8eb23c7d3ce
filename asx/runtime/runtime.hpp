// asx/runtime/runtime.hpp - a whole runtime as one object: kernel, scheduler, wheel, journal, and a drive on one
// thread.
//
//     asx::runtime rt;                                  // virtual time: it stands still until it is moved
//     asx::task_handle t;
//     rt.kernel().spawn(rt.root(), {.poll = serve, .context = &state}, t);
//     rt.run_until_idle();
//     rt.shutdown();
//
// U-02   run_until_idle never moves virtual time and never waits; run_until_quiescent jumps to the next timer or
//        deadline, or parks until then when the clock moves by itself. While a foreign hold is open and tasks are
//        alive it parks for that, too, with nothing due.
// U-03   every run takes a limit of steps and says so when it is met: step_limit. Waiting is no step; but a wait over
//        which the clock stood still is, or a clock that nobody moves would hold a run for ever.
// shutdown asks everything to cancel, waits for the grace, then tells everything to shut down; it ends at
//        quiescence or at the limit, and names what is left. On a clock that moves by itself it waits for blocking
//        calls beyond the grace: one in flight cannot be stopped.
// R-212  a run from inside a poll is refused: reentrant.
// R-220  a trace that rejects and has no room for what a step may tell: runs and steps are refused before they begin.
// No globals: two runtimes may live in one process. What one has - ends, handles, sync objects - only its own tasks
// wait for: between two, use foreign handles (inbox.hpp) or forms that do not wait, such as try_send.
//
// Cancel points: none: whoever runs a runtime is no task.
// Threads: one, but for foreign handles (inbox.hpp); many with a drive for them (drive_workers.hpp). Without one,
//          workers are virtual: they are stepped in turn, or in an order that the seed draws.
// Lifetime: the destructor shuts down without grace; what does not end within the limit is printed, and the process
//           aborts, because memory that tasks point to is about to go. Call shutdown to decide for yourself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "asx/kernel/kernel.hpp"
#include "asx/runtime/inbox.hpp"
#include "asx/runtime/port_clock.hpp"
#include "asx/runtime/port_park.hpp"
#include "asx/runtime/worker_step.hpp"

namespace asx {

class poll_probe;
struct metrics;

struct runtime_config {
  resource_contract contract = resource_contract::core();
  kernel_options behaviour{};
  std::uint64_t seed = 0;
  std::uint32_t workers = 1;  // Virtual ones, stepped by the thread that runs it; for threads, threaded_runtime.
  worker_order::kind order = worker_order::kind::round_robin;
  std::uint32_t cancel_streak_limit = 16;
  std::uint32_t timed_streak_limit = 64;
  tie_break ready_tiebreak = tie_break::fifo;
  duration coalesce_window{};
  pressure_policy policy{};
  journal_mode journaling = journal_mode::full;
  event_sink sink{};
  clock_port clock{};  // None: virtual time of the runtime's own.
  park_port park{};    // How to wait for a clock that moves by itself; none: a thread_parker of the runtime's own.
  std::uint32_t max_foreign = 256;         // Foreign handles that may live at a time.
  duration grace = duration::seconds(10);  // Of a shutdown that is asked for from outside (foreign_handle, signals).
  metrics* measure = nullptr;              // Where to count and to time; null: nowhere, and at no cost.
  arrival_feed arrivals{};                 // Of a run that is played again: what comes from outside comes from here.
  memory_port memory = heap_memory();
};

struct run_result {
  status ended = status::ok;  // ok: nothing more to do now. step_limit, reentrant, resource_exhausted.
  std::uint64_t steps = 0;
  instant next_due = instant::none();
};

struct rest_result {
  quiescence_result quiescence;
  std::uint64_t steps = 0;

  [[nodiscard]] bool is_quiescent() const noexcept { return quiescence.failed == 0; }
};

struct shutdown_result : rest_result {
  std::string survivors;  // Empty at quiescence; else one line for each that is left, and why.
};

/// What a run waits for when nothing is to be done.
struct patience {
  instant due_until{};              // For what is due up to here; 0: for nothing that is due.
  bool for_others = false;          // For foreign holds, while tasks are alive.
  bool for_calls = false;           // For calls in flight alone: nobody can end them.
  bool for_the_end = false;         // For whatever may come, unless everything has ended.
  instant limit = instant::none();  // But no longer than this.
};

/// Who else steps the workers; null: whoever calls run does.
struct crew_port {
  void* context = nullptr;
  /// Steps until there is nothing to do and nothing to wait for; says how it ended and after how many steps.
  run_result (*run)(void* context, std::uint64_t max_steps, const patience& how) noexcept = nullptr;
  /// Another thread runs it.
  bool (*is_busy)(void* context) noexcept = nullptr;
};

/// A runtime that names nobody at its end: without a text that could ask for memory. For those who look after the end
/// themselves, such as the C interface; everybody else has `runtime`.
class ASX_API runtime_core {
 public:
  /// Time is its own, and jumps when nobody can go on before.
  [[nodiscard]] bool is_virtual() const noexcept { return config_.clock.context == &virtual_time_; }
  static constexpr std::uint64_t default_max_steps = 10'000'000;

  explicit runtime_core(const runtime_config& config) noexcept;
  /// It has come to rest, or never started: whoever is alive would be left with memory that is gone.
  ~runtime_core() = default;
  runtime_core(const runtime_core&) = delete;
  runtime_core& operator=(const runtime_core&) = delete;

  /// ok, invalid_argument (a number out of range) or resource_exhausted (memory was refused). Nothing else works then.
  [[nodiscard]] status start_status() const noexcept { return started_; }

  [[nodiscard]] asx::kernel& kernel() noexcept { return kernel_; }
  [[nodiscard]] region_handle root() const noexcept { return kernel_.root(); }
  [[nodiscard]] asx::journal& journal() noexcept { return log_; }
  [[nodiscard]] const scheduler& sched() const noexcept { return sched_; }

  /// One step of the next worker, or of the one named. What it says of itself as idle is until next_due().
  step_report step() noexcept;
  step_report step(std::uint32_t worker) noexcept;
  run_result run_until_idle(std::uint64_t max_steps = default_max_steps) noexcept;
  /// Time jumps when it is virtual, and is waited for when it is not (park).
  run_result run_until_quiescent(std::uint64_t max_steps = default_max_steps) noexcept;
  /// As runtime::shutdown, and says only what is left, not who.
  rest_result come_to_rest(duration grace = {}, std::uint64_t max_steps = default_max_steps) noexcept;
  /// When a step will find something to do by itself: a timer, a deadline, the end of a grace that was asked for from
  /// outside. None: only when somebody calls.
  [[nodiscard]] instant next_due() noexcept { return earlier(kernel_.next_due(), end_of_grace()); }
  /// Whether it has come to rest and said so.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

  [[nodiscard]] instant now() const noexcept;
  /// Moves virtual time; nothing happens until the next step. invalid_argument with a clock that moves by itself.
  status advance(duration by) noexcept;

  /// A handle to `task` for other threads and signal handlers; see inbox.hpp for what is refused.
  [[nodiscard]] status foreign(task_handle task, foreign_handle& out) noexcept {
    return inbox_.open({.task = task}, out);
  }
  [[nodiscard]] asx::inbox& inbox() noexcept { return inbox_; }

  /// What config.measure points to, with its gauges as they are now.
  [[nodiscard]] const metrics& measured() noexcept;
  /// Tells of every poll from now on, one probe for each worker from `first` on; null: nobody. For a watchdog.
  void attach(poll_probe* first) noexcept {
    const inside here(kernel_);
    probe_ = first;
  }
  [[nodiscard]] clock_port clock_in_use() const noexcept { return config_.clock; }

  // ---- for a drive of several threads (drive_workers.hpp), from inside the gate
  void hire(const crew_port& crew) noexcept { crew_ = crew; }
  /// Why a run cannot go on: resource_exhausted, or ok. Ends a grace that is over.
  [[nodiscard]] status before_step() noexcept;
  /// Plain dispatches of that worker in a row, if there are any, each of which takes one of `left` before; how many
  /// there were.
  [[nodiscard]] std::uint64_t step_plainly(std::uint32_t worker, std::uint64_t& left, instant until) noexcept;
  /// When something comes by itself that is worth waiting for; empty when nothing does, as far as `how` says.
  [[nodiscard]] std::optional<instant> worth_waiting(const patience& how) noexcept;

  void set_governor(governor g) noexcept;
  fairness_certificate certificate() noexcept;
  void reset_certificate() noexcept;

 private:
  [[nodiscard]] run_result run(std::uint64_t max_steps, const patience& how) noexcept;
  [[nodiscard]] bool wait(const patience& how) noexcept;
  void jump_to(instant moment) noexcept;
  void close_from_outside(std::uint64_t handle) noexcept;
  void strengthen() noexcept;
  [[nodiscard]] instant end_of_grace() const noexcept {
    return kernel_.live_tasks() == 0 ? instant::none() : forced_at_;
  }
  [[nodiscard]] bool has_room_for_a_step() const noexcept;
  /// What a host that steps asks for, before it is done.
  [[nodiscard]] status prepare_step() noexcept;
  [[nodiscard]] step_report next_step() noexcept;
  [[nodiscard]] step_report take_step(std::uint32_t worker) noexcept;
  [[nodiscard]] step_report observed_step(std::uint32_t worker) noexcept;
  [[nodiscard]] bool is_observed() const noexcept { return config_.measure != nullptr || probe_ != nullptr; }

  runtime_config config_;
  status started_;
  virtual_clock virtual_time_;
  asx::journal log_;
  scheduler sched_;
  timer_wheel wheel_;
  asx::kernel kernel_;
  thread_parker parker_;
  asx::inbox inbox_;                     // Goes before the kernel that it wakes and the parker that its handles unpark.
  instant forced_at_ = instant::none();  // When the grace ends that a handle began.
  poll_probe* probe_ = nullptr;
  instant read_ahead_ = instant::none();  // The end of the last poll that was timed: the time of the next step.
  step_context context_;
  worker_order order_;
  crew_port crew_{};
  bool is_running_ = false;
  bool has_ended_ = false;
};

class ASX_API runtime : public runtime_core {
 public:
  explicit runtime(const runtime_config& config = {}) noexcept : runtime_core(config) {}
  ~runtime();

  shutdown_result shutdown(duration grace = {}, std::uint64_t max_steps = default_max_steps);
};

}  // namespace asx
