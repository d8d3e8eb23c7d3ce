// Tests of the events, the ring and the digest: asx/journal/{event_kind,event_table,event,journal}.hpp.
#include "asx/journal/journal.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "asx/journal/event_table.hpp"
#include "asx/journal/testing.hpp"
#include "asx/model/lifecycle.hpp"

namespace asx {
namespace {

using testing::collector;
using testing::make_stream;
using testing::open_or_abort;
using testing::stream_maker;

std::string hex(digest128 d) {
  const auto digits = d.hex();
  return {digits.begin(), digits.end()};
}

digest128 byte_by_byte(const std::vector<event>& events) {
  digest_stream stream;
  for (const event& e : events) {
    if (!e.semantic()) continue;
    for (const std::byte b : canonical_bytes(e)) stream.add(std::span(&b, 1));
  }
  return stream.value();
}

// Goal:   numbers, names and meaning of kinds are whole: nobody can add a kind and forget its row.
TEST(event_table, every_kind_has_one_row_and_a_sentence_that_names_only_what_the_row_has) {
  for (const event_info& row : event_table) {
    EXPECT_EQ(find_event_kind(row.name), &row);
    EXPECT_EQ(find_event_kind(static_cast<std::uint64_t>(row.kind)), &row);
    const auto says = [&row](std::string_view mark) { return row.sentence.find(mark) != std::string_view::npos; };
    EXPECT_TRUE(!says("{a}") || row.a.low != field_type::none) << row.name;
    EXPECT_TRUE(!says("{A}") || row.a.high != field_type::none) << row.name;
    EXPECT_TRUE(!says("{b}") || row.b.low != field_type::none) << row.name;
    EXPECT_TRUE(!says("{B}") || row.b.high != field_type::none) << row.name;
    EXPECT_TRUE(!says("{s}") || row.subject != field_type::none) << row.name;
    EXPECT_TRUE(!says("{o}") || row.object != field_type::none) << row.name;
    EXPECT_EQ(row.a.low != field_type::none, !row.a.meaning.empty()) << row.name;
    EXPECT_EQ(row.b.low != field_type::none, !row.b.meaning.empty()) << row.name;
  }
  EXPECT_EQ(find_event_kind(0), nullptr);
  EXPECT_EQ(find_event_kind(999), nullptr);
  EXPECT_EQ(find_event_kind(UINT64_MAX), nullptr);
}

// U-32: one kind for each row of the lifecycle tables, in their order.
TEST(event_table, every_transition_of_the_lifecycle_tables_has_a_kind) {
  const auto rows_from = [](std::uint16_t first, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (find_event_kind(first + i) == nullptr) return false;
    }
    return find_event_kind(first + rows) == nullptr;
  };
  EXPECT_TRUE(rows_from(101, region_lifecycle.rows().size()));
  EXPECT_TRUE(rows_from(201, task_lifecycle.rows().size()));
  EXPECT_TRUE(rows_from(301, obligation_lifecycle.rows().size()));
  EXPECT_TRUE(rows_from(501, channel_lifecycle.rows().size()));
}

TEST(event_table, canonical_bytes_are_little_endian_in_declared_order) {
  const event e{0x0807060504030201U, 0x11, event_kind::task_woken, 0x0203, 0x04050607, 1, 2, 3, 4, 0xff00000000000000U};
  const event_bytes bytes = canonical_bytes(e);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i + 1));
  EXPECT_EQ(bytes[16], std::byte{700 & 0xff});
  EXPECT_EQ(bytes[17], std::byte{700 >> 8});
  EXPECT_EQ(bytes[18], std::byte{3});
  EXPECT_EQ(bytes[20], std::byte{7});
  EXPECT_EQ(bytes[63], std::byte{0xff});
}

// R-120 on every compiler, optimisation level, word size and byte order: this constant is the same everywhere.
TEST(digest, a_generated_run_has_the_digest_that_was_written_down_once) {
  const testing::made_stream run = make_stream(2026, {.events = 5'000});
  EXPECT_EQ(hex(run.digest), "f6f27eeec83923d95f9c4a16eea8586e");
}

TEST(digest, the_same_run_twice_has_the_same_digest_and_another_seed_another) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const testing::made_stream one = make_stream(seed), two = make_stream(seed);
    EXPECT_EQ(one.events, two.events);
    EXPECT_EQ(one.digest, two.digest);
    EXPECT_NE(one.digest, make_stream(seed + 1000).digest);
  }
}

// read after each event, with a ring of 16 and of 65,536, in both modes, it equals byte-by-byte streaming.
TEST(digest, read_after_any_event_it_equals_byte_by_byte_streaming_whatever_the_ring) {
  const testing::made_stream run = make_stream(7, {.events = 300});
  journal small, large, bare;
  open_or_abort(small, {.capacity = 16});
  open_or_abort(large, {.capacity = 65'536});
  open_or_abort(bare, {.mode = journal_mode::digest_only});
  digest_stream reference;
  for (const event& e : run.events) {
    const event_fields fields{e.time_ns, e.subject, e.object, e.a,
                              e.b,       e.cause,   e.worker, e.flags & ~event_flags::semantic};
    EXPECT_EQ(small.append(e.kind, fields), e.seq);
    EXPECT_EQ(large.append(e.kind, fields), e.seq);
    EXPECT_EQ(bare.append(e.kind, fields), e.seq);
    if (e.semantic()) {
      for (const std::byte b : canonical_bytes(e)) reference.add(std::span(&b, 1));
    }
    ASSERT_EQ(small.digest(), reference.value()) << "after event " << e.seq;
    ASSERT_EQ(large.digest(), reference.value()) << "after event " << e.seq;
    ASSERT_EQ(bare.digest(), reference.value()) << "after event " << e.seq;
  }
  EXPECT_EQ(byte_by_byte(run.events), reference.value());
  small.check();
  large.check();
}

// U-35, R-115: a debug build's ghosts, names and samples change neither digest nor numbers.
TEST(digest, diagnostics_change_neither_digest_nor_numbers) {
  journal plain, noisy;
  open_or_abort(plain, {.capacity = 64});
  open_or_abort(noisy, {.capacity = 64});
  for (std::uint64_t i = 0; i < 500; ++i) {
    noisy.append(event_kind::ghost_violation, {.subject = i, .a = 200});
    noisy.append_text(text_code::name, type_tag::task, i, "a name that needs two events");
    const event_fields fields{.time_ns = i, .subject = i, .cause = i / 2};
    EXPECT_EQ(plain.append(event_kind::task_yielded, fields), noisy.append(event_kind::task_yielded, fields));
  }
  EXPECT_EQ(plain.digest(), noisy.digest());
  EXPECT_EQ(plain.seq(), noisy.seq());
  noisy.check();
}

TEST(ring, it_keeps_the_newest_events_and_counts_the_others) {
  for (const std::uint64_t capacity : {1U, 2U, 16U, 31U, 32U, 33U, 100U}) {
    collector all;
    journal j;
    open_or_abort(j, {.capacity = capacity}, all.sink());
    for (std::uint64_t i = 1; i <= 205; ++i) {
      EXPECT_EQ(j.append(event_kind::task_yielded, {.subject = i}), i);
      const std::uint64_t kept = std::min(capacity, i);
      ASSERT_EQ(j.size(), kept);
      ASSERT_EQ(j.overwritten(), i - kept);
      ASSERT_EQ(j.at(0).seq, i - kept + 1);
      ASSERT_EQ(j.at(kept - 1).subject, i);
    }
    std::vector<event> tail(10);
    tail.resize(j.copy_tail(tail));
    ASSERT_EQ(tail.size(), std::min<std::uint64_t>(10, capacity));
    EXPECT_EQ(tail.back().seq, 205U);
    j.check();
    j.settle();
    ASSERT_EQ(all.events.size(), 205U);
    for (std::size_t i = 0; i < 205; ++i) EXPECT_EQ(all.events[i].seq, i + 1);
  }
}

// FB-104, R-113: reject refuses before anything changed, and discarding what was read makes room again.
TEST(ring, reject_refuses_a_reservation_that_does_not_fit_and_changes_nothing) {
  journal j;
  open_or_abort(j, {.overflow = trace_overflow::reject, .capacity = 10});
  EXPECT_EQ(j.reserve(10), status::ok);
  EXPECT_EQ(j.reserve(11), status::resource_exhausted);
  for (int i = 0; i < 8; ++i) j.append(event_kind::task_yielded, {});
  const digest128 before = j.digest();
  EXPECT_EQ(j.reserve(3), status::resource_exhausted);
  EXPECT_EQ(j.digest(), before);
  EXPECT_EQ(j.size(), 8U);
  EXPECT_EQ(j.reserve(2), status::ok);
  j.discard_oldest(4);
  EXPECT_EQ(j.size(), 4U);
  EXPECT_EQ(j.at(0).seq, 5U);
  EXPECT_EQ(j.reserve(6), status::ok);
  EXPECT_EQ(j.reserve(7), status::resource_exhausted);
  EXPECT_EQ(j.overwritten(), 0U);
  EXPECT_EQ(j.digest(), before);
  for (int i = 0; i < 7; ++i) j.append(event_kind::task_yielded, {});
  EXPECT_EQ(j.overwritten(), 1U) << "an event that nobody reserved room for is counted, not hidden";
}

TEST(ring, reserve_never_refuses_while_the_ring_may_overwrite_or_nothing_is_kept) {
  journal off, ring, bare;
  open_or_abort(ring, {.capacity = 4});
  open_or_abort(bare, {.mode = journal_mode::digest_only, .overflow = trace_overflow::reject, .capacity = 1});
  EXPECT_EQ(off.reserve(1'000), status::ok);
  EXPECT_EQ(ring.reserve(1'000), status::ok);
  EXPECT_EQ(bare.reserve(1'000), status::ok);
}

TEST(ring, a_journal_that_is_off_records_nothing_and_has_the_digest_of_nothing) {
  journal off;
  EXPECT_EQ(off.append(event_kind::task_yielded, {}), 0U);
  EXPECT_EQ(off.seq(), 0U);
  EXPECT_EQ(off.size(), 0U);
  EXPECT_EQ(off.digest(), digest_stream().value());
}

// U-36: the fault is met at open and leaves a journal that is off.
TEST(ring, a_journal_without_memory_is_refused_and_one_in_the_callers_memory_allocates_nothing_more) {
  alignas(64) std::byte block[64 * 16];
  bump_memory memory(block);
  journal j, too_large;
  EXPECT_EQ(too_large.open(memory.port(), {.capacity = 17}), status::resource_exhausted);
  EXPECT_EQ(too_large.mode(), journal_mode::off);
  EXPECT_EQ(j.open(memory.port(), {.capacity = 16}), status::ok);
  const std::size_t used = memory.used();
  stream_maker(j, 3).run();
  EXPECT_EQ(memory.used(), used);
  EXPECT_EQ(j.open(memory.port(), {}), status::invalid_argument) << "a journal is opened once";
  journal none;
  EXPECT_EQ(none.open(heap_memory(), {.capacity = 0}), status::invalid_argument);
}

TEST(stream_maker, a_generated_run_is_consistent) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const testing::made_stream run = make_stream(seed, {.events = 2'000});
    std::uint64_t seq = 0;
    for (const event& e : run.events) {
      ASSERT_TRUE(is_well_formed(e));
      ASSERT_EQ(e.seq, seq + (e.semantic() ? 1 : 0));
      ASSERT_LE(e.cause, seq);
      seq = e.seq;
    }
    EXPECT_GT(seq, 1'999U);
  }
}

using journal_death_test = ::testing::Test;

TEST(journal_death_test, a_sink_that_appends_to_its_own_journal_is_stopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        journal j;
        open_or_abort(j, {.capacity = 8}, {&j, [](void* self, std::span<const event>) noexcept {
                                             static_cast<journal*>(self)->append(event_kind::task_yielded, {});
                                           }});
        for (int i = 0; i < 40; ++i) j.append(event_kind::task_yielded, {});
      },
      "a sink must not append");
}

TEST(journal_death_test, a_cause_from_the_future_is_stopped) {
  EXPECT_DEATH(
      {
        journal j;
        open_or_abort(j, {.capacity = 8});
        j.append(event_kind::task_yielded, {.cause = 1});
      },
      "a cause comes before its effect");
}

}  // namespace
}  // namespace asx
