/* A timer wheel by itself: time in, what is due out, in order, to the nanosecond. */
#include <stdio.h>

#include "asx/capi/asx.h"

int main(void) {
  asx_timer_wheel *wheel;
  asx_timer_handle tea, bread, night;
  if (asx_timer_wheel_create(NULL, &wheel) != ASX_OK) return 1;
  /* The two words of a waker are ours to choose: here, a number of a name. */
  const char *names[] = {"", "the tea is ready", "the bread is done", "good night"};
  if (asx_timer_register(wheel, 180 * ASX_SECOND, (asx_waker){1, 0}, &tea) != ASX_OK) return 1;
  if (asx_timer_register(wheel, 1500 * ASX_SECOND, (asx_waker){2, 0}, &bread) != ASX_OK) return 1;
  if (asx_timer_try_register(wheel, 36000 * ASX_SECOND, (asx_waker){3, 0}, &night) != ASX_OK) return 1;

  /* Too far away is a refusal, and nothing has changed. */
  asx_status status = asx_timer_register(wheel, 8 * 24 * 3600 * ASX_SECOND, (asx_waker){0, 0}, &night);
  printf("%s\n", asx_status_name(status));

  // cut: update
  /* The oven is slow. A refused update is the zero handle, and the old timer lives on under the handle that it has. */
  asx_timer_handle later = asx_timer_update(wheel, &bread, 1800 * ASX_SECOND, (asx_waker){2, 0});
  if (later.id != 0) bread = later;
  // end: update
  printf("the bread will %sbe told\n", asx_timer_is_live(wheel, &bread) ? "" : "not ");
  // cut: collect
  for (asx_time next; (next = asx_timer_next_deadline(wheel)) != ASX_TIME_NONE;) {
    asx_waker due[4];
    size_t count = asx_timer_collect_expired(wheel, next, due, 4);
    for (size_t i = 0; i < count; i++) {
      printf("%6llu s  %s\n", (unsigned long long)(next / ASX_SECOND), names[due[i].word]);
    }
  }
  // end: collect
  printf("the tea can %sbe cancelled any more\n", asx_timer_cancel(wheel, &tea) ? "" : "not ");
  return asx_timer_wheel_destroy(wheel) == ASX_OK ? 0 : 1;
}
