// Threads that are no workers, on a runtime that has some: what they set off runs on them, and they find their standing
// in it. Run it under the thread sanitizer as well.
#include <gtest/gtest.h>

#include <thread>

#include "asx/kernel/kernel.hpp"
#include "asx/runtime/drive_workers.hpp"

namespace {

using namespace asx;

struct seen {
  threaded_runtime* home = nullptr;
  status spawned = status::invalid_argument;
  status run = status::ok;
  int polls = 0;

  static poll_result poll(void* self, cx&) {
    ++static_cast<seen*>(self)->polls;
    return poll_result::ready;
  }
  static status finalize(void* self, region_handle region, kernel& k) {
    auto& s = *static_cast<seen*>(self);
    task_handle unused;
    s.spawned = k.spawn(region, {.poll = &poll, .context = self}, unused);
    s.run = (*s.home)->run_until_idle().ended;
    return status::ok;
  }
};

region_handle must_open(threaded_runtime& rt) {
  region_handle out;
  region_spec spec;
  spec.is_held = true;
  EXPECT_EQ(rt->kernel().create_region(rt->root(), spec, out), status::ok);
  return out;
}

TEST(strangers_stress, a_finalizer_on_a_stranger_is_a_finalizer) {
  threaded_runtime rt({.workers = 2});
  kernel& k = rt->kernel();
  seen s;
  s.home = &rt;
  const region_handle room = must_open(rt);
  ASSERT_EQ(k.add_finalizer(room, &seen::finalize, &s), status::ok);
  std::thread([&] { EXPECT_EQ(k.close(room), status::ok); }).join();
  EXPECT_EQ(s.spawned, status::ok);
  EXPECT_EQ(s.run, status::reentrant);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(s.polls, 1);
  EXPECT_EQ(k.release_region(room), status::ok);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

TEST(strangers_stress, a_finalizer_on_a_stranger_may_set_off_another) {
  threaded_runtime rt({.workers = 2});
  kernel& k = rt->kernel();
  seen inner;
  inner.home = &rt;
  struct outer_type {
    region_handle inner_room;
    seen self;
  } outer{must_open(rt), {}};
  outer.self.home = &rt;
  const region_handle room = must_open(rt);
  ASSERT_EQ(k.add_finalizer(outer.inner_room, &seen::finalize, &inner), status::ok);
  ASSERT_EQ(k.add_finalizer(
                room,
                [](void* self, region_handle region, kernel& in) {
                  auto& o = *static_cast<outer_type*>(self);
                  EXPECT_EQ(in.close(o.inner_room), status::ok);
                  return seen::finalize(&o.self, region, in);  // And it is still the one that it was.
                },
                &outer),
            status::ok);
  std::thread([&] { EXPECT_EQ(k.close(room), status::ok); }).join();
  EXPECT_EQ(outer.self.spawned, status::ok);
  EXPECT_EQ(inner.spawned, status::ok);
  EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
  EXPECT_EQ(k.release_region(room), status::ok);
  EXPECT_EQ(k.release_region(outer.inner_room), status::ok);
  EXPECT_TRUE(rt->shutdown().is_quiescent());
}

}  // namespace
