// Every function of the C interface with arguments that make no sense: a status, and nothing has changed.
#include <functional>
#include <string>
#include <vector>

#include "asx/capi/detail/state.hpp"
#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

struct right_call {
  std::string name;
  std::function<asx_status(asx_runtime*)> make;  // With arguments that are right but for the runtime.
};

class capi_arguments : public capi_test {
 protected:
  // Everything that takes a runtime, or an end that names one. None of them changes anything but a refused one's event.
  std::vector<right_call> calls() {
    return {
        {"step", [](asx_runtime* r) { return asx_runtime_step(r, nullptr); }},
        {"step_worker", [](asx_runtime* r) { return asx_runtime_step_worker(r, 0, nullptr); }},
        {"run_until_idle", [](asx_runtime* r) { return asx_runtime_run_until_idle(r, 1, nullptr); }},
        {"run_until_quiescent", [](asx_runtime* r) { return asx_runtime_run_until_quiescent(r, 1, nullptr); }},
        {"next_deadline", [this](asx_runtime* r) { return asx_runtime_next_deadline(r, &time); }},
        {"now", [this](asx_runtime* r) { return asx_runtime_now(r, &time); }},
        {"advance", [](asx_runtime* r) { return asx_runtime_advance(r, 0); }},
        {"begin_shutdown", [](asx_runtime* r) { return asx_runtime_begin_shutdown(r, ASX_CANCEL_USER, nullptr); }},
        {"shutdown", [](asx_runtime* r) { return asx_runtime_shutdown(r, 0, 1, nullptr); }},
        {"check_quiescence", [](asx_runtime* r) { return asx_runtime_check_quiescence(r, nullptr); }},
        {"hold", [](asx_runtime* r) { return asx_runtime_hold(r); }},
        {"unhold", [](asx_runtime* r) { return asx_runtime_unhold(r); }},
        {"inspect",
         [](asx_runtime* r) {
           asx_runtime_report report{};
           report.size = sizeof report;
           return asx_runtime_inspect(r, &report);
         }},
        {"state_hash", [this](asx_runtime* r) { return asx_runtime_state_hash(r, &number); }},
        {"describe", [](asx_runtime* r) { return asx_runtime_describe(r, &put, nullptr); }},
        {"describe_json", [](asx_runtime* r) { return asx_runtime_describe_json(r, &put, nullptr); }},
        {"set_governor", [](asx_runtime* r) { return asx_runtime_set_governor(r, ASX_GOVERNOR_MEET_DEADLINES); }},
        {"certificate",
         [](asx_runtime* r) {
           asx_fairness_certificate c{};
           c.size = sizeof c;
           return asx_runtime_certificate(r, &c);
         }},
        {"reset_certificate", [](asx_runtime* r) { return asx_runtime_reset_certificate(r); }},
        {"journal_digest",
         [](asx_runtime* r) {
           asx_digest d;
           return asx_journal_digest(r, &d);
         }},
        {"journal_size", [this](asx_runtime* r) { return asx_journal_size(r, &number); }},
        {"journal_read",
         [](asx_runtime* r) {
           asx_event e;
           std::size_t count = 0;
           return asx_journal_read(r, 0, &e, 1, &count);
         }},
        {"journal_settle", [](asx_runtime* r) { return asx_journal_settle(r); }},
        {"journal_discard", [](asx_runtime* r) { return asx_journal_discard(r, 0); }},
        {"journal_note_law", [](asx_runtime* r) { return asx_journal_note_law(r, 1, ASX_OK, 0); }},
        {"foreign_open",
         [this](asx_runtime* r) {
           asx_foreign_handle h;
           return asx_foreign_open(r, task, &h);
         }},
        {"region_root", [this](asx_runtime* r) { return asx_region_root(r, &region_out); }},
        {"region_create", [this](asx_runtime* r) { return asx_region_create(r, root, nullptr, &region_out); }},
        {"region_close", [this](asx_runtime* r) { return asx_region_close(r, root, ASX_CANCEL_USER, nullptr); }},
        {"region_begin_close",
         [this](asx_runtime* r) { return asx_region_begin_close(r, root, ASX_CANCEL_USER, nullptr); }},
        {"region_begin_drain", [this](asx_runtime* r) { return asx_region_begin_drain(r, root); }},
        {"region_begin_finalize", [this](asx_runtime* r) { return asx_region_begin_finalize(r, root); }},
        {"region_finish_close", [this](asx_runtime* r) { return asx_region_finish_close(r, root); }},
        {"region_add_finalizer",
         [this](asx_runtime* r) { return asx_region_add_finalizer(r, root, &finalizer, nullptr, false); }},
        {"region_arena",
         [this](asx_runtime* r) {
           void* out = nullptr;
           return asx_region_arena(r, root, 8, 8, &out);
         }},
        {"region_inspect",
         [this](asx_runtime* r) {
           asx_region_report report{};
           report.size = sizeof report;
           return asx_region_inspect(r, root, &report);
         }},
        {"region_outcome", [this](asx_runtime* r) { return asx_region_outcome(r, root, &end); }},
        {"region_release", [this](asx_runtime* r) { return asx_region_release(r, root); }},
        {"task_spawn",
         [this](asx_runtime* r) {
           asx_task_spec spec = ASX_TASK_SPEC_INIT;
           spec.poll = [](void*, asx_cx*) { return ASX_POLL_READY; };
           return asx_task_spawn(r, root, &spec, nullptr);
         }},
        {"task_reserve", [this](asx_runtime* r) { return asx_task_reserve(r, root, &slot); }},
        {"task_commit",
         [](asx_runtime* r) {
           asx_task_spec spec = ASX_TASK_SPEC_INIT;
           return asx_task_commit(r, {0, 0}, &spec, nullptr);
         }},
        {"task_abandon", [](asx_runtime* r) { return asx_task_abandon(r, {0, 0}); }},
        {"task_request_cancel",
         [this](asx_runtime* r) { return asx_task_request_cancel(r, task, ASX_CANCEL_USER, nullptr, nullptr); }},
        {"task_complete",
         [this](asx_runtime* r) {
           const asx_outcome o{};
           return asx_task_complete(r, task, &o);
         }},
        {"task_wake", [this](asx_runtime* r) { return asx_task_wake(r, task); }},
        {"waker_wake", [this](asx_runtime* r) { return asx_waker_wake(r, {task.word, task.generation}); }},
        {"task_inspect",
         [this](asx_runtime* r) {
           asx_task_report report{};
           report.size = sizeof report;
           return asx_task_inspect(r, task, &report);
         }},
        {"task_outcome", [this](asx_runtime* r) { return asx_task_outcome(r, task, &end); }},
        {"task_witness",
         [this](asx_runtime* r) {
           asx_cancel_witness w;
           return asx_task_witness(r, task, &w);
         }},
        {"task_release", [this](asx_runtime* r) { return asx_task_release(r, task); }},
        {"cancel_reason_level",
         [](asx_runtime* r) {
           const asx_cancel_reason head{};
           asx_cancel_reason out;
           return asx_cancel_reason_level(r, &head, 0, &out);
         }},
        {"obligation_reserve", [this](asx_runtime* r) { return asx_obligation_reserve(r, root, &obligation); }},
        {"obligation_commit", [](asx_runtime* r) { return asx_obligation_commit(r, {0, 0}); }},
        {"obligation_abort", [](asx_runtime* r) { return asx_obligation_abort(r, {0, 0}); }},
        {"obligation_inspect",
         [](asx_runtime* r) {
           asx_obligation_state s;
           return asx_obligation_inspect(r, {0, 0}, &s);
         }},
        {"region_add_timer", [this](asx_runtime* r) { return asx_region_add_timer(r, root, 5, &timer); }},
        {"region_cancel_timer", [](asx_runtime* r) { return asx_region_cancel_timer(r, {0, 0}, nullptr); }},
        {"panic", [](asx_runtime* r) { return asx_panic(r, "text"); }},
        {"channel_create", [this](asx_runtime* r) { return asx_channel_create(r, root, 1, nullptr, &tx2, &rx2); }},
        {"channel_clone", [this](asx_runtime* r) { return asx_channel_clone(with(tx, r), &tx2); }},
        {"channel_drop_sender", [this](asx_runtime* r) { return asx_channel_drop_sender(with(tx, r)); }},
        {"channel_drop_receiver", [this](asx_runtime* r) { return asx_channel_drop_receiver(with(rx, r)); }},
        {"channel_inspect_sender",
         [this](asx_runtime* r) {
           asx_channel_report report{};
           report.size = sizeof report;
           return asx_channel_inspect_sender(with(tx, r), &report);
         }},
        {"channel_inspect_receiver",
         [this](asx_runtime* r) {
           asx_channel_report report{};
           report.size = sizeof report;
           return asx_channel_inspect_receiver(with(rx, r), &report);
         }},
        {"channel_of",
         [this](asx_runtime* r) {
           asx_channel_handle channel;
           return asx_channel_of(with(tx, r), &channel);
         }},
        {"channel_try_reserve", [this](asx_runtime* r) { return asx_channel_try_reserve(with(tx, r), &permit); }},
        {"channel_try_send", [this](asx_runtime* r) { return asx_channel_try_send(with(tx, r), nullptr); }},
        {"channel_send_evicting",
         [this](asx_runtime* r) { return asx_channel_send_evicting(with(tx, r), nullptr, nullptr, nullptr); }},
        {"channel_try_recv",
         [this](asx_runtime* r) {
           void* value = nullptr;
           return asx_channel_try_recv(with(rx, r), &value);
         }},
        {"tracked_try_reserve",
         [this](asx_runtime* r) {
           asx_tracked_permit p;
           return asx_tracked_try_reserve(with(tx, r), &root, &p);
         }},
    };
  }

  void SetUp() override {
    capi_test::SetUp();
    task = spawn([](asx_cx* cx) {
      EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
      return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
    });
    ASSERT_EQ(asx_channel_create(rt, root, 2, nullptr, &tx, &rx), ASX_OK);
    ASSERT_EQ(asx_runtime_run_until_idle(rt, 1000, nullptr), ASX_OK);
  }
  void TearDown() override {
    EXPECT_EQ(asx_task_release(rt, task), ASX_OK);
    capi_test::TearDown();
  }

  // Ends that name another runtime; each is used before the next one is asked for.
  asx_channel_sender* with(const asx_channel_sender& of, asx_runtime* r) {
    return &(moved_tx = {r, of.word, of.generation});
  }
  asx_channel_receiver* with(const asx_channel_receiver& of, asx_runtime* r) {
    return &(moved_rx = {r, of.word, of.generation});
  }
  static void put(void*, const char*, std::size_t) {}
  static asx_status finalizer(void*, asx_runtime*, asx_region_handle) { return ASX_OK; }

  asx_task_handle task{};
  asx_channel_sender tx{}, tx2{}, moved_tx{};
  asx_channel_receiver rx{}, rx2{}, moved_rx{};
  asx_send_permit permit{};
  asx_task_slot slot{};
  asx_obligation_handle obligation{};
  asx_timer_handle timer{};
  asx_region_handle region_out{};
  asx_outcome end{};
  asx_time time = 0;
  std::uint64_t number = 0;
};

TEST_F(capi_arguments, a_null_runtime_is_refused) {
  for (const right_call& c : calls()) {
    const bool is_end = c.name.starts_with("channel_") || c.name.starts_with("tracked_");
    const bool is_creation = c.name == "channel_create";
    EXPECT_EQ(c.make(nullptr), is_end && !is_creation ? ASX_E_STALE_HANDLE : ASX_E_INVALID_ARGUMENT) << c.name;
  }
  EXPECT_EQ(asx_runtime_destroy(nullptr), ASX_E_INVALID_ARGUMENT);
}

// The number of the thread is what the port says; a stranger has another one. tests/stress has real strangers.
TEST_F(capi_arguments, another_thread_is_refused_and_changes_nothing) {
  const std::uint64_t before = hash();
  for (const right_call& c : calls()) {
    rt->thread ^= 64;
    EXPECT_EQ(c.make(rt), ASX_E_WRONG_THREAD) << c.name;
    EXPECT_EQ(asx_runtime_destroy(rt), ASX_E_WRONG_THREAD);
    rt->thread ^= 64;
    EXPECT_EQ(hash(), before) << c.name;
  }
}

TEST_F(capi_arguments, a_call_from_inside_a_hook_is_refused_and_changes_nothing) {
  const std::uint64_t before = hash();
  for (const right_call& c : calls()) {
    rt->is_in_hook = true;
    EXPECT_EQ(c.make(rt), ASX_E_REENTRANT) << c.name;
    EXPECT_EQ(asx_runtime_destroy(rt), ASX_E_REENTRANT);
    rt->is_in_hook = false;
    EXPECT_EQ(hash(), before) << c.name;
  }
}

TEST_F(capi_arguments, the_sink_the_log_and_the_panic_hook_are_hooks) {
  struct seen {
    asx_runtime** rt;
    asx_status sink = ASX_OK, log = ASX_OK, panic = ASX_OK;
  } saw{&rt};
  EXPECT_EQ(asx_task_release(rt, task), ASX_OK);
  start([&saw](asx_runtime_config& c) {
    c.sink = {&saw, [](void* s, const asx_event*, std::size_t) {
                auto& self = *static_cast<seen*>(s);
                if (*self.rt != nullptr) self.sink = asx_runtime_step(*self.rt, nullptr);
              }};
    c.log = {&saw, [](void* s, asx_log_level, const char*) {
               auto& self = *static_cast<seen*>(s);
               self.log = asx_runtime_hold(*self.rt);
             }};
    c.panic = {&saw, [](void* s, const char*) {
                 auto& self = *static_cast<seen*>(s);
                 self.panic = asx_runtime_destroy(*self.rt);
               }};
  });
  EXPECT_EQ(asx_obligation_reserve(rt, root, &obligation), ASX_OK);
  EXPECT_EQ(asx_panic(rt, "nobody to blame"), ASX_OK);
  EXPECT_EQ(asx_runtime_shutdown(rt, 0, 1000, nullptr), ASX_OK);
  EXPECT_EQ(saw.sink, ASX_E_REENTRANT);
  EXPECT_EQ(saw.log, ASX_E_REENTRANT);  // Of the leak.
  EXPECT_EQ(saw.panic, ASX_E_REENTRANT);
  ASSERT_EQ(asx_runtime_destroy(rt), ASX_OK);
  rt = nullptr;
  SetUp();
}

TEST_F(capi_arguments, a_run_from_a_poll_is_refused) {
  in_poll([this](asx_cx* cx) {
    EXPECT_EQ(asx_runtime_step(rt, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_step_worker(rt, 0, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_run_until_idle(rt, 9, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 9, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_shutdown(rt, 0, 9, nullptr), ASX_E_REENTRANT);
    EXPECT_EQ(asx_runtime_destroy(rt), ASX_E_REENTRANT);
    asx_task_handle self{};
    EXPECT_EQ(asx_cx_self(cx, &self, nullptr), ASX_OK);
    const asx_outcome ok{};
    EXPECT_EQ(asx_task_complete(rt, self, &ok), ASX_E_REENTRANT);
  });
}

TEST_F(capi_arguments, null_pointers_are_refused_and_change_nothing) {
  const std::uint64_t before = hash();
  EXPECT_EQ(asx_runtime_next_deadline(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_now(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_inspect(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_state_hash(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_describe(rt, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_describe_json(rt, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_certificate(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_digest(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_size(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_read(rt, 0, nullptr, 0, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_writer_open(1, ASX_PROFILE_CORE, 0, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_writer_close(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_foreign_open(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_root(rt, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_create(rt, root, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_add_finalizer(rt, root, nullptr, nullptr, false), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_arena(rt, root, 1, 1, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_inspect(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_outcome(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_spawn(rt, root, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  const asx_task_spec nothing_to_poll = ASX_TASK_SPEC_INIT;
  EXPECT_EQ(asx_task_spawn(rt, root, &nothing_to_poll, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_reserve(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_complete(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_inspect(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_outcome(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_witness(rt, task, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_cancel_reason_level(rt, nullptr, 0, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_obligation_reserve(rt, root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_obligation_inspect(rt, {0, 0}, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_region_add_timer(rt, root, 1, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_create(rt, root, 1, nullptr, nullptr, &rx2), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_create(rt, root, 1, nullptr, &tx2, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_of(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect(rt, {0, 0}, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect(nullptr, {0, 0}, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_clone(nullptr, &tx2), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_clone(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_drop_sender(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_drop_receiver(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect_sender(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_inspect_receiver(&rx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_try_reserve(&tx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_try_send(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_send_evicting(nullptr, nullptr, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_try_recv(&rx, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_channel_stop_receiving(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_send_permit_send(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  asx_send_permit_abort(nullptr);
  EXPECT_FALSE(asx_send_permit_is_held(nullptr));
  EXPECT_EQ(asx_tracked_try_reserve(&tx, &root, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_tracked_send(nullptr, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_tracked_abort(nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_tracked_drop(nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_FALSE(asx_tracked_is_held(nullptr));
  EXPECT_EQ(hash(), before);
}

TEST_F(capi_arguments, the_context_of_a_poll_is_refused_outside_of_it) {
  asx_cx* kept = nullptr;
  in_poll([&kept](asx_cx* cx) { kept = cx; });
  asx_tracked_permit tracked;
  void* value = nullptr;
  for (asx_cx* cx : {kept, static_cast<asx_cx*>(nullptr)}) {
    const std::uint64_t before = hash();
    EXPECT_EQ(asx_checkpoint(cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_FALSE(asx_is_cancelled(cx));
    asx_cancel_reason why;
    EXPECT_EQ(asx_cx_reason(cx, &why), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_self(cx, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_runtime(cx), nullptr);
    EXPECT_EQ(asx_cx_now(cx), ASX_TIME_NONE);
    asx_budget left;
    EXPECT_EQ(asx_cx_budget_left(cx, &left), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_yield(cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_consume(cx, 1), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_mask(cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_unmask(cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_push_cleanup(cx, [](void*) { return ASX_OK; }, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_pop_cleanup(cx, {0, 0}), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_set_value(cx, 1), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_set_error(cx, ASX_E_IO, 1), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_cx_panic(cx, "text"), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_sleep_until(cx, 1), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_sleep_for(cx, 1), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_sleep_stop(cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_task_join(cx, task, nullptr), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_task_stop_joining(cx, task), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_region_await_closed(cx, root), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_region_stop_awaiting(cx, root), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_channel_reserve(&tx, cx, &permit), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_channel_stop_reserving(&tx, cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_channel_recv(&rx, cx, &value), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_channel_stop_receiving(&rx, cx), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(asx_tracked_reserve(&tx, cx, &tracked), ASX_E_INVALID_ARGUMENT);
    EXPECT_EQ(hash(), before);
  }
}

TEST_F(capi_arguments, handles_of_nothing_and_of_other_types_are_stale_and_change_nothing) {
  asx_obligation_handle promise{};
  ASSERT_EQ(asx_obligation_reserve(rt, root, &promise), ASX_OK);
  const std::uint64_t before = hash();
  for (const asx_region_handle h : forged(root)) {
    asx_region_report report{};
    report.size = sizeof report;
    void* memory = nullptr;
    EXPECT_EQ(asx_region_create(rt, h, nullptr, &region_out), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_close(rt, h, ASX_CANCEL_USER, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_begin_drain(rt, h), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_arena(rt, h, 1, 1, &memory), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_inspect(rt, h, &report), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_add_finalizer(rt, h, &finalizer, nullptr, false), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_reserve(rt, h, &slot), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_obligation_reserve(rt, h, &obligation), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_add_timer(rt, h, 5, &timer), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_channel_create(rt, h, 1, nullptr, &tx2, &rx2), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_region_release(rt, h), ASX_E_STALE_HANDLE);
  }
  for (const asx_task_handle h : forged(task)) {
    asx_task_report report{};
    report.size = sizeof report;
    EXPECT_EQ(asx_task_request_cancel(rt, h, ASX_CANCEL_USER, nullptr, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_wake(rt, h), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_waker_wake(rt, {h.word, h.generation}), ASX_OK);  // A wake too many does no harm.
    EXPECT_EQ(asx_task_inspect(rt, h, &report), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_task_release(rt, h), ASX_E_STALE_HANDLE);
    asx_foreign_handle f;
    EXPECT_EQ(asx_foreign_open(rt, h, &f), ASX_E_STALE_HANDLE);
  }
  for (const asx_obligation_handle h : forged(promise)) EXPECT_EQ(asx_obligation_commit(rt, h), ASX_E_STALE_HANDLE);
  // A task is no region, a region no task.
  EXPECT_EQ(asx_task_wake(rt, {root.word, root.generation}), ASX_E_STALE_HANDLE);
  EXPECT_EQ(asx_region_begin_drain(rt, {task.word, task.generation}), ASX_E_STALE_HANDLE);
  for (std::size_t i = 0; i < 5; ++i) {
    const asx_waker ends = forged(asx_waker{tx.word, tx.generation})[i];
    asx_channel_sender bad{rt, ends.word, ends.generation};
    EXPECT_EQ(asx_channel_try_send(&bad, nullptr), ASX_E_STALE_HANDLE);
    EXPECT_EQ(asx_channel_drop_sender(&bad), ASX_E_STALE_HANDLE);
    asx_channel_receiver crossed{rt, tx.word, tx.generation};
    EXPECT_EQ(asx_channel_drop_receiver(&crossed), ASX_E_STALE_HANDLE);
  }
  EXPECT_EQ(hash(), before);
  EXPECT_EQ(asx_obligation_abort(rt, promise), ASX_OK);
}

TEST_F(capi_arguments, a_forged_handle_finds_no_slot_that_is_only_reserved) {
  asx_task_slot reserved{};
  ASSERT_EQ(asx_task_reserve(rt, root, &reserved), ASX_OK);
  for (std::uint64_t index = 0; index < 4; ++index) {
    for (std::uint64_t generation = 0; generation < 6; ++generation) {
      const asx_task_handle h{(std::uint64_t{2} << 48) | index, generation};
      if (index == (task.word & 0xffffffffU) && generation == task.generation) continue;
      EXPECT_EQ(asx_task_request_cancel(rt, h, ASX_CANCEL_USER, nullptr, nullptr), ASX_E_STALE_HANDLE);
      EXPECT_EQ(asx_task_wake(rt, h), ASX_E_STALE_HANDLE);
    }
  }
  EXPECT_EQ(asx_task_abandon(rt, reserved), ASX_OK);
  EXPECT_EQ(asx_task_abandon(rt, reserved), ASX_E_STALE_HANDLE);
}

TEST_F(capi_arguments, numbers_that_are_none_are_refused) {
  const std::uint64_t before = hash();
  const auto kind = static_cast<asx_cancel_kind>(11);
  EXPECT_EQ(asx_region_close(rt, root, kind, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_task_request_cancel(rt, task, kind, nullptr, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_begin_shutdown(rt, kind, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_set_governor(rt, static_cast<asx_governor>(4)), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_step_worker(rt, 1, nullptr), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_advance(rt, UINT64_MAX), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_unhold(rt), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_journal_note_law(rt, 1, static_cast<asx_status>(50), 0), ASX_E_INVALID_ARGUMENT);
  asx_outcome bad{};
  bad.kind = static_cast<asx_outcome_kind>(4);
  EXPECT_EQ(asx_task_complete(rt, task, &bad), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(hash(), before);
  EXPECT_EQ(asx_region_release(rt, root), ASX_E_INVALID_ARGUMENT);  // The root is the runtime's own.
  asx_runtime_config config;
  EXPECT_EQ(asx_runtime_config_init(&config, sizeof config, static_cast<asx_profile>(3)), ASX_E_INVALID_ARGUMENT);
  EXPECT_EQ(asx_runtime_config_init(nullptr, 0, ASX_PROFILE_CORE), ASX_E_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace asx::capi_testing
