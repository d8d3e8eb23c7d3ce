// asx/runtime/drive_pool.hpp - threads for calls that block: files, names, other people's libraries.
//
//     task --submit--> queue --> a thread of the pool runs it --> the task's inbox --> phase 0: it has arrived
//
// Users write co_await blocking(pool, f) (asx/coro/blocking.hpp); this is what lies under it.
//
// 1  A pool has at most `threads` threads, started when first needed, and at most `queue` calls that wait for one. One
//    call more is refused: resource_exhausted, and nothing has changed.
// 2  Calls are begun first come, first served.
// 3  From submit until it has arrived a call is a foreign hold, and an obligation of the root region where it
//    takes one: the runtime is not at rest, and its shutdown waits.
// 4  In a runtime that is not live - virtual time, or a run that is played again - a call is run at once on the
//    runtime's own thread, and arrives as an input: the lab sees the same program without threads.
// 5  A job that says where its value lies has it kept in the journal when it arrives. Where a run is played
//    again from there, the job is given that value and is not run.
//
// Cancel points: none.
// Threads: submit and withdraw are of the thread of the runtime that asks; several runtimes may share a pool.
// Lifetime: a pool outlives the runtimes that use it. A job stays where it is from submit until it has arrived or was
//           withdrawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

#include "asx/base/config.hpp"
#include "asx/runtime/inbox.hpp"

namespace asx {

struct pool_options {
  std::uint32_t threads = 4;
  std::uint32_t queue = 64;  // Calls that wait for a thread.
};

class blocking_pool;

/// One call.
class blocking_job {
 public:
  using run_function = void (*)(blocking_job& self) noexcept;
  /// The bytes of its value, made if need be; none when it is not to be made and there is none.
  using value_function = std::span<std::byte> (*)(blocking_job& self, bool is_made) noexcept;
  explicit blocking_job(run_function run, value_function value = nullptr) noexcept : run_(run), value_(value) {}
  blocking_job(const blocking_job&) = delete;
  blocking_job& operator=(const blocking_job&) = delete;

  /// Its input was taken in: what the call has written may be read.
  [[nodiscard]] bool has_arrived() const noexcept { return has_arrived_; }
  /// Of its foreign handle, for reports; 0 before it was submitted.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  friend class blocking_pool;
  enum class stage : std::uint8_t { idle, queued, running, returned };

  run_function run_;
  value_function value_;
  blocking_job* next_ = nullptr;  // Under the pool's lock,
  stage stage_ = stage::idle;     // and this.
  bool has_arrived_ = false;
  std::uint64_t number_ = 0;
  kernel* home_ = nullptr;
  foreign_handle handle_;
  obligation_handle promise_{};
};

class ASX_API blocking_pool {
 public:
  explicit blocking_pool(const pool_options& options = {}) noexcept;
  ~blocking_pool();
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;

  /// The task of `c` is woken when it has arrived. resource_exhausted: the queue is full, no thread could be started,
  /// no foreign handle or obligation is left.
  [[nodiscard]] status submit(cx& c, blocking_job& job,
                              std::source_location site = std::source_location::current()) noexcept;
  /// Ends the job's part in everything: a call that has not begun is not made; one that runs is waited for, and the
  /// whole thread with it, because it may point into memory that is about to go.
  void withdraw(blocking_job& job) noexcept;

  /// Threads that were started.
  [[nodiscard]] std::uint32_t threads() const noexcept;

 private:
  struct shared;
  static void arrived(void* job) noexcept;

  shared* shared_;
};

}  // namespace asx
