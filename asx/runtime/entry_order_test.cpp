// An order as a list, and as bytes: what was written is read, and what was cut or changed is refused.
#include "asx/runtime/entry_order.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "asx/base/random.hpp"

namespace asx {
namespace {

// The same as plain lists. Times and measured numbers share one stream, in the order in which they were asked for.
struct naive_order {
  struct reading {
    bool is_time = false;
    std::uint64_t number = 0;
  };
  std::vector<std::uint32_t> who;
  std::vector<reading> readings;
};

void write_at_random(splitmix64& draws, std::uint32_t workers, std::size_t entries, entry_order& order,
                     naive_order& naive) {
  order.begin(workers, draws.next());
  std::uint64_t now = 0;
  std::uint32_t who = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    if (draws.next() % 3 != 0) who = static_cast<std::uint32_t>(draws.next() % workers);
    order.enter(who);
    naive.who.push_back(who);
    for (std::uint64_t k = draws.next() % 3; k != 0; --k) {
      const unsigned size = static_cast<unsigned>(draws.next() % 40);
      if (draws.next() % 4 == 0) {
        const std::uint64_t number = draws.next() >> (draws.next() % 64);
        order.measure(number);
        naive.readings.push_back({false, number});
      } else {
        now += draws.next() >> (63 - size);
        order.read_clock(instant{now});
        naive.readings.push_back({true, now});
      }
    }
  }
}

void expect_same(const entry_order& order, const naive_order& naive) {
  EXPECT_EQ(order.entries(), naive.who.size());
  entry_order::reader who(order);
  for (const std::uint32_t worker : naive.who) {
    ASSERT_EQ(who.next(), worker);
    ASSERT_EQ(who.next(), worker) << "looking takes nothing";
    who.advance();
  }
  EXPECT_EQ(who.next(), std::nullopt);
  entry_order::reader when(order);
  for (const naive_order::reading& r : naive.readings) {
    if (r.is_time) {
      ASSERT_EQ(when.next_time(), instant{r.number});
    } else {
      ASSERT_EQ(when.next_number(), r.number);
    }
  }
  EXPECT_EQ(when.next_time(), std::nullopt);
  EXPECT_EQ(when.next_number(), std::nullopt);
}

TEST(entry_order, an_empty_one_has_nobody_in_it) {
  entry_order order;
  order.begin(3, 17);
  EXPECT_EQ(order.workers(), 3U);
  EXPECT_EQ(order.seed(), 17U);
  EXPECT_EQ(order.entries(), 0U);
  EXPECT_TRUE(order.is_complete());
  expect_same(order, {});
  entry_order read;
  ASSERT_EQ(entry_order::load(order.save(), read), status::ok);
  EXPECT_EQ(read.workers(), 3U);
  EXPECT_EQ(read.seed(), 17U);
  expect_same(read, {});
}

TEST(entry_order, gives_back_what_was_written_before_and_after_it_was_saved) {
  splitmix64 draws(20261116);
  for (int round = 0; round < 300; ++round) {
    const auto workers = static_cast<std::uint32_t>(1 + draws.next() % 64);
    entry_order order;
    naive_order naive;
    write_at_random(draws, workers, static_cast<std::size_t>(draws.next() % 200), order, naive);
    expect_same(order, naive);
    entry_order read;
    ASSERT_EQ(entry_order::load(order.save(), read), status::ok);
    EXPECT_EQ(read.workers(), order.workers());
    EXPECT_EQ(read.seed(), order.seed());
    EXPECT_TRUE(read.is_complete());
    expect_same(read, naive);
    EXPECT_EQ(read.save(), order.save()) << "saved again, it is the same";
    if (HasFatalFailure()) return;
  }
}

TEST(entry_order, goes_on_being_written_after_it_was_saved) {
  entry_order order;
  naive_order naive;
  order.begin(4, 1);
  for (std::uint32_t i = 0; i < 200; ++i) {
    order.enter(i / 3 % 4);
    naive.who.push_back(i / 3 % 4);
    EXPECT_TRUE(i % 50 != 0 || !order.save().empty());
  }
  expect_same(order, naive);
}

TEST(entry_order, says_after_it_was_saved_that_others_had_a_say) {
  entry_order order;
  order.begin(2, 1);
  order.enter(1);
  order.spoil();
  EXPECT_FALSE(order.is_complete());
  entry_order read;
  ASSERT_EQ(entry_order::load(order.save(), read), status::ok);
  EXPECT_FALSE(read.is_complete());
  order.begin(2, 1);
  EXPECT_TRUE(order.is_complete()) << "a new one is";
}

TEST(entry_order, says_after_it_was_saved_how_its_last_run_ended) {
  entry_order order;
  order.begin(1, 1);
  EXPECT_EQ(order.runs(), 0U);
  EXPECT_EQ(order.digest(), digest128{});
  order.end_run({1, 2});
  order.end_run({3, UINT64_MAX});
  entry_order read;
  ASSERT_EQ(entry_order::load(order.save(), read), status::ok);
  EXPECT_EQ(read.runs(), 2U);
  EXPECT_EQ(read.digest(), (digest128{3, UINT64_MAX}));
  EXPECT_FALSE(read.is_ended());
  order.end({UINT64_MAX, 5});
  ASSERT_EQ(entry_order::load(order.save(), read), status::ok);
  EXPECT_TRUE(read.is_ended());
  EXPECT_EQ(read.digest_at_end(), (digest128{UINT64_MAX, 5}));
  order.begin(1, 1);
  EXPECT_EQ(order.runs(), 0U) << "a new one has none";
  EXPECT_FALSE(order.is_ended());
}

TEST(entry_order, says_after_it_was_saved_whose_time_it_was) {
  for (const bool is_virtual : {false, true}) {
    for (const bool is_spoilt : {false, true}) {
      entry_order order;
      order.begin(2, 1, is_virtual);
      order.enter(1);
      if (is_spoilt) order.spoil();
      entry_order read;
      ASSERT_EQ(entry_order::load(order.save(), read), status::ok);
      EXPECT_EQ(read.is_virtual(), is_virtual);
      EXPECT_EQ(read.is_complete(), !is_spoilt);
    }
  }
}

TEST(entry_order, begins_anew_with_nothing_of_the_one_before) {
  entry_order order;
  naive_order naive;
  splitmix64 draws(7);
  write_at_random(draws, 5, 50, order, naive);
  order.begin(2, 9);
  expect_same(order, {});
  order.enter(1);
  order.read_clock(instant{5});
  expect_same(order, {{1}, {{true, 5}}});
}

TEST(entry_order, refuses_every_cut_and_every_changed_byte) {
  splitmix64 draws(3);
  entry_order order;
  naive_order naive;
  write_at_random(draws, 4, 60, order, naive);
  const std::vector<std::uint8_t> whole = order.save();
  entry_order out;
  naive_order kept;
  write_at_random(draws, 2, 5, out, kept);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(entry_order::load(std::span(whole).first(length), out), status::invalid_argument) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x10U, 0x80U, 0xFFU}) {
      std::vector<std::uint8_t> changed = whole;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ flip);
      EXPECT_EQ(entry_order::load(changed, out), status::invalid_argument) << at;
    }
  }
  std::vector<std::uint8_t> longer = whole;
  longer.push_back(0);
  EXPECT_EQ(entry_order::load(longer, out), status::invalid_argument);
  expect_same(out, kept);  // As it was, after all those refusals.
}

// Law 5: two bytes each time that another thread comes in, one to five for a time.
TEST(entry_order, takes_no_more_room_than_it_says) {
  entry_order order;
  order.begin(4, 0);
  for (std::uint32_t i = 0; i < 100'000; ++i) order.enter(i / 1'000 % 4);
  EXPECT_LT(order.save().size(), 500U) << "a hundred runs";
  order.begin(4, 0);
  for (std::uint64_t i = 0; i < 10'000; ++i) order.read_clock(instant{i * 1'000'000'000});
  EXPECT_LT(order.save().size(), 50'200U);
}

}  // namespace
}  // namespace asx
