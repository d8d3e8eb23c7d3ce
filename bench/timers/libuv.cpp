// libuv: uv_timer_start, uv_timer_stop, and uv_run(UV_RUN_NOWAIT) for expiry, with one turn of the loop a step.
#include <uv.h>

#include "fake_clock.hpp"
#include "workload.hpp"

namespace {

class peer {
 public:
  explicit peer(std::uint32_t n) : timers_(n) {
    uv_loop_init(&loop_);
    for (auto& t : timers_) {
      uv_timer_init(&loop_, &t);
      t.data = this;
    }
  }

  void add(std::uint32_t i, std::uint32_t ms) { uv_timer_start(&timers_[i], &peer::on_timer, ms, 0); }
  void cancel(std::uint32_t i) { uv_timer_stop(&timers_[i]); }
  void settle() {}
  std::size_t advance(std::uint32_t ms) {
    bench::fake_now_ns += std::uint64_t{ms} * 1'000'000;
    fired_ = 0;
    uv_run(&loop_, UV_RUN_NOWAIT);
    return fired_;
  }
  void clear() {
    for (auto& t : timers_) uv_timer_stop(&t);
  }

 private:
  static void on_timer(uv_timer_t* t) { ++static_cast<peer*>(t->data)->fired_; }

  uv_loop_t loop_;
  std::vector<uv_timer_t> timers_;
  std::size_t fired_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
