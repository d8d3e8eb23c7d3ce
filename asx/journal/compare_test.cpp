// Tests of comparing runs: asx/journal/compare.hpp, and of events in words: asx/journal/describe.hpp.
#include "asx/journal/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "asx/journal/codec_json.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/testing.hpp"

namespace asx {
namespace {

using testing::make_stream;
using events_t = std::vector<event>;

comparison compare_vectors(const events_t& reference, const events_t& run,
                           compare_scope scope = compare_scope::semantic) {
  span_reader x(reference), y(run);
  return compare(source_of(x), source_of(y), scope);
}

/// A journal in memory, as a file would be.
struct memory_file {
  std::vector<std::byte> bytes;
  std::span<const std::byte> view;
  bin_reader reader;

  explicit memory_file(const events_t& events, std::uint32_t block_events = 32, bool closes = true) {
    bin_writer writer;
    EXPECT_EQ(writer.open(heap_memory(),
                          {&bytes,
                           [](void* self, std::span<const std::byte> piece) noexcept -> std::int64_t {
                             auto& all = *static_cast<std::vector<std::byte>*>(self);
                             all.insert(all.end(), piece.begin(), piece.end());
                             return static_cast<std::int64_t>(piece.size());
                           }},
                          journal_header::of("core", 1), {.block_events = block_events}),
              status::ok);
    writer.append(events);
    EXPECT_EQ(closes ? writer.close() : writer.flush(), status::ok);
    view = bytes;
    EXPECT_EQ(reader.open(memory_reader(view)), status::ok);
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
};

/// Numbers the semantic events anew, as a run would have that really lacked one.
events_t renumbered(events_t events) {
  std::uint64_t seq = 0;
  for (event& e : events) {
    if (e.semantic()) ++seq;
    e.seq = seq;
    e.cause = std::min(e.cause, e.semantic() ? seq - 1 : seq);
  }
  return events;
}

events_t plain_stream(std::uint64_t seed, std::uint64_t events = 500) {
  return make_stream(seed, {.events = events, .diagnostics = false}).events;
}

TEST(compare, a_run_matches_itself_and_a_debug_run_matches_a_release_run) {
  const events_t noisy = make_stream(1).events;
  events_t bare = noisy;
  std::erase_if(bare, [](const event& e) { return !e.semantic(); });
  EXPECT_TRUE(compare_vectors(noisy, noisy).match());
  EXPECT_TRUE(compare_vectors(noisy, bare).match());
  EXPECT_EQ(compare_vectors(noisy, bare).compared, bare.size());
  EXPECT_FALSE(compare_vectors(noisy, bare, compare_scope::everything).match());
  EXPECT_TRUE(compare_vectors(noisy, noisy, compare_scope::everything).match());
}

// Goal:   every change of every field is found at its place, by vectors and by files, and named.
TEST(compare, a_change_of_any_field_of_any_event_is_found_and_the_field_is_named) {
  const events_t good = plain_stream(2, 200);
  memory_file reference(good);
  for (std::size_t at = 0; at < good.size(); at += 3) {
    for (const std::string_view field : {"time", "worker", "subject", "object", "a", "b"}) {
      events_t bad = good;
      event& e = bad[at];
      if (field == "time") e.time_ns ^= 1;
      if (field == "worker") e.worker ^= 1;
      if (field == "subject") e.subject ^= 0x100;
      if (field == "object") e.object ^= 0x100;
      if (field == "a") e.a ^= 0x10000;
      if (field == "b") e.b ^= 0x10000;
      memory_file run(bad);
      for (const comparison& result : {compare_vectors(good, bad), compare(reference.reader, run.reader)}) {
        ASSERT_FALSE(result.match());
        ASSERT_EQ(result.what, difference::fields) << name(result.what);
        ASSERT_EQ(result.compared, at);
        ASSERT_EQ(*result.reference, good[at]);
        ASSERT_EQ(*result.run, bad[at]);
        ASSERT_EQ(result.fields.size(), 1U);
        ASSERT_EQ(result.fields[0].name, field);
        const std::size_t shown = std::min<std::size_t>(at, follower::context_events);
        ASSERT_EQ(result.before.size(), shown);
        ASSERT_TRUE(std::equal(result.before.begin(), result.before.end(),
                               good.begin() + static_cast<std::ptrdiff_t>(at - shown)));
      }
    }
  }
}

TEST(compare, a_missing_event_an_extra_one_and_a_swapped_pair_are_named) {
  const events_t good = plain_stream(3, 200);
  memory_file reference(good);
  for (std::size_t at = 0; at + 10 < good.size(); ++at) {
    events_t missing = good, swapped = good;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(at));
    missing = renumbered(missing);
    std::swap(swapped[at], swapped[at + 1]);
    std::swap(swapped[at].seq, swapped[at + 1].seq);
    swapped[at].cause = std::min(swapped[at].cause, swapped[at].seq - 1);
    memory_file short_run(missing), crossed(swapped);
    ASSERT_EQ(compare(reference.reader, short_run.reader).what, difference::missing_in_run) << "event " << at + 1;
    ASSERT_EQ(compare(short_run.reader, reference.reader).what, difference::missing_in_reference) << "event " << at + 1;
    const comparison result = compare(reference.reader, crossed.reader);
    ASSERT_EQ(result.what, difference::swapped) << "event " << at + 1;
    ASSERT_EQ(result.compared, at);
  }
}

TEST(compare, a_prefix_is_told_from_the_whole) {
  const events_t good = plain_stream(4, 150);
  memory_file whole(good);
  for (std::size_t length = 0; length < good.size(); length += 7) {
    const events_t prefix(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    for (const bool closes : {true, false}) {
      memory_file part(prefix, 32, closes);
      const comparison shorter = compare(whole.reader, part.reader);
      ASSERT_EQ(shorter.what, difference::run_ended);
      ASSERT_EQ(shorter.compared, length);
      ASSERT_EQ(*shorter.reference, good[length]);
      ASSERT_FALSE(shorter.run.has_value());
      ASSERT_EQ(compare(part.reader, whole.reader).what, difference::reference_ended);
      ASSERT_EQ(compare(part.reader, whole.reader).compared, length) << "asking again gives the same answer";
    }
  }
}

TEST(compare, equal_files_are_compared_without_decoding_and_different_ones_by_decoding_little) {
  events_t good = plain_stream(5, 20'000);
  memory_file x(good, 64), y(good, 64), other_blocks(good, 96);
  const comparison same = compare(x.reader, y.reader);
  EXPECT_TRUE(same.match());
  EXPECT_EQ(same.compared, good.size());
  EXPECT_EQ(same.blocks_decoded, 0U);
  EXPECT_TRUE(compare(x.reader, y.reader, compare_scope::everything).match());
  EXPECT_TRUE(compare(x.reader, other_blocks.reader).match()) << "blocks of 64 and of 96 share every third end";
  EXPECT_TRUE(compare(x.reader, other_blocks.reader, compare_scope::everything).match());
  good[13'003].a ^= 4;
  memory_file z(good, 64);
  const comparison different = compare(x.reader, z.reader);
  EXPECT_EQ(different.compared, 13'003U);
  EXPECT_LE(different.blocks_decoded, 3U);
}

TEST(compare, files_with_and_without_diagnostics_match_and_everything_tells_them_apart) {
  const events_t noisy = make_stream(6, {.events = 3'000}).events;
  events_t bare = noisy;
  std::erase_if(bare, [](const event& e) { return !e.semantic(); });
  memory_file x(noisy), y(bare);
  EXPECT_TRUE(compare(x.reader, y.reader).match());
  EXPECT_EQ(compare(x.reader, y.reader).blocks_decoded, 0U);
  EXPECT_FALSE(compare(x.reader, y.reader, compare_scope::everything).match());
  memory_file again(noisy);
  EXPECT_EQ(compare(x.reader, again.reader, compare_scope::everything).compared, noisy.size())
      << "diagnostics count, too";
}

TEST(compare, a_damaged_file_leaves_the_question_open_and_says_so) {
  const events_t good = plain_stream(7, 400);
  memory_file x(good), y(good);
  y.bytes[64 + 20] ^= std::byte{1};
  EXPECT_EQ(compare(x.reader, y.reader).code, status::corrupt);
  EXPECT_FALSE(compare(x.reader, y.reader).match());
}

TEST(compare, a_binary_file_is_compared_with_json_lines) {
  const events_t good = make_stream(8).events;
  memory_file x(good);
  std::string text;
  json_writer writer(string_writer(text), journal_header::of("core", 1));
  writer.append(good);
  writer.close();
  std::span<const std::byte> view = std::as_bytes(std::span(text));
  json_reader y;
  ASSERT_EQ(y.open(memory_reader(view)), status::ok);
  EXPECT_TRUE(compare(source_of(x.reader), source_of(y), compare_scope::everything).match());
}

// FB-015: the determinism monitor is a follower; it speaks at the event that differs, while the run goes on.
TEST(follower, a_run_that_is_still_going_is_stopped_at_its_first_difference) {
  const events_t good = plain_stream(9, 300);
  span_reader reference(good);
  follower follows(source_of(reference));
  journal j;
  testing::open_or_abort(j, {.capacity = 16}, follows.sink());
  testing::stream_maker(j, 9, {.events = 300, .diagnostics = false}).run();
  EXPECT_TRUE(follows.result().match());
  EXPECT_EQ(follows.result().compared, good.size());
  follows.finish();
  EXPECT_TRUE(follows.result().match());

  span_reader again(good);
  follower watches(source_of(again));
  for (std::size_t i = 0; i < good.size(); ++i) {
    event e = good[i];
    if (i == 100) e.subject += 1;
    ASSERT_EQ(watches.feed(e), i < 100);
  }
  EXPECT_EQ(watches.result().what, difference::fields);
  EXPECT_EQ(watches.result().compared, 100U);
  const std::string text = explain(watches.result());
  EXPECT_NE(text.find("an event differs, after 100 equal events"), std::string::npos) << text;
  EXPECT_NE(text.find("subject: "), std::string::npos) << text;

  span_reader short_reference(good);
  follower early(source_of(short_reference));
  early.feed(good[0]);
  early.finish();
  EXPECT_EQ(early.result().what, difference::run_ended);
}

// ---- describe
// --------------------------------------------------------------------------------------------------------

TEST(describe, an_event_says_in_words_what_its_numbers_mean) {
  const auto of = [](event_kind kind, std::uint64_t s, std::uint64_t o, std::uint64_t a, std::uint64_t b) {
    return describe({.seq = 1, .kind = kind, .flags = 1, .subject = s, .object = o, .a = a, .b = b});
  };
  EXPECT_EQ(of(event_kind::task_spawned, 3, 2, 1, pack(128, 0)), "task 3 spawned in region 2 by task 1, priority 128");
  EXPECT_EQ(of(event_kind::task_waits, 3, 7, pack(1, 0), 0), "task 3 waits for a message of channel 7");
  EXPECT_EQ(of(event_kind::refused_spawn, 0, 2, pack(10, 1), 64),
            "spawn by outside refused at region 2: resource_exhausted, tasks 64");
  EXPECT_EQ(of(event_kind::timer_registered, 4, 3, 1'500'000, 1), "timer 4 of task 3 registered for 1.5 ms");
  EXPECT_EQ(of(event_kind::cancel_requested, 3, 2, pack(10, 1), 0),
            "cancel of task 3 asked for: shutdown, from region 2, by outside");
  EXPECT_EQ(of(event_kind::task_completed, 3, 2, 0, 0), "task 3 completed: ok");
  EXPECT_EQ(of(event_kind::region_closing_by_cancel, 4, 2, 1, pack(10, 3)),
            "region 4 starts to close because its owner is cancelled (shutdown, asked by task 1): 3 live children")
      << "who asks is not who owns";
  EXPECT_EQ(describe({.seq = 1,
                      .kind = event_kind::cancel_requested,
                      .flags = 1 | event_flags::passed_on,
                      .subject = 3,
                      .object = 2,
                      .a = pack(10, 2)}),
            "cancel of task 3 passed on by region 2: shutdown")
      << "nobody outside asked for it";
}

TEST(describe, names_come_from_the_journal_itself_and_cannot_break_a_terminal) {
  testing::collector all;
  journal j;
  testing::open_or_abort(j, {.capacity = 4}, all.sink());
  j.append_text(text_code::name, type_tag::task, 3, "reader of the \"long\" way\x1b[31m");
  j.append(event_kind::task_started, {.subject = 3, .object = 1});
  j.settle();
  const name_book names(all.events);
  EXPECT_EQ(names.find(field_type::task, 3), "reader of the ?long? way?[31m");
  EXPECT_EQ(describe(all.events.back(), &names), "task 3 'reader of the ?long? way?[31m' starts to run");
}

// Goal:   what is shown is valid UTF-8, whatever bytes a name has: JSON and traces must stay readable.
// Method: a character cut by the 16 bytes of an event, Latin-1, an overlong form, a surrogate, a lone continuation.
TEST(describe, names_in_any_bytes_are_shown_as_valid_characters) {
  const auto shown = [](std::string_view text) {
    testing::collector all;
    journal j;
    testing::open_or_abort(j, {.capacity = 4}, all.sink());
    j.append_text(text_code::name, type_tag::task, 3, text);
    j.settle();
    return std::string(name_book(all.events).find(field_type::task, 3));
  };
  EXPECT_EQ(shown("fifteen bytes..\xc3\xa9!"), "fifteen bytes..\xc3\xa9!");
  EXPECT_EQ(shown("caf\xe9 1"), "caf? 1");
  EXPECT_EQ(shown("\xc0\xaf"), "??");
  EXPECT_EQ(shown("\xed\xa0\x80"), "???");
  EXPECT_EQ(shown("\xa9\xf0\x9f\x9a\x80\xf5"), "?\xf0\x9f\x9a\x80?");
  EXPECT_EQ(shown("cut \xe2\x82"), "cut ??");
}

TEST(describe, every_kind_can_be_said_whatever_its_numbers) {
  for (const event_info& row : event_table) {
    for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{999}, UINT64_MAX}) {
      const std::string text = describe({.kind = row.kind, .subject = x, .object = x, .a = x, .b = x});
      EXPECT_EQ(text.find('{'), std::string::npos) << text;
      EXPECT_FALSE(text.empty());
    }
  }
}

}  // namespace
}  // namespace asx
