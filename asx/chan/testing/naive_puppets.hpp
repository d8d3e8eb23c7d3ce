// asx/chan/testing/naive_puppets.hpp - what a channel can see of the kernel: who is polled next, what a cancel does to
// a checkpoint, how a task ends, when a region lets go of what lies in it.
//
//     lanes     those who answer a cancel first, by cleanup priority; then the others; each first come, first served
//     stall     R-132, only while the world lets it: else a cancelled puppet would be polled until its quota is spent
//
// The kernel has a model of its own with everything else (asx/kernel/testing/naive_kernel.hpp). This one is small so
// that it can be read at once, and what it leaves to the channels it asks by virtual functions.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/chan/testing/channel_script.hpp"

namespace asx::testing {

struct naive_task {
  static constexpr std::size_t own_action = SIZE_MAX;
  struct undo {
    std::size_t channel = own_action;  // Else it is a permit of this channel.
    std::uint64_t number = 0;
  };

  std::uint64_t id = 0;
  std::uint32_t puppet = 0;
  std::uint32_t region = 0;
  task_state state = task_state::created;
  std::uint64_t quota = 0;  // Cleanup polls left.
  std::uint64_t unobserved = 0;
  std::uint8_t priority = 0;  // In the cancel lane.
  std::uint32_t masks = 0;
  bool is_ending = false;
  std::vector<undo> cleanup;        // The newest last.
  std::vector<std::uint64_t> rest;  // What is left of the list that it sends.

  [[nodiscard]] bool is_answering() const {
    return state == task_state::cancel_requested || state == task_state::cancelling || state == task_state::finalizing;
  }
};

class naive_puppets {
 public:
  explicit naive_puppets(channel_plan plan)
      : plan_(std::move(plan)),
        regions_(plan_.parents.size()),
        minds_(plan_.puppets.size()),
        task_of_(plan_.puppets.size(), 0) {
    for (std::uint32_t p = 1; p < plan_.puppets.size(); ++p) spawn(p);
  }
  virtual ~naive_puppets() = default;
  naive_puppets(const naive_puppets&) = delete;
  naive_puppets& operator=(const naive_puppets&) = delete;

  [[nodiscard]] const channel_plan& plan() const { return plan_; }
  [[nodiscard]] const naive_task& actor(std::uint32_t puppet) const {
    return tasks_[static_cast<std::size_t>(task_of_[puppet] - 1)];
  }
  [[nodiscard]] bool is_alive(std::uint32_t puppet) const { return actor(puppet).state != task_state::completed; }
  [[nodiscard]] bool is_pending(std::uint32_t puppet) const { return minds_[puppet].pending.has_value(); }
  [[nodiscard]] bool is_open(std::uint32_t region) const { return regions_[region].is_open; }

 protected:
  // ---- what is the channels' business
  virtual channel_note act(const channel_operation& op, naive_task* polled) = 0;
  /// A permit comes off the stack of a task that ends like this. True: it was tracked, and is leaked.
  virtual bool unwind_permit(const naive_task::undo& permit, outcome_kind how) = 0;
  virtual void run_own_action(naive_task& t, std::uint64_t number) = 0;
  virtual void leave_waits(std::uint64_t task) = 0;
  [[nodiscard]] virtual bool may_wake(std::uint64_t task) const = 0;
  virtual void take_down(std::uint32_t region) = 0;

  // ---- operations of the host
  void do_to_puppets(const channel_operation& op) {
    switch (op.call) {
      case channel_call::wake: wake(task_of_[op.actor], wake_code::input); break;
      case channel_call::cancel: request_cancel(task_by(task_of_[op.actor]), op.kind); break;
      case channel_call::respawn: spawn(op.actor); break;
      case channel_call::complete: {
        naive_task& t = task_by(task_of_[op.actor]);
        if (op.variant != 0) {
          end(t, outcome_kind::panicked);
        } else {
          end(t, t.state == task_state::cancelling ? outcome_kind::cancelled : outcome_kind::err);
        }
        break;
      }
      case channel_call::stall:
        for (naive_task& t : tasks_) {
          if (t.is_answering()) request_cancel(t, cancel_kind::shutdown);
        }
        is_stalling_ = true;
        run();
        is_stalling_ = false;
        break;
      default: break;
    }
  }

  void script(const channel_operation& op) {
    minds_[op.actor].script = op;
    wake(task_of_[op.actor], wake_code::input);
  }

  void begin(const channel_operation& op) {
    record_.clear();
    repolls_ = op.repolls;
    for (puppet_mind& mind : minds_) mind.patience = puppet_mind::most_repolls;
  }

  /// Until nothing moves.
  void run() {
    evaluate_regions();
    for (std::uint32_t polls = 0;; ++polls) {
      ASX_ASSERT(polls < 100'000, "puppets come to rest");
      std::uint64_t next = take_next();
      if (next == 0 && is_stalling_) next = take_stalled();
      if (next == 0) return;
      dispatch(task_by(next));
      evaluate_regions();
    }
  }

  /// A blocking operation looks first.
  [[nodiscard]] static bool is_cancelled(naive_task& t) {
    if (t.masks != 0) return false;
    if (t.state == task_state::cancel_requested) t.state = task_state::cancelling;
    return t.state == task_state::cancelling;
  }

  /// Twice before it runs is once; whoever is polled runs again after its poll.
  void wake(std::uint64_t task, wake_code why) {
    naive_task& t = task_by(task);
    if (t.state == task_state::completed || t.is_ending) return;
    if (task == polled_) {
      was_woken_ = true;
    } else if (!is_queued(task)) {
      enqueue(t, why);
    }
  }

  /// the region, its tasks, then the regions below, each in order of creation. R-41: what the tasks see.
  void close(std::uint32_t region, cancel_kind kind) {
    regions_[region].is_open = false;
    const cancel_kind seen = kind == cancel_kind::shutdown ? kind : cancel_kind::parent_cancelled;
    for (naive_task& t : tasks_) {
      if (t.region == region) request_cancel(t, seen);
    }
    for (std::uint32_t r = region + 1; r < regions_.size(); ++r) {
      if (plan_.parents[r] == region && !regions_[r].is_closed) close(r, seen);
    }
  }

  /// whoever has nothing left below lets go of what it owns and is closed; children stand behind their parents.
  void evaluate_regions() {
    for (std::uint32_t r = static_cast<std::uint32_t>(regions_.size()); r-- > 1;) {
      if (regions_[r].is_open || regions_[r].is_closed) continue;
      bool is_empty = std::none_of(tasks_.begin(), tasks_.end(), [r](const naive_task& t) {
        return t.region == r && t.state != task_state::completed;
      });
      for (std::uint32_t child = r + 1; child < regions_.size(); ++child) {
        is_empty = is_empty && (plan_.parents[child] != r || regions_[child].is_closed);
      }
      if (!is_empty) continue;
      take_down(r);
      regions_[r].is_closed = true;
    }
  }

  void panic(bool is_leak) {
    if (!has_panicked_) has_leaked_ = is_leak;  // The first one tells the story.
    has_panicked_ = true;
  }
  [[nodiscard]] bool has_panicked() const { return has_panicked_; }

  /// nothing is done for it from outside, and nothing once its end has begun.
  [[nodiscard]] bool looks_for_itself(std::uint64_t task) {
    const naive_task& t = task_by(task);
    return task == polled_ || is_queued(task) || t.is_answering() || t.is_ending;
  }

  [[nodiscard]] naive_task& task_by(std::uint64_t id) { return tasks_[static_cast<std::size_t>(id - 1)]; }
  void note(const channel_note& n) { record_.notes.push_back(n); }

  channel_record record_;

 private:
  struct phase {
    bool is_open = true;
    bool is_closed = false;
  };
  struct entry {
    std::uint64_t task = 0;
    bool is_cancel = false;
    std::uint8_t priority = 0;
  };

  void spawn(std::uint32_t puppet) {
    naive_task t;
    t.id = tasks_.size() + 1;
    t.puppet = puppet;
    t.region = plan_.puppets[puppet];
    tasks_.push_back(t);
    task_of_[puppet] = t.id;
    minds_[puppet] = {};
    enqueue(tasks_.back(), wake_code::spawn);
  }

  // ---- lanes

  void enqueue(naive_task& t, wake_code why) {
    queue_.push_back({t.id, t.is_answering(), t.priority});
    if (why == wake_code::input) return;  // The world's own wakes are no news.
    channel_note n;
    n.what = channel_note::kind::wake;
    n.task = t.id;
    n.why = why;
    note(n);
  }
  [[nodiscard]] bool is_queued(std::uint64_t task) const {
    return std::any_of(queue_.begin(), queue_.end(), [task](const entry& e) { return e.task == task; });
  }

  std::uint64_t take_next() {
    auto best = queue_.begin();
    for (auto e = queue_.begin(); e != queue_.end(); ++e) {
      const bool is_better =
          e->is_cancel != best->is_cancel ? e->is_cancel : e->is_cancel && e->priority > best->priority;
      if (is_better) best = e;
    }
    if (best == queue_.end()) return 0;
    const std::uint64_t out = best->task;
    queue_.erase(best);
    return out;
  }

  /// everybody who owes an answer, in order of creation, round after round.
  std::uint64_t take_stalled() {
    for (int round = 0; round < 2; ++round) {
      for (const naive_task& t : tasks_) {
        if (t.id > last_stalled_ && t.is_answering()) return last_stalled_ = t.id;
      }
      last_stalled_ = 0;
    }
    return 0;
  }

  // ---- a dispatch

  void dispatch(naive_task& t) {
    if (t.state == task_state::finalizing) return end(t, outcome_kind::cancelled);
    if (t.state == task_state::created) t.state = task_state::running;
    if (t.state == task_state::cancel_requested) {
      if (t.unobserved < t.quota) {
        ++t.unobserved;
        return poll(t);
      }
      t.state = task_state::cancelling;  // the kernel acknowledges for it.
    }
    if (t.state == task_state::cancelling) {
      if (t.quota == 0) return end(t, outcome_kind::cancelled);
      --t.quota;
    }
    poll(t);
  }

  void poll(naive_task& t) {
    polled_ = t.id;
    was_woken_ = was_cancelled_ = has_panicked_ = has_leaked_ = false;
    const channel_operation op = minds_[t.puppet].next(t.puppet, repolls_);
    const channel_note said = act(op, &t);
    note(said);
    minds_[t.puppet].learn(op, said.code);
    after_poll(t, op, said.code);
    polled_ = 0;
    has_panicked_ = false;
  }

  void after_poll(naive_task& t, const channel_operation& op, status said) {
    if (has_panicked_) return end(t, outcome_kind::panicked);
    switch (op.call) {
      case channel_call::end_ok:
        if (t.state != task_state::cancelling) return end(t, outcome_kind::ok);
        unwind(t, outcome_kind::cancelled);
        t.state = task_state::finalizing;
        return enqueue(t, wake_code::yield);
      case channel_call::end_err:
        return end(t, t.state == task_state::cancelling ? outcome_kind::cancelled : outcome_kind::err);
      default: break;
    }
    if (was_cancelled_) return enqueue(t, wake_code::cancel);
    const bool takes_waker =
        op.call != channel_call::bare && op.call != channel_call::yield && said != status::would_block;
    const bool parks = op.call != channel_call::yield && !was_woken_ && (takes_waker || may_wake(t.id));
    if (!parks) enqueue(t, was_woken_ ? wake_code::other : wake_code::yield);
  }

  // ---- the end of a task

  /// Last in, first out. True: a tracked permit was among it, and this is no end that aborts.
  bool unwind(naive_task& t, outcome_kind how) {
    t.is_ending = true;
    bool has_leaked = false;
    while (!t.cleanup.empty()) {
      const naive_task::undo last = t.cleanup.back();
      t.cleanup.pop_back();
      if (last.channel == naive_task::own_action) {
        run_own_action(t, last.number);
      } else {
        has_leaked = unwind_permit(last, how) || has_leaked;
      }
    }
    t.is_ending = false;
    return has_leaked;
  }

  void end(naive_task& t, outcome_kind how) {
    const bool leaks = unwind(t, how);
    t.is_ending = true;
    leave_waits(t.id);
    t.state = task_state::completed;
    const bool by_leak = how == outcome_kind::panicked ? has_leaked_ && polled_ == t.id : leaks;
    record_.ends.push_back({t.id, leaks ? outcome_kind::panicked : how, by_leak});
    std::erase_if(queue_, [&t](const entry& e) { return e.task == t.id; });
  }

  // ---- cancels

  void request_cancel(naive_task& t, cancel_kind kind) {
    if (t.state == task_state::completed) return;
    const budget granted = cleanup_budget(kind);
    if (t.is_answering()) {  // stronger, and no second wake.
      t.quota = std::min(t.quota, granted.poll_quota);
      t.priority = std::max(t.priority, granted.priority);
      return;
    }
    t.state = task_state::cancel_requested;
    t.quota = granted.poll_quota;
    t.priority = granted.priority;
    if (t.id == polled_) {
      was_cancelled_ = true;  // queued again after its poll.
    } else {
      enqueue(t, wake_code::cancel);
    }
  }

  channel_plan plan_;
  std::vector<phase> regions_;
  std::deque<naive_task> tasks_;  // By number, from 1.
  std::vector<puppet_mind> minds_;
  std::vector<std::uint64_t> task_of_;
  std::uint32_t repolls_ = 0;
  std::vector<entry> queue_;
  std::uint64_t polled_ = 0;
  std::uint64_t last_stalled_ = 0;
  bool was_woken_ = false;
  bool was_cancelled_ = false;
  bool has_panicked_ = false;
  bool has_leaked_ = false;
  bool is_stalling_ = false;
};

}  // namespace asx::testing
