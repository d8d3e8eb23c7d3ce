// asx/base/testing.hpp - for tests only: memory that counts and refuses, records that keep a ledger, and a slab that is
// compared with a map at every step.
//
// Cancel points: none. Threads: one. Lifetime: a ledger outlives its records.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
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
#include "asx/base/slab.hpp"

namespace asx::testing {

/// Where the sources lie, for tests that read data of the project: ASX_ROOT, or the folder with LAYERS in which, or
/// below which, the test runs.
inline std::filesystem::path project_folder() {
  if (const char* const root = std::getenv("ASX_ROOT")) return root;  // NOLINT(concurrency-mt-unsafe)
  std::filesystem::path at = std::filesystem::current_path();
  while (at.has_relative_path() && !std::filesystem::exists(at / "LAYERS")) at = at.parent_path();
  return at;
}

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

inline void* refuse(void*, std::size_t, std::size_t) noexcept {
  return nullptr;
}
inline void must_not_release(void*, void*, std::size_t, std::size_t) noexcept {
  ADD_FAILURE() << "nothing was handed out";
}
inline constexpr memory_port no_memory{nullptr, &refuse, &must_not_release};

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

inline std::string text(slab_key key) {
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

}  // namespace asx::testing
