// The list of tasks: who is alive, in which state, what it waits for, where it belongs.
#include <gtest/gtest.h>

#include <string>

#include "asx/kernel/report.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::must_create;
using testing::must_spawn;

TEST(describe_tasks, names_each_live_task_with_what_it_waits_for_and_its_region) {
  runtime rt;
  slab_key timer;
  foreign_handle h;
  body sleeps{[&](cx& c) {
    if (timer == slab_key{}) {
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::seconds(5), timer), status::ok);
    }
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  body waits{[](cx& c) {
    static_cast<void>(c.get_waker());
    return c.checkpoint() == status::ok ? poll_result::pending : poll_result::ready;
  }};
  body ends{[](cx&) { return poll_result::ready; }};
  std::string seen;
  body looks{[&](cx& c) {
    seen = describe_tasks(c.kernel());
    return poll_result::ready;
  }};
  const region_handle inner = must_create(rt, rt.root(), "connection");
  must_spawn(rt, rt.root(), sleeps, "sleeper", false);
  must_spawn(rt, inner, waits, "reader", false);
  must_spawn(rt, inner, ends, "gone", false);
  rt.run_until_idle();
  const std::uint64_t hash = rt.kernel().state_hash();
  const std::string text = describe_tasks(rt.kernel());
  EXPECT_EQ(rt.kernel().state_hash(), hash) << "looking changes nothing";
  EXPECT_EQ(text.rfind("2 tasks\n", 0), 0U) << text;
  EXPECT_NE(text.find("task 1 'sleeper'  running, waits for timer"), std::string::npos) << text;
  EXPECT_NE(text.find("task 2 'reader'  running, waits for a wake"), std::string::npos) << text;
  EXPECT_NE(text.find("program.hpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("in region 2 'connection'\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("gone"), std::string::npos) << text;
  must_spawn(rt, rt.root(), looks, "looker", false);
  rt.run_until_idle();
  EXPECT_NE(seen.find("task 4 'looker'  running, being polled"), std::string::npos) << seen;
  EXPECT_EQ(rt.kernel().release_region(inner), status::ok);
  EXPECT_TRUE(rt.shutdown().is_quiescent());
}

}  // namespace
}  // namespace asx
