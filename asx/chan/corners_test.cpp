// asx/chan/corners_test.cpp - the corners in which channels of other runtimes broke, each as a test of its own.
//
//     a value lost when its send is cancelled            a slot that returns, and nobody is woken
//     a value lost when the receiver is gone             a held permit that stalls everybody else
//
// and values with a will of their own: whose destructors call back, that cannot be copied, made or placed anyhow.
// Values whose moves fail are in corners_exception_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/chan/testing/puppets.hpp"

namespace asx {
namespace {

using testing::attempt;
using testing::drain;
using testing::fill;
using testing::guest;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::poll_recv;
using testing::poll_reserve;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::roll;
using testing::told_wake;
using testing::told_wakes;
using testing::tracked_attempt;

// ---- a value is never lost ----------------------------------------------------------------------------------------

TEST(channel_corners, a_value_whose_send_is_cancelled_stays_with_its_sender) {
  roll book;
  puppet_stage s;
  auto ch = open_channel<guest>(s, 1);
  EXPECT_EQ(ch.tx.try_send(guest(1, book)).code, status::ok);
  puppet& a = s.task();
  puppet& b = s.task();
  guest mine(2, book);  // In hand until there is a permit: a reserve takes no value.
  attempt<guest> tries, behind;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, tries), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, behind), status::would_block);
  EXPECT_EQ(ch.rx.try_recv().code, status::ok);
  EXPECT_TRUE(s.is_woken(a)) << "the slot is a's, and the cancel comes before the poll that would take it";
  EXPECT_EQ(s.k.request_cancel(a.handle), status::ok);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, tries), status::cancelled);
  EXPECT_EQ(book.alive, 1U);
  EXPECT_EQ(mine.number(), 2);
  EXPECT_EQ(look(ch.tx).queued + look(ch.tx).reserved, 0U);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, behind), status::ok) << "and the slot is passed on";
  EXPECT_EQ(behind.permit.send(std::move(mine)).code, status::ok);
  EXPECT_EQ(ch.rx.try_recv().value->number(), 2);
}

TEST(channel_corners, a_cancel_between_reserve_and_send_loses_nothing_either_way) {
  roll book;
  for (const bool sends : {true, false}) {
    puppet_stage s;
    auto ch = open_channel<guest>(s, 1);
    puppet& a = s.task();
    attempt<guest> tries;
    std::optional<guest> mine(std::in_place, 1, book);
    EXPECT_EQ(poll_reserve(s, a, ch.tx, tries), status::ok);
    s.cancel(a);
    s.finish(a, poll_result::ready, [&](cx&) {
      if (!sends) return;
      EXPECT_EQ(tries.permit.send(std::move(*mine)).code, status::ok) << "a send is no cancel point";
    });
    EXPECT_EQ(book.alive, 1U);
    EXPECT_EQ(look(ch.tx).queued, sends ? 1U : 0U);
    EXPECT_EQ(look(ch.tx).reserved, 0U);
    if (!sends) continue;
    EXPECT_EQ(ch.rx.try_recv().value->number(), 1) << "what was committed is delivered";
  }
  EXPECT_EQ(book.alive, 0U);
}

TEST(channel_corners, every_send_to_a_receiver_that_is_gone_hands_the_same_value_back) {
  roll book;
  {
    puppet_stage s;
    auto ch = open_channel<guest>(s, 3);
    tracked_sender<guest> tracked(ch.tx);
    send_permit<guest> first = must_reserve(ch.tx);
    send_permit<guest> second = must_reserve(ch.tx);
    tracked_permit<guest> third;
    EXPECT_EQ(tracked.try_reserve(s.rt.root(), third), status::ok);
    ch.rx.drop();
    const auto comes_back = [&](status code, const std::optional<guest>& value, int number) {
      EXPECT_EQ(code, status::disconnected);
      ASSERT_TRUE(value.has_value());
      EXPECT_EQ(value->number(), number);
      EXPECT_EQ(book.alive, 1U);
    };
    {
      const auto r = first.send(guest(1, book));
      comes_back(r.code, r.value, 1);
    }
    {
      const auto r = second.try_send(guest(2, book));
      comes_back(r.code, r.value, 2);
    }
    {
      const auto r = third.send(guest(3, book));
      comes_back(r.code, r.value, 3);
    }
    {
      const auto r = ch.tx.try_send(guest(4, book));
      comes_back(r.code, r.value, 4);
    }
    {
      const auto r = ch.tx.send_evict_oldest(guest(5, book));
      comes_back(r.code, r.value, 5);
      EXPECT_FALSE(r.evicted.has_value());
    }
    EXPECT_EQ(look(ch.tx).reserved + look(ch.tx).queued, 0U);
  }
  EXPECT_EQ(book.died, (std::vector<int>{1, 2, 3, 4, 5}));
}

// ---- a slot that returns wakes --------------------------------------------------------------------------------------

/// One slot; `holder` has it or `quitter` waits for it, and `heir` waits behind.
struct scene {
  explicit scene(const runtime_config& config) : s(config) {}

  /// The head was told of a free slot and has not taken it yet.
  void free_before_quitter() {
    EXPECT_EQ(poll_reserve(s, quitter, other, front), status::would_block);
    EXPECT_EQ(poll_reserve(s, heir, ch.tx, behind), status::would_block);
    host.abort();
    EXPECT_TRUE(s.is_woken(quitter));
    EXPECT_FALSE(s.is_woken(heir));
  }
  /// The holder's permit is all that the heir waits for.
  void hold() {
    host.abort();
    EXPECT_EQ(poll_reserve(s, holder, ch.tx, held), status::ok);
    EXPECT_EQ(poll_reserve(s, heir, ch.tx, behind), status::would_block);
  }
  /// A message is all that the heir waits for.
  void queue() {
    EXPECT_EQ(host.send(1).code, status::ok);
    EXPECT_EQ(poll_reserve(s, heir, ch.tx, behind), status::would_block);
  }

  puppet_stage s;
  region_handle home = s.region();
  puppet& holder = s.task(home);
  puppet& quitter = s.task(home);
  puppet& heir = s.task();
  channel_ends<int> ch = open_channel(s, 1);
  sender<int> other = ch.tx;
  send_permit<int> host = must_reserve(ch.tx);
  attempt<> held, front, behind;
};

struct way {
  std::string_view name;
  void (*arrange)(scene&);
  void (*act)(scene&);
  std::uint32_t max_obligations = 64;
};

constexpr auto hold = [](scene& at) { at.hold(); };
constexpr auto queue = [](scene& at) { at.queue(); };
constexpr auto free_slot = [](scene& at) { at.free_before_quitter(); };

const way ways[] = {
    {"abort", hold, [](scene& at) { at.held.permit.abort(); }},
    {"drop of the permit", hold, [](scene& at) { send_permit<int> gone(std::move(at.held.permit)); }},
    {"overwritten permit", hold, [](scene& at) { at.held.permit = send_permit<int>(); }},
    {"end of the holder", hold, [](scene& at) { at.s.finish(at.holder); }},
    {"error of the holder", hold, [](scene& at) { at.s.finish(at.holder, poll_result::error); }},
    {"panic of the holder", hold, [](scene& at) { at.s.act(at.holder, [](cx& c) { c.panic("gone"); }); }},
    {"end of the holder from outside", hold,
     [](scene& at) { EXPECT_EQ(at.s.k.complete(at.holder.handle, task_outcome::err({})), status::ok); }},
    {"cancel of the holder", hold,
     [](scene& at) {
       at.s.cancel(at.holder);
       at.s.finish(at.holder);
     }},
    {"overrun of the holder", hold,
     [](scene& at) {
       EXPECT_EQ(at.s.k.request_cancel(at.holder.handle, {cancel_kind::shutdown, {}}), status::ok);
       at.s.rt.run_until_idle();
       EXPECT_TRUE(at.s.result(at.holder).is_cancelled());
     }},
    {"close of the holder's region", hold,
     [](scene& at) {
       EXPECT_EQ(at.s.k.close(at.home, {cancel_kind::shutdown, {}}), status::ok);
       at.s.rt.run_until_idle();
       EXPECT_EQ(at.s.report(at.home).state, region_state::closed);
     }},
    {"recv", queue, [](scene& at) { EXPECT_EQ(poll_recv(at.s, at.holder, at.ch.rx), status::ok); }},
    {"try_recv", queue, [](scene& at) { EXPECT_EQ(at.ch.rx.try_recv().value, 1); }},
    {"try_recv after an eviction", queue,
     [](scene& at) {
       EXPECT_EQ(at.ch.tx.send_evict_oldest(2).evicted, 1);
       EXPECT_FALSE(at.s.is_woken(at.heir)) << "an eviction frees nothing";
       EXPECT_EQ(at.ch.rx.try_recv().value, 2);
     }},
    {"cancelled waiter", free_slot,
     [](scene& at) {
       EXPECT_EQ(at.s.k.request_cancel(at.quitter.handle), status::ok);
       EXPECT_EQ(poll_reserve(at.s, at.quitter, at.other, at.front), status::cancelled);
     }},
    {"destroyed waiter", free_slot, [](scene& at) { reserve_wait gone(std::move(at.front.wait)); }},
    {"overwritten waiter", free_slot, [](scene& at) { at.front.wait = reserve_wait(); }},
    {"waiter that leaves", free_slot, [](scene& at) { at.front.wait.leave(); }},
    {"waiter that goes to another channel", free_slot,
     [](scene& at) {
       auto far = open_channel(at.s, 1);
       EXPECT_EQ(poll_reserve(at.s, at.quitter, far.tx, at.front), status::ok);
       at.front.permit.abort();
     }},
    {"waiter that goes to another sender", free_slot,
     [](scene& at) {
       EXPECT_EQ(poll_reserve(at.s, at.quitter, at.ch.tx, at.front), status::would_block);
       EXPECT_EQ(look(at.ch.tx).first_waiter, at.behind.wait.id());
     }},
    {"dropped sender of the waiter", free_slot, [](scene& at) { at.other.drop(); }},
    {"assigned sender of the waiter", free_slot, [](scene& at) { at.other = sender<int>(); }},
    {"end of the waiter's task", free_slot, [](scene& at) { at.s.finish(at.quitter); }},
    {"overrun of the waiter's task", free_slot,
     [](scene& at) {
       EXPECT_EQ(at.s.k.request_cancel(at.quitter.handle, {cancel_kind::shutdown, {}}), status::ok);
       at.s.rt.run_until_idle();
       EXPECT_TRUE(at.s.result(at.quitter).is_cancelled());
     }},
    {"close of the region of the waiter's task", free_slot,
     [](scene& at) {
       EXPECT_EQ(at.s.k.close(at.home, {cancel_kind::shutdown, {}}), status::ok);
       at.s.rt.run_until_idle();
     }},
    {"end of the waiter's task from outside", free_slot,
     [](scene& at) { EXPECT_EQ(at.s.k.complete(at.quitter.handle, task_outcome::err({})), status::ok); }},
    {"tracked claim beyond max_obligations",
     [](scene& at) {
       tracked_sender<int> tracked(at.other);
       tracked_attempt<> claim;
       EXPECT_EQ(poll_reserve(at.s, at.quitter, tracked, claim), status::would_block);
       EXPECT_EQ(poll_reserve(at.s, at.heir, at.ch.tx, at.behind), status::would_block);
       at.host.abort();
       EXPECT_FALSE(at.s.is_woken(at.heir));
       EXPECT_EQ(poll_reserve(at.s, at.quitter, tracked, claim), status::resource_exhausted);
       EXPECT_FALSE(claim.wait.is_waiting());
       EXPECT_FALSE(claim.permit.is_held());
     },
     [](scene&) {}, 0},
    {"tracked abort",
     [](scene& at) {
       at.host.abort();
       tracked_sender<int> tracked(at.other);
       tracked_permit<int> mine;
       at.s.act(at.holder, [&](cx&) { EXPECT_EQ(tracked.try_reserve(mine), status::ok); });
       EXPECT_EQ(poll_reserve(at.s, at.heir, at.ch.tx, at.behind), status::would_block);
       EXPECT_TRUE(mine.abort().has_value());
     },
     [](scene&) {}},
    {"tracked leak",
     [](scene& at) {
       at.host.abort();
       tracked_sender<int> tracked(at.other);
       std::optional<tracked_permit<int>> mine(std::in_place);
       at.s.act(at.holder, [&](cx&) { EXPECT_EQ(tracked.try_reserve(*mine), status::ok); });
       EXPECT_EQ(poll_reserve(at.s, at.heir, at.ch.tx, at.behind), status::would_block);
       at.s.act(at.holder, [&](cx&) { mine.reset(); });
     },
     [](scene&) {}},
};

TEST(channel_corners, a_slot_wakes_the_next_waiter_whichever_way_it_returns) {
  for (const way& w : ways) {
    SCOPED_TRACE(w.name);
    runtime_config config = puppet_config();
    config.contract.max_obligations = w.max_obligations;
    scene at(config);
    w.arrange(at);
    w.act(at);
    const told_wakes all = at.s.wakes(0);
    EXPECT_EQ(std::count(all.begin(), all.end(), told_wake{at.heir.number, wake_code::slot}), 1);
    EXPECT_EQ(look(at.ch.tx).first_waiter, at.behind.wait.id());
    EXPECT_EQ(poll_reserve(at.s, at.heir, at.ch.tx, at.behind), status::ok);
    EXPECT_EQ(look(at.ch.tx).reserved, 1U);
  }
}

// ---- a held permit ------------------------------------------------------------------------------------------------

TEST(channel_corners, a_held_permit_takes_one_slot_and_stalls_nobody) {
  puppet_stage s;
  const region_handle home = s.region();
  auto ch = open_channel(s, 2);
  puppet& sleeper = s.task(home);
  puppet& writer = s.task();
  puppet& reader = s.task();
  attempt<> held;
  EXPECT_EQ(poll_reserve(s, sleeper, ch.tx, held), status::ok);
  for (int i = 0; i < 100; ++i) {
    attempt<> mine;
    ASSERT_EQ(poll_reserve(s, writer, ch.tx, mine), status::ok);
    ASSERT_EQ(mine.permit.send(i).code, status::ok);
    std::optional<int> got;
    ASSERT_EQ(poll_recv(s, reader, ch.rx, &got), status::ok);
    ASSERT_EQ(got, i) << "a message does not wait for one that was reserved before it";
  }
  EXPECT_TRUE(held.permit.is_held());
  EXPECT_EQ(s.k.close(home), status::ok);
  s.rt.run_until_idle();
  EXPECT_EQ(s.report(home).state, region_state::closed) << "a permit holds no region open";
  EXPECT_FALSE(held.permit.is_held());
  fill(ch.tx, {1, 2});
}

TEST(channel_corners, a_held_permit_does_not_keep_the_channels_region_open) {
  puppet_stage s;
  const region_handle owner = s.region();
  auto ch = open_channel(s, owner, 1);
  puppet& a = s.task();
  attempt<> held;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, held), status::ok);
  EXPECT_EQ(s.k.close(owner), status::ok);
  EXPECT_EQ(s.report(owner).state, region_state::closed);
  EXPECT_FALSE(held.permit.is_held());
  s.finish(a);
  EXPECT_EQ(s.count(event_kind::permit_aborted), 1U) << "the end of its task has nothing left to abort";
}

TEST(channel_corners, a_receiver_moved_while_a_wake_is_pending_loses_no_message) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  puppet& a = s.task();
  puppet& b = s.task();
  EXPECT_EQ(poll_recv(s, a, ch.rx), status::would_block);
  fill(ch.tx, {1});
  EXPECT_TRUE(s.is_woken(a));
  receiver<int> moved = std::move(ch.rx);
  std::optional<int> got;
  EXPECT_EQ(poll_recv(s, b, moved, &got), status::ok) << "a runs first, and finds that it has nothing to receive from";
  EXPECT_EQ(got, 1);
  EXPECT_EQ(poll_recv(s, b, moved), status::would_block);
  const std::uint64_t mark = s.mark();
  fill(ch.tx, {2});
  EXPECT_EQ(s.wakes(mark), (told_wakes{{b.number, wake_code::message}}));
}

// ---- values with a will of their own ------------------------------------------------------------------------------

/// Does something when it dies. Cannot be copied, assigned or made from nothing.
struct talker {
  explicit talker(std::function<void()> words) : at_end(std::move(words)) {}
  talker(talker&& from) noexcept : at_end(std::exchange(from.at_end, nullptr)) {}
  talker& operator=(talker&&) = delete;
  ~talker() {
    if (at_end) at_end();
  }
  std::function<void()> at_end;
};

TEST(channel_corners, a_destructor_may_send_on_the_channel_that_its_value_came_from) {
  puppet_stage s;
  auto ch = open_channel<talker>(s, 1);
  int echoes = 0;
  EXPECT_EQ(ch.tx.try_send(talker([&] { EXPECT_EQ(ch.tx.try_send(talker([&] { ++echoes; })).code, status::ok); })).code,
            status::ok);
  EXPECT_EQ(ch.rx.try_recv().code, status::ok);
  EXPECT_EQ(look(ch.tx).queued, 1U) << "the received one died, and its echo is queued";
  EXPECT_EQ(ch.rx.try_recv().code, status::ok);
  EXPECT_EQ(echoes, 1);
  EXPECT_EQ(look(ch.tx).queued, 0U);

  status seen = status::ok;
  EXPECT_EQ(ch.tx.try_send(talker([&] { seen = ch.tx.try_send(talker([] {})).code; })).code, status::ok);
  ch.rx.drop();
  EXPECT_EQ(seen, status::disconnected);
}

TEST(channel_corners, a_destructor_may_drop_the_other_end) {
  puppet_stage s;
  const std::uint64_t bytes = s.k.nominal_used();
  {
    auto ch = open_channel<talker>(s, 2);
    EXPECT_EQ(ch.tx.try_send(talker([&] { ch.tx.drop(); })).code, status::ok);
    EXPECT_EQ(ch.tx.try_send(talker([&] { EXPECT_FALSE(ch.tx.is_live()); })).code, status::ok);
    ch.rx.drop();  // The last sender goes while the queue is being destroyed.
    EXPECT_EQ(s.k.nominal_used(), bytes);
  }
  auto ch = open_channel<talker>(s, 1);
  EXPECT_EQ(ch.tx.try_send(talker([&] { ch.rx.drop(); })).code, status::ok);
  EXPECT_TRUE(ch.tx.send_evict_oldest(talker([] {})).evicted.has_value());
  EXPECT_FALSE(ch.rx.is_live()) << "the evicted one took the receiver with it";
  EXPECT_EQ(look(ch.tx).counts.discarded, 1U);
}

TEST(channel_corners, a_value_may_own_the_channel_that_it_lies_in) {
  struct letter {
    sender<letter> back;
    send_permit<letter> slot;
  };
  puppet_stage s;
  const std::uint64_t bytes = s.k.nominal_used();
  auto ch = open_channel<letter>(s, 3);
  EXPECT_EQ(ch.tx.try_send(letter{ch.tx, must_reserve(ch.tx)}).code, status::ok);
  EXPECT_EQ(look(ch.rx).senders, 2U);
  EXPECT_EQ(look(ch.rx).reserved, 1U);
  ch.tx.drop();
  ch.rx.drop();
  EXPECT_EQ(s.k.nominal_used(), bytes) << "its sender and its permit died with it, and the channel with them";
  EXPECT_EQ(s.count(event_kind::channel_freed), 1U);
}

TEST(channel_corners, a_destructor_may_use_the_kernel_while_a_region_takes_its_channel_down) {
  puppet_stage s;
  const region_handle owner = s.region();
  auto ch = open_channel<talker>(s, owner, 1);
  channel_ends<int> made{};
  EXPECT_EQ(ch.tx
                .try_send(talker([&] {
                  EXPECT_EQ(ch.tx.try_send(talker([] {})).code, status::disconnected);
                  ch.tx.drop();
                  ch.rx.drop();
                  made = channel<int>(s.k, s.rt.root(), 1);
                  EXPECT_EQ(made.code, status::ok);
                }))
                .code,
            status::ok);
  EXPECT_EQ(s.k.close(owner), status::ok);
  EXPECT_EQ(s.report(owner).state, region_state::closed);
  fill(made.tx, {1});
  EXPECT_EQ(drain(made.rx), (std::vector<int>{1}));
}

TEST(channel_corners, over_aligned_values_lie_where_they_must) {
  struct alignas(64) wide {
    explicit wide(std::vector<int>& wrong) : wrong_(&wrong) { look_at(); }
    wide(wide&& from) noexcept : wrong_(from.wrong_) { look_at(); }
    wide& operator=(wide&&) = delete;
    ~wide() { look_at(); }
    void look_at() const {
      if (reinterpret_cast<std::uintptr_t>(this) % 64 != 0) wrong_->push_back(1);
    }
    std::vector<int>* wrong_;
    char rest[70] = {};
  };
  std::vector<int> wrong;
  puppet_stage s;
  for (const std::uint32_t capacity : {1U, 3U, 5U}) {
    auto ch = open_channel<wide>(s, capacity);
    for (std::uint32_t i = 0; i < capacity; ++i) EXPECT_EQ(ch.tx.try_send(wide(wrong)).code, status::ok);
    EXPECT_EQ(ch.rx.try_recv().code, status::ok);
    EXPECT_EQ(ch.tx.send_evict_oldest(wide(wrong)).code, status::ok);
  }
  EXPECT_TRUE(wrong.empty());
}

TEST(channel_corners, values_that_only_move_arrive_as_they_were) {
  puppet_stage s;
  auto ch = open_channel<std::unique_ptr<std::string>>(s, 2);
  puppet& a = s.task();
  auto text = std::make_unique<std::string>("one");
  const std::string* const address = text.get();
  attempt<std::unique_ptr<std::string>> mine;
  EXPECT_EQ(poll_reserve(s, a, ch.tx, mine), status::ok);
  EXPECT_EQ(mine.permit.send(std::move(text)).code, status::ok);
  std::optional<std::unique_ptr<std::string>> got;
  EXPECT_EQ(poll_recv(s, a, ch.rx, &got), status::ok);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->get(), address);
  EXPECT_EQ(ch.tx.try_send(std::make_unique<std::string>("two")).code, status::ok);
  ch.rx.drop();
  const auto back = ch.tx.try_send(std::move(*got));
  ASSERT_TRUE(back.value.has_value());
  EXPECT_EQ(back.value->get(), address);
}

}  // namespace
}  // namespace asx
