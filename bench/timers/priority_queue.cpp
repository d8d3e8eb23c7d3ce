// std::priority_queue of (deadline, seq, timer): the floor for ordered expiry. It cannot take an entry out, so cancel
// only bumps the timer's generation; entries of earlier generations are dropped when they surface, and all at once when
// they outnumber the live ones (settled, so that `cancel` pays for it).
#include <queue>

#include "workload.hpp"

namespace {

struct entry {
  std::uint64_t deadline_ms, seq;
  std::uint32_t timer, generation;
  bool operator<(const entry& o) const {
    return deadline_ms != o.deadline_ms ? deadline_ms > o.deadline_ms : seq > o.seq;
  }
};

class open_queue : public std::priority_queue<entry> {
 public:
  template <class Keep>
  void keep_if(Keep keep) {
    std::erase_if(c, [&](const entry& e) { return !keep(e); });
    std::make_heap(c.begin(), c.end(), comp);
  }
};

class peer {
 public:
  explicit peer(std::uint32_t n) : generations_(n) {}

  void add(std::uint32_t i, std::uint32_t ms) {
    queue_.push({now_ms_ + ms, seq_++, i, generations_[i]});
    ++live_;
  }
  void cancel(std::uint32_t i) {
    ++generations_[i];
    --live_;
    if (queue_.size() > 2 * live_ + 1024) drop_dead();
  }
  void settle() { drop_dead(); }
  std::size_t advance(std::uint32_t ms) {
    now_ms_ += ms;
    std::size_t fired = 0;
    while (!queue_.empty() && queue_.top().deadline_ms <= now_ms_) {
      const entry e = queue_.top();
      queue_.pop();
      if (e.generation != generations_[e.timer]) continue;
      ++generations_[e.timer];
      --live_;
      ++fired;
      woken_ += e.timer;
    }
    return fired;
  }
  void clear() {
    queue_.keep_if([](const entry&) { return false; });
    live_ = 0;
  }

 private:
  void drop_dead() {
    queue_.keep_if([&](const entry& e) { return e.generation == generations_[e.timer]; });
  }

  open_queue queue_;
  std::vector<std::uint32_t> generations_;
  std::uint64_t now_ms_ = 0, seq_ = 0, woken_ = 0;
  std::size_t live_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<peer>(argc, argv);
}
