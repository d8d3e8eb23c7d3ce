// How a worker helps others compute, and waits for its own pieces: decks of detail/drive_pieces.hpp.
#include "asx/runtime/detail/drive_pieces.hpp"

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
  p.help_(p, *this);
  // Release: what it computed is seen by who waits. Acquire: that one has said so before it sleeps.
  if (p.state_.exchange(piece::over, std::memory_order_acq_rel) == piece::awaited) of->parker_.unpark();
}

void piece_deck::wait_for(piece& p) noexcept {
  const auto is_over = [&p] {
    return p.state_.load(std::memory_order_acquire) == piece::over;  // Acquire: pairs with the exchange above.
  };
  for (int i = 0; i < looks; ++i) {  // asx: bounded by the pieces that there are
    if (is_over()) return;
    if (crew_->call_another(*this)) {
      i = 0;
    } else {
      system_threads::relax();
    }
  }
  std::uint32_t seen = piece::open;
  // Release: pairs with the acquire in call_stolen. Acquire, when it fails: it is over, and what it computed is seen.
  if (!p.state_.compare_exchange_strong(seen, piece::awaited, std::memory_order_release, std::memory_order_acquire)) {
    return;
  }
  for (duration nap = first_nap; !is_over();
       nap = nap < last_nap ? nap + nap : last_nap) {  // asx: bounded by the piece
    parker_.park(nap);
    while (!is_over() && crew_->call_another(*this)) {  // asx: bounded by the pieces that there are
    }
  }
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

// Begins behind its own, so that not all come to the same one; its own oldest piece is as good as any, and comes last.
bool piece_crew::call_another(piece_deck& by) noexcept {
  const std::size_t count = decks_.size();
  for (std::size_t i = 1; i <= count; ++i) {  // asx: bounded by the workers
    piece_deck& from = decks_[(by.number() + i) % count];
    if (from.seems_empty()) continue;
    if (piece* const p = from.steal(); p != nullptr) {
      // Who was rung for one piece has another one rung for the next: none rings while a ring has not been heard.
      if (is_somebody_asleep() && has_pieces()) ring_(context_);
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
