// asx/chan/testing/counted_message.hpp - a value that can only be moved, and that nobody can lose or double unseen.
//
// A channel must destroy what it discards oldest first, after the wakes, and must hand on everything
// else exactly once. So a message knows its number, a ledger knows how many live, and each death that was no delivery
// is written down with the number of the newest event then.
//
// Cancel points: none. Threads: one owner. Lifetime: a ledger outlives its messages, its journal the ledger's use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/journal/journal.hpp"

namespace asx::testing {

/// Every message that lives, and every one that died without being taken out.
struct message_ledger {
  struct death {
    std::uint64_t seq = 0;  // The newest event then.
    std::uint64_t number = 0;
  };
  std::uint64_t live = 0;
  std::vector<death> deaths;
  const asx::journal* log = nullptr;
};

/// A value that can only be moved and that nobody can lose or double unseen.
class counted_message {
 public:
  counted_message(std::uint64_t number, message_ledger& book) noexcept : number_(number), book_(&book) { ++book.live; }
  counted_message(counted_message&& from) noexcept : number_(std::exchange(from.number_, 0)), book_(from.book_) {}
  counted_message& operator=(counted_message&& from) noexcept {
    if (this == &from) return *this;
    die();
    number_ = std::exchange(from.number_, 0);
    book_ = from.book_;
    return *this;
  }
  ~counted_message() { die(); }
  counted_message(const counted_message&) = delete;
  counted_message& operator=(const counted_message&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }  // 0: moved from, or taken.
  /// Its number; it is delivered now, and its death is no news any more.
  [[nodiscard]] std::uint64_t take() {
    if (number_ != 0) --book_->live;
    return std::exchange(number_, 0);
  }

 private:
  void die() noexcept {
    if (number_ == 0) return;  // Moved from.
    --book_->live;
    book_->deaths.push_back({book_->log->seq(), std::exchange(number_, 0)});
  }

  std::uint64_t number_;
  message_ledger* book_;
};

/// One that is moved as bytes, whose end calls nothing. Nobody counts it: that none is lost is in the answers.
class plain_message {
 public:
  plain_message(std::uint64_t number, message_ledger& /*book*/) noexcept : number_(number) {}
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t take() { return std::exchange(number_, 0); }

 private:
  std::uint64_t number_;
};

/// What a puppet has in hand to be sent, first to last.
template <class Message>
class message_list {
 public:
  void add(std::uint64_t first, std::uint32_t count, message_ledger& book) {
    for (std::uint32_t i = 0; i < count; ++i) all_.emplace_back(first + i, book);
  }
  [[nodiscard]] std::span<Message> all() { return all_; }
  /// Forgets those before `rest`, which a call left of all(); how many. They must have been moved out, and nothing
  /// behind them.
  std::uint64_t keep(std::span<Message> rest) {
    const std::size_t gone = all_.size() - rest.size();
    bool is_whole = rest.size() <= all_.size() && rest.data() == all_.data() + gone;
    if (!is_whole) return UINT64_MAX;
    if constexpr (!std::is_trivially_copyable_v<Message>) {
      for (std::size_t i = 0; i < all_.size(); ++i) is_whole = is_whole && (all_[i].number() == 0) == (i < gone);
    }
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(gone));
    return is_whole ? gone : UINT64_MAX;
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> out;
    for (const Message& m : all_) out.push_back(m.number());
    return out;
  }
  /// Takes all of them away; that is no news.
  void clear() {
    for (Message& m : all_) static_cast<void>(m.take());
    all_.clear();
  }

 private:
  std::vector<Message> all_;
};

}  // namespace asx::testing
