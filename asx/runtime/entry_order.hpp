// asx/runtime/entry_order.hpp - in which order threads went into a kernel, and what the clock said to them there.
//
//     asx::entry_order order;
//     { asx::threaded_runtime rt({.workers = 4, .record = &order}); program(*rt); }     // with threads, as they come
//     { asx::threaded_runtime rt({.workers = 4, .replay = &order}); program(*rt); }     // one at a time, in that order
//     asx::replay_workers(order, {}, program);     // the same on one thread, compared: asx/lab/replay_workers.hpp
//
// 1  What happens in a kernel depends on what was done before, on the clock, and on nothing else. So the same program,
//    let in in the same order and told the same times, does the same: event by event, to the same digest.
// 2  It covers programs whose only inputs are asx's: tasks, regions, channels, timers, cx::now. Not covered, and said
//    by `is_complete`: calls of threads that are not workers, foreign handles, blocking calls. Not covered, and nobody
//    can say so: what tasks tell each other past asx, such as an atomic, clocks and draws of their own, and, on one
//    thread, words of theirs that each thread has. A replay of such a program, or of another one, parts from its
//    record: its digest differs, and it comes to an end of its own - unless one poll waits for another past asx, which
//    waits for its turn. On one thread that is found, and told (threads_config::stuck_after).
// 3  It is played by the same build or another one, on this machine or another one: bytes are the same everywhere. What
//    goes in when is asx's own affair: an order is played by the version of asx that recorded it.
// 4  It keeps the journal's digest, as it was when a run was over last and when the runtime went, so that whoever plays
//    it knows whether it is the same run. An order that was kept in the middle of its first run has none. How often
//    somebody went in does not tell: who waits for others goes in as often as it must.
// 5  Entries cost two bytes for each time that another thread comes in; a reading of the clock, one to five.
//
// Cancel points: none. Threads: the runtime's, inside. Lifetime: it outlives the runtime that writes or reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "asx/base/config.hpp"
#include "asx/base/hash.hpp"
#include "asx/base/time.hpp"
#include "asx/model/status.hpp"

namespace asx {

class ASX_API entry_order {
 public:
  // ---- writing
  void begin(std::uint32_t workers, std::uint64_t seed, bool is_virtual = false) noexcept;
  void enter(std::uint32_t worker);
  void read_clock(instant moment);
  /// Anything else that was measured, and that something depends on.
  void measure(std::uint64_t number);
  /// A run is over; `digest` is the journal's.
  void end_run(const digest128& digest) noexcept {
    digest_ = digest;
    ++runs_;
  }
  /// The runtime goes, at rest or not.
  void end(const digest128& digest) noexcept {
    digest_at_end_ = digest;
    is_ended_ = true;
  }
  /// Somebody else had a say: a replay would wait for it in vain.
  void spoil() noexcept { is_complete_ = false; }

  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  [[nodiscard]] std::uint32_t workers() const noexcept { return workers_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// Time stood and jumped: a replay's does, too.
  [[nodiscard]] bool is_virtual() const noexcept { return is_virtual_; }
  [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }
  /// How many runs were over, and the journal's digest at the end of the last one.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  [[nodiscard]] const digest128& digest() const noexcept { return digest_; }
  /// The recorded runtime went, and the digest that its journal had then.
  [[nodiscard]] bool is_ended() const noexcept { return is_ended_; }
  [[nodiscard]] const digest128& digest_at_end() const noexcept { return digest_at_end_; }

  /// Everything as bytes, for a file.
  [[nodiscard]] std::vector<std::uint8_t> save() const;
  /// invalid_argument: not an order, or one that was cut or changed; `out` is as it was then.
  [[nodiscard]] static status load(std::span<const std::uint8_t> bytes, entry_order& out);

  /// Reads one from its beginning.
  class ASX_API reader {
   public:
    explicit reader(const entry_order& from) noexcept;
    /// Who is next; empty when nobody is.
    [[nodiscard]] std::optional<std::uint32_t> next() const noexcept;
    void advance() noexcept;
    /// Empty when there is no further one.
    [[nodiscard]] std::optional<instant> next_time() noexcept;
    [[nodiscard]] std::optional<std::uint64_t> next_number() noexcept;

   private:
    void read_run() noexcept;

    const entry_order& from_;
    std::size_t who_at_ = 0;  // Behind the run that is being read.
    std::size_t when_at_ = 0;
    bool is_at_open_run_ = false;
    std::uint32_t who_ = 0;
    std::uint64_t left_ = 0;  // Of that run.
    std::uint64_t last_ns_ = 0;
  };

 private:
  void close_run();

  std::uint32_t workers_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t runs_ = 0;
  digest128 digest_{};
  digest128 digest_at_end_{};
  bool is_ended_ = false;
  bool is_complete_ = true;
  bool is_virtual_ = false;
  std::vector<std::uint8_t> who_;   // Runs: a worker, and how often it came in in a row.
  std::vector<std::uint8_t> when_;  // Differences of times, in nanoseconds, and what was measured.
  std::uint64_t last_ns_ = 0;
  std::uint32_t run_of_ = 0;  // The run that is being written.
  std::uint64_t run_ = 0;
};

}  // namespace asx
