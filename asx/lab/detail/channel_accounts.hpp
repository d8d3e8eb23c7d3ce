// asx/lab/detail/channel_accounts.hpp - the books of all channels of a run, kept from what the journal says alone.
//
//     reserved = sent + aborted + held               R-234, after every event of a channel
//     sent     = received + evicted + discarded + queued
//     sent     = overwritten + discarded + kept      R-259, of a broadcast
//
// A channel asserts the same of its counters. Here nobody asks the channel: what was told to happen must add up to what
// was told to be there, and to nothing when the storage goes.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "asx/base/config.hpp"
#include "asx/journal/event.hpp"

namespace asx::detail {

class ASX_API channel_accounts {
 public:
  /// In the order of the journal.
  void take(const event& e);
  /// The first account that did not balance; empty when all did.
  [[nodiscard]] const std::string& finding() const noexcept { return finding_; }

 private:
  struct account {
    std::uint64_t capacity = 0;
    std::uint64_t last_permit = 0;
    std::uint64_t held = 0;    // Permits.
    std::uint64_t queued = 0;  // Messages, or values that a broadcast keeps.
    enum class kind : std::uint8_t { unknown, queue, broadcast } is = kind::unknown;
  };

  void take_permit(account& a, const event& e);
  void take_message(account& a, const event& e, std::uint64_t count);
  void expect(bool holds, const account& a, const event& e);

  std::map<std::uint64_t, account> open_;
  std::string finding_;
};

}  // namespace asx::detail
