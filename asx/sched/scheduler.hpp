// asx/sched/scheduler.hpp - who is next, and a certificate that the choice was fair. It runs nothing itself.
//
//     push --> cancel   256 priorities, FIFO each    \                    +--> dispatch: who, from which lane
//              timed    earliest deadline, FIFO       > governor, streaks |
//              ready    256 priorities, FIFO each    /                    +--> else steal, fallback, nothing
//
//     one set of lanes for each worker; a thief takes another's last-ranked ready entry
//
// INV-SC-01  lanes go cancel, timed, ready, or as the governor suggests.
// INV-SC-02  equal priorities go in order of insertion; INV-SC-03: so do equal deadlines.
// INV-SC-04  a streak of cancel dispatches, and one of timed dispatches, is limited while others wait.
// INV-SC-05  one seed gives one order of steal scans.
// INV-SC-06  equal dispatch sequences give equal certificates.
// a push never fails and never allocates: room is made by admit, when a task is; one that is queued
//               already stays where it is.
// R-208  insertion numbers are counted by each worker.
//
// Cost: push, remove and next are O(1) in the cancel and ready lanes, O(log n) in the timed lane; with tie_break::rng
// next is O(entries of the highest priority). 8 KB a worker, 25 bytes for each place admitted.
//
// Cancel points: none: nothing waits here.
// Threads: with has_threads every worker may call push, remove and next at once, each for any worker; no lock is held
//          while another is taken. One place may be pushed, removed, cancelled and dispatched by several at once: one
//          of them wins. What is read of a place (lane, priority, number) is stable for whoever dispatched it. Without
//          has_threads, one owner.
// Lifetime: places outlive their membership; the scheduler dies with empty lanes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/base/memory.hpp"
#include "asx/base/time.hpp"
#include "asx/model/status.hpp"
#include "asx/sched/certificate.hpp"
#include "asx/sched/detail/worker_lanes.hpp"
#include "asx/sched/governor.hpp"
#include "asx/sched/place.hpp"

namespace asx {

/// Where a dispatch came from. Fallback is the cancel lane although its streak is full; a stall poll is R-132's.
enum class dispatch_source : std::uint8_t { cancel, timed, ready, fallback, stall };

enum class tie_break : std::uint8_t { fifo, rng };

struct sched_config {
  std::uint64_t seed = 0;
  std::uint32_t workers = 1;               // 1 to 65535.
  std::uint32_t max_places = 65536;        // Queued at once, all workers together.
  std::uint32_t cancel_streak_limit = 16;  // 1 to 2^31 - 1.
  std::uint32_t timed_streak_limit = 64;   // 0: off.
  tie_break ready_tiebreak = tie_break::fifo;
  bool has_threads = false;
};

/// One decision, and what was drawn for it.
struct dispatch {
  place* who = nullptr;  // Null: nothing to dispatch.
  dispatch_source from = dispatch_source::ready;
  std::uint32_t victim = no_worker;  // The worker it was stolen from.
  std::uint32_t scan_start = 0;      // Of a steal scan: the index drawn,
  std::uint32_t scanned = 0;         // and how many victims were looked at; 0 when there was no scan.
  std::uint32_t candidates = 0;      // Of a tie-break: how many there were; 0 when nothing was drawn,
  std::uint32_t chosen = 0;          // and which one it was.
  bool is_limited = false;           // A full streak changed the choice, and `limited` is the lane that stepped back.
  lane limited = lane::cancel;
  lane full =
      lane::cancel;        // Whose streak it was; cancel also steps back after its turn in a full timed streak.
  bool went_idle = false;  // Nothing was found, and the worker had dispatched since it was last idle.
};

class ASX_API scheduler {
 public:
  /// invalid_argument: a number outside the ranges of sched_config.
  [[nodiscard]] static status validate(const sched_config& config) noexcept;

  /// A config that validate refuses, or refused memory, makes a scheduler that is not ready and admits nothing.
  explicit scheduler(const sched_config& config, memory_port memory = heap_memory()) noexcept;
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  [[nodiscard]] bool ready() const noexcept { return workers_ != nullptr; }

  /// Makes room for `places` queued tasks at once. resource_exhausted: more than max_places, or no memory.
  [[nodiscard]] status admit(std::uint32_t places) noexcept;

  /// False, and nothing changes, when it is queued already. `deadline` counts in the timed lane only.
  bool push(std::uint32_t worker, place& p, lane into, std::uint8_t priority,
            instant deadline = instant::none()) noexcept {
    worker_lanes& w = at(worker);
    const lock_guard guard(w.lock);
    if (!claim(p, worker)) return false;
    insert(w, p, into, priority, deadline);
    return true;
  }
  /// The same into the ready or the cancel lane, said again without what cannot happen when there is one owner.
  template <lane Into>
  bool push_plain(std::uint32_t worker, place& p, std::uint8_t priority) noexcept {
    static_assert(Into != lane::timed, "a deadline goes the long way");
    if (worker >= unlocked_) [[unlikely]]
      return push(worker, p, Into, priority);
    if (p.is_queued()) return false;
    insert_plain<Into>(workers_[worker], worker, p, priority);
    return true;
  }
  /// False when it was not queued.
  bool remove(place& p) noexcept { return p.is_queued() && take_away(p); }
  /// A cancel is delivered: from ready, timed or nowhere into the cancel lane of `worker`; within the cancel
  /// lane to the tail of a higher priority, with a new number, on the worker where it is. False when nothing changed.
  bool push_cancel(std::uint32_t worker, place& p, std::uint8_t priority) noexcept;

  /// The next of this worker, taken out of its lane.
  [[nodiscard]] dispatch next(std::uint32_t worker) noexcept {
    dispatch out;
    out.who = next_plain(worker);
    if (out.who == nullptr) return next_of_many(worker);
    return out;
  }
  /// The same in the common case, without what cannot happen in it: one owner, first in first out, nothing but ready
  /// entries. Null, and nothing changed, in every other.
  [[nodiscard]] ASX_ALWAYS_INLINE place* next_plain(std::uint32_t worker) noexcept {
    return is_plain_ ? plain_turn(*this, worker).next() : nullptr;
  }

  /// One owner, and no draws among equals: there may be a plain_turn.
  [[nodiscard]] bool is_plain() const noexcept { return is_plain_; }
  /// Several dispatches of one worker in a row, whose lanes are looked up once.
  class ASX_API plain_turn {
   public:
    ASX_ALWAYS_INLINE plain_turn(scheduler& of, std::uint32_t worker) noexcept
        : of_(of), lanes_(of.at(worker)), worker_(worker) {
      ASX_ASSERT(of.is_plain_, "what is plain has one owner and draws nothing");
    }
    /// As next_plain.
    [[nodiscard]] ASX_ALWAYS_INLINE place* next() const noexcept {
      if (is_draining(of_.suggestion()) || !lanes_.has_none_but_ready()) return nullptr;
      place* const first = lanes_.ready.pop();
      if (first == nullptr) return nullptr;
      first->take_from(worker_);
      count_ready();
      return first;
    }
    /// For who was just taken from the ready lane: back to its end. False: nothing else waits, so it is whom next would
    /// give, and was not pushed. Then go_round does for it what the two would, and it has no place in between; it must
    /// be pushed after all when something else comes first.
    [[nodiscard]] ASX_ALWAYS_INLINE bool push_back(place& p, std::uint8_t priority) const noexcept {
      if (lanes_.ready.empty() && lanes_.has_none_but_ready() && !is_draining(of_.suggestion())) return false;
      insert_plain<lane::ready>(lanes_, worker_, p, priority);
      return true;
    }
    ASX_ALWAYS_INLINE void go_round(place& p, std::uint8_t priority) const noexcept {
      ASX_ASSERT(!p.is_queued(), "nobody has pushed it meanwhile: clocks call nothing");
      stamp<lane::ready>(lanes_, p, priority);
      count_ready();
    }
    /// As next, when nothing but cancel entries wait and there is nobody to steal from: whether its streak is full or
    /// not, one of them goes. Null, and nothing changed, in every other case.
    [[nodiscard]] place* next_cancel() const noexcept;
    /// Whom next_cancel may take next, and the one behind it, to have their records at hand; null: nobody.
    struct cancels_ahead {
      place* first = nullptr;
      place* second = nullptr;
    };
    [[nodiscard]] cancels_ahead after_cancel(std::uint8_t priority) const noexcept {
      const detail::priority_lane::list& equals = lanes_.cancel.at(priority);
      place* const first = equals.front();
      return {first, first == nullptr ? nullptr : equals.after(*first)};
    }

   private:
    ASX_ALWAYS_INLINE void count_ready() const noexcept {
      lanes_.is_idle = false;
      lanes_.streaks.went_from_ready();
      ++lanes_.counted.ready_dispatches;
    }
    scheduler& of_;
    detail::worker_lanes& lanes_;
    std::uint32_t worker_;
  };
  /// A stall poll is about to be made by this worker, which next found idle.
  void count_stall(std::uint32_t worker) noexcept;

  /// Takes effect at the next dispatch.
  void suggest(governor g) noexcept { suggestion_.store(g, std::memory_order_relaxed); }
  [[nodiscard]] governor suggestion() const noexcept { return suggestion_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t effective_limit() const noexcept {
    return asx::effective_limit(suggestion(), config_.cancel_streak_limit);
  }

  [[nodiscard]] fairness_certificate certificate() const noexcept;
  /// Counters to 0; streaks, lanes and suggestion stay.
  void reset_certificate() noexcept;

  [[nodiscard]] const sched_config& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t workers() const noexcept { return config_.workers; }
  [[nodiscard]] std::size_t depth(std::uint32_t worker, lane of) const noexcept;
  /// How often something entered a lane of this worker.
  [[nodiscard]] std::uint64_t insertions(std::uint32_t worker) const noexcept { return at(worker).last_insertion; }
  /// True when no lane of any worker has an entry.
  [[nodiscard]] bool empty() const noexcept;
  [[nodiscard]] std::uint64_t cancel_streak(std::uint32_t worker) const noexcept;
  [[nodiscard]] std::uint64_t timed_streak(std::uint32_t worker) const noexcept;

  /// Asserts the laws above over all lanes. O(n), for tests.
  void check() const noexcept;

 private:
  using worker_lanes = detail::worker_lanes;

  [[nodiscard]] worker_lanes& at(std::uint32_t worker) const noexcept {
    ASX_ASSERT(workers_ != nullptr && worker < config_.workers, "a worker of this scheduler is meant");
    return workers_[worker];
  }
  // Makes the place this worker's, under its lock; false when it is queued already. Two who push one place at once into
  // different lanes are told apart by the exchange.
  [[nodiscard]] bool claim(place& p, std::uint32_t worker) const noexcept {
    std::uint32_t seen = p.where();
    if ((seen & place::queued_bit) != 0) return false;
    if (!config_.has_threads) {
      p.put_at(worker);
      return true;
    }
    // Acquire: pairs with the release of the lock under which the place was last taken out.
    return p.where_.compare_exchange_strong(seen, worker | place::queued_bit, std::memory_order_acquire,
                                            std::memory_order_relaxed);
  }
  template <lane Into>
  ASX_ALWAYS_INLINE static void stamp(worker_lanes& w, place& p, std::uint8_t priority) noexcept {
    p.insertion_seq_ = ++w.last_insertion;
    ASX_ASSERT(p.insertion_seq_ != 0, "insertion numbers never wrap (U-37)");
    p.priority_ = priority;
    p.lane_ = Into;
    p.deadline_ = instant::none();
  }
  template <lane Into>
  ASX_ALWAYS_INLINE static void insert_plain(worker_lanes& w, std::uint32_t worker, place& p,
                                             std::uint8_t priority) noexcept {
    p.put_at(worker);
    stamp<Into>(w, p, priority);
    (Into == lane::ready ? w.ready : w.cancel).push(p, priority);
  }
  static void insert(worker_lanes& w, place& p, lane into, std::uint8_t priority, instant deadline) noexcept {
    p.insertion_seq_ = ++w.last_insertion;
    ASX_ASSERT(p.insertion_seq_ != 0, "insertion numbers never wrap (U-37)");
    p.priority_ = priority;
    p.lane_ = into;
    if (into == lane::timed) {
      p.deadline_ = deadline;
      w.timed.push(p);
    } else {
      p.deadline_ = instant::none();
      (into == lane::ready ? w.ready : w.cancel).push(p, priority);
    }
  }
  static void take_out(worker_lanes& w, place& p) noexcept;
  bool take_away(place& p) noexcept;
  template <class Act>
  bool where_it_is(const place& p, Act act) noexcept;
  [[nodiscard]] dispatch next_of_many(std::uint32_t worker) noexcept;
  [[nodiscard]] place* take_ready(worker_lanes& w, dispatch& out) const noexcept;
  [[nodiscard]] bool take_own(worker_lanes& w, dispatch& out) noexcept;
  [[nodiscard]] place* steal(worker_lanes& thief, std::uint32_t worker, dispatch& out) noexcept;
  void count(worker_lanes& w, dispatch_source from, std::uint32_t limit) const noexcept {
    fairness_certificate& c = w.counted;
    if (limit > c.max_effective_limit_observed) c.max_effective_limit_observed = limit;
    w.is_idle = false;
    switch (from) {
      case dispatch_source::ready:
        w.streaks.went_from_ready();
        ++c.ready_dispatches;
        return;
      case dispatch_source::timed:
        w.streaks.went_from_timed();
        ++c.timed_dispatches;
        return;
      case dispatch_source::cancel: ++c.cancel_dispatches; break;
      default: ++c.fallback_cancel_dispatches; break;
    }
    w.streaks.went_from_cancel();
    if (w.streaks.cancel() > config_.cancel_streak_limit) ++c.base_limit_exceedances;
    if (w.streaks.cancel() > limit) ++c.effective_limit_exceedances;
  }

  sched_config config_;
  memory_port memory_;
  worker_lanes* workers_ = nullptr;
  atomic_word<governor> suggestion_{governor::no_preference};
  std::uint32_t unlocked_ = 0;  // Workers, when there are no threads.
  bool is_plain_;               // No threads, and no draws among equals.
  void* block_ = nullptr;       // Workers, their page tables and the pool, in one piece.
  std::size_t block_bytes_ = 0;
  detail::timed_pages* pages_ = nullptr;
};

}  // namespace asx
