// The runtime as a host meets it: what creation refuses, a loop of the host's own, hooks, writers and the log.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

class capi_runtime : public capi_test {
 protected:
  /// What a config with this change is answered with. What is made is destroyed again.
  static asx_status created(const std::function<void(asx_runtime_config&)>& change) {
    asx_runtime_config c;
    EXPECT_EQ(asx_runtime_config_init(&c, sizeof c, ASX_PROFILE_CORE), ASX_OK);
    change(c);
    asx_runtime* made = nullptr;
    const asx_status s = asx_runtime_create(&c, &made);
    if (s == ASX_OK) {
      EXPECT_EQ(asx_runtime_destroy(made), ASX_OK);
    }
    return s;
  }
  std::uint64_t count(std::string_view kind) {
    std::uint64_t size = 0;
    EXPECT_EQ(asx_journal_size(rt, &size), ASX_OK);
    std::vector<asx_event> all(size);
    std::size_t read = 0;
    EXPECT_EQ(asx_journal_read(rt, 0, all.data(), all.size(), &read), ASX_OK);
    std::uint64_t n = 0;
    for (const asx_event& e : all) n += asx_event_kind_name(e.kind) == kind ? 1U : 0U;
    return n;
  }
  asx_step_report step_until_idle() {
    asx_step_report r{};
    r.size = sizeof r;
    for (int i = 0; i < 1000 && !r.is_idle; ++i) EXPECT_EQ(asx_runtime_step(rt, &r), ASX_OK);
    EXPECT_TRUE(r.is_idle);
    return r;
  }
  void log_to_lines(asx_runtime_config& c) {
    c.log = {this, [](void* self, asx_log_level, const char* line) {
               static_cast<capi_runtime*>(self)->lines.emplace_back(line);
             }};
  }

  std::vector<std::string> lines;
};

/// Memory that is refused from the k-th request on.
struct refusing {
  std::uint64_t left = 0;
  std::uint64_t out = 0;

  asx_memory hooks() {
    return {this,
            [](void* self, std::size_t bytes, std::size_t alignment) -> void* {
              auto& m = *static_cast<refusing*>(self);
              if (m.left == 0) return nullptr;
              --m.left;
              ++m.out;
              return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
            },
            [](void* self, void* block, std::size_t, std::size_t) {
              --static_cast<refusing*>(self)->out;
              std::free(block);
            }};
  }
};

/// A file that nobody sees.
class scratch_file {
 public:
  scratch_file() : file_(std::tmpfile()) {}
  ~scratch_file() { std::fclose(file_); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  [[nodiscard]] int descriptor() const { return fileno(file_); }
  [[nodiscard]] long size() const { return static_cast<long>(::lseek(descriptor(), 0, SEEK_END)); }

 private:
  std::FILE* file_;
};

// ---- creation -----------------------------------------------------------------------------------------------------

TEST_F(capi_runtime, a_writer_is_for_one_runtime) {
  const scratch_file file;
  asx_journal_writer* w = nullptr;
  ASSERT_EQ(asx_journal_writer_open(file.descriptor(), ASX_PROFILE_CORE, 0, nullptr, &w), ASX_OK);
  const auto with_it = [&](asx_runtime_config& c) { c.writer = w; };
  start(with_it);
  EXPECT_EQ(created(with_it), ASX_E_INVALID_ARGUMENT) << "it is in use";
  EXPECT_EQ(asx_journal_writer_close(w), ASX_E_REENTRANT);
  start();
  EXPECT_EQ(created(with_it), ASX_E_INVALID_ARGUMENT) << "it is spent: a journal has one run";
  EXPECT_EQ(asx_journal_writer_close(w), ASX_OK);
}

TEST_F(capi_runtime, a_refused_creation_tells_nobody_and_leaves_the_writer_fresh) {
  const scratch_file file;
  asx_journal_writer* w = nullptr;
  ASSERT_EQ(asx_journal_writer_open(file.descriptor(), ASX_PROFILE_CORE, 0, nullptr, &w), ASX_OK);
  const long header = file.size();
  std::uint64_t told = 0;
  std::uint64_t refused = 0;
  asx_status s = ASX_E_RESOURCE_EXHAUSTED;
  for (std::uint64_t k = 0; s != ASX_OK && k < 1000; ++k) {
    refusing memory{.left = k};
    asx_runtime_config c;
    ASSERT_EQ(asx_runtime_config_init(&c, sizeof c, ASX_PROFILE_TINY), ASX_OK);
    c.memory = memory.hooks();
    c.writer = w;
    c.sink = {&told, [](void* n, const asx_event*, std::size_t) { ++*static_cast<std::uint64_t*>(n); }};
    c.log = {&told, [](void* n, asx_log_level, const char*) { ++*static_cast<std::uint64_t*>(n); }};
    asx_runtime* made = nullptr;
    s = asx_runtime_create(&c, &made);
    if (s == ASX_OK) {
      EXPECT_EQ(asx_runtime_destroy(made), ASX_OK);
    } else {
      ++refused;
      EXPECT_EQ(s, ASX_E_RESOURCE_EXHAUSTED);
      EXPECT_EQ(told, 0U) << "at request " << k;
      EXPECT_EQ(file.size(), header);
    }
    EXPECT_EQ(memory.out, 0U);
  }
  EXPECT_EQ(s, ASX_OK);
  EXPECT_GT(refused, 10U);
  EXPECT_GT(told, 0U);
  EXPECT_EQ(asx_journal_writer_close(w), ASX_OK);
}

TEST_F(capi_runtime, who_wants_to_be_told_needs_a_whole_journal) {
  const scratch_file file;
  asx_journal_writer* w = nullptr;
  ASSERT_EQ(asx_journal_writer_open(file.descriptor(), ASX_PROFILE_CORE, 0, nullptr, &w), ASX_OK);
  for (const asx_journal_mode mode : {ASX_JOURNAL_OFF, ASX_JOURNAL_DIGEST_ONLY}) {
    EXPECT_EQ(created([&](asx_runtime_config& c) { c.journaling = mode; }), ASX_OK);
    EXPECT_EQ(created([&](asx_runtime_config& c) {
                c.journaling = mode;
                c.sink.take = [](void*, const asx_event*, std::size_t) {};
              }),
              ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(created([&](asx_runtime_config& c) {
                c.journaling = mode;
                c.log.log = [](void*, asx_log_level, const char*) {};
              }),
              ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(created([&](asx_runtime_config& c) {
                c.journaling = mode;
                c.writer = w;
              }),
              ASX_E_INVALID_ARGUMENT);
  }
  EXPECT_EQ(asx_journal_writer_close(w), ASX_OK);
}

TEST_F(capi_runtime, a_trace_that_rejects_has_room_for_a_run_and_an_end) {
  const auto with = [](std::uint64_t events, asx_journal_mode mode) {
    return [=](asx_runtime_config& c) {
      c.contract.overflow = ASX_TRACE_REJECT;
      c.contract.max_trace_events = events;
      c.journaling = mode;
    };
  };
  EXPECT_EQ(created(with(ASX_MIN_REJECTING_TRACE - 1, ASX_JOURNAL_FULL)), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(created(with(1, ASX_JOURNAL_OFF)), ASX_OK) << "nothing is kept";
  start(with(ASX_MIN_REJECTING_TRACE, ASX_JOURNAL_FULL));
  int polls = 0;
  spawn([&](asx_cx*) { return ++polls, ASX_POLL_READY; }, false);
  run();
  EXPECT_EQ(polls, 1);
  EXPECT_EQ(asx_runtime_shutdown(rt, 0, 1000, nullptr), ASX_OK);
}

TEST_F(capi_runtime, a_struct_is_whole_or_newer_and_nothing_in_between) {
  constexpr std::size_t size = sizeof(asx_runtime_config);
  struct newer {
    asx_runtime_config known;
    std::uint64_t tail[4];
  } c{};
  for (std::size_t s = 0; s < size; ++s) {
    ASSERT_EQ(asx_runtime_config_init(&c.known, s, ASX_PROFILE_CORE), ASX_E_INVALID_ARGUMENT) << s;
  }
  ASSERT_EQ(asx_runtime_config_init(&c.known, sizeof c, ASX_PROFILE_CORE), ASX_OK);
  asx_runtime* made = nullptr;
  ASSERT_EQ(asx_runtime_create(&c.known, &made), ASX_OK);
  EXPECT_EQ(asx_runtime_destroy(made), ASX_OK);
  c.tail[3] = 1;
  EXPECT_EQ(asx_runtime_create(&c.known, &made), ASX_E_VERSION);
  c.tail[3] = 0;
  for (std::size_t s = 0; s < size; ++s) {
    c.known.size = s;
    ASSERT_EQ(asx_runtime_create(&c.known, &made), ASX_E_INVALID_ARGUMENT) << s;
  }
  c.known.size = SIZE_MAX;
  EXPECT_EQ(asx_runtime_create(&c.known, &made), ASX_E_VERSION) << "and nothing beyond 64 KiB was looked at";
  c.known.size = size;
  for (std::uint32_t& word : c.known.contract.reserved) {
    word = 1;
    EXPECT_EQ(asx_runtime_create(&c.known, &made), ASX_E_VERSION);
    word = 0;
  }
}

TEST_F(capi_runtime, the_unknown_part_of_a_report_is_zero) {
  struct newer {
    asx_runtime_report known;
    unsigned char tail[24];
  } r;
  std::memset(&r, 0xee, sizeof r);
  r.known.size = sizeof r;
  ASSERT_EQ(asx_runtime_inspect(rt, &r.known), ASX_OK);
  EXPECT_EQ(r.known.size, sizeof r);
  for (const unsigned char byte : r.tail) EXPECT_EQ(byte, 0);
  for (const std::size_t s : {std::size_t{0}, sizeof(asx_runtime_report) - 1, std::size_t{65537}, SIZE_MAX}) {
    r.known.size = s;
    EXPECT_EQ(asx_runtime_inspect(rt, &r.known), ASX_E_INVALID_ARGUMENT) << s;
  }
  asx_step_report step{};
  step.size = sizeof step - 1;
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_runtime_step(rt, &step), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(hash(), before);
}

TEST_F(capi_runtime, the_ranges_are_those_that_stand_at_the_fields) {
  using config = asx_runtime_config;
  const std::function<void(config&)> fine[] = {
      [](config& c) { c.contract.max_tasks = 0; },
      [](config& c) { c.contract.max_tasks = 1U << 28; },
      [](config& c) { c.contract.max_regions = 1; },
      [](config& c) { c.contract.max_channels = UINT32_MAX; },
      [](config& c) { c.contract.max_waits = c.contract.max_senders = 0; },
      [](config& c) { c.contract.cause_message_bytes = 4008; },
      [](config& c) { c.contract.max_trace_events = 1; },
      [](config& c) { c.cancel_streak_limit = UINT32_MAX / 2; },
      [](config& c) { c.timed_streak_limit = UINT32_MAX; },
      [](config& c) { c.foreign_grace_ns = UINT64_MAX; },
  };
  for (std::size_t i = 0; i < std::size(fine); ++i) EXPECT_EQ(created(fine[i]), ASX_OK) << i;
  const std::function<void(config&)> wrong[] = {
      [](config& c) { c.contract.version = 2; },
      [](config& c) { c.contract.max_tasks = (1U << 28) + 1; },
      [](config& c) { c.contract.max_regions = 0; },
      [](config& c) { c.contract.max_timers = (1U << 28) + 1; },
      [](config& c) { c.contract.cause_message_bytes = 4009; },
      [](config& c) { c.contract.max_trace_events = 0; },
      [](config& c) { c.contract.max_trace_events = SIZE_MAX / 64 + 1; },
      [](config& c) { c.workers = 0; },
      [](config& c) { c.workers = 65536; },
      [](config& c) { c.cancel_streak_limit = 0; },
      [](config& c) { c.cancel_streak_limit = UINT32_MAX / 2 + 1; },
      [](config& c) { c.clock_kind = ASX_CLOCK_HOST; },
      [](config& c) { c.memory.allocate = [](void*, std::size_t, std::size_t) -> void* { return nullptr; }; },
  };
  for (std::size_t i = 0; i < std::size(wrong); ++i) EXPECT_EQ(created(wrong[i]), ASX_E_INVALID_ARGUMENT) << i;
}

// ---- a loop of the host's own -------------------------------------------------------------------------------------

TEST_F(capi_runtime, a_host_that_steps_meets_the_end_of_a_grace) {
  start([](asx_runtime_config& c) { c.foreign_grace_ns = ASX_SECOND; });
  const asx_task_handle t = spawn([](asx_cx* cx) {
    const asx_status s = asx_cx_mask(cx);  // It does not hear of a cancel.
    return s == ASX_OK && asx_sleep_for(cx, 3600 * ASX_SECOND) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
  });
  asx_foreign_handle h{};
  ASSERT_EQ(asx_foreign_open(rt, t, &h), ASX_OK);
  step_until_idle();
  asx_foreign_shut_down(&h);
  asx_foreign_drop(&h);
  const asx_step_report idle = step_until_idle();
  asx_time due = 0;
  ASSERT_EQ(asx_runtime_next_deadline(rt, &due), ASX_OK);
  EXPECT_EQ(due, ASX_SECOND);
  EXPECT_EQ(idle.park_until, ASX_SECOND);
  asx_runtime_report r{};
  r.size = sizeof r;
  ASSERT_EQ(asx_runtime_inspect(rt, &r), ASX_OK);
  EXPECT_EQ(r.next_deadline, ASX_SECOND);
  EXPECT_EQ(count("shutdown_strengthened"), 0U);
  ASSERT_EQ(asx_runtime_advance(rt, ASX_SECOND), ASX_OK);
  step_until_idle();
  EXPECT_EQ(count("shutdown_strengthened"), 1U);
  EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
}

TEST_F(capi_runtime, a_full_trace_refuses_a_step_and_a_note) {
  start([](asx_runtime_config& c) {
    c.contract.overflow = ASX_TRACE_REJECT;
    c.contract.max_trace_events = ASX_MIN_REJECTING_TRACE;
  });
  int polls = 0;
  spawn(
      [&](asx_cx* cx) {
        ++polls;
        if (asx_checkpoint(cx) != ASX_OK) return ASX_POLL_READY;
        static_cast<void>(asx_cx_yield(cx));
        return ASX_POLL_PENDING;
      },
      false);
  asx_status s = ASX_OK;
  for (int i = 0; i < 1000 && s == ASX_OK; ++i) s = asx_runtime_step(rt, nullptr);
  EXPECT_EQ(s, ASX_E_RESOURCE_EXHAUSTED);
  const int before = polls;
  EXPECT_EQ(asx_runtime_step(rt, nullptr), ASX_E_RESOURCE_EXHAUSTED);
  EXPECT_EQ(asx_runtime_step_worker(rt, 0, nullptr), ASX_E_RESOURCE_EXHAUSTED);
  EXPECT_EQ(polls, before);
  s = ASX_OK;
  for (int i = 0; i < 1000 && s == ASX_OK; ++i) s = asx_journal_note_law(rt, 1, ASX_OK, 0);
  EXPECT_EQ(s, ASX_E_RESOURCE_EXHAUSTED);
  std::uint64_t size = 0;
  ASSERT_EQ(asx_journal_size(rt, &size), ASX_OK);
  EXPECT_EQ(size, ASX_MIN_REJECTING_TRACE);
  EXPECT_EQ(count("runtime_started"), 1U) << "the first event is kept still";
  EXPECT_EQ(asx_journal_discard(rt, UINT64_MAX), ASX_OK);
  EXPECT_EQ(asx_runtime_step(rt, nullptr), ASX_OK);
  EXPECT_EQ(asx_journal_discard(rt, UINT64_MAX), ASX_OK);
  ASSERT_EQ(asx_runtime_destroy(rt), ASX_OK);  // Before what its task counts in.
  rt = nullptr;
}

TEST_F(capi_runtime, a_host_clock_that_stands_still_holds_no_run) {
  int parks = 0;
  start([&parks](asx_runtime_config& c) {
    c.clock_kind = ASX_CLOCK_HOST;
    // It moves at last, so that a run which does wait for it is seen here, and does not hang.
    c.clock = {&parks, [](void* n) { return *static_cast<int*>(n) < 1000 ? asx_time{5} : 3600 * ASX_SECOND; }};
    c.park.context = &parks;
    c.park.park = [](void* n, asx_time, asx_time) { ++*static_cast<int*>(n); };
  });
  spawn(
      [](asx_cx* cx) { return asx_sleep_for(cx, ASX_SECOND) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY; },
      false);
  EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 10, nullptr), ASX_E_STEP_LIMIT);
  EXPECT_EQ(asx_runtime_shutdown(rt, ASX_MILLISECOND, 100, nullptr), ASX_OK);
}

TEST_F(capi_runtime, a_loop_without_a_park_is_woken_by_its_unpark) {
  struct loop {
    asx_runtime* rt = nullptr;
    int rings = 0;
    asx_status inside = ASX_OK;
  } host;
  start([&](asx_runtime_config& c) {
    c.clock_kind = ASX_CLOCK_MACHINE;
    c.park.context = &host;
    c.park.unpark = [](void* self) {
      auto& l = *static_cast<loop*>(self);
      ++l.rings;
      asx_time now = 0;
      l.inside = asx_runtime_now(l.rt, &now);
    };
  });
  host.rt = rt;
  int polls = 0;
  const asx_task_handle t = spawn([&](asx_cx* cx) {
    if (++polls == 2) return ASX_POLL_READY;
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
    return ASX_POLL_PENDING;
  });
  asx_foreign_handle h{};
  ASSERT_EQ(asx_foreign_open(rt, t, &h), ASX_OK);
  step_until_idle();
  EXPECT_EQ(host.rings, 0);
  asx_foreign_wake(&h);
  EXPECT_EQ(host.rings, 1);
  EXPECT_EQ(host.inside, ASX_E_REENTRANT) << "a hook, on the runtime's own thread too";
  step_until_idle();
  EXPECT_EQ(polls, 2);
  asx_foreign_drop(&h);
  EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
  in_poll([](asx_cx*) {});
  spawn(
      [slept = false](asx_cx* cx) mutable {
        if (std::exchange(slept, true)) return ASX_POLL_READY;
        return asx_sleep_for(cx, ASX_MILLISECOND) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
      },
      false);
  run();  // It sleeps by itself.
}

TEST_F(capi_runtime, a_park_that_nobody_can_end_has_no_foreign_handles) {
  start([](asx_runtime_config& c) { c.park.park = [](void*, asx_time, asx_time) {}; });
  const asx_task_handle t = spawn([](asx_cx*) { return ASX_POLL_READY; });
  asx_foreign_handle h{};
  EXPECT_EQ(asx_foreign_open(rt, t, &h), ASX_E_INVALID_ARGUMENT);
  run();
  EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
}

// ---- what is told -------------------------------------------------------------------------------------------------

TEST_F(capi_runtime, a_report_comes_in_pieces_that_ask_for_no_memory) {
  std::vector<asx_task_handle> tasks;
  for (int i = 0; i < 60; ++i) tasks.push_back(spawn([](asx_cx*) { return ASX_POLL_READY; }));
  struct taker {
    asx_runtime* rt;
    std::string all;
    std::size_t largest = 0;
    asx_status inside = ASX_OK;
  } to{rt, {}};
  const asx_text_fn put = [](void* self, const char* text, std::size_t size) {
    auto& p = *static_cast<taker*>(self);
    p.all.append(text, size);
    p.largest = std::max(p.largest, size);
    asx_time now = 0;
    p.inside = asx_runtime_now(p.rt, &now);
  };
  ASSERT_EQ(asx_runtime_describe(rt, put, &to), ASX_OK);
  EXPECT_EQ(to.inside, ASX_E_REENTRANT);
  EXPECT_LE(to.largest, 512U);
  EXPECT_EQ(to.all.find("region 1 root"), 0U);
  EXPECT_NE(to.all.find("task 60  created, queued"), std::string::npos) << to.all;
  to.all.clear();
  ASSERT_EQ(asx_runtime_describe_json(rt, put, &to), ASX_OK);
  EXPECT_LE(to.largest, 512U);
  EXPECT_EQ(to.all.front(), '{');
  EXPECT_EQ(to.all.back(), '}');
  run();
  for (const asx_task_handle t : tasks) EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
}

TEST_F(capi_runtime, a_line_of_the_log_says_who_and_what_before_the_run_returns) {
  start([this](asx_runtime_config& c) { log_to_lines(c); });
  const std::string text(100, 'x');
  bodies.push_back(std::make_unique<body>([&](asx_cx* cx) {
    EXPECT_EQ(asx_cx_panic(cx, text.c_str()), ASX_OK);
    return ASX_POLL_READY;
  }));
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = &poll_body;
  spec.context = bodies.back().get();
  spec.name = "worker-7 of the long table";
  for (int i = 0; i < 12; ++i) {  // At every place of a batch.
    lines.clear();
    ASSERT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_OK);
    ASSERT_EQ(asx_runtime_run_until_idle(rt, 100, nullptr), ASX_OK);
    const std::string who = "task " + std::to_string(i + 1) + " 'worker-7 of the long ta'";
    EXPECT_EQ(lines, std::vector<std::string>{who + " panicked: " + text});
  }
}

TEST_F(capi_runtime, a_line_of_the_log_names_the_limit_that_was_met) {
  start([this](asx_runtime_config& c) {
    log_to_lines(c);
    c.contract.max_tasks = 1;
  });
  const asx_task_handle t = spawn([](asx_cx*) { return ASX_POLL_READY; });
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
  EXPECT_EQ(asx_task_spawn(rt, root, &spec, nullptr), ASX_E_RESOURCE_EXHAUSTED);
  EXPECT_EQ(asx_journal_settle(rt), ASX_OK);
  EXPECT_EQ(lines, std::vector<std::string>{"spawn by outside refused at region 1: resource_exhausted, tasks 1"});
  run();
  EXPECT_EQ(asx_task_release(rt, t), ASX_OK);
}

TEST_F(capi_runtime, what_a_finalizer_says_in_its_panic_is_kept_and_told) {
  start([this](asx_runtime_config& c) { log_to_lines(c); });
  asx_region_spec spec = ASX_REGION_SPEC_INIT;
  spec.is_held = true;
  spec.name = "orders";
  asx_region_handle region{};
  ASSERT_EQ(asx_region_create(rt, root, &spec, &region), ASX_OK);
  ASSERT_EQ(asx_region_add_finalizer(
                rt, region,
                [](void*, asx_runtime* own, asx_region_handle) {
                  EXPECT_EQ(asx_panic(own, "no room\nfor the log"), ASX_OK);
                  return ASX_OK;
                },
                nullptr, false),
            ASX_OK);
  ASSERT_EQ(asx_region_close(rt, region, ASX_CANCEL_USER, nullptr), ASX_OK);
  run();
  asx_outcome out{};
  ASSERT_EQ(asx_region_outcome(rt, region, &out), ASX_OK);
  EXPECT_EQ(out.kind, ASX_OUTCOME_PANICKED);
  EXPECT_EQ(std::string_view(out.panic.data, out.panic.size), "no room\nfor the log");
  EXPECT_EQ(lines,
            std::vector<std::string>{"finalizer 1 of region 2 'orders' failed: invalid_argument: no room?for the log"});
  EXPECT_EQ(asx_region_release(rt, region), ASX_OK);
}

}  // namespace
}  // namespace asx::capi_testing
