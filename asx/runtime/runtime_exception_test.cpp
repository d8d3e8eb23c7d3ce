// What becomes of exceptions that leave user code: they never cross the kernel (U-14, U-25, R-15).
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

poll_result throws(void*, cx&) {
  throw std::runtime_error("no such order");
}
poll_result throws_a_number(void*, cx&) {
  throw 42;
}

TEST(runtime_exceptions, become_a_panic_with_their_text) {
  runtime rt;
  task_handle t;
  task_spec spec{.poll = throws};
  spec.is_held = true;
  ASSERT_EQ(rt.kernel().spawn(rt.root(), spec, t), status::ok);
  rt.run_until_idle();
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(t, out), status::ok);
  ASSERT_TRUE(out.is_panicked());
  EXPECT_EQ(out.panic().text, "no such order");
  EXPECT_EQ(rt.kernel().release_task(t), status::ok);
}

TEST(runtime_exceptions, that_are_no_exceptions_become_one_too) {
  runtime rt;
  region_handle region;
  region_spec spec;
  spec.is_held = true;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), spec, region), status::ok);
  task_handle t;
  ASSERT_EQ(rt.kernel().spawn(region, {.poll = throws_a_number}, t), status::ok);
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(region, out), status::ok);
  EXPECT_TRUE(out.is_panicked());
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

TEST(runtime_exceptions, in_cleanup_and_finalizers_stop_neither_unwinding_nor_the_close) {
  runtime rt;
  static int undone;
  undone = 0;
  region_handle region;
  region_spec spec;
  spec.is_held = true;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), spec, region), status::ok);
  ASSERT_EQ(rt.kernel().add_finalizer(
                region, [](void*, region_handle, kernel&) { return ++undone, status::ok; }, nullptr),
            status::ok);
  ASSERT_EQ(rt.kernel().add_finalizer(
                region, [](void*, region_handle, kernel&) -> status { throw std::runtime_error("x"); }, nullptr),
            status::ok);
  task_handle t;
  const poll_function pushes = [](void*, cx& c) {
    EXPECT_EQ(c.push_cleanup([](void*) { return ++undone, status::ok; }, nullptr), status::ok);
    EXPECT_EQ(c.push_cleanup([](void*) -> status { throw std::runtime_error("y"); }, nullptr), status::ok);
    return poll_result::ready;
  };
  ASSERT_EQ(rt.kernel().spawn(region, {.poll = pushes}, t), status::ok);
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  EXPECT_EQ(undone, 2);
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(region, out), status::ok);
  EXPECT_TRUE(out.is_panicked());
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

TEST(runtime_exceptions, of_a_finalizer_leave_their_text_in_the_outcome) {
  runtime rt;
  region_handle region;
  region_spec spec;
  spec.is_held = true;
  ASSERT_EQ(rt.kernel().create_region(rt.root(), spec, region), status::ok);
  const auto throws_too = [](void*, region_handle, kernel&) -> status { throw std::runtime_error("no such shelf"); };
  ASSERT_EQ(rt.kernel().add_finalizer(region, throws_too, nullptr), status::ok);
  ASSERT_EQ(rt.kernel().close(region), status::ok);
  task_outcome out;
  ASSERT_EQ(rt.kernel().result(region, out), status::ok);
  ASSERT_TRUE(out.is_panicked());
  EXPECT_EQ(out.panic().text, "no such shelf");
  EXPECT_EQ(rt.kernel().release_region(region), status::ok);
}

}  // namespace
}  // namespace asx
