// Exceptions that are in hand when another stack goes on: each has its own, as each thread has.
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "asx/runtime/detail/drive_fibers.hpp"

namespace asx::detail {
namespace {

struct crowd {
  std::vector<std::string> told;
  fibers all;
  explicit crowd(fibers::body run) : all(4, 0, this, run) {}
  void play() {
    ASSERT_TRUE(all.is_ready());
    for (bool is_any_left = true; is_any_left;) {
      is_any_left = false;
      for (std::uint32_t who = 1; who < 4; ++who) {
        if (all.has_ended(who)) continue;
        all.switch_to(who);
        is_any_left = true;
      }
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
  }
};

TEST(drive_fibers_exception, what_is_being_handled_is_thrown_on_by_whoever_handles_it) {
  crowd c([](void* self, std::uint32_t who) noexcept {
    auto& at = *static_cast<crowd*>(self);
    const std::string mine = "of " + std::to_string(who);
    try {
      try {
        throw std::runtime_error(mine);
      } catch (const std::exception& outer) {
        at.all.switch_to(0);
        try {
          throw std::logic_error(mine + " again");
        } catch (const std::exception& inner) {
          for (std::uint32_t i = 0; i < who; ++i) at.all.give_way();
          EXPECT_EQ(inner.what(), mine + " again");
        }
        at.all.switch_to(who == 3 ? 0 : who + 1);
        EXPECT_EQ(outer.what(), mine);
        throw;  // Whichever is being handled: its own.
      }
    } catch (const std::exception& e) {
      EXPECT_EQ(e.what(), mine);
      at.told.emplace_back(e.what());
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
  c.play();
  EXPECT_EQ(c.told.size(), 3U);
}

// Told on the way out, while an exception is on its way.
struct teller {
  fibers* all;
  int on_their_way;
  ~teller() {
    EXPECT_EQ(std::uncaught_exceptions(), on_their_way);
    all->give_way();
    EXPECT_EQ(std::uncaught_exceptions(), on_their_way);
  }
};

TEST(drive_fibers_exception, what_is_on_its_way_is_counted_for_each) {
  crowd c([](void* self, std::uint32_t who) noexcept {
    auto& at = *static_cast<crowd*>(self);
    for (std::uint32_t i = 0; i < 3; ++i) {
      try {
        const teller outer{&at.all, 1};
        const teller inner{&at.all, 1};
        at.all.switch_to(0);
        throw static_cast<int>(who);
      } catch (int caught) {
        EXPECT_EQ(caught, static_cast<int>(who));
        at.all.give_way();
      }
    }
    at.told.emplace_back("done");
  });
  c.play();
  EXPECT_EQ(c.told.size(), 3U);
}

}  // namespace
}  // namespace asx::detail
