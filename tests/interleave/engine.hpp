// tests/interleave/engine.hpp - runs a small program of two or three threads in every way in which they can meet.
//
//     struct handover : interleave::world {
//       interleave::atomic<int> is_there{0};
//       interleave::plain<int> value{0};
//       void run(unsigned thread) override {
//         if (thread == 0) { value.set(7); is_there.store(1, std::memory_order_release); }
//         else if (is_there.load(std::memory_order_acquire) == 1) interleave::check(value.get() == 7, "it is whole");
//       }
//     };
//     interleave::verdict v = interleave::explore<handover>(2);      // v.holds, v.executions, v.story
//
// The threads are fibers of one thread. Each visible operation - of an atomic, of a futex, the entry of a section - is
// a point at which another one may go on, and the engine goes through all of them, depth first.
//
// 1  What is tried: every order of the visible operations that differs in the order of two that touch the same word,
//    one of them writing (sleep sets leave out the others: they end the same); every sleeper that a wake may wake; the
//    end of every limited sleep, at any moment; failures of a weak exchange for no reason, and sleeps that end for no
//    reason, as often as the limits say.
// 2  What a load may see: not only the last store, but every older one that neither happens-before nor coherence hides
//    from that thread, `limits::stale_reads` times for each thread. So an order that is too weak is found, and not
//    only an interleaving. Stores of one word have the order in which they were made; a store never comes before what
//    its thread did earlier. What needs more than that to go wrong is not found here.
// 3  Two accesses of a `plain` of which neither happens before the other, one of them writing, are a race.
// 4  It ends at the first failure: a check, an assertion of asx, a race, a use after the end, everybody asleep, an
//    execution or a number of executions beyond the limits. The story says what was done, in order, and the schedule
//    that replays it: ASX_INTERLEAVE_REPLAY=<schedule> runs that one alone.
//
// Whatever threads share in a world must be an `atomic` or a `plain`, or lie inside a section: the engine cannot see
// anything else.
//
// Cancel points: none. Threads: one; explorations do not nest. Lifetime: worlds are made and ended by the engine; the
// world of an execution that failed is abandoned as it stands.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace asx::interleave {

inline constexpr unsigned most_threads = 3;

struct limits {
  std::uint64_t executions = 1'000'000;
  std::uint32_t operations = 2'000;        // Of one execution.
  std::uint32_t preemptions = UINT32_MAX;  // Of one execution: changes away from one who could go on.
  std::uint32_t stale_reads = 3;           // Of one thread in one execution.
  std::uint32_t spurious = 0;              // Sleeps that end, and weak exchanges that fail, for no reason.
};

struct verdict {
  bool holds = false;
  std::uint64_t executions = 0;  // Different ones; those that turned out to end as an earlier one are not counted.
  std::uint64_t redundant = 0;
  std::string story;     // Of the failure.
  std::string schedule;  // That leads to it.
};

/// Made anew for each execution. What its constructor does happens before the threads, what `end` does after them.
class world {
 public:
  world() = default;
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  virtual ~world() = default;
  virtual void run(unsigned thread) = 0;
  virtual void end() {}
};

[[nodiscard]] verdict explore(unsigned threads, const std::function<std::unique_ptr<world>()>& make,
                              const limits& most = {});
template <class World>
[[nodiscard]] verdict explore(unsigned threads, const limits& most = {}) {
  return explore(threads, [] { return std::make_unique<World>(); }, most);
}
/// As explore, but only this one.
[[nodiscard]] verdict replay(unsigned threads, const std::function<std::unique_ptr<world>()>& make,
                             std::string_view schedule, const limits& most = {});

/// ASX_INTERLEAVE_LONG is set: there is time for larger worlds.
[[nodiscard]] bool is_long() noexcept;

/// A law of the world; false ends the exploration.
void check(bool is_so, std::string_view law);
/// A line of the story.
void say(std::string_view what);
/// Every thread passes a full barrier, wherever it is, before this goes on, as membarrier does it: nobody sees a store
/// any more that was replaced before. It hands nothing over: two plain accesses that nothing else orders are a race.
void order_all_threads();
/// Who runs: 0 and up; most_threads while the world is made and ended.
[[nodiscard]] unsigned this_thread() noexcept;

namespace detail {

enum class access : std::uint8_t { reads, writes };

// Words are known by their address alone: whoever touches one that is gone is told so, and reads no freed memory.
void add_word(const void* at, std::uint64_t value);
void remove_word(const void* at) noexcept;
[[nodiscard]] std::uint64_t load(const void* at, std::memory_order order);
void store(const void* at, std::uint64_t value, std::memory_order order);
/// A read and a write in one: the value that is there, then the one that takes its place.
[[nodiscard]] std::uint64_t begin_exchange(const void* at, std::memory_order order, const char* what);
void end_exchange(const void* at, std::uint64_t value, std::memory_order order);
[[nodiscard]] bool compare_exchange(const void* at, std::uint64_t& expected, std::uint64_t desired,
                                    std::memory_order success, std::memory_order failure, bool is_weak);
/// A futex: sleeps if the last value is this one. False: for no reason, or its time was over.
bool sleep(const void* at, std::uint64_t value, bool is_limited);
void wake(const void* at, bool all);
/// Goes on once the last value is another one.
void stand(const void* at, std::uint64_t value);

// One at a time is in a section; others wait.
void enter(const void* section);
void leave(const void* section);

struct plain_history {
  struct moment {
    unsigned thread = 0;
    std::uint32_t clock = 0;
  };
  moment written{};
  std::uint32_t read[most_threads + 1] = {};
};
void access_plain(plain_history& history, access how);

}  // namespace detail

}  // namespace asx::interleave
