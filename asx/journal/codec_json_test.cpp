// Tests of the JSON Lines codec, and of the way from one codec to the other and back.
#include "asx/journal/codec_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "asx/journal/testing.hpp"

namespace asx {
namespace {

using testing::made_stream;
using testing::make_stream;

std::string to_json(const std::vector<event>& events, bool closes = true) {
  std::string out;
  json_writer writer(string_writer(out), journal_header::of("core", UINT64_MAX));
  writer.append(events);
  if (closes) writer.close();
  return out;
}

struct reading {
  std::vector<event> events;
  status last = status::ok;
  file_end end = file_end::unknown;
  journal_fault fault;
  digest128 digest;
};

reading from_json(std::string_view text) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  reading out;
  json_reader reader;
  out.last = reader.open(memory_reader(bytes));
  event e;
  while (out.last == status::ok && (out.last = reader.next(e)) == status::ok) out.events.push_back(e);
  out.end = reader.end();
  out.fault = reader.fault();
  out.digest = reader.digest();
  EXPECT_NE(reader.next(e), status::ok) << "a reader that stopped stays stopped";
  return out;
}

TEST(codec_json, what_was_written_is_read_with_the_same_digest) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const made_stream run = make_stream(seed);
    const reading back = from_json(to_json(run.events));
    EXPECT_EQ(back.last, status::empty) << back.fault.sentence;
    EXPECT_EQ(back.end, file_end::marked);
    EXPECT_EQ(back.events, run.events);
    EXPECT_EQ(back.digest, run.digest);
    EXPECT_EQ(to_json(back.events), to_json(run.events));
  }
}

// codecs "bin" and "json" give the same digest; conversion loses nothing, either way.
TEST(codec_json, from_binary_to_json_to_binary_nothing_is_lost) {
  const made_stream run = make_stream(77, {.events = 2'000});
  const auto to_bin = [](const std::vector<event>& events) {
    std::vector<std::byte> out;
    bin_writer writer;
    EXPECT_EQ(writer.open(heap_memory(),
                          {&out,
                           [](void* self, std::span<const std::byte> piece) noexcept -> std::int64_t {
                             auto& all = *static_cast<std::vector<std::byte>*>(self);
                             all.insert(all.end(), piece.begin(), piece.end());
                             return static_cast<std::int64_t>(piece.size());
                           }},
                          journal_header::of("core", 77)),
              status::ok);
    writer.append(events);
    EXPECT_EQ(writer.close(), status::ok);
    return out;
  };
  const auto first = to_bin(run.events);
  std::span<const std::byte> view(first);
  bin_reader reader;
  ASSERT_EQ(reader.open(memory_reader(view)), status::ok);
  std::vector<event> events;
  for (event e; reader.next(e) == status::ok;) events.push_back(e);
  const reading json = from_json(to_json(events));
  EXPECT_EQ(json.digest, reader.digest());
  EXPECT_EQ(json.digest, run.digest);
  EXPECT_EQ(to_bin(json.events), first);
}

TEST(codec_json, numbers_that_a_double_would_round_are_strings_and_only_those) {
  std::vector<event> events = make_stream(1, {.events = 20}).events;
  events.back().a = (std::uint64_t{1} << 53) - 1;
  events.back().b = std::uint64_t{1} << 53;
  const std::string text = to_json(events);
  EXPECT_NE(text.find("\"seed\":\"18446744073709551615\""), std::string::npos);
  EXPECT_NE(text.find("\"a\":9007199254740991,\"b\":\"9007199254740992\""), std::string::npos);
  EXPECT_EQ(from_json(text).events, events);
}

TEST(codec_json, cut_at_any_byte_it_gives_a_true_prefix_and_says_that_the_tail_is_cut) {
  const made_stream run = make_stream(3, {.events = 60});
  const std::string text = to_json(run.events);
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    const reading back = from_json(std::string_view(text).substr(0, length));
    ASSERT_EQ(back.last, status::empty) << "at byte " << length << ": " << back.fault.sentence;
    ASSERT_EQ(back.end, file_end::cut) << "at byte " << length;
    ASSERT_TRUE(std::equal(back.events.begin(), back.events.end(), run.events.begin()));
  }
  EXPECT_EQ(from_json(std::string_view(text).substr(0, text.size() - 1)).end, file_end::marked)
      << "an editor may drop the last newline";
}

TEST(codec_json, one_flipped_bit_at_every_byte_is_found_and_named_by_its_line) {
  const made_stream run = make_stream(4, {.events = 60});
  const std::string text = to_json(run.events);
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const unsigned bit : {0U, 2U, 5U}) {
      std::string bad = text;
      bad[at] = static_cast<char>(static_cast<unsigned>(bad[at]) ^ (1U << bit));
      const reading back = from_json(bad);
      if (back.end == file_end::cut) {  // The end mark itself is gone, so it can only look cut.
        ASSERT_GE(at, text.rfind("{\"end\""));
        continue;
      }
      if (at + 1 == text.size()) continue;  // The last newline.
      ASSERT_NE(back.last, status::empty) << "byte " << at << ": " << bad.substr(at > 40 ? at - 40 : 0, 80);
      ASSERT_EQ(back.end, file_end::damaged);
      ASSERT_EQ(back.fault.sentence.rfind("line ", 0), 0U);
    }
  }
}

TEST(codec_json, a_missing_event_and_a_swapped_pair_are_named) {
  const made_stream run = make_stream(5, {.events = 60, .diagnostics = false});
  std::vector<event> missing = run.events;
  missing.erase(missing.begin() + 20);
  const reading one = from_json(to_json(missing));
  EXPECT_EQ(one.last, status::corrupt);
  EXPECT_EQ(one.fault.place, 22U);
  EXPECT_NE(one.fault.sentence.find("event 22 follows event 20"), std::string::npos) << one.fault.sentence;
  std::vector<event> swapped = run.events;
  std::swap(swapped[10], swapped[11]);
  EXPECT_NE(from_json(to_json(swapped)).fault.sentence.find("event 12 follows event 10"), std::string::npos);
}

TEST(codec_json, strange_input_is_refused_with_a_sentence_and_never_a_crash) {
  const std::string good = to_json(make_stream(6, {.events = 20}).events);
  const std::string first = good.substr(0, good.find('\n') + 1);
  const auto refused = [&](const std::string& text, status code, std::string_view words) {
    const reading back = from_json(text);
    EXPECT_EQ(back.last, code) << text;
    EXPECT_NE(back.fault.sentence.find(words), std::string::npos) << back.fault.sentence;
  };
  refused("{}\n", status::corrupt, "no journal of asx");
  refused("[1,2,3]\nmore\n", status::corrupt, "no journal of asx");
  refused("{\"asx_journal\":2,\"schema\":1}\n", status::version, "another version");
  refused("{\"asx_journal\":1,\"schema\":7}\n", status::version, "another schema");
  refused("{\"asx_journal\":1,\"schema\":1,\"profile\":\"a\\n\",\"seed\":1,\"seq_before\":0}\n", status::corrupt,
          "not complete");
  refused("{\"asx_journal\":1,\"schema\":1,\"profile\":\"a b\",\"seed\":1,\"seq_before\":0}\n", status::corrupt,
          "profile");
  const std::string rest = ",\"worker\":0,\"subject\":0,\"object\":0,\"a\":0,\"b\":0,\"cause\":0}\n";
  refused(first + "{\"seq\":1,\"time\":0,\"kind\":\"task_teleported\"" + rest, status::version, "kind");
  refused(first + "{\"seq\":2,\"time\":0,\"kind\":\"task_started\"" + rest, status::corrupt, "event 2 follows event 0");
  refused(first + "{\"seq\":-1,\"time\":0,\"kind\":\"task_started\"" + rest, status::corrupt, "no event");
  refused(first + "{\"seq\":1e0,\"time\":0,\"kind\":\"task_started\"" + rest, status::corrupt, "no event");
  refused(first + "{\"seq\":01,\"time\":0,\"kind\":\"task_started\"" + rest, status::corrupt, "no event");
  refused(first + "{\"seq\":99999999999999999999,\"time\":0,\"kind\":\"task_started\"" + rest, status::corrupt,
          "no event");
  refused(first + "{\"time\":0,\"seq\":1,\"kind\":\"task_started\"" + rest, status::corrupt, "no event");
  refused(first + std::string(5'000, 'x') + "\n", status::corrupt, "longer than any event");
  refused(first + std::string(100'000, '{'), status::corrupt, "longer than any event");
  refused(good + "{}\n", status::corrupt, "lines follow");
}

}  // namespace
}  // namespace asx
