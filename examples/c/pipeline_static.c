/* Three tasks in 64 KiB that the program owns: no allocator is called, and none is linked.
 *
 *     numbers --> squares --> sum
 */
#include <stdio.h>

#include "asx/capi/asx.h"

static unsigned char memory[64 * 1024];

struct stage {
  asx_channel_receiver in;
  asx_channel_sender out;
  uintptr_t at;    /* The next number, or the sum so far. */
  uintptr_t value; /* In hand, between a receive and its send. */
  int has_value;
};

/* One number out; ASX_E_WOULD_BLOCK: wait. A number travels as a pointer. */
static asx_status put(struct stage *s, asx_cx *cx, uintptr_t value) {
  asx_send_permit permit;
  asx_status status = asx_channel_reserve(&s->out, cx, &permit);
  return status == ASX_OK ? asx_send_permit_send(&permit, (void *)value) : status;
}

static asx_poll_result numbers(void *context, asx_cx *cx) {
  struct stage *s = context;
  for (; s->at <= 10; s->at++) {
    asx_status status = put(s, cx, s->at);
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    if (status != ASX_OK) break;
  }
  return asx_channel_drop_sender(&s->out) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}

static asx_poll_result squares(void *context, asx_cx *cx) {
  struct stage *s = context;
  for (;;) {
    asx_status status = s->has_value ? ASX_OK : asx_channel_recv(&s->in, cx, &s->value);
    if (status == ASX_OK) {
      s->has_value = 1;
      status = put(s, cx, s->value * s->value);
    }
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    s->has_value = 0;
    if (status != ASX_OK) break;
  }
  return asx_channel_drop_sender(&s->out) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}

static asx_poll_result sum(void *context, asx_cx *cx) {
  struct stage *s = context;
  asx_status status;
  while ((status = asx_channel_recv(&s->in, cx, &s->value)) == ASX_OK) s->at += s->value;
  if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
  return asx_cx_set_value(cx, s->at) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}

// cut: shrink
/* The profile tiny makes room for 64 tasks, 256 events, 16 regions and channels. Three tasks need less. */
static void shrink(asx_resource_contract *c) {
  c->max_tasks = c->max_ready_queue = c->max_cancel_queue = c->max_waits = 8;
  c->max_regions = c->max_finalizers = c->max_causes = c->max_channels = 4;
  c->max_timers = c->max_obligations = c->max_senders = c->max_cleanup_entries = 8;
  c->max_sync = c->max_ghost_entries = 0;
  c->max_trace_events = 64;
}
// end: shrink

int main(void) {
  static char line[256];
  setvbuf(stdout, line, _IOLBF, sizeof line); /* The C library, too, gets its buffer from us. */
  asx_runtime_config config;
  asx_runtime *rt;
  asx_region_handle root;
  struct stage stages[3] = {{.at = 1}};
  if (asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_TINY) != ASX_OK) return 1;
  shrink(&config.contract);
  asx_status status = asx_runtime_create_in(memory, sizeof memory, &config, &rt);
  if (status != ASX_OK) return fputs(asx_status_sentence(status), stderr), 1;
  if (asx_region_root(rt, &root) != ASX_OK) return 1;
  for (int i = 0; i < 2; i++) {
    if (asx_channel_create(rt, root, 2, NULL, &stages[i].out, &stages[i + 1].in) != ASX_OK) return 1;
  }
  asx_poll_fn polls[3] = {numbers, squares, sum};
  asx_task_handle last = {0, 0};
  for (int i = 0; i < 3; i++) {
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = polls[i];
    spec.context = &stages[i];
    spec.is_held = true;
    if (asx_task_spawn(rt, root, &spec, &last) != ASX_OK) return 1;
  }
  asx_outcome outcome;
  asx_runtime_report report = {.size = sizeof report};
  if (asx_runtime_run_until_idle(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
  if (asx_task_outcome(rt, last, &outcome) != ASX_OK || asx_runtime_inspect(rt, &report) != ASX_OK) return 1;
  printf("the squares of 1 to 10 add up to %llu\n", (unsigned long long)outcome.value);
  printf("%llu KiB were enough\n", (unsigned long long)(report.memory_bytes + 1023) / 1024);
  return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
}
