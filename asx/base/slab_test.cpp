// Tests of asx/base/slab.hpp; "law n" is the n-th of its banner.
//
// Every history of up to eight operations over limits 0 to 3 first, then the limits where a level of free bits begins,
// then refusals at every request for memory. slab_lives_test.cpp has records that do things, slab_shapes_test.cpp
// shapes, blocks of the caller and random histories.
#include "asx/base/slab.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing.hpp"

namespace {

using asx::memory_port;
using asx::slab;
using asx::slab_entry;
using asx::slab_key;
using namespace asx::testing;

// ---- Small worlds, whole ------------------------------------------------------------------------------------------

// Goal:   laws 1 to 4 hold in every history of up to eight operations over limits 0 to 3.
// Method: operation 0 allocates, operation 1 + i releases index i; each history is replayed from an empty slab.
struct history {
  void extend(std::uint32_t limit, int length) {
    for (std::uint32_t operation = 0; operation <= limit; ++operation) {
      compared_slab<> s(limit);
      for (const std::uint32_t done : operations) apply(s, done);
      if (operation > 0 && !s.lives(operation - 1)) continue;
      operations.push_back(operation);
      ++tried;
      std::string wrong = apply(s, operation);
      if (wrong.empty()) wrong = s.compare();
      if (!wrong.empty() && failed.empty()) {
        failed = "limit " + std::to_string(limit) + " operations";
        for (const std::uint32_t done : operations) failed += ' ' + std::to_string(done);
        failed += ": " + wrong;
      }
      if (length > 1) extend(limit, length - 1);
      operations.pop_back();
    }
  }
  static std::string apply(compared_slab<>& s, std::uint32_t operation) {
    if (operation == 0) return s.allocate();
    s.release(operation - 1);
    return "";
  }

  std::vector<std::uint32_t> operations;
  std::string failed;
  long tried = 0;
};

TEST(slab, every_short_history_over_a_small_limit_agrees_with_a_map) {
  for (std::uint32_t limit = 0; limit <= 3; ++limit) {
    history all;
    all.extend(limit, 8);
    ASSERT_EQ(all.failed, "");
    EXPECT_GE(all.tried, 8);
  }
}

TEST(slab, a_slab_of_no_records_refuses_and_asks_for_no_memory) {
  counting_memory memory;
  slab<int> s(0, memory.port());
  EXPECT_FALSE(s.allocate(1));
  EXPECT_EQ(s.find({}), nullptr);
  EXPECT_EQ(s.find({0, 1}), nullptr);
  EXPECT_TRUE(s.reserve(0));
  EXPECT_FALSE(s.reserve(1));
  s.for_each([](int&, slab_key) { FAIL(); });
  s.check();
  EXPECT_EQ(s.live(), 0U);
  EXPECT_EQ(s.limit(), 0U);
  EXPECT_EQ(s.bytes(), 0U);
  EXPECT_EQ(memory.requests(), 0U);
}

// ---- Law 1: stable addresses --------------------------------------------------------------------------------------

TEST(slab, a_record_keeps_its_address_until_it_is_released) {  // law 1
  constexpr std::uint32_t limit = 5'000;
  slab<std::uint64_t> s(limit);
  std::vector<slab_entry<std::uint64_t>> entries;
  for (std::uint64_t i = 0; i < limit; ++i) entries.push_back(s.allocate(i));
  for (std::size_t i = 0; i < limit; i += 2) s.release(entries[i].key);
  for (std::uint64_t i = 0; i < limit / 4; ++i) ASSERT_TRUE(s.allocate(i));
  for (std::size_t i = 1; i < limit; i += 2) {
    ASSERT_EQ(s.find(entries[i].key), entries[i].record);
    ASSERT_EQ(*entries[i].record, i);
  }
}

TEST(slab, a_slot_has_the_same_address_in_each_of_its_lives) {  // law 1: the chunk stays when all its records are gone
  counting_memory memory;
  slab<int> s(200, memory.port());
  std::vector<int*> addresses;
  std::vector<slab_key> keys;
  for (int life = 0; life < 3; ++life) {
    keys.clear();
    for (int i = 0; i < 200; ++i) {
      const auto entry = s.allocate(i);
      ASSERT_TRUE(entry);
      keys.push_back(entry.key);
      if (life == 0) addresses.push_back(entry.record);
      ASSERT_EQ(entry.record, addresses[static_cast<std::size_t>(i)]);
    }
    const std::size_t requests = memory.requests();
    for (const slab_key key : keys) s.release(key);
    EXPECT_EQ(memory.requests(), requests);
    EXPECT_EQ(memory.bytes(), s.bytes()) << "nothing is given back before the slab dies";
  }
}

// ---- Law 2: lowest index first ------------------------------------------------------------------------------------

class slab_limit : public testing::TestWithParam<std::uint32_t> {};

// Both sides of every edge of the tree of free bits: a word, a word of words, and so on.
INSTANTIATE_TEST_SUITE_P(edges_of_the_levels, slab_limit,
                         testing::Values(1U, 2U, 63U, 64U, 65U, 127U, 128U, 129U, 4095U, 4096U, 4097U, 8193U, 262144U,
                                         262145U),
                         [](const auto& limit) { return std::to_string(limit.param); });

TEST_P(slab_limit, indices_are_taken_from_the_lowest_to_the_limit_and_no_further) {  // laws 2 and 4
  const std::uint32_t limit = GetParam();
  slab<std::uint32_t> s(limit);
  for (std::uint32_t i = 0; i < limit; ++i) {
    const auto entry = s.allocate(i);
    ASSERT_TRUE(entry);
    ASSERT_EQ(entry.key, (slab_key{i, 1}));
  }
  EXPECT_EQ(s.live(), limit);
  EXPECT_FALSE(s.allocate(0U));
  s.check();
}

TEST_P(slab_limit, freed_indices_are_taken_again_from_the_lowest) {  // law 2
  const std::uint32_t limit = GetParam();
  slab<std::uint32_t> s(limit);
  for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(i));

  // Edges of words and of words of words, and some in between; released in an order that is not theirs.
  std::set<std::uint32_t> freed;
  for (const std::uint32_t edge : {0U, 1U, 62U, 63U, 64U, 65U, 4094U, 4095U, 4096U, 4097U, 262143U, 262144U}) {
    if (edge < limit) freed.insert(edge);
  }
  freed.insert(limit - 1);
  asx::splitmix64 random(limit);
  for (int i = 0; i < 500; ++i) freed.insert(static_cast<std::uint32_t>(random.next_below(limit)));
  std::vector<std::uint32_t> shuffled(freed.begin(), freed.end());
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.next_below(i)]);
  for (const std::uint32_t index : shuffled) s.release({index, 1});
  s.check();

  for (const std::uint32_t index : freed) {
    const auto entry = s.allocate(index);
    ASSERT_TRUE(entry);
    ASSERT_EQ(entry.key, (slab_key{index, 3}));
  }
  EXPECT_FALSE(s.allocate(0U));
  s.check();
}

TEST_P(slab_limit, a_full_slab_with_one_hole_finds_it_wherever_it_is) {  // law 2
  const std::uint32_t limit = GetParam();
  slab<std::uint32_t> s(limit);
  std::vector<slab_key> keys;
  for (std::uint32_t i = 0; i < limit; ++i) keys.push_back(s.allocate(i).key);
  const std::uint32_t step = limit < 5'000 ? 1 : limit / 1'000;
  for (std::uint32_t hole = 0; hole < limit; hole += step) {
    s.release(keys[hole]);
    keys[hole] = s.allocate(hole).key;
    ASSERT_EQ(keys[hole].index, hole);
    ASSERT_FALSE(s.allocate(0U));
  }
  s.check();
}

TEST_P(slab_limit, a_slab_that_was_emptied_starts_at_the_lowest_index_again) {  // law 2
  const std::uint32_t limit = GetParam();
  slab<std::uint32_t> s(limit);
  for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(i));
  for (std::uint32_t i = limit; i-- > 0;) s.release({i, 1});
  EXPECT_EQ(s.live(), 0U);
  s.check();
  for (std::uint32_t i = 0; i < std::min(limit, 130U); ++i) ASSERT_EQ(s.allocate(i).key, (slab_key{i, 3}));
}

TEST(slab, five_levels_of_free_bits_still_find_the_lowest) {  // law 2
  // The core alone, because so many records would fill the memory. One block stands for every chunk, because nothing
  // but the free bits is looked at here.
  struct one_chunk {
    alignas(16) std::array<std::byte, 64 * 16> chunk;
    static void* allocate(void* self, std::size_t bytes, std::size_t alignment) noexcept {
      if (bytes == 64 * 16) return static_cast<one_chunk*>(self)->chunk.data();
      const memory_port heap = asx::heap_memory();
      return heap.allocate(heap.context, bytes, alignment);
    }
    static void release(void*, void* block, std::size_t bytes, std::size_t alignment) noexcept {
      const memory_port heap = asx::heap_memory();
      if (bytes != 64 * 16) heap.release(heap.context, block, bytes, alignment);
    }
  } memory{};
  constexpr std::uint32_t limit = 64 * 64 * 64 * 64 + 1;
  asx::detail::slab_core core(8, 8, limit, {&memory, &one_chunk::allocate, &one_chunk::release});
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < limit; ++i) {
    // Asking for each would be slow under a sanitizer; the neighbourhood of each word's end says it all.
    if (i % 64 < 2 || i % 64 > 62) wrong += core.lowest_free() == i ? 0U : 1U;
    core.take(i);
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(core.live(), limit);
  EXPECT_EQ(core.lowest_free(), core.npos);
  for (const std::uint32_t hole : {limit - 1, limit - 2, limit / 2, 262144U, 262143U, 4096U, 64U, 63U, 0U}) {
    core.give_back(hole);
    EXPECT_EQ(core.lowest_free(), hole) << "each is lower than those before";
  }
  for (const std::uint32_t hole : {0U, 63U, 64U, 4096U, 262143U, 262144U, limit / 2, limit - 2, limit - 1}) {
    EXPECT_EQ(core.lowest_free(), hole);
    core.take(hole);
  }
  EXPECT_EQ(core.lowest_free(), core.npos);
}

TEST(slab, the_highest_limits_have_a_bit_for_each_slot_on_every_machine) {  // law 2
  struct asked {
    std::vector<std::size_t> bytes;
    static void* allocate(void* self, std::size_t bytes, std::size_t) noexcept {
      static_cast<asked*>(self)->bytes.push_back(bytes);
      return nullptr;
    }
    static void release(void*, void*, std::size_t, std::size_t) noexcept {}
  };
  for (const std::uint32_t limit : {UINT32_MAX, UINT32_MAX - 62, UINT32_MAX - 63}) {
    asked memory;
    const asx::detail::slab_core core(8, 8, limit, {&memory, &asked::allocate, &asked::release});
    ASSERT_EQ(memory.bytes.size(), 2U);
    const std::uint64_t words = (std::uint64_t{limit} + 63) / 64;
    EXPECT_GT(memory.bytes[0], words * sizeof(std::uint64_t)) << limit;  // The levels above come on top.
    EXPECT_EQ(memory.bytes[1], words * sizeof(void*)) << limit;
  }
}

// ---- Law 3: generations -------------------------------------------------------------------------------------------

TEST(slab, a_key_of_an_earlier_life_never_finds_a_later_one) {  // law 3
  slab<int> s(2);
  std::vector<slab_key> stale;
  for (int life = 0; life < 500; ++life) {
    const auto entry = s.allocate(life);
    ASSERT_EQ(entry.key.generation, 2U * static_cast<unsigned>(life) + 1) << "odd while live, two more each life";
    ASSERT_EQ(s.find(entry.key), entry.record);
    for (const slab_key key : stale) ASSERT_EQ(s.find(key), nullptr) << text(key);
    s.release(entry.key);
    stale.push_back(entry.key);
    for (const slab_key key : stale) ASSERT_EQ(s.find(key), nullptr) << text(key);
  }
}

TEST(slab, a_key_that_was_never_given_out_finds_nothing) {  // law 3
  slab<int> s(100);
  const auto entry = s.allocate(7);
  s.release(s.allocate(8).key);  // Slot 1 is free and has generation 2.
  ASSERT_EQ(entry.key, (slab_key{0, 1}));

  EXPECT_EQ(s.find({}), nullptr) << "the null key";
  for (const std::uint64_t generation : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{3}, UINT64_MAX}) {
    EXPECT_EQ(s.find({0, generation}), nullptr) << "slot 0 lives its first life, not " << generation;
  }
  for (const std::uint64_t generation : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}}) {
    EXPECT_EQ(s.find({1, generation}), nullptr) << "slot 1 is free, its even generation is no key: " << generation;
    EXPECT_EQ(s.find({2, generation}), nullptr) << "slot 2 was never used: " << generation;
    EXPECT_EQ(s.find({63, generation}), nullptr) << "the last of the first chunk: " << generation;
    EXPECT_EQ(s.find({64, generation}), nullptr) << "in a chunk that does not exist: " << generation;
    EXPECT_EQ(s.find({99, generation}), nullptr) << "the last one: " << generation;
    EXPECT_EQ(s.find({100, generation}), nullptr) << "the limit: " << generation;
    EXPECT_EQ(s.find({127, generation}), nullptr) << "in the last chunk, beyond the limit: " << generation;
    EXPECT_EQ(s.find({128, generation}), nullptr) << "beyond the last chunk: " << generation;
    EXPECT_EQ(s.find({UINT32_MAX, generation}), nullptr) << "no index at all: " << generation;
  }
  ASSERT_TRUE(s.reserve(100));
  for (std::uint32_t index = 1; index < 130; ++index) {
    for (std::uint64_t generation = 0; generation < 5; ++generation) {
      EXPECT_EQ(s.find({index, generation}), nullptr) << text({index, generation});
    }
  }
}

TEST(slab, only_a_live_record_can_be_released_and_only_once) {  // law 3
  slab<int> s(70);
  const auto entry = s.allocate(1);
  const auto gone = s.allocate(2);
  s.release(gone.key);
  constexpr auto broken = "only a live record can be released, and only once";
  EXPECT_DEATH(s.release(gone.key), broken);
  EXPECT_DEATH(s.release({}), broken);
  EXPECT_DEATH(s.release({0, 2}), broken);
  EXPECT_DEATH(s.release({1, 2}), broken);
  EXPECT_DEATH(s.release({65, 1}), broken);
  EXPECT_DEATH(s.release({70, 1}), broken);
  ASSERT_TRUE(s.allocate(3));
  EXPECT_DEATH(s.release(gone.key), broken) << "the slot lives again, but not for this key";
  EXPECT_EQ(s.find(entry.key), entry.record);
}

// ---- Law 4: refusals ----------------------------------------------------------------------------------------------

TEST(slab, at_the_limit_allocate_is_refused_and_nothing_has_changed) {  // law 4
  counting_memory memory;
  ledger book;
  slab<record> s(3, memory.port());
  std::vector<slab_key> keys;
  for (int i = 0; i < 3; ++i) keys.push_back(s.allocate(i, book).key);
  const std::size_t bytes = s.bytes();
  const std::size_t requests = memory.requests();
  for (int i = 0; i < 5; ++i) {
    const slab_entry<record> refused = s.allocate(9, book);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.record, nullptr);
    EXPECT_EQ(refused.key, slab_key{});
  }
  EXPECT_EQ(book.born, 3) << "no constructor ran";
  EXPECT_EQ(s.live(), 3U);
  EXPECT_EQ(s.bytes(), bytes);
  EXPECT_EQ(memory.requests(), requests);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(s.find(keys[i])->value, static_cast<int>(i));
  s.check();
  s.release(keys[1]);
  EXPECT_EQ(s.allocate(10, book).key, (slab_key{1, 3})) << "and later it succeeds";
}

TEST(slab, when_the_tables_are_refused_everything_is_refused_in_peace) {  // law 4
  for (const std::uint32_t limit : {1U, 64U, 1'000U, UINT32_MAX}) {
    slab<int> s(limit, no_memory);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(s.allocate(i));
    EXPECT_EQ(s.find({}), nullptr);
    EXPECT_EQ(s.find({0, 1}), nullptr);
    EXPECT_EQ(s.find({limit - 1, 1}), nullptr);
    EXPECT_EQ(s.find({limit, 1}), nullptr);
    EXPECT_DEATH(s.release({0, 1}), "only a live record can be released");
    s.for_each([](int&, slab_key) { FAIL(); });
    EXPECT_TRUE(s.reserve(0));
    EXPECT_FALSE(s.reserve(1));
    EXPECT_FALSE(s.reserve(limit));
    EXPECT_EQ(s.limit(), limit);
    EXPECT_EQ(s.live(), 0U);
    EXPECT_EQ(s.bytes(), 0U);
    s.check();
  }
}

// Goal:   whichever request for memory is refused, the operation is refused, nothing has changed, and a retry succeeds.
// Method: the same life with the k-th request refused, for every k until a life has fewer requests than that.
TEST(slab, a_refusal_of_any_one_request_for_memory_changes_nothing) {  // law 4
  constexpr std::uint32_t limit = 300;
  constexpr std::size_t tables = 2;
  std::size_t lives = 0;
  for (std::size_t k = 0;; ++k) {
    SCOPED_TRACE("request " + std::to_string(k));
    counting_memory memory;
    memory.refuse_from = k;
    memory.refuse_to = k + 1;
    std::size_t refusals = 0;
    {
      compared_slab<> s(limit, memory.port());
      if (k < tables) {
        EXPECT_EQ(memory.bytes(), 0U) << "half of the tables is no use";
        EXPECT_EQ(s.allocate(), "refused below the limit");
        EXPECT_EQ((*s).bytes(), 0U);
        EXPECT_EQ((*s).find({0, 1}), nullptr);
        EXPECT_EQ((*s).live(), 0U);
        (*s).check();
        continue;
      }
      asx::splitmix64 random(k);
      for (int step = 0; step < 700; ++step) {
        if (s.live() > 0 && random.next_below(4) == 0) {
          s.release(s.nth_live(random.next()));
          continue;
        }
        const std::size_t bytes = (*s).bytes();
        const std::size_t live = s.live();
        const std::size_t requests = memory.requests();
        const std::string wrong = s.allocate();
        if (requests <= k && memory.requests() > k) {
          ++refusals;
          ASSERT_EQ(wrong, "refused below the limit");
          ASSERT_EQ((*s).bytes(), bytes);
          ASSERT_EQ((*s).live(), live);
          ASSERT_EQ(s.compare(), "");
          ASSERT_EQ(s.allocate(), "") << "the retry gets the index that the refused one would have got";
        } else {
          ASSERT_EQ(wrong, "");
        }
      }
      ASSERT_EQ(s.compare(), "");
      ASSERT_EQ((*s).bytes(), memory.bytes());
    }
    EXPECT_EQ(memory.bytes(), 0U);
    if (refusals == 0) break;
    ++lives;
  }
  EXPECT_EQ(lives, (limit + 63) / 64) << "each chunk was refused once";
}

TEST(slab, while_memory_stays_refused_records_that_have_a_place_still_come_and_go) {  // law 4
  for (std::size_t chunks = 0; chunks <= 4; ++chunks) {
    counting_memory memory;
    memory.refuse_from = 2 + chunks;
    compared_slab<> s(256, memory.port());
    for (std::size_t i = 0; i < chunks * 64; ++i) ASSERT_EQ(s.allocate(), "");
    for (int i = 0; i < 5; ++i) ASSERT_EQ(s.allocate(), chunks == 4 ? "" : "refused below the limit");
    ASSERT_EQ(s.compare(), "");
    if (chunks == 0) continue;
    s.release(5);
    s.release(3);
    ASSERT_EQ(s.allocate(), "");
    ASSERT_EQ(s.allocate(), "");
    ASSERT_EQ(s.allocate(), chunks == 4 ? "" : "refused below the limit");
    memory.refuse_from = counting_memory::never;
    for (std::size_t i = chunks * 64; i < 256; ++i) ASSERT_EQ(s.allocate(), "");
    ASSERT_EQ(s.compare(), "");
  }
}

TEST(slab, a_refused_reserve_keeps_what_is_there_and_can_be_repeated) {  // law 4
  for (std::size_t k = 2; k < 7; ++k) {
    counting_memory memory;
    memory.refuse_from = k;
    memory.refuse_to = k + 1;
    slab<int> s(300, memory.port());
    const auto before = s.bytes();
    EXPECT_FALSE(s.reserve(300)) << k;
    EXPECT_EQ(s.live(), 0U);
    EXPECT_EQ(s.bytes(), memory.bytes());
    EXPECT_GE(s.bytes(), before);
    s.check();
    EXPECT_TRUE(s.reserve(300)) << k;
    EXPECT_EQ(s.bytes(), memory.bytes());
    for (std::uint32_t i = 0; i < 300; ++i) ASSERT_EQ(s.allocate(1).key, (slab_key{i, 1}));
  }
}

// ---- Law 5: reserve -----------------------------------------------------------------------------------------------

TEST(slab, after_reserve_of_the_limit_nothing_is_allocated_again) {  // law 5
  for (const std::uint32_t limit : {0U, 1U, 63U, 64U, 65U, 128U, 1'000U, 4'097U}) {
    counting_memory memory;
    slab<std::uint64_t> s(limit, memory.port());
    ASSERT_TRUE(s.reserve(limit)) << limit;
    const std::size_t requests = memory.requests();
    const std::size_t bytes = s.bytes();
    memory.refuse_from = requests;
    for (int life = 0; life < 2; ++life) {
      for (std::uint64_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(i)) << limit;
      EXPECT_FALSE(s.allocate(0U));
      std::vector<slab_key> keys;
      s.for_each([&](std::uint64_t&, slab_key key) { keys.push_back(key); });
      for (const slab_key key : keys) s.release(key);
    }
    EXPECT_TRUE(s.reserve(limit));
    EXPECT_EQ(memory.requests(), requests) << limit;
    EXPECT_EQ(s.bytes(), bytes) << limit;
  }
}

TEST(slab, reserve_puts_memory_behind_the_first_so_many_and_never_beyond_the_limit) {
  for (const std::uint32_t limit : {1U, 64U, 65U, 200U, 256U}) {
    for (std::uint32_t count = 0; count <= limit; ++count) {
      counting_memory memory;
      slab<int> s(limit, memory.port());
      const std::size_t tables = memory.requests();
      ASSERT_TRUE(s.reserve(count));
      ASSERT_EQ(memory.requests() - tables, (count + 63) / 64) << count << " of " << limit;
      memory.refuse_from = memory.requests();
      for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(s.allocate(1)) << count << " of " << limit;
    }
    counting_memory memory;
    slab<int> s(limit, memory.port());
    const std::size_t bytes = s.bytes();
    EXPECT_FALSE(s.reserve(limit + 1)) << "there never are so many";
    EXPECT_FALSE(s.reserve(UINT32_MAX));
    EXPECT_EQ(s.bytes(), bytes) << "and nothing was taken for them";
  }
}

TEST(slab, bytes_are_all_that_the_memory_has_handed_out) {
  counting_memory memory;
  {
    slab<std::array<char, 100>> s(1'000, memory.port());
    EXPECT_EQ(s.bytes(), memory.bytes());
    EXPECT_GT(s.bytes(), 0U) << "the tables";
    for (int i = 0; i < 1'000; ++i) {
      const std::size_t before = s.bytes();
      ASSERT_TRUE(s.allocate());
      ASSERT_EQ(s.bytes(), memory.bytes());
      ASSERT_EQ(s.bytes() > before, i % 64 == 0) << "one chunk for 64 records";
    }
    s.release({0, 1});
    EXPECT_EQ(s.bytes(), memory.bytes());
  }
  EXPECT_EQ(memory.bytes(), 0U);
}

}  // namespace
