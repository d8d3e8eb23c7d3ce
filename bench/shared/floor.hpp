// bench/shared/floor.hpp - the least that runs coroutines: frames from operator new, and a list of who runs next with
// its links in them. No lifecycle, no owner, no cancellation, no priorities, no journal, no results.
#pragma once

#include <coroutine>
#include <exception>

namespace bench {

struct bare_task {
  struct promise_type {
    promise_type* next = nullptr;

    bare_task get_return_object() noexcept { return {this}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  promise_type* self;
};

class task_list {
 public:
  void push(bare_task::promise_type& p) noexcept {
    p.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &p;
    tail_ = &p;
  }
  void run_all() {
    while (head_ != nullptr) {
      bare_task::promise_type& p = *head_;
      head_ = p.next;
      std::coroutine_handle<bare_task::promise_type>::from_promise(p).resume();
    }
  }

 private:
  bare_task::promise_type* head_ = nullptr;
  bare_task::promise_type* tail_ = nullptr;
};

inline task_list ready;

/// Awaited: the coroutine stands at the end of the list, and goes on when the list is run.
struct stand_in {
  task_list& list;
  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<bare_task::promise_type> h) const noexcept { list.push(h.promise()); }
  static void await_resume() noexcept {}
};

}  // namespace bench
