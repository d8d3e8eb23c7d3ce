// Stacks that take turns on one thread. No thread is started here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/runtime/detail/drive_fibers.hpp"

namespace asx::detail {
namespace {

struct walk {
  explicit walk(std::uint32_t count) : all(count, 0, this, &run) {}
  static void run(void* self, std::uint32_t who) noexcept {
    auto& w = *static_cast<walk*>(self);
    std::uint64_t own = who;  // On its own stack: nobody else changes it.
    for (std::uint64_t i = 0; i < 50; ++i) {
      own = own * 31 + i;
      w.said.push_back(own);
      w.by.push_back(w.all.current());
      EXPECT_EQ(w.by.back(), who);
      w.all.switch_to(w.next(who));
    }
    w.ended.push_back(who);
  }
  // Anybody but who asks and those who have ended.
  std::uint32_t next(std::uint32_t but) {
    std::uint32_t at = but;
    while (at == but || all.has_ended(at)) at = static_cast<std::uint32_t>(draws.next() % 4);
    return at;
  }

  splitmix64 draws{7};
  std::vector<std::uint64_t> said;
  std::vector<std::uint32_t> by;
  std::vector<std::uint32_t> ended;
  fibers all;
};

TEST(drive_fibers, go_on_where_they_were_until_they_end) {
  walk w(4);
  ASSERT_TRUE(w.all.is_ready());
  EXPECT_TRUE(w.all.has_begun(0));
  EXPECT_FALSE(w.all.has_begun(1));
  while (w.ended.size() < 3) {
    EXPECT_EQ(w.all.current(), 0U);
    w.all.switch_to(w.next(0));
  }
  // Each has said what it says alone, in its own order.
  for (std::uint32_t who = 1; who < 4; ++who) {
    EXPECT_TRUE(w.all.has_ended(who));
    std::uint64_t own = who;
    std::uint64_t i = 0;
    for (std::size_t at = 0; at < w.said.size(); ++at) {
      if (w.by[at] != who) continue;
      own = own * 31 + i++;
      EXPECT_EQ(w.said[at], own) << who;
    }
    EXPECT_EQ(i, 50U);
  }
}

TEST(drive_fibers, give_way_to_the_next_that_has_not_ended) {
  struct ring {
    std::string told;
    fibers all{4, 0, this, [](void* self, std::uint32_t who) noexcept {
                 auto& r = *static_cast<ring*>(self);
                 for (std::uint32_t i = 0; i < who; ++i) {
                   r.told += std::to_string(who);
                   r.all.give_way();
                 }
               }};
  } r;
  ASSERT_TRUE(r.all.is_ready());
  for (int i = 0; i < 5; ++i) {
    r.told += '0';
    r.all.give_way();
  }
  // 1 ends in the second round, and 0 goes on then; 2 and 3 have begun in the first.
  EXPECT_EQ(r.told, "01230023003");
}

TEST(drive_fibers, have_an_errno_each) {
  struct pair {
    fibers all{2, 0, this, [](void* self, std::uint32_t) noexcept {
                 errno = EDOM;
                 static_cast<pair*>(self)->all.switch_to(0);
                 EXPECT_EQ(errno, EDOM);
               }};
  } p;
  ASSERT_TRUE(p.all.is_ready());
  errno = ERANGE;
  p.all.switch_to(1);
  EXPECT_EQ(errno, ERANGE);
  errno = EINVAL;
  p.all.switch_to(1);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
}

// Each frame holds something that must still be there on the way back.
std::uint64_t dig(std::uint32_t depth, fibers& all) {
  std::array<volatile std::uint64_t, 64> here;  // NOLINT: written below.
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = depth + i;
  if (depth % 100 == 0) all.switch_to(all.current() == 1 ? 2 : 1);
  const std::uint64_t below = depth == 0 ? 0 : dig(depth - 1, all);
  std::uint64_t sum = below;
  for (std::size_t i = 0; i < here.size(); ++i) sum += here[i] - depth - i;
  return sum + 1;
}

TEST(drive_fibers, have_stacks_as_large_as_was_asked_for) {
  struct pit {
    std::array<std::uint64_t, 3> dug{};
    fibers all{3, std::size_t{4} << 20, this, [](void* self, std::uint32_t who) noexcept {
                 auto& p = *static_cast<pit*>(self);
                 p.dug[who] = dig(2'000, p.all);
                 if (who == 1 && !p.all.has_ended(2)) p.all.switch_to(2);
               }};
  } p;
  ASSERT_TRUE(p.all.is_ready());
  p.all.switch_to(1);
  while (!p.all.has_ended(1) || !p.all.has_ended(2)) p.all.give_way();
  EXPECT_EQ(p.dug[1], 2'001U);
  EXPECT_EQ(p.dug[2], 2'001U);
}

TEST(drive_fibers, are_given_up_in_the_middle_with_their_stacks) {
  for (int round = 0; round < 100; ++round) {
    walk w(4);
    ASSERT_TRUE(w.all.is_ready());
    w.all.switch_to(1);
  }
}

TEST(drive_fibers, say_when_there_is_no_room_for_them) {
  for (const std::size_t bytes : {SIZE_MAX / 4 * 3, SIZE_MAX - 1, SIZE_MAX}) {
    const fibers none(4, bytes, nullptr, [](void*, std::uint32_t) noexcept {});
    EXPECT_FALSE(none.is_ready());
  }
}

}  // namespace
}  // namespace asx::detail
