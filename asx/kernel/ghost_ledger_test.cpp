// The ledgers of the monitors: borrows, owners, checkpoints of the digest.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asx/kernel/ghost.hpp"
#include "asx/kernel/testing/stepped_kernel.hpp"

namespace asx {
namespace {

using testing::body;
using testing::stepped_kernel;

// ---- borrows ------------------------------------------------------------------------------------------------------

TEST(ghost_ledgers, see_every_pair_of_borrows_that_conflict) {  // FB-201
  constexpr ghost_object thing{7};
  for (const bool first_mutable : {false, true}) {
    for (const bool second_mutable : {false, true}) {
      stepped_kernel b;
      const auto take = [&](std::uint64_t by, bool is_mutable) {
        return is_mutable ? b.g().borrow_mut(task_id{by}, thing) : b.g().borrow(task_id{by}, thing);
      };
      const ghost_borrow first = take(1, first_mutable);
      const ghost_borrow second = take(2, second_mutable);
      const bool conflicts = first_mutable || second_mutable;
      EXPECT_EQ(b.g().count(ghost_kind::borrow_conflict), conflicts ? 1U : 0U);
      b.g().release(first);
      b.g().release(second);
      b.g().release(take(3, true));
      EXPECT_EQ(b.g().violations(), conflicts ? 1U : 0U) << "released borrows conflict with nothing";
    }
  }
}

TEST(ghost_ledgers, report_a_mutable_borrow_in_a_shared_epoch) {  // FB-201
  stepped_kernel b;
  constexpr ghost_object thing{7};
  EXPECT_EQ(b.g().epoch(thing), 0U);
  b.g().release(b.g().borrow(task_id{1}, thing));
  EXPECT_EQ(b.g().epoch(thing), 2U);
  const ghost_borrow one = b.g().borrow(task_id{1}, thing);
  const ghost_borrow other = b.g().borrow(task_id{2}, thing);
  const ghost_borrow writer = b.g().borrow_mut(task_id{2}, thing);
  const ghost_borrow late = b.g().borrow(task_id{}, thing);
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 2 violations, 0 notes\n"
      "  borrow_conflict 2\n"
      "FB-201  borrow_conflict  object 7 borrowed mutably while it is borrowed (epoch 2), by task 2, worker 0, after "
      "event 0\n"
      "FB-201  borrow_conflict  object 7 borrowed while it is borrowed mutably (epoch 2), by the host, worker 0, "
      "after event 0\n");
  for (const ghost_borrow each : {one, other, writer}) b.g().release(each);
  EXPECT_EQ(b.g().epoch(thing), 2U) << "an epoch lasts until the last release";
  b.g().release(late);
  EXPECT_EQ(b.g().epoch(thing), 3U);
  b.g().release(late);
  EXPECT_EQ(b.g().count(ghost_kind::stray_release), 1U);
}

// A task that reserves, borrows, and says pending in its first poll; what it does between is the test's.
struct yielder {
  explicit yielder(stepped_kernel& owner, std::function<void(cx&, ghost_borrow, obligation_handle)> between)
      : b(owner), act(std::move(between)) {}
  poll_result operator()(cx& c) {
    if (polls++ == 0) {
      o = b.reserve(c.region());
      borrowed = b.g().borrow(c, ghost_object{7}, o);
      act(c, borrowed, o);
    }
    if (polls < 4) {
      c.yield();
      return poll_result::pending;
    }
    static_cast<void>(b.k.commit(o));
    return poll_result::ready;
  }
  stepped_kernel& b;
  std::function<void(cx&, ghost_borrow, obligation_handle)> act;
  obligation_handle o;
  ghost_borrow borrowed;
  int polls = 0;
};

TEST(ghost_ledgers, see_a_pending_across_a_reserved_obligation_once_a_borrow) {  // FB-200
  stepped_kernel b;
  body run{yielder(b, [](cx&, ghost_borrow, obligation_handle) {})};
  const task_handle t = b.spawn(run);
  while (b.dispatch_one(0)) {
  }
  EXPECT_EQ(b.g().report(),
            "ghosts: 1 violation, 0 notes\n"
            "  borrow_across_pending 1\n"
            "FB-200  borrow_across_pending  object 7 held across pending without a copy, tied to a reserved obligation "
            "(obligation 1), by task 1, worker 0, after event 6\n");
  EXPECT_EQ(b.k.release_task(t), status::ok);
}

TEST(ghost_ledgers, allow_a_pending_after_a_copy_a_release_or_a_resolution_and_a_borrow_that_is_not_tied) {  // FB-200
  const std::function<void(stepped_kernel&, cx&, ghost_borrow, obligation_handle)> ways[] = {
      [](stepped_kernel& b, cx&, ghost_borrow w, obligation_handle) { b.g().copy(w); },
      [](stepped_kernel& b, cx&, ghost_borrow w, obligation_handle) { b.g().release(w); },
      [](stepped_kernel& b, cx&, ghost_borrow, obligation_handle o) { EXPECT_EQ(b.k.commit(o), status::ok); },
      [](stepped_kernel& b, cx&, ghost_borrow, obligation_handle o) { EXPECT_EQ(b.k.abort(o), status::ok); },
      [](stepped_kernel& b, cx& c, ghost_borrow w, obligation_handle) {
        b.g().release(w);
        static_cast<void>(b.g().borrow(c, ghost_object{7}));
      },
  };
  for (const auto& way : ways) {
    stepped_kernel b;
    body run{yielder(b, [&](cx& c, ghost_borrow w, obligation_handle o) { way(b, c, w, o); })};
    const task_handle t = b.spawn(run);
    while (b.dispatch_one(0)) {
    }
    EXPECT_EQ(b.g().count(ghost_kind::borrow_across_pending), 0U);
    EXPECT_EQ(b.k.release_task(t), status::ok);
  }
}

TEST(ghost_ledgers, drop_the_borrows_of_a_task_that_has_ended) {
  stepped_kernel b;
  body run{[&](cx& c) {
    static_cast<void>(b.g().borrow_mut(c, ghost_object{7}));
    return poll_result::ready;
  }};
  const task_handle t = b.spawn(run);
  EXPECT_TRUE(b.dispatch_one(0));
  b.g().release(b.g().borrow_mut(task_id{}, ghost_object{7}));
  EXPECT_EQ(b.g().violations(), 0U);
  EXPECT_EQ(b.k.release_task(t), status::ok);
}

// ---- affinity -----------------------------------------------------------------------------------------------------

TEST(ghost_ledgers, see_a_touch_without_a_certificate_and_a_certificate_of_a_stranger) {  // FB-202
  stepped_kernel b;
  constexpr ghost_object thing{9};
  b.g().touch(0, thing);
  b.g().touch(0, thing);
  b.g().transfer(thing, 0, 1);
  b.g().touch(1, thing);
  EXPECT_EQ(b.g().violations(), 0U);
  b.g().touch(0, thing);
  b.g().transfer(thing, 0, 0);
  b.g().touch(1, thing);
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 2 violations, 0 notes\n"
      "  foreign_use 2\n"
      "FB-202  foreign_use  object 9 touched without a transfer certificate (worker 1 owns it), by the host, worker "
      "0, after event 0\n"
      "FB-202  foreign_use  object 9 transferred by a worker that does not own it (worker 1 owns it), by the host, "
      "worker 0, after event 0\n");
  b.g().forget(thing);
  b.g().touch(0, thing);
  EXPECT_EQ(b.g().violations(), 2U) << "a forgotten object has no owner";
}

TEST(ghost_ledgers, take_the_dispatch_of_a_task_by_another_worker_for_a_certificate) {  // FB-202
  stepped_kernel b;
  int polls = 0;
  body run{[&](cx& c) {
    EXPECT_EQ(c.checkpoint(), status::ok);
    if (++polls == 6) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  const task_handle t = b.spawn(run);
  std::uint32_t worker = 1;
  while (b.dispatch_one(worker ^= 1U)) {
  }
  EXPECT_EQ(polls, 6);
  EXPECT_EQ(b.g().violations(), 0U) << b.g().report();
  EXPECT_EQ(b.k.release_task(t), status::ok);
}

TEST(ghost_ledgers, see_a_cx_that_is_used_while_another_worker_polls_another_task) {  // FB-202
  stepped_kernel b;
  std::optional<cx> kept;
  bool is_over = false;
  body owner{[&](cx& c) {
    kept = c;  // As a coroutine does: what it refers to lives as long as the task.
    if (is_over) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }};
  body thief{[&](cx&) {
    EXPECT_EQ(kept->checkpoint(), status::ok);
    return poll_result::ready;
  }};
  const task_handle first = b.spawn(owner);
  EXPECT_TRUE(b.dispatch_one(0));
  const task_handle second = b.spawn(thief);
  EXPECT_TRUE(b.dispatch_one(1));
  EXPECT_EQ(
      b.g().report(),
      "ghosts: 1 violation, 0 notes\n"
      "  foreign_use 1\n"
      "FB-202  foreign_use  task 1 its cx was used by a worker that did not dispatch it (worker 0 owns it), by task "
      "2, worker 1, after event 10\n");
  is_over = true;
  b.k.waker_of(first).wake();
  EXPECT_TRUE(b.dispatch_one(0));
  EXPECT_EQ(b.k.release_task(first), status::ok);
  EXPECT_EQ(b.k.release_task(second), status::ok);
}

// ---- determinism --------------------------------------------------------------------------------------------------

// A task that yields until its last round. In one round it enters a mask, if it is asked to: one event more.
std::vector<digest_checkpoint> run_rounds(stepped_kernel& b, int rounds, int differs_at = -1) {
  int polls = 0;
  body run{[&](cx& c) {
    if (++polls == differs_at) static_cast<void>(c.mask_enter());
    if (polls == rounds) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  const task_handle t = b.spawn(run);
  while (b.dispatch_one(0)) {
  }
  EXPECT_EQ(b.k.release_task(t), status::ok);
  return {b.g().digests().begin(), b.g().digests().end()};
}

TEST(ghost_ledgers, find_two_equal_runs_equal_and_name_the_first_checkpoint_that_differs) {  // FB-015
  stepped_kernel first;
  const std::vector<digest_checkpoint> expected = run_rounds(first, 2000);
  ASSERT_GE(expected.size(), 4U);
  for (const digest_checkpoint& c : expected) EXPECT_GE(c.seq, ghosts::first_stride);

  stepped_kernel same;
  same.g().expect_digests(expected);
  EXPECT_EQ(run_rounds(same, 2000), expected);
  EXPECT_EQ(same.g().violations(), 0U);
  EXPECT_EQ(same.g().difference(), nullptr);
  EXPECT_TRUE(same.g().expect_digest(first.log.seq(), first.log.digest()));

  stepped_kernel other;
  other.g().expect_digests(expected);
  const std::vector<digest_checkpoint> found = run_rounds(other, 2000, 700);
  EXPECT_EQ(found[0], expected[0]);
  EXPECT_EQ(found[1], expected[1]);
  ASSERT_NE(found[2], expected[2]);
  ASSERT_NE(other.g().difference(), nullptr);
  EXPECT_EQ(other.g().difference()->expected, expected[2]);
  EXPECT_EQ(other.g().count(ghost_kind::nondeterminism), 1U);
  const auto hex = [](const digest_checkpoint& c) { return std::string(c.digest.hex().data(), 32); };
  const digest_difference d = *other.g().difference();
  EXPECT_EQ(other.g().report(),
            "ghosts: 1 violation, 0 notes\n"
            "  nondeterminism 1\n"
            "FB-015  nondeterminism  event " +
                std::to_string(d.expected.seq) +
                " the digest differs from the earlier run's, by the host, worker 0, after event " +
                std::to_string(d.found.seq) + "\n  expected " + hex(d.expected) + " at event " +
                std::to_string(d.expected.seq) + "\n  found    " + hex(d.found) + " at event " +
                std::to_string(d.found.seq) + "\n");
  EXPECT_FALSE(other.g().expect_digest(first.log.seq(), first.log.digest()));
  EXPECT_EQ(other.g().count(ghost_kind::nondeterminism), 1U) << "only the first difference is told";
}

TEST(ghost_ledgers, keep_checkpoints_over_a_run_of_any_length_by_doubling_their_distance) {
  resource_contract limits = resource_contract::tiny();
  limits.max_ghost_entries = 8;
  stepped_kernel first(ghost_mode::on, limits);
  const std::vector<digest_checkpoint> kept = run_rounds(first, 20'000);
  ASSERT_LE(kept.size(), 8U);
  ASSERT_GE(kept.size(), 4U);
  const std::uint64_t distance = kept[1].seq - kept[0].seq;
  EXPECT_GT(distance, 4 * ghosts::first_stride);
  for (std::size_t i = 2; i < kept.size(); ++i) {
    EXPECT_LE(kept[i].seq - kept[i - 1].seq, distance + 16);
    EXPECT_GE(kept[i].seq - kept[i - 1].seq + 16, distance);
  }
  stepped_kernel same;
  same.g().expect_digests(kept);
  static_cast<void>(run_rounds(same, 20'000));
  EXPECT_EQ(same.g().violations(), 0U) << "another profile's own checkpoints do not matter";
}

}  // namespace
}  // namespace asx
