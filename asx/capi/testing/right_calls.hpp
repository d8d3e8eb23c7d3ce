// asx/capi/testing/right_calls.hpp - every function of the C interface that belongs to the runtime's thread, called
// with arguments that are right: for tests in which something else is wrong. A gate compares it with the headers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {

struct right_call {
  std::string name;
  std::function<asx_status(asx_runtime*)> make;  // With arguments that are right but for the runtime.
  asx_status without = ASX_E_INVALID_ARGUMENT;   // What it says of a null runtime.
};
/// Of a poll.
struct right_poll_call {
  std::string name;
  std::function<asx_status(asx_cx*)> make;
};
/// One that answers with something else than a status; true when it answered as a refused one does.
struct quiet_call {
  std::string name;
  std::function<bool(asx_cx*)> is_refused;
};

class capi_calls : public capi_test {
 protected:
  // Everything that takes a runtime, or an end or a permit that names one.
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
        {"channel_clone", [this](asx_runtime* r) { return asx_channel_clone(with(tx, r), &tx2); }, ASX_E_STALE_HANDLE},
        {"channel_drop_sender", [this](asx_runtime* r) { return asx_channel_drop_sender(with(tx, r)); },
         ASX_E_STALE_HANDLE},
        {"channel_drop_receiver", [this](asx_runtime* r) { return asx_channel_drop_receiver(with(rx, r)); },
         ASX_E_STALE_HANDLE},
        {"channel_inspect_sender",
         [this](asx_runtime* r) {
           asx_channel_report report{};
           report.size = sizeof report;
           return asx_channel_inspect_sender(with(tx, r), &report);
         },
         ASX_E_STALE_HANDLE},
        {"channel_inspect_receiver",
         [this](asx_runtime* r) {
           asx_channel_report report{};
           report.size = sizeof report;
           return asx_channel_inspect_receiver(with(rx, r), &report);
         },
         ASX_E_STALE_HANDLE},
        {"channel_of",
         [this](asx_runtime* r) {
           asx_channel_handle of{};
           return asx_channel_of(with(tx, r), &of);
         },
         ASX_E_STALE_HANDLE},
        {"channel_try_reserve", [this](asx_runtime* r) { return asx_channel_try_reserve(with(tx, r), &permit_out); },
         ASX_E_STALE_HANDLE},
        {"channel_try_send", [this](asx_runtime* r) { return asx_channel_try_send(with(tx, r), nullptr); },
         ASX_E_STALE_HANDLE},
        {"channel_send_evicting",
         [this](asx_runtime* r) { return asx_channel_send_evicting(with(tx, r), nullptr, nullptr, nullptr); },
         ASX_E_STALE_HANDLE},
        {"channel_try_recv",
         [this](asx_runtime* r) {
           void* value = nullptr;
           return asx_channel_try_recv(with(rx, r), &value);
         },
         ASX_E_STALE_HANDLE},
        {"tracked_try_reserve",
         [this](asx_runtime* r) {
           asx_tracked_permit p;
           return asx_tracked_try_reserve(with(tx, r), &root, &p);
         },
         ASX_E_STALE_HANDLE},
        {"runtime_destroy", [](asx_runtime* r) { return asx_runtime_destroy(r); }},
        {"channel_inspect",
         [this](asx_runtime* r) {
           asx_channel_report report{};
           report.size = sizeof report;
           return asx_channel_inspect(r, channel, &report);
         }},
        {"send_permit_send", [this](asx_runtime* r) { return asx_send_permit_send(with(permit, r), nullptr); },
         ASX_E_OBLIGATION_ALREADY_RESOLVED},
        {"tracked_send", [this](asx_runtime* r) { return asx_tracked_send(with(tracked, r), nullptr, nullptr); },
         ASX_E_OBLIGATION_ALREADY_RESOLVED},
        {"tracked_abort", [this](asx_runtime* r) { return asx_tracked_abort(with(tracked, r), nullptr); },
         ASX_E_OBLIGATION_ALREADY_RESOLVED},
        {"tracked_drop", [this](asx_runtime* r) { return asx_tracked_drop(with(tracked, r)); },
         ASX_E_OBLIGATION_ALREADY_RESOLVED},
    };
  }

  // Everything that takes a cx.
  std::vector<right_poll_call> poll_calls() {
    return {
        {"checkpoint", [](asx_cx* c) { return asx_checkpoint(c); }},
        {"cx_reason", [this](asx_cx* c) { return asx_cx_reason(c, &reason); }},
        {"cx_self", [](asx_cx* c) { return asx_cx_self(c, nullptr, nullptr); }},
        {"cx_budget_left", [this](asx_cx* c) { return asx_cx_budget_left(c, &left); }},
        {"cx_yield", [](asx_cx* c) { return asx_cx_yield(c); }},
        {"cx_waker", [](asx_cx* c) { return asx_cx_waker(c, nullptr); }},
        {"cx_consume", [](asx_cx* c) { return asx_cx_consume(c, 1); }},
        {"cx_mask", [](asx_cx* c) { return asx_cx_mask(c); }},
        {"cx_unmask", [](asx_cx* c) { return asx_cx_unmask(c); }},
        {"cx_push_cleanup", [](asx_cx* c) { return asx_cx_push_cleanup(c, &undo, nullptr, nullptr); }},
        {"cx_pop_cleanup", [](asx_cx* c) { return asx_cx_pop_cleanup(c, {0, 0}); }},
        {"cx_set_value", [](asx_cx* c) { return asx_cx_set_value(c, 1); }},
        {"cx_set_error", [](asx_cx* c) { return asx_cx_set_error(c, ASX_E_IO, 1); }},
        {"cx_panic", [](asx_cx* c) { return asx_cx_panic(c, "text"); }},
        {"sleep_until", [](asx_cx* c) { return asx_sleep_until(c, 1); }},
        {"sleep_for", [](asx_cx* c) { return asx_sleep_for(c, 1); }},
        {"sleep_stop", [](asx_cx* c) { return asx_sleep_stop(c); }},
        {"task_join", [this](asx_cx* c) { return asx_task_join(c, task, nullptr); }},
        {"task_stop_joining", [this](asx_cx* c) { return asx_task_stop_joining(c, task); }},
        {"region_await_closed", [this](asx_cx* c) { return asx_region_await_closed(c, root); }},
        {"region_stop_awaiting", [this](asx_cx* c) { return asx_region_stop_awaiting(c, root); }},
        {"channel_reserve", [this](asx_cx* c) { return asx_channel_reserve(&tx, c, &permit_out); }},
        {"channel_stop_reserving", [this](asx_cx* c) { return asx_channel_stop_reserving(&tx, c); }},
        {"channel_recv",
         [this](asx_cx* c) {
           void* value = nullptr;
           return asx_channel_recv(&rx, c, &value);
         }},
        {"channel_stop_receiving", [this](asx_cx* c) { return asx_channel_stop_receiving(&rx, c); }},
        {"tracked_reserve",
         [this](asx_cx* c) {
           asx_tracked_permit out{};
           return asx_tracked_reserve(&tx, c, &out);
         }},
    };
  }
  std::vector<quiet_call> quiet_calls() {
    return {
        {"is_cancelled", [](asx_cx* c) { return !asx_is_cancelled(c); }},
        {"cx_runtime", [](asx_cx* c) { return asx_cx_runtime(c) == nullptr; }},
        {"cx_now", [](asx_cx* c) { return asx_cx_now(c) == ASX_TIME_NONE; }},
        {"send_permit_is_held", [this](asx_cx*) { return !asx_send_permit_is_held(&permit); }},
        {"tracked_is_held", [this](asx_cx*) { return !asx_tracked_is_held(&tracked); }},
        {"send_permit_abort",
         [this](asx_cx*) {
           asx_send_permit copy = permit;
           asx_send_permit_abort(&copy);
           return copy.number == permit.number;
         }},
    };
  }

  void SetUp() override {
    capi_test::SetUp();
    fill();
  }
  /// What the calls are about.
  void fill() {
    task = spawn([](asx_cx* cx) {
      EXPECT_EQ(asx_cx_waker(cx, nullptr), ASX_OK);
      return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
    });
    ASSERT_EQ(asx_channel_create(rt, root, 4, nullptr, &tx, &rx), ASX_OK);
    ASSERT_EQ(asx_channel_of(&tx, &channel), ASX_OK);
    ASSERT_EQ(asx_channel_try_reserve(&tx, &permit), ASX_OK);
    ASSERT_EQ(asx_tracked_try_reserve(&tx, &root, &tracked), ASX_OK);
    ASSERT_EQ(asx_runtime_run_until_idle(rt, 1000, nullptr), ASX_OK);
  }
  void TearDown() override {
    empty();
    capi_test::TearDown();
  }

  void empty() {
    EXPECT_TRUE(asx_send_permit_is_held(&permit) && asx_tracked_is_held(&tracked)) << "no refusal resolved them";
    asx_send_permit_abort(&permit);
    EXPECT_EQ(asx_tracked_abort(&tracked, nullptr), ASX_OK);
    EXPECT_EQ(asx_task_release(rt, task), ASX_OK);
  }

  // Ends and permits that name another runtime; each is used before the next one is asked for.
  asx_channel_sender* with(const asx_channel_sender& of, asx_runtime* r) {
    return &(moved_tx = {r, of.word, of.generation});
  }
  asx_channel_receiver* with(const asx_channel_receiver& of, asx_runtime* r) {
    return &(moved_rx = {r, of.word, of.generation});
  }
  asx_send_permit* with(const asx_send_permit& of, asx_runtime* r) {
    moved_permit = of;
    moved_permit.runtime = r;
    return &moved_permit;
  }
  asx_tracked_permit* with(const asx_tracked_permit& of, asx_runtime* r) {
    moved_promise = of;
    moved_promise.permit.runtime = r;
    return &moved_promise;
  }
  static void put(void*, const char*, std::size_t) {}
  static asx_status undo(void*) { return ASX_OK; }
  static asx_status finalizer(void*, asx_runtime*, asx_region_handle) { return ASX_OK; }

  asx_task_handle task{};
  asx_channel_sender tx{}, tx2{}, moved_tx{};
  asx_channel_receiver rx{}, rx2{}, moved_rx{};
  asx_channel_handle channel{};
  asx_send_permit permit{}, permit_out{}, moved_permit{};
  asx_tracked_permit tracked{}, moved_promise{};
  asx_cancel_reason reason{};
  asx_budget left{};
  asx_task_slot slot{};
  asx_obligation_handle obligation{};
  asx_timer_handle timer{};
  asx_region_handle region_out{};
  asx_outcome end{};
  asx_time time = 0;
  std::uint64_t number = 0;
};

}  // namespace asx::capi_testing
