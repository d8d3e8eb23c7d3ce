// Tests of asx/base/slab.hpp; "law n" is the n-th of its banner.
//
// Every history of up to eight operations over limits 0 to 3 first, then the limits where a level of free bits begins,
// then refusals at every request for memory, then random histories against std::map.
#include "asx/base/slab.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

// Every operator new of this program is counted here; the other forms end up in these two. Not inlined, or g++ 12
// sees a block of operator new handed to free and warns.
namespace {
std::size_t operator_new_calls = 0;
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++operator_new_calls;
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++operator_new_calls;
  const auto step = static_cast<std::size_t>(alignment);
  if (void* const block = std::aligned_alloc(step, (bytes + step - 1) / step * step)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace {

using asx::memory_port;
using asx::slab;
using asx::slab_entry;
using asx::slab_key;

// A port over the heap that counts, refuses on demand, and insists that every block comes back as it was asked for.
class counting_memory {
 public:
  static constexpr std::size_t never = SIZE_MAX;

  counting_memory() = default;
  ~counting_memory() { EXPECT_TRUE(blocks_.empty()) << blocks_.size() << " blocks were not given back"; }
  counting_memory(const counting_memory&) = delete;
  counting_memory& operator=(const counting_memory&) = delete;

  [[nodiscard]] memory_port port() { return {this, &counting_memory::allocate, &counting_memory::release}; }
  [[nodiscard]] std::size_t requests() const { return requests_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  std::size_t refuse_from = never;  // Requests from this one on (the first is 0) ...
  std::size_t refuse_to = never;    // ... and before this one are refused.

 private:
  struct shape {
    std::size_t bytes;
    std::size_t alignment;
  };

  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) noexcept {
    auto& self = *static_cast<counting_memory*>(context);
    const std::size_t request = self.requests_++;
    if (request >= self.refuse_from && request < self.refuse_to) return nullptr;
    const memory_port heap = asx::heap_memory();
    void* const block = heap.allocate(heap.context, bytes, alignment);
    self.blocks_[block] = {bytes, alignment};
    self.bytes_ += bytes;
    return block;
  }
  static void release(void* context, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    auto& self = *static_cast<counting_memory*>(context);
    const auto found = self.blocks_.find(block);
    if (found == self.blocks_.end() || found->second.bytes != bytes || found->second.alignment != alignment) {
      ADD_FAILURE() << "a block came back that was never handed out like this";
      return;
    }
    self.blocks_.erase(found);
    self.bytes_ -= bytes;
    const memory_port heap = asx::heap_memory();
    heap.release(heap.context, block, bytes, alignment);
  }

  std::map<void*, shape> blocks_;
  std::size_t requests_ = 0;
  std::size_t bytes_ = 0;
};

void* refuse(void*, std::size_t, std::size_t) noexcept {
  return nullptr;
}
void must_not_release(void*, void*, std::size_t, std::size_t) noexcept {
  ADD_FAILURE() << "nothing was handed out";
}
constexpr memory_port no_memory{nullptr, &refuse, &must_not_release};

// A record that knows its value and tells a ledger when it dies.
struct ledger {
  int born = 0;
  int died = 0;
  std::map<int, int> deaths_of;  // How often the record with this value died.
};
struct record {
  record(int number, ledger& book) : value(number), book_(&book) { ++book.born; }
  ~record() {
    ++book_->died;
    ++book_->deaths_of[value];
  }
  record(const record&) = delete;
  record& operator=(const record&) = delete;

  int value;

 private:
  ledger* book_;
};

std::string text(slab_key key) {
  return std::to_string(key.index) + ':' + std::to_string(key.generation);
}

// A slab beside the naive one: a map of live records, a list of generations, and every key that was ever given out.
template <class T = std::uint64_t>
class compared_slab {
 public:
  explicit compared_slab(std::uint32_t limit, memory_port memory = asx::heap_memory())
      : slab_(limit, memory), generations_(limit, 0) {}

  // The message of the first difference, or "".
  std::string allocate() {
    const auto lowest = lowest_free();
    const T value = static_cast<T>(++values_);
    const slab_entry<T> entry = slab_.allocate(value);
    if (!lowest) return entry ? "allocated beyond the limit" : "";
    if (!entry) return "refused below the limit";
    if (entry.key.index != *lowest) return "not the lowest free index: " + text(entry.key);              // law 2
    if (entry.key.generation != ++generations_[*lowest]) return "wrong generation: " + text(entry.key);  // law 3
    live_[*lowest] = {entry.record, value};
    keys_.push_back(entry.key);
    return "";
  }
  void release(std::uint32_t index) {
    const slab_key key{index, generations_[index]++};
    slab_.release(key);
    live_.erase(index);
  }
  [[nodiscard]] std::string compare() const {
    slab_.check();
    if (slab_.live() != live_.size()) return "live()";
    for (const slab_key key : keys_) {
      const auto found = live_.find(key.index);
      const bool lives = found != live_.end() && generations_[key.index] == key.generation;
      T* const record = slab_.find(key);
      if (record != (lives ? found->second.address : nullptr)) return "find " + text(key);  // laws 1 and 3
      if (record != nullptr && *record != found->second.value) return "value of " + text(key);
    }
    std::vector<std::uint32_t> visited;
    bool right = true;
    slab_.for_each([&](T& record, slab_key key) {
      visited.push_back(key.index);
      right = right && slab_.find(key) == &record;
    });
    const bool in_order = std::equal(visited.begin(), visited.end(), live_.begin(), live_.end(),
                                     [](std::uint32_t index, const auto& entry) { return index == entry.first; });
    return right && in_order ? "" : "for_each";
  }
  [[nodiscard]] std::uint32_t nth_live(std::size_t n) const {
    return std::next(live_.begin(), static_cast<std::ptrdiff_t>(n % live_.size()))->first;
  }
  [[nodiscard]] std::size_t live() const { return live_.size(); }
  [[nodiscard]] bool lives(std::uint32_t index) const { return live_.contains(index); }
  [[nodiscard]] const slab<T>& operator*() const { return slab_; }

 private:
  struct resident {
    T* address;
    T value;
  };

  [[nodiscard]] std::optional<std::uint32_t> lowest_free() const {
    std::uint32_t at = 0;
    for (const auto& [index, unused] : live_) {
      if (index != at) break;
      ++at;
    }
    return at < generations_.size() ? std::optional(at) : std::nullopt;
  }

  slab<T> slab_;
  std::map<std::uint32_t, resident> live_;
  std::vector<std::uint64_t> generations_;
  std::vector<slab_key> keys_;
  std::uint64_t values_ = 0;
};

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

// ---- Constructors and destructors that do things ------------------------------------------------------------------

struct thrower {
  explicit thrower(bool throws) {
    if (throws) throw std::runtime_error("not born");
  }
};

TEST(slab, a_constructor_that_throws_leaves_the_slab_as_it_was) {
  for (std::uint32_t before = 0; before < 130; ++before) {
    slab<thrower> s(130);
    for (std::uint32_t i = 0; i < before; ++i) ASSERT_TRUE(s.allocate(false));
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_THROW(static_cast<void>(s.allocate(true)), std::runtime_error);
      EXPECT_EQ(s.live(), before);
      EXPECT_EQ(s.find({before, 1}), nullptr);
    }
    s.check();
    std::uint32_t visited = 0;
    s.for_each([&](thrower&, slab_key) { ++visited; });
    EXPECT_EQ(visited, before);
    EXPECT_EQ(s.allocate(false).key, (slab_key{before, 1})) << "not even a generation was spent";
  }
}

TEST(slab, a_constructor_that_throws_in_a_hole_leaves_the_hole) {
  slab<thrower> s(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(s.allocate(false));
  s.release({1, 1});
  EXPECT_THROW(static_cast<void>(s.allocate(true)), std::runtime_error);
  EXPECT_EQ(s.find({1, 1}), nullptr);
  s.check();
  EXPECT_EQ(s.allocate(false).key, (slab_key{1, 3}));
  EXPECT_FALSE(s.allocate(false));
}

// A tree that makes and ends its children through the slab that it lives in.
struct node {
  node(slab<node>& home, int depth, bool throws = false) : home_(home) {
    visited_while_unborn = 0;
    home.for_each([&](node&, slab_key) { ++visited_while_unborn; });
    if (depth > 0) child = home.allocate(home, depth - 1).key;
    if (throws) throw std::runtime_error("not born");
  }
  ~node() {
    if (child != slab_key{} && home_.find(child) != nullptr) home_.release(child);
  }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  slab_key child;
  int visited_while_unborn;

 private:
  slab<node>& home_;
};

TEST(slab, a_constructor_may_allocate_from_the_same_slab) {
  for (const int depth : {0, 1, 5, 63, 64, 100}) {
    slab<node> s(200);
    const auto root = s.allocate(s, depth);
    ASSERT_EQ(root.key, (slab_key{0, 1})) << "the outer record took its index first";
    EXPECT_EQ(s.live(), static_cast<std::uint32_t>(depth) + 1);
    s.check();
    std::uint32_t at = 0;
    for (const node* n = root.record; n->child != slab_key{}; n = s.find(n->child)) {
      ++at;
      ASSERT_EQ(n->child, (slab_key{at, 1}));
      ASSERT_NE(s.find(n->child), nullptr);
    }
    EXPECT_EQ(at, static_cast<std::uint32_t>(depth));
    s.release(root.key);
    EXPECT_EQ(s.live(), 0U) << "each destructor released the next";
    s.check();
  }
}

TEST(slab, an_inner_allocation_is_refused_when_the_outer_one_took_the_last_index) {
  slab<node> s(2);
  const auto root = s.allocate(s, 5);
  ASSERT_TRUE(root);
  EXPECT_EQ(s.live(), 2U);
  EXPECT_EQ(s.find(root.record->child)->child, slab_key{});
  s.check();
}

TEST(slab, a_constructor_that_throws_after_it_allocated_keeps_only_the_inner_record) {
  slab<node> s(10);
  EXPECT_THROW(static_cast<void>(s.allocate(s, 1, true)), std::runtime_error);
  EXPECT_EQ(s.live(), 1U);
  EXPECT_EQ(s.find({0, 1}), nullptr);
  EXPECT_NE(s.find({1, 1}), nullptr);
  s.check();
  EXPECT_EQ(s.allocate(s, 0).key, (slab_key{0, 1}));
}

TEST(slab, a_record_is_not_found_and_not_visited_before_it_is_born) {
  slab<node> s(10);
  const auto first = s.allocate(s, 2);
  for (const node* n = first.record; n != nullptr; n = s.find(n->child)) {
    EXPECT_EQ(n->visited_while_unborn, 0) << "the outer records are under construction too";
  }
  EXPECT_EQ(s.allocate(s, 0).record->visited_while_unborn, 3);
}

TEST(slab, a_record_is_not_found_and_not_visited_while_it_dies) {
  struct looker {
    looker(slab<looker>& home, int& visited, bool& found) : home_(home), visited_(visited), found_(found) {}
    ~looker() {
      visited_ = 0;
      home_.for_each([this](looker&, slab_key) { ++visited_; });
      found_ = home_.find(self) != nullptr;
    }
    looker(const looker&) = delete;
    looker& operator=(const looker&) = delete;
    slab_key self;

   private:
    slab<looker>& home_;
    int& visited_;
    bool& found_;
  };
  int visited = -1;
  bool found = true;
  slab<looker> s(3);
  std::vector<slab_key> keys;
  for (int i = 0; i < 3; ++i) {
    const auto entry = s.allocate(s, visited, found);
    entry.record->self = entry.key;
    keys.push_back(entry.key);
  }
  for (int left = 2; left >= 0; --left) {
    s.release(keys[static_cast<std::size_t>(left)]);
    EXPECT_EQ(visited, left);
    EXPECT_FALSE(found);
  }
}

TEST(slab, a_destructor_cannot_release_its_own_record_again) {
  struct fool {
    explicit fool(slab<fool>& home) : home_(home) {}
    ~fool() {
      if (self != slab_key{}) home_.release(self);
    }
    fool(const fool&) = delete;
    fool& operator=(const fool&) = delete;
    slab_key self;

   private:
    slab<fool>& home_;
  };
  slab<fool> s(1);
  const auto entry = s.allocate(s);
  EXPECT_DEATH(
      {
        entry.record->self = entry.key;
        s.release(entry.key);
      },
      "only a live record can be released, and only once");
}

TEST(slab, a_destructor_may_allocate_and_does_not_get_its_own_slot) {
  struct phoenix {
    phoenix(slab<phoenix>& home, int lives) : home_(home), lives_(lives) {}
    ~phoenix() {
      if (lives_ > 0) *heir = home_.allocate(home_, 0).key;
    }
    phoenix(const phoenix&) = delete;
    phoenix& operator=(const phoenix&) = delete;
    slab_key* heir = nullptr;

   private:
    slab<phoenix>& home_;
    int lives_;
  };
  slab_key heir;
  slab<phoenix> s(2);
  const auto entry = s.allocate(s, 1);
  entry.record->heir = &heir;
  s.release(entry.key);
  EXPECT_EQ(heir, (slab_key{1, 1}));
  EXPECT_EQ(s.live(), 1U);
  s.check();
  EXPECT_EQ(s.allocate(s, 0).key, (slab_key{0, 3}));
}

// ---- The end of a slab --------------------------------------------------------------------------------------------

TEST(slab, a_dying_slab_destroys_each_live_record_exactly_once_in_the_order_of_indices) {
  for (const std::uint32_t limit : {1U, 5U, 64U, 65U, 300U}) {
    ledger book;
    {
      slab<record> s(limit);
      std::vector<slab_key> keys;
      for (std::uint32_t i = 0; i < limit; ++i) keys.push_back(s.allocate(static_cast<int>(i), book).key);
      for (std::uint32_t i = 0; i < limit; i += 3) s.release(keys[i]);
      EXPECT_EQ(book.died, static_cast<int>((limit + 2) / 3));
    }
    EXPECT_EQ(book.born, book.died);
    EXPECT_EQ(book.deaths_of.size(), limit);
    for (const auto& [value, deaths] : book.deaths_of) EXPECT_EQ(deaths, 1) << value;
  }
}

// Goal:   a destructor may release another record while the whole slab dies, whichever of the two comes first.
// Method: every function from three records to "whom I release" (or nobody); each dies once, none is met dead.
TEST(slab, records_that_release_each_other_while_the_slab_dies_still_die_once) {
  struct killer {
    killer(slab<killer>& home, std::vector<int>& deaths, int number) : home_(home), deaths_(deaths), number_(number) {}
    ~killer() {
      ++deaths_[static_cast<std::size_t>(number_)];
      if (home_.find(victim) != nullptr) home_.release(victim);
    }
    killer(const killer&) = delete;
    killer& operator=(const killer&) = delete;
    slab_key victim;

   private:
    slab<killer>& home_;
    std::vector<int>& deaths_;
    int number_;
  };
  for (unsigned plan = 0; plan < 4 * 4 * 4; ++plan) {
    std::vector<int> deaths(3, 0);
    {
      slab<killer> s(3);
      std::array<slab_entry<killer>, 3> entries{s.allocate(s, deaths, 0), s.allocate(s, deaths, 1),
                                                s.allocate(s, deaths, 2)};
      unsigned left = plan;
      for (auto& entry : entries) {
        if (left % 4 < 3) entry.record->victim = entries[left % 4].key;
        left /= 4;
      }
    }
    EXPECT_EQ(deaths, (std::vector<int>{1, 1, 1})) << "plan " << plan;
  }
}

TEST(slab, a_chain_whose_head_has_any_index_dies_whole_with_the_slab) {
  slab<node> rising(100);
  ASSERT_TRUE(rising.allocate(rising, 70));  // Each child has a higher index than its parent.

  slab<node> falling(100);
  slab_key child;
  for (int i = 0; i < 70; ++i) {  // Each child has a lower index than its parent.
    const auto parent = falling.allocate(falling, 0);
    parent.record->child = child;
    child = parent.key;
  }
}

TEST(slab, a_destructor_that_allocates_from_a_dying_slab_is_an_assertion) {
  struct heir_maker {
    heir_maker(slab<heir_maker>& home, bool makes) : home_(home), makes_(makes) {}
    ~heir_maker() {
      if (makes_) static_cast<void>(home_.allocate(home_, false));
    }
    heir_maker(const heir_maker&) = delete;
    heir_maker& operator=(const heir_maker&) = delete;

   private:
    slab<heir_maker>& home_;
    bool makes_;
  };
  EXPECT_DEATH(
      {
        slab<heir_maker> s(4);
        static_cast<void>(s.allocate(s, false));
        static_cast<void>(s.allocate(s, true));
      },
      "a dying slab takes no new records");
}

// ---- Visiting -----------------------------------------------------------------------------------------------------

TEST(slab, for_each_visits_the_live_records_in_the_order_of_indices) {
  for (const std::uint32_t limit : {1U, 64U, 65U, 200U}) {
    slab<std::uint32_t> s(limit);
    for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(i));
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < limit; ++i) {
      if (i % 5 == 2) {
        s.release({i, 1});
      } else {
        expected.push_back(i);
      }
    }
    std::vector<std::uint32_t> visited;
    s.for_each([&](std::uint32_t& value, slab_key key) {
      EXPECT_EQ(key, (slab_key{value, 1}));
      visited.push_back(value);
    });
    EXPECT_EQ(visited, expected);
  }
}

TEST(slab, a_visitor_may_release_the_record_it_is_given) {
  for (const std::uint32_t limit : {1U, 2U, 7U, 64U, 65U, 130U}) {
    ledger book;
    slab<record> s(limit);
    for (std::uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(s.allocate(static_cast<int>(i), book));
    s.for_each([&](record& r, slab_key key) {
      if (r.value % 2 == 0) s.release(key);
    });
    EXPECT_EQ(s.live(), limit / 2) << "all even ones are gone";
    s.for_each([&](record&, slab_key key) { s.release(key); });
    EXPECT_EQ(s.live(), 0U);
    EXPECT_EQ(book.died, static_cast<int>(limit));
    s.check();
  }
}

TEST(slab, a_visitor_that_releases_others_sees_the_rest_and_not_those) {
  for (std::uint32_t visited_at = 0; visited_at < 6; ++visited_at) {
    for (std::uint32_t released = 0; released < 6; ++released) {
      slab<std::uint32_t> s(6);
      for (std::uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(s.allocate(i));
      std::vector<std::uint32_t> visited;
      s.for_each([&](std::uint32_t& value, slab_key) {
        visited.push_back(value);
        if (value == visited_at) s.release({released, 1});
      });
      std::vector<std::uint32_t> expected;
      for (std::uint32_t i = 0; i < 6; ++i) {
        if (i != released || released <= visited_at) expected.push_back(i);
      }
      ASSERT_EQ(visited, expected) << "at " << visited_at << " released " << released;
    }
  }
}

TEST(slab, a_visitor_that_allocates_visits_what_it_put_behind_itself_and_ends) {
  slab<int> s(10);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(s.allocate(i));
  s.release({1, 1});
  std::vector<std::uint32_t> visited;
  s.for_each([&](int&, slab_key key) {
    visited.push_back(key.index);
    if (key.index == 2) {
      EXPECT_EQ(s.allocate(1).key.index, 1U);  // Before the place where the visit is: not visited.
      EXPECT_EQ(s.allocate(4).key.index, 4U);  // Behind it: visited.
    }
  });
  EXPECT_EQ(visited, (std::vector<std::uint32_t>{0, 2, 3, 4}));
}

TEST(slab, visiting_few_records_in_a_large_reserved_slab_finds_them_all) {
  slab<std::uint32_t> s(10'000);
  ASSERT_TRUE(s.reserve(10'000));
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_TRUE(s.allocate(i));
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    if (i % 997 == 0 || i == 9'999) {
      expected.push_back(i);
    } else {
      s.release({i, 1});
    }
  }
  std::vector<std::uint32_t> visited;
  s.for_each([&](std::uint32_t& value, slab_key) { visited.push_back(value); });
  EXPECT_EQ(visited, expected);
}

// ---- Shapes of records --------------------------------------------------------------------------------------------

template <std::size_t Size, std::size_t Alignment>
struct shaped {
  alignas(Alignment) std::array<std::byte, Size> bytes;
  explicit shaped(std::byte fill) { bytes.fill(fill); }
};

template <class T>
class slab_of : public testing::Test {};
using shapes =
    testing::Types<shaped<1, 1>, shaped<3, 1>, shaped<2, 2>, shaped<8, 8>, shaped<9, 8>, shaped<16, 16>, shaped<24, 32>,
                   shaped<64, 64>, shaped<1, 128>, shaped<128, 128>, shaped<200, 128>, shaped<1, 4096>>;
TYPED_TEST_SUITE(slab_of, shapes);

TYPED_TEST(slab_of, records_are_aligned_and_do_not_overlap) {
  counting_memory memory;
  slab<TypeParam> s(130, memory.port());
  std::vector<slab_entry<TypeParam>> entries;
  for (int i = 0; i < 130; ++i) {
    entries.push_back(s.allocate(static_cast<std::byte>(i)));
    ASSERT_TRUE(entries.back());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entries.back().record) % alignof(TypeParam), 0U);
  }
  s.check();  // A record that reaches into the next slot would have hit its generation.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const std::byte b : entries[i].record->bytes) ASSERT_EQ(b, static_cast<std::byte>(i));
    ASSERT_EQ(s.find(entries[i].key), entries[i].record);
  }
}

TYPED_TEST(slab_of, a_block_at_any_place_serves_aligned_records) {
  std::vector<std::byte> bytes(std::size_t{1} << 21);
  for (const std::size_t skew : {0U, 1U, 7U, 33U}) {
    asx::bump_memory memory(std::span<std::byte>(bytes).subspan(skew));
    slab<TypeParam> s(70, memory.port());
    for (int i = 0; i < 70; ++i) {
      const auto entry = s.allocate(static_cast<std::byte>(i));
      ASSERT_TRUE(entry);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entry.record) % alignof(TypeParam), 0U);
    }
    s.check();
  }
}

TEST(slab, arguments_are_forwarded_and_records_need_neither_default_copy_nor_move) {
  struct picky {
    picky(std::unique_ptr<int> moved, const std::string& seen, int& changed) : owned(std::move(moved)), name(seen) {
      ++changed;
    }
    picky(const picky&) = delete;
    picky& operator=(const picky&) = delete;
    std::unique_ptr<int> owned;
    std::string name;
  };
  int changed = 0;
  slab<picky> s(1);
  const auto entry = s.allocate(std::make_unique<int>(7), "name", changed);
  ASSERT_TRUE(entry);
  EXPECT_EQ(*entry.record->owned, 7);
  EXPECT_EQ(entry.record->name, "name");
  EXPECT_EQ(changed, 1);
}

TEST(slab, a_refused_allocate_does_not_consume_its_arguments) {  // law 4
  slab<std::unique_ptr<int>> s(0);
  auto kept = std::make_unique<int>(7);
  EXPECT_FALSE(s.allocate(std::move(kept)));
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(*kept, 7);
}

// ---- Without a heap -----------------------------------------------------------------------------------------------

TEST(slab, a_whole_life_fits_in_a_block_of_the_caller_without_operator_new) {
  static std::array<std::byte, 64 * 1024> block;
  asx::bump_memory memory(block);
  const std::size_t calls = operator_new_calls;
  bool right = true;
  {
    slab<std::uint64_t> s(500, memory.port());
    std::array<slab_key, 500> keys{};
    for (int life = 0; life < 3; ++life) {
      for (std::uint64_t i = 0; i < 500; ++i) {
        const auto entry = s.allocate(i);
        const auto* const at = reinterpret_cast<const std::byte*>(entry.record);
        right = right && entry && at >= block.data() && at + sizeof(std::uint64_t) <= block.data() + block.size();
        keys[i] = entry.key;
      }
      right = right && !s.allocate(0U);
      s.for_each([&](std::uint64_t& value, slab_key key) { right = right && keys[value] == key; });
      s.check();
      for (const slab_key key : keys) s.release(key);
    }
    right = right && s.bytes() <= memory.used();
  }
  EXPECT_EQ(operator_new_calls, calls);
  EXPECT_TRUE(right);
  EXPECT_EQ(memory.used(), 0U) << "a dying slab gives its blocks back, the newest first";
}

TEST(slab, operator_new_is_counted_in_this_program) {  // Otherwise the test above would prove nothing.
  const std::size_t calls = operator_new_calls;
  ::operator delete(::operator new(8));  // As functions, because a compiler may leave a new-expression out.
  ::operator delete(::operator new(8, std::align_val_t{128}), std::align_val_t{128});
  EXPECT_EQ(operator_new_calls - calls, 2U);
}

TEST(slab, a_block_that_is_too_small_refuses_the_records_that_do_not_fit) {  // law 4
  // Every size, so that the tables, each chunk and the space between them are the thing that does not fit.
  alignas(64) std::array<std::byte, 8'192> block{};
  std::uint32_t best = 0;
  for (std::size_t size = 0; size <= block.size(); size += 8) {
    asx::bump_memory memory(std::span<std::byte>(block).first(size));
    {
      slab<std::uint64_t> s(200, memory.port());
      std::uint32_t fitted = 0;
      while (s.allocate(fitted)) ++fitted;
      ASSERT_EQ(s.live(), fitted);
      ASSERT_TRUE(fitted % 64 == 0 || fitted == 200) << "whole chunks only";
      ASSERT_GE(fitted, best) << "more memory never serves fewer";
      best = fitted;
      ASSERT_EQ(s.find({fitted, 1}), nullptr);
      s.check();
    }
    ASSERT_EQ(memory.used(), 0U) << size;
  }
  EXPECT_EQ(best, 200U);
}

// ---- Random histories ---------------------------------------------------------------------------------------------

TEST(slab, a_long_life_agrees_with_a_map) {
  for (const std::uint32_t limit : {1U, 5U, 64U, 65U, 200U, 4'097U}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      asx::splitmix64 random(seed);
      compared_slab<> s(limit);
      std::uint64_t favour = 0;  // Of 8: how often a step releases. Changes, so that the slab fills and empties.
      const int steps = limit > 1'000 ? 1'500 : 3'000;
      for (int step = 0; step < steps; ++step) {
        if (step % 200 == 0) favour = 1 + random.next_below(7);
        std::string wrong;
        if (s.live() > 0 && random.next_below(8) < favour) {
          s.release(s.nth_live(random.next()));
        } else {
          wrong = s.allocate();
        }
        if (wrong.empty() && step % 61 == 0) wrong = s.compare();
        ASSERT_EQ(wrong, "") << "limit " << limit << " seed " << seed << " step " << step;
      }
    }
  }
}

RC_GTEST_PROP(slab, any_history_agrees_with_a_map, (const std::vector<std::uint16_t>& steps)) {
  compared_slab<std::uint16_t> s(steps.empty() ? 0 : steps.front() % 140U);
  for (const std::uint16_t step : steps) {
    if (step % 3 == 0 && s.live() > 0) {
      s.release(s.nth_live(step / 3U));
    } else {
      RC_ASSERT(s.allocate() == "");
    }
  }
  RC_ASSERT(s.compare() == "");
}

RC_GTEST_PROP(slab, no_forged_key_finds_anything, (std::uint32_t index, std::uint64_t generation)) {
  slab<int> s(100);
  for (int i = 0; i < 50; ++i) RC_ASSERT(static_cast<bool>(s.allocate(i)));
  const bool real = index < 50 && generation == 1;
  RC_ASSERT((s.find({index, generation}) != nullptr) == real);
}

TEST(slab, the_core_finds_the_next_taken_slot_from_every_position) {  // Every set of slots of every small limit.
  for (std::uint32_t limit = 0; limit <= 6; ++limit) {
    for (std::uint32_t set = 0; set < (1U << limit); ++set) {
      asx::detail::slab_core core(8, 8, limit, asx::heap_memory());
      ASSERT_TRUE(core.reserve(limit));
      for (std::uint32_t i = 0; i < limit; ++i) {
        if ((set >> i & 1U) != 0) core.take(i);
      }
      for (std::uint32_t from = 0; from <= 70; ++from) {
        std::uint32_t expected = from;
        while (expected < limit && (set >> expected & 1U) == 0) ++expected;
        ASSERT_EQ(core.next_taken(from), expected < limit ? expected : core.npos) << limit << ' ' << set << ' ' << from;
      }
    }
  }
}

// ---- check() itself -----------------------------------------------------------------------------------------------

TEST(slab, check_finds_a_slot_that_is_both_free_and_live) {
  asx::detail::slab_core core(8, 8, 10, asx::heap_memory());
  ASSERT_EQ(core.lowest_free(), 0U);
  core.check();
  EXPECT_DEATH(
      {
        ++core.generation(3);
        core.check();
      },
      "a slot is either free or live");
  EXPECT_DEATH(
      {
        core.take(0);
        core.check();
      },
      "a slot is either free or live");
}

TEST(slab, a_key_and_an_entry_are_plain_values) {
  static_assert(sizeof(slab_key) == 16 && std::is_trivially_copyable_v<slab_key>);
  static_assert(std::is_trivially_copyable_v<slab_entry<record>>);
  static_assert(slab_key{1, 2} == slab_key{1, 2} && !(slab_key{1, 2} == slab_key{1, 3}) &&
                !(slab_key{1, 2} == slab_key{2, 2}));
  static_assert(!std::is_convertible_v<slab_entry<int>, bool>);
  static_assert(!std::is_copy_constructible_v<slab<int>> && !std::is_move_constructible_v<slab<int>>);
}

}  // namespace
