/* A pipeline that is cancelled half way: nothing is lost, everything is given back, and everybody is told why. */
#include <stdio.h>
#include <stdlib.h>

#include "asx/capi/asx.h"

static int alive; /* Orders that somebody still owns. */

static void throw_away(void *order) {
  printf("  order %d was never served\n", *(int *)order);
  free(order);
  alive--;
}

static asx_status close_shop(void *context) {
  printf("  %s closes\n", (const char *)context);
  return ASX_OK;
}

struct shop {
  asx_channel_sender tx;
  asx_channel_receiver rx;
  int next;
  int is_open;
  int is_rested; /* The cook has slept and waits for an order. */
};

// cut: orders
static asx_poll_result take_orders(void *context, asx_cx *cx) {
  struct shop *shop = context;
  if (!shop->is_open) { /* Runs when this task ends, however it ends. */
    shop->is_open = asx_cx_push_cleanup(cx, close_shop, "the counter", NULL) == ASX_OK;
  }
  for (;; shop->next++) {
    asx_send_permit permit;
    asx_status status = asx_channel_reserve(&shop->tx, cx, &permit);
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    if (status != ASX_OK) return ASX_POLL_READY; /* Cancelled: no order was made that has no place. */
    int *order = malloc(sizeof *order);
    *order = shop->next;
    alive++;
    if (asx_send_permit_send(&permit, order) != ASX_OK) throw_away(order);
  }
}
// end: orders

// cut: cook
static asx_poll_result cook(void *context, asx_cx *cx) {
  struct shop *shop = context;
  for (;;) {
    if (!shop->is_rested) {
      asx_status status = asx_sleep_for(cx, 10 * ASX_MILLISECOND);
      if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
      if (status != ASX_OK) return ASX_POLL_READY;
      shop->is_rested = 1; /* Or the poll that brings the order would begin a second sleep. */
    }
    int *order;
    asx_status status = asx_channel_recv(&shop->rx, cx, &order);
    if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
    if (status != ASX_OK) return ASX_POLL_READY;
    shop->is_rested = 0;
    printf("order %d is served\n", *order);
    free(order);
    alive--;
  }
}
// end: cook

int main(void) {
  asx_runtime *rt;
  asx_region_handle root, day;
  struct shop shop = {.next = 1};
  asx_region_spec held = ASX_REGION_SPEC_INIT;
  held.is_held = true;
  if (asx_runtime_create(NULL, &rt) != ASX_OK || asx_region_root(rt, &root) != ASX_OK) return 1;
  if (asx_region_create(rt, root, &held, &day) != ASX_OK) return 1;
  if (asx_channel_create(rt, day, 2, throw_away, &shop.tx, &shop.rx) != ASX_OK) return 1;
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.context = &shop;
  spec.poll = take_orders;
  if (asx_task_spawn(rt, day, &spec, NULL) != ASX_OK) return 1;
  spec.poll = cook;
  if (asx_task_spawn(rt, day, &spec, NULL) != ASX_OK) return 1;

  for (int i = 0; i < 3; i++) { /* Three orders' worth of virtual time. */
    if (asx_runtime_run_until_idle(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
    if (asx_runtime_advance(rt, 10 * ASX_MILLISECOND) != ASX_OK) return 1;
  }
  // cut: close
  puts("the day ends");
  if (asx_region_close(rt, day, ASX_CANCEL_USER, "closing time") != ASX_OK) return 1;
  if (asx_runtime_run_until_idle(rt, ASX_MAX_STEPS, NULL) != ASX_OK) return 1;
  asx_outcome outcome;
  if (asx_region_outcome(rt, day, &outcome) != ASX_OK) return 1;
  printf("the day was %s; orders left over: %d\n", asx_outcome_kind_name(outcome.kind), alive);
  // end: close
  if (asx_region_release(rt, day) != ASX_OK) return 1;
  return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
}
