// asx::channel between tasks that are poll functions, without coroutines: poll_reserve, then send_permit::send;
// poll_recv. A producer gives way after 128 messages, which is what tokio's cooperative budget does to its peer.
#include "asx/chan/mpsc.hpp"
#include "bench/shared/asx.hpp"
#include "workload.hpp"

namespace {

using asx::poll_result;
using asx::status;

constexpr int messages_per_poll = 128;

struct producer {
  asx::sender<std::uint64_t> to;
  asx::reserve_wait wait;
  std::uint64_t value = 0, step = 0, end = 0;

  static poll_result poll(void* context, asx::cx& c) {
    auto& self = *static_cast<producer*>(context);
    for (int i = 0; i < messages_per_poll; ++i) {
      if (self.value >= self.end) return poll_result::ready;
      asx::send_permit<std::uint64_t> permit;
      const status reserved = self.to.poll_reserve(c, self.wait, permit);
      if (reserved == status::would_block) return poll_result::pending;
      bench::require(reserved == status::ok && permit.send(self.value).code == status::ok, "a value is sent");
      self.value += self.step;
    }
    c.yield();
    return poll_result::pending;
  }
};

struct consumer {
  asx::receiver<std::uint64_t> from;
  std::uint64_t left = 0, sum = 0;

  static poll_result poll(void* context, asx::cx& c) {
    auto& self = *static_cast<consumer*>(context);
    for (; self.left > 0; --self.left) {
      const auto got = self.from.poll_recv(c);
      if (got.code == status::would_block) return poll_result::pending;
      bench::require(got.code == status::ok, "a value is received");
      self.sum += *got.value;
    }
    return poll_result::ready;
  }
};

template <class Task>
void spawn(asx::runtime& rt, Task& t) {
  asx::task_handle handle;
  bench::require(rt.kernel().spawn(rt.root(), {.poll = &Task::poll, .context = &t}, handle) == status::ok,
                 "a task is spawned");
}

class stream {
 public:
  stream(std::uint32_t producers, std::uint32_t capacity) : rt_(bench::quiet()), producers_(producers) {
    auto ends = asx::channel<std::uint64_t>(rt_.kernel(), rt_.root(), capacity);
    bench::require(ends.code == status::ok, "a channel is made");
    for (producer& p : all_) p.to = ends.tx;
    consumer_.from = std::move(ends.rx);
  }

  std::uint64_t run(std::uint64_t n) {
    for (std::uint32_t i = 0; i < producers_; ++i) {
      all_[i].value = i;
      all_[i].step = producers_;
      all_[i].end = n;
      spawn(rt_, all_[i]);
    }
    consumer_.left = n;
    consumer_.sum = 0;
    spawn(rt_, consumer_);
    bench::run_all(rt_);
    return consumer_.sum;
  }

 private:
  asx::runtime rt_;
  std::uint32_t producers_;
  producer all_[4];
  consumer consumer_;
};

struct player {
  asx::sender<std::uint64_t> to;
  asx::receiver<std::uint64_t> from;
  asx::reserve_wait wait;
  std::uint64_t left = 0, sum = 0, value = 0;
  bool is_to_send = false;

  // False: there is no room, and the task waits.
  bool send(asx::cx& c, std::uint64_t what) {
    asx::send_permit<std::uint64_t> permit;
    const status reserved = to.poll_reserve(c, wait, permit);
    if (reserved == status::would_block) return false;
    bench::require(reserved == status::ok && permit.send(what).code == status::ok, "a value is sent");
    return true;
  }
  // False: there is no message, and the task waits.
  bool receive(asx::cx& c, std::uint64_t& out) {
    const auto got = from.poll_recv(c);
    if (got.code == status::would_block) return false;
    bench::require(got.code == status::ok, "a value is received");
    out = *got.value;
    return true;
  }
};

struct server : player {
  static poll_result poll(void* context, asx::cx& c) {
    auto& self = *static_cast<server*>(context);
    while (self.left > 0) {
      if (self.is_to_send && !self.send(c, self.value)) return poll_result::pending;
      self.is_to_send = false;
      std::uint64_t answer = 0;
      if (!self.receive(c, answer)) return poll_result::pending;
      self.is_to_send = true;
      self.sum += answer;
      ++self.value;
      --self.left;
    }
    return poll_result::ready;
  }
};

struct answerer : player {
  static poll_result poll(void* context, asx::cx& c) {
    auto& self = *static_cast<answerer*>(context);
    while (self.left > 0) {
      if (!self.is_to_send && !self.receive(c, self.value)) return poll_result::pending;
      self.is_to_send = true;
      if (!self.send(c, self.value + 1)) return poll_result::pending;
      self.is_to_send = false;
      --self.left;
    }
    return poll_result::ready;
  }
};

class ping_pong {
 public:
  ping_pong() : rt_(bench::quiet()) {
    auto there = asx::channel<std::uint64_t>(rt_.kernel(), rt_.root(), 1);
    auto back = asx::channel<std::uint64_t>(rt_.kernel(), rt_.root(), 1);
    bench::require(there.code == status::ok && back.code == status::ok, "two channels are made");
    a_.to = std::move(there.tx);
    b_.from = std::move(there.rx);
    b_.to = std::move(back.tx);
    a_.from = std::move(back.rx);
  }

  std::uint64_t run(std::uint64_t n) {
    a_.left = b_.left = n;
    a_.sum = a_.value = 0;
    a_.is_to_send = true;
    b_.is_to_send = false;
    spawn(rt_, a_);
    spawn(rt_, b_);
    bench::run_all(rt_);
    return a_.sum;
  }

 private:
  asx::runtime rt_;
  server a_;
  answerer b_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<stream, ping_pong>(argc, argv);
}
