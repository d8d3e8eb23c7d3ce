/* asx/capi/asx.h - structured concurrency for C: this is the header to include.
 *
 *     #include <stdio.h>
 *     #include "asx/capi/asx.h"
 *
 *     static asx_poll_result greet(void *context, asx_cx *cx) {
 *       asx_status status = asx_sleep_for(cx, ASX_SECOND);
 *       if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;  // polled again when the second is over
 *       if (status == ASX_OK) puts(context);                       // anything else: cancelled, or refused
 *       return ASX_POLL_READY;
 *     }
 *
 *     int main(void) {
 *       asx_runtime *rt;
 *       asx_region_handle root;
 *       asx_task_spec spec = ASX_TASK_SPEC_INIT;
 *       spec.poll = greet;
 *       spec.context = "hello";
 *       if (asx_runtime_create(NULL, &rt) != ASX_OK || asx_region_root(rt, &root) != ASX_OK) return 1;
 *       if (asx_task_spawn(rt, root, &spec, NULL) != ASX_OK) return 1;
 *       if (asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
 *       return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
 *     }
 *
 * 1  Every task has a region, and a region ends only when everything in it has ended.
 * 2  Every call answers with a status and checks its arguments: a null pointer, a stale or forged handle, a handle of
 *    another type, another thread, a call from inside a hook are refused, and nothing has changed. What cannot be
 *    told: a runtime pointer that was freed or forged; a handle of another runtime whose words name something here;
 *    the cx of an ended task in the poll of a later one; a foreign handle that was dropped by way of a copy; a `size`
 *    that is larger than its struct.
 * 3  Nothing here ends the process: the panic hook does, if it wants to, and a broken assertion, which is asx's own
 *    mistake.
 * 4  Same program, same seed, same profile: same digest.
 *
 * Names are those of the specification with asx_ in front; docs/guide/c.md is the guide.
 *
 * Cancel points: functions say `Cancel point: yes`; nothing else acknowledges a cancel or waits.
 * Threads: a runtime belongs to the thread that created it, but for foreign handles. A thread is told by its
 * pthread_self: one that begins after the owner has ended may be taken for it.
 * Lifetime: what a function keeps of its arguments, and for how long, stands at each under `Keeps`.
 */
#ifndef ASX_CAPI_ASX_H
#define ASX_CAPI_ASX_H

#include "asx/capi/asx_channels.h"
#include "asx/capi/asx_laws.h"
#include "asx/capi/asx_runtime.h"
#include "asx/capi/asx_tasks.h"
#include "asx/capi/asx_timers.h"
#include "asx/capi/asx_types.h"

#endif /* ASX_CAPI_ASX_H */
