// asx/journal/file.hpp - a journal on disk that survives the death of its process.
//
//     journal --sink--> bin_writer --blocks--> file          bin_reader --> events, and how the file ends
//
//     kill -9 here:   | header | block | block | blo
//     what is read:   | header | block | block |       and "the tail is cut"
//
// 1  A file is a true prefix of the run, whatever happens to process, disk or device: a block is either whole and
//    under its checksums, or not read at all.
// 2  When a write fails the rest of the block is tried once more with the next events. If that fails too the file
//    ends there for good; events that did not make it are counted, the program goes on (on_fault may say otherwise).
// 3  A reader uses a bounded amount of memory, whatever the bytes say.
// 4  Blocks end where the number of an event is a multiple of block_events, so that two files of one run have their
//    digests at the same numbers, with or without diagnostics.
// R-120  the digest in the last block, and in the end mark, is the digest of the run.
//
// Writing to the file system's cache is all that is promised: a process may die, a machine may not. Call fsync on the
// descriptor after flush() where that matters.
//
// Cancel points: none. Threads: one owner each. Lifetime: ports outlive writer and reader. A writer allocates in
// open() only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "asx/base/hash.hpp"
#include "asx/base/memory.hpp"
#include "asx/journal/codec_bin.hpp"
#include "asx/journal/journal.hpp"
#include "asx/journal/port.hpp"

namespace asx {

struct writer_options {
  std::uint32_t block_events = 1'024;  // At most bin::block_events_max / 2; a crash loses at most one such block.
  void* fault_context = nullptr;
  void (*on_fault)(void* context, int system_error) noexcept = nullptr;  // Called at each failed write.
};

class ASX_API bin_writer {
 public:
  bin_writer() noexcept = default;
  ~bin_writer();
  bin_writer(const bin_writer&) = delete;
  bin_writer& operator=(const bin_writer&) = delete;

  /// invalid_argument: open already, a strange profile or block size. resource_exhausted: no memory. io: the header
  /// could not be written.
  [[nodiscard]] status open(memory_port memory, write_port out, const journal_header& header,
                            const writer_options& options = {}) noexcept;

  void append(std::span<const event> events) noexcept;
  /// Feeds everything that the journal keeps from now on.
  [[nodiscard]] event_sink sink() noexcept;

  /// Ends the block that is being filled and writes it. io: it did not reach the port; system_error() says why.
  [[nodiscard]] status flush() noexcept;
  /// Flushes and writes the end mark: a reader then knows that nothing is missing.
  [[nodiscard]] status close() noexcept;

  [[nodiscard]] std::uint64_t events_written() const noexcept { return events_written_; }
  [[nodiscard]] std::uint64_t events_lost() const noexcept { return events_lost_; }
  [[nodiscard]] std::uint64_t writes_failed() const noexcept { return writes_failed_; }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }
  [[nodiscard]] int system_error() const noexcept { return system_error_; }
  /// The digest of everything that was appended, written or lost.
  [[nodiscard]] digest128 digest() const noexcept { return digest_.value(); }

 private:
  /// True when the block is full now.
  bool take(const event& e) noexcept;
  void end_block() noexcept;
  bool send() noexcept;

  enum class stage : std::uint8_t { unopened, open, stopped, closed };

  stage stage_ = stage::unopened;
  writer_options options_{};
  memory_port memory_{};
  write_port out_{};
  std::byte* buffer_ = nullptr;  // Room for a block header, then the payload.
  std::size_t buffer_size_ = 0;
  std::size_t filled_ = 0;       // Bytes of the block in progress, header room included; 0 when there is none.
  std::size_t unsent_from_ = 0;  // What is left of a finished block that a write refused: [from, to).
  std::size_t unsent_to_ = 0;
  std::uint32_t unsent_events_ = 0;
  block_info block_{};
  bin::codec_state state_{};
  digest_stream digest_;
  std::uint64_t chain_ = 0;
  std::uint64_t events_written_ = 0, events_lost_ = 0, writes_failed_ = 0, bytes_written_ = 0;
  int system_error_ = 0;
};

/// How a file ends.
enum class file_end : std::uint8_t {
  unknown,  // Not reached yet.
  marked,   // The writer closed it: everything is there.
  cut,      // It stops between or inside blocks: the writer died, or its disk was full.
  damaged,  // Something in it does not hold; fault() says what and where.
};

class ASX_API bin_reader {
 public:
  /// ok, also for a file that is cut inside its header; corrupt, version or io, with fault().
  [[nodiscard]] status open(read_port in);

  /// ok and the next event; empty at the end; corrupt, version or io, with fault(). What came before is intact.
  [[nodiscard]] status next(event& out);

  /// Walks headers only: ok, empty at the end, or as next. The reading position does not move.
  [[nodiscard]] status read_block_header(std::uint64_t offset, block_info& out);
  /// Checks and decodes one block.
  [[nodiscard]] status read_block(const block_info& block, std::vector<event>& out);
  /// Lets next() go on with this block. The digest of what was read is then no longer that of the run.
  void seek(const block_info& block) noexcept;

  [[nodiscard]] const journal_header& header() const noexcept { return header_; }
  [[nodiscard]] const journal_fault& fault() const noexcept { return fault_; }
  [[nodiscard]] file_end end() const noexcept { return end_; }
  [[nodiscard]] std::uint64_t events_read() const noexcept { return events_read_; }
  [[nodiscard]] std::uint64_t blocks_opened() const noexcept { return blocks_opened_; }
  /// Of the events up to the end of the block that the last one came from.
  [[nodiscard]] digest128 digest() const noexcept { return digest_.value(); }
  [[nodiscard]] static std::uint64_t first_block_offset() noexcept { return bin::header_bytes; }

 private:
  status fail(status code, std::uint64_t place, std::string sentence);
  status load_next_block();

  read_port in_{};
  journal_header header_{};
  journal_fault fault_{};
  file_end end_ = file_end::unknown;
  bool whole_ = true;  // Nothing was skipped: digest and chain can be checked at each block.
  std::uint64_t offset_ = 0;
  std::uint32_t next_index_ = 0;
  std::uint64_t seq_ = 0;
  std::uint64_t chain_ = 0;
  std::uint64_t events_read_ = 0;
  std::uint64_t blocks_opened_ = 0;
  digest_stream digest_;
  std::vector<std::byte> payload_;
  std::vector<event> events_;
  std::size_t place_ = 0;
};

}  // namespace asx
