/* asx/capi/asx_runtime.h - a runtime: its beginning, runs and end, its journal, and who reaches it from outside.
 *
 * Cancel points: none: whoever runs a runtime is no task.
 * Threads: a runtime belongs to the thread that created it; another one is refused with ASX_E_WRONG_THREAD, and
 * nothing has changed. Foreign handles are for the others.
 * Lifetime: a runtime lives from create to a destroy that said ASX_OK; no handle, end or permit of it is used after
 * that.
 */
#ifndef ASX_CAPI_ASX_RUNTIME_H
#define ASX_CAPI_ASX_RUNTIME_H

#include "asx/capi/asx_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version and names ----------------------------------------------------------------------------------------- */

/* The version of the library: major * 1000000 + minor * 1000 + patch.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API uint32_t asx_version(void);

/* ASX_E_VERSION: the program was compiled for another version than ASX_VERSION_NUMBER here promises to serve
 * (before 1.0, another minor one). Call it once, with ASX_VERSION_NUMBER.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_version_check(uint32_t compiled_for);

/* "ASX_E_STALE_HANDLE"; "unknown status" for a number that is none. Static.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_status_name(asx_status code);

/* What happened, and what to do about it. Static.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_status_sentence(asx_status code);

/* "open", "closing" and so on; null for a number that is none. Static.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_region_state_name(asx_region_state state);

/* As asx_region_state_name.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_task_state_name(asx_task_state state);

/* As asx_region_state_name.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_obligation_state_name(asx_obligation_state state);

/* As asx_region_state_name.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_channel_state_name(asx_channel_state state);

/* As asx_region_state_name.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_cancel_phase_name(asx_cancel_phase phase);

/* As asx_region_state_name.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_cancel_kind_name(asx_cancel_kind kind);

/* As asx_region_state_name.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_outcome_kind_name(asx_outcome_kind kind);

/* Of the number in an event; null for one that is none. Static.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API const char* asx_event_kind_name(uint16_t kind);

/* ---- beginning and end ----------------------------------------------------------------------------------------- */

/* Fills a config with the defaults of a profile. Pass sizeof(asx_runtime_config); another size is
 * ASX_E_INVALID_ARGUMENT, but for a larger one of a newer program, up to 64 KiB.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_config_init(asx_runtime_config* config, size_t size,
                                                           asx_profile profile);

/* Makes a runtime with the memory of the config, or on the heap. Null config: the profile core.
 * ASX_E_INVALID_ARGUMENT: a number out of range, half a memory, a sink, writer or log without ASX_JOURNAL_FULL, a
 * writer that is not fresh; the fields say what they take. ASX_E_RESOURCE_EXHAUSTED: memory was refused.
 * ASX_E_VERSION: see asx_types.h, 3. A refused creation calls no hook but those of the memory.
 * Keeps: the contexts of hooks, and the writer, until destroy. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_create(const asx_runtime_config* config, asx_runtime** out);

/* The same wholly inside `memory`; no allocator is called, then or later, but for foreign handles. Set
 * reserve_all in the contract (the profile tiny does), so that everything is taken now. asx_runtime_inspect says
 * how much.
 * Keeps: memory, until destroy. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_create_in(void* memory, size_t bytes, const asx_runtime_config* config,
                                                         asx_runtime** out);

/* Ends and frees a runtime. One that was not shut down is, without grace. One that does not come to rest is not freed,
 * and the status is the first check of quiescence that fails: its gates are shut then, everything was asked to cancel,
 * slots of tasks and holds that were left open are given back. Destroy it again when what asx_runtime_describe names
 * has ended: an obligation is resolved, a channel drained, or, of a trace that rejects, events were discarded.
 * ASX_E_REENTRANT: from a poll or a callback of this runtime.
 * Keeps: nothing: the pointer is dead after ASX_OK. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_destroy(asx_runtime* runtime);

/* ---- runs ------------------------------------------------------------------------------------------------------ */

/* One step of the next worker: what is due, then one dispatch. Never waits. `report` may be null. One step that is
 * idle says that this worker found nothing: with several workers, go on until as many in a row were idle.
 * ASX_E_REENTRANT: from a poll. ASX_E_RESOURCE_EXHAUSTED: a trace that rejects has no room for what a step may tell;
 * nothing was done (asx_journal_discard).
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_step(asx_runtime* runtime, asx_step_report* report);

/* The same of one worker. ASX_E_INVALID_ARGUMENT: there is no such worker.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_step_worker(asx_runtime* runtime, uint32_t worker,
                                                           asx_step_report* report);

/* Steps until nothing is to be done now. Never moves virtual time and never waits. `report` may be null.
 * ASX_E_STEP_LIMIT: work is left. ASX_E_REENTRANT: from a poll. ASX_E_RESOURCE_EXHAUSTED: a trace that rejects
 * is full.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_run_until_idle(asx_runtime* runtime, uint64_t max_steps,
                                                              asx_run_report* report);

/* The same, and virtual time jumps to what is due next; a clock that moves by itself is waited for. For virtual time
 * and clocks that move while it waits: a wait over which a host's clock stood still counts as a step, so that max_steps
 * ends the run. Where the host moves its clock between calls, use asx_runtime_run_until_idle.
 * ASX_OK: nothing is due any more and nobody outside holds the runtime; not that it is quiescent: tasks may wait for
 * each other for ever. Ask asx_runtime_check_quiescence.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_run_until_quiescent(asx_runtime* runtime, uint64_t max_steps,
                                                                   asx_run_report* report);

/* When a step will find something to do by itself: a timer, a deadline, the end of a grace that was asked for from
 * outside. ASX_TIME_NONE: only when somebody calls. For a host with a loop of its own: step until idle, wait until
 * then or until `unpark` is called (asx_park), step again.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_next_deadline(asx_runtime* runtime, asx_time* out);

/* The present time.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_now(asx_runtime* runtime, asx_time* out);

/* Moves virtual time; nothing happens before the next step. ASX_E_INVALID_ARGUMENT: the clock moves by itself,
 * or beyond all time.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_advance(asx_runtime* runtime, uint64_t by_ns);

/* Shuts every gate and closes the root; whoever steps brings it to its end. Again: strengthens. `message` may be
 * null.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_begin_shutdown(asx_runtime* runtime, asx_cancel_kind kind,
                                                              const char* message);

/* Asks everything to cancel, runs for the grace, then tells everything to shut down and runs to the end.
 * `report` may be null. The grace is waited for: half of max_steps is for it, and on a host's clock that stands still
 * it ends with them.
 * ASX_OK: at rest. Else the first check of quiescence that fails; asx_runtime_describe names who is left.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_shutdown(asx_runtime* runtime, uint64_t grace_ns, uint64_t max_steps,
                                                        asx_quiescence_report* report);

/* Whether everything is at rest, without changing anything. The status as of asx_runtime_shutdown.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_check_quiescence(asx_runtime* runtime, asx_quiescence_report* report);

/* Somebody outside may still wake somebody: runs do not take the silence for an end. Counted. In virtual time
 * nobody waits, and a run ends nevertheless.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_hold(asx_runtime* runtime);

/* ASX_E_INVALID_ARGUMENT: nobody holds.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_unhold(asx_runtime* runtime);

/* ---- looking --------------------------------------------------------------------------------------------------- */

/* Set report->size first.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_inspect(asx_runtime* runtime, asx_runtime_report* report);

/* Over the canonical state: what a refusal must not change.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_state_hash(asx_runtime* runtime, uint64_t* out);

/* Who is alive and why, as lines of text, piece by piece; a piece may end anywhere. `put` is a hook. Asks for no
 * memory. Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_describe(asx_runtime* runtime, asx_text_fn put, void* context);

/* The same as one JSON value.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_describe_json(asx_runtime* runtime, asx_text_fn put, void* context);

/* ---- scheduler ------------------------------------------------------------------------------------------------- */

/* A suggestion which lane goes first; never whether something goes.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_set_governor(asx_runtime* runtime, asx_governor governor);

/* Seven counters and their hash, journalled. Set out->size first.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_certificate(asx_runtime* runtime, asx_fairness_certificate* out);

/* The counters begin anew.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_runtime_reset_certificate(asx_runtime* runtime);

/* ---- journal --------------------------------------------------------------------------------------------------- */

/* Of the semantic events so far: two runs that agree have the same.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_digest(asx_runtime* runtime, asx_digest* out);

/* How many events are kept.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_size(asx_runtime* runtime, uint64_t* out);

/* Copies kept events, the oldest being number 0; *count: how many.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_read(asx_runtime* runtime, uint64_t from, asx_event* out, size_t room,
                                                    size_t* count);

/* Everything that was told is with sink, writer and log when this returns.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_settle(asx_runtime* runtime);

/* Forgets the oldest kept events: somebody else has them now. Makes room in a trace that rejects.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_discard(asx_runtime* runtime, uint64_t events);

/* Journals that a law was checked, with its answer. For players of scenarios. ASX_E_RESOURCE_EXHAUSTED: a trace that
 * rejects is full.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_note_law(asx_runtime* runtime, uint64_t number, asx_status answer,
                                                        uint64_t hash);

/* A journal in an open file, for asx_runtime_config.writer; `asx journal` reads it. `memory` may be null: the
 * heap. It is for one runtime: a second one is refused with ASX_E_INVALID_ARGUMENT, also after the first has ended.
 * A pipe that nobody reads raises SIGPIPE as with write(2): ignore it, and asx_journal_writer_close says ASX_E_IO.
 * Keeps: the descriptor stays the caller's, and open until close. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_writer_open(int descriptor, asx_profile profile, uint64_t seed,
                                                           const asx_memory* memory, asx_journal_writer** out);

/* Writes what is left and the end mark, and frees the writer. After the runtime is destroyed.
 * ASX_E_IO: not everything reached the file; what did is a true prefix, and the writer is freed all the same.
 * ASX_E_REENTRANT: a runtime still uses it; nothing was done, and the writer is not freed.
 * Keeps: nothing. Cancel point: no. Thread: the writer's owner's. */
ASX_NODISCARD ASX_C_API asx_status asx_journal_writer_close(asx_journal_writer* writer);

/* ---- from outside ---------------------------------------------------------------------------------------------- */

/* A handle to a task for other threads. It is a hold while it lives (asx_runtime_hold). ASX_E_STALE_HANDLE: the task
 * has ended. ASX_E_RESOURCE_EXHAUSTED: too many. ASX_E_INVALID_ARGUMENT: the host has a `park` without an `unpark`,
 * and nobody could end its wait. Uses the heap.
 * Keeps: a slot, until asx_foreign_drop. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_foreign_open(asx_runtime* runtime, asx_task_handle task,
                                                    asx_foreign_handle* out);

/* Wakes its task. What is said to a task or a runtime that has ended does nothing.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API void asx_foreign_wake(const asx_foreign_handle* handle);

/* Asks its task to cancel.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API void asx_foreign_cancel(const asx_foreign_handle* handle, asx_cancel_kind kind);

/* Begins an orderly shutdown of the whole runtime; again: ends its grace.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API void asx_foreign_shut_down(const asx_foreign_handle* handle);

/* Gives it up; the handle is empty afterwards. Not in a signal handler. May outlive the runtime.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_C_API void asx_foreign_drop(asx_foreign_handle* handle);

#ifdef __cplusplus
}
#endif

#endif /* ASX_CAPI_ASX_RUNTIME_H */
