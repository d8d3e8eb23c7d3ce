/* asx/capi/asx_types.h - the types of the C interface: numbers, handles, what is asked for, what is reported.
 *
 * 1  Numbers are those of the specification and never change: journals and digests hold them.
 * 2  A handle is two words that name one life of one record of one runtime. It may be copied, compared, kept and
 *    forged: one that names nothing alive, or something of another type, is refused with ASX_E_STALE_HANDLE; words of
 *    another runtime may name something here. All zero is none.
 * 3  A struct that may grow begins with its size. Fill it with its ..._INIT first; of a report, set its size. A size
 *    below that of the first release, which is this one, is no struct of asx: ASX_E_INVALID_ARGUMENT. What a newer
 *    program hands over may be larger, up to 64 KiB; ASX_E_VERSION when the part that this library does not know is
 *    not zero. Of a larger report that part is set to zero.
 * 4  Texts that are given are copied. Texts that are reported are views: not terminated, valid as long as it says.
 *
 * Cancel points: none. Threads: plain values. Lifetime: plain values, but for views.
 */
#ifndef ASX_CAPI_ASX_TYPES_H
#define ASX_CAPI_ASX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asx/capi/asx_numbers.h"

#define ASX_VERSION_MAJOR 0
#define ASX_VERSION_MINOR 1
#define ASX_VERSION_PATCH 0
#define ASX_VERSION_NUMBER (ASX_VERSION_MAJOR * 1000000u + ASX_VERSION_MINOR * 1000u + ASX_VERSION_PATCH)

/* Set while the library itself is built; a program needs nothing here. */
#ifndef ASX_C_API
#define ASX_C_API
#endif

/* A refusal must be seen. */
#if defined(__cplusplus)
#define ASX_NODISCARD [[nodiscard]]
#elif defined(__GNUC__) || defined(__clang__)
#define ASX_NODISCARD __attribute__((warn_unused_result))
#else
#define ASX_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds from where the run began. */
typedef uint64_t asx_time;
#define ASX_TIME_NONE UINT64_MAX
#define ASX_UNLIMITED UINT64_MAX
#define ASX_MILLISECOND UINT64_C(1000000)
#define ASX_SECOND UINT64_C(1000000000)
#define ASX_MAX_STEPS UINT64_C(10000000)

/* Creation numbers from 1; 0: none. They name things in journals and reports, and outlive what they name (U-20). */
typedef uint64_t asx_id;
typedef asx_id asx_task_id;
typedef asx_id asx_region_id;

/* ---- handles --------------------------------------------------------------------------------------------------- */

typedef struct asx_region_handle {
  uint64_t word;
  uint64_t generation;
} asx_region_handle;

typedef struct asx_task_handle {
  uint64_t word;
  uint64_t generation;
} asx_task_handle;

typedef struct asx_obligation_handle {
  uint64_t word;
  uint64_t generation;
} asx_obligation_handle;

/* A channel itself, whatever ends of it are left; to look at it. */
typedef struct asx_channel_handle {
  uint64_t word;
  uint64_t generation;
} asx_channel_handle;

/* Room for one task, taken; to be committed or abandoned. */
typedef struct asx_task_slot {
  uint64_t word;
  uint64_t generation;
} asx_task_slot;

/* A pushed cleanup action, to take it back. */
typedef struct asx_cleanup_handle {
  uint64_t word;
  uint64_t generation;
} asx_cleanup_handle;

/* Timers are named by the pair and nothing else. */
typedef struct asx_timer_handle {
  uint64_t id;
  uint64_t generation;
} asx_timer_handle;

/* Wakes one life of one task; also what a timer wheel of the program's own hands back as it came. */
typedef struct asx_waker {
  uint64_t word;
  uint64_t generation;
} asx_waker;

typedef struct asx_runtime asx_runtime;               /* A whole runtime. */
typedef struct asx_cx asx_cx;                         /* What a task can do while it is polled. */
typedef struct asx_timer_wheel asx_timer_wheel;       /* A timer wheel by itself. */
typedef struct asx_journal_writer asx_journal_writer; /* A journal on disk. */

/* The ends of a channel. Plain: copies name one end, and a dropped one is stale in all of them. */
typedef struct asx_channel_sender {
  asx_runtime* runtime;
  uint64_t word;
  uint64_t generation;
} asx_channel_sender;

typedef struct asx_channel_receiver {
  asx_runtime* runtime;
  uint64_t word;
  uint64_t generation;
} asx_channel_receiver;

/* A reserved slot of a channel: to be sent or aborted, once. Its task's end aborts it. */
typedef struct asx_send_permit {
  asx_runtime* runtime;
  uint64_t word;
  uint64_t generation;
  uint64_t slot;
  uint64_t number; /* 0: resolved. */
} asx_send_permit;

/* The same, and an obligation: forgetting it panics the task. */
typedef struct asx_tracked_permit {
  asx_send_permit permit;
  asx_obligation_handle obligation;
} asx_tracked_permit;

/* Evidence of how a tracked permit was resolved. */
typedef struct asx_permit_proof {
  asx_id channel;
  uint64_t permit;
} asx_permit_proof;

/* A handle to one task for other threads and signal handlers. It owns something: drop each exactly once. */
typedef struct asx_foreign_handle {
  void* core;
  void* slot;
} asx_foreign_handle;

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* Not terminated. */
typedef struct asx_text {
  const char* data;
  size_t size;
} asx_text;

typedef struct asx_budget {
  asx_time deadline;   /* ASX_TIME_NONE: none. */
  uint64_t poll_quota; /* ASX_UNLIMITED: no limit; */
  uint64_t cost_quota; /* likewise. */
  uint8_t priority;
} asx_budget;
#define ASX_BUDGET_INFINITE {ASX_TIME_NONE, ASX_UNLIMITED, ASX_UNLIMITED, 0}

/* One level of a chain of causes. asx_cancel_reason_level gives the levels behind it. */
typedef struct asx_cancel_reason {
  asx_cancel_kind kind;
  uint16_t levels; /* How many can be seen from here, this one included. */
  bool truncated;
  asx_region_id origin_region;
  asx_task_id origin_task; /* 0: no task asked. */
  asx_time timestamp;
  asx_text message;    /* Of the record that the reason was read from. */
  uint64_t cause;      /* Names the level behind it, with */
  uint64_t cause_life; /* which life of it. */
} asx_cancel_reason;

typedef struct asx_cancel_witness {
  asx_task_id task;
  asx_region_id region;
  uint64_t epoch;
  asx_cancel_phase phase;
  asx_cancel_reason reason;
} asx_cancel_witness;

/* How a task or a region ended; which fields count depends on the kind. */
typedef struct asx_outcome {
  asx_outcome_kind kind;
  bool has_value; /* ok */
  bool overran;   /* cancelled: the cleanup budget was exceeded. */
  uint64_t value;
  asx_status error; /* err; of a cancelled one, what its cleanup ended with, */
  uint64_t detail;  /* and the detail of either. */
  asx_cancel_reason reason;
  asx_text panic; /* Of the record that the outcome was read from; cut to the contract's cause_message_bytes. */
} asx_outcome;

/* XXH3-128 over the semantic events. */
typedef struct asx_digest {
  uint64_t high;
  uint64_t low;
} asx_digest;

/* One thing that happened (docs/spec/events.md). */
typedef struct asx_event {
  uint64_t seq;
  uint64_t time_ns;
  uint16_t kind;
  uint16_t worker;
  uint32_t flags;
  uint64_t subject;
  uint64_t object;
  uint64_t a;
  uint64_t b;
  uint64_t cause;
} asx_event;

/* ---- what a program hands over --------------------------------------------------------------------------------- */

/* Functions of tasks, regions and channels may call asx for the runtime that calls them, without an asx_cx, but for
 * runs and asx_runtime_destroy; the poll function has its asx_cx. Hooks, and whoever takes the pieces of a report, may
 * not: see asx_memory. */

/* Called by the runtime's thread. Pending: take a waker, wait, yield, or be polled again. */
typedef asx_poll_result (*asx_poll_fn)(void* context, asx_cx* cx);
/* Called once, after the task has ended. */
typedef void (*asx_drop_fn)(void* context);
/* Undoes something; anything but ASX_OK is journalled, and unwinding goes on. */
typedef asx_status (*asx_cleanup_fn)(void* context);
/* Runs when the region finalizes, last added first; may spawn into it. */
typedef asx_status (*asx_finalizer_fn)(void* context, asx_runtime* runtime, asx_region_handle region);
/* Called once, when the region is closed; its outcome can be read then. */
typedef void (*asx_closed_fn)(void* context, asx_region_handle region);
/* Destroys a value that nobody received. */
typedef void (*asx_destroy_fn)(void* value);
/* Takes a piece of a report; not terminated. A hook. */
typedef void (*asx_text_fn)(void* context, const char* text, size_t size);

/* Hooks must not call asx with the runtime that calls them: every call is refused with ASX_E_REENTRANT. Both functions
 * of a memory, or none: ASX_E_INVALID_ARGUMENT. */
typedef struct asx_memory {
  void* context;
  void* (*allocate)(void* context, size_t bytes, size_t alignment); /* Null: refused. */
  void (*release)(void* context, void* block, size_t bytes, size_t alignment);
} asx_memory;

typedef struct asx_clock {
  void* context;
  asx_time (*now)(void* context); /* From 0, and never back. */
} asx_clock;

/* How a run waits, and how others end that. Three kinds of host have it:
 *   neither              the runtime sleeps, and is woken by foreign handles;
 *   both                 the host waits in `park`, and foreign handles call `unpark`;
 *   unpark alone         the host has a loop of its own (poll, epoll) and steps: foreign handles call `unpark`, which
 *                        makes that loop go round; a run sleeps as with neither.
 * With `park` alone nobody could end the wait: asx_foreign_open refuses with ASX_E_INVALID_ARGUMENT. */
typedef struct asx_park {
  void* context;
  void (*park)(void* context, asx_time now, asx_time until); /* Returns at `until`, or earlier. */
  void (*unpark)(void* context); /* By any thread, and by signal handlers: write to a pipe, and no more. */
} asx_park;

typedef struct asx_sink {
  void* context;
  void (*take)(void* context, const asx_event* events, size_t count); /* In order; at most 32 at a time. */
} asx_sink;

/* Something went wrong with nobody to blame: a panic outside of every task. Returning lets the program go on. */
typedef struct asx_panic_hook {
  void* context;
  void (*panic)(void* context, const char* text);
} asx_panic_hook;

/* Leaks, failed cleanups, forced completions, limits that were met, panics: one line each, terminated, such as
 * "task 1 'reader' panicked: no such order". Lines come from the journal, which must be ASX_JOURNAL_FULL, in batches: a
 * line has come when the run, step, shutdown or destroy returns in which it happened, and others with the next of these
 * or asx_journal_settle. */
typedef struct asx_log_hook {
  void* context;
  void (*log)(void* context, asx_log_level level, const char* line);
} asx_log_hook;

/* ---- what is asked for ----------------------------------------------------------------------------------------- */

/* Every limit of a runtime. One that is met is a refusal that changed nothing. Any number will do but where it
 * says otherwise. Trace and timers have their memory from the start, the others ask for it as they grow, or at the
 * start, too (reserve_all). */
typedef struct asx_resource_contract {
  uint32_t version;     /* 1 and no other. */
  uint32_t max_tasks;   /* At most 2^28. */
  uint32_t max_regions; /* From 1: the root is one. */
  uint32_t max_obligations;
  uint32_t max_timers; /* At most 2^28. */
  uint32_t max_channels;
  uint32_t max_channel_waiters;
  uint32_t max_sync;
  uint32_t max_ready_queue;
  uint32_t max_cancel_queue;
  uint32_t max_cleanup_entries;
  uint32_t max_cleanup_per_task;
  uint32_t max_finalizers;
  uint32_t max_finalizers_per_region;
  uint32_t max_tasks_per_region;
  uint32_t max_causes;
  uint32_t cause_message_bytes; /* At most 4008. Messages and texts of panics are cut to it; 120, of tiny 48. */
  uint32_t max_mask_depth;
  uint32_t coop_limit; /* Of awaits in coroutines. Polls of C are not counted: return when you have done enough. */
  uint32_t max_ghost_entries;
  uint64_t max_bytes;        /* At nominal costs; 0: no ceiling. */
  uint64_t max_trace_events; /* From 1 to SIZE_MAX / 64; ASX_TRACE_REJECT: from ASX_MIN_REJECTING_TRACE. */
  asx_trace_overflow overflow;
  bool reserve_all; /* Everything is taken at the start, nothing is asked for afterwards. */
  /* Of this interface: */
  uint32_t max_senders; /* Live ends of channels that send; clones count. */
  uint32_t max_waits;   /* Reserves, joins and awaits that wait at a time. */
  /* Room for limits of later versions: zero, or ASX_E_VERSION. asx_runtime_config_init sets it. */
  uint32_t reserved[16];
} asx_resource_contract;
/* What a trace that rejects must hold at least, with ASX_JOURNAL_FULL: no step would begin with less. */
#define ASX_MIN_REJECTING_TRACE UINT64_C(256)

/* Fill it with asx_runtime_config_init. */
typedef struct asx_runtime_config {
  size_t size;
  asx_resource_contract contract;
  uint64_t seed;
  uint32_t workers; /* 1 to 65535. */
  asx_worker_order order;
  uint32_t cancel_streak_limit; /* 1 to 2^31 - 1. */
  uint32_t timed_streak_limit;
  asx_tie_break ready_tiebreak;
  asx_leak_policy leaks;
  uint32_t max_unobserved_cancel_polls; /* UINT32_MAX: the kind's quota; 0: never. */
  asx_ghost_mode ghosts;
  uint64_t coalesce_window_ns;
  asx_journal_mode journaling;
  asx_clock_kind clock_kind;
  asx_clock clock;            /* Of ASX_CLOCK_HOST. */
  asx_park park;              /* How to wait for a clock that moves by itself; none: the runtime sleeps. */
  asx_sink sink;              /* Takes every event; none: nobody does. Needs ASX_JOURNAL_FULL. */
  asx_journal_writer* writer; /* As well, and so does it. Fresh: one writer is for one runtime, which it outlives. */
  asx_panic_hook panic;       /* None: the text goes to standard error, and the program goes on. */
  asx_log_hook log;           /* Needs ASX_JOURNAL_FULL. */
  asx_memory memory;          /* Of asx_runtime_create; none: the heap. */
  uint32_t max_foreign;
  uint64_t foreign_grace_ns; /* Of a shutdown that is asked for from outside. */
} asx_runtime_config;

typedef struct asx_task_spec {
  size_t size;
  asx_poll_fn poll;
  void* context;
  asx_drop_fn drop;
  asx_budget budget;
  uint8_t priority;
  bool is_held;     /* The handle owns the result: the record stays until asx_task_release. */
  const char* name; /* Terminated; the first 23 bytes are kept. May be null. */
} asx_task_spec;
#define ASX_TASK_SPEC_INIT {sizeof(asx_task_spec), NULL, NULL, NULL, ASX_BUDGET_INFINITE, 128, false, NULL}

typedef struct asx_region_spec {
  size_t size;
  asx_budget budget;
  uint32_t max_tasks;
  bool is_held;
  bool ends_when_empty; /* Closes by itself when the last child that it had has ended. */
  bool fails_fast;      /* A child that fails closes it. */
  const char* name;
  void* context;
  asx_closed_fn closed;
  asx_task_handle owner; /* Whose cancel or end closes this region, and who ends after it. */
} asx_region_spec;
#define ASX_REGION_SPEC_INIT \
  {sizeof(asx_region_spec), ASX_BUDGET_INFINITE, UINT32_MAX, false, false, false, NULL, NULL, NULL, {0, 0}}

typedef struct asx_wheel_config {
  size_t size;
  uint32_t capacity;
  uint32_t coalesce_min_group;
  uint64_t max_wheel_ns;
  uint64_t max_timer_ns;
  uint64_t coalesce_window_ns;
  asx_time start;
  uint64_t first_id;
  uint64_t first_generation;
  asx_memory memory; /* None: the heap. */
} asx_wheel_config;
#define ASX_WHEEL_CONFIG_INIT                                                                             \
  {                                                                                                       \
    sizeof(asx_wheel_config), 65536, 2, 24 * 3600 * ASX_SECOND, 7 * 24 * 3600 * ASX_SECOND, 0, 0, 1, 1, { \
      NULL, NULL, NULL                                                                                    \
    }                                                                                                     \
  }

/* ---- what is reported ------------------------------------------------------------------------------------------ */

typedef struct asx_task_report {
  size_t size;
  asx_task_id id;
  asx_task_state state;
  asx_lane lane; /* ASX_LANE_NONE: not queued. */
  uint64_t polls;
  uint64_t epoch; /* 0: nobody asked for a cancel; else phase and reason count. */
  asx_cancel_phase phase;
  asx_cancel_reason reason;
  uint64_t cleanup_polls_left;
  uint32_t mask_depth;
  asx_budget left;
} asx_task_report;

typedef struct asx_region_report {
  size_t size;
  asx_region_id id;
  asx_region_state state;
  uint32_t live_tasks;
  uint32_t live_regions;
  uint32_t reserved;
  uint64_t leaked;
  bool has_reason;
  asx_cancel_reason reason;
  asx_task_id failed; /* Of a region that fails fast: the child that made it close, */
  asx_status error;   /* and what it failed with. */
  uint64_t detail;
} asx_region_report;

typedef struct asx_channel_report {
  size_t size;
  asx_id id;
  asx_channel_state state;
  uint32_t capacity;
  uint32_t queued;
  uint32_t reserved;
  uint32_t waiters;
  uint64_t first_waiter;
  uint64_t senders;
  bool has_receiver;
  bool is_receiver_waiting;
  uint64_t count_reserved;
  uint64_t count_sent;
  uint64_t count_aborted;
  uint64_t count_received;
  uint64_t count_evicted;
  uint64_t count_discarded;
} asx_channel_report;

typedef struct asx_runtime_report {
  size_t size;
  asx_time now;
  asx_time next_deadline;
  uint64_t live_tasks;
  uint64_t live_regions;
  uint64_t live_timers;
  uint64_t foreign_holds;
  uint64_t nominal_bytes;
  uint64_t memory_bytes; /* Taken from the caller's memory; 0 when the memory is another. */
  uint64_t violations;   /* That ghost monitors saw. */
  asx_governor governor;
  bool is_shutting_down;
  bool has_ended; /* A shutdown has brought it to rest and said so in the journal; asx_runtime_destroy is what is left.
                   */
} asx_runtime_report;

typedef struct asx_step_report {
  size_t size;
  bool is_idle; /* Nothing was dispatched. */
  asx_dispatch_source from;
  asx_task_id task;
  uint32_t passed; /* Timers fired and deadlines passed. */
  asx_time park_until;
} asx_step_report;

typedef struct asx_run_report {
  size_t size;
  uint64_t steps;
  asx_time next_deadline;
} asx_run_report;

/* The five checks: the first that fails, and all of them. */
typedef struct asx_quiescence_report {
  size_t size;
  asx_status first;
  uint32_t failed; /* Bits: 0 tasks, 1 obligations, 2 regions, 3 timers, 4 channels. */
  uint64_t steps;  /* Of a shutdown. */
} asx_quiescence_report;

typedef struct asx_fairness_certificate {
  size_t size;
  uint64_t cancel_dispatches;
  uint64_t timed_dispatches;
  uint64_t ready_dispatches;
  uint64_t fallback_cancel_dispatches;
  uint64_t base_limit_exceedances;
  uint64_t effective_limit_exceedances;
  uint64_t max_effective_limit_observed;
  uint64_t witness_hash;
} asx_fairness_certificate;

#ifdef __cplusplus
}
#endif

#endif /* ASX_CAPI_ASX_TYPES_H */
