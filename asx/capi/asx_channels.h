/* asx/capi/asx_channels.h - bounded channels of pointers: many senders, one receiver, two-phase send.
 *
 *     reserve --> permit --send(value)--> queued --recv--> delivered
 *                   +------abort--------> slot free again, nothing was queued
 *
 * A value is a `void *`, and may be null. It is the channel's from a send that said ASX_OK until it is received; one
 * that nobody received goes to the channel's destroy function, if it has one. A refused value stays the caller's.
 *
 * Refusals come in this order: ASX_E_STALE_HANDLE, ASX_E_CANCELLED (cancel points only), ASX_E_DISCONNECTED, then
 * ASX_E_FULL, ASX_E_EMPTY or ASX_E_WOULD_BLOCK.
 *
 * Cancel points: asx_channel_reserve, asx_channel_recv, asx_tracked_reserve.
 * Threads: the runtime's. Lifetime: a channel belongs to its region, which takes it down when it finalizes; ends and
 * permits that are left say ASX_E_DISCONNECTED then.
 */
#ifndef ASX_CAPI_ASX_CHANNELS_H
#define ASX_CAPI_ASX_CHANNELS_H

#include "asx/capi/asx_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- channels -------------------------------------------------------------------------------------------------- */

/* A channel of the region. Capacity 0 panics: the polled task, or else the panic hook; and
 * ASX_E_INVALID_ARGUMENT. `destroy` may be null.
 * Keeps: destroy, until the channel is gone; both ends are the caller's to drop. Cancel point: no. Thread: the
 * runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_create(asx_runtime* runtime, asx_region_handle region, uint32_t capacity,
                                                      asx_destroy_fn destroy, asx_channel_sender* out_tx,
                                                      asx_channel_receiver* out_rx);

/* Another sender.
 * Keeps: an end, to be dropped. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_clone(asx_channel_sender* tx, asx_channel_sender* out);

/* Its pending reserves leave with it. The last one that goes tells the receiver.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_drop_sender(asx_channel_sender* tx);

/* What is queued is destroyed, and waiting senders are told.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_drop_receiver(asx_channel_receiver* rx);

/* Set report->size first.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_inspect_sender(asx_channel_sender* tx, asx_channel_report* report);

/* Set report->size first.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_inspect_receiver(asx_channel_receiver* rx, asx_channel_report* report);

/* The channel that a sender sends to.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_of(asx_channel_sender* tx, asx_channel_handle* out);

/* While the channel is there, whatever ends of it are left: permits alone keep it. Set report->size first.
 * ASX_E_DISCONNECTED: it is gone; ASX_E_STALE_HANDLE: another one took its place.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_inspect(asx_runtime* runtime, asx_channel_handle channel,
                                                       asx_channel_report* report);

/* ---- sending --------------------------------------------------------------------------------------------------- */

/* Waits for a slot, first come, first served. One pending reserve a sender and task.
 * Keeps: a wait, until it answers something else than ASX_E_WOULD_BLOCK; the permit is the caller's to resolve.
 * Cancel point: yes. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_reserve(asx_channel_sender* tx, asx_cx* cx, asx_send_permit* out_permit);

/* Gives that wait up. ASX_E_INVALID_ARGUMENT: there is none.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_stop_reserving(asx_channel_sender* tx, asx_cx* cx);

/* ASX_E_FULL: no slot, or others wait for one.
 * Keeps: nothing: the permit is the caller's to resolve. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_try_reserve(asx_channel_sender* tx, asx_send_permit* out_permit);

/* Never fails for room. ASX_E_DISCONNECTED: the receiver is gone; the permit is resolved, the value is still the
 * caller's. ASX_E_OBLIGATION_ALREADY_RESOLVED: it was resolved before.
 * Keeps: value, when it says ASX_OK. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_send_permit_send(asx_send_permit* permit, void* value);

/* The slot comes back. Nothing for one that was resolved, or is null. It cannot be refused: on another thread, in a
 * hook, or for a tracked permit it does nothing, and the permit stays held.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_C_API void asx_send_permit_abort(asx_send_permit* permit);

/* Whether it is unresolved.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_C_API bool asx_send_permit_is_held(const asx_send_permit* permit);

/* Without a permit. ASX_E_FULL, and the value is still the caller's.
 * Keeps: value, when it says ASX_OK. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_try_send(asx_channel_sender* tx, void* value);

/* Takes the oldest message out when there is no room: *evicts is true then, and *evicted the caller's; else false and
 * null. Either pointer may be null; without `evicted` what is evicted goes to the destroy function.
 * Keeps: value, when it says ASX_OK. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_send_evicting(asx_channel_sender* tx, void* value, bool* evicts,
                                                             void** evicted);

/* ---- receiving ------------------------------------------------------------------------------------------------- */

/* Waits for the oldest message. `out_value` points to a `void *`. ASX_E_DISCONNECTED: nothing is queued, and
 * nobody can send any more. One task waits at a time: ASX_E_INVALID_ARGUMENT while another one does, until it has
 * ended or called asx_channel_stop_receiving.
 * Keeps: a wait, until it answers something else than ASX_E_WOULD_BLOCK; the value is the caller's. Cancel
 * point: yes. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_recv(asx_channel_receiver* rx, asx_cx* cx, void* out_value);

/* The same without waiting, also in cleanup: ASX_E_EMPTY.
 * Keeps: nothing: the value is the caller's. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_try_recv(asx_channel_receiver* rx, void* out_value);

/* Gives the wait of this task up, which a recv that said ASX_E_WOULD_BLOCK left behind. ASX_E_INVALID_ARGUMENT:
 * there is none; it was woken, or another task waits.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_channel_stop_receiving(asx_channel_receiver* rx, asx_cx* cx);

/* ---- tracked permits: each is an obligation as well ------------------------------------------------------------ */

/* permit->obligation is for asx_obligation_inspect: only the permit resolves it. A plain permit is refused here with
 * ASX_E_INVALID_ARGUMENT, a permit with another obligation's words with ASX_E_STALE_HANDLE, and stays as it is. */

/* As asx_channel_reserve, and an obligation of this task's region; whether that takes one is asked first
 * (R-128).
 * Keeps: a wait, until it answers something else than ASX_E_WOULD_BLOCK; the permit is the caller's to resolve.
 * Cancel point: yes. Thread: the runtime's, in a poll. */
ASX_NODISCARD ASX_C_API asx_status asx_tracked_reserve(asx_channel_sender* tx, asx_cx* cx,
                                                       asx_tracked_permit* out_permit);

/* `region`: whose obligation; null in a poll: its task's. ASX_E_INVALID_ARGUMENT: null outside of polls.
 * Keeps: nothing: the permit is the caller's to resolve. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_tracked_try_reserve(asx_channel_sender* tx, const asx_region_handle* region,
                                                           asx_tracked_permit* out_permit);

/* As asx_send_permit_send; ASX_OK commits the obligation, ASX_E_DISCONNECTED aborts it. `proof` may be null.
 * Keeps: value, when it says ASX_OK. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_tracked_send(asx_tracked_permit* permit, void* value, asx_permit_proof* proof);

/* The slot comes back, and the obligation is aborted. `proof` may be null. ASX_E_OBLIGATION_ALREADY_RESOLVED.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_tracked_abort(asx_tracked_permit* permit, asx_permit_proof* proof);

/* Forgets it: the slot comes back, the task panics, and its region reports a leak; who is cancelled has
 * not forgotten, and aborts.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_NODISCARD ASX_C_API asx_status asx_tracked_drop(asx_tracked_permit* permit);

/* Whether it is unresolved.
 * Keeps: nothing. Cancel point: no. Thread: the runtime's. */
ASX_C_API bool asx_tracked_is_held(const asx_tracked_permit* permit);

#ifdef __cplusplus
}
#endif

#endif /* ASX_CAPI_ASX_CHANNELS_H */
