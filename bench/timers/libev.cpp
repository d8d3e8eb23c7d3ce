// libev: ev_timer_set and ev_timer_start, ev_timer_stop, and ev_run(EVRUN_NOWAIT) for expiry, one turn a step. Its
// times are doubles of seconds; a millisecond is added to a step, so that rounding leaves no timer behind.
#include <ev.h>

#include "fake_clock.hpp"
#include "workload.hpp"

namespace {

class peer {
 public:
  explicit peer(std::uint32_t n) : loop_(ev_loop_new(EVFLAG_AUTO)), timers_(n) {
    for (auto& t : timers_) {
      ev_init(&t, &peer::on_timer);
      t.data = this;
    }
  }

  void add(std::uint32_t i, std::uint32_t ms) {
    ev_timer_set(&timers_[i], ms * 1e-3, 0.);
    ev_timer_start(loop_, &timers_[i]);
  }
  void cancel(std::uint32_t i) { ev_timer_stop(loop_, &timers_[i]); }
  void settle() {}
  std::size_t advance(std::uint32_t ms) {
    bench::fake_now_ns += std::uint64_t{ms} * 1'000'000 + (ms < 1000 ? 1'000'000'000 : 0);
    fired_ = 0;
    ev_run(loop_, EVRUN_NOWAIT);
    return fired_;
  }
  void clear() {
    for (auto& t : timers_) ev_timer_stop(loop_, &t);
  }

 private:
  static void on_timer(struct ev_loop*, ev_timer* t, int) { ++static_cast<peer*>(t->data)->fired_; }

  struct ev_loop* loop_;
  std::vector<ev_timer> timers_;
  std::size_t fired_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
