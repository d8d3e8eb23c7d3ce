// Tests of asx/base/hash.hpp; "law n" is the n-th of its banner.
//
// The values come from xxHash's own functions for one whole input, compiled into this file, and from a few
// published ones that no version of the library may change.
#include "asx/base/hash.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "asx/base/random.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

using asx::digest128;
using asx::digest_stream;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  asx::splitmix64 random(seed);
  std::vector<std::byte> out(count);
  for (std::byte& b : out) b = static_cast<std::byte>(random.next());
  return out;
}

digest128 whole(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

digest128 streamed(std::span<const std::byte> bytes) {
  digest_stream stream;
  stream.add(bytes);
  return stream.value();
}

// The eight bytes of a field, the least significant first, on any machine.
void append_little_endian(std::vector<std::byte>& out, std::uint64_t field) {
  for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(field >> (8 * i)));
}

std::string text(digest128 digest) {
  const auto hex = digest.hex();
  return {hex.begin(), hex.end()};
}

// ---- Golden values ------------------------------------------------------------------------------------------------

TEST(hash, the_empty_input_has_the_published_values) {
  EXPECT_EQ(asx::hash_bytes({}), 0x2D06800538D394C2U);
  EXPECT_EQ(asx::hash_fields({}), 0x2D06800538D394C2U);
  EXPECT_EQ(digest_stream().value(), (digest128{0x99AA06D3014798D8U, 0x6001C324468D497FU}));
  digest_stream fed_nothing;
  fed_nothing.add(std::span<const std::byte>{});
  EXPECT_EQ(fed_nothing.value(), digest_stream().value());
}

TEST(hash, some_values_are_written_down) {  // law 1: the same everywhere, for ever
  struct golden {
    std::string_view text;
    std::uint64_t hash;
    std::string_view digest;
  };
  const std::string three_hundred = [] {  // Long enough for the loop over stripes.
    std::string out;
    for (int i = 0; i < 300; ++i) out.push_back(static_cast<char>('a' + i % 26));
    return out;
  }();
  const std::array<golden, 6> table{{
      {"a", 0xe6c632b61e964e1fU, "a96faf705af16834e6c632b61e964e1f"},
      {"abc", 0x78af5f94892f3950U, "06b05ab6733a618578af5f94892f3950"},
      {"asx", 0xee8d9caf7d626d65U, "2fab4d42a1ec1ca3ee8d9caf7d626d65"},
      {"structured concurrency", 0x8be09ed0f449af6dU, "e69b158e7803031323a6ad8fe09915c4"},
      {"the quick brown fox jumps over the lazy dog, and then it jumps over it again, and again, until neither of "
       "them can tell any more who began",
       0x2cc7a05768965d1aU, "0d58e34c364a5c34ff6ce68c842765b4"},
      {three_hundred, 0x7f720c1f731c9648U, "34de2aad60a7d7ca7f720c1f731c9648"},
  }};
  for (const golden& g : table) {
    EXPECT_EQ(asx::hash_bytes(bytes_of(g.text)), g.hash) << g.text;
    EXPECT_EQ(text(streamed(bytes_of(g.text))), g.digest) << g.text;
  }
}

// ---- XXH3-64 over bytes and fields --------------------------------------------------------------------------------

TEST(hash, hash_bytes_is_xxh3_64_with_seed_0) {  // R-99; every length through all of its code paths
  const auto bytes = random_bytes(1'100, 1);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto part = std::span(bytes).first(length);
    ASSERT_EQ(asx::hash_bytes(part), XXH3_64bits(part.data(), part.size())) << length;
    ASSERT_EQ(asx::hash_bytes(part), XXH3_64bits_withSeed(part.data(), part.size(), 0)) << length;
  }
}

TEST(hash, hash_bytes_does_not_care_where_the_bytes_lie) {  // law 1
  const auto bytes = random_bytes(300, 2);
  alignas(64) std::array<std::byte, 400> elsewhere{};
  for (const std::size_t length : {1U, 3U, 8U, 16U, 17U, 128U, 129U, 240U, 241U, 300U}) {
    const std::uint64_t expected = asx::hash_bytes(std::span(bytes).first(length));
    for (std::size_t skew = 0; skew < 64; ++skew) {
      std::memcpy(elsewhere.data() + skew, bytes.data(), length);
      ASSERT_EQ(asx::hash_bytes(std::span(elsewhere).subspan(skew, length)), expected) << length << " at " << skew;
    }
  }
}

TEST(hash, hash_fields_is_the_hash_of_the_fields_written_little_endian_by_hand) {
  asx::splitmix64 random(3);
  std::vector<std::uint64_t> fields;
  std::vector<std::byte> by_hand;
  for (int count = 0; count <= 100; ++count) {
    ASSERT_EQ(asx::hash_fields(fields), XXH3_64bits(by_hand.data(), by_hand.size())) << count << " fields";
    fields.push_back(random.next());
    append_little_endian(by_hand, fields.back());
  }
}

TEST(hash, fields_are_words_of_64_bits_in_declared_order) {
  const std::array<std::uint64_t, 1> one{0x0807060504030201U};
  EXPECT_EQ(asx::hash_fields(one), asx::hash_bytes(bytes_of("\x01\x02\x03\x04\x05\x06\x07\x08")));
  const std::array<std::uint64_t, 2> there{1, 2};
  const std::array<std::uint64_t, 2> back{2, 1};
  const std::array<std::uint64_t, 3> longer{1, 2, 0};
  EXPECT_NE(asx::hash_fields(there), asx::hash_fields(back)) << "the order counts";
  EXPECT_NE(asx::hash_fields(there), asx::hash_fields(longer)) << "a field of zero counts";
}

// ---- The running digest -------------------------------------------------------------------------------------------

TEST(digest_stream, a_stream_is_xxh3_128_with_seed_0) {
  const auto bytes = random_bytes(1'100, 4);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto part = std::span(bytes).first(length);
    ASSERT_EQ(streamed(part), whole(part)) << length;
  }
}

TEST(digest_stream, bytes_may_arrive_in_two_pieces_of_any_size) {  // law 2: every split of every length up to 300
  const auto bytes = random_bytes(300, 5);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto part = std::span(bytes).first(length);
    const digest128 expected = whole(part);
    for (std::size_t split = 0; split <= length; ++split) {
      digest_stream stream;
      stream.add(part.first(split));
      stream.add(part.subspan(split));
      ASSERT_EQ(stream.value(), expected) << length << " split at " << split;
    }
  }
}

TEST(digest_stream, bytes_may_arrive_in_equal_pieces_of_any_size) {  // law 2: across the library's inner buffers
  const auto bytes = random_bytes(3'000, 6);
  const digest128 expected = whole(bytes);
  for (std::size_t piece = 1; piece <= 1'100; ++piece) {
    digest_stream stream;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      stream.add(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    }
    ASSERT_EQ(stream.value(), expected) << "pieces of " << piece;
  }
}

TEST(digest_stream, bytes_may_arrive_in_pieces_of_random_sizes) {  // law 2
  const auto bytes = random_bytes(100'000, 7);
  const digest128 expected = whole(bytes);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    asx::splitmix64 random(seed);
    digest_stream stream;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(random.next_below(seed * 100), bytes.size() - at);
      stream.add(std::span(bytes).subspan(at, piece));
      at += piece;
    }
    ASSERT_EQ(stream.value(), expected) << "seed " << seed;
  }
}

TEST(digest_stream, it_can_be_read_after_any_byte_without_disturbing_what_follows) {  // R-120, law 2
  const auto bytes = random_bytes(2'000, 8);
  digest_stream read;
  digest_stream unread;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto one = std::span(bytes).subspan(i, 1);
    read.add(one);
    unread.add(one);
    const digest128 value = read.value();
    ASSERT_EQ(value, whole(std::span(bytes).first(i + 1))) << i;
    ASSERT_EQ(read.value(), value) << "reading twice gives the same";
  }
  EXPECT_EQ(unread.value(), read.value());
}

TEST(digest_stream, a_field_is_eight_little_endian_bytes) {
  asx::splitmix64 random(9);
  digest_stream stream;
  std::vector<std::byte> by_hand;
  for (int count = 0; count < 200; ++count) {
    const std::uint64_t field = count % 4 == 0 ? static_cast<std::uint64_t>(count) : random.next();
    stream.add(field);
    append_little_endian(by_hand, field);
    ASSERT_EQ(stream.value(), whole(by_hand)) << count;
  }
}

TEST(digest_stream, fields_and_bytes_mix_as_one_sequence) {
  digest_stream stream;
  stream.add(bytes_of("abc"));
  stream.add(std::uint64_t{0x0102030405060708U});
  stream.add(bytes_of("d"));
  EXPECT_EQ(stream.value(), whole(bytes_of("abc\x08\x07\x06\x05\x04\x03\x02\x01"
                                           "d")));
}

TEST(digest_stream, copies_are_independent_and_outlive_the_original) {
  const auto bytes = random_bytes(2'000, 10);
  for (const std::size_t split : {0U, 1U, 16U, 240U, 241U, 256U, 257U, 1'024U, 1'025U, 1'999U}) {
    const auto head = std::span(bytes).first(split);
    const auto tail = std::span(bytes).subspan(split);
    auto original = std::make_unique<digest_stream>();
    original->add(head);
    digest_stream copy = *original;
    digest_stream assigned;
    assigned.add(bytes_of("forgotten"));
    assigned = *original;
    original->add(bytes_of("only here"));
    EXPECT_EQ(copy.value(), whole(head)) << split;
    EXPECT_EQ(assigned.value(), whole(head)) << split;
    original.reset();
    copy.add(tail);
    EXPECT_EQ(copy.value(), whole(bytes)) << split;
    EXPECT_EQ(assigned.value(), whole(head)) << split;
    assigned.add(tail);
    EXPECT_EQ(assigned.value(), whole(bytes)) << split;
  }
}

TEST(digest_stream, a_reset_stream_is_a_new_stream) {
  const auto bytes = random_bytes(1'500, 11);
  digest_stream stream;
  for (std::size_t length = 0; length <= bytes.size(); length += 37) {
    stream.add(std::span(bytes).first(length));
    stream.reset();
    ASSERT_EQ(stream.value(), digest_stream().value()) << length;
    stream.add(bytes_of("after"));
    ASSERT_EQ(stream.value(), whole(bytes_of("after"))) << length;
    stream.reset();
  }
}

TEST(digest_stream, a_stream_is_a_plain_value) {
  static_assert(std::is_trivially_copyable_v<digest_stream>);
  static_assert(noexcept(digest_stream().value()));
}

RC_GTEST_PROP(digest_stream, any_pieces_give_the_digest_of_the_whole,
              (const std::vector<std::vector<std::uint8_t>>& pieces)) {
  digest_stream stream;
  std::vector<std::uint8_t> all;
  for (const auto& piece : pieces) {
    stream.add(std::as_bytes(std::span(piece)));
    all.insert(all.end(), piece.begin(), piece.end());
  }
  RC_ASSERT(stream.value() == whole(std::as_bytes(std::span(all))));
}

// ---- The value ----------------------------------------------------------------------------------------------------

TEST(digest128, hex_is_32_lower_case_digits_the_most_significant_first) {
  EXPECT_EQ(text(digest_stream().value()), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(text({0, 0}), std::string(32, '0'));
  EXPECT_EQ(text({UINT64_MAX, UINT64_MAX}), std::string(32, 'f'));
  EXPECT_EQ(text({0x0123456789abcdefU, 0xfedcba9876543210U}), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(text({1, 0}), "0000000000000001" + std::string(16, '0'));
  static_assert(digest128{0xa000000000000000U, 0xb}.hex()[0] == 'a');
  static_assert(digest128{0xa000000000000000U, 0xb}.hex()[31] == 'b');
}

TEST(digest128, digests_are_ordered_as_numbers_of_128_bits_and_as_their_digits) {
  const std::array<digest128, 5> ascending{{{0, 0}, {0, UINT64_MAX}, {1, 0}, {1, 1}, {UINT64_MAX, 0}}};
  for (std::size_t a = 0; a < ascending.size(); ++a) {
    for (std::size_t b = 0; b < ascending.size(); ++b) {
      EXPECT_EQ(ascending[a] < ascending[b], a < b);
      EXPECT_EQ(ascending[a] == ascending[b], a == b);
      EXPECT_EQ(text(ascending[a]) < text(ascending[b]), a < b);
    }
  }
  static_assert(digest128{} == digest128{0, 0});
}

}  // namespace
