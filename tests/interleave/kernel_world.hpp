// tests/interleave/kernel_world.hpp - one kernel that several fibers share through a gate, as threads share it through
// asx/runtime/drive_workers.cpp.
//
//     struct steals : kernel_world {
//       script a{*this, [](cx&) { return poll_result::ready; }};
//       steals() { a.spawn(rt.root()); }
//       void run(unsigned thread) override { work(thread); }              // each steps its own worker
//       void judge() override { check(a.has_ended(), "nobody is lost"); } // after everything has run dry
//     };
//
// Everything that threads share lies inside the gate, and whoever is inside is not interrupted: all orders of entries
// are all interleavings, and all of them are tried. A world that has more than a million fails instead.
//
// 1  A thread is inside or outside, has a standing of its own, and steps out for polls, drops and actions, as in the
//    drive. The gate is a model of the drive's, and not its code: it has no lock, no favourite and no measuring, and
//    nobody sleeps or is woken. Those have worlds of their own (favoured_lock_test, bell_test, parker_test), with the
//    bounds that are said there, and meet the kernel in tests/stress.
// 2  What somebody changes without being inside is noticed by the next who enters (kernel::state_hash).
// 3  At the end all workers are stepped until nothing is to be done; then the world is judged, its journal is held
//    against the rules of schedules, everything is shut down, and whoever is left is a failure.
//
// Cancel points: none. Threads: the engine's. Lifetime: a world's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "asx/journal/schedule_check.hpp"
#include "asx/runtime/runtime.hpp"
#include "tests/interleave/atomic.hpp"
#include "tests/interleave/engine.hpp"

namespace asx::interleave {

/// What a gate may do wrong.
enum class gate_fault : std::uint8_t {
  none,
  is_skipped,         // Whoever calls from thread 1 does not go in at all.
  shares_standings,   // Whoever goes in finds what the last one left behind.
  forgets_strangers,  // Who is no worker has no standing in what it runs of the user's.
};

class kernel_world : public world {
 public:
  explicit kernel_world(gate_fault fault = gate_fault::none, const kernel_options& behaviour = {})
      : rt(configure(behaviour)), fault_(fault) {
    check(rt.start_status() == status::ok, "the runtime has started");
    rt.kernel().set_gate(
        {this, [](void* self) noexcept { static_cast<kernel_world*>(self)->enter(); },
         [](void* self) noexcept { static_cast<kernel_world*>(self)->leave(); },
         [](void* self, standing& keep) noexcept { return static_cast<kernel_world*>(self)->step_out(keep); },
         [](void* self, std::uint32_t depth, standing& kept) noexcept {
           static_cast<kernel_world*>(self)->step_in(depth, kept);
         }});
  }

  /// A task that does what a function says, and knows what must not happen to it.
  class script {
   public:
    using body = std::function<poll_result(cx&)>;
    script(kernel_world& in, body does) : world_(in), does_(std::move(does)) { in.scripts_.push_back(this); }
    script(const script&) = delete;
    script& operator=(const script&) = delete;

    status spawn(region_handle region) {
      const status s =
          world_.k().spawn(region, {.poll = &poll, .context = this, .drop = &drop, .is_held = true}, handle);
      if (s == status::ok) was_spawned_ = true;
      return s;
    }
    [[nodiscard]] unsigned polls() const noexcept { return polls_; }
    [[nodiscard]] bool has_ended() const noexcept { return drops_ == 1; }
    [[nodiscard]] bool is_in_poll() const noexcept { return is_polled_; }
    [[nodiscard]] task_outcome outcome() {
      task_outcome out = task_outcome::ok();
      check(world_.k().result(handle, out) == status::ok, "who has ended has a result");
      return out;
    }

    task_handle handle{};
    std::function<void()> at_drop;  // What is destroyed with it.

   private:
    friend class kernel_world;
    static poll_result poll(void* self, cx& c) {
      auto& s = *static_cast<script*>(self);
      check(!s.is_polled_, "a task is polled by one at a time");
      check(s.drops_ == 0, "nobody is polled after its end");
      s.is_polled_ = true;
      s.polls_ = s.polls_ + 1;
      const poll_result said = s.does_(c);
      s.is_polled_ = false;
      return said;
    }
    static void drop(void* self) noexcept {
      auto& s = *static_cast<script*>(self);
      check(!s.is_polled_, "nobody ends while it is polled");
      s.drops_ = s.drops_ + 1;
      check(s.drops_ == 1, "nobody ends twice");
      if (s.at_drop) s.at_drop();
    }
    kernel_world& world_;
    body does_;
    bool was_spawned_ = false;
    bool is_polled_ = false;  // Not plain: who meets another in a poll says so before it races.
    plain<unsigned> polls_{0};
    plain<unsigned> drops_{0};
  };

  void end() final {
    {
      const inside here(k());
      rt.run_until_idle();
    }
    judge();
    for (script* s : scripts_) {
      if (s->was_spawned_) static_cast<void>(k().release_task(s->handle));
    }
    const shutdown_result rest = rt.shutdown();
    check(rest.is_quiescent(), "everything comes to rest: " + rest.survivors);
    for (const script* s : scripts_) check(s->has_ended() || !s->was_spawned_, "whoever was spawned has ended once");
    std::vector<event> events(static_cast<std::size_t>(rt.journal().size()));
    events.resize(rt.journal().copy_tail(events));
    const schedule_verdict verdict = check_schedule(events);
    check(verdict.accepted(), "the journal is a legal order of what happened: " + explain(verdict));
  }

 protected:
  /// The laws of this world, when nothing is to be done any more.
  virtual void judge() = 0;

  [[nodiscard]] asx::kernel& k() noexcept { return rt.kernel(); }
  /// Steps until there is nothing to do. A thread of the drive stays inside from one step to the next; here others may
  /// come in between as well, unless it `stays`.
  void work(std::uint32_t worker, bool stays = false) {
    is_worker_[this_thread()] = true;
    std::optional<inside> kept;
    if (stays) kept.emplace(k());
    for (bool is_idle = false; !is_idle;) {
      const inside here(k());
      const step_report did = rt.step(worker);
      check(did.refused == status::ok, "a worker that is not inside a step may step");
      is_idle = did.is_idle;
    }
  }
  [[nodiscard]] region_handle open(region_handle parent) {
    region_handle out;
    region_spec spec;
    spec.is_held = true;
    check(k().create_region(parent, spec, out) == status::ok, "a region can be opened");
    return out;
  }
  [[nodiscard]] region_state state_of(region_handle region) {
    region_report report;
    check(k().inspect(region, report) == status::ok, "a region that is held can be looked at");
    return report.state;
  }
  [[nodiscard]] std::uint64_t count(event_kind kind) {
    std::vector<event> events(static_cast<std::size_t>(rt.journal().size()));
    events.resize(rt.journal().copy_tail(events));
    std::uint64_t out = 0;
    for (const event& e : events) out += e.kind == kind ? 1U : 0U;
    return out;
  }

  /// Whoever goes out may stand there before it goes on, as a thread may anywhere: others come in before what it does
  /// next, outside. Twice as many entries: for worlds of those who do something there.
  void dawdles() noexcept { is_dawdling_ = true; }

  runtime rt;

 private:
  static runtime_config configure(const kernel_options& behaviour) {
    runtime_config c;
    c.contract = resource_contract::tiny();
    c.contract.reserve_all = false;
    c.contract.max_trace_events = 1024;
    c.behaviour = behaviour;
    c.workers = 2;
    return c;
  }

  // ---- the gate, as in the drive
  [[nodiscard]] bool is_skipping() const noexcept { return fault_ == gate_fault::is_skipped && this_thread() == 1; }
  void enter() noexcept {
    if (is_skipping()) return;
    const unsigned me = this_thread();
    if (owner_ == me) {
      ++depth_;
      return;
    }
    detail::enter(this);
    owner_ = me;
    depth_ = 1;
    if (has_left_) check(k().state_hash() == left_as_, "nobody changes anything who is not inside");
    install(standing_of(me));
  }
  void leave() noexcept {
    if (is_skipping()) return;
    if (depth_ != 1) {
      --depth_;
      return;
    }
    left_as_ = k().state_hash();
    has_left_ = true;
    depth_ = 0;
    owner_ = nobody;
    detail::leave(this);
    if (!is_dawdling_) return;
    detail::enter(this);
    detail::leave(this);
  }
  std::uint32_t step_out(standing& keep) noexcept {
    if (is_skipping()) return 1;
    const std::uint32_t depth = std::exchange(depth_, 1);
    if (standing_of(owner_) == nullptr && fault_ != gate_fault::shares_standings) {  // As long as it is out.
      k().exchange(keep);
      if (fault_ != gate_fault::forgets_strangers) kept_[owner_] = &keep;
    }
    leave();
    return depth;
  }
  void step_in(std::uint32_t depth, standing& kept) noexcept {
    if (is_skipping()) return;
    enter();
    depth_ = depth;
    if (fault_ == gate_fault::forgets_strangers && !is_worker_[owner_]) k().exchange(kept);
    if (kept_[owner_] != &kept) return;
    kept_[owner_] = resident_ = nullptr;
  }
  [[nodiscard]] standing* standing_of(unsigned thread) noexcept {
    return is_worker_[thread] ? &standings_[thread] : kept_[thread];
  }
  // Whose standing the kernel has; that of a worker stays there until another thread comes, a stranger has none to
  // keep.
  void install(standing* own) noexcept {
    if (fault_ == gate_fault::shares_standings || (own != nullptr && own == resident_)) return;
    if (resident_ != nullptr) k().exchange(*resident_);
    standing fresh;
    k().exchange(own == nullptr ? fresh : *own);
    resident_ = own;
  }

  static constexpr unsigned nobody = UINT32_MAX;
  const gate_fault fault_;
  bool is_dawdling_ = false;
  unsigned owner_ = nobody;
  std::uint32_t depth_ = 0;
  std::array<standing, most_threads + 1> standings_{};
  std::array<bool, most_threads + 1> is_worker_{};
  std::array<standing*, most_threads + 1> kept_{};  // Of strangers that run what is the user's.
  standing* resident_ = nullptr;
  bool has_left_ = false;
  std::uint64_t left_as_ = 0;
  std::vector<script*> scripts_;
};

}  // namespace asx::interleave
