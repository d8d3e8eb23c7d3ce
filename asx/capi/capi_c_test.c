/* The C interface as a C compiler sees it: the specification's ten signatures, the initialisers, one whole run. */
#include <stdio.h>
#include <string.h>

#include "asx/capi/asx.h"

/* Does not compile when a signature differs. */
static asx_status (*const reserve)(asx_channel_sender*, asx_cx*, asx_send_permit*) = asx_channel_reserve;
static asx_status (*const send)(asx_send_permit*, void*) = asx_send_permit_send;
static void (*const abort_permit)(asx_send_permit*) = asx_send_permit_abort;
static asx_status (*const recv)(asx_channel_receiver*, asx_cx*, void*) = asx_channel_recv;
static asx_status (*const try_recv)(asx_channel_receiver*, void*) = asx_channel_try_recv;
static asx_status (*const add)(asx_timer_wheel*, asx_time, asx_waker, asx_timer_handle*) = asx_timer_register;
static asx_status (*const try_add)(asx_timer_wheel*, asx_time, asx_waker, asx_timer_handle*) = asx_timer_try_register;
static size_t (*const collect)(asx_timer_wheel*, asx_time, asx_waker*, size_t) = asx_timer_collect_expired;
static bool (*const cancel)(asx_timer_wheel*, const asx_timer_handle*) = asx_timer_cancel;
static asx_timer_handle (*const update)(asx_timer_wheel*, const asx_timer_handle*, asx_time,
                                        asx_waker) = asx_timer_update;

_Static_assert(sizeof(asx_status) == 4 && sizeof(asx_region_handle) == 16 && sizeof(asx_event) == 64, "as documented");
_Static_assert(sizeof(asx_timer_handle) == 16 && sizeof(asx_waker) == 16, "two words each");

static int failures;
#define CHECK(condition) \
  ((condition) ? (void)0 : (failures++, (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition)))

struct echo {
  asx_channel_sender tx;
  asx_channel_receiver rx;
  const char* heard;
};

static asx_poll_result speak(void* context, asx_cx* cx) {
  struct echo* e = context;
  asx_send_permit permit;
  switch (reserve(&e->tx, cx, &permit)) {
    case ASX_E_WOULD_BLOCK: return ASX_POLL_PENDING;
    case ASX_OK: break;
    default: return ASX_POLL_ERROR;
  }
  CHECK(send(&permit, "hello") == ASX_OK);
  abort_permit(&permit); /* Resolved: nothing happens. */
  return ASX_POLL_READY;
}

static asx_poll_result listen(void* context, asx_cx* cx) {
  struct echo* e = context;
  void* value;
  if (recv(&e->rx, cx, &value) == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
  e->heard = value;
  return ASX_POLL_READY;
}

int main(void) {
  asx_runtime* rt = NULL;
  asx_region_handle root = {0};
  struct echo e = {.heard = ""};
  CHECK(asx_version_check(ASX_VERSION_NUMBER) == ASX_OK);
  CHECK(asx_runtime_create(NULL, &rt) == ASX_OK && asx_region_root(rt, &root) == ASX_OK);
  CHECK(asx_channel_create(rt, root, 1, NULL, &e.tx, &e.rx) == ASX_OK);
  asx_poll_fn polls[] = {listen, speak};
  for (int i = 0; i < 2; i++) {
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = polls[i];
    spec.context = &e;
    CHECK(asx_task_spawn(rt, root, &spec, NULL) == ASX_OK);
  }
  CHECK(asx_runtime_run_until_quiescent(rt, ASX_MAX_STEPS, NULL) == ASX_OK);
  CHECK(strcmp(e.heard, "hello") == 0);
  void* none;
  CHECK(try_recv(&e.rx, &none) == ASX_E_EMPTY);
  CHECK(asx_runtime_destroy(rt) == ASX_OK);

  asx_wheel_config config = ASX_WHEEL_CONFIG_INIT;
  asx_region_spec region = ASX_REGION_SPEC_INIT;
  CHECK(config.size == sizeof config && region.size == sizeof region && region.max_tasks == UINT32_MAX);
  asx_timer_wheel* wheel = NULL;
  asx_timer_handle first = {0}, second = {0};
  asx_waker due[2];
  CHECK(asx_timer_wheel_create(&config, &wheel) == ASX_OK);
  CHECK(add(wheel, 5, (asx_waker){1, 0}, &first) == ASX_OK && try_add(wheel, 6, (asx_waker){2, 0}, &second) == ASX_OK);
  second = update(wheel, &second, 4, (asx_waker){2, 0});
  CHECK(collect(wheel, 10, due, 2) == 2 && due[0].word == 2 && due[1].word == 1);
  CHECK(!cancel(wheel, &first));
  CHECK(asx_timer_wheel_destroy(wheel) == ASX_OK);
  return failures == 0 ? 0 : 1;
}
