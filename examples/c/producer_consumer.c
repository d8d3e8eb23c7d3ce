/* A producer and a consumer: a bounded channel makes the fast one wait for the slow one. */
#include <stdio.h>
#include <stdlib.h>

#include "asx/capi/asx.h"

struct producer {
  asx_channel_sender tx;
  int next;
};

// cut: produce
static asx_poll_result produce(void *context, asx_cx *cx) {
  struct producer *self = context;
  for (; self->next <= 5; self->next++) {
    asx_send_permit permit;
    asx_status status = asx_channel_reserve(&self->tx, cx, &permit);
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING; /* Polled again when it is our turn. */
    if (status != ASX_OK) break;                              /* Cancelled, or nobody receives any more. */
    int *order = malloc(sizeof *order);                       /* The slot is ours: nothing is made in vain. */
    *order = self->next;
    printf("made %d\n", *order);
    if (asx_send_permit_send(&permit, order) != ASX_OK) free(order);
  }
  return asx_channel_drop_sender(&self->tx) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}
// end: produce

static asx_poll_result consume(void *context, asx_cx *cx) {
  asx_channel_receiver *rx = context;
  int *order;
  asx_status status;
  while ((status = asx_channel_recv(rx, cx, &order)) == ASX_OK) {
    printf("  took %d\n", *order);
    free(order);
  }
  return status == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

int main(void) {
  // cut: create
  asx_runtime *rt;
  asx_region_handle root;
  struct producer producer = {.next = 1};
  asx_channel_receiver rx;
  if (asx_version_check(ASX_VERSION_NUMBER) != ASX_OK || asx_runtime_create(NULL, &rt) != ASX_OK) return 1;
  if (asx_region_root(rt, &root) != ASX_OK) return 1;
  if (asx_channel_create(rt, root, 2, free, &producer.tx, &rx) != ASX_OK) return 1;
  // end: create

  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = produce;
  spec.context = &producer;
  if (asx_task_spawn(rt, root, &spec, NULL) != ASX_OK) return 1;
  spec.poll = consume;
  spec.context = &rx;
  if (asx_task_spawn(rt, root, &spec, NULL) != ASX_OK) return 1;

  // cut: run
  if (asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
  return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
  // end: run
}
