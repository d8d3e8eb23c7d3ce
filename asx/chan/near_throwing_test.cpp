// asx/chan/near_throwing_test.cpp - values that throw when they are moved or copied leave oneshot, watch, broadcast and
// rendezvous as they were. Builds without exceptions have no such values and leave this file out.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "asx/chan/broadcast.hpp"
#include "asx/chan/oneshot.hpp"
#include "asx/chan/rendezvous.hpp"
#include "asx/chan/testing/near.hpp"
#include "asx/chan/watch.hpp"

namespace asx {
namespace {

using testing::puppet_stage;
using testing::thrower;

TEST(oneshot_throwing, a_value_that_throws_on_its_way_in_leaves_the_sender_alive) {
  puppet_stage s;
  auto [code, tx, rx] = oneshot<thrower>(s.k, s.rt.root());
  ASSERT_EQ(code, status::ok);
  int fuse = 1;
  const std::uint64_t before = s.mark();
  thrower value(1, &fuse);
  EXPECT_THROW(static_cast<void>(tx.send(std::move(value))), std::string);
  EXPECT_EQ(s.mark(), before);
  fuse = 2;  // Into the parameter it goes; out of it, it does not.
  EXPECT_THROW(static_cast<void>(tx.send(std::move(value))), std::string);
  EXPECT_EQ(s.mark(), before);
  EXPECT_TRUE(tx.is_live());
  EXPECT_EQ(rx.try_recv().code, status::empty);
  EXPECT_EQ(tx.send(std::move(value)).code, status::ok);
}

TEST(oneshot_throwing, a_value_that_throws_on_its_way_out_stays_queued) {
  puppet_stage s;
  auto [code, tx, rx] = oneshot<thrower>(s.k, s.rt.root());
  ASSERT_EQ(code, status::ok);
  int fuse = 0;
  EXPECT_EQ(tx.send(thrower(3, &fuse)).code, status::ok);
  fuse = 1;
  EXPECT_THROW(static_cast<void>(rx.try_recv()), std::string);
  const auto r = rx.try_recv();
  ASSERT_EQ(r.code, status::ok);
  EXPECT_EQ(r.value->number, 3);
}

TEST(watch_throwing, a_value_that_throws_on_its_way_in_leaves_the_old_one) {
  puppet_stage s;
  auto [code, tx, rx] = watch<thrower>(s.k, s.rt.root(), thrower(1));
  ASSERT_EQ(code, status::ok);
  const std::uint64_t before = s.mark();
  const std::uint64_t hash = s.k.state_hash();
  for (int at = 1; at <= 2; ++at) {
    int fuse = at;
    thrower value(2, &fuse);
    EXPECT_THROW(static_cast<void>(tx.send(std::move(value))), std::string);
  }
  EXPECT_EQ(s.mark(), before);
  EXPECT_EQ(s.k.state_hash(), hash);
  EXPECT_EQ(rx.visit([](const thrower& v) { EXPECT_EQ(v.number, 1); }), status::ok);
  EXPECT_EQ(tx.send(thrower(3)).code, status::ok);
  EXPECT_EQ(rx.visit([](const thrower& v) { EXPECT_EQ(v.number, 3); }), status::ok);
}

TEST(watch_throwing, a_first_value_that_throws_leaves_no_watch) {
  puppet_stage s;
  const std::uint64_t bytes = s.k.nominal_used();
  for (int at = 1; at <= 2; ++at) {
    int fuse = at;
    thrower value(1, &fuse);
    EXPECT_THROW(static_cast<void>(watch<thrower>(s.k, s.rt.root(), std::move(value))), std::string);
    EXPECT_EQ(s.k.nominal_used(), bytes);
  }
  EXPECT_EQ(s.count(event_kind::channel_created), s.count(event_kind::channel_freed));
}

TEST(watch_throwing, a_visit_or_a_copy_that_throws_lets_go_of_the_value) {
  puppet_stage s;
  auto [code, tx, rx] = watch<int>(s.k, s.rt.root(), 1);
  EXPECT_THROW(static_cast<void>(rx.visit([](const int&) { throw std::string("seen enough"); })), std::string);
  EXPECT_EQ(tx.send(2).code, status::ok) << "nobody looks any more";
}

TEST(rendezvous_throwing, a_value_that_throws_on_its_way_out_stays_in_its_offer_and_in_its_place) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<thrower>(s.k, s.rt.root());
  testing::puppet& a = s.task();
  int fuse = 0;
  rendezvous_offer<thrower> first(thrower(1, &fuse));
  rendezvous_offer<thrower> second(thrower(2));
  s.act(a, [&, &t = tx](cx& c) {
    EXPECT_EQ(t.poll_send(c, first), status::would_block);
    EXPECT_EQ(t.poll_send(c, second), status::would_block);
  });
  const std::uint64_t hash = s.k.state_hash();
  fuse = 1;
  EXPECT_THROW(static_cast<void>(rx.try_recv()), std::string);
  EXPECT_EQ(s.k.state_hash(), hash);
  EXPECT_TRUE(first.is_waiting() && first.has_value());
  EXPECT_EQ(rx.try_recv().value->number, 1);
  EXPECT_EQ(rx.try_recv().value->number, 2);
}

TEST(rendezvous_throwing, an_offer_that_cannot_be_moved_stays_where_it_is) {
  puppet_stage s;
  auto [code, tx, rx] = rendezvous<thrower>(s.k, s.rt.root());
  testing::puppet& a = s.task();
  int fuse = 0;
  rendezvous_offer<thrower> first(thrower(1, &fuse));
  s.act(a, [&, &t = tx](cx& c) { EXPECT_EQ(t.poll_send(c, first), status::would_block); });
  fuse = 1;
  EXPECT_THROW(rendezvous_offer<thrower> moved(std::move(first)), std::string);
  rendezvous_offer<thrower> target;
  fuse = 1;
  EXPECT_THROW(target = std::move(first), std::string);
  EXPECT_TRUE(first.is_waiting());
  EXPECT_FALSE(target.has_value());
  EXPECT_EQ(rx.try_recv().value->number, 1);
}

TEST(broadcast_throwing, a_value_that_throws_on_its_way_in_overwrites_nothing) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<thrower>(s.k, s.rt.root(), 1);
  EXPECT_EQ(tx.send(thrower(1)).code, status::ok);
  const std::uint64_t hash = s.k.state_hash();
  const std::uint64_t before = s.mark();
  for (int at = 1; at <= 2; ++at) {
    int fuse = at;
    thrower value(2, &fuse);
    EXPECT_THROW(static_cast<void>(tx.send(std::move(value))), std::string);
  }
  EXPECT_EQ(s.k.state_hash(), hash);
  EXPECT_EQ(s.mark(), before);
  EXPECT_EQ(rx.try_recv().value->number, 1);
  EXPECT_EQ(tx.send(thrower(3)).code, status::ok);
}

TEST(broadcast_throwing, a_copy_that_throws_has_received_nothing) {
  puppet_stage s;
  auto [code, tx, rx] = broadcast<thrower>(s.k, s.rt.root(), 2);
  int fuse = 0;
  EXPECT_EQ(tx.send(thrower(1, &fuse)).code, status::ok);
  fuse = 1;
  EXPECT_THROW(static_cast<void>(rx.try_recv()), std::string);
  EXPECT_EQ(rx.backlog(), 1U);
  EXPECT_EQ(tx.send(thrower(2)).code, status::ok) << "nobody copies any more";
  EXPECT_EQ(rx.try_recv().value->number, 1);
  EXPECT_EQ(rx.try_recv().value->number, 2);
}

}  // namespace
}  // namespace asx
