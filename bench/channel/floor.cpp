// The least code that does the work: a ring, and tasks that are function pointers in a queue of who runs next. A
// producer runs until the ring is full and stands in the ring's line, the receiver until it is empty; a message wakes
// the receiver, a free slot the first in the line. No lifecycle, no cancellation, no journal, no permits, no ends.
#include <memory>

#include "floor_threads.hpp"
#include "workload.hpp"

namespace {

struct task {
  void (*run)(task& self) = nullptr;
  task* next = nullptr;
};

struct line {
  task* head = nullptr;
  task* tail = nullptr;

  void push(task& t) {
    t.next = nullptr;
    (head == nullptr ? head : tail->next) = &t;
    tail = &t;
  }
  task* pop() {
    task* const t = head;
    if (t != nullptr) head = t->next;
    return t;
  }
};

line ready;

void run_all() {
  while (task* const t = ready.pop()) t->run(*t);
}

class ring {
 public:
  explicit ring(std::uint32_t capacity) : slots_(new std::uint64_t[capacity]), mask_(capacity - 1) {
    bench::require((capacity & mask_) == 0, "a power of two");
  }

  // False: full, and `self` waits.
  bool send(task& self, std::uint64_t value) {
    if (sent_ - received_ > mask_) {
      waiting_.push(self);
      return false;
    }
    slots_[sent_++ & mask_] = value;
    if (receiver_ != nullptr) {
      ready.push(*receiver_);
      receiver_ = nullptr;
    }
    return true;
  }
  // False: empty, and `self` waits.
  bool receive(task& self, std::uint64_t& out) {
    if (sent_ == received_) {
      receiver_ = &self;
      return false;
    }
    out = slots_[received_++ & mask_];
    if (task* const t = waiting_.pop()) ready.push(*t);
    return true;
  }

 private:
  std::unique_ptr<std::uint64_t[]> slots_;
  std::uint64_t mask_, sent_ = 0, received_ = 0;
  line waiting_;
  task* receiver_ = nullptr;
};

struct producer : task {
  ring* to = nullptr;
  std::uint64_t value = 0, step = 0, end = 0;

  static void go(task& t) {
    auto& self = static_cast<producer&>(t);
    while (self.value < self.end) {
      if (!self.to->send(self, self.value)) return;
      self.value += self.step;
    }
  }
};

struct consumer : task {
  ring* from = nullptr;
  std::uint64_t left = 0, sum = 0;

  static void go(task& t) {
    auto& self = static_cast<consumer&>(t);
    for (std::uint64_t value = 0; self.left > 0; --self.left) {
      if (!self.from->receive(self, value)) return;
      self.sum += value;
    }
  }
};

class stream {
 public:
  stream(std::uint32_t producers, std::uint32_t capacity) : ring_(capacity), producers_(producers) {}

  std::uint64_t run(std::uint64_t n) {
    for (std::uint32_t i = 0; i < producers_; ++i) {
      producer& p = all_[i];
      p.run = &producer::go;
      p.to = &ring_;
      p.value = i;
      p.step = producers_;
      p.end = n;
      ready.push(p);
    }
    consumer c;
    c.run = &consumer::go;
    c.from = &ring_;
    c.left = n;
    ready.push(c);
    run_all();
    return c.sum;
  }

 private:
  ring ring_;
  std::uint32_t producers_;
  producer all_[4];
};

struct player : task {
  ring* to = nullptr;
  ring* from = nullptr;
  std::uint64_t left = 0, sum = 0, value = 0;
  bool is_waiting_for_answer = false;

  static void serve(task& t) {
    auto& self = static_cast<player&>(t);
    while (self.left > 0) {
      if (!self.is_waiting_for_answer) {
        if (!self.to->send(self, self.value)) return;
        self.is_waiting_for_answer = true;
      }
      std::uint64_t answer = 0;
      if (!self.from->receive(self, answer)) return;
      self.is_waiting_for_answer = false;
      self.sum += answer;
      ++self.value;
      --self.left;
    }
  }
  static void answer(task& t) {
    auto& self = static_cast<player&>(t);
    while (self.left > 0) {
      if (!self.is_waiting_for_answer) {  // Of us: nothing to answer yet.
        if (!self.from->receive(self, self.value)) return;
        self.is_waiting_for_answer = true;
      }
      if (!self.to->send(self, self.value + 1)) return;
      self.is_waiting_for_answer = false;
      --self.left;
    }
  }
};

class ping_pong {
 public:
  std::uint64_t run(std::uint64_t n) {
    player a, b;
    a.run = &player::serve;
    b.run = &player::answer;
    a.to = b.from = &there_;
    a.from = b.to = &back_;
    a.left = b.left = n;
    ready.push(a);
    ready.push(b);
    run_all();
    return a.sum;
  }

 private:
  ring there_{1}, back_{1};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::main<stream, ping_pong, bench::threads_stream>(argc, argv);
}
