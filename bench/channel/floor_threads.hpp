// bench/channel/floor_threads.hpp - the least code that takes messages from threads to a thread: a ring of slots, each
// with a number that says whose turn it is. Who comes too early looks again a while, letting others run, since to sleep
// and be woken takes longer than many messages; then it sleeps in the kernel.
//
// A thread a producer, since there are no tasks; the receiver is the thread that calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace bench {

class threads_stream {
 public:
  threads_stream(std::uint32_t producers, std::uint32_t capacity)
      : slots_(new slot[capacity]), capacity_(capacity), producers_(producers) {}

  std::uint64_t run(std::uint64_t n) {
    std::vector<std::jthread> all;
    for (std::uint64_t p = 0; p < producers_; ++p) {
      all.emplace_back([this, p, n] {
        for (std::uint64_t value = p; value < n; value += producers_) send(value);
      });
    }
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) sum += receive();
    return sum;
  }

 private:
  // Twice the lap when a sender may write, one more when the receiver may read. An int, which a futex is.
  struct alignas(64) slot {
    std::atomic<int> turn{0};
    std::uint64_t value = 0;

    void await(int wanted) {
      // Acquire: what the other side wrote before it passed the turn on.
      int now = turn.load(std::memory_order_acquire);
      for (int looks = 0; now != wanted; ++looks, now = turn.load(std::memory_order_acquire)) {
        if (looks < 200) {
          std::this_thread::yield();
        } else {
          turn.wait(now, std::memory_order_acquire);
        }
      }
    }
    void pass(int next) {
      turn.store(next, std::memory_order_release);  // Release: pairs with the load in await.
      turn.notify_all();                            // The receiver may wait here, and a sender of the next lap as well.
    }
  };

  void send(std::uint64_t value) {
    const std::uint64_t place = sent_.fetch_add(1, std::memory_order_relaxed);
    slot& s = slots_[place % capacity_];
    const int lap = static_cast<int>(place / capacity_ * 2);
    s.await(lap);
    s.value = value;
    s.pass(lap + 1);
  }
  std::uint64_t receive() {
    slot& s = slots_[received_ % capacity_];
    const int lap = static_cast<int>(received_++ / capacity_ * 2);
    s.await(lap + 1);
    const std::uint64_t value = s.value;
    s.pass(lap + 2);
    return value;
  }

  std::unique_ptr<slot[]> slots_;
  std::uint64_t capacity_, producers_;
  alignas(64) std::atomic<std::uint64_t> sent_{0};
  alignas(64) std::uint64_t received_ = 0;
};

}  // namespace bench
