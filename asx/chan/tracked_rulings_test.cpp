// asx/chan/tracked_rulings_test.cpp - the rulings' own tests on channels among regions, limits and obligations: R-32,
//
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/chan/testing/puppets.hpp"
#include "asx/journal/describe.hpp"
#include "asx/journal/event_table.hpp"

namespace asx {
namespace {

using testing::attempt;
using testing::drain;
using testing::fill;
using testing::look;
using testing::must_reserve;
using testing::open_channel;
using testing::poll_recv;
using testing::poll_reserve;
using testing::puppet;
using testing::puppet_config;
using testing::puppet_stage;
using testing::told_wakes;
using testing::tracked_attempt;

// ---- channel and region -------------------------------------------------------------------------------------------

TEST(channel_rulings, r71_closing_and_draining_leave_a_channel_alone_but_admit_no_new_one) {
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, r, 2);
  puppet& tenant = s.task(r);
  s.act(tenant, [](cx&) {});
  const auto works = [&] {
    const std::uint64_t mark = s.mark();
    EXPECT_EQ(channel<int>(s.k, r, 1).code, status::region_not_open);
    EXPECT_EQ(s.count(event_kind::refused_channel, mark), 1U);
    send_permit<int> permit = must_reserve(ch.tx);
    EXPECT_EQ(permit.send(1).code, status::ok);
    EXPECT_EQ(ch.rx.try_recv().value, 1);
  };
  EXPECT_EQ(s.k.begin_close(r), status::ok);
  works();
  EXPECT_EQ(s.k.begin_drain(r), status::ok);
  works();
  s.finish(tenant);
  EXPECT_EQ(s.report(r).state, region_state::draining) << "single steps drive nothing";
  works();
  EXPECT_EQ(s.k.begin_finalize(r), status::ok);
  EXPECT_EQ(s.k.finish_close(r), status::ok);
  EXPECT_EQ(ch.tx.try_send(1).code, status::disconnected);
  EXPECT_EQ(ch.rx.try_recv().code, status::disconnected);
}

TEST(channel_rulings, r71_creation_refuses_in_the_order_of_admission) {
  puppet_stage s;
  const region_handle r = s.region();
  EXPECT_EQ(channel<int>(s.k, region_handle{}, 1).code, status::stale_handle);
  EXPECT_EQ(s.k.close(r), status::ok);
  EXPECT_EQ(channel<int>(s.k, r, 1).code, status::region_not_open);
  puppet& a = s.task();
  s.act(a, [&](cx& c) {
    const auto ch = channel<int>(c, 1, "of the task's region");
    EXPECT_EQ(ch.code, status::ok);
    const auto made = s.events(event_kind::channel_created);
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].object, s.report(c.region()).id.value);
    EXPECT_EQ(made[0].a, 1U);
    EXPECT_EQ(made[0].b, a.number);
  });
}

TEST(channel_rulings, r72_the_waiter_limit_is_of_one_channel) {
  runtime_config config = puppet_config();
  config.contract.max_channel_waiters = 1;
  puppet_stage s(config);
  auto first = open_channel(s, 1);
  auto second = open_channel(s, 1);
  fill(first.tx, {1});
  fill(second.tx, {1});
  puppet& a = s.task();
  puppet& b = s.task();
  attempt<> here, there, late;
  EXPECT_EQ(poll_reserve(s, a, first.tx, here), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, second.tx, there), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, first.tx, late), status::resource_exhausted);
  EXPECT_EQ(look(first.tx).waiters, 1U);
}

TEST(channel_rulings, r73_capacity_zero_panics_the_task_that_asks_whichever_way) {
  puppet_stage s;
  puppet& a = s.task();
  s.act(a, [&](cx& c) { EXPECT_EQ(channel<int>(c.kernel(), s.rt.root(), 0).code, status::invalid_argument); });
  EXPECT_TRUE(s.result(a).is_panicked());
  EXPECT_TRUE(s.fatals.empty());
  EXPECT_EQ(s.count(event_kind::channel_created), 0U);
}

TEST(channel_rulings, r74_drained_means_no_permit_and_nothing_that_somebody_could_receive) {
  puppet_stage s;
  auto ch = open_channel(s, 2);
  const auto is_drained = [&] { return (s.k.check_quiescence().failed & (1U << 4)) == 0; };
  puppet& a = s.task();
  EXPECT_TRUE(is_drained());
  fill(ch.tx, {1});
  EXPECT_FALSE(is_drained());
  EXPECT_EQ(s.k.check_quiescence().first, status::tasks_still_active) << "the first in the order of the table";
  ch.tx.drop();
  EXPECT_FALSE(is_drained()) << "it can still be received";
  ch.rx.drop();
  EXPECT_TRUE(is_drained());
  s.finish(a);
}

TEST(channel_rulings, r143_a_receiver_elsewhere_is_woken_after_the_senders) {
  puppet_stage s;
  const region_handle r = s.region();
  const region_handle elsewhere = s.region();
  auto ch = open_channel(s, r, 1);
  send_permit<int> permit = must_reserve(ch.tx);
  puppet& reader = s.task(elsewhere);
  puppet& a = s.task(elsewhere);
  puppet& b = s.task(elsewhere);
  attempt<> first, second;
  EXPECT_EQ(poll_recv(s, reader, ch.rx), status::would_block);
  EXPECT_EQ(poll_reserve(s, b, ch.tx, second), status::would_block);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::would_block);
  const std::uint64_t mark = s.mark();
  EXPECT_EQ(s.k.close(r), status::ok);
  EXPECT_EQ(s.wakes(mark), (told_wakes{{b.number, wake_code::disconnected},
                                       {a.number, wake_code::disconnected},
                                       {reader.number, wake_code::disconnected}}));
  EXPECT_EQ(poll_recv(s, reader, ch.rx), status::disconnected);
  EXPECT_EQ(poll_reserve(s, a, ch.tx, first), status::disconnected);
}

TEST(channel_rulings, r155_finalizers_and_their_tasks_still_have_the_channel) {
  struct farewell {
    puppet_stage* s;
    channel_ends<int>* ch;
    std::vector<std::string> said{};
    static poll_result poll(void* self, cx&) {
      auto& f = *static_cast<farewell*>(self);
      EXPECT_EQ(f.ch->rx.try_recv().value, 2);
      f.said.push_back("task");
      return poll_result::ready;
    }
    static status run(void* self, region_handle region, kernel& k) {
      auto& f = *static_cast<farewell*>(self);
      EXPECT_EQ(f.ch->tx.try_send(2).code, status::ok);
      f.said.push_back("finalizer");
      task_handle t;
      return k.spawn(region, {.poll = &farewell::poll, .context = self}, t);
    }
  };
  puppet_stage s;
  const region_handle r = s.region();
  auto ch = open_channel(s, r, 2);
  farewell f{&s, &ch};
  EXPECT_EQ(s.k.add_finalizer(r, &farewell::run, &f), status::ok);
  slab_key timer;
  EXPECT_EQ(s.k.register_timer(r, instant{1'000'000}, timer), status::ok);
  obligation_handle o;
  EXPECT_EQ(s.k.reserve(r, o), status::ok);
  send_permit<int> permit = must_reserve(ch.tx);
  EXPECT_EQ(s.k.close(r), status::ok);
  s.rt.run_until_idle();
  EXPECT_EQ(f.said, (std::vector<std::string>{"finalizer", "task"}));
  EXPECT_EQ(s.report(r).state, region_state::closed);
  const auto seq = [&s](event_kind kind) {
    const auto found = s.events(kind);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? 0 : found.back().seq;
  };
  EXPECT_LT(seq(event_kind::message_received), seq(event_kind::permit_aborted));
  EXPECT_LT(seq(event_kind::permit_aborted), seq(event_kind::channel_receiver_closed));
  EXPECT_LT(seq(event_kind::channel_receiver_closed), seq(event_kind::timer_cancelled));
  EXPECT_LT(seq(event_kind::timer_cancelled), seq(event_kind::obligation_leaked));
  EXPECT_EQ(s.state_of(o), obligation_state::leaked);
}

// ---- whose obligation ---------------------------------------------------------------------------------------------

/// A channel of the root, a region with one task in it, and tracked permits between them.
struct tracked_stage : puppet_stage {
  explicit tracked_stage(const runtime_config& config = puppet_config()) : puppet_stage(config) {}
  ~tracked_stage() {
    EXPECT_FALSE(permit.is_held()) << "a test resolves what it reserves";
    tx.drop();
    ch = {};
  }

  /// The worker reserves, without waiting.
  void reserve(puppet& who) {
    act(who, [this](cx&) {
      EXPECT_EQ(tx.try_reserve(permit), status::ok);
      o = permit.obligation();
    });
    EXPECT_EQ(state_of(o), obligation_state::reserved);
  }
  void reserve() { reserve(worker); }
  void drop_permit() { tracked_permit<int> gone(std::move(permit)); }
  /// The permit's slot is back, and it is resolved.
  void expect_returned() {
    EXPECT_EQ(look(ch.tx).reserved, 0U);
    EXPECT_EQ(look(ch.tx).counts.aborted, 1U);
    EXPECT_FALSE(permit.is_held());
  }
  void expect_aborted() {
    expect_returned();
    EXPECT_EQ(state_of(o), obligation_state::aborted);
    EXPECT_TRUE(fatals.empty());
  }
  /// the slot is back, the obligation is not resolved until its region ends, and is leaked then.
  void expect_leaked() {
    expect_returned();
    EXPECT_EQ(state_of(o), obligation_state::reserved);
    EXPECT_EQ(count(event_kind::permit_dropped), 1U);
    EXPECT_EQ(k.close(home), status::ok);
    rt.run_until_idle();
    EXPECT_EQ(state_of(o), obligation_state::leaked);
    EXPECT_EQ(report(home).leaked, 1U);
  }
  void expect_panicked(const puppet& who) {
    ASSERT_TRUE(result(who).is_panicked());
    EXPECT_EQ(result(who).panic().text, tracked_leak_message);
  }

  region_handle home = region();
  puppet& worker = task(home);
  channel_ends<int> ch = open_channel(*this, 2);
  tracked_sender<int> tx{ch.tx};
  tracked_permit<int> permit;
  obligation_handle o;
};

TEST(channel_rulings, r128_the_obligation_is_of_the_region_of_the_task_that_reserves) {
  tracked_stage s;
  s.reserve();
  EXPECT_EQ(s.report(s.home).reserved, 1U);
  EXPECT_EQ(s.report(s.rt.root()).reserved, 0U) << "the channel is the root's, the promise is not";
  s.act(s.worker, [&](cx&) { EXPECT_EQ(s.permit.send(1).code, status::ok); });
  EXPECT_EQ(s.report(s.home).reserved, 0U);

  tracked_permit<int> hosts;
  EXPECT_EQ(s.tx.try_reserve(hosts), status::invalid_argument) << "a host names a region";
  EXPECT_FALSE(hosts.is_held());
  EXPECT_EQ(look(s.ch.tx).reserved, 0U);
  EXPECT_EQ(s.tx.try_reserve(s.home, hosts), status::ok);
  EXPECT_EQ(s.report(s.home).reserved, 1U);
  EXPECT_TRUE(hosts.abort().has_value());
  EXPECT_EQ(s.report(s.home).reserved, 0U);
}

TEST(channel_rulings, r128_a_region_that_is_not_open_refuses_before_the_channel_is_touched) {
  tracked_stage s;
  s.act(s.worker, [](cx&) {});
  EXPECT_EQ(s.k.begin_close(s.home), status::ok);
  const channel_report before = look(s.ch.tx);
  tracked_attempt<> mine;
  s.act(s.worker, [&](cx& c) {
    const std::uint64_t mark = s.mark();
    EXPECT_EQ(s.tx.poll_reserve(c, mine.wait, mine.permit), status::region_not_open);
    EXPECT_EQ(s.count(event_kind::refused_slot, mark), 1U);
    EXPECT_EQ(s.events(mark).size(), 1U);
    EXPECT_EQ(s.tx.try_reserve(mine.permit), status::region_not_open);
  });
  EXPECT_EQ(s.report(s.worker).state, task_state::cancel_requested) << "admission comes before the checkpoint";
  EXPECT_FALSE(mine.wait.is_waiting());
  EXPECT_EQ(look(s.ch.tx).reserved, before.reserved);
  EXPECT_EQ(look(s.ch.tx).waiters, before.waiters);
  EXPECT_EQ(look(s.ch.tx).counts.reserved, before.counts.reserved);
}

TEST(channel_rulings, r128_a_reserve_that_blocks_or_fails_has_no_obligation) {
  tracked_stage s;
  fill(s.ch.tx, {1, 2});
  tracked_attempt<> mine;
  EXPECT_EQ(poll_reserve(s, s.worker, s.tx, mine), status::would_block);
  EXPECT_EQ(s.report(s.home).reserved, 0U);
  s.act(s.worker, [&](cx&) { EXPECT_EQ(s.tx.try_reserve(s.permit), status::full); });
  EXPECT_EQ(s.report(s.home).reserved, 0U);
  s.ch.rx.drop();
  EXPECT_EQ(poll_reserve(s, s.worker, s.tx, mine), status::disconnected);
  EXPECT_EQ(s.report(s.home).reserved, 0U);
  EXPECT_EQ(s.count(event_kind::obligation_reserved), 0U);
}

TEST(channel_rulings, r149_a_pending_tracked_reserve_ends_when_its_region_closes) {
  tracked_stage s;
  fill(s.ch.tx, {1, 2});
  puppet& other = s.task();
  tracked_attempt<> mine;
  attempt<> behind;
  EXPECT_EQ(poll_reserve(s, s.worker, s.tx, mine), status::would_block);
  EXPECT_EQ(poll_reserve(s, other, s.ch.tx, behind), status::would_block);
  EXPECT_EQ(s.k.begin_close(s.home), status::ok);
  EXPECT_EQ(s.ch.rx.try_recv().value, 1);
  EXPECT_EQ(poll_reserve(s, s.worker, s.tx, mine), status::region_not_open) << "though the slot is its own";
  EXPECT_FALSE(mine.wait.is_waiting());
  EXPECT_EQ(look(s.ch.tx).waiters, 1U);
  EXPECT_TRUE(s.is_woken(other)) << "the slot is the next one's";
  EXPECT_EQ(poll_reserve(s, other, s.ch.tx, behind), status::ok);
}

TEST(channel_rulings, r235_a_refused_tracked_reserve_is_told_by_one_refused_slot) {
  runtime_config config = puppet_config();
  config.contract.max_obligations = 0;
  tracked_stage s(config);
  tracked_attempt<> mine;
  const auto expect_told = [&s](std::uint64_t after, status code, limit_code limit) {
    const std::vector<event> told = s.events(after);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].kind, event_kind::refused_slot);
    EXPECT_EQ(told[0].object, look(s.ch.tx).id.value);
    EXPECT_EQ(low_half(told[0].a), static_cast<std::uint32_t>(code));
    EXPECT_EQ(high_half(told[0].a), static_cast<std::uint32_t>(limit));
  };
  s.act(s.worker, [&](cx& c) {
    const std::uint64_t hash = s.k.state_hash();
    const std::uint64_t mark = s.mark();
    EXPECT_EQ(s.tx.poll_reserve(c, mine.wait, mine.permit), status::resource_exhausted);
    EXPECT_EQ(s.k.state_hash(), hash);
    expect_told(mark, status::resource_exhausted, limit_code::obligations);
  });
  EXPECT_EQ(s.k.begin_close(s.home), status::ok);
  s.act(s.worker, [&](cx& c) {
    const std::uint64_t mark = s.mark();
    EXPECT_EQ(s.tx.poll_reserve(c, mine.wait, mine.permit), status::region_not_open);
    expect_told(mark, status::region_not_open, limit_code::none);
  });
}

TEST(channel_rulings, r235_a_refused_tracked_try_reserve_is_told_by_nothing) {
  runtime_config config = puppet_config();
  config.contract.max_obligations = 0;
  tracked_stage s(config);
  const auto silent = [&s](status code) {
    const std::uint64_t hash = s.k.state_hash();
    const std::uint64_t mark = s.mark();
    tracked_permit<int> none;
    EXPECT_EQ(s.tx.try_reserve(none), code);
    EXPECT_EQ(s.k.state_hash(), hash);
    for (const event& e : s.events(mark)) ADD_FAILURE() << name(code) << " was told by " << name(e.kind);
  };
  s.act(s.worker, [&](cx&) { silent(status::resource_exhausted); });
  fill(s.ch.tx, {1, 2});
  s.act(s.worker, [&](cx&) { silent(status::full); });
  EXPECT_EQ(s.k.begin_close(s.home), status::ok);
  s.act(s.worker, [&](cx&) { silent(status::region_not_open); });
}

TEST(channel_rulings, r64_a_tracked_send_to_a_dropped_receiver_aborts_its_obligation) {
  for (const bool tries : {false, true}) {
    tracked_stage s;
    s.reserve();
    s.ch.rx.drop();
    s.act(s.worker, [&](cx&) {
      const auto sent = tries ? s.permit.try_send(3) : s.permit.send(3);
      EXPECT_EQ(sent.code, status::disconnected);
      EXPECT_EQ(sent.value, 3);
      EXPECT_FALSE(sent.proof.has_value());
      const auto again = tries ? s.permit.try_send(4) : s.permit.send(4);
      EXPECT_EQ(again.code, status::obligation_already_resolved) << "the permit is used up";
      EXPECT_EQ(again.value, 4);
    });
    s.expect_aborted();
  }
}

TEST(channel_rulings, r64_a_tracked_permit_is_sent_in_a_full_channel_by_either_name) {
  for (const bool tries : {false, true}) {
    tracked_stage s;
    s.reserve();
    while (s.ch.tx.try_send(7).code == status::ok) continue;
    const auto sent = tries ? s.permit.try_send(3) : s.permit.send(3);
    EXPECT_EQ(sent.code, status::ok) << "its slot was there since it was reserved";
    EXPECT_FALSE(sent.value.has_value());
    ASSERT_TRUE(sent.proof.has_value());
    EXPECT_EQ(sent.proof->channel().value, look(s.ch.tx).id.value);
    EXPECT_EQ(s.state_of(s.o), obligation_state::committed);
    EXPECT_EQ(drain(s.ch.rx).back(), 3);
  }
}

TEST(channel_rulings, r66_a_tracked_permit_is_resolved_once_too) {
  tracked_stage s;
  s.reserve();
  EXPECT_EQ(s.permit.send(1).code, status::ok);
  const auto again = s.permit.send(2);
  EXPECT_EQ(again.code, status::obligation_already_resolved);
  EXPECT_EQ(again.value, 2);
  EXPECT_FALSE(again.proof.has_value());
  EXPECT_FALSE(s.permit.abort().has_value());
  EXPECT_EQ(s.state_of(s.o), obligation_state::committed);
  EXPECT_EQ(drain(s.ch.rx), (std::vector<int>{1}));
}

// ---- leaked, or aborted -------------------------------------------------------------------------------------------

TEST(channel_rulings, r32_a_dropped_tracked_permit_panics_its_task_and_returns_its_slot) {
  tracked_stage s;
  s.reserve();
  fill(s.ch.tx, {1});
  puppet& next = s.task();
  attempt<> behind;
  EXPECT_EQ(poll_reserve(s, next, s.ch.tx, behind), status::would_block);
  s.act(s.worker, [&](cx&) { s.drop_permit(); });
  s.expect_panicked(s.worker);
  EXPECT_EQ(poll_reserve(s, next, s.ch.tx, behind), status::ok);
  behind.permit.abort();
  EXPECT_EQ(s.state_of(s.o), obligation_state::reserved);
  EXPECT_EQ(s.k.close(s.home), status::ok);
  EXPECT_EQ(s.state_of(s.o), obligation_state::leaked);
}

// Goal:   who forgot a permit is told the line on which it was reserved, twice: by the panic, and by the leak report.
// Method: dropped in a poll, and overwritten by another one's move; the region closes, and its sweep tells.
TEST(channel_rulings, r32_the_panic_and_the_leak_report_name_the_place_of_the_reserve) {
  for (const bool by_poll : {false, true}) {
    tracked_stage s;
    std::uint32_t line = 0;
    reserve_wait wait;
    s.act(s.worker, [&](cx& c) {
      const auto how = by_poll ? s.tx.poll_reserve(c, wait, s.permit) : s.tx.try_reserve(s.permit);
      line = __LINE__ - 1;
      EXPECT_EQ(how, status::ok);
      tracked_permit<int> elsewhere(std::move(s.permit));
      s.permit = std::move(elsewhere);
    });
    s.act(s.worker, [&](cx&) { s.drop_permit(); });
    s.expect_panicked(s.worker);
    EXPECT_TRUE(s.result(s.worker).panic().file.ends_with("tracked_rulings_test.cpp"));
    EXPECT_EQ(s.result(s.worker).panic().line, line);
    EXPECT_EQ(s.k.close(s.home), status::ok);
    const auto leaks = s.events(event_kind::obligation_leaked);
    ASSERT_EQ(leaks.size(), 1U);
    name_book texts;
    for (std::uint64_t i = 0; i < s.rt.journal().size(); ++i) texts.learn(s.rt.journal().at(i));
    EXPECT_EQ(texts.find(field_type::obligation, leaks[0].subject, text_code::site),
              "tracked_rulings_test.cpp:" + std::to_string(line));
  }
}

// Goal:   an obligation that somebody resolved by its handle is resolved: its permit proves nothing and owes nothing
//
// Method: the handle is committed or aborted; then the permit is sent, aborted or dropped in a poll.
TEST(channel_rulings, r342_a_permit_whose_obligation_was_resolved_past_it_sends_nothing_and_owes_nothing) {
  enum class way { sends, aborts, drops };
  for (const bool commits : {false, true}) {
    for (const way how : {way::sends, way::aborts, way::drops}) {
      tracked_stage s;
      s.reserve();
      EXPECT_EQ(commits ? s.k.commit(s.o) : s.k.abort(s.o), status::ok);
      s.act(s.worker, [&](cx&) {
        EXPECT_TRUE(s.permit.is_held()) << "its slot is its own";
        if (how == way::sends) {
          const auto sent = s.permit.send(3);
          EXPECT_EQ(sent.code, status::obligation_already_resolved);
          EXPECT_EQ(sent.value, 3);
          EXPECT_FALSE(sent.proof.has_value());
        } else if (how == way::aborts) {
          EXPECT_FALSE(s.permit.abort().has_value());
        } else {
          s.drop_permit();
        }
      });
      s.expect_returned();
      EXPECT_EQ(look(s.ch.tx).queued, 0U);
      EXPECT_EQ(s.count(event_kind::permit_aborted), 1U);
      EXPECT_EQ(s.count(event_kind::permit_dropped), 0U);
      EXPECT_EQ(s.state_of(s.o), commits ? obligation_state::committed : obligation_state::aborted);
      EXPECT_TRUE(s.fatals.empty());
      s.finish(s.worker);
      EXPECT_TRUE(s.result(s.worker).is_ok());
    }
  }
}

TEST(channel_rulings, r32_a_cancelled_task_with_a_tracked_permit_leaves_it_aborted) {
  tracked_stage s;
  s.reserve();
  s.cancel(s.worker);
  s.finish(s.worker);
  EXPECT_TRUE(s.result(s.worker).is_cancelled());
  s.expect_aborted();
}

TEST(channel_rulings, r179_a_task_that_returns_with_a_tracked_permit_has_leaked_it) {
  for (const poll_result says : {poll_result::ready, poll_result::error}) {
    tracked_stage s;
    s.reserve();
    s.finish(s.worker, says);
    s.expect_panicked(s.worker);
    EXPECT_TRUE(s.fatals.empty());
    s.expect_leaked();
    s.drop_permit();
    EXPECT_TRUE(s.fatals.empty()) << "what is left of the object leaks nothing more";
  }
}

TEST(channel_rulings, r179_a_cancel_that_was_not_observed_excuses_nobody) {
  tracked_stage s;
  s.reserve();
  EXPECT_EQ(s.k.request_cancel(s.worker.handle), status::ok);
  s.finish(s.worker);
  s.expect_panicked(s.worker);
  s.expect_leaked();
}

TEST(channel_rulings, r236_a_drop_by_a_task_that_acknowledged_or_panicked_aborts) {
  {
    tracked_stage s;
    s.reserve();
    s.cancel(s.worker);
    s.act(s.worker, [&](cx&) { s.drop_permit(); });
    s.expect_aborted();
    s.finish(s.worker);
    EXPECT_TRUE(s.result(s.worker).is_cancelled());
  }
  tracked_stage s;
  s.reserve();
  s.act(s.worker, [&](cx& c) {
    c.panic("of its own");
    s.drop_permit();
  });
  s.expect_aborted();
  ASSERT_TRUE(s.result(s.worker).is_panicked());
  EXPECT_EQ(s.result(s.worker).panic().text, "of its own");
}

TEST(channel_rulings, r236_unwinding_after_a_panic_or_by_force_aborts) {
  {
    tracked_stage s;
    s.reserve();
    s.act(s.worker, [](cx& c) { c.panic("of its own"); });
    s.expect_aborted();
  }
  tracked_stage s;
  s.reserve();
  EXPECT_EQ(s.k.request_cancel(s.worker.handle, {cancel_kind::shutdown, {}}), status::ok);
  s.rt.run_until_idle();  // It never looks: its quotas run out.
  ASSERT_TRUE(s.result(s.worker).is_cancelled());
  EXPECT_TRUE(s.result(s.worker).cancelled_by().cleanup_budget_exceeded);
  s.expect_aborted();
}

TEST(channel_rulings, r236_a_drop_before_the_cancel_is_acknowledged_leaks) {
  tracked_stage s;
  s.reserve();
  EXPECT_EQ(s.k.request_cancel(s.worker.handle), status::ok);
  s.act(s.worker, [&](cx&) { s.drop_permit(); });
  s.expect_panicked(s.worker);
  s.expect_leaked();
}

TEST(channel_rulings, r236_overwriting_in_a_poll_leaks) {
  tracked_stage s;
  s.reserve();
  s.act(s.worker, [&](cx&) { s.permit = tracked_permit<int>(); });
  s.expect_panicked(s.worker);
  s.expect_leaked();
}

TEST(channel_rulings, r236_the_task_that_is_polled_answers_for_what_is_dropped_in_its_poll) {
  tracked_stage s;
  puppet& other = s.task();
  s.reserve();
  s.act(other, [&](cx&) { s.drop_permit(); });
  s.expect_panicked(other);
  EXPECT_EQ(s.report(s.worker).state, task_state::running);
  s.finish(s.worker);
  EXPECT_TRUE(s.result(s.worker).is_ok()) << "it holds nothing any more";
  s.expect_leaked();
}

TEST(channel_rulings, r236_a_drop_outside_of_polls_calls_the_fatal_hook) {
  tracked_stage s;
  s.reserve();
  s.drop_permit();
  ASSERT_EQ(s.fatals.size(), 1U);
  EXPECT_EQ(s.fatals[0], tracked_leak_message);
  EXPECT_EQ(s.report(s.worker).state, task_state::running);
  s.expect_leaked();
}

TEST(channel_rulings, r236_the_end_of_the_channels_region_aborts) {
  puppet_stage s;
  const region_handle owner = s.region();
  auto ch = open_channel(s, owner, 1);
  tracked_sender<int> tx(ch.tx);
  puppet& a = s.task();
  tracked_attempt<> mine;
  EXPECT_EQ(poll_reserve(s, a, tx, mine), status::ok);
  const obligation_handle o = mine.permit.obligation();
  EXPECT_EQ(s.k.close(owner), status::ok);
  EXPECT_EQ(s.state_of(o), obligation_state::aborted);
  EXPECT_FALSE(mine.permit.is_held());
  const auto sent = mine.permit.send(1);
  EXPECT_EQ(sent.code, status::disconnected);
  EXPECT_EQ(sent.value, 1);
  s.finish(a);
  EXPECT_TRUE(s.result(a).is_ok());
  EXPECT_TRUE(s.fatals.empty());
}

}  // namespace
}  // namespace asx
