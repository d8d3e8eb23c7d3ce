// asx/runtime/detail/drive_pieces.hpp - what workers have put aside of what they compute, and how others come by it.
//
//     put_aside --> the worker's deque --take_back--> called where it was forked
//                        |   +--- somebody who sleeps is rung for, who has the next one rung for
//                        +--steal--> called by another worker --> over --> who waits for it goes on
//
// 1  A piece is called once: by who took it back, or by who stole it.
// 2  Who waits for a stolen piece calls meanwhile what that one forks, and nothing else: what it would have called by
//    itself if nobody helped. Then it sleeps, and goes on when the piece is over or was given back. Whoever had it does
//    not touch it any more.
// 3  A ring may come in vain, or not at all when a worker is just going to sleep: one looks around once a millisecond
//    while others are busy, so that help is late then and nothing is lost.
//
// Cancel points: none. Threads: a deck is of one worker at a time, but for what is stolen. Lifetime: the crew's, which
// outlives every poll.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asx/base/assert.hpp"
#include "asx/base/atomic_word.hpp"
#include "asx/base/config.hpp"
#include "asx/base/fork_deque.hpp"
#include "asx/kernel/thread_mark.hpp"
#include "asx/runtime/detail/bell.hpp"
#include "asx/runtime/port_park.hpp"

namespace asx::detail {

struct task_record;
class piece_deck;
template <class G>
class forked;

/// What all pieces of one call of parallel know.
struct piece_call {
  task_record* task = nullptr;  // Whose poll it is.
  bool is_drawn = false;        // Which of two goes first, as the lab does it.
};

class piece {
 public:
  /// Calls it on a thread that helps.
  using helper = void (*)(piece& self, piece_deck& by) noexcept;
  piece(helper help, const piece_call& call, piece_deck* of) noexcept : help_(help), call_(&call), of_(of) {}
  [[nodiscard]] const piece_call& call() const noexcept { return *call_; }

 private:
  friend class piece_deck;
  friend class piece_crew;
  enum : std::uint32_t { open, over, awaited, returned };

  helper help_;
  const piece_call* call_;
  piece_deck* of_;
  atomic_word<piece_deck*> by_{nullptr};  // Who has stolen it.
  atomic_word<std::uint32_t> state_{open};
};

class piece_crew;

/// Of one worker.
class alignas(64) piece_deck {
 public:
  static constexpr std::size_t capacity = 256;  // More that nobody wants are called where they are forked.

  piece_deck() noexcept = default;
  /// It is this thread's from now on. `depth` counts the stolen pieces that it is in.
  void sit(piece_crew& crew, std::uint32_t number, std::uint32_t& depth) noexcept {
    crew_ = &crew;
    number_ = number;
    depth_ = &depth;
#if !defined(ASX_ONE_THREAD)
    thread_ = thread_mark();
#endif
  }

  /// False: there is no room, or nobody who could help.
  [[nodiscard]] ASX_ALWAYS_INLINE bool put_aside(piece& p) noexcept;
  /// False: another one has it.
  [[nodiscard]] ASX_ALWAYS_INLINE bool take_back(piece& p) noexcept {
    const piece* const newest = aside_.pop();
    ASX_ASSERT(newest == nullptr || newest == &p, "what was forked last is joined first");
    return newest != nullptr;
  }
  void wait_for(piece& p) noexcept;

  /// Null: there is nothing, or somebody else was faster.
  [[nodiscard]] piece* steal() noexcept { return aside_.steal(); }
  [[nodiscard]] bool seems_empty() const noexcept { return aside_.seems_empty(); }
  /// By this deck's thread.
  void call_stolen(piece& p) noexcept;
  static void give_back(piece& p) noexcept;
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

 private:
  basic_fork_deque<piece, capacity, words::atomic> aside_;
  piece_crew* crew_ = nullptr;
#if !defined(ASX_ONE_THREAD)
  const void* thread_ = nullptr;
#endif
  std::uint32_t number_ = 0;
  std::uint32_t* depth_ = nullptr;
  // Pieces of others that it called. A word of a size: no machine needs a library for it. Relaxed: it is only counted.
  atomic_word<std::size_t> stolen_{0};
  thread_parker parker_;
};

/// Of all workers of a runtime.
class piece_crew {
 public:
  /// `ring` is called for a piece that somebody who sleeps could call, when `sleepers` has one.
  piece_crew(std::uint32_t workers, const bell& sleepers, void* context, void (*ring)(void* context) noexcept)
      : decks_(workers), sleepers_(sleepers), context_(context), ring_(ring) {}

  /// The deck of this thread, which is worker `n`; piece_deck::sit.
  [[nodiscard]] piece_deck& deck(std::uint32_t n, std::uint32_t& depth) noexcept {
    decks_[n].sit(*this, n, depth);
    return decks_[n];
  }
  [[nodiscard]] bool has_pieces() const noexcept;
  /// Calls what others put aside, until there is nothing for a while or tasks have waited long enough.
  void help(piece_deck& mine) noexcept;
  /// How many pieces were called by another worker than forked them.
  [[nodiscard]] std::uint64_t stolen() const noexcept;
  /// Nobody is rung for: who sleeps finds out when it looks around.
  void hush() noexcept { is_quiet_ = true; }

 private:
  friend class piece_deck;
  [[nodiscard]] bool call_another(piece_deck& by) noexcept;
  [[nodiscard]] piece* steal_from(piece_deck& from) noexcept;
  [[nodiscard]] ASX_ALWAYS_INLINE bool is_somebody_asleep() const noexcept {
    return !is_quiet_ && sleepers_.would_wake();
  }

  std::vector<piece_deck> decks_;
  const bell& sleepers_;
  void* context_;
  void (*ring_)(void* context) noexcept;
  bool is_quiet_ = false;
};

ASX_ALWAYS_INLINE bool piece_deck::put_aside(piece& p) noexcept {
#if !defined(ASX_ONE_THREAD)
  ASX_ASSERT(thread_ == thread_mark(),
             "a `pieces` is of the thread that it was handed to; use the one that the piece gets");
#endif
  if (!aside_.push(&p)) [[unlikely]]
    return false;
  if (crew_->is_somebody_asleep()) [[unlikely]]
    crew_->ring_(crew_->context_);
  return true;
}

}  // namespace asx::detail
