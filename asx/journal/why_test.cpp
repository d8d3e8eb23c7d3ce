// Tests of the four questions: asx/journal/why.hpp. The streams are made by hand, so that the right answer is known.
#include "asx/journal/why.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "asx/journal/testing.hpp"

namespace asx {
namespace {

/// Writes a stream event by event and remembers it.
class script {
 public:
  script() { testing::open_or_abort(journal_, {.capacity = 4}, all_.sink()); }

  std::uint64_t put(event_kind kind, event_fields fields) {
    fields.time_ns = now;
    return journal_.append(kind, fields);
  }
  std::uint64_t spawn(std::uint64_t task, std::uint64_t region, std::uint64_t cause = 0) {
    return put(event_kind::task_spawned, {.subject = task, .object = region, .b = pack(128, 0), .cause = cause});
  }
  std::uint64_t wake(std::uint64_t task, lane_code lane = lane_code::ready, std::uint64_t cause = 0) {
    return put(event_kind::task_woken,
               {.subject = task, .a = pack(static_cast<std::uint64_t>(lane), 0), .b = ++insertion_, .cause = cause});
  }
  std::uint64_t dispatch(std::uint64_t task, lane_code lane = lane_code::ready) {
    return put(event_kind::task_dispatched, {.subject = task, .a = pack(128, static_cast<std::uint64_t>(lane))});
  }
  void run(std::uint64_t task, std::uint64_t takes_ns = 0) {
    dispatch(task);
    now += takes_ns;
    put(event_kind::poll_ended, {.subject = task});
  }
  /// Dispatches the task and lets it wait.
  std::uint64_t wait(std::uint64_t task, wait_code what, std::uint64_t object, std::uint64_t until_ns = 0) {
    dispatch(task);
    const std::uint64_t seq =
        put(event_kind::task_waits,
            {.subject = task, .object = object, .a = pack(static_cast<std::uint64_t>(what), 0), .b = until_ns});
    put(event_kind::poll_ended, {.subject = task});
    return seq;
  }
  void call(std::uint64_t task, std::string_view text) {
    journal_.append_text(text_code::name, type_tag::task, task, text);
  }
  void call(type_tag type, std::uint64_t id, std::string_view text) {
    journal_.append_text(text_code::name, type, id, text);
  }
  /// One more branch of a select, in the poll that is under way.
  void branch(std::uint64_t task, wait_code what, std::uint64_t object) {
    put(event_kind::task_waits, {.subject = task, .object = object, .a = pack(static_cast<std::uint64_t>(what), 0)});
  }
  void park(std::uint64_t task) { put(event_kind::poll_ended, {.subject = task}); }
  void mutex(std::uint64_t sync, std::uint64_t holder) {
    put(event_kind::sync_created, {.subject = sync, .object = 1, .a = 1});
    put(event_kind::sync_acquired, {.subject = sync, .object = holder, .a = 1});
  }

  void say(type_tag type, std::uint64_t id, std::string_view text) {
    journal_.append_text(text_code::message, type, id, text);
  }

  std::span<const event> events() {
    journal_.settle();
    return all_.events;
  }

  std::uint64_t now = 0;

 private:
  testing::collector all_;
  journal journal_;
  std::uint64_t insertion_ = 0;
};

bool says(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

// ---- cancelled
// -------------------------------------------------------------------------------------------------------

TEST(why_cancelled, the_chain_goes_from_the_task_through_its_regions_to_the_input_that_closed_the_first) {
  script s;
  s.put(event_kind::region_created, {.subject = 1});
  s.put(event_kind::region_created, {.subject = 4, .object = 1});
  s.spawn(9, 4);
  s.call(9, "uploader");
  s.now = 2'000'000;
  const std::uint64_t input = s.put(event_kind::input_close, {.subject = 1, .a = 0, .b = 1});
  const std::uint64_t first = s.put(event_kind::region_closing, {.subject = 1, .cause = input});
  s.say(type_tag::region, 1, "operator pressed stop");
  const std::uint64_t second =
      s.put(event_kind::region_closing_by_parent, {.subject = 4, .object = 1, .b = 8, .cause = first});
  const std::uint64_t request =
      s.put(event_kind::cancel_requested, {.subject = 9, .object = 4, .a = pack(8, 3), .cause = second});
  const cancelled_answer answer = why_cancelled(s.events(), 9);
  ASSERT_TRUE(answer.cancelled);
  EXPECT_EQ(answer.kind, cancel_kind::parent_cancelled);
  ASSERT_EQ(answer.chain.events.size(), 4U);
  EXPECT_EQ(answer.chain.events[0].seq, request);
  EXPECT_EQ(answer.chain.events[1].seq, second);
  EXPECT_EQ(answer.chain.events[2].seq, first);
  EXPECT_EQ(answer.chain.events[3].seq, input);
  EXPECT_FALSE(answer.chain.beyond);
  EXPECT_TRUE(says(answer.text, "task 9 'uploader' was cancelled: parent_cancelled")) << answer.text;
  EXPECT_TRUE(says(answer.text, "because from outside: close region 1 (user)")) << answer.text;
  EXPECT_TRUE(says(answer.text, ": \"operator pressed stop\"")) << answer.text;
  EXPECT_FALSE(why_cancelled(s.events(), 8).cancelled);
}

TEST(why_cancelled, a_task_that_cancels_another_is_named_by_the_dispatch_in_which_it_did) {
  script s;
  s.wake(2);
  const std::uint64_t poll = s.dispatch(2);
  s.put(event_kind::cancel_requested, {.subject = 3, .object = 1, .a = pack(6, 1), .b = 2, .cause = poll});
  const cancelled_answer answer = why_cancelled(s.events(), 3);
  EXPECT_EQ(answer.kind, cancel_kind::race_lost);
  ASSERT_EQ(answer.chain.events.size(), 2U) << "why task 2 ran is another question";
  EXPECT_EQ(answer.chain.events[1].subject, 2U);
}

// the reason in force is the strongest, and the answer says that it was strengthened.
TEST(why_cancelled, a_strengthened_reason_is_followed_from_what_strengthened_it) {
  script s;
  const std::uint64_t passed = s.put(event_kind::deadline_passed, {.subject = 3, .a = 5});
  s.put(event_kind::cancel_requested, {.subject = 3, .object = 1, .a = pack(2, 1), .cause = passed});
  const std::uint64_t shutdown = s.put(event_kind::shutdown_begun, {.subject = 1});
  s.put(event_kind::cancel_strengthened, {.subject = 3, .object = 1, .a = pack(10, 2), .b = 50, .cause = shutdown});
  const cancelled_answer answer = why_cancelled(s.events(), 3);
  EXPECT_EQ(answer.kind, cancel_kind::shutdown);
  EXPECT_EQ(answer.chain.events.back().seq, shutdown);
  EXPECT_TRUE(says(answer.text, "strengthened from deadline")) << answer.text;
}

TEST(why_cancelled, a_cause_that_was_overwritten_is_said_to_be_beyond) {
  script s;
  const std::uint64_t closing = s.put(event_kind::region_closing, {.subject = 1});
  s.put(event_kind::cancel_requested, {.subject = 3, .object = 1, .a = pack(8, 1), .cause = closing});
  const cancelled_answer answer = why_cancelled(s.events().subspan(1), 3);
  EXPECT_TRUE(answer.cancelled);
  EXPECT_TRUE(answer.chain.beyond);
  EXPECT_TRUE(says(answer.text, "not in the journal any more")) << answer.text;
}

// ---- blocked
// ---------------------------------------------------------------------------------------------------------

TEST(why_blocked, a_receiver_is_told_who_holds_permits_and_who_has_sent) {
  script s;
  s.put(event_kind::channel_created, {.subject = 2, .object = 1, .a = 4});
  for (std::uint64_t task = 1; task <= 4; ++task) s.spawn(task, 1);
  s.put(event_kind::permit_reserved, {.subject = 2, .object = 3, .a = 7, .b = pack(0, 1)});
  s.put(event_kind::permit_reserved, {.subject = 2, .object = 4, .a = 8, .b = pack(0, 2)});
  s.put(event_kind::permit_sent, {.subject = 2, .object = 4, .a = 8, .b = pack(1, 1)});
  s.wake(3);
  const std::uint64_t waits = s.wait(1, wait_code::recv, 2);
  const blocked_answer answer = why_blocked(s.events(), 1);
  EXPECT_EQ(answer.doing, blocked_answer::state::waiting);
  EXPECT_EQ(answer.waits_for, wait_code::recv);
  EXPECT_EQ(answer.object, 2U);
  EXPECT_EQ(answer.since_seq, waits);
  ASSERT_EQ(answer.wakers.size(), 2U);
  EXPECT_EQ(answer.wakers[0].id, 3U);
  EXPECT_EQ(answer.wakers[0].role, "holds permit 7 of channel 2");
  EXPECT_TRUE(answer.wakers[0].can_run);
  EXPECT_EQ(answer.wakers[1].id, 4U);
  EXPECT_FALSE(answer.stuck);
  EXPECT_TRUE(says(answer.text, "task 1 waits for a message of channel 2")) << answer.text;
}

TEST(why_blocked, two_tasks_that_join_each_other_are_stuck_and_a_time_limit_would_free_them) {
  script s;
  s.spawn(1, 1);
  s.spawn(2, 1);
  s.wait(1, wait_code::join, 2);
  s.wait(2, wait_code::join, 1);
  const blocked_answer answer = why_blocked(s.events(), 1);
  EXPECT_TRUE(answer.stuck);
  EXPECT_TRUE(says(answer.text, "could be woken by task 2: has not completed; task 2 waits for the end of task 1"))
      << answer.text;

  script limited;
  limited.wait(1, wait_code::join, 2);
  limited.wait(2, wait_code::join, 1, 5'000'000);
  EXPECT_FALSE(why_blocked(limited.events(), 1).stuck);
}

// no number names whom it waits for, so nobody knows that all of them wait for it.
TEST(why_blocked, who_waits_for_the_next_of_several_is_not_called_stuck) {
  script s;
  s.spawn(1, 1);
  s.spawn(2, 1);
  s.wait(1, wait_code::join, 0);
  s.wait(2, wait_code::join, 1);
  const blocked_answer answer = why_blocked(s.events(), 1);
  EXPECT_FALSE(answer.stuck) << answer.text;
  EXPECT_NE(answer.text.find("task 1 waits for the end of one of several tasks"), std::string::npos) << answer.text;
  EXPECT_NE(answer.text.find("not all of them need be known here"), std::string::npos) << answer.text;
}

TEST(why_blocked, a_sender_sees_only_those_ahead_of_it) {
  script s;
  s.put(event_kind::channel_created, {.subject = 1, .object = 1, .a = 1});
  for (std::uint64_t task = 1; task <= 3; ++task) {
    s.put(event_kind::send_waiter_added, {.subject = 1, .object = task, .a = task, .b = task});
    s.wait(task, wait_code::reserve, 1);
  }
  s.put(event_kind::receiver_waits, {.subject = 1, .object = 9});
  const blocked_answer answer = why_blocked(s.events(), 2);
  ASSERT_EQ(answer.wakers.size(), 2U);
  EXPECT_EQ(answer.wakers[0].id, 1U);
  EXPECT_EQ(answer.wakers[1].id, 9U);
}

TEST(why_blocked, a_sleeper_has_its_timer_and_a_closer_the_tasks_of_the_region) {
  script s;
  s.put(event_kind::region_created, {.subject = 1});
  s.put(event_kind::region_created, {.subject = 2, .object = 1});
  s.spawn(5, 2);
  s.put(event_kind::timer_registered, {.subject = 3, .object = 5, .a = 9'000'000, .b = 1});
  s.wait(5, wait_code::timer, 3);
  s.wait(6, wait_code::close, 1);
  const blocked_answer sleeper = why_blocked(s.events(), 5);
  ASSERT_EQ(sleeper.wakers.size(), 1U);
  EXPECT_EQ(sleeper.wakers[0].type, field_type::timer);
  EXPECT_EQ(sleeper.wakers[0].role, "due at 9 ms");
  const blocked_answer closer = why_blocked(s.events(), 6);
  ASSERT_EQ(closer.wakers.size(), 1U);
  EXPECT_EQ(closer.wakers[0].id, 5U);
  EXPECT_FALSE(closer.stuck) << "the timer will fire";
}

TEST(why_blocked, a_task_that_is_queued_running_or_ended_is_said_not_to_be_blocked) {
  script s;
  s.spawn(1, 1);
  s.wake(1);
  EXPECT_EQ(why_blocked(s.events(), 1).doing, blocked_answer::state::queued);
  s.dispatch(1);
  EXPECT_EQ(why_blocked(s.events(), 1).doing, blocked_answer::state::running);
  s.put(event_kind::task_completed, {.subject = 1, .object = 1});
  EXPECT_EQ(why_blocked(s.events(), 1).doing, blocked_answer::state::completed);
  EXPECT_EQ(why_blocked(s.events(), 77).doing, blocked_answer::state::unknown);
}

// Any of its branches would do: the one that was asked last says nothing about the others.
TEST(why_blocked, a_select_waits_for_all_of_its_branches) {
  script s;
  s.put(event_kind::channel_created, {.subject = 1, .object = 1, .a = 1});
  s.put(event_kind::channel_created, {.subject = 2, .object = 1, .a = 1});
  s.dispatch(5);
  s.put(event_kind::timer_registered, {.subject = 3, .object = 5, .a = 9'000'000, .b = 1});
  s.branch(5, wait_code::timer, 3);
  s.branch(5, wait_code::recv, 1);
  s.branch(5, wait_code::recv, 2);
  s.park(5);
  const blocked_answer answer = why_blocked(s.events(), 5);
  EXPECT_TRUE(
      says(answer.text, "task 5 waits for timer 3, or a message of channel 1, or a message of channel 2 (event"))
      << answer.text;
  EXPECT_TRUE(says(answer.text, "could be woken by timer 3: due at 9 ms")) << answer.text;
  EXPECT_FALSE(answer.stuck) << answer.text;
  ASSERT_EQ(answer.waits.size(), 3U);
  EXPECT_EQ(answer.waits[1].what, wait_code::recv);
  EXPECT_EQ(answer.waits[1].object, 1U);
  EXPECT_EQ(answer.object, 2U) << "the last one";
}

// A sleep that is asked again keeps its timer and says nothing; a receiver that gives up says nothing either.
TEST(why_blocked, what_is_kept_from_before_counts_and_what_was_given_up_does_not) {
  script s;
  s.dispatch(5);
  s.put(event_kind::timer_registered, {.subject = 3, .object = 5, .a = 9'000'000, .b = 1});
  s.branch(5, wait_code::timer, 3);
  s.branch(5, wait_code::recv, 1);
  s.park(5);
  s.wake(5);
  s.dispatch(5);
  s.branch(5, wait_code::recv, 1);
  s.park(5);
  EXPECT_TRUE(says(why_blocked(s.events(), 5).text, "waits for a message of channel 1, or timer 3"))
      << why_blocked(s.events(), 5).text;
  s.wake(5);
  s.dispatch(5);
  s.branch(5, wait_code::recv, 1);
  s.put(event_kind::message_received, {.subject = 2, .object = 5, .a = 1, .b = pack(0, 0)});
  s.put(event_kind::timer_cancelled, {.subject = 3, .object = 5});
  s.branch(5, wait_code::join, 7);
  s.park(5);
  const blocked_answer answer = why_blocked(s.events(), 5);
  EXPECT_TRUE(says(answer.text, "task 5 waits for the end of task 7 (event")) << answer.text;
  EXPECT_EQ(answer.waits.size(), 1U);
}

TEST(why_blocked, a_knot_through_a_select_is_seen) {
  script s;
  s.mutex(1, 1);
  s.mutex(2, 2);
  s.put(event_kind::channel_created, {.subject = 4, .object = 1, .a = 1});
  s.wait(1, wait_code::sync, 2);
  s.dispatch(2);
  s.branch(2, wait_code::sync, 1);
  s.branch(2, wait_code::recv, 4);
  s.park(2);
  for (const std::uint64_t task : {1U, 2U}) {
    const blocked_answer answer = why_blocked(s.events(), task);
    EXPECT_TRUE(answer.stuck) << answer.text;
    ASSERT_EQ(answer.wakers.size(), 1U) << answer.text;
    EXPECT_EQ(answer.wakers[0].id, 3 - task);
  }
  EXPECT_TRUE(says(why_blocked(s.events(), 2).text, "channel 4 has 1 sender left")) << "and may be a way out";
}

TEST(why_blocked, who_waits_for_what_it_holds_itself_is_told_so) {
  script locks;
  locks.mutex(1, 5);
  locks.wait(5, wait_code::sync, 1);
  const blocked_answer lock = why_blocked(locks.events(), 5);
  EXPECT_TRUE(says(lock.text, "  only itself: it holds 1 of sync 1\n")) << lock.text;
  EXPECT_FALSE(says(lock.text, "the outside")) << lock.text;
  EXPECT_TRUE(lock.stuck) << lock.text;

  script sends;
  sends.put(event_kind::channel_created, {.subject = 1, .object = 1, .a = 1});
  sends.put(event_kind::permit_reserved, {.subject = 1, .object = 5, .a = 1, .b = pack(0, 1)});
  sends.wait(5, wait_code::reserve, 1);
  const blocked_answer slot = why_blocked(sends.events(), 5);
  EXPECT_TRUE(says(slot.text, "  only itself: it holds permit 1 of channel 1\n")) << slot.text;
  EXPECT_TRUE(slot.stuck) << slot.text;

  script shares;  // Somebody else could, too.
  shares.put(event_kind::sync_created, {.subject = 1, .object = 1, .a = 2});
  shares.put(event_kind::sync_acquired, {.subject = 1, .object = 5, .a = 1});
  shares.put(event_kind::sync_acquired, {.subject = 1, .object = 6, .a = 1});
  shares.wake(6);
  shares.wait(5, wait_code::sync, 1);
  const blocked_answer units = why_blocked(shares.events(), 5);
  EXPECT_TRUE(says(units.text, "  itself: it holds 1 of sync 1\n")) << units.text;
  EXPECT_TRUE(says(units.text, "  could be woken by task 6: holds 1 of sync 1; is queued\n")) << units.text;
  EXPECT_FALSE(units.stuck);
}

// Law 2: that nobody is known is no proof that there is nobody.
TEST(why_blocked, the_outside_is_named_for_a_notify_alone_and_nobody_is_called_stuck_whose_waker_is_unknown) {
  script s;
  s.put(event_kind::sync_created, {.subject = 1, .object = 1, .a = 0});
  s.put(event_kind::channel_created, {.subject = 3, .object = 1, .a = 1});
  s.put(event_kind::sender_cloned, {.subject = 3, .object = 9, .a = 2});
  s.put(event_kind::sender_dropped, {.subject = 3, .object = 9, .a = 1});
  s.wait(5, wait_code::sync, 1);
  s.wait(6, wait_code::sync, 2);
  s.wait(7, wait_code::recv, 3);
  s.wait(8, wait_code::join, 7);
  EXPECT_TRUE(says(why_blocked(s.events(), 5).text, "the outside: whoever notifies sync 1"));
  const std::string unknown = why_blocked(s.events(), 6).text;
  EXPECT_TRUE(says(unknown, "nobody is known who could wake it")) << unknown;
  EXPECT_FALSE(says(unknown, "notifies")) << unknown;
  const blocked_answer reader = why_blocked(s.events(), 7);
  EXPECT_TRUE(says(reader.text, "nobody is known who could wake it\n  channel 3 has 1 sender left\n")) << reader.text;
  EXPECT_FALSE(reader.stuck);
  EXPECT_FALSE(why_blocked(s.events(), 8).stuck) << "nor who waits for it";
}

TEST(why_blocked, things_are_called_by_their_names) {
  script s;
  s.put(event_kind::channel_created, {.subject = 1, .object = 1, .a = 1});
  s.call(type_tag::channel, 1, "jobs");
  s.mutex(1, 6);
  s.call(sync_tag, 1, "mutex stock of the shop");
  s.put(event_kind::sync_created, {.subject = 2, .object = 1, .a = 0});
  s.call(sync_tag, 2, "notify");
  s.dispatch(5);
  s.branch(5, wait_code::recv, 1);
  s.branch(5, wait_code::sync, 1);
  s.branch(5, wait_code::sync, 2);
  s.park(5);
  const std::string text = why_blocked(s.events(), 5).text;
  EXPECT_TRUE(says(text,
                   "waits for a message of channel 1 'jobs', or a turn of mutex 1 'stock of the shop', or a turn of "
                   "notify 2 (event"))
      << text;
  EXPECT_TRUE(says(text, "holds 1 of mutex 1 'stock of the shop'")) << text;
  EXPECT_TRUE(says(text, "channel 1 'jobs' has 1 sender left")) << text;
}

// ---- refused
// ---------------------------------------------------------------------------------------------------------

TEST(why_refused, a_limit_is_named_with_its_value_and_who_holds_it_at_that_moment) {
  script s;
  for (std::uint64_t task = 1; task <= 5; ++task) s.spawn(task, task <= 3 ? 2 : 1);
  s.put(event_kind::task_completed, {.subject = 1, .object = 2});
  s.spawn(6, 2);
  const std::uint64_t refusal = s.put(event_kind::refused_spawn, {.subject = 2, .object = 1, .a = pack(10, 1), .b = 5});
  s.put(event_kind::task_completed, {.subject = 2, .object = 2});
  const refused_answer answer = why_refused(s.events(), refusal);
  ASSERT_TRUE(answer.refused);
  EXPECT_EQ(answer.code, status::resource_exhausted);
  EXPECT_EQ(answer.limit, limit_code::tasks);
  EXPECT_EQ(answer.value, 5U);
  EXPECT_EQ(answer.asked_by, 2U);
  ASSERT_EQ(answer.holders.size(), 2U);
  EXPECT_EQ(answer.holders[0].id, 2U);
  EXPECT_EQ(answer.holders[0].count, 3U);
  EXPECT_EQ(answer.holders[1].count, 2U);
  EXPECT_TRUE(says(answer.text, "3 held by region 2")) << answer.text;
  EXPECT_EQ(last_refusal_of(s.events(), 2), refusal);
  EXPECT_FALSE(last_refusal_of(s.events(), 3).has_value());
  EXPECT_FALSE(why_refused(s.events(), 1).refused);
  EXPECT_FALSE(why_refused(s.events(), 99).refused);
}

TEST(why_refused, a_region_that_is_closing_is_named_with_what_made_it_close) {
  script s;
  const std::uint64_t input = s.put(event_kind::input_close, {.subject = 3});
  s.put(event_kind::region_closing, {.subject = 3, .cause = input});
  const std::uint64_t refusal = s.put(event_kind::refused_spawn, {.subject = 1, .object = 3, .a = pack(2, 0)});
  const refused_answer answer = why_refused(s.events(), refusal);
  EXPECT_EQ(answer.code, status::region_not_open);
  ASSERT_EQ(answer.chain.events.size(), 2U);
  EXPECT_EQ(answer.chain.events.back().seq, input);
}

TEST(why_refused, timers_obligations_and_slots_are_held_by_tasks) {
  script s;
  s.put(event_kind::timer_registered, {.subject = 1, .object = 7, .a = 10});
  s.put(event_kind::timer_registered, {.subject = 2, .object = 7, .a = 10});
  s.put(event_kind::timer_cancelled, {.subject = 1, .object = 7});
  const std::uint64_t timer =
      s.put(event_kind::refused_timer,
            {.subject = 8, .object = 1, .a = pack(10, static_cast<std::uint64_t>(limit_code::timers)), .b = 1});
  EXPECT_EQ(why_refused(s.events(), timer).holders.at(0).count, 1U);
  s.put(event_kind::obligation_reserved, {.subject = 1, .object = 1, .a = 4});
  const std::uint64_t obligation =
      s.put(event_kind::refused_obligation,
            {.subject = 8, .object = 1, .a = pack(10, static_cast<std::uint64_t>(limit_code::obligations)), .b = 1});
  EXPECT_EQ(why_refused(s.events(), obligation).holders.at(0).id, 4U);
  s.put(event_kind::channel_created, {.subject = 1, .object = 1, .a = 1});
  s.put(event_kind::permit_reserved, {.subject = 1, .object = 6, .a = 1, .b = pack(0, 1)});
  const std::uint64_t slot = s.put(
      event_kind::refused_slot,
      {.subject = 8, .object = 1, .a = pack(24, static_cast<std::uint64_t>(limit_code::channel_capacity)), .b = 1});
  EXPECT_EQ(why_refused(s.events(), slot).holders.at(0).id, 6U);
}

// ---- late
// ------------------------------------------------------------------------------------------------------------

TEST(why_late, those_who_ran_before_it_are_listed_with_their_lanes_and_what_they_took) {
  script s;
  s.wake(5);
  s.run(1, 3'000'000);
  s.run(2, 1'000'000);
  s.dispatch(3, lane_code::cancel);
  s.put(event_kind::poll_ended, {.subject = 3});
  const std::uint64_t seq = s.dispatch(5);
  const late_answer answer = why_late(s.events(), 5);
  EXPECT_TRUE(answer.known);
  EXPECT_TRUE(answer.dispatched);
  EXPECT_EQ(answer.dispatched_seq, seq);
  EXPECT_EQ(answer.waited_ns, 4'000'000U);
  ASSERT_EQ(answer.before.size(), 3U);
  EXPECT_EQ(answer.before[0].task, 1U);
  EXPECT_EQ(answer.before[0].took_ns, 3'000'000U);
  EXPECT_EQ(answer.before[2].lane, lane_code::cancel);
  EXPECT_TRUE(
      says(answer.text, "3 dispatches of worker 0 came before it, 1 from the cancel lane, 2 from the ready lane"))
      << answer.text;
}

TEST(why_late, a_task_that_still_waits_for_its_turn_is_told_for_how_long) {
  script s;
  s.wake(5);
  s.dispatch(5);
  s.put(event_kind::poll_ended, {.subject = 5});
  s.wake(5, lane_code::timed);
  s.run(1, 2'000);
  const late_answer answer = why_late(s.events(), 5);
  EXPECT_TRUE(answer.known);
  EXPECT_FALSE(answer.dispatched);
  EXPECT_EQ(answer.waited_ns, 2'000U);
  EXPECT_EQ(answer.lane, lane_code::timed);
  EXPECT_EQ(answer.before.size(), 1U);
  EXPECT_FALSE(why_late(s.events(), 6).known);
}

// Every task of generated runs, every question, from every beginning: an answer, never a crash or an endless walk.
TEST(why, every_question_about_every_task_has_an_answer_wherever_the_journal_begins) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto run = testing::make_stream(seed, {.events = 400});
    const std::span<const event> all(run.events);
    for (std::size_t from = 0; from < all.size(); from += 97) {
      const auto events = all.subspan(from);
      for (std::uint64_t task = 0; task < 40; ++task) {
        EXPECT_FALSE(why_cancelled(events, task).text.empty());
        EXPECT_FALSE(why_blocked(events, task).text.empty());
        EXPECT_FALSE(why_late(events, task).text.empty());
        if (const auto refusal = last_refusal_of(events, task)) {
          const refused_answer answer = why_refused(events, *refusal);
          EXPECT_TRUE(answer.refused);
          std::uint64_t held = 0;
          for (const limit_holder& h : answer.holders) held += h.count;
          if (from == 0 && answer.limit == limit_code::tasks) {
            EXPECT_EQ(held, answer.value) << answer.text;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace asx
