/* asx/capi/asx_timers.h - a timer wheel by itself: time in, expired wakers out; no clock of its own.
 *
 * It belongs to no runtime; tasks sleep with asx_sleep_until. What it hands back is woken with asx_waker_wake, or is
 * whatever the program put into the two words.
 *
 * Cancel points: none. Threads: one owner at a time; it is not checked. Lifetime: from create to destroy.
 */
#ifndef ASX_CAPI_ASX_TIMERS_H
#define ASX_CAPI_ASX_TIMERS_H

#include "asx/capi/asx_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `config` may be null. ASX_E_INVALID_ARGUMENT: a number out of range. ASX_E_RESOURCE_EXHAUSTED: memory was
 * refused.
 * Keeps: the memory hooks' context, until destroy. Cancel point: no. Thread: any. */
ASX_NODISCARD ASX_C_API asx_status asx_timer_wheel_create(const asx_wheel_config* config, asx_timer_wheel** out);

/* Live timers go with it.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_NODISCARD ASX_C_API asx_status asx_timer_wheel_destroy(asx_timer_wheel* wheel);

/* ASX_E_TIMER_DURATION_EXCEEDED, then ASX_E_RESOURCE_EXHAUSTED. One that has passed comes out at the next
 * collect.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_NODISCARD ASX_C_API asx_status asx_timer_register(asx_timer_wheel* wheel, asx_time deadline, asx_waker waker,
                                                      asx_timer_handle* out_handle);

/* The same function under the specification's other name.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_NODISCARD ASX_C_API asx_status asx_timer_try_register(asx_timer_wheel* wheel, asx_time deadline, asx_waker waker,
                                                          asx_timer_handle* out_handle);

/* Moves the time to `now` and writes what is due, in order of deadline and registration. The rest comes with the
 * next call. 0 for a null wheel.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_C_API size_t asx_timer_collect_expired(asx_timer_wheel* wheel, asx_time now, asx_waker* out_wakers,
                                           size_t max_wakers);

/* False: it fired or was cancelled before, which is no error.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_C_API bool asx_timer_cancel(asx_timer_wheel* wheel, const asx_timer_handle* handle);

/* Cancels and registers anew. The zero handle when that is refused; the old timer lives on then.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_C_API asx_timer_handle asx_timer_update(asx_timer_wheel* wheel, const asx_timer_handle* old_handle,
                                            asx_time new_deadline, asx_waker waker);

/* Whether it will still fire.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_C_API bool asx_timer_is_live(const asx_timer_wheel* wheel, const asx_timer_handle* handle);

/* ASX_TIME_NONE when nothing is live.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_C_API asx_time asx_timer_next_deadline(const asx_timer_wheel* wheel);

/* How many are live.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_C_API size_t asx_timer_live(const asx_timer_wheel* wheel);

/* Gives up what cancelled timers left behind, which is nothing.
 * Keeps: nothing. Cancel point: no. Thread: the wheel's owner's. */
ASX_NODISCARD ASX_C_API asx_status asx_timer_purge(asx_timer_wheel* wheel);

#ifdef __cplusplus
}
#endif

#endif /* ASX_CAPI_ASX_TIMERS_H */
