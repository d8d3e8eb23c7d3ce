// Who works, who sleeps and who is woken; how they go in and out is in detail/drive_gate.hpp. Who has nothing to do
// parks on a parker of its own, so that one is woken for one piece of work.
#include "asx/runtime/drive_workers.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/base/atomic_word.hpp"
#include "asx/kernel/report.hpp"
#include "asx/runtime/detail/bell.hpp"
#include "asx/runtime/detail/drive_gate.hpp"
#include "asx/runtime/detail/drive_lookout.hpp"
#include "asx/runtime/detail/drive_pieces.hpp"
#include "asx/runtime/entry_order.hpp"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace asx {
namespace {

constexpr std::uint32_t most_workers = 64;              // A bit each in one word.
constexpr duration glance = duration::milliseconds(1);  // How long a task waits at most for who looks around.
constexpr std::uint64_t worth_help_ns = 1'000;          // Who is out for less does it faster than it is handed over.
using detail::nobody;

// Where threads may run, and back again.
class processors {
 public:
  /// Those that this thread may use now.
  processors() noexcept {
#if defined(__linux__)
    CPU_ZERO(&all_);
    if (sched_getaffinity(0, sizeof all_, &all_) == 0) count_ = static_cast<std::uint32_t>(CPU_COUNT(&all_));
#endif
  }
  /// 0: the system does not tell.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// The number of the nth of them, from the first one on again when there are fewer.
  [[nodiscard]] std::uint32_t nth(std::uint32_t n) const noexcept {
    if (count_ == 0) return n;
    std::uint32_t left = n % count_;
    std::uint32_t number = 0;
#if defined(__linux__)
    while (!CPU_ISSET(number, &all_) || left-- != 0) ++number;  // asx: bounded by the size of a set
#endif
    return number;
  }

  /// A wish: it may be refused, and nothing has changed.
  static void pin([[maybe_unused]] std::uint32_t processor) noexcept {
#if defined(__linux__)
    const cpu_set_t one = alone(processor);
    static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
#endif
  }
  /// For as long as it lives; unless somebody has chosen others for that thread meanwhile, it has its own back then.
  class pinned {
   public:
    pinned(bool is_wanted, [[maybe_unused]] std::uint32_t processor) noexcept {
      if (!is_wanted) return;
#if defined(__linux__)
      is_on_ = pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) == 0;
      now_ = alone(processor);
      if (is_on_) pin(processor);
#endif
    }
    ~pinned() {
#if defined(__linux__)
      cpu_set_t found;
      if (!is_on_ || pthread_getaffinity_np(pthread_self(), sizeof found, &found) != 0) return;
      if (CPU_EQUAL(&found, &now_)) static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof before_, &before_));
#endif
    }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;

#if defined(__linux__)
   private:
    bool is_on_ = false;
    cpu_set_t before_;
    cpu_set_t now_;
#endif
  };

 private:
#if defined(__linux__)
  static cpu_set_t alone(std::uint32_t processor) noexcept {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor % CPU_SETSIZE, &one);
    return one;
  }
  cpu_set_t all_;
#endif
  std::uint32_t count_ = 0;
};

std::uint32_t how_many(std::uint32_t asked) noexcept {
  if (asked == 0) asked = processors().count();
  if (asked == 0) asked = std::thread::hardware_concurrency();
  return std::clamp<std::uint32_t>(asked, 1, most_workers);
}

}  // namespace

class threaded_runtime::crew final : public detail::worker_gate {
 public:
  explicit crew(const threads_config& how)
      : worker_gate(how, how_many(how.workers)),
        pieces_(count_, bell_, this, [](void* self) noexcept { static_cast<crew*>(self)->call_for_pieces(); }) {
    if (is_ordered()) pieces_.hush();  // See have_one_look_around.
  }
  ~crew() { dismiss(); }
  /// Nobody comes to the runtime any more; no further run is made.
  void dismiss() noexcept {
    if (turns_) turns_->end();
    is_over_.store(true, std::memory_order_release);  // Release: pairs with the acquire of who wakes up.
    for (seat& s : seats_) s.parker.unpark();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
    lookout_.reset();
    // On another thread than theirs they stay where they are, at the gate: nothing of theirs is there to be ended.
    for (std::uint32_t w = 1; fibers_ && fibers_->is_ready() && has_my_number(seats_[0]) && w < count_; ++w) {
      if (fibers_->has_begun(w) && !fibers_->has_ended(w)) turns_->let_go_on(w);
    }
    if (turns_) turns_->forget_stacks();
    fibers_.reset();
  }

  /// Nobody runs it any more.
  void note_end() noexcept {
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.end(core_->journal().digest()); });
  }

  [[nodiscard]] std::uint32_t workers() const noexcept { return count_; }
  [[nodiscard]] status started() const noexcept { return started_; }
  [[nodiscard]] std::uint64_t pieces_helped() const noexcept { return pieces_.stolen(); }
  [[nodiscard]] replayed_order replayed() const noexcept { return turns_ ? turns_->played() : replayed_order{}; }

  runtime_config equip(runtime_config config) noexcept {
    config.workers = count_;
    config.clock = {};
    if (!how_to_.is_virtual) {
      config.clock = {this, [](void* self) noexcept { return static_cast<crew*>(self)->read_clock(); }, !is_ordered()};
    }
    config.park = {this, [](void*, instant, instant) noexcept {},  // Nobody parks that way: workers have their own.
                   [](void* self) noexcept { static_cast<crew*>(self)->call(); }};
    is_eager_ = how_to_.disturbance != 0;
    if (turns_) is_eager_ = turns_->number().value_or(0) != 0;
    // Where nobody listens, what is ready takes fewer entries: whoever is recorded is listened to, as who is played is.
    if (is_ordered() && config.journaling == journal_mode::off) config.journaling = journal_mode::digest_only;
    if (how_to_.record != nullptr) {
      how_to_.record->begin(count_, config.seed, how_to_.is_virtual);
      record([this](entry_order& to) { to.measure(is_eager_ ? 1 : 0); });
    }
    return config;
  }

  void take(runtime& rt) {
    const entry_order* const order = how_to_.replay;
    if (order != nullptr && (order->workers() != count_ || !order->is_complete())) started_ = status::invalid_argument;
    if (order != nullptr && how_to_.record != nullptr) started_ = status::invalid_argument;
    if (order != nullptr && order->is_virtual() != how_to_.is_virtual) started_ = status::invalid_argument;
    if (order == nullptr && how_to_.is_on_one_thread) started_ = status::invalid_argument;
    shut(rt);
    rt.hire({this,
             [](void* self, std::uint64_t most, const patience& how) noexcept {
               return static_cast<crew*>(self)->run(most, how);
             },
             [](void* self) noexcept { return static_cast<crew*>(self)->is_being_run(); }});
    static_cast<void>(sit(seats_[0]));  // There is a door for each of them.
    if (started_ == status::ok) start_workers();
    if (started_ == status::ok) return;
    if (turns_) turns_->end();
    rt.kernel().refuse_all(started_);  // It could neither run nor end what is spawned.
  }
  // Relaxed: who calls run and shutdown by turns sees its own; beside a run, either answer may come.
  [[nodiscard]] bool is_being_run() const noexcept { return has_runner_.load(std::memory_order_relaxed) != 0; }

 private:
  void start_workers() {
#if defined(__cpp_exceptions)
    try {
#endif
      threads_.reserve(count_);
      if (how_to_.is_on_one_thread) {
        make_fibers();
      } else {
        for (std::uint32_t w = 1; w < count_; ++w) threads_.emplace_back([this, w] { live(seats_[w]); });
      }
#if defined(__cpp_exceptions)
    } catch (...) {  // No thread, or no memory for one.
      started_ = status::resource_exhausted;
    }
#endif
  }

  // Each worker but the first on a stack of its own, and all of them on this thread.
  void make_fibers() {
    const auto run = [](void* self, std::uint32_t w) noexcept {
      detail::last = {};
      detail::innermost = nullptr;
      auto& c = *static_cast<crew*>(self);
      c.live(c.seats_[w]);
    };
    fibers_.emplace(count_, how_to_.stack_bytes, this, run);
    if (!fibers_->is_ready()) {
      started_ = status::resource_exhausted;
      return;
    }
    turns_->play_on_one_thread(*fibers_);
    if (how_to_.stuck_after.ns == 0 || count_ == 1) return;  // Alone, nobody waits for another one.
    lookout_.emplace(
        how_to_.stuck_after, this, [](void* self) noexcept { return static_cast<crew*>(self)->turns_->pulse(); },
        [](void* self) noexcept { static_cast<crew*>(self)->tell_of_the_stuck(); });
  }
  // By the lookout. All others stand at the gate until that one comes back: it cannot be waiting for anything of asx.
  void tell_of_the_stuck() noexcept {
    const std::uint32_t seen = turns_->pulse();
    standing* const was = look_in();
    if (const seat* const out = last_in(); is_running_ && out != nullptr && turns_->pulse() == seen) {
      const detail::task_record* const polled = out->own.current;
      const detail::region_record* const closing = out->own.in_finalizer;
      std::string what = "what is the user's";
      if (closing != nullptr) what = "a finalizer of region " + std::to_string(closing->id.value);
      if (polled != nullptr) {
        what = "task " + std::to_string(polled->task().value) + " '" + std::string(polled->name.view()) + "'";
      }
      core_->kernel().fatal("worker " + std::to_string(out->number) + " does not come back from " + what +
                            ": on one thread nobody else goes on before it does. It waits for something past asx "
                            "that never comes, or computes for longer than stuck_after\n" +
                            describe_tasks(core_->kernel()));
    }
    stop_looking(was);
  }

  // ---- who sleeps, and who is woken
  [[nodiscard]] bool has_work(std::uint32_t w) const noexcept {
    const scheduler& sched = core_->sched();
    return sched.depth(w, lane::ready) + sched.depth(w, lane::cancel) + sched.depth(w, lane::timed) != 0;
  }
  /// Who is disturbed helps from the first poll on: short programs would otherwise stay with one worker.
  [[nodiscard]] bool is_help_worth_it() const noexcept { return typical_ns_ >= worth_help_ns || is_eager_; }
  /// It stands there while its worker polls somebody else, or before that.
  [[nodiscard]] bool has_spare(const seat& s) const noexcept {
    return core_->sched().depth(s.number, lane::ready) >= (s.door()->out != 0 ? 1U : 2U);
  }
  /// Those among the idle for whom there is something: what lies in their own lanes; what another one has too much of;
  /// a timer that nobody else would see in time.
  [[nodiscard]] std::uint64_t who_is_wanted(bool is_elsewhere) noexcept override {
    if (!is_elsewhere && is_left_to_the_glance() && resident_ != nullptr) return 0;
    const bool helps = is_help_worth_it();
    std::uint64_t wanted = 0;
    bool is_any_spare = false;
    for (const seat& s : seats_) {  // asx: bounded by the workers
      if (s.is_idle) {
        if (has_work(s.number)) wanted |= std::uint64_t{1} << s.number;
      } else {
        is_any_spare = is_any_spare || has_spare(s);
      }
    }
    if (helps && is_any_spare && wanted == 0) wanted = std::uint64_t{1} << first_idle();
    if (helps && is_timer_unseen()) wanted |= std::uint64_t{1} << (keeper_ != nobody ? keeper_ : first_idle());
    // Nobody looks around, and there is something to look at: whoever is woken will. What an order does not know of
    // must not decide in it.
    const bool may_have_pieces = is_ordered() ? has_computed_ : pieces_.has_pieces();
    if (wanted == 0 && !glances_ && (is_any_spare || may_have_pieces || is_timer_unseen()))
      wanted = std::uint64_t{1} << first_idle();
    // Somebody else was here, and nobody is awake: what the run waits for may have changed, a hold or a timer.
    if (wanted == 0 && resident_ == nullptr && idle_ == in_run_) wanted = std::uint64_t{1} << first_idle();
    for (std::uint64_t rest = wanted; rest != 0; rest &= rest - 1) {  // asx: bounded by the workers
      rouse(seats_[static_cast<std::size_t>(std::countr_zero(rest))]);
    }
    return wanted;
  }
  [[nodiscard]] bool is_left_to_the_glance() const noexcept override { return glances_ && !is_help_worth_it(); }
  /// It is due before anybody who sleeps would look.
  [[nodiscard]] bool is_timer_unseen() noexcept {
    if (how_to_.is_virtual) return false;
    const instant due = core_->kernel().next_due();
    return !due.is_none() && (keeper_ == nobody || due < keeper_until_);
  }
  [[nodiscard]] std::uint32_t first_idle() const noexcept {
    std::uint32_t w = 0;
    while (!seats_[w].is_idle) ++w;  // asx: bounded by the workers: somebody is
    return w;
  }
  // It counts as awake from here on: nobody else is woken for the same.
  void rouse(seat& s) noexcept {
    if (!s.is_idle) return;
    s.is_idle = false;
    --idle_;
    if (keeper_ == s.number) {
      keeper_ = nobody;
      glances_ = false;
    }
    if (bell_.answers() != s.number) return;
    if (idle_ == 0) {
      bell_.hand_on(detail::bell::nobody);
    } else {
      bell_.hand_on(keeper_ != nobody ? keeper_ : first_idle());
    }
  }
  void wake(std::uint64_t wanted) noexcept override {
    for (; wanted != 0; wanted &= wanted - 1) {  // asx: bounded by the workers
      seats_[static_cast<std::size_t>(std::countr_zero(wanted))].parker.unpark();
    }
  }
  // A foreign handle has spoken: by any thread, and by signal handlers.
  void call() noexcept {
    has_called_.store(true, std::memory_order_relaxed);  // Relaxed: it is asked at the end of a run.
    // One takes in what was said, and wakes others if there is more than it does itself.
    wake(one_who_answers());
  }
  void call_for_pieces() noexcept { wake_unmeasured(one_who_answers()); }
  [[nodiscard]] std::uint64_t one_who_answers() noexcept {
    const std::uint32_t one = bell_.ring();
    return one == detail::bell::nobody ? 0 : std::uint64_t{1} << one;
  }
  void park(seat& s, duration longest) noexcept {
    if (turns_ && !turns_->is_over()) return;  // It stands at the gate instead.
    if (fibers_) return park_on_one_thread(s, longest);
    s.parker.park(longest);
  }

  // The order is over, and the run is not. When everybody had the chance to go on and nobody did for long, time jumps
  // to where somebody would have looked next; if nobody would have, what is left is another thread's to bring.
  void park_on_one_thread(seat& s, duration longest) noexcept {
    if (is_over_.load(std::memory_order_relaxed)) return;  // Relaxed: its own.
    longest_ = std::min(longest_, longest);
    turns_->give_way();
    if (&s != &seats_[0]) return;
    if (longest_ == duration::max()) return s.parker.park(glance);
    let_time_pass(std::exchange(longest_, duration::max()));
  }

  // ---- runs
  run_result run(std::uint64_t most, const patience& how) noexcept {
    if (started_ != status::ok) return {started_, 0, instant::none()};
    if (fibers_ && !has_my_number(seats_[0])) return {status::wrong_thread, 0, instant::none()};
    if (is_over_.load(std::memory_order_relaxed)) return {status::step_limit, 0, instant::none()};  // Relaxed: its own.
    // Acquire and release: what the run before left behind is seen.
    if (has_runner_.exchange(1, std::memory_order_acquire) != 0) return {status::reentrant, 0, instant::none()};
    // Whoever runs it is worker 0, as long as it does.
    const processors::pinned here(how_to_.is_pinned, allowed_.nth(0));
    const run_result out = run_alone(most, how);
    has_runner_.store(0, std::memory_order_release);
    return out;
  }
  run_result run_alone(std::uint64_t most, const patience& how) noexcept {
    const bool was_inside = is_mine();
    standing kept;
    const std::uint32_t depth = was_inside ? step_out(kept) : 0;
    if (own_seat() != &seats_[0] && !sit(seats_[0])) {  // Whoever runs it is worker 0.
      if (was_inside) step_in(depth, kept);
      return {status::resource_exhausted, 0, instant::none()};
    }
    enter();
    run_ = {};
    is_limited_ = false;
    left_ = most;
    how_ = how;
    is_running_ = true;
    in_run_ = 1;
    ++runs_;
    for (std::uint32_t w = 1; w < count_; ++w) seats_[w].parker.unpark();
    work(seats_[0]);
    --in_run_;
    while (in_run_ != 0) {  // asx: bounded by the polls that are under way
      leave();
      park(seats_[0], duration::max());
      enter();
    }
    // A word may be taken in before its speaker comes to ring for it, and a ring may be heard before its word is.
    if (how_to_.record != nullptr && (has_called_.load(std::memory_order_relaxed) || core_->inbox().has_heard())) {
      how_to_.record->spoil();
    }
    run_.steps = is_limited_ ? most : most - left_;
    const run_result out = run_;
    if (is_ordered()) note_end_of_run();
    leave();
    if (was_inside) step_in(depth, kept);
    return out;
  }

  void note_end_of_run() noexcept {
    const digest128 digest = core_->journal().digest();
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.end_run(digest); });
    if (turns_) turns_->end_run(digest);
  }

  void live(seat& mine) {
    static_cast<void>(sit(mine));  // As where they are started.
    if (how_to_.is_pinned && !fibers_) processors::pin(allowed_.nth(mine.number));
    std::uint64_t seen = 0;
    while (true) {  // asx: bounded by the life of the runtime
      park(mine, duration::max());
      if (is_over_.load(std::memory_order_acquire)) return;  // Acquire: as said where it is set.
      enter();
      if (is_running_ && seen != runs_) {
        seen = runs_;
        ++in_run_;
        work(mine);
        --in_run_;
        if (in_run_ == 0) seats_[0].parker.unpark();
      }
      leave();
    }
  }

  // Inside, but for the polls and the sleeps.
  void work(seat& mine) noexcept {
    kernel& k = core_->kernel();
    while (is_running_) {  // asx: bounded by the most steps of a run
      if (left_ == 0) {    // Each was begun: none is asked for before somebody needs it.
        if (undecided_ != 0) {
          wait_for_a_step(mine);
          continue;
        }
        is_limited_ = true;
        return end_run(status::ok);
      }
      if (const status s = core_->before_step(); s != status::ok) return end_run(s);
      if (how_.limit <= k.now()) return end_run(status::ok);
      if (is_worth_a_step(mine)) {
        if (core_->step_plainly(mine.number, left_, how_.limit) != 0) continue;
        --left_;  // Before: others must not do it, too.
        ++undecided_;
        const bool was_idle = core_->step(mine.number).is_idle;
        --undecided_;
        // A cancel that still waits for room after a step waits for others: it is no reason to step again.
        if (!was_idle || k.has_calls()) continue;
        ++left_;  // Waiting is no work.
        wake(std::exchange(waiting_for_a_step_, 0));
      }
      if (computes_along(mine)) continue;
      if (!rest(mine)) return end_run(status::ok);
    }
  }
  // All steps are begun, and one of those that are under way may turn out to be none: it was outside for an input or a
  // finalizer, and had nobody to poll. The limit is not said before that is known. The run could not be over before it,
  // either: whoever runs it waits for everybody. It is not idle, so that nobody wakes it for what it must not do.
  void wait_for_a_step(seat& mine) noexcept {
    const std::uint64_t own = std::uint64_t{1} << mine.number;
    waiting_for_a_step_ |= own;
    const std::uint32_t depth = exchange_depth(1);
    leave();
    park(mine, duration::max());
    enter();
    exchange_depth(depth);
    waiting_for_a_step_ &= ~own;
  }
  // There is no task for it, and somebody computes what it could do a part of. Nobody takes it for one that sleeps: it
  // is as far away as in a long poll, and what stands behind it is another one's after a while.
  [[nodiscard]] bool computes_along(seat& mine) noexcept {
    if (count_ == 1) return false;
    bool is_there = pieces_.has_pieces();
    if (turns_) is_there = turns_->number().value_or(is_there && !fibers_ ? 1 : 0) != 0;
    if (how_to_.record != nullptr) record([&](entry_order& to) { to.measure(is_there ? 1 : 0); });
    if (!is_there) return false;
    detail::gate_seat& door = *mine.door();
    ++door.out;
    ++door.times_out;
    const std::uint64_t next = is_ordered() ? one_to_look_around() : 0;  // In its place.
    const std::uint32_t depth = exchange_depth(1);
    leave();
    wake(next);
    if (!fibers_) pieces_.help(deck_of(mine));
    enter();
    exchange_depth(depth);
    --door.out;
    return true;
  }
  detail::piece_deck* deck(bool is_nested) noexcept override {
    seat* const mine = own_seat();
    if (mine == nullptr || count_ == 1) return nullptr;
    if (is_ordered() && !is_nested) have_one_look_around();
    return fibers_ ? nullptr : &deck_of(*mine);
  }
  [[nodiscard]] detail::piece_deck& deck_of(seat& mine) noexcept {
    return pieces_.deck(mine.number, mine.stolen_depth);
  }
  // Where a ring would be one more thing that an order has to know: an entry is what it knows.
  void have_one_look_around() noexcept {
    enter();
    const std::uint64_t one = one_to_look_around();
    has_computed_ = true;
    leave();
    wake_unmeasured(one);
  }
  // Nobody, when one does or when nobody sleeps.
  [[nodiscard]] std::uint64_t one_to_look_around() noexcept {
    if (idle_ == 0 || glances_) return 0;
    seat& one = seats_[first_idle()];
    rouse(one);
    return std::uint64_t{1} << one.number;
  }
  [[nodiscard]] bool is_worth_a_step(seat& mine) noexcept {
    kernel& k = core_->kernel();
    if (has_work(mine.number) || k.has_inputs() || is_all_quiet()) return true;
    if (k.next_due() <= core_->now()) return true;
    bool helps = false;
    for (seat& s : seats_) {  // asx: bounded by the workers
      if (&s == &mine) continue;
      // It has not come back since somebody looked last: whoever stands behind it has waited long enough.
      const bool is_stuck = s.door()->out != 0 && std::exchange(s.seen_out, s.door()->times_out) == s.door()->times_out;
      helps = helps || (has_spare(s) && (is_help_worth_it() || is_stuck));
    }
    return helps;
  }
  [[nodiscard]] bool is_all_quiet() const noexcept { return core_->kernel().away() == 0 && core_->sched().empty(); }
  void end_run(status why) noexcept {
    if (!is_running_) return;
    is_running_ = false;
    run_.ended = why;
    for (seat& s : seats_) {  // asx: bounded by the workers
      rouse(s);
      s.parker.unpark();
    }
  }

  // False: nobody has anything to do, and nothing is worth waiting for.
  bool rest(seat& mine) noexcept {
    kernel& k = core_->kernel();
    duration longest = duration::max();
    if (is_all_quiet()) {
      const std::optional<instant> until = core_->worth_waiting(how_);
      if (!until) return false;
      if (how_to_.is_virtual) {
        static_cast<void>(core_->advance(*until - core_->now()));
        return true;
      }
      if (keeper_ == nobody || *until < keeper_until_) longest = keep(mine, *until);
    } else if (keeper_ == nobody || !glances_ || k.next_due() < keeper_until_) {
      longest = keep(mine, earlier(k.next_due(), core_->now() + glance));
      glances_ = true;
    }
    mine.is_idle = true;
    ++idle_;
    if (!bell_.may_sleep(mine.number)) {
      rouse(mine);
      return true;
    }
    const std::uint32_t depth = exchange_depth(1);
    leave();
    park(mine, longest);
    enter();
    exchange_depth(depth);
    rouse(mine);
    return true;
  }
  duration keep(const seat& mine, instant until) noexcept {
    keeper_ = mine.number;
    keeper_until_ = until;
    glances_ = false;
    return until.is_none() ? duration::max() : until - core_->now();
  }

  const processors allowed_;  // To whoever makes it.
  status started_ = status::ok;
  bool is_eager_ = false;  // As in the run that is played, if one is.
  atomic_word<bool> has_called_{false};
  detail::bell bell_;  // Foreign handles ring it, and who has pieces for others.
  detail::piece_crew pieces_;
  atomic_word<std::uint32_t> has_runner_{0};  // Or 1. Not every machine swaps a byte.
  // What follows is of whoever is inside.
  std::uint32_t keeper_ = nobody;  // Who sees to the timers, among the idle,
  instant keeper_until_ = instant::none();
  bool glances_ = false;       // and looks around, too.
  bool has_computed_ = false;  // In an order, somebody has called parallel: pieces may be there at any time.
  bool is_limited_ = false;
  bool is_running_ = false;
  std::uint32_t in_run_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t left_ = 0;                // Of the steps of a run,
  std::uint32_t undecided_ = 0;           // and those of them that are under way: an idle one is given back.
  std::uint64_t waiting_for_a_step_ = 0;  // Workers that wait for that: a bit each.
  patience how_{};
  run_result run_{};
  duration longest_ = duration::max();  // How long the first of them would sleep, past the order on one thread.
  atomic_word<bool> is_over_{false};
  std::vector<std::thread> threads_;
  std::optional<detail::lookout> lookout_;
};

threaded_runtime::threaded_runtime(const threads_config& how, const runtime_config& config)
    : crew_(new crew(how)), runtime_(new runtime(crew_->equip(config))) {
  if (runtime_->start_status() == status::ok) crew_->take(*runtime_);
}

// The runtime comes to rest with everybody; then they go, and only then its memory does.
threaded_runtime::~threaded_runtime() {
  ASX_ASSERT(!crew_->is_being_run(),
             "destroyed while another thread runs it; end that run with foreign_handle::shut_down and join the thread");
  if (start_status() == status::ok) {
    if (!runtime_->has_ended()) static_cast<void>(runtime_->shutdown());
    crew_->note_end();
  }
  crew_->dismiss();
  delete runtime_;
  delete crew_;
}

std::uint64_t threaded_runtime::pieces_helped() const noexcept {
  return crew_->pieces_helped();
}
std::uint32_t threaded_runtime::workers() const noexcept {
  return crew_->workers();
}
replayed_order threaded_runtime::replayed() const noexcept {
  return crew_->replayed();
}
status threaded_runtime::start_status() const noexcept {
  return runtime_->start_status() != status::ok ? runtime_->start_status() : crew_->started();
}

}  // namespace asx
