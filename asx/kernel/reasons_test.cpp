// Reasons of tasks: shared by those who were told the same, and never more slots than tasks.
#include "asx/kernel/detail/reasons.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace asx::detail {
namespace {

cancel_reason reason_of(cancel_kind kind, std::string_view message = {}) {
  cancel_reason r;
  r.kind = kind;
  r.message = message;
  return r;
}

struct counted_heap {
  std::uint64_t blocks = 0;
  bool refuses = false;
  [[nodiscard]] memory_port port() {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto& heap = *static_cast<counted_heap*>(self);
              if (heap.refuses) return nullptr;
              ++heap.blocks;
              return heap_memory().allocate(heap_memory().context, bytes, alignment);
            },
            [](void* self, void* block, std::size_t bytes, std::size_t alignment) noexcept {
              --static_cast<counted_heap*>(self)->blocks;
              heap_memory().release(heap_memory().context, block, bytes, alignment);
            }};
  }
};

TEST(reason_pool, shares_a_slot_until_the_last_task_lets_go) {
  causes store(4, 16, heap_memory());
  reason_pool pool(heap_memory(), 1'000);
  ASSERT_TRUE(pool.admit(3));
  reason_slot& told = pool.take();
  told.reason.hold(store, reason_of(cancel_kind::shutdown, "why"));
  EXPECT_EQ(&reason_pool::share(told), &told);
  pool.release(told, store);
  EXPECT_EQ(told.reason.get().kind, cancel_kind::shutdown);
  EXPECT_EQ(store.live(), 1U);
  pool.release(told, store);
  EXPECT_EQ(store.live(), 0U) << "its text goes with the last";
  EXPECT_EQ(&pool.take(), &told) << "and the slot is used again";
}

TEST(reason_pool, gives_who_asks_a_copy_that_nobody_else_has) {
  causes store(4, 16, heap_memory());
  reason_pool pool(heap_memory(), 1'000);
  ASSERT_TRUE(pool.admit(2));
  reason_slot& told = pool.take();
  told.reason.hold(store, reason_of(cancel_kind::user, "both"));
  reason_slot& own = pool.own(reason_pool::share(told), store);
  EXPECT_NE(&own, &told);
  EXPECT_EQ(&pool.own(own, store), &own) << "once it is its own, it stays where it is";
  own.reason.hold(store, reason_of(cancel_kind::shutdown));
  EXPECT_EQ(told.reason.get().kind, cancel_kind::user);
  EXPECT_EQ(told.reason.get().message, "both");
  pool.release(own, store);
  pool.release(told, store);
  EXPECT_EQ(store.live(), 0U);
}

TEST(reason_pool, has_room_for_every_task_that_was_admitted) {
  counted_heap heap;
  causes store(4, 16, heap_memory());
  {
    reason_pool pool(heap.port(), 1'000);
    std::vector<reason_slot*> taken;
    for (std::uint32_t tasks = 1; tasks <= 500; ++tasks) {
      ASSERT_TRUE(pool.admit(tasks));
      if (tasks % 7 != 0) continue;
      while (taken.size() < tasks) {
        taken.push_back(&pool.take());
        taken.back()->reason.hold(store, reason_of(cancel_kind::user));
      }
      for (std::size_t i = 0; i < taken.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) ASSERT_NE(taken[i], taken[j]);
      }
      for (; taken.size() > tasks / 2; taken.pop_back()) pool.release(*taken.back(), store);
    }
    for (reason_slot* const slot : taken) pool.release(*slot, store);
    EXPECT_LT(heap.blocks, 20U) << "it grows by half";
  }
  EXPECT_EQ(heap.blocks, 0U);
}

TEST(reason_pool, keeps_what_it_has_when_memory_is_refused) {
  counted_heap heap;
  reason_pool pool(heap.port(), 1'000);
  ASSERT_TRUE(pool.admit(1));
  heap.refuses = true;
  EXPECT_FALSE(pool.admit(1000));
  EXPECT_TRUE(pool.admit(1));
  EXPECT_EQ(pool.take().count, 1U);
}

}  // namespace
}  // namespace asx::detail
