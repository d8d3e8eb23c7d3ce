// asx/scenario/detail/kernel_world.hpp - the tables of world_kernel.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/base/atomic_word.hpp"
#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/coro/time.hpp"
#include "asx/kernel/gate.hpp"
#include "asx/runtime/drive_workers.hpp"
#include "asx/runtime/runtime.hpp"
#include "asx/scenario/detail/any_order.hpp"
#include "asx/scenario/world_kernel.hpp"

namespace asx::scenario::detail {

class kernel_world;

/// A value in a channel. It tells of its end, unless somebody has it.
class message {
 public:
  message(std::uint64_t value, kernel_world& told) noexcept : value_(value), told_(&told) {}
  message(message&& other) noexcept : value_(other.value_), told_(std::exchange(other.told_, nullptr)) {}
  message& operator=(message&&) = delete;
  inline ~message();

  /// Somebody has it now.
  [[nodiscard]] std::uint64_t take() noexcept {
    told_ = nullptr;
    return value_;
  }

 private:
  std::uint64_t value_;
  kernel_world* told_;
};

struct sender_end {
  sender<message> plain{};
  tracked_sender<message> tracked{};
  bool is_tracked = false;
};

struct permit_end {
  send_permit<message> plain{};
  tracked_permit<message> tracked{};
  bool is_tracked = false;
};

struct wait_place {
  std::optional<reserve_wait> reserving{};
  std::optional<sleep_op> sleeping{};
  std::optional<waiter> watching{};
};

class kernel_world final : public world {
 public:
  explicit kernel_world(const drive& how) : how_(how) {}
  ~kernel_world() override;

  [[nodiscard]] status start(const runtime_config& settings, event_sink sink) override;
  void take_down() override;

  [[nodiscard]] status open_region(ref in, const region_order& order, made& out) override;
  [[nodiscard]] status close(ref region, const request& why) override;
  [[nodiscard]] status begin_close(ref region, const request& why) override;
  [[nodiscard]] status begin_drain(ref region) override;
  [[nodiscard]] status begin_finalize(ref region) override;
  [[nodiscard]] status finish_close(ref region) override;
  [[nodiscard]] status add_finalizer(ref region, status (*run)(void* context), void* context, bool in_turn) override;
  [[nodiscard]] status arena(ref region, std::uint64_t bytes, std::uint64_t alignment) override;
  [[nodiscard]] status release_region(ref region) override;
  [[nodiscard]] status look_at_region(ref region, region_look& out) override;
  [[nodiscard]] status region_outcome(ref region, full_outcome& out) override;

  [[nodiscard]] status spawn(ref region, const task_order& order, made& out) override;
  [[nodiscard]] status reserve_task(ref region, ref& slot) override;
  [[nodiscard]] status commit_task(ref slot, const task_order& order, made& out) override;
  [[nodiscard]] status abandon_task(ref slot) override;
  [[nodiscard]] status cancel(ref task, const request& why, bool& newly) override;
  [[nodiscard]] status complete(ref task, const full_outcome& result) override;
  [[nodiscard]] status wake(ref task) override;
  [[nodiscard]] status release_task(ref task) override;
  [[nodiscard]] status look_at_task(ref task, task_look& out) override;
  [[nodiscard]] status task_outcome(ref task, full_outcome& out) override;
  [[nodiscard]] status witness(ref task, full_witness& out) override;

  [[nodiscard]] status reserve_obligation(ref region, made& out) override;
  [[nodiscard]] status commit(ref obligation) override;
  [[nodiscard]] status abort(ref obligation) override;
  [[nodiscard]] status look_at_obligation(ref obligation, obligation_state& out) override;
  [[nodiscard]] status add_timer(ref region, instant at, made& out) override;
  [[nodiscard]] bool cancel_timer(ref timer) override;

  [[nodiscard]] status channel(ref region, std::uint64_t capacity, made& channel, ref& sender, ref& receiver) override;
  [[nodiscard]] status clone(ref sender, ref& out) override;
  [[nodiscard]] status track(ref sender, ref& out) override;
  void drop_sender(ref sender) override;
  void drop_receiver(ref receiver) override;
  void drop_permit(ref permit) override;
  [[nodiscard]] status try_reserve(ref sender, ref region, ref& permit) override;
  [[nodiscard]] status send(ref permit, std::uint64_t value, bool& proved) override;
  void abort_permit(ref permit, bool& proved) override;
  [[nodiscard]] status try_send(ref sender, std::uint64_t value) override;
  [[nodiscard]] status send_evicting(ref sender, std::uint64_t value, std::optional<std::uint64_t>& evicted) override;
  [[nodiscard]] status try_recv(ref receiver, std::uint64_t& value) override;
  void stop_recv(ref receiver) override;
  [[nodiscard]] bool is_held(ref permit) override;
  [[nodiscard]] status look_at_channel(ref channel, channel_look& out) override;
  [[nodiscard]] const std::vector<std::uint64_t>& destroyed() const override { return destroyed_; }
  void give_up(ref wait) override;

  void hold() override;
  [[nodiscard]] status unhold() override;
  [[nodiscard]] status begin_shutdown(const request& why) override;
  void set_governor(governor to) override;
  [[nodiscard]] status advance(duration by) override;
  [[nodiscard]] step_look step(std::optional<std::uint32_t> worker) override;
  [[nodiscard]] run_look run_until_idle(std::uint64_t max_steps) override;
  [[nodiscard]] run_look run_until_quiescent(std::uint64_t max_steps) override;
  [[nodiscard]] quiescence_look shutdown(duration grace, std::uint64_t max_steps) override;
  [[nodiscard]] quiescence_look quiescence() override;
  [[nodiscard]] fairness_certificate certificate() override;
  void reset_certificate() override;
  [[nodiscard]] runtime_look look() override;
  [[nodiscard]] std::uint64_t state_hash() override;

  void settle_journal() override;
  [[nodiscard]] digest128 digest() override;
  void note_law(std::uint64_t number, status answer, std::uint64_t hash) override;

  void note_destroyed(std::uint64_t value) {
    const inside here(kernel());
    destroyed_.push_back(value);
  }

 private:
  friend class kernel_face;
  struct task_frame {
    kernel_world* home;
    task_order order;
  };
  /// A cleanup action or a finalizer.
  struct action_frame {
    kernel_world* home;
    status (*run)(void* context);
    void* context;
  };

  static poll_result poll(void* frame, cx& c);
  static void drop(void* frame) noexcept;
  static status finalize(void* frame, region_handle region, asx::kernel& k);
  static status act(void* frame);

  [[nodiscard]] asx::kernel& kernel() noexcept { return rt_->kernel(); }
  /// The null handle for a ref that is none.
  [[nodiscard]] region_handle region_at(ref r) const noexcept {
    return r < regions_.size() ? regions_[r] : region_handle{};
  }
  [[nodiscard]] task_handle task_at(ref r) const noexcept { return r < tasks_.size() ? tasks_[r] : task_handle{}; }
  [[nodiscard]] task_spec spec_of(task_frame& frame) const noexcept;
  void add_task(task_handle task, made& out);
  [[nodiscard]] full_reason copy(const cancel_reason* reason);
  [[nodiscard]] full_outcome copy(const asx::task_outcome& from);
  [[nodiscard]] std::uint64_t last_subject(event_kind kind) const;
  [[nodiscard]] ref take_wait();
  void end_wait(ref& wait);
  [[nodiscard]] ref keep(permit_end permit);
  [[nodiscard]] step_look step_by_anybody();

  const drive how_;
  std::optional<any_order> order_{};
  std::unique_ptr<runtime> alone_;  // One of both.
  std::unique_ptr<threaded_runtime> threads_;
  runtime* rt_ = nullptr;
  std::vector<region_handle> regions_;
  std::vector<task_handle> tasks_;
  std::deque<task_slot> slots_;
  std::vector<bool> is_slot_open_;
  std::vector<obligation_handle> obligations_;
  std::vector<obligation_handle> promised_;  // Of tracked permits, which may have been dropped since.
  std::vector<slab_key> timers_;
  std::vector<cleanup_ref> cleanups_;
  std::deque<action_frame> actions_;
  std::vector<std::uint64_t> destroyed_;
  std::deque<std::string> texts_;  // Of panics that were handed to the kernel.
  std::vector<thing_ref<channel_core>> channels_;
  std::deque<sender_end> senders_;
  std::deque<receiver<message>> receivers_;
  std::deque<permit_end> permits_;
  std::deque<wait_place> waits_;
  std::vector<ref> free_waits_;
  std::uint64_t holds_ = 0;
  atomic_word<std::uint32_t> fatal_calls_{0};  // By whichever thread, inside or not.
};

message::~message() {
  if (told_ != nullptr) told_->note_destroyed(value_);
}

}  // namespace asx::scenario::detail
