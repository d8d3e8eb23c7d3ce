/* What a runtime takes of the memory that a program hands over: the whole, and each thing that its contract promises.
 *
 * A limit is raised by 1000 and the runtime made once more; asx_runtime_inspect says what it took.
 */
#include <stdio.h>
#include <stdlib.h>

#include "asx/capi/asx.h"

static _Alignas(4096) unsigned char memory[4 * 1024 * 1024]; /* Where it begins decides about a few bytes. */

/* With a channel of so many slots; 0: without one. */
static uint64_t bytes_of(const asx_runtime_config *config, uint32_t slots) {
  asx_runtime *rt;
  asx_region_handle root;
  asx_channel_sender tx;
  asx_channel_receiver rx;
  asx_runtime_report report = {.size = sizeof report};
  if (asx_runtime_create_in(memory, sizeof memory, config, &rt) != ASX_OK) exit(1);
  if (slots != 0) {
    if (asx_region_root(rt, &root) != ASX_OK) exit(1);
    if (asx_channel_create(rt, root, slots, NULL, &tx, &rx) != ASX_OK) exit(1);
  }
  if (asx_runtime_inspect(rt, &report) != ASX_OK || asx_runtime_destroy(rt) != ASX_OK) exit(1);
  return report.memory_bytes;
}

static void put(const char *what, uint64_t bytes) {
  printf("%-40s %6llu\n", what, (unsigned long long)bytes);
}

/* One of what `limit`, a field of *config, counts. */
static void put_one(const char *what, asx_runtime_config *config, uint32_t *limit) {
  uint64_t before = bytes_of(config, 0);
  *limit += 1000;
  put(what, (bytes_of(config, 0) - before + 500) / 1000);
  *limit -= 1000;
}

int main(void) {
  asx_runtime_config config;
  if (asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_TINY) != ASX_OK) return 1;
  config.ghosts = ASX_GHOSTS_ON; /* By default they are on when the library was built without NDEBUG. */
  asx_resource_contract *c = &config.contract;
  put("the profile tiny, in bytes", bytes_of(&config, 0));
  put_one("  a task, max_tasks", &config, &c->max_tasks);
  put_one("  a region, max_regions", &config, &c->max_regions);
  put_one("  a channel, max_channels", &config, &c->max_channels);
  put("    a slot of one, once it is made", (bytes_of(&config, 1001) - bytes_of(&config, 1) + 500) / 1000);
  put_one("  a sender, max_senders", &config, &c->max_senders);
  put_one("  a wait, max_waits", &config, &c->max_waits);
  put_one("  a timer, max_timers", &config, &c->max_timers);
  put_one("  an obligation, max_obligations", &config, &c->max_obligations);
  put_one("  a cleanup action, max_cleanup_entries", &config, &c->max_cleanup_entries);
  put_one("  a finalizer, max_finalizers", &config, &c->max_finalizers);
  put_one("  a reason with its message, max_causes", &config, &c->max_causes);
  put_one("  a place that max_sync promises", &config, &c->max_sync);
  put_one("  an entry of the ghosts", &config, &c->max_ghost_entries);
  uint64_t before = bytes_of(&config, 0);
  c->max_trace_events += 1024;
  put("  an event, max_trace_events", (bytes_of(&config, 0) - before) / 1024);

  c->max_tasks = c->max_ready_queue = c->max_cancel_queue = c->max_regions = 1;
  c->max_channels = c->max_senders = c->max_waits = c->max_timers = c->max_obligations = c->max_sync = 0;
  c->max_cleanup_entries = c->max_finalizers = c->max_causes = c->max_ghost_entries = 0;
  c->max_trace_events = 1;
  put("a runtime with one region and one task", bytes_of(&config, 0));
  return 0;
}
