// How a worker helps others compute, and waits for its own pieces: decks of detail/drive_pieces.hpp.
#include "asx/runtime/detail/drive_pieces.hpp"

#include <algorithm>

#include "asx/runtime/port_clock.hpp"

namespace asx::detail {
namespace {

// Looks in vain, before a worker does something else: some ten microseconds, as much as a sleep and a wake cost.
constexpr int looks = 400;
constexpr duration stay = duration::milliseconds(1);  // Then tasks have waited long enough.
// Who waits for a piece looks for others again after so long, and then more and more seldom.
constexpr duration first_nap = duration::microseconds(50);
constexpr duration last_nap = duration::milliseconds(1);

}  // namespace

void piece_deck::call_stolen(piece& p) noexcept {
  // Relaxed: written by this thread alone.
  stolen_.store(stolen_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  piece_deck* const of = p.of_;  // The piece may be gone once it is over.
  // Relaxed: a deck is there as long as the crew. Who waits finds in it what this piece forks, or nothing yet.
  p.by_.store(this, std::memory_order_relaxed);
  ++*depth_;
  p.help_(p, *this);
  --*depth_;
  // Release: what it computed is seen by who waits. Acquire: that one has said so before it sleeps.
  if (p.state_.exchange(piece::over, std::memory_order_acq_rel) == piece::awaited) of->parker_.unpark();
}

void piece_deck::give_back(piece& p) noexcept {
  piece_deck* const of = p.of_;
  // Release and acquire: as in call_stolen.
  if (p.state_.exchange(piece::returned, std::memory_order_acq_rel) == piece::awaited) of->parker_.unpark();
}

// Its own deck is empty: the oldest is stolen first, so what is older than p is gone, too. For the same reason there is
// nothing in the deck of who has p but what p forks, as long as p is not over. Somebody else's pieces might ask for a
// lock that this thread holds, or take long: what was stolen when p may have been over already is given back.
void piece_deck::wait_for(piece& p) noexcept {
  ASX_ASSERT(aside_.seems_empty(), "whoever waits has had everything stolen that it put aside");
  const auto state = [&p] { return p.state_.load(std::memory_order_acquire); };  // Acquire: pairs with both exchanges.
  const auto is_out = [&] { return state() == piece::open || state() == piece::awaited; };
  const auto call_another = [&] {
    piece_deck* const by = p.by_.load(std::memory_order_relaxed);  // Relaxed: as where it is stored.
    piece* const part = by == nullptr ? nullptr : crew_->steal_from(*by);
    if (part == nullptr) return false;
    is_out() ? call_stolen(*part) : give_back(*part);
    return true;
  };
  for (int i = 0; i < looks && is_out(); ++i) {  // asx: bounded by what p forks
    if (call_another()) {
      i = 0;
    } else {
      system_threads::relax();
    }
  }
  std::uint32_t seen = piece::open;
  // Release: pairs with the acquire of who has it. Acquire, when it fails: it is over, and what it computed is seen.
  if (p.state_.compare_exchange_strong(seen, piece::awaited, std::memory_order_release, std::memory_order_acquire)) {
    for (duration nap = first_nap; is_out(); nap = std::min(nap + nap, last_nap)) {  // asx: bounded by the piece
      parker_.park(nap);
      while (is_out() && call_another()) {  // asx: bounded by what p forks
      }
    }
  }
  if (state() == piece::returned) p.help_(p, *this);
}

bool piece_crew::has_pieces() const noexcept {
  for (const piece_deck& d : decks_) {  // asx: bounded by the workers
    if (!d.seems_empty()) return true;
  }
  return false;
}

std::uint64_t piece_crew::stolen() const noexcept {
  std::uint64_t sum = 0;
  for (const piece_deck& d : decks_) sum += d.stolen();  // asx: bounded by the workers
  return sum;
}

piece* piece_crew::steal_from(piece_deck& from) noexcept {
  piece* const p = from.seems_empty() ? nullptr : from.steal();
  // Who was rung for one piece has another one rung for the next: none rings while a ring has not been heard.
  if (p != nullptr && is_somebody_asleep() && has_pieces()) ring_(context_);
  return p;
}

// Begins behind its own, so that not all come to the same one.
bool piece_crew::call_another(piece_deck& by) noexcept {
  const std::size_t count = decks_.size();
  for (std::size_t i = 1; i < count; ++i) {  // asx: bounded by the workers
    if (piece* const p = steal_from(decks_[(by.number() + i) % count]); p != nullptr) {
      by.call_stolen(*p);
      return true;
    }
  }
  return false;
}

void piece_crew::help(piece_deck& mine) noexcept {
  const steady_clock clock;
  const instant until = clock.now() + stay;
  for (int i = 0; i < looks; ++i) {  // asx: bounded by the stay
    if (!call_another(mine)) {
      system_threads::relax();
      continue;
    }
    if (until <= clock.now()) return;
    i = 0;
  }
}

}  // namespace asx::detail
