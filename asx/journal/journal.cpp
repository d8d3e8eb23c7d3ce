#include "asx/journal/journal.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "asx/journal/digest.hpp"
#include "asx/journal/event_table.hpp"

namespace asx {

journal::~journal() {
  settle();
  if (ring_ != nullptr) memory_.release(memory_.context, ring_, capacity_ * sizeof(event), alignof(event));
}

status journal::open(memory_port memory, const journal_options& options, event_sink sink) noexcept {
  if (mode_ != journal_mode::off) return status::invalid_argument;
  if (options.mode == journal_mode::full) {
    if (options.capacity == 0 || options.capacity > SIZE_MAX / sizeof(event)) return status::invalid_argument;
    const auto bytes = static_cast<std::size_t>(options.capacity) * sizeof(event);
    void* const block = memory.allocate(memory.context, bytes, alignof(event));
    if (block == nullptr) return status::resource_exhausted;
    ring_ = static_cast<event*>(block);
    capacity_ = static_cast<std::size_t>(options.capacity);
    std::uninitialized_value_construct_n(ring_, capacity_);
    sink_ = sink;
  }
  memory_ = memory;
  overflow_ = options.overflow;
  mode_ = options.mode;
  return status::ok;
}

void journal::settle() noexcept {
  if (staged_ == 0) return;
  ASX_ASSERT(!settling_, "a sink must not append to the journal that feeds it: the order would be its own");
  ASX_ASSERT(seq_ < UINT64_MAX - stage_size, "sequence numbers are never used twice (U-37)");
  const std::span<const event> batch(stage_.data(), staged_);
  if (sink_.take != nullptr) {  // First, while everything that the sink may read still counts the batch as staged.
    settling_ = true;
    sink_.take(sink_.context, batch);
    settling_ = false;
  }
  add_events(digest_, batch);
  if (mode_ == journal_mode::full) {
    const std::size_t kept = std::min(staged_, capacity_);
    const event* from = batch.data() + (staged_ - kept);
    auto place = static_cast<std::size_t>((written_ + staged_ - kept) % capacity_);
    std::size_t left = kept;
    while (left > 0) {
      const std::size_t piece = std::min(left, capacity_ - place);
      std::memcpy(ring_ + place, from, piece * sizeof(event));
      from += piece;
      left -= piece;
      place = 0;
    }
    written_ += staged_;
    gone_ = std::max(gone_, written_ > capacity_ ? written_ - capacity_ : 0);
  } else {
    written_ += staged_;
    gone_ = written_;
  }
  staged_ = 0;
}

digest128 journal::digest() const noexcept {
  digest_stream copy = digest_;
  add_events(copy, {stage_.data(), staged_});
  return copy.value();
}

std::uint64_t journal::size() const noexcept {
  return mode_ == journal_mode::full ? std::min<std::uint64_t>(total() - gone_, capacity_) : 0;
}

event journal::at(std::uint64_t place) const noexcept {
  ASX_ASSERT(place < size(), "only kept events can be read");
  const std::uint64_t index = total() - size() + place;
  return index >= written_ ? stage_[static_cast<std::size_t>(index - written_)]
                           : ring_[static_cast<std::size_t>(index % capacity_)];
}

std::size_t journal::copy_tail(std::span<event> out) const noexcept {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size()));
  const std::uint64_t first = size() - count;
  for (std::size_t i = 0; i < count; ++i) out[i] = at(first + i);
  return count;
}

std::uint64_t journal::seq_before() const noexcept {
  if (size() == 0) return seq_;
  const event oldest = at(0);
  return oldest.seq - (oldest.semantic() ? 1U : 0U);
}

std::uint64_t journal::overwritten() const noexcept {
  return mode_ == journal_mode::full ? total() - size() - discarded_ : 0;
}

void journal::discard_oldest(std::uint64_t events) noexcept {
  settle();
  const std::uint64_t count = std::min(events, size());
  gone_ += count;
  discarded_ += count;
}

void journal::append_text(text_code what, type_tag of, std::uint64_t subject, std::string_view text,
                          std::uint64_t time_ns) noexcept {
  for (std::size_t at = 0, piece = 0; at < text.size(); at += 16, ++piece) {
    std::array<std::uint64_t, 2> halves{};
    for (std::size_t i = 0; i < 16 && at + i < text.size(); ++i) {
      halves[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * (i % 8));
    }
    append(event_kind::text,
           {.time_ns = time_ns,
            .subject = subject,
            .object = pack(piece, static_cast<std::uint64_t>(what) | static_cast<std::uint64_t>(of) << 8),
            .a = halves[0],
            .b = halves[1],
            .cause = seq_});
  }
}

void journal::check() const noexcept {
  const std::uint64_t count = size();
  for (std::uint64_t i = 0; i < count; ++i) {
    const event e = at(i);
    ASX_ASSERT(is_well_formed(e), "every kept event has a known kind, known flags and the mark of its kind");
    ASX_ASSERT(e.cause <= e.seq && (!e.semantic() || e.cause < e.seq), "a cause comes before its effect");
    if (i > 0) {
      ASX_ASSERT(e.seq == at(i - 1).seq + (e.semantic() ? 1U : 0U), "event_seq has no gaps (R-113)");
    }
  }
  ASX_ASSERT(count == 0 || at(count - 1).seq == seq_, "the newest event has the newest number");
}

}  // namespace asx
