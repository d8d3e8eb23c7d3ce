/* A host with an event loop of its own: poll(2) waits for its descriptors and for asx at the same time.
 *
 *     task waits --> the host polls <--byte in a pipe-- unpark <-- asx_foreign_wake <-- another thread
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "asx/capi/asx.h"

/* What a thread works out for a task: the answer first, then the wake. */
struct question {
  asx_foreign_handle asker;
  atomic_int answer; /* 0: not yet. */
  int is_told;
};

// cut: unpark
static int wake_pipe[2]; /* Neither end blocks: a full pipe already says what there is to say. */

static void unpark(void *context) { /* By any thread and by signal handlers. */
  (void)context;
  ssize_t written = write(wake_pipe[1], "", 1);
  (void)written;
}
// end: unpark

// cut: thread
static void *work_it_out(void *context) {
  struct question *q = context;
  atomic_store(&q->answer, 6 * 7);
  asx_foreign_wake(&q->asker);
  asx_foreign_drop(&q->asker);
  return NULL;
}

static asx_poll_result ask(void *context, asx_cx *cx) {
  struct question *q = context;
  if (asx_checkpoint(cx) != ASX_OK) return ASX_POLL_READY;
  if (!q->is_told) {
    int answer = atomic_load(&q->answer);
    if (answer == 0) { /* Parked until somebody wakes it. */
      return asx_cx_waker(cx, NULL) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_ERROR;
    }
    printf("the answer is %d\n", answer);
    q->is_told = 1;
  }
  asx_status status = asx_sleep_for(cx, 20 * ASX_MILLISECOND);
  if (status == ASX_E_WOULD_BLOCK) return ASX_POLL_PENDING;
  if (status == ASX_OK) puts("and a little later it is still that");
  return ASX_POLL_READY;
}
// end: thread

// cut: milliseconds
/* For poll(2): rounded up, or the loop would spin through the last millisecond; -1: as long as it takes. */
static int milliseconds(asx_time now, asx_time until) {
  if (until == ASX_TIME_NONE) return -1;
  if (until <= now) return 0;
  asx_time ms = (until - now - 1) / ASX_MILLISECOND + 1;
  return ms < INT_MAX ? (int)ms : INT_MAX;
}
// end: milliseconds

int main(void) {
  asx_runtime *rt;
  asx_region_handle root;
  asx_task_handle task;
  struct question question = {.answer = 0};
  if (pipe(wake_pipe) != 0) return 1;
  for (int i = 0; i < 2; i++) {
    if (fcntl(wake_pipe[i], F_SETFL, O_NONBLOCK) != 0) return 1;
  }
  // cut: config
  asx_runtime_config config;
  if (asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE) != ASX_OK) return 1;
  config.clock_kind = ASX_CLOCK_MACHINE;
  config.park.unpark = unpark; /* No `park`: it is the host that waits. */
  if (asx_runtime_create(&config, &rt) != ASX_OK) return 1;
  // end: config
  asx_task_spec spec = ASX_TASK_SPEC_INIT;
  spec.poll = ask;
  spec.context = &question;
  if (asx_region_root(rt, &root) != ASX_OK || asx_task_spawn(rt, root, &spec, &task) != ASX_OK) return 1;
  if (asx_foreign_open(rt, task, &question.asker) != ASX_OK) return 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, work_it_out, &question) != 0) return 1;

  // cut: loop
  for (;;) {
    asx_status status = asx_runtime_run_until_idle(rt, 1000, NULL); /* A slice: the host has other work, too. */
    if (status != ASX_OK && status != ASX_E_STEP_LIMIT) return 1;
    asx_runtime_report report = {.size = sizeof report};
    if (asx_runtime_inspect(rt, &report) != ASX_OK) return 1;
    if (report.live_tasks == 0) break;
    int timeout = status == ASX_E_STEP_LIMIT ? 0 : milliseconds(report.now, report.next_deadline);
    struct pollfd ready[] = {{.fd = wake_pipe[0], .events = POLLIN}}; /* And the host's own descriptors. */
    if (poll(ready, 1, timeout) > 0) {
      char bytes[64];
      while (read(wake_pipe[0], bytes, sizeof bytes) > 0) { /* Emptied first, run afterwards: no wake is lost. */
      }
    }
  }
  // end: loop
  if (pthread_join(thread, NULL) != 0) return 1;
  return asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
}
