#include "asx/journal/file.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/journal/digest.hpp"

namespace asx {

// ---- writer --------------------------------------------------------------------------------------------------------

bin_writer::~bin_writer() {
  if (buffer_ != nullptr) memory_.release(memory_.context, buffer_, buffer_size_, alignof(std::max_align_t));
}

status bin_writer::open(memory_port memory, write_port out, const journal_header& header,
                        const writer_options& options) noexcept {
  if (stage_ != stage::unopened || out.write == nullptr || !header.is_well_formed() || options.block_events == 0 ||
      options.block_events > bin::block_events_max / 2) {
    return status::invalid_argument;
  }
  // A block has at most twice its nominal number of events: diagnostics take no number.
  const std::size_t size = bin::header_bytes + std::size_t{2} * options.block_events * bin::event_bytes_max;
  void* const block = memory.allocate(memory.context, size, alignof(std::max_align_t));
  if (block == nullptr) return status::resource_exhausted;
  memory_ = memory;
  buffer_ = static_cast<std::byte*>(block);
  buffer_size_ = size;
  out_ = out;
  options_ = options;
  state_.seq = header.seq_before;
  stage_ = stage::open;
  const bin::header_block first = bin::encode_file_header(header);
  std::memcpy(buffer_, first.data(), first.size());
  unsent_from_ = 0;
  unsent_to_ = first.size();
  return send() ? status::ok : status::io;
}

event_sink bin_writer::sink() noexcept {
  return {this,
          [](void* self, std::span<const event> batch) noexcept { static_cast<bin_writer*>(self)->append(batch); }};
}

void bin_writer::append(std::span<const event> events) noexcept {
  ASX_ASSERT(stage_ == stage::open || stage_ == stage::stopped, "events go into a file that is open");
  std::size_t from = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool block_is_full = take(events[i]);
    if (!block_is_full && i + 1 < events.size()) continue;
    add_events(digest_, events.subspan(from, i + 1 - from));  // Up to here exactly: a block's header holds it.
    from = i + 1;
    if (block_is_full) end_block();
  }
}

bool bin_writer::take(const event& e) noexcept {
  // The buffer still holds the rest of a block that was refused. It gets one more chance before events are lost.
  if (stage_ == stage::open && unsent_from_ != unsent_to_ && !send()) {
    stage_ = stage::stopped;
    events_lost_ += std::exchange(unsent_events_, 0U);
  }
  if (stage_ == stage::stopped) {
    ++events_lost_;
    return false;
  }
  if (filled_ == 0) {
    filled_ = bin::header_bytes;
    block_.seq_before = state_.seq;
    block_.events = 0;
    state_ = {.seq = state_.seq};
  }
  filled_ += bin::encode_event(e, state_, buffer_ + filled_);
  ++block_.events;
  const bool at_boundary = e.semantic() && e.seq % options_.block_events == 0;
  return at_boundary || block_.events == 2 * options_.block_events;
}

void bin_writer::end_block() noexcept {
  const std::span<const std::byte> payload(buffer_ + bin::header_bytes, filled_ - bin::header_bytes);
  block_.payload_bytes = static_cast<std::uint32_t>(payload.size());
  block_.payload_hash = hash_bytes(payload);
  chain_ = block_.chain = bin::extend_chain(chain_, block_.payload_hash);
  block_.digest = digest_.value();
  const bin::header_block header = bin::encode_block_header(block_);
  std::memcpy(buffer_, header.data(), header.size());
  ++block_.index;
  unsent_from_ = 0;
  unsent_to_ = filled_;
  unsent_events_ = block_.events;
  filled_ = 0;
  static_cast<void>(send());  // A refusal is counted, and tried again with the next event.
}

bool bin_writer::send() noexcept {
  while (unsent_from_ < unsent_to_) {
    const std::int64_t n = out_.write(out_.context, {buffer_ + unsent_from_, unsent_to_ - unsent_from_});
    if (n <= 0) {  // Zero bytes without an error would be asked for for ever.
      ++writes_failed_;
      system_error_ = static_cast<int>(-n);
      if (options_.on_fault != nullptr) options_.on_fault(options_.fault_context, system_error_);
      return false;
    }
    unsent_from_ += static_cast<std::size_t>(n);
    bytes_written_ += static_cast<std::uint64_t>(n);
  }
  events_written_ += std::exchange(unsent_events_, 0U);
  return true;
}

status bin_writer::flush() noexcept {
  if (stage_ == stage::unopened || stage_ == stage::closed) return status::invalid_argument;
  if (stage_ == stage::stopped) return status::io;
  if (unsent_from_ != unsent_to_ && !send()) return status::io;
  if (filled_ != 0) end_block();
  return unsent_from_ == unsent_to_ ? status::ok : status::io;
}

status bin_writer::close() noexcept {
  if (stage_ == stage::unopened || stage_ == stage::closed) return status::invalid_argument;
  status result = flush();
  if (result == status::ok) {
    block_info mark = block_;
    mark.is_end = true;
    mark.events = mark.payload_bytes = 0;
    mark.seq_before = state_.seq;
    mark.digest = digest_.value();
    mark.chain = chain_;
    mark.payload_hash = 0;
    const bin::header_block header = bin::encode_block_header(mark);
    std::memcpy(buffer_, header.data(), header.size());
    unsent_from_ = 0;
    unsent_to_ = header.size();
    result = send() ? status::ok : status::io;
  }
  if (result != status::ok) events_lost_ += std::exchange(unsent_events_, 0U);
  stage_ = stage::closed;
  return result;
}

// ---- reader --------------------------------------------------------------------------------------------------------

status bin_reader::fail(status code, std::uint64_t place, std::string sentence) {
  fault_ = {code, place, false,
            "byte " + std::to_string(place) + ": " + std::move(sentence) + "; the " + std::to_string(events_read_) +
                " events before it are intact"};
  end_ = file_end::damaged;
  return code;
}

status bin_reader::open(read_port in) {
  *this = bin_reader();
  in_ = in;
  bin::header_block bytes{};
  const std::int64_t n = in_.read_at(in_.context, 0, bytes);
  if (n < 0) return fail(status::io, 0, "the system refused to read (error " + std::to_string(-n) + ")");
  const auto got = std::span(bytes).first(static_cast<std::size_t>(n));
  if (!bin::begins_like_file_header(got)) return fail(status::corrupt, 0, "this is no journal of asx");
  if (got.size() < bytes.size()) {
    end_ = file_end::cut;
    return status::ok;
  }
  const status result = bin::decode_file_header(bytes, header_);
  if (result == status::version) return fail(result, 8, "the journal is of another version of the format");
  if (result != status::ok) return fail(result, 8, "the header of the file does not match its checksum");
  offset_ = bin::header_bytes;
  seq_ = header_.seq_before;
  return status::ok;
}

status bin_reader::read_block_header(std::uint64_t offset, block_info& out) {
  bin::header_block bytes{};
  const std::int64_t n = in_.read_at(in_.context, offset, bytes);
  if (n < 0) return fail(status::io, offset, "the system refused to read (error " + std::to_string(-n) + ")");
  if (static_cast<std::size_t>(n) < bytes.size()) return status::empty;
  const status result = bin::decode_block_header(bytes, out);
  if (result == status::version) return fail(result, offset, "a block is of a kind that this version does not know");
  if (result != status::ok) return fail(result, offset, "the header of a block does not match its checksum");
  out.offset = offset;
  return status::ok;
}

status bin_reader::read_block(const block_info& block, std::vector<event>& out) {
  out.clear();
  payload_.resize(block.payload_bytes);
  const std::uint64_t start = block.offset + bin::header_bytes;
  const std::int64_t n = in_.read_at(in_.context, start, payload_);
  if (n < 0) return fail(status::io, start, "the system refused to read (error " + std::to_string(-n) + ")");
  if (static_cast<std::size_t>(n) < payload_.size()) return status::empty;
  if (hash_bytes(payload_) != block.payload_hash) {
    return fail(status::corrupt, start,
                "the events of block " + std::to_string(block.index) + " do not match their checksum");
  }
  ++blocks_opened_;
  std::span<const std::byte> rest(payload_);
  bin::codec_state state{.seq = block.seq_before};
  out.reserve(block.events);
  for (std::uint32_t i = 0; i < block.events; ++i) {
    event e;
    const std::uint64_t place = start + (payload_.size() - rest.size());
    if (const bin::decode_error error = bin::decode_event(rest, state, e); error != bin::decode_error::none) {
      const bool newer = error == bin::decode_error::unknown_kind || error == bin::decode_error::unknown_flags;
      return fail(newer ? status::version : status::corrupt, place, std::string(bin::sentence(error)));
    }
    out.push_back(e);
  }
  if (!rest.empty()) return fail(status::corrupt, start, "a block is longer than its events");
  return status::ok;
}

void bin_reader::seek(const block_info& block) noexcept {
  whole_ = false;
  end_ = file_end::unknown;
  offset_ = block.offset;
  next_index_ = block.index;
  seq_ = block.seq_before;
  events_.clear();
  place_ = 0;
}

status bin_reader::load_next_block() {
  if (end_ != file_end::unknown) return fault_.code != status::ok ? fault_.code : status::empty;
  block_info block;
  if (const status result = read_block_header(offset_, block); result != status::ok) {
    if (result == status::empty) end_ = file_end::cut;
    return result;
  }
  if (block.index != next_index_) return fail(status::corrupt, offset_, "a block is missing or out of its place");
  if (block.seq_before != seq_) {
    return fail(status::corrupt, offset_,
                "event " + std::to_string(seq_ + 1) + " is missing: the next block starts with event " +
                    std::to_string(block.seq_before + 1));
  }
  if (block.is_end) {
    if (whole_ && (block.digest != digest_.value() || block.chain != chain_)) {
      return fail(status::corrupt, offset_, "the end mark has the digest of another run");
    }
    std::byte more{};
    const std::uint64_t after = offset_ + bin::header_bytes;
    if (in_.read_at(in_.context, after, {&more, 1}) > 0)
      return fail(status::corrupt, after, "bytes follow the end mark");
    end_ = file_end::marked;
    return status::empty;
  }
  place_ = 0;
  if (const status result = read_block(block, events_); result != status::ok) {
    events_.clear();
    if (result == status::empty) end_ = file_end::cut;
    return result;
  }
  if (whole_) {
    digest_stream digest = digest_;
    add_events(digest, events_);
    const std::uint64_t chain = bin::extend_chain(chain_, block.payload_hash);
    if (digest.value() != block.digest || chain != block.chain) {
      events_.clear();
      return fail(status::corrupt, offset_,
                  "the digest of block " + std::to_string(block.index) + " is not that of its events");
    }
    digest_ = digest;
    chain_ = chain;
  }
  offset_ += bin::header_bytes + block.payload_bytes;
  ++next_index_;
  seq_ = events_.back().seq;
  return status::ok;
}

status bin_reader::next(event& out) {
  if (place_ == events_.size()) {
    if (const status result = load_next_block(); result != status::ok) return result;
  }
  out = events_[place_++];
  ++events_read_;
  return status::ok;
}

}  // namespace asx
