// Links among threads: an end on one worker and a link on another are in one order, and nobody who should hear of it
// goes on. Whoever would not be told waits for ever, and the round hangs.
#include "tests/stress/workers.hpp"

#include <vector>

namespace asx::stress {
namespace {

task<> ends_soon(cx, std::uint64_t yields, bool is_ok) {
  for (std::uint64_t i = 0; i < yields; ++i) co_await yield();
  if (!is_ok) co_await fail(status::io);
}
task<> waits(cx c) {
  auto made = channel<int>(c, 1);
  static_cast<void>(co_await recv(made.rx));
}

TEST(workers_link_stress, one_that_ends_while_it_is_linked_is_heard_of_once) {
  play_rounds(40, [](cx c, std::uint64_t round) -> task<> {
    co_await region(c, {.policy = region_policy::body_decides}, [round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 8; ++i) {
        auto first = co_await start(r, waits);
        auto ended = co_await start(r, ends_soon, (round + i) % 5, false);
        if (i % 3 == 0) co_await yield();
        auto last = co_await start(r, waits);
        EXPECT_EQ(link(first, ended, last), status::ok);
        EXPECT_TRUE((co_await join(ended)).is_err());
        for (auto* const other : {&first, &last}) {
          const auto how = co_await join(*other);
          EXPECT_TRUE(how.is_cancelled());
          EXPECT_EQ(how.cancelled_by().reason.kind, cancel_kind::linked_exit);
        }
      }
    });
  });
}

// A ring: each is linked with the next, and they end at the same time, some of them well.
TEST(workers_link_stress, many_that_end_at_once_leave_nothing_behind) {
  play_rounds(40, [](cx c, std::uint64_t round) -> task<> {
    co_await region(c, {.policy = region_policy::body_decides}, [round](cx r) -> task<> {
      std::vector<join_handle<>> all;
      for (std::uint64_t i = 0; i < 12; ++i) {
        all.push_back(co_await start(r, ends_soon, (round * 7 + i * 3) % 6, i % 4 != 0));
        if (i != 0) {
          EXPECT_EQ(link(i % 2 == 0 ? link_policy::any_end : link_policy::not_ok, all[i], all[i - 1]), status::ok);
        }
      }
      EXPECT_EQ(link(all[0], all[5], all[11]), status::ok);
      for (auto& one : all) static_cast<void>(co_await join(one));
    });
  });
}

}  // namespace
}  // namespace asx::stress
