/* asx/capi/asx_tasks.h - regions, tasks, obligations, cancellation; and what a task can do while it is polled.
 *
 *     root --+-- region --+-- region --+-- task        a region ends only when everything in it has ended
 *            |            +-- task     +-- obligation
 *            +-- task
 *
 * A refusal changes nothing (R-09 gives their order). A cx is its task's: good while that one is polled, and refused
 * with ASX_E_INVALID_ARGUMENT at all other times. An operation that waits answers ASX_E_WOULD_BLOCK: return
 * ASX_POLL_PENDING, and call it again when polled again.
 *
 * Cancel points: asx_checkpoint, asx_sleep_until, asx_sleep_for, asx_task_join, asx_region_await_closed.
 * Threads: the runtime's.
 * Lifetime: handles may outlive what they name; contexts are the caller's until drop, closed or the action has run.
 */
#ifndef ASX_CAPI_ASX_TASKS_H
#define ASX_CAPI_ASX_TASKS_H

#include "asx/capi/asx_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- regions --------------------------------------------------------------------------------------------------- */

/* The root: it closes only at shutdown.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_root(asx_runtime* runtime, asx_region_handle* out);

/* A child region. `spec` may be null.
 * Keeps: spec->context, until closed is called. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_create(asx_runtime* runtime, asx_region_handle parent,
                                                     const asx_region_spec* spec, asx_region_handle* out);

/* Asks everything below to cancel, and lets the runtime drive it to closed. `message` may be null. Asked
 * twice: ASX_E_INVALID_TRANSITION; once it is closed and nobody holds it, ASX_E_STALE_HANDLE.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_close(asx_runtime* runtime, asx_region_handle region,
                                                    asx_cancel_kind kind, const char* message);

/* The single steps: a region that is only stepped is not driven.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_begin_close(asx_runtime* runtime, asx_region_handle region,
                                                          asx_cancel_kind kind, const char* message);

/* See asx_region_begin_close.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_begin_drain(asx_runtime* runtime, asx_region_handle region);

/* See asx_region_begin_close.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_begin_finalize(asx_runtime* runtime, asx_region_handle region);

/* See asx_region_begin_close.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_finish_close(asx_runtime* runtime, asx_region_handle region);

/* Runs when the region finalizes, last added first. `in_turn`: after the tasks of those before it have ended
 * (R-266).
 * Keeps: context, until it has run. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_add_finalizer(asx_runtime* runtime, asx_region_handle region,
                                                            asx_finalizer_fn run, void* context, bool in_turn);

/* Memory of the region, freed when it closes. `alignment` is a power of two.
 * Keeps: nothing: the memory is the caller's until the region closes. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_arena(asx_runtime* runtime, asx_region_handle region, size_t bytes,
                                                    size_t alignment, void** out);

/* Set report->size first. Views live as long as the record.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_inspect(asx_runtime* runtime, asx_region_handle region,
                                                      asx_region_report* report);

/* ASX_E_INCOMPLETE_CHILDREN: not closed yet. Views live as long as the record: hold the region to read them.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_outcome(asx_runtime* runtime, asx_region_handle region, asx_outcome* out);

/* Waits until the region is closed. One wait a task and region; asked again, it keeps its place. Hold what you wait
 * for: one that nobody holds is gone once it is closed, and the wait ends with ASX_E_STALE_HANDLE.
 * Keeps: a wait, until it answers something else than ASX_E_WOULD_BLOCK. Cancel point: yes. Thread: the
 * runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_region_await_closed(asx_cx* cx, asx_region_handle region);

/* Gives that wait up. ASX_E_INVALID_ARGUMENT: there is none.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_region_stop_awaiting(asx_cx* cx, asx_region_handle region);

/* Of a held region: its record may be used again once it is closed. ASX_E_INVALID_ARGUMENT: nobody holds it.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_release(asx_runtime* runtime, asx_region_handle region);

/* ---- tasks ----------------------------------------------------------------------------------------------------- */

/* A task of the region. `out` may be null. Refused: drop is not called.
 * Keeps: spec->context, until drop is called. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_spawn(asx_runtime* runtime, asx_region_handle region,
                                                  const asx_task_spec* spec, asx_task_handle* out);

/* The first half of a spawn: everything that can be refused is.
 * Keeps: a slot, until it is committed or abandoned. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_reserve(asx_runtime* runtime, asx_region_handle region, asx_task_slot* out);

/* The second half; only a spec that makes no sense is refused, and the slot stays. ASX_E_STALE_HANDLE: committed or
 * abandoned before. `out` may be null.
 * Keeps: spec->context, until drop is called. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_commit(asx_runtime* runtime, asx_task_slot slot, const asx_task_spec* spec,
                                                   asx_task_handle* out);

/* Gives the slot back.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_abandon(asx_runtime* runtime, asx_task_slot slot);

/* Asks a task to cancel; it answers at its next checkpoint. Of one that has ended and is held: nothing, ASX_OK; that
 * nobody holds: ASX_E_STALE_HANDLE. `message` and `newly` may be null.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_request_cancel(asx_runtime* runtime, asx_task_handle task,
                                                           asx_cancel_kind kind, const char* message, bool* newly);

/* Ends a task from outside: R-26 says with which outcomes. ASX_E_REENTRANT: the task that is polled.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_complete(asx_runtime* runtime, asx_task_handle task,
                                                     const asx_outcome* outcome);

/* Polls it soon, if it is alive. A wake too many does no harm.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_wake(asx_runtime* runtime, asx_task_handle task);

/* The same by a waker; one of a task that has ended does nothing, ASX_OK.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_waker_wake(asx_runtime* runtime, asx_waker waker);

/* Set report->size first. Views live as long as the record.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_inspect(asx_runtime* runtime, asx_task_handle task,
                                                    asx_task_report* report);

/* ASX_E_TASKS_STILL_ACTIVE: it is alive. Views live as long as the record: hold the task to read them. Its own drop
 * function may ask, held or not.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_outcome(asx_runtime* runtime, asx_task_handle task, asx_outcome* out);

/* How far its cancellation has come. ASX_E_EMPTY: nobody asked.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_witness(asx_runtime* runtime, asx_task_handle task,
                                                    asx_cancel_witness* out);

/* Waits until the task has ended. `out` may be null. One wait a task and other task. Hold what you wait for: one that
 * nobody holds is gone once it has ended, and the wait ends with ASX_E_STALE_HANDLE, `out` unwritten.
 * Keeps: a wait, until it answers something else than ASX_E_WOULD_BLOCK. Cancel point: yes. Thread: the
 * runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_task_join(asx_cx* cx, asx_task_handle task, asx_outcome* out);

/* Gives that wait up. ASX_E_INVALID_ARGUMENT: there is none.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_task_stop_joining(asx_cx* cx, asx_task_handle task);

/* Of a held task: its record may be used again once it has ended. ASX_E_INVALID_ARGUMENT: nobody holds it.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_task_release(asx_runtime* runtime, asx_task_handle task);

/* A level of a chain of causes: 0 is `head` itself, head->levels - 1 the oldest that can be seen.
 * ASX_E_STALE_HANDLE: there is none, or none any more. Views live as long as the chain.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_cancel_reason_level(asx_runtime* runtime, const asx_cancel_reason* head,
                                                           uint32_t level, asx_cancel_reason* out);

/* ---- obligations and timers of regions ------------------------------------------------------------------------- */

/* A promise of the region, to be committed or aborted before it closes, once.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_obligation_reserve(asx_runtime* runtime, asx_region_handle region,
                                                          asx_obligation_handle* out);

/* The promise is kept. ASX_E_OBLIGATION_ALREADY_RESOLVED, ASX_E_OBLIGATION_LEAKED; ASX_E_INVALID_ARGUMENT: it is a
 * tracked permit's, which resolves it.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_obligation_commit(asx_runtime* runtime, asx_obligation_handle obligation);

/* The promise is given back.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_obligation_abort(asx_runtime* runtime, asx_obligation_handle obligation);

/* Also of one that was resolved, until its record is used again.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_obligation_inspect(asx_runtime* runtime, asx_obligation_handle obligation,
                                                          asx_obligation_state* out);

/* A timer of the region that wakes nobody: a run until quiescent goes that far. ASX_E_TIMER_DURATION_EXCEEDED: more
 * than 7 days from now.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_add_timer(asx_runtime* runtime, asx_region_handle region,
                                                        asx_time deadline, asx_timer_handle* out);

/* `was_live` may be null; false: it fired or was cancelled before, which is no error.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_region_cancel_timer(asx_runtime* runtime, asx_timer_handle timer,
                                                           bool* was_live);

/* ---- in a poll ------------------------------------------------------------------------------------------------- */

/* ASX_E_CANCELLED: a cancel is acknowledged, now or before; clean up and return. ASX_OK: go on.
 * Keeps: nothing. Cancel point: yes. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_checkpoint(asx_cx* cx);

/* Looks only. False outside of polls.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_C_API bool asx_is_cancelled(const asx_cx* cx);

/* Why this task is cancelled. ASX_E_EMPTY: it is not. Views live as long as the task.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_reason(asx_cx* cx, asx_cancel_reason* out);

/* This task and its region; either may be null.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_self(asx_cx* cx, asx_task_handle* task, asx_region_handle* region);

/* Null outside of polls.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_C_API asx_runtime* asx_cx_runtime(asx_cx* cx);

/* The time of this poll; ASX_TIME_NONE outside of polls.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_C_API asx_time asx_cx_now(const asx_cx* cx);

/* Of the budget in force: the ordinary one, or that of cleanup once a cancel was acknowledged.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_budget_left(asx_cx* cx, asx_budget* out);

/* The task is queued again behind the others, whatever it waits for.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_yield(asx_cx* cx);

/* Counts as a wait: ASX_POLL_PENDING then parks the task until it is woken. `out` may be null.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_waker(asx_cx* cx, asx_waker* out);

/* ASX_E_BUDGET_EXHAUSTED: nothing was taken, and the cancel of this task is requested.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_consume(asx_cx* cx, uint64_t cost);

/* From here to asx_cx_unmask checkpoints say ASX_OK and operations wait as usual. Masks nest;
 * ASX_E_RESOURCE_EXHAUSTED: too deep.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_mask(asx_cx* cx);

/* Ends the innermost mask; nothing when there is none.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_unmask(asx_cx* cx);

/* Runs when this task ends, however it ends, last pushed first. `out` may be null.
 * Keeps: context, until it has run or was popped. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_push_cleanup(asx_cx* cx, asx_cleanup_fn undo, void* context,
                                                       asx_cleanup_handle* out);

/* Takes an action of this task back without running it. ASX_E_STALE_HANDLE: it ran, or is another task's.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_pop_cleanup(asx_cx* cx, asx_cleanup_handle cleanup);

/* What ASX_POLL_READY hands over.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_set_value(asx_cx* cx, uint64_t value);

/* What ASX_POLL_ERROR means by it. ASX_E_INVALID_ARGUMENT: the code is no status.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_set_error(asx_cx* cx, asx_status code, uint64_t detail);

/* This task ends panicked when its poll ends, whatever the poll says.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_cx_panic(asx_cx* cx, const char* text);

/* Waits for a moment; ready at once when it has come. One sleep a task; another deadline begins it anew.
 * ASX_E_TIMER_DURATION_EXCEEDED: more than 7 days from now.
 * Keeps: a timer, until it answers something else than ASX_E_WOULD_BLOCK. Cancel point: yes. Thread: the
 * runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_sleep_until(asx_cx* cx, asx_time deadline);

/* The same from the first call on; while it waits, asking again goes on with it, whatever `ns` says. At most 7 days.
 * Keeps: a timer, until it answers something else than ASX_E_WOULD_BLOCK. Cancel point: yes. Thread: the
 * runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_sleep_for(asx_cx* cx, uint64_t ns);

/* Gives the sleep up. ASX_E_INVALID_ARGUMENT: there is none.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_sleep_stop(asx_cx* cx);

/* Panics the task that is polled or the finalizer that runs; outside of both the panic hook is called.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_panic(asx_runtime* runtime, const char* text);

#ifdef __cplusplus
}
#endif

#endif /* ASX_CAPI_ASX_TASKS_H */
