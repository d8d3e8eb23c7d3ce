// Tests of asx/base/random.hpp.
#include "asx/base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <type_traits>

namespace {

using asx::random_stream;
using asx::splitmix64;

constexpr std::array<random_stream, 4> streams{random_stream::tie_break, random_stream::steal,
                                               random_stream::worker_order, random_stream::faults};
constexpr std::array<std::uint64_t, 8> seeds{0, 1, 2, 42, 1234567, std::uint64_t{1} << 32, UINT64_MAX - 1, UINT64_MAX};
constexpr std::array<std::uint32_t, 5> workers{0, 1, 2, 63, UINT32_MAX};

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15U;

// One step of the published generator, written down from and not from the code under test:
// the constant is added first, then the sum is mixed.
std::uint64_t reference_output(std::uint64_t state) {
  state += golden_gamma;
  state ^= state >> 30;
  state *= 0xbf58476d1ce4e5b9U;
  state ^= state >> 27;
  state *= 0x94d049bb133111ebU;
  state ^= state >> 31;
  return state;
}

TEST(random, the_generator_gives_the_published_numbers) {
  splitmix64 generator(1234567);
  for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(generator.next(), expected);
  }
  splitmix64 from_zero(0);
  for (const std::uint64_t expected :
       {0xe220a8397b1dcdafU, 0x6e789e6aa1b965f4U, 0x06c45d188009454fU, 0xf88bb8a8724c81ecU, 0x1b39896a51a8749bU}) {
    EXPECT_EQ(from_zero.next(), expected);
  }
}

TEST(random, the_constant_is_added_before_mixing) {  // otherwise the first number of seed 0 would be 0
  EXPECT_NE(splitmix64(0).next(), 0U);
  for (const std::uint64_t seed : seeds) {
    splitmix64 generator(seed);
    for (std::uint64_t n = 0; n < 100; ++n) {
      EXPECT_EQ(generator.next(), reference_output(seed + n * golden_gamma)) << "seed " << seed << " number " << n;
      EXPECT_EQ(generator.state(), seed + (n + 1) * golden_gamma);
    }
  }
}

TEST(random, the_streams_keep_their_numbers) {
  static_assert(static_cast<std::uint32_t>(random_stream::tie_break) == 0);
  static_assert(static_cast<std::uint32_t>(random_stream::steal) == 1);
  static_assert(static_cast<std::uint32_t>(random_stream::worker_order) == 2);
  static_assert(static_cast<std::uint32_t>(random_stream::faults) == 3);
}

TEST(random, a_stream_is_seeded_with_seed_xor_worker_xor_stream_shifted_by_32) {
  for (const std::uint64_t seed : seeds) {
    for (const std::uint32_t worker : workers) {
      for (std::uint64_t stream = 0; stream < 4; ++stream) {
        const std::uint64_t state = reference_output(seed ^ worker ^ (stream << 32));
        splitmix64 generator(seed, worker, streams[static_cast<std::size_t>(stream)]);
        EXPECT_EQ(generator.state(), state) << seed << ' ' << worker << ' ' << stream;
        EXPECT_EQ(generator.next(), reference_output(state)) << seed << ' ' << worker << ' ' << stream;
      }
    }
  }
}

TEST(random, the_first_numbers_of_some_streams_are_written_down) {  // golden: computed apart from this program
  struct golden {
    std::uint64_t seed;
    std::uint32_t worker;
    random_stream stream;
    std::uint64_t state, first, second, third;
  };
  using enum random_stream;
  const std::array<golden, 5> table{{
      {0, 0, tie_break, 0xe220a8397b1dcdafU, 0xa706dd2f4d197e6fU, 0xb382a305f4414f5eU, 0x631a9154fbabf717U},
      {0, 1, tie_break, 0x910a2dec89025cc1U, 0x5e41ab087439611eU, 0xf18d6ce93d6cf1eeU, 0x0b95f66d327e8d78U},
      {42, 3, steal, 0xf6850bf385eff561U, 0xb0336ef529170d00U, 0x11219ba037ef431eU, 0xd2747117409caa12U},
      {42, 3, worker_order, 0x157aa68df4678528U, 0x623ed7e228600124U, 0xf3a5e77a2c1b7135U, 0x3087a1c2674b9de3U},
      {UINT64_MAX, UINT32_MAX, faults, 0x0f11404ae39a79aaU, 0x054003b4a0986a86U, 0xcf2e5ed2c96ef8edU,
       0x6be27cb25452e934U},
  }};
  for (const golden& g : table) {
    splitmix64 generator(g.seed, g.worker, g.stream);
    EXPECT_EQ(generator.state(), g.state);
    EXPECT_EQ(generator.next(), g.first);
    EXPECT_EQ(generator.next(), g.second);
    EXPECT_EQ(generator.next(), g.third);
  }
}

TEST(random, next_below_is_the_next_number_modulo_the_bound_in_one_draw) {
  constexpr std::array<std::uint64_t, 9> bounds{
      1, 2, 3, 7, 64, 1'000'003, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 1, UINT64_MAX};
  for (const std::uint64_t seed : seeds) {
    splitmix64 drawing(seed);
    splitmix64 numbers(seed);
    for (int round = 0; round < 50; ++round) {
      for (const std::uint64_t bound : bounds) {
        EXPECT_EQ(drawing.next_below(bound), numbers.next() % bound);
        EXPECT_EQ(drawing.state(), numbers.state()) << "one draw, whatever the bound";
      }
    }
  }
}

TEST(random, a_choice_among_nothing_is_an_assertion) {
  splitmix64 generator(1);
  EXPECT_DEATH(generator.next_below(0), "a choice among nothing has no answer");
}

TEST(random, a_draw_from_one_stream_moves_no_other) {
  std::array<splitmix64, 4> generators{splitmix64(9, 1, streams[0]), splitmix64(9, 1, streams[1]),
                                       splitmix64(9, 1, streams[2]), splitmix64(9, 1, streams[3])};
  for (std::size_t drawn = 0; drawn < 4; ++drawn) {
    std::array<std::uint64_t, 4> before{};
    for (std::size_t i = 0; i < 4; ++i) before[i] = generators[i].state();
    generators[drawn].next();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(generators[i].state() == before[i], i != drawn);
  }
}

TEST(random, streams_workers_and_seeds_do_not_share_numbers) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (const std::uint64_t seed : {0U, 7U}) {
    for (const std::uint32_t worker : {0U, 1U, 2U}) {
      for (const random_stream stream : streams) {
        if (seed == 7 && worker == 0) continue;  // Only so that no seed xor worker comes twice.
        splitmix64 generator(seed, worker, stream);
        for (int n = 0; n < 500; ++n, ++drawn) seen.insert(generator.next());
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(random, two_seeds_scan_in_different_orders) {
  int equal_starts = 0;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    splitmix64 here(seed, 0, random_stream::steal);
    splitmix64 there(seed + 1, 0, random_stream::steal);
    bool same = true;
    for (int n = 0; n < 16; ++n) same = (here.next_below(8) == there.next_below(8)) && same;
    equal_starts += same ? 1 : 0;
  }
  EXPECT_EQ(equal_starts, 0);
}

TEST(random, a_copy_replays_what_the_original_draws) {
  splitmix64 original(3, 1, random_stream::faults);
  original.next();
  splitmix64 copy = original;
  for (int n = 0; n < 10; ++n) EXPECT_EQ(copy.next(), original.next());
  splitmix64 resumed(original.state());
  EXPECT_EQ(resumed.next(), original.next());
  static_assert(std::is_trivially_copyable_v<splitmix64> && sizeof(splitmix64) == 8);
}

TEST(random, numbers_are_the_same_at_compile_time) {
  static_assert(splitmix64(1234567).next() == 6457827717110365317U);
  static_assert(splitmix64(0, 0, random_stream::tie_break).state() == 0xe220a8397b1dcdafU);
  static_assert(splitmix64(1234567).next_below(10) == 7);
  SUCCEED();
}

}  // namespace
