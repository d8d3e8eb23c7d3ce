// asx/runtime/testing/refusals.hpp - holds a refusal to its word: the status, one event, and nothing else changed.
//
// Who asks for admission, for a move of a state or for room is told no in the journal, once. Who only looks, wakes or
// lets go is told by the status alone.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "asx/journal/event_table.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx::testing {

inline std::string name_of(status s) {
  return std::string(find_status(static_cast<std::uint32_t>(s))->name);
}

class refusal_test : public ::testing::Test {
 protected:
  struct body {
    std::function<poll_result(cx&)> run;
    static poll_result poll(void* self, cx& c) { return static_cast<body*>(self)->run(c); }
  };

  /// Refused with `code`, told as one event of `kind` that names the limit.
  template <class Call>
  static void refused(runtime& on, status code, event_kind kind, limit_code limit, Call call) {
    const std::uint64_t hash = on.kernel().state_hash();
    const std::uint64_t seq = on.journal().seq();
    const status s = call();
    EXPECT_EQ(name_of(s), name_of(code));
    EXPECT_EQ(on.kernel().state_hash(), hash) << "a refusal changes nothing (R-139)";
    ASSERT_EQ(on.journal().seq(), seq + 1) << "a refusal says one thing";
    const event e = on.journal().at(on.journal().size() - 1);
    EXPECT_EQ(name(e.kind), name(kind));
    EXPECT_EQ(low_half(e.a), static_cast<std::uint32_t>(code));
    EXPECT_EQ(high_half(e.a), static_cast<std::uint32_t>(limit));
  }
  template <class Call>
  void refused(status code, event_kind kind, Call call) {
    refused(rt, code, kind, limit_code::none, call);
  }
  /// Answered with `code`, without a word in the journal.
  template <class Call>
  static void silent(runtime& on, status code, Call call) {
    const std::uint64_t hash = on.kernel().state_hash();
    const std::uint64_t seq = on.journal().seq();
    EXPECT_EQ(name_of(call()), name_of(code));
    EXPECT_EQ(on.kernel().state_hash(), hash);
    EXPECT_EQ(on.journal().seq(), seq);
  }
  template <class Call>
  void silent(status code, Call call) {
    silent(rt, code, call);
  }

  static void must(status s) { EXPECT_EQ(name_of(s), "ok"); }
  static region_handle make_region(runtime& on, region_handle parent) {
    region_handle out;
    region_spec spec;
    spec.is_held = true;
    EXPECT_EQ(on.kernel().create_region(parent, spec, out), status::ok);
    return out;
  }
  region_handle make_region() { return make_region(rt, rt.root()); }
  task_handle make_task(runtime& on, region_handle region, std::function<poll_result(cx&)> run, bool is_held = true) {
    bodies.push_back({std::move(run)});
    task_handle out;
    task_spec spec{.poll = &body::poll, .context = &bodies.back()};
    spec.is_held = is_held;
    EXPECT_EQ(on.kernel().spawn(region, spec, out), status::ok);
    return out;
  }
  task_handle make_task(region_handle region, std::function<poll_result(cx&)> run, bool is_held = true) {
    return make_task(rt, region, std::move(run), is_held);
  }
  /// Waits until it is told otherwise, and ends at a cancel.
  static poll_result waits(cx& c) {
    if (c.checkpoint() != status::ok) return poll_result::ready;
    static_cast<void>(c.get_waker());
    return poll_result::pending;
  }
  static std::size_t count(runtime& on, event_kind kind) {
    std::size_t out = 0;
    for (std::uint64_t i = 0; i < on.journal().size(); ++i) out += on.journal().at(i).kind == kind ? 1U : 0U;
    return out;
  }
  [[nodiscard]] region_state state_of(region_handle r) {
    region_report out;
    EXPECT_EQ(rt.kernel().inspect(r, out), status::ok);
    return out.state;
  }
  [[nodiscard]] task_state state_of(task_handle t) {
    task_report out;
    EXPECT_EQ(rt.kernel().inspect(t, out), status::ok);
    return out.state;
  }

  std::deque<body> bodies;  // Outlives the runtime that polls them.
  runtime rt;
  kernel& k = rt.kernel();
};

}  // namespace asx::testing
