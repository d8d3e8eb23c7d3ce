/* asx/capi/asx_laws.h - the laws as functions: how outcomes, budgets and reasons combine, and which moves there are.
 *
 * Plain values in and out; no runtime. A number that is no state, kind or status is ASX_E_INVALID_ARGUMENT.
 *
 * Cancel points: none. Threads: any. Lifetime: results refer to the texts of their arguments.
 */
#ifndef ASX_CAPI_ASX_LAWS_H
#define ASX_CAPI_ASX_LAWS_H

#include "asx/capi/asx_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The worse of the two; of equals the left, of two cancelled the stronger reason.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_outcome_join(const asx_outcome* left, const asx_outcome* right,
                                                    asx_outcome* out);

/* The tighter of the two, part by part.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_budget_meet(const asx_budget* a, const asx_budget* b, asx_budget* out);

/* ASX_E_BUDGET_EXHAUSTED: none is left, and nothing was taken.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_budget_consume_poll(asx_budget* budget);

/* As asx_budget_consume_poll.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_budget_consume_cost(asx_budget* budget, uint64_t amount);

/* The first part that is spent.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_budget_exhausted(const asx_budget* budget, asx_time now, asx_budget_part* out);

/* The stronger of the two, taken whole.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_cancel_reason_strengthen(const asx_cancel_reason* incumbent,
                                                                const asx_cancel_reason* other, asx_cancel_reason* out);

/* Whether `next` may replace `previous`; else the first rule that it breaks.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_witness_validate(const asx_cancel_witness* previous,
                                                        const asx_cancel_witness* next);

/* What the table says of the move.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_region_transition_check(asx_region_state from, asx_region_state to);

/* What the table says of the move.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_task_transition_check(asx_task_state from, asx_task_state to);

/* What the table says of the move.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_obligation_transition_check(asx_obligation_state from, asx_obligation_state to);

/* What the table says of the move.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_cancel_phase_check(asx_cancel_phase from, asx_cancel_phase to);

/* What a cancel of that kind grants for cleanup. Each pointer may be null.
 * Keeps: nothing. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_cancel_kind_info(asx_cancel_kind kind, uint8_t* severity,
                                                        uint32_t* cleanup_quota, uint8_t* cleanup_priority);

#ifdef __cplusplus
}
#endif

#endif /* ASX_CAPI_ASX_LAWS_H */
