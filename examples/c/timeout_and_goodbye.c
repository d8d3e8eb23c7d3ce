/* Two things that take a little thought in polls: a receive with a limit of time, and cleanup that waits. */
#include <stdio.h>

#include "asx/capi/asx.h"

static unsigned long long ms(asx_cx *cx) {
  return (unsigned long long)(asx_cx_now(cx) / ASX_MILLISECOND);
}

struct line {
  asx_channel_sender tx;
  asx_channel_receiver rx;
  int said;
  asx_time silence; /* When the listener gives up. */
};

static asx_poll_result talk(void *context, asx_cx *cx) {
  static char *words[] = {"hello", "are you there?"};
  struct line *line = context;
  for (; line->said < 2; line->said++) {
    asx_status status = asx_sleep_for(cx, 30 * ASX_MILLISECOND);
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    if (status != ASX_OK || asx_channel_try_send(&line->tx, words[line->said]) != ASX_OK) return ASX_POLL_READY;
  }
  return ASX_POLL_READY; /* Its end is still open: the listener is not told. */
}

// cut: listen
static asx_poll_result listen(void *context, asx_cx *cx) {
  struct line *line = context;
  for (;;) {
    char *word;
    asx_status status = asx_channel_recv(&line->rx, cx, &word);
    if (status == ASX_E_WOULD_BLOCK) {
      status = asx_sleep_until(cx, line->silence); /* Two waits: whichever is over first calls this again. */
      if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
      if (status == ASX_OK) printf("%llu ms: silence\n", ms(cx));
      return asx_channel_drop_receiver(&line->rx) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
    }
    if (status != ASX_OK) return ASX_POLL_READY;
    printf("%llu ms: %s\n", ms(cx), word);
    line->silence = asx_cx_now(cx) + 50 * ASX_MILLISECOND; /* Another moment begins the sleep anew. */
  }
}
// end: listen

struct worker {
  int is_leaving;
};

// cut: goodbye
static asx_poll_result work(void *context, asx_cx *cx) {
  struct worker *self = context;
  if (!self->is_leaving) {
    asx_status status = asx_sleep_for(cx, ASX_SECOND); /* What it does for a living. */
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    if (status != ASX_E_CANCELLED || asx_cx_mask(cx) != ASX_OK) return ASX_POLL_READY;
    printf("%llu ms: told to leave\n", ms(cx));
    self->is_leaving = 1;
  }
  asx_status status = asx_sleep_for(cx, 5 * ASX_MILLISECOND); /* In a mask every operation waits as usual. */
  if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
  if (status == ASX_OK) printf("%llu ms: everything is put away\n", ms(cx));
  return asx_cx_unmask(cx) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}
// end: goodbye

int main(void) {
  asx_runtime *rt;
  asx_region_handle root;
  asx_task_handle worker;
  struct line line = {.silence = 50 * ASX_MILLISECOND};
  struct worker self = {0};
  if (asx_runtime_create(NULL, &rt) != ASX_OK || asx_region_root(rt, &root) != ASX_OK) return 1;
  if (asx_channel_create(rt, root, 1, NULL, &line.tx, &line.rx) != ASX_OK) return 1;
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.context = &line;
  spec.poll = talk;
  if (asx_task_spawn(rt, root, &spec, NULL) != ASX_OK) return 1;
  spec.poll = listen;
  if (asx_task_spawn(rt, root, &spec, NULL) != ASX_OK) return 1;
  if (asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;

  spec.poll = work;
  spec.context = &self;
  spec.is_held = true; /* Its outcome is asked for below. */
  if (asx_task_spawn(rt, root, &spec, &worker) != ASX_OK) return 1;
  if (asx_runtime_run_until_idle(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
  if (asx_task_request_cancel(rt, worker, ASX_CANCEL_USER, "go home", NULL) != ASX_OK) return 1;
  if (asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
  asx_outcome outcome;
  if (asx_task_outcome(rt, worker, &outcome) != ASX_OK) return 1;
  printf("the worker was %s: %.*s\n", asx_outcome_kind_name(outcome.kind), (int)outcome.reason.message.size,
         outcome.reason.message.data);
  if (asx_task_release(rt, worker) != ASX_OK) return 1;
  return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
}
