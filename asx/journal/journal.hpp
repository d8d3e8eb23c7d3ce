// asx/journal/journal.hpp - the ordered record of a run: a ring of events and a digest that runs along.
//
//     append --> stage [ e e e e . . . ] --when full, or when asked--> digest (semantic events)
//                                                                  --> ring (the newest `capacity` events)
//                                                                  --> sink (a file, a follower)
//
// R-113  semantic events are numbered from 1 without a gap. trace_overflow::ring overwrites the oldest and counts
//        it; trace_overflow::reject lets reserve() refuse with resource_exhausted before anything has changed.
// R-120  digest() is XXH3-128 over the canonical bytes of the semantic events so far, after any event.
// R-114  mode, capacity, policy and sink change neither numbers nor digest.
// U-37   a sequence number that would overflow is fatal.
//
// The stage is what makes the digest cheap: XXH3 takes a kilobyte at a time instead of 64 bytes. Everything that is
// read - digest, size, tail - counts what is still staged, so nobody can tell.
//
// Cancel points: none.
// Threads: one owner, or a lock around it: the order of append is the order of the run.
// Lifetime: the memory port and the sink's context outlive the journal. Nothing is allocated after open().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "asx/base/assert.hpp"
#include "asx/base/hash.hpp"
#include "asx/base/memory.hpp"
#include "asx/journal/event.hpp"
#include "asx/model/handle.hpp"
#include "asx/model/status.hpp"

namespace asx {

enum class journal_mode : std::uint8_t {
  off,          // Nothing is recorded; append returns 0.
  digest_only,  // Events are numbered and digested, not kept; diagnostics are skipped.
  full,         // Everything is kept in the ring and given to the sink.
};

enum class trace_overflow : std::uint8_t { ring, reject };

struct journal_options {
  journal_mode mode = journal_mode::full;
  trace_overflow overflow = trace_overflow::ring;
  std::uint64_t capacity = 65'536;  // Events kept; the contract's trace capacity (U-08).
};

/// Receives events in order, in batches of at most journal::stage_size. It must not append to the same journal.
struct event_sink {
  void* context = nullptr;
  void (*take)(void* context, std::span<const event> batch) noexcept = nullptr;
};

/// What the caller of append knows; the journal adds number and flags.
struct event_fields {
  std::uint64_t time_ns = 0;
  std::uint64_t subject = 0;
  std::uint64_t object = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t cause = 0;
  std::uint16_t worker = 0;
  std::uint32_t flags = 0;  // Without the semantic mark, which belongs to the kind.
};

class ASX_API journal {
 public:
  static constexpr std::size_t stage_size = 32;

  /// A journal that is off until it is opened.
  journal() noexcept = default;
  ~journal();
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;

  /// invalid_argument: open already, or full with capacity 0. resource_exhausted: the port has no room.
  [[nodiscard]] status open(memory_port memory, const journal_options& options, event_sink sink = {}) noexcept;

  /// The number of the event, to be named as the cause of later ones; 0 when the journal is off.
  std::uint64_t append(event_kind kind, const event_fields& fields) noexcept {
    if (mode_ == journal_mode::off) return 0;
    const bool counts = is_semantic(kind);
    if (!counts && mode_ == journal_mode::digest_only) return seq_;
    ASX_ASSERT(fields.cause <= seq_, "a cause comes before its effect: it names an event that has a number");
    seq_ += counts ? 1U : 0U;
    stage_[staged_] = {
        seq_,           fields.time_ns, kind,     fields.worker, fields.flags | (counts ? event_flags::semantic : 0U),
        fields.subject, fields.object,  fields.a, fields.b,      fields.cause};
    if (++staged_ >= stage_size) settle();
    return seq_;
  }

  /// Keeps a name or a message as diagnostics, 16 bytes an event: text enters no digest.
  void append_text(text_code what, type_tag of, std::uint64_t subject, std::string_view text,
                   std::uint64_t time_ns = 0) noexcept;

  /// Room for `events` more without overwriting. Only trace_overflow::reject ever refuses, with resource_exhausted.
  [[nodiscard]] status reserve(std::uint64_t events) const noexcept {
    if (mode_ != journal_mode::full || overflow_ == trace_overflow::ring) [[likely]]
      return status::ok;
    return events <= capacity_ - size() ? status::ok : status::resource_exhausted;
  }
  /// Forgets the oldest events, so that reserve finds room again: somebody else has them now.
  void discard_oldest(std::uint64_t events) noexcept;
  /// Hands staged events to ring and sink now instead of with the next full stage. Changes nothing that can be read.
  void settle() noexcept;

  [[nodiscard]] journal_mode mode() const noexcept { return mode_; }
  /// The number of the newest semantic event; 0 before the first.
  [[nodiscard]] std::uint64_t seq() const noexcept { return seq_; }
  [[nodiscard]] digest128 digest() const noexcept;

  /// How many events can be read with at(); at(0) is the oldest.
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] event at(std::uint64_t place) const noexcept;
  /// Copies the newest events, oldest first, as many as fit; returns how many.
  std::size_t copy_tail(std::span<event> out) const noexcept;
  /// The number before the oldest kept event: what the header of a dumped ring says (codec_bin.hpp).
  [[nodiscard]] std::uint64_t seq_before() const noexcept;
  /// Events that the ring lost to newer ones. Under trace_overflow::reject, events that nobody had reserved room for.
  [[nodiscard]] std::uint64_t overwritten() const noexcept;

  /// Asserts that the kept events are numbered without a gap and well formed. O(n), for tests.
  void check() const noexcept;

 private:
  [[nodiscard]] std::uint64_t total() const noexcept { return written_ + staged_; }

  journal_mode mode_ = journal_mode::off;
  trace_overflow overflow_ = trace_overflow::ring;
  bool settling_ = false;
  std::size_t staged_ = 0;
  std::uint64_t seq_ = 0;

  std::uint64_t written_ = 0;    // Events that have left the stage, whether the ring still has them or not.
  std::uint64_t gone_ = 0;       // The first of them that are not kept any more: overwritten or discarded.
  std::uint64_t discarded_ = 0;  // Those among `gone_` that discard_oldest took.
  event* ring_ = nullptr;
  std::size_t capacity_ = 0;
  memory_port memory_{};
  event_sink sink_{};
  digest_stream digest_;
  // One slot is spare: a sink that appends, which it must not, meets settle's assertion and not the end of the array.
  alignas(64) std::array<event, stage_size + 1> stage_{};
};

}  // namespace asx
