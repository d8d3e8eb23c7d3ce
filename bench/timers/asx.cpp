// asx::timer_wheel: the caller keeps a handle a timer. Expired timers are written to an array of 256, as a worker does.
#include "asx/wheel/timer_wheel.hpp"

#include "workload.hpp"

namespace {

class peer {
 public:
  explicit peer(std::uint32_t n) : wheel_({.capacity = n}), handles_(n) {}

  void add(std::uint32_t i, std::uint32_t ms) {
    bench::require(
        wheel_.register_timer(now_ + asx::duration::milliseconds(ms), {i, 1}, handles_[i]) == asx::status::ok,
        "register");
  }
  void cancel(std::uint32_t i) { bench::require(wheel_.cancel(handles_[i]), "cancel"); }
  void settle() {}
  std::size_t advance(std::uint32_t ms) {
    now_ = now_ + asx::duration::milliseconds(ms);
    std::size_t fired = 0;
    for (;;) {
      const std::size_t got = wheel_.collect_expired(now_, out_);
      for (std::size_t k = 0; k < got; ++k) woken_ += out_[k].token.record;
      fired += got;
      if (got < std::size(out_)) return fired;
    }
  }
  void clear() { wheel_.cancel_all(); }

 private:
  asx::timer_wheel wheel_;
  std::vector<asx::timer_handle> handles_;
  asx::expired_timer out_[256];
  asx::instant now_{};
  std::uint64_t woken_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
