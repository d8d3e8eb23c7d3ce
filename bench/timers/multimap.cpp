// std::multimap from deadline to timer: a red-black tree, an allocation a timer; equal deadlines keep insertion order.
#include <map>

#include "workload.hpp"

namespace {

class peer {
 public:
  explicit peer(std::uint32_t n) : where_(n) {}

  void add(std::uint32_t i, std::uint32_t ms) { where_[i] = timers_.emplace(now_ms_ + ms, i); }
  void cancel(std::uint32_t i) { timers_.erase(where_[i]); }
  void settle() {}
  std::size_t advance(std::uint32_t ms) {
    now_ms_ += ms;
    std::size_t fired = 0;
    while (!timers_.empty() && timers_.begin()->first <= now_ms_) {
      woken_ += timers_.begin()->second;
      timers_.erase(timers_.begin());
      ++fired;
    }
    return fired;
  }
  void clear() { timers_.clear(); }

 private:
  std::multimap<std::uint64_t, std::uint32_t> timers_;
  std::vector<std::multimap<std::uint64_t, std::uint32_t>::iterator> where_;
  std::uint64_t now_ms_ = 0, woken_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
