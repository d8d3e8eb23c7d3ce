// asx/runtime/metrics.hpp - what a runtime did and how long it took: counters, gauges and histograms.
//
//     asx::metrics m;
//     asx::runtime_config config;
//     config.measure = &m;                                  // off by default, and free then
//     ...
//     std::string page = asx::prometheus_text(rt.measured());
//
// 1  Measuring changes no decision and no event: a run has the same digest with and without.
// 2  It costs one reading of the clock for each poll - the end of one is the time of the next step - and one look at
//    the lane that it came from.
// 3  Histograms are log-linear, four steps for each power of two: a quantile is off by at most a quarter. They have a
//    fixed size, and nothing is allocated.
// 4  Times from a cancel are in the time of steps: from the step in which it was first asked for to the step in
//    which it was acknowledged, and to the one in which the task ended.
//
// Cancel points: none. Threads: the runtime's; a copy is anybody's. Lifetime: it outlives the runtime that measures.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "asx/base/config.hpp"
#include "asx/base/time.hpp"

namespace asx {

class histogram {
 public:
  static constexpr unsigned steps_bits = 2;  // Four steps for each power of two.
  static constexpr std::size_t buckets = (64 - steps_bits + 1) << steps_bits;

  /// Which bucket a value falls into: 0 to 3 have one each.
  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < (1U << steps_bits)) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - steps_bits;
    return (std::size_t{shift} << steps_bits) + static_cast<std::size_t>(value >> shift);
  }
  /// The largest value that falls into it.
  [[nodiscard]] static constexpr std::uint64_t last_in(std::size_t bucket) noexcept {
    if (bucket < (1U << steps_bits)) return bucket;
    const std::size_t shift = (bucket >> steps_bits) - 1;
    const std::uint64_t step = (bucket & ((1U << steps_bits) - 1)) + (1U << steps_bits);
    return ((step + 1) << shift) - 1;  // Of the last bucket, the largest number: it wraps to 0 first.
  }

  constexpr void add(std::uint64_t value) noexcept {
    ++counts_[bucket_of(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  [[nodiscard]] constexpr std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] constexpr std::uint64_t sum() const noexcept { return sum_; }
  [[nodiscard]] constexpr std::uint64_t max() const noexcept { return max_; }
  [[nodiscard]] constexpr std::uint64_t in_bucket(std::size_t bucket) const noexcept { return counts_[bucket]; }
  /// At least `per_mille` of 1000 values are at most this; 0 when there are none.
  [[nodiscard]] constexpr std::uint64_t quantile(std::uint32_t per_mille) const noexcept {
    const std::uint64_t wanted = count_ / 1000 * per_mille + (count_ % 1000 * per_mille + 999) / 1000;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets && count_ != 0; ++i) {  // asx: bounded by the number of buckets
      seen += counts_[i];
      if (seen >= wanted && seen != 0) return last_in(i) < max_ ? last_in(i) : max_;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

struct metrics {
  // Counters: they only rise.
  std::array<std::uint64_t, 5> polls{};  // By dispatch_source: cancel, timed, ready, fallback, stall.
  std::uint64_t wakes = 0;               // Entries into a lane, requeues among them.
  std::uint64_t passed = 0;              // Timers that fired and deadlines that passed.
  std::uint64_t parks = 0;
  // Gauges: how it is when it was last measured.
  std::array<std::uint64_t, 3> queued{};  // By lane: cancel, timed, ready.
  std::uint64_t live_tasks = 0;
  std::uint64_t live_regions = 0;
  std::uint64_t live_timers = 0;
  std::uint64_t foreign_holds = 0;
  // Histograms, in nanoseconds.
  histogram poll_ns;
  histogram acknowledge_ns;  // From a cancel's request to its acknowledgement,
  histogram complete_ns;     // and to the end of the task.
  // A histogram of tasks: how many waited in the ready lane of the same worker whenever a poll began. What a reader
  // finds there at rest is nothing (queued); this is what there was in between.
  histogram ready_depth;

  [[nodiscard]] constexpr std::uint64_t all_polls() const noexcept {
    return polls[0] + polls[1] + polls[2] + polls[3] + polls[4];
  }
};

/// In the exposition format of Prometheus, version 0.0.4: a page that can be served as it is.
[[nodiscard]] ASX_API std::string prometheus_text(const metrics& m);

}  // namespace asx
