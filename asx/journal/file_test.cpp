// Tests of the binary codec and of files: asx/journal/{codec_bin,file}.hpp.
#include "asx/journal/file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "asx/journal/event_table.hpp"
#include "asx/journal/testing.hpp"

namespace asx {
namespace {

using testing::made_stream;
using testing::make_stream;
using bytes = std::vector<std::byte>;

write_port into(bytes& out) {
  return {&out, [](void* self, std::span<const std::byte> piece) noexcept -> std::int64_t {
            auto& all = *static_cast<bytes*>(self);
            all.insert(all.end(), piece.begin(), piece.end());
            return static_cast<std::int64_t>(piece.size());
          }};
}

bytes write_file(const std::vector<event>& events, std::uint32_t block_events = 64, bool closes = true) {
  bytes out;
  bin_writer writer;
  EXPECT_EQ(writer.open(heap_memory(), into(out), journal_header::of("core", 42), {.block_events = block_events}),
            status::ok);
  writer.append(events);
  if (closes) {
    EXPECT_EQ(writer.close(), status::ok);
  } else {
    EXPECT_EQ(writer.flush(), status::ok);
  }
  EXPECT_EQ(writer.events_written(), events.size());
  EXPECT_EQ(writer.events_lost(), 0U);
  EXPECT_EQ(writer.bytes_written(), out.size());
  return out;
}

struct reading {
  std::vector<event> events;
  status last = status::ok;
  file_end end = file_end::unknown;
  journal_fault fault;
  digest128 digest;
  journal_header header;
};

reading read_file(std::span<const std::byte> file) {
  reading out;
  bin_reader reader;
  out.last = reader.open(memory_reader(file));
  event e;
  while (out.last == status::ok && (out.last = reader.next(e)) == status::ok) out.events.push_back(e);
  out.end = reader.end();
  out.fault = reader.fault();
  out.digest = reader.digest();
  out.header = reader.header();
  EXPECT_NE(reader.next(e), status::ok) << "a reader that stopped stays stopped";
  return out;
}

TEST(codec_bin, every_event_survives_whatever_its_fields_hold) {
  const std::uint64_t odd[] = {0, 1, 127, 128, 0xffff'ffffU, 0x8000'0000'0000'0000U, UINT64_MAX};
  bin::codec_state out_state, in_state;
  std::byte room[bin::event_bytes_max];
  std::uint64_t seq = 0;
  std::size_t longest = 0;
  for (const event_info& row : event_table) {
    for (const std::uint64_t x : odd) {
      for (const std::uint64_t y : odd) {
        event e{seq, x, row.kind, static_cast<std::uint16_t>(y), is_semantic(row.kind) ? 1U : 0U, y, x, y, x, 0};
        if (is_semantic(row.kind)) e.seq = ++seq;
        e.cause = e.seq > 1 ? (x % e.seq) : 0;
        if (y == 128) e.flags |= event_flags::forced | event_flags::tracked;
        const std::size_t n = bin::encode_event(e, out_state, room);
        longest = std::max(longest, n);
        std::span<const std::byte> rest(room, n);
        event back;
        ASSERT_EQ(bin::decode_event(rest, in_state, back), bin::decode_error::none) << row.name;
        ASSERT_EQ(back, e) << row.name;
        ASSERT_TRUE(rest.empty());
      }
    }
  }
  EXPECT_LE(longest, bin::event_bytes_max - 5);
}

TEST(codec_bin, a_number_in_a_longer_form_than_needed_is_refused) {
  const auto decode = [](std::initializer_list<int> list) {
    bytes raw;
    for (const int b : list) raw.push_back(static_cast<std::byte>(b));
    std::span<const std::byte> rest(raw);
    bin::codec_state state;
    event e;
    return bin::decode_event(rest, state, e);
  };
  EXPECT_EQ(decode({0x00, 100}), bin::decode_error::none);
  EXPECT_EQ(decode({0x00, 0xe4, 0x00}), bin::decode_error::not_canonical) << "100 in two bytes";
  EXPECT_EQ(decode({0x08, 100, 0}), bin::decode_error::not_canonical) << "an announced zero";
  EXPECT_EQ(decode({0x00, 99}), bin::decode_error::unknown_kind);
  EXPECT_EQ(decode({0x80, 100, 0x40}), bin::decode_error::unknown_flags);
  EXPECT_EQ(decode({0x80, 100, 0x01}), bin::decode_error::not_canonical) << "the semantic mark is not for files";
  EXPECT_EQ(decode({0x40, 100, 5}), bin::decode_error::bad_cause);
  EXPECT_EQ(decode({0x08, 100, 0xff}), bin::decode_error::short_of_bytes);
  EXPECT_EQ(decode({0x08, 100, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}),
            bin::decode_error::not_canonical);
  EXPECT_EQ(decode({}), bin::decode_error::short_of_bytes);
}

TEST(file, what_was_written_is_read_with_the_same_digest_in_at_most_24_bytes_an_event) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const made_stream run = make_stream(seed, {.events = 3'000});
    const bytes file = write_file(run.events, 256);
    const reading back = read_file(file);
    EXPECT_EQ(back.last, status::empty);
    EXPECT_EQ(back.end, file_end::marked);
    EXPECT_EQ(back.events, run.events);
    EXPECT_EQ(back.digest, run.digest);
    EXPECT_EQ(back.header, journal_header::of("core", 42));
    EXPECT_LE(file.size(), 24 * run.events.size());
    EXPECT_EQ(write_file(back.events, 256), file) << "encoding what was decoded gives the same bytes";
  }
}

TEST(file, blocks_of_two_files_end_at_the_same_numbers_with_and_without_diagnostics) {
  const made_stream run = make_stream(5, {.events = 1'000});
  std::vector<event> bare;
  std::copy_if(run.events.begin(), run.events.end(), std::back_inserter(bare),
               [](const event& e) { return e.semantic(); });
  const bytes with = write_file(run.events), without = write_file(bare);
  const auto digests = [](std::span<const std::byte> file) {
    bin_reader reader;
    EXPECT_EQ(reader.open(memory_reader(file)), status::ok);
    std::vector<digest128> out;
    block_info block;
    for (std::uint64_t at = bin_reader::first_block_offset(); reader.read_block_header(at, block) == status::ok;) {
      out.push_back(block.digest);
      if (block.is_end) break;
      at += bin::header_bytes + block.payload_bytes;
    }
    return out;
  };
  EXPECT_EQ(digests(with), digests(without));
}

// Goal: kill -9 at any byte. What is read is a true prefix, made of whole blocks, and the tail is said to be cut.
TEST(file, cut_at_any_byte_it_gives_every_complete_block_and_says_that_the_tail_is_cut) {
  const made_stream run = make_stream(11, {.events = 400});
  const bytes file = write_file(run.events, 64);
  std::size_t before = 0;
  for (std::size_t length = 0; length < file.size(); ++length) {
    const reading back = read_file(std::span(file).first(length));
    ASSERT_EQ(back.last, status::empty) << "at byte " << length << ": " << back.fault.sentence;
    ASSERT_EQ(back.end, file_end::cut) << "at byte " << length;
    ASSERT_GE(back.events.size(), before);
    before = back.events.size();
    ASSERT_TRUE(std::equal(back.events.begin(), back.events.end(), run.events.begin()));
  }
  EXPECT_EQ(before, run.events.size()) << "with only the end mark missing, every event is there";
}

// Goal: one flipped bit at every byte is found, and never more events are believed than are true.
TEST(file, one_flipped_bit_at_every_byte_is_found_and_named) {
  const made_stream run = make_stream(12, {.events = 150});
  const bytes file = write_file(run.events, 32);
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const unsigned bit : {0U, 3U, 7U}) {
      bytes bad = file;
      bad[at] ^= static_cast<std::byte>(1U << bit);
      const reading back = read_file(bad);
      ASSERT_EQ(back.last, status::corrupt) << "byte " << at << " bit " << bit;
      ASSERT_EQ(back.end, file_end::damaged);
      ASSERT_NE(back.fault.sentence.find("byte "), std::string::npos);
      ASSERT_LE(back.fault.place, at) << "the named place is the start of what does not hold";
      ASSERT_TRUE(std::equal(back.events.begin(), back.events.end(), run.events.begin()));
    }
  }
}

TEST(file, a_missing_block_two_swapped_blocks_and_bytes_after_the_end_are_named) {
  const made_stream run = make_stream(13, {.events = 300});
  const bytes file = write_file(run.events, 64);
  std::vector<block_info> blocks;
  {
    std::span<const std::byte> view(file);
    bin_reader reader;
    ASSERT_EQ(reader.open(memory_reader(view)), status::ok);
    block_info block;
    for (std::uint64_t at = 64; reader.read_block_header(at, block) == status::ok && !block.is_end;
         at += 64 + block.payload_bytes) {
      blocks.push_back(block);
    }
  }
  ASSERT_GE(blocks.size(), 4U);
  const auto piece = [&](std::size_t i) {
    const auto first = file.begin() + static_cast<std::ptrdiff_t>(blocks[i].offset);
    return bytes(first, first + 64 + static_cast<std::ptrdiff_t>(blocks[i].payload_bytes));
  };
  const auto assemble = [&](std::vector<std::size_t> order) {
    bytes out(file.begin(), file.begin() + 64);
    for (const std::size_t i : order) {
      const bytes p = piece(i);
      out.insert(out.end(), p.begin(), p.end());
    }
    return out;
  };
  for (const auto& order : {std::vector<std::size_t>{0, 2, 3}, {1, 0}, {0, 0}, {1}}) {
    const reading back = read_file(assemble(order));
    EXPECT_EQ(back.last, status::corrupt);
    EXPECT_NE(back.fault.sentence.find("a block is missing or out of its place"), std::string::npos);
  }
  bytes longer = file;
  longer.push_back(std::byte{0});
  EXPECT_NE(read_file(longer).fault.sentence.find("bytes follow the end mark"), std::string::npos);
}

TEST(file, a_file_of_another_version_or_kind_is_refused_with_a_sentence) {
  const bytes file = write_file(make_stream(14, {.events = 50}).events);
  const auto reseal = [](bytes b) {
    const std::uint64_t sum = hash_bytes(std::span(b).first(56));
    for (std::size_t i = 0; i < 8; ++i) b[56 + i] = static_cast<std::byte>(sum >> (8 * i));
    return b;
  };
  bytes newer = file;
  newer[8] = std::byte{2};
  EXPECT_EQ(read_file(reseal(newer)).last, status::version);
  bytes schema = file;
  schema[12] = std::byte{9};
  EXPECT_EQ(read_file(reseal(schema)).last, status::version);
  const std::string text = "hello, this is no journal at all, though it is longer than sixty-four bytes";
  const reading other = read_file(std::as_bytes(std::span(text)));
  EXPECT_EQ(other.last, status::corrupt);
  EXPECT_NE(other.fault.sentence.find("no journal of asx"), std::string::npos);
}

TEST(file, a_kind_from_a_later_version_is_status_version_with_its_place) {
  bytes file = write_file({}, 64, false);
  const bytes payload = {std::byte{0}, std::byte{100}, std::byte{0}, std::byte{0xc8},
                         std::byte{0x06}};  // 100, then 840.
  digest_stream digest;
  block_info block{
      .payload_bytes = 5, .events = 2, .digest = digest.value(), .chain = 0, .payload_hash = hash_bytes(payload)};
  const bin::header_block header = bin::encode_block_header(block);
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), payload.begin(), payload.end());
  const reading back = read_file(file);
  EXPECT_EQ(back.last, status::version);
  EXPECT_EQ(back.fault.place, 64U + 64U + 2U);
  EXPECT_NE(back.fault.sentence.find("not known to this version"), std::string::npos);
}

// ---- faults
// ----------------------------------------------------------------------------------------------------------

/// Writes at most `piece` bytes at a time, and refuses from the k-th write on, or only then.
struct bad_disk {
  bytes out;
  std::size_t piece = SIZE_MAX;
  std::uint64_t fail_at = UINT64_MAX;
  std::uint64_t fails = UINT64_MAX;  // How many writes in a row are refused.
  int error = ENOSPC;
  std::uint64_t writes = 0, hits = 0;

  write_port port() {
    return {this, [](void* context, std::span<const std::byte> wanted) noexcept -> std::int64_t {
              auto& self = *static_cast<bad_disk*>(context);
              if (++self.writes >= self.fail_at && self.hits < self.fails) {
                ++self.hits;
                return -self.error;
              }
              const auto taken = wanted.first(std::min(self.piece, wanted.size()));
              self.out.insert(self.out.end(), taken.begin(), taken.end());
              return static_cast<std::int64_t>(taken.size());
            }};
  }
};

TEST(file_faults, short_writes_of_every_length_give_the_same_file) {
  const made_stream run = make_stream(21, {.events = 200});
  const bytes good = write_file(run.events, 32);
  for (std::size_t piece = 1; piece < 700; ++piece) {
    bad_disk disk{.out = {}, .piece = piece};
    bin_writer writer;
    ASSERT_EQ(writer.open(heap_memory(), disk.port(), journal_header::of("core", 42), {.block_events = 32}),
              status::ok);
    writer.append(run.events);
    ASSERT_EQ(writer.close(), status::ok);
    ASSERT_EQ(disk.out, good);
  }
}

// Goal:   a full disk costs events, which are counted, and never the truth of what is on it.
// Method: refuse from the k-th write on, for every k, with whole and with short writes.
TEST(file_faults, when_the_kth_write_and_all_after_it_fail_the_file_is_a_true_prefix_and_the_rest_is_counted) {
  const made_stream run = make_stream(22, {.events = 300});
  for (const std::size_t piece : {SIZE_MAX, std::size_t{100}}) {
    for (std::uint64_t k = 1; k < 60; ++k) {
      bad_disk disk{.out = {}, .piece = piece, .fail_at = k};
      bin_writer writer;
      const status opened =
          writer.open(heap_memory(), disk.port(), journal_header::of("core", 42), {.block_events = 32});
      for (const event& e : run.events) writer.append(std::span(&e, 1));
      const status closed = writer.close();
      if (disk.hits == 0) {
        EXPECT_EQ(closed, status::ok);
        break;
      }
      EXPECT_EQ(opened, k == 1 ? status::io : status::ok);
      EXPECT_EQ(closed, status::io);
      EXPECT_EQ(writer.system_error(), ENOSPC);
      EXPECT_GT(writer.writes_failed(), 0U);
      EXPECT_EQ(writer.events_written() + writer.events_lost(), run.events.size()) << "k = " << k;
      EXPECT_EQ(writer.digest(), run.digest) << "the digest is of the run, not of what the disk took";
      const reading back = read_file(disk.out);
      EXPECT_EQ(back.last, status::empty);
      EXPECT_EQ(back.end, file_end::cut);
      EXPECT_EQ(back.events.size(), writer.events_written()) << "k = " << k;
      EXPECT_TRUE(std::equal(back.events.begin(), back.events.end(), run.events.begin()));
    }
  }
}

TEST(file_faults, a_write_that_fails_once_costs_nothing) {
  const made_stream run = make_stream(23, {.events = 300});
  const bytes good = write_file(run.events, 32);
  for (std::uint64_t k = 2; k < 12; ++k) {
    bad_disk disk{.out = {}, .piece = 90, .fail_at = k, .fails = 1, .error = EIO};
    std::uint64_t told = 0;
    bin_writer writer;
    ASSERT_EQ(
        writer.open(
            heap_memory(), disk.port(), journal_header::of("core", 42),
            {.block_events = 32,
             .fault_context = &told,
             .on_fault = [](void* n, int error) noexcept { *static_cast<std::uint64_t*>(n) += error == EIO ? 1 : 0; }}),
        status::ok);
    writer.append(run.events);
    EXPECT_EQ(writer.close(), status::ok);
    EXPECT_EQ(disk.hits, 1U) << "an injector that injects nothing proves nothing";
    EXPECT_EQ(told, 1U);
    EXPECT_EQ(writer.events_lost(), 0U);
    EXPECT_EQ(disk.out, good);
  }
}

TEST(file_faults, a_writer_without_memory_or_with_strange_options_is_refused) {
  bytes out;
  std::byte block[256];
  bump_memory memory(block);
  bin_writer writer;
  EXPECT_EQ(writer.open(memory.port(), into(out), journal_header::of("core", 1)), status::resource_exhausted);
  EXPECT_EQ(writer.open(heap_memory(), into(out), journal_header::of("two words", 1)), status::invalid_argument);
  EXPECT_EQ(writer.open(heap_memory(), into(out), journal_header::of("core", 1), {.block_events = 0}),
            status::invalid_argument);
  EXPECT_EQ(writer.open(heap_memory(), into(out), journal_header::of("core", 1), {.block_events = 5'000}),
            status::invalid_argument);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(writer.flush(), status::invalid_argument);
  EXPECT_EQ(writer.close(), status::invalid_argument);
}

TEST(file_faults, a_reader_reports_what_the_system_refused) {
  const read_port refuses = {nullptr,
                             [](void*, std::uint64_t, std::span<std::byte>) noexcept -> std::int64_t { return -EIO; }};
  bin_reader reader;
  EXPECT_EQ(reader.open(refuses), status::io);
  EXPECT_NE(reader.fault().sentence.find("error 5"), std::string::npos);
}

// The tail of a ring is a journal too: its header says which number comes before it.
TEST(file, the_ring_of_a_run_can_be_dumped_afterwards_wherever_it_begins) {
  for (const std::uint64_t capacity : {16U, 17U, 50U, 5'000U}) {
    journal j;
    testing::open_or_abort(j, {.capacity = capacity});
    testing::stream_maker(j, 4).run();
    std::vector<event> tail(static_cast<std::size_t>(j.size()));
    ASSERT_EQ(j.copy_tail(tail), tail.size());
    journal_header header = journal_header::of("tiny", 4);
    header.seq_before = j.seq_before();
    bytes out;
    bin_writer writer;
    ASSERT_EQ(writer.open(heap_memory(), into(out), header), status::ok);
    writer.append(tail);
    ASSERT_EQ(writer.close(), status::ok);
    const reading back = read_file(out);
    EXPECT_EQ(back.end, file_end::marked);
    EXPECT_EQ(back.events, tail);
    EXPECT_EQ(back.header.seq_before, j.seq_before());
    EXPECT_EQ(back.digest == j.digest(), j.overwritten() == 0) << "the digest of a tail is not that of the run";
  }
}

TEST(file, a_journal_writes_itself_through_its_sink) {
  bytes out;
  bin_writer writer;
  ASSERT_EQ(writer.open(heap_memory(), into(out), journal_header::of("tiny", 3)), status::ok);
  journal j;
  testing::open_or_abort(j, {.capacity = 16}, writer.sink());
  testing::stream_maker(j, 3).run();
  ASSERT_EQ(writer.close(), status::ok);
  const reading back = read_file(out);
  EXPECT_EQ(back.end, file_end::marked);
  EXPECT_EQ(back.digest, j.digest());
  EXPECT_EQ(back.events.back().seq, j.seq());
}

}  // namespace
}  // namespace asx
