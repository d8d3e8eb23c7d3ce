/* asx/capi/asx_numbers.h - the numbers of the C interface: statuses, states, kinds.
 *
 * They are the specification's, and never change: journals and digests hold them. Each is as
 * wide as an int; a compiler that is told otherwise (-fshort-enums) is refused below.
 *
 * Cancel points: none. Threads: constants. Lifetime: constants.
 */
#ifndef ASX_CAPI_ASX_NUMBERS_H
#define ASX_CAPI_ASX_NUMBERS_H

/* As wide in C++ as in C: a number that is none is refused, and not undefined. */
#ifdef __cplusplus
#define ASX_ENUM(name) enum name : int
#else
#define ASX_ENUM(name) enum name
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* What became of a call. asx_status_sentence says what to do about each. */
typedef ASX_ENUM(asx_status){ASX_OK = 0,
                             ASX_E_INVALID_TRANSITION = 1,
                             ASX_E_REGION_NOT_OPEN = 2,
                             ASX_E_REGION_CLOSED = 3,
                             ASX_E_ADMISSION_CLOSED = 4,
                             ASX_E_OBLIGATION_ALREADY_RESOLVED = 5,
                             ASX_E_OBLIGATION_LEAKED = 6,
                             ASX_E_UNRESOLVED_OBLIGATIONS = 7,
                             ASX_E_INCOMPLETE_CHILDREN = 8,
                             ASX_E_STALE_HANDLE = 9,
                             ASX_E_RESOURCE_EXHAUSTED = 10,
                             ASX_E_BUDGET_EXHAUSTED = 11,
                             ASX_E_TASKS_STILL_ACTIVE = 12,
                             ASX_E_OBLIGATIONS_UNRESOLVED = 13,
                             ASX_E_REGIONS_NOT_CLOSED = 14,
                             ASX_E_TIMERS_PENDING = 15,
                             ASX_E_CHANNEL_NOT_DRAINED = 16,
                             ASX_E_WITNESS_TASK_MISMATCH = 17,
                             ASX_E_WITNESS_REGION_MISMATCH = 18,
                             ASX_E_WITNESS_EPOCH_MISMATCH = 19,
                             ASX_E_WITNESS_PHASE_REGRESSION = 20,
                             ASX_E_WITNESS_REASON_WEAKENED = 21,
                             ASX_E_DISCONNECTED = 22,
                             ASX_E_CANCELLED = 23,
                             ASX_E_FULL = 24,
                             ASX_E_EMPTY = 25,
                             ASX_E_WOULD_BLOCK = 26,
                             ASX_E_TIMER_DURATION_EXCEEDED = 27,

                             ASX_E_INVALID_ARGUMENT = 100,
                             ASX_E_WRONG_THREAD = 101,
                             ASX_E_REENTRANT = 102,
                             ASX_E_STEP_LIMIT = 103,
                             ASX_E_IO = 104,
                             ASX_E_CORRUPT = 105,
                             ASX_E_VERSION = 106,
                             ASX_E_LAGGED = 107} asx_status;

typedef ASX_ENUM(asx_region_state){ASX_REGION_OPEN = 0, ASX_REGION_CLOSING = 1, ASX_REGION_DRAINING = 2,
                                   ASX_REGION_FINALIZING = 3, ASX_REGION_CLOSED = 4} asx_region_state;

typedef ASX_ENUM(asx_task_state){ASX_TASK_CREATED = 0,          ASX_TASK_RUNNING = 1,
                                 ASX_TASK_CANCEL_REQUESTED = 2, ASX_TASK_CANCELLING = 3,
                                 ASX_TASK_FINALIZING = 4,       ASX_TASK_COMPLETED = 5} asx_task_state;

typedef ASX_ENUM(asx_obligation_state){ASX_OBLIGATION_RESERVED = 0, ASX_OBLIGATION_COMMITTED = 1,
                                       ASX_OBLIGATION_ABORTED = 2, ASX_OBLIGATION_LEAKED = 3} asx_obligation_state;

typedef ASX_ENUM(asx_cancel_phase){ASX_CANCEL_REQUESTED = 0, ASX_CANCEL_CANCELLING = 1, ASX_CANCEL_FINALIZING = 2,
                                   ASX_CANCEL_COMPLETED = 3} asx_cancel_phase;

typedef ASX_ENUM(asx_cancel_kind){ASX_CANCEL_USER = 0,       ASX_CANCEL_TIMEOUT = 1,     ASX_CANCEL_DEADLINE = 2,
                                  ASX_CANCEL_POLL_QUOTA = 3, ASX_CANCEL_COST_BUDGET = 4, ASX_CANCEL_FAIL_FAST = 5,
                                  ASX_CANCEL_RACE_LOST = 6,  ASX_CANCEL_LINKED_EXIT = 7, ASX_CANCEL_PARENT = 8,
                                  ASX_CANCEL_RESOURCE = 9,   ASX_CANCEL_SHUTDOWN = 10} asx_cancel_kind;

/* The number is the severity. */
typedef ASX_ENUM(asx_outcome_kind){ASX_OUTCOME_OK = 0, ASX_OUTCOME_ERR = 1, ASX_OUTCOME_CANCELLED = 2,
                                   ASX_OUTCOME_PANICKED = 3} asx_outcome_kind;

typedef ASX_ENUM(asx_poll_result){ASX_POLL_PENDING = 0, ASX_POLL_READY = 1, ASX_POLL_ERROR = 2} asx_poll_result;

typedef ASX_ENUM(asx_channel_state){ASX_CHANNEL_OPEN = 0, ASX_CHANNEL_SENDER_CLOSED = 1,
                                    ASX_CHANNEL_RECEIVER_CLOSED = 2, ASX_CHANNEL_FULLY_CLOSED = 3} asx_channel_state;

typedef ASX_ENUM(asx_lane){ASX_LANE_CANCEL = 0, ASX_LANE_TIMED = 1, ASX_LANE_READY = 2, ASX_LANE_NONE = 255} asx_lane;

typedef ASX_ENUM(asx_dispatch_source){ASX_FROM_CANCEL = 0, ASX_FROM_TIMED = 1, ASX_FROM_READY = 2,
                                      ASX_FROM_FALLBACK = 3, ASX_FROM_STALL = 4} asx_dispatch_source;

typedef ASX_ENUM(asx_governor){ASX_GOVERNOR_NO_PREFERENCE = 0, ASX_GOVERNOR_MEET_DEADLINES = 1,
                               ASX_GOVERNOR_DRAIN_OBLIGATIONS = 2, ASX_GOVERNOR_DRAIN_REGIONS = 3} asx_governor;

typedef ASX_ENUM(asx_budget_part){ASX_BUDGET_NONE = 0, ASX_BUDGET_DEADLINE = 1, ASX_BUDGET_POLLS = 2,
                                  ASX_BUDGET_COST = 3} asx_budget_part;

/* Presets of the resource contract. */
typedef ASX_ENUM(asx_profile){ASX_PROFILE_CORE = 0, ASX_PROFILE_TINY = 1, ASX_PROFILE_SERVER = 2} asx_profile;

typedef ASX_ENUM(asx_leak_policy){ASX_LEAKS_PROCEED = 0, ASX_LEAKS_HOLD = 1} asx_leak_policy;
typedef ASX_ENUM(asx_worker_order){ASX_ORDER_ROUND_ROBIN = 0, ASX_ORDER_DRAWN = 1} asx_worker_order;
typedef ASX_ENUM(asx_tie_break){ASX_TIES_FIFO = 0, ASX_TIES_RNG = 1} asx_tie_break;
typedef ASX_ENUM(asx_trace_overflow){ASX_TRACE_RING = 0, ASX_TRACE_REJECT = 1} asx_trace_overflow;
typedef ASX_ENUM(asx_journal_mode){ASX_JOURNAL_OFF = 0, ASX_JOURNAL_DIGEST_ONLY = 1,
                                   ASX_JOURNAL_FULL = 2} asx_journal_mode;
typedef ASX_ENUM(asx_ghost_mode){ASX_GHOSTS_AUTOMATIC = 0, ASX_GHOSTS_OFF = 1, ASX_GHOSTS_ON = 2} asx_ghost_mode;
typedef ASX_ENUM(asx_log_level){ASX_LOG_NOTE = 0, ASX_LOG_WARNING = 1, ASX_LOG_FATAL = 2} asx_log_level;

/* Virtual time stands still until it is moved; the machine's moves by itself, and so may the host's. */
typedef ASX_ENUM(asx_clock_kind){ASX_CLOCK_VIRTUAL = 0, ASX_CLOCK_MACHINE = 1, ASX_CLOCK_HOST = 2} asx_clock_kind;

#ifdef __cplusplus
}
static_assert(sizeof(asx_status) == sizeof(int) && sizeof(asx_profile) == sizeof(int), "asx: an enum is an int");
#else
_Static_assert(sizeof(asx_status) == sizeof(int) && sizeof(asx_profile) == sizeof(int),
               "asx: an enum is an int; compile without -fshort-enums");
#endif

#endif /* ASX_CAPI_ASX_NUMBERS_H */
