#include <asx/asx.hpp>
#include <cstdio>
#include <string>

using namespace asx;

// A task is a function that is polled: it waits by returning pending, and looks at its checkpoint to be told to stop.
struct heart {
  int beats = 0;
  slab_key timer{};
};

double seconds(const cx& c) {
  return static_cast<double>(c.now().ns) / 1e9;
}

poll_result beat(void* self, cx& c) {
  auto& h = *static_cast<heart*>(self);
  if (c.checkpoint() == status::cancelled) {
    const std::string why(root_cause(*c.reason(), c.kernel().reasons()).message);
    std::printf("%5.1f s  asked to stop: %s\n", seconds(c), why.c_str());
    return poll_result::ready;  // Cleaned up: the task ends as cancelled.
  }
  std::printf("%5.1f s  beat %d\n", seconds(c), ++h.beats);
  return c.kernel().register_timer(c, c.now() + duration::milliseconds(400), h.timer) == status::ok
             ? poll_result::pending
             : poll_result::error;
}

int main() {
  runtime rt;  // Virtual time: an hour of beats takes no time at all.
  heart h;
  region_handle patient;
  task_handle task;
  if (rt.kernel().create_region(rt.root(), {.name = "patient"}, patient) != status::ok) return 1;
  if (rt.kernel().spawn(patient, {.poll = beat, .context = &h, .name = "heart"}, task) != status::ok) return 1;

  rt.run_until_idle();
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(rt.advance(duration::milliseconds(400)));
    rt.run_until_idle();
  }
  std::printf("\n%s\n", describe_tree(rt.kernel()).c_str());

  // Closing a region asks everything in it to stop, before the call returns; it ends when all have answered.
  if (rt.kernel().close(patient, {cancel_kind::user, "visiting hours are over"}) != status::ok) return 1;
  rt.run_until_idle();
  return rt.shutdown().is_quiescent() ? 0 : 1;
}
