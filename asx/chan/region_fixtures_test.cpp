// asx/chan/region_fixtures_test.cpp - the catalogue's fixtures in which a channel meets limits, obligations, regions
// and the end of a runtime. One test for each id; the others are in fixtures_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing.hpp"
#include "asx/chan/testing/puppets.hpp"

namespace asx {
namespace {

using testing::attempt;
using testing::counting_memory;
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
using testing::tracked_attempt;

// ---- limits -------------------------------------------------------------------------------------------------------

/// Refused with resource_exhausted, told by one event that names the limit, and nothing changed (FB-103, R-139).
template <class Call>
void expect_exhausted(puppet_stage& s, event_kind kind, limit_code limit, Call call) {
  const std::uint64_t hash = s.k.state_hash();
  const std::uint64_t bytes = s.k.nominal_used();
  const std::uint64_t mark = s.mark();
  EXPECT_EQ(call(), status::resource_exhausted);
  EXPECT_EQ(s.k.state_hash(), hash);
  EXPECT_EQ(s.k.nominal_used(), bytes);
  const std::vector<event> told = s.events(mark);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, kind);
  EXPECT_EQ(low_half(told[0].a), static_cast<std::uint32_t>(status::resource_exhausted));
  EXPECT_EQ(high_half(told[0].a), static_cast<std::uint32_t>(limit));
}
status create(puppet_stage& s, std::uint32_t capacity) {
  const channel_ends<int> ends = channel<int>(s.k, s.rt.root(), capacity);
  EXPECT_EQ(ends.tx.is_live() && ends.rx.is_live(), ends.code == status::ok);
  return ends.code;
}

// Goal:   each ceiling of a channel refuses whole, with one code, at the same call every time.
// Method: channels, bytes, memory and waiters one short, then with room again..
TEST(fixtures, ch_exhaustion_001) {
  {
    runtime_config config = puppet_config();
    config.contract.max_channels = 2;
    puppet_stage s(config);
    auto first = open_channel(s, 1);
    auto second = open_channel(s, 1);
    expect_exhausted(s, event_kind::refused_channel, limit_code::channels, [&] { return create(s, 1); });
    first = {};
    EXPECT_EQ(create(s, 1), status::ok);
  }
  {
    runtime_config config = puppet_config();
    {
      puppet_stage s(config);
      config.contract.max_bytes = s.k.nominal_used() + 256 + 2 * 128;
    }
    puppet_stage s(config);
    expect_exhausted(s, event_kind::refused_channel, limit_code::memory, [&] { return create(s, 3); });
    EXPECT_EQ(create(s, 2), status::ok);
  }
  {
    counting_memory memory;
    runtime_config config = puppet_config();
    config.memory = memory.port();
    puppet_stage s(config);
    memory.refuse_from = memory.requests();
    expect_exhausted(s, event_kind::refused_channel, limit_code::memory, [&] { return create(s, 64); });
    memory.refuse_from = counting_memory::never;
    EXPECT_EQ(create(s, 64), status::ok);
  }
  {
    runtime_config config = puppet_config();
    config.contract.max_channel_waiters = 1;
    puppet_stage s(config);
    auto ch = open_channel(s, 1);
    fill(ch.tx, {1});
    puppet& a = s.task();
    puppet& b = s.task();
    attempt<> first, second;
    EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
    s.act(b, [&](cx& c) {
      expect_exhausted(s, event_kind::refused_slot, limit_code::channel_waiters,
                       [&] { return ch.tx.poll_reserve(c, second.wait, second.permit); });
    });
    EXPECT_FALSE(second.wait.is_waiting());
    EXPECT_EQ(look(ch.tx).waiters, 1U);
    EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block) << "who waits already keeps its place";
    first.wait.leave();
    EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  }
}

// Goal:   a permit is resolved once; the second time a send hands the value back and an abort does nothing.
// Method: the four pairs, with a moved-from permit behaving like a resolved one; a monitor sees each. R-66.
TEST(fixtures, ch_linearity_001) {
  runtime_config config = puppet_config();
  config.behaviour.ghosts = ghost_mode::on;
  puppet_stage s(config);
  auto ch = open_channel(s, 4);
  for (const bool sends_first : {true, false}) {
    for (const bool sends_then : {true, false}) {
      SCOPED_TRACE(std::string(sends_first ? "send" : "abort") + (sends_then ? ", send" : ", abort"));
      send_permit<int> permit = must_reserve(ch.tx);
      if (sends_first) {
        EXPECT_EQ(permit.send(1).code, status::ok);
      } else {
        permit.abort();
      }
      const channel_report before = look(ch.tx);
      const std::uint64_t seen = s.k.ghosts().violations();
      const std::uint64_t mark = s.mark();
      if (sends_then) {
        const auto again = permit.send(2);
        EXPECT_EQ(again.code, status::obligation_already_resolved);
        EXPECT_EQ(again.value, 2);
      } else {
        permit.abort();
      }
      EXPECT_EQ(s.k.ghosts().violations(), seen + 1);
      EXPECT_TRUE(s.events(mark).empty());
      const channel_report after = look(ch.tx);
      EXPECT_EQ(after.queued, before.queued);
      EXPECT_EQ(after.reserved, before.reserved);
      EXPECT_EQ(after.counts.aborted, before.counts.aborted);
      EXPECT_EQ(after.counts.sent, before.counts.sent);
    }
  }
  EXPECT_EQ(drain(ch.rx), (std::vector<int>{1, 1}));
}

// Goal:   queued plus reserved never exceeds the capacity, over any sequence of operations; and each answer is the one
//         that six counters foretell.
// Method: every sequence of four of eleven operations for three capacities, then long random ones. INV-CH-01, R-234.
class foretold {
 public:
  foretold(cx& c, puppet_stage& s, std::uint32_t capacity)
      : c_(c), capacity_(capacity), ends_(open_channel(s, capacity)) {}

  static constexpr std::uint64_t kinds = 11;
  void play(std::uint64_t what) {
    const bool has_room = queued_ + held_.size() < capacity_;
    const status free = has_room && line_.empty() ? status::ok : status::full;
    switch (what) {
      case 0: {
        send_permit<int> p;
        EXPECT_EQ(ends_.tx.try_reserve(p), free);
        if (free == status::ok) held_.push_back(std::move(p));
        break;
      }
      case 1:
      case 2:
        if (held_.empty()) return;
        std::swap(held_.back(), what == 1 ? held_.front() : held_.back());
        EXPECT_EQ(held_.back().send(1).code, status::ok);
        held_.pop_back();
        ++queued_;
        break;
      case 3:
        if (held_.empty()) return;
        held_.back().abort();
        held_.pop_back();
        break;
      case 4:
        if (!held_.empty()) held_.erase(held_.begin());
        break;
      case 5:
        EXPECT_EQ(ends_.rx.try_recv().code, queued_ == 0 ? status::empty : status::ok);
        queued_ -= queued_ == 0 ? 0 : 1;
        break;
      case 6:
        EXPECT_EQ(ends_.tx.try_send(1).code, free);
        queued_ += free == status::ok ? 1 : 0;
        break;
      case 7: {
        const auto sent = ends_.tx.send_evict_oldest(1);
        EXPECT_EQ(sent.code, free == status::full && queued_ == 0 ? status::full : status::ok);
        EXPECT_EQ(sent.evicted.has_value(), free == status::full && queued_ != 0);
        queued_ += free == status::ok ? 1 : 0;
        break;
      }
      case 8:
      case 9: wait(static_cast<std::size_t>(what - 8), has_room); break;
      default:
        waits_[0].leave();
        line_.erase(std::remove(line_.begin(), line_.end(), 0U), line_.end());
        break;
    }
    const channel_report r = look(ends_.tx);
    EXPECT_EQ(r.queued, queued_);
    EXPECT_EQ(r.reserved, held_.size());
    EXPECT_EQ(r.waiters, line_.size());
    EXPECT_EQ(r.first_waiter, line_.empty() ? 0 : waits_[line_.front()].id());
  }

 private:
  void wait(std::size_t who, bool has_room) {
    const bool is_head = line_.empty() || line_.front() == who;
    send_permit<int> p;
    const status s = ends_.tx.poll_reserve(c_, waits_[who], p);
    EXPECT_EQ(s, has_room && is_head ? status::ok : status::would_block);
    const auto place = std::find(line_.begin(), line_.end(), who);
    if (s == status::ok) {
      if (place != line_.end()) line_.erase(place);
      held_.push_back(std::move(p));
    } else if (place == line_.end()) {
      line_.push_back(who);
    }
  }

  cx& c_;
  std::size_t capacity_;
  channel_ends<int> ends_;
  std::array<reserve_wait, 2> waits_;
  std::vector<send_permit<int>> held_;
  std::vector<std::size_t> line_;
  std::size_t queued_ = 0;
};

TEST(fixtures, ch_capacity_invariant_001) {
  puppet_stage s;
  puppet& a = s.task();
  s.act(a, [&](cx& c) {
    constexpr std::uint64_t n = foretold::kinds;
    for (std::uint32_t capacity = 1; capacity <= 3; ++capacity) {
      for (std::uint64_t plan = 0; plan < n * n * n * n; ++plan) {
        SCOPED_TRACE("capacity " + std::to_string(capacity) + ", plan " + std::to_string(plan));
        foretold channel(c, s, capacity);
        std::uint64_t rest = plan;
        for (int i = 0; i < 4; ++i, rest /= n) channel.play(rest % n);
        if (::testing::Test::HasFailure()) return;
      }
      splitmix64 random(capacity);
      for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE("capacity " + std::to_string(capacity) + ", round " + std::to_string(round));
        foretold channel(c, s, capacity);
        for (int i = 0; i < 200; ++i) channel.play(random.next_below(n));
        if (::testing::Test::HasFailure()) return;
      }
    }
  });
}

// Goal:   a channel without slots is fatal: the task that asks for one ends panicked, outside of tasks the hook is
//         called; no channel exists.
// Method: asked for by a task and by the host; events and bytes are looked at. R-73.
TEST(fixtures, ch_capacity_zero_panic_001) {
  puppet_stage s;
  puppet& a = s.task();
  const std::uint64_t bytes = s.k.nominal_used();
  s.act(a, [](cx& c) {
    const auto ch = channel<int>(c, 0);
    EXPECT_EQ(ch.code, status::invalid_argument);
    EXPECT_FALSE(ch.tx.is_live() || ch.rx.is_live());
  });
  EXPECT_TRUE(s.result(a).is_panicked());
  EXPECT_TRUE(s.fatals.empty());
  const auto ch = channel<int>(s.k, s.rt.root(), 0);
  EXPECT_EQ(ch.code, status::invalid_argument);
  EXPECT_FALSE(ch.tx.is_live() || ch.rx.is_live());
  EXPECT_EQ(s.fatals.size(), 1U);
  EXPECT_EQ(s.count(event_kind::channel_created), 0U);
  EXPECT_EQ(s.k.nominal_used(), bytes);
}

// ---- tracked permits ----------------------------------------------------------------------------------------------

// Goal:   a tracked permit that is dropped unresolved panics its task; the slot returns, the obligation stays reserved
//         until its region ends, and is leaked then.
// Method: one slot, a waiter behind; the drop happens in a poll of the task that reserved. INV-CH-10, R-32.
TEST(fixtures, ch_obligation_leak_001) {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, 1);
  tracked_sender<int> tx(ch.tx);
  puppet& a = s.task(r);
  puppet& next = s.task();
  attempt<> behind;
  obligation_handle o;
  std::optional<tracked_permit<int>> permit(std::in_place);
  s.act(a, [&](cx&) {
    EXPECT_EQ(tx.try_reserve(*permit), status::ok);
    o = permit->obligation();
  });
  EXPECT_EQ(poll_reserve(s, next, ch.tx, behind), status::would_block);
  s.act(a, [&](cx&) { permit.reset(); });
  ASSERT_TRUE(s.result(a).is_panicked());
  EXPECT_EQ(s.result(a).panic().text, tracked_leak_message);
  EXPECT_EQ(look(ch.tx).reserved, 0U);
  EXPECT_EQ(poll_reserve(s, next, ch.tx, behind), status::ok);
  EXPECT_EQ(s.state_of(o), obligation_state::reserved);
  EXPECT_EQ(s.report(r).reserved, 1U);
  EXPECT_EQ(s.k.close(r), status::ok);
  EXPECT_EQ(s.state_of(o), obligation_state::leaked);
  EXPECT_EQ(s.report(r).leaked, 1U);
}

// Goal:   sending through a tracked permit commits its obligation and returns the proof.
// Method: a task reserves and sends; obligation, ledger and proof are looked at. 001 s9.9, R-128.
TEST(fixtures, ch_obligation_commit_001) {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, 1);
  tracked_sender<int> tx(ch.tx);
  puppet& a = s.task(r);
  tracked_attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, tx, mine), status::ok);
  const obligation_handle o = mine.permit.obligation();
  const std::uint64_t number = mine.permit.number();
  EXPECT_EQ(s.state_of(o), obligation_state::reserved);
  EXPECT_EQ(s.report(r).reserved, 1U);
  s.act(a, [&](cx&) {
    const auto sent = mine.permit.send(5);
    EXPECT_EQ(sent.code, status::ok);
    EXPECT_FALSE(sent.value.has_value());
    ASSERT_TRUE(sent.proof.has_value());
    EXPECT_EQ(sent.proof->channel(), look(ch.tx).id);
    EXPECT_EQ(sent.proof->permit(), number);
  });
  EXPECT_EQ(s.state_of(o), obligation_state::committed);
  EXPECT_EQ(s.report(r).reserved, 0U);
  EXPECT_EQ(drain(ch.rx), (std::vector<int>{5}));
}

// Goal:   aborting a tracked permit aborts its obligation and returns the proof, once.
// Method: a task reserves, and the permit is aborted twice. 001 s9.9, R-66.
TEST(fixtures, ch_obligation_abort_001) {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, 1);
  tracked_sender<int> tx(ch.tx);
  puppet& a = s.task(r);
  tracked_attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, tx, mine), status::ok);
  const obligation_handle o = mine.permit.obligation();
  const std::uint64_t number = mine.permit.number();
  const auto proof = mine.permit.abort();
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->channel(), look(ch.tx).id);
  EXPECT_EQ(proof->permit(), number);
  EXPECT_FALSE(mine.permit.abort().has_value()) << "there is one proof";
  EXPECT_EQ(s.state_of(o), obligation_state::aborted);
  EXPECT_EQ(s.report(r).reserved, 0U);
  EXPECT_EQ(look(ch.tx).reserved + look(ch.tx).queued, 0U);
}

// ---- integration --------------------------------------------------------------------------------------------------

// Goal:   a sender whose time runs out is cancelled, and its permit comes back; one that waits leaves the queue.
// Method: capacity 1; a holder and a waiter with deadlines, and an heir without; time passes..
TEST(fixtures, int_channel_cancel_001) {
  puppet_stage s;
  auto ch = open_channel(s, 1);
  const auto until = [](std::uint64_t ms) {
    budget b;
    b.deadline = instant{duration::milliseconds(ms).ns};
    return b;
  };
  puppet& holder = s.task(s.rt.root(), until(20));
  puppet& waiter = s.task(s.rt.root(), until(10));
  puppet& heir = s.task();
  attempt<> held, first, second;
  EXPECT_EQ(poll_reserve(s, holder, ch.tx, held), status::ok);
  EXPECT_EQ(poll_reserve(s, waiter, ch.tx, first), status::would_block);
  EXPECT_EQ(poll_reserve(s, heir, ch.tx, second), status::would_block);

  EXPECT_EQ(s.rt.advance(duration::milliseconds(10)), status::ok);
  EXPECT_EQ(poll_reserve(s, waiter, ch.tx, first), status::cancelled);
  EXPECT_EQ(look(ch.tx).waiters, 1U);
  EXPECT_EQ(look(ch.tx).first_waiter, second.wait.id());
  s.finish(waiter);
  EXPECT_TRUE(held.permit.is_held());

  EXPECT_EQ(s.rt.advance(duration::milliseconds(10)), status::ok);
  s.act(holder, [](cx& c) { EXPECT_EQ(c.checkpoint(), status::cancelled); });
  s.finish(holder);
  ASSERT_TRUE(s.result(holder).is_cancelled());
  EXPECT_EQ(s.result(holder).reason().kind, cancel_kind::deadline);
  EXPECT_FALSE(held.permit.is_held());
  EXPECT_EQ(held.permit.send(1).code, status::obligation_already_resolved);
  EXPECT_EQ(look(ch.tx).counts.aborted, 1U);
  EXPECT_TRUE(s.is_woken(heir));
  EXPECT_EQ(poll_reserve(s, heir, ch.tx, second), status::ok);
}

// Goal:   a region takes its channel down when it finalizes, not before: permits aborted in number order, senders told,
//         the queue emptied; endpoints elsewhere see disconnected, and stale handles once the slot is used again.
// Method: the channel of one region is used from a sibling; a task keeps the region draining for a while..
TEST(fixtures, int_channel_region_close_001) {
  roll book;
  puppet_stage s;
  const region_handle owner = s.region();
  const region_handle sibling = s.region();
  auto ch = open_channel<guest>(s, owner, 3);
  puppet& tenant = s.task(owner);
  puppet& holder = s.task(sibling);
  puppet& waiter = s.task(sibling);
  s.act(tenant, [](cx&) {});

  EXPECT_EQ(s.k.close(owner), status::ok);
  EXPECT_EQ(s.report(owner).state, region_state::draining);
  EXPECT_EQ(channel<int>(s.k, owner, 1).code, status::region_not_open);
  EXPECT_EQ(ch.tx.try_send(guest(1, book)).code, status::ok) << "draining leaves the channel alone";
  EXPECT_EQ(ch.tx.try_send(guest(2, book)).code, status::ok);
  EXPECT_EQ(ch.rx.try_recv().code, status::ok);
  attempt<guest> held, waiting;
  EXPECT_EQ(poll_reserve(s, holder, ch.tx, held), status::ok);
  send_permit<guest> host = must_reserve(ch.tx);
  EXPECT_EQ(poll_reserve(s, waiter, ch.tx, waiting), status::would_block);
  EXPECT_EQ(book.died, (std::vector<int>{1}));

  const std::uint64_t mark = s.mark();
  s.finish(tenant, poll_result::ready, [](cx& c) { EXPECT_EQ(c.checkpoint(), status::cancelled); });
  EXPECT_EQ(s.report(owner).state, region_state::closed);
  const std::vector<event> aborted = s.events(event_kind::permit_aborted, mark);
  ASSERT_EQ(aborted.size(), 2U);
  EXPECT_EQ(aborted[0].a, 3U) << "messages took the numbers 1 and 2";
  EXPECT_EQ(aborted[1].a, 4U);
  EXPECT_EQ(book.died, (std::vector<int>{1, 2}));
  EXPECT_EQ(s.count(event_kind::channel_freed, mark), 1U);

  channel_report none;
  EXPECT_EQ(ch.tx.inspect(none), status::disconnected);
  EXPECT_FALSE(held.permit.is_held());
  auto sent = held.permit.send(guest(3, book));
  EXPECT_EQ(sent.code, status::disconnected);
  EXPECT_TRUE(sent.value.has_value());
  EXPECT_EQ(host.send(guest(4, book)).code, status::disconnected);
  EXPECT_EQ(poll_reserve(s, waiter, ch.tx, waiting), status::disconnected);
  EXPECT_EQ(ch.tx.try_send(guest(5, book)).code, status::disconnected);
  EXPECT_EQ(ch.rx.try_recv().code, status::disconnected);

  auto next = open_channel(s, 1);
  EXPECT_EQ(ch.tx.try_send(guest(6, book)).code, status::stale_handle);
  EXPECT_EQ(ch.rx.try_recv().code, status::stale_handle);
  EXPECT_EQ(next.tx.try_send(1).code, status::ok) << "whoever has the slot now is not concerned";
}

/// One run that uses everything a channel has; its digest.
std::string replay() {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, 2);
  auto own = open_channel(s, r, 1);
  tracked_sender<int> tracked(own.tx);
  puppet& a = s.task(r);
  puppet& b = s.task(r);
  puppet& c = s.task();
  attempt<> first, second, third;
  tracked_attempt<> kept, given_back;
  EXPECT_EQ(poll_recv(s, c, ch.rx), status::would_block);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::ok);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::ok);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, third), status::would_block);
  EXPECT_EQ(second.permit.send(2).code, status::ok);
  EXPECT_EQ(first.permit.send(1).code, status::ok);
  EXPECT_EQ(poll_recv(s, c, ch.rx), status::ok);
  EXPECT_EQ(ch.tx.send_evict_oldest(3).evicted, 1);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, third), status::ok);
  third.permit.abort();
  {
    sender<int> clone = ch.tx;
    fill(clone, {4});
  }
  EXPECT_EQ(poll_reserve(s, a, tracked, kept), status::ok);
  EXPECT_EQ(poll_reserve(s, b, tracked, given_back), status::would_block);
  EXPECT_EQ(kept.permit.send(5).code, status::ok);
  EXPECT_EQ(own.rx.try_recv().value, 5);
  EXPECT_EQ(poll_reserve(s, b, tracked, given_back), status::ok);
  EXPECT_TRUE(given_back.permit.abort().has_value());
  EXPECT_EQ(poll_reserve(s, a, own.tx, first), status::ok);
  s.cancel(a);
  s.finish(a);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  EXPECT_EQ(s.k.close(r), status::ok);
  s.finish(b, poll_result::ready, [](cx& at) { EXPECT_EQ(at.checkpoint(), status::cancelled); });
  EXPECT_EQ(s.report(r).state, region_state::closed);
  EXPECT_EQ(own.tx.try_send(6).code, status::disconnected);
  ch.rx.drop();
  EXPECT_EQ(ch.tx.try_send(7).code, status::disconnected);
  ch.tx.drop();
  s.end();
  const auto hex = s.rt.journal().digest().hex();
  return {hex.begin(), hex.end()};
}

// Goal:   the same traffic leaves the same journal, on every machine. A change of the digest is a change of what a
//         channel does.
// Method: one run that uses everything a channel has, twice, and against a digest that is written down. R-120.
TEST(fixtures, int_replay_channel_001) {
  const std::string digest = replay();
  EXPECT_EQ(digest, replay());
  EXPECT_EQ(digest, "07d065ce77377231fa2962642be45b19");
}

// Goal:   a channel with work left prevents quiescence, alone or among other checks; one that is drained does not.
// Method: a channel of the root that the host made can fail alone; one of a region fails with its region..
TEST(fixtures, finalization_channel_drain_004) {
  constexpr std::uint32_t regions = 1U << 2, channels = 1U << 4;
  puppet_stage s;
  const auto expect = [&s](status first, std::uint32_t failed) {
    const quiescence_result q = s.k.check_quiescence();
    EXPECT_EQ(q.first, first);
    EXPECT_EQ(q.failed, failed);
  };
  expect(status::ok, 0);
  auto ch = open_channel(s, 2);
  expect(status::ok, 0);
  fill(ch.tx, {1});
  expect(status::channel_not_drained, channels);
  EXPECT_EQ(drain(ch.rx).size(), 1U);
  expect(status::ok, 0);
  send_permit<int> permit = must_reserve(ch.tx);
  expect(status::channel_not_drained, channels);
  fill(ch.tx, {2});
  ch.rx.drop();
  expect(status::channel_not_drained, channels);  // Nothing is queued any more, but a permit is held.
  permit.abort();
  expect(status::ok, 0);

  const region_handle r = s.region();
  auto inner = open_channel(s, r, 1);
  expect(status::regions_not_closed, regions);
  fill(inner.tx, {3});
  expect(status::regions_not_closed, regions | channels);
  EXPECT_EQ(s.k.close(r), status::ok);
  const quiescence_result q = s.k.check_quiescence();
  EXPECT_EQ(q.failed & channels, 0U) << "what finalizing discarded is no work";
}

}  // namespace
}  // namespace asx
