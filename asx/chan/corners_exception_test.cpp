// asx/chan/corners_exception_test.cpp - values whose moves fail, and polls that an exception leaves.
//
// Every move on the way of a value fails once: a fuse is set to 0, 1, 2, ... moves until the call goes through.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/testing/bomb.hpp"
#include "asx/chan/testing/puppets.hpp"

#if defined(__cpp_exceptions)

namespace asx {
namespace {

using testing::bomb;
using testing::fuse;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::puppet;
using testing::puppet_stage;

/// What a failed call must leave as it was.
struct picture {
  std::uint32_t queued, reserved, waiters;
  std::uint64_t sent, received, evicted;
  int alive;

  static picture of(const sender<bomb>& tx, const fuse& f) {
    const channel_report r = look(tx);
    return {r.queued, r.reserved, r.waiters, r.counts.sent, r.counts.received, r.counts.evicted, f.alive};
  }
  friend bool operator==(const picture&, const picture&) = default;
};

/// Sets the fuse to 0, 1, 2, ... until `call` goes through; how often it failed. Each failure changed nothing.
template <class Call>
int fail_every_move(fuse& f, const sender<bomb>& tx, Call call) {
  for (int moves = 0; moves < 20; ++moves) {
    SCOPED_TRACE("the move after " + std::to_string(moves) + " others fails");
    const picture before = picture::of(tx, f);
    f.left = moves;
    try {
      call();
      f.left = fuse::none;
      return moves;
    } catch (const std::runtime_error&) {
      f.left = fuse::none;
    }
    EXPECT_EQ(picture::of(tx, f), before);
  }
  ADD_FAILURE() << "no call needs twenty moves";
  return 0;
}

TEST(channel_exceptions, r240_a_move_that_fails_into_a_send_leaves_channel_and_permit_as_they_were) {
  fuse f;
  puppet_stage s;
  auto ch = open_channel<bomb>(s, 2);
  send_permit<bomb> first = must_reserve(ch.tx);
  send_permit<bomb> second = must_reserve(ch.tx);
  const int sends = fail_every_move(f, ch.tx, [&] {
    EXPECT_TRUE(first.is_held());
    EXPECT_EQ(first.send(bomb(1, f)).code, status::ok);
  });
  EXPECT_GE(sends, 1) << "a value that never moves proves nothing";
  fail_every_move(f, ch.tx, [&] {
    EXPECT_TRUE(second.is_held());
    EXPECT_EQ(second.try_send(bomb(2, f)).code, status::ok);
  });
  EXPECT_EQ(ch.rx.try_recv().value->number(), 1);
  EXPECT_EQ(ch.rx.try_recv().value->number(), 2);
  EXPECT_EQ(f.alive, 0);
}

TEST(channel_exceptions, r240_a_move_that_fails_on_its_way_back_leaves_the_permit_as_it_was) {
  fuse f;
  puppet_stage s;
  auto ch = open_channel<bomb>(s, 2);
  send_permit<bomb> plain = must_reserve(ch.tx);
  tracked_sender<bomb> tracked(ch.tx);
  tracked_permit<bomb> promise;
  ASSERT_EQ(tracked.try_reserve(s.rt.root(), promise), status::ok);
  ch.rx.drop();
  EXPECT_GE(fail_every_move(f, ch.tx,
                            [&] {
                              EXPECT_TRUE(plain.is_held());
                              EXPECT_EQ(plain.send(bomb(1, f)).value->number(), 1);
                            }),
            1);
  EXPECT_GE(fail_every_move(f, ch.tx,
                            [&] {
                              EXPECT_TRUE(promise.is_held());
                              EXPECT_EQ(promise.send(bomb(2, f)).value->number(), 2);
                            }),
            1);
  EXPECT_FALSE(plain.is_held() || promise.is_held());
  obligation_state how = obligation_state::reserved;
  EXPECT_EQ(s.rt.kernel().inspect(promise.obligation(), how), status::ok);
  EXPECT_EQ(how, obligation_state::aborted);
  EXPECT_EQ(f.alive, 0);
}

TEST(channel_exceptions, r240_a_move_that_fails_into_a_send_without_permit_leaves_the_channel_as_it_was) {
  fuse f;
  puppet_stage s;
  auto ch = open_channel<bomb>(s, 1);
  EXPECT_GE(fail_every_move(f, ch.tx, [&] { EXPECT_EQ(ch.tx.try_send(bomb(1, f)).code, status::ok); }), 1);
  EXPECT_EQ(ch.rx.try_recv().value->number(), 1);
  EXPECT_GE(fail_every_move(f, ch.tx, [&] { EXPECT_EQ(ch.tx.send_evict_oldest(bomb(2, f)).code, status::ok); }), 1);
  f.only = 3;
  EXPECT_GE(fail_every_move(f, ch.tx,
                            [&] {
                              const auto sent = ch.tx.send_evict_oldest(bomb(3, f));
                              EXPECT_EQ(sent.code, status::ok);
                              ASSERT_TRUE(sent.evicted.has_value());
                              EXPECT_EQ(sent.evicted->number(), 2) << "what was to be evicted is still whole";
                            }),
            1);
  EXPECT_EQ(ch.rx.try_recv().value->number(), 3);
  EXPECT_EQ(f.alive, 0);
}

TEST(channel_exceptions, r240_an_evicted_value_whose_move_fails_stays_the_oldest) {
  for (int moves = 0; moves < 4; ++moves) {
    SCOPED_TRACE(moves);
    fuse f;
    puppet_stage s;
    auto ch = open_channel<bomb>(s, 2);
    EXPECT_EQ(ch.tx.try_send(bomb(1, f)).code, status::ok);
    EXPECT_EQ(ch.tx.try_send(bomb(2, f)).code, status::ok);
    f.only = 1;
    f.left = moves;
    bool has_thrown = false;
    try {
      EXPECT_EQ(ch.tx.send_evict_oldest(bomb(3, f)).code, status::ok);
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    f.left = fuse::none;
    EXPECT_EQ(has_thrown, moves == 0) << "it is moved once";
    std::vector<int> left;
    EXPECT_EQ(look(ch.tx).queued, 2U);
    for (int i = 0; i < 2; ++i) left.push_back(ch.rx.try_recv().value->number());
    EXPECT_EQ(left, has_thrown ? (std::vector<int>{1, 2}) : (std::vector<int>{2, 3}));
    EXPECT_EQ(f.alive, 0);
  }
}

// A bomb that does something when it ends, wherever it was moved to by then.
struct parting {
  parting(int number, fuse& f, std::function<void()>* last_deed = nullptr) : value(number, f), deed(last_deed) {}
  parting(parting&& from) : value(std::move(from.value)), deed(std::exchange(from.deed, nullptr)) {}
  parting& operator=(parting&&) = delete;
  ~parting() {
    if (deed != nullptr) (*deed)();
  }
  bomb value;
  std::function<void()>* deed;
};

/// The third message takes the place of the first, whose move throws; `deed` is done when the third one ends.
void evict_in_vain(sender<parting>& tx, fuse& f, std::function<void()>& deed) {
  f.only = 1;
  f.left = 0;
  bool has_thrown = false;
  try {
    static_cast<void>(tx.send_evict_oldest(parting(3, f, &deed)));
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  f.left = fuse::none;
  EXPECT_TRUE(has_thrown);
}

// Goal:   nothing is put where a message lies that leaves again, and nothing is lost that was refused because
//         of it.
// Method: its destructor sends in every way that there is, also by permits that were there before, and receives.
TEST(channel_exceptions, r340_a_message_that_leaves_again_is_not_overwritten_while_it_ends) {
  fuse f;
  puppet_stage s;
  auto ch = open_channel<parting>(s, 3);
  EXPECT_EQ(ch.tx.try_send(parting(1, f)).code, status::ok);
  send_permit<parting> permit = must_reserve(ch.tx);
  tracked_sender<parting> tracked(ch.tx);
  tracked_permit<parting> promise;
  ASSERT_EQ(tracked.try_reserve(s.rt.root(), promise), status::ok);
  int deeds = 0;
  std::function<void()> deed = [&] {
    ++deeds;
    const auto by_permit = permit.send(parting(50, f));
    EXPECT_EQ(by_permit.code, status::reentrant);
    ASSERT_TRUE(by_permit.value.has_value());
    EXPECT_EQ(by_permit.value->value.number(), 50);
    const auto by_promise = promise.send(parting(51, f));
    EXPECT_EQ(by_promise.code, status::reentrant);
    ASSERT_TRUE(by_promise.value.has_value());
    EXPECT_EQ(by_promise.value->value.number(), 51);
    EXPECT_EQ(ch.tx.try_send(parting(52, f)).code, status::reentrant);
    EXPECT_EQ(ch.tx.send_evict_oldest(parting(53, f)).value->value.number(), 53);
    EXPECT_EQ(ch.rx.try_recv().value->value.number(), 1) << "everything else may be done";
    EXPECT_EQ(ch.tx.try_send(parting(54, f)).code, status::reentrant) << "it is still there";
  };
  evict_in_vain(ch.tx, f, deed);
  EXPECT_EQ(deeds, 1);
  EXPECT_TRUE(permit.is_held() && promise.is_held());
  EXPECT_EQ(s.state_of(promise.obligation()), obligation_state::reserved);
  EXPECT_EQ(permit.send(parting(60, f)).code, status::ok);
  EXPECT_EQ(promise.send(parting(61, f)).code, status::ok);
  EXPECT_EQ(ch.tx.try_send(parting(62, f)).code, status::ok);
  for (const int next : {60, 61, 62}) EXPECT_EQ(ch.rx.try_recv().value->value.number(), next);
  EXPECT_EQ(f.alive, 0);
}

// Goal:   a channel that ends while a message leaves it again is there until that is over.
TEST(channel_exceptions, r340_the_end_of_a_message_that_leaves_again_may_end_the_channel) {
  for (const bool by_region : {false, true}) {
    fuse f;
    puppet_stage s;
    const region_handle in = s.region();
    auto ch = open_channel<parting>(s, in, 1);
    EXPECT_EQ(ch.tx.try_send(parting(1, f)).code, status::ok);
    std::function<void()> deed = [&] {
      if (by_region) {
        EXPECT_EQ(s.k.close(in), status::ok);
      } else {
        ch.rx.drop();
        ch.tx.drop();
      }
      EXPECT_NE(ch.tx.try_send(parting(50, f)).code, status::reentrant);
      EXPECT_TRUE(s.events(event_kind::channel_freed).empty()) << "its memory is still in use";
    };
    evict_in_vain(ch.tx, f, deed);
    EXPECT_EQ(s.events(event_kind::channel_freed).size(), 1U);
    EXPECT_EQ(f.alive, 0);
  }
}

TEST(channel_exceptions, r240_a_move_that_fails_out_of_a_receive_leaves_the_message_queued) {
  fuse f;
  puppet_stage s;
  auto ch = open_channel<bomb>(s, 2);
  puppet& a = s.task();
  EXPECT_EQ(ch.tx.try_send(bomb(1, f)).code, status::ok);
  EXPECT_EQ(ch.tx.try_send(bomb(2, f)).code, status::ok);
  EXPECT_GE(fail_every_move(f, ch.tx,
                            [&] {
                              const auto got = ch.rx.try_recv();
                              ASSERT_TRUE(got.value.has_value());
                              EXPECT_EQ(got.value->number(), 1);
                            }),
            1);
  s.act(a, [&](cx& c) {
    EXPECT_GE(fail_every_move(f, ch.tx,
                              [&] {
                                const auto got = ch.rx.poll_recv(c);
                                ASSERT_TRUE(got.value.has_value());
                                EXPECT_EQ(got.value->number(), 2);
                              }),
              1);
  });
  EXPECT_EQ(f.alive, 0);
}

TEST(channel_exceptions, r240_a_tracked_send_that_fails_keeps_its_obligation) {
  fuse f;
  puppet_stage s;
  auto ch = open_channel<bomb>(s, 1);
  tracked_sender<bomb> tracked(ch.tx);
  tracked_permit<bomb> permit;
  EXPECT_EQ(tracked.try_reserve(s.rt.root(), permit), status::ok);
  const obligation_handle o = permit.obligation();
  EXPECT_GE(fail_every_move(f, ch.tx,
                            [&] {
                              EXPECT_EQ(s.state_of(o), obligation_state::reserved);
                              EXPECT_EQ(permit.send(bomb(1, f)).code, status::ok);
                            }),
            1);
  EXPECT_EQ(s.state_of(o), obligation_state::committed);
}

TEST(channel_exceptions, r236_a_tracked_permit_that_an_exception_unwinds_is_aborted) {
  puppet_stage s;
  auto ch = open_channel<int>(s, 1);
  tracked_sender<int> tracked(ch.tx);
  puppet& a = s.task();
  obligation_handle o;
  s.act(a, [&](cx&) {
    tracked_permit<int> permit;
    EXPECT_EQ(tracked.try_reserve(permit), status::ok);
    o = permit.obligation();
    throw std::runtime_error("no such order");
  });
  ASSERT_TRUE(s.result(a).is_panicked());
  EXPECT_EQ(s.result(a).panic().text, "no such order");
  EXPECT_EQ(s.state_of(o), obligation_state::aborted);
  EXPECT_EQ(look(ch.tx).reserved, 0U);
  EXPECT_TRUE(s.fatals.empty());
}

}  // namespace
}  // namespace asx

#endif
