/* A host with an event loop of its own: it asks when there is something to do, waits as it likes, and steps.
 *
 * The clock is the host's, too, and here it is a variable, so that the program prints the same every time.
 */
#include <stdio.h>

#include "asx/capi/asx.h"

static asx_time host_time; /* Where a real host reads its clock. */

static asx_time now(void *context) {
  (void)context;
  return host_time;
}

struct blinker {
  const char *name;
  uint64_t every;
  int left;
};

static asx_poll_result blink(void *context, asx_cx *cx) {
  struct blinker *self = context;
  for (; self->left > 0; self->left--) {
    asx_status status = asx_sleep_for(cx, self->every);
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    if (status != ASX_OK) break;
    printf("%4llu ms  %s\n", (unsigned long long)(asx_cx_now(cx) / ASX_MILLISECOND), self->name);
  }
  return ASX_POLL_READY;
}

int main(void) {
  asx_runtime_config config;
  asx_runtime *rt;
  asx_region_handle root;
  if (asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE) != ASX_OK) return 1;
  config.clock_kind = ASX_CLOCK_HOST;
  config.clock.now = now;
  if (asx_runtime_create(&config, &rt) != ASX_OK || asx_region_root(rt, &root) != ASX_OK) return 1;
  struct blinker red = {"red", 30 * ASX_MILLISECOND, 2}, green = {"green", 20 * ASX_MILLISECOND, 3};
  struct blinker *all[] = {&red, &green};
  for (int i = 0; i < 2; i++) {
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = blink;
    spec.context = all[i];
    if (asx_task_spawn(rt, root, &spec, NULL) != ASX_OK) return 1;
  }

  // cut: loop
  for (;;) { /* The loop that a host already has. */
    asx_step_report step = {.size = sizeof step};
    do {
      if (asx_runtime_step(rt, &step) != ASX_OK) return 1;
    } while (!step.is_idle);
    asx_time next;
    if (asx_runtime_next_deadline(rt, &next) != ASX_OK) return 1;
    if (next == ASX_TIME_NONE) break; /* Nothing will happen by itself: a real host goes on with its other work. */
    host_time = next;                 /* Here it would poll its descriptors, until `next` at the latest. */
  }
  // end: loop
  return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
}
