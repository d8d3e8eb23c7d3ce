// asx/coro/join_set.hpp - who ends next: tasks of a number that is known at run time, in the order in which they end.
//
//     asx::join_set<page> fetches;
//     for (const auto& url : urls) co_await fetches.start(c, fetch, url);  // each is a task of the region of c
//     while (auto next = co_await asx::join_next(fetches)) {               // empty: nobody is left
//       if (next->how.is_ok()) keep(urls[next->index], next->how.value());
//     }
//
//     started --> runs --> has ended --join_next--> handed out, with its handle and its outcome
//
// 1  R-380: tasks come out in the order in which they ended, each with its number in the order of adding, from 0. One
//    that had ended when it was added ended then.
// 2  join_next of an empty set gives an empty optional at once. A cancelled one has taken nobody, nor has one that lost
//    a select; std::ref names one there, and it may be asked again, also when it has won (select.hpp, law 5).
// 3  The set owns handles and no tasks: these are of the regions that they were started in, which wait for them, and
//    close with the first that fails unless their policy is another: body_decides makes of a failure an answer.
//    dropping the set drops the handles, and cancels nobody.
// 4  The end of a task costs the same however many others there are, and wakes nobody who does not wait for it.
// 5  A refusal has changed nothing: `add` leaves the handle where it is, `start` has started nothing. A place in a set
//    is one block of the runtime's, which is used again. When the move of a value throws, its task is in the set still.
//    A task that adds itself waits for itself.
// 6  The texts of an outcome live as long as the handle that came with it.
//
// Cancel points: join_next.
// Threads: the runtime's; a set belongs to one task.
// Lifetime: a set stays where it was made, outlives the operations on it, and is gone before the runtime is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "asx/base/intrusive_list.hpp"
#include "asx/coro/detail/end_seat.hpp"
#include "asx/coro/spawn.hpp"

namespace asx {

/// Of a task that has ended; its handle keeps the texts of `how`.
template <class T>
struct [[nodiscard]] joined {
  std::size_t index = 0;
  join_handle<T> handle{};
  outcome<typename detail::spawned<T>::stored> how{};
};

namespace detail {

class join_list;

/// A task among others that are waited for.
struct join_seat : end_seat, list_hook<struct join_order_tag>, list_hook<struct join_stand_tag> {
  explicit join_seat(join_list& of) noexcept;
  join_list& list;
  std::size_t index = 0;
  task_handle task{};
  coro_root* body = nullptr;  // Null: it could not be started, for the reason of `code`.
  status code = status::ok;
  bool is_counted = false;  // For who combines.
};

/// Everything of a set but the type of what its tasks give.
class ASX_API join_list {
 public:
  /// Who has ended is found in the order of adding, or in that of their ends.
  enum class order : std::uint8_t { of_ends, of_adding };
  explicit join_list(order how) noexcept;
  join_list(const join_list&) = delete;
  join_list& operator=(const join_list&) = delete;

  /// A place for one more, which is then taken by one of the next three. invalid_argument: the others are of another
  /// runtime.
  [[nodiscard]] status reserve(kernel& home, join_seat*& out) noexcept;
  void fill(join_seat& seat, const task_handle& task, coro_root& body) noexcept;
  void fill_refused(join_seat& seat, status why) noexcept;
  void give_back(join_seat& seat) noexcept;

  /// Ready when one has ended, or nobody is left.
  [[nodiscard]] status poll(cx& c, waiter& w) noexcept;
  /// Who comes next of those who have ended, and nothing of it is under way any more; null: nobody.
  [[nodiscard]] join_seat* next_ended() noexcept;
  /// From now on nobody asks for who comes first: whoever ends is found in the order of the ends.
  void forget_order() noexcept;
  /// It was seen, and does not come again. It keeps its place.
  void pass(join_seat& seat) noexcept;
  void leave(join_seat& seat) noexcept;
  /// Asks all who have not ended; resource_exhausted when there was no room for one of them.
  [[nodiscard]] status cancel(const cancel_request& why) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] kernel& home() const noexcept { return *home_; }
  /// In the order of adding.
  [[nodiscard]] join_seat* front() const noexcept { return seats_.front(); }
  [[nodiscard]] join_seat* after(const join_seat& seat) const noexcept { return seats_.after(seat); }

 protected:
  ~join_list() = default;

 private:
  friend struct join_seat;
  static void hear(end_seat& seat, kernel& k, coro_root& ended) noexcept;
  void put_in(join_seat& seat) noexcept;
  void note_end(join_seat& seat) noexcept;

  intrusive_list<join_seat, join_order_tag> seats_;
  intrusive_list<join_seat, join_stand_tag> running_;  // This and what follows is written inside.
  intrusive_list<join_seat, join_stand_tag> ended_;
  wait_queue waiting_{nullptr, wait_code::join};
  kernel* home_ = nullptr;
  std::size_t size_ = 0;
  std::size_t next_index_ = 0;
  order order_;
};

template <class T>
class join_store final : public join_list {
 public:
  explicit join_store(order how) noexcept : join_list(how) {}
  join_store(const join_store&) = delete;
  join_store& operator=(const join_store&) = delete;
  ~join_store() { drop(); }

  /// Null for one that could not be started.
  join_handle<T> take_handle(join_seat& seat) noexcept {
    join_handle<T> out;
    if (seat.body != nullptr) out = join_handle<T>(home(), seat.task, static_cast<spawned<T>&>(*seat.body));
    leave(seat);
    return out;
  }
  void drop() noexcept {
    while (join_seat* const first = front()) take_handle(*first).drop();  // asx: bounded by who is in it
  }
  /// Made where it goes. When the move of the value throws the task is still in the set, and comes next.
  void take_next(std::optional<joined<T>>& out) {
    join_seat* const seat = next_ended();
    if (seat == nullptr) return;
    struct lent {  // It is the set's until the outcome is there.
      std::optional<joined<T>>& out;
      bool is_taken = false;
      ~lent() {
        if (is_taken) return;
        out->handle.pass_on();
        out.reset();
      }
    } until_taken{out};
    joined<T>& one = out.emplace();
    one.index = seat->index;
    one.handle = join_handle<T>(home(), seat->task, static_cast<spawned<T>&>(*seat->body));
    static_cast<void>(one.handle.take(one.how));
    until_taken.is_taken = true;
    leave(*seat);
  }
};

/// Given back, unless it was taken.
struct join_place {
  join_list& list;
  join_seat*& seat;
  ~join_place() {
    if (seat != nullptr) list.give_back(*seat);
  }
};

template <class T>
class join_next_op {
 public:
  explicit join_next_op(join_store<T>& of) noexcept : of_(&of) {}
  status poll(cx& c) noexcept { return of_->poll(c, wait_); }
  std::optional<joined<T>> take() {
    std::optional<joined<T>> out;
    of_->take_next(out);
    return out;
  }
  void take_into(std::optional<joined<T>>& out) { of_->take_next(out); }
  void end() noexcept { wait_.leave(); }

 private:
  join_store<T>* of_;
  waiter wait_;
};

class join_started_op {
 public:
  join_started_op(status code, std::size_t index) noexcept : code_(code), index_(index) {}
  status poll(cx&) const noexcept { return code_; }
  [[nodiscard]] std::size_t take() const noexcept { return index_; }

 private:
  status code_;
  std::size_t index_;
};

}  // namespace detail

/// Tasks that give a T each, of which the next that ends is waited for.
template <class T = void>
class join_set {
 public:
  join_set() noexcept : all_(detail::join_list::order::of_ends) {}

  /// stale_handle, invalid_argument of another runtime, resource_exhausted: the handle is still yours.
  [[nodiscard("a refused add must be seen")]] status add(join_handle<T>&& h) noexcept {
    if (h.is_null()) return status::stale_handle;
    detail::join_seat* seat = nullptr;
    if (const status s = all_.reserve(*h.home(), seat); s != status::ok) return s;
    all_.fill(*seat, h.task(), *h.root());
    h.pass_on();
    return status::ok;
  }
  /// `co_await set.start(c, f, args...)`: starts a task now, as start(c, f, args...) does, and gives its number here; a
  /// refusal ends the coroutine with its status.
  template <class F, class... Args>
    requires coroutine_function<F, Args...>
  [[nodiscard("co_await set.start(...)")]] auto start(cx_here at, F&& f, Args&&... args) {
    return start_as(at.c, {.site = at.site}, std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
    requires coroutine_function<F, Args...>
  [[nodiscard("co_await set.start(...)")]] auto start(cx c, const spawn_options& how, F&& f, Args&&... args) {
    return start_as(c, how, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// Without a wait: empty when none has ended.
  [[nodiscard]] std::optional<joined<T>> try_next() {
    std::optional<joined<T>> out;
    all_.take_next(out);
    return out;
  }
  /// resource_exhausted: the cancel queue had no room for one of them; ask again.
  status cancel(const cancel_request& why = {}) noexcept { return all_.cancel(why); }
  /// Handles that are in it, whether their tasks have ended or not.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] bool is_empty() const noexcept { return size() == 0; }
  void drop() noexcept { all_.drop(); }

  // What cannot be added or started is told in a sentence.
  status add(const join_handle<T>&) {
    static_assert(detail::always_false<T>, "asx: a set takes the handle over: set.add(std::move(h))");
    return status::ok;
  }
  status add(const spawn_result<T>&) {
    static_assert(detail::always_false<T>,
                  "asx: a set takes the handle of what spawn gave, once its code is ok: set.add(std::move(s.handle)); "
                  "or it starts the task itself: co_await set.start(c, f, args...)");
    return status::ok;
  }
  template <class F, class... Args>
    requires(!coroutine_function<F, Args...> && !std::is_same_v<std::remove_cvref_t<F>, spawn_options>)
  auto start(cx_here, F&&, Args&&...) {
    static_assert(detail::explain<F, Args...>());
    return detail::mistaken_op<std::size_t>();
  }
  template <class First, class... Rest>
    requires detail::is_no_cx<First>
  auto start(First&&, Rest&&...) {
    detail::explain_missing_cx<First>();
    return detail::mistaken_op<std::size_t>();
  }

  // For join_next.
  [[nodiscard]] detail::join_store<T>& store() noexcept { return all_; }

 private:
  template <class F, class... Args>
  detail::join_started_op start_as(cx& c, const spawn_options& how, F&& f, Args&&... args) {
    constexpr bool gives_it = std::is_same_v<typename detail::task_of<F, Args...>::value_type, T>;
    static_assert(gives_it, "asx: the tasks of a join_set<T> give a T: let the function return an asx::task<T>");
    if constexpr (gives_it) {
      detail::check_function<F>();
      (detail::check_value<Args>(), ...);
      detail::join_seat* seat = nullptr;
      if (const status s = all_.reserve(c.kernel(), seat); s != status::ok) return {s, 0};
      const detail::join_place unused{all_, seat};
      auto made = detail::spawn_beside(c, how, std::forward<F>(f), std::forward<Args>(args)...);
      if (made.code != status::ok) return {made.code, 0};
      detail::join_seat& taken = *std::exchange(seat, nullptr);
      all_.fill(taken, made.handle.task(), *made.handle.root());
      made.handle.pass_on();
      return {status::ok, taken.index};
    }
    return {status::invalid_argument, 0};
  }

  detail::join_store<T> all_;
};

/// A cancel point. The next that ends, or has ended and was not asked for yet; empty when nobody is left.
template <class T>
[[nodiscard("co_await join_next(...)")]] auto join_next(join_set<T>& set) noexcept {
  return detail::join_next_op<T>(set.store());
}
template <class T>
auto join_next(const join_set<T>&) {
  static_assert(detail::always_false<T>, "asx: a set has a name, and is not const: asx::join_set<int> set;");
  return detail::mistaken_op<>();
}
template <class T>
auto join(const join_set<T>&) {
  static_assert(detail::always_false<T>, "asx: of a set the next that ends is joined: co_await join_next(set)");
  return detail::mistaken_op<>();
}

}  // namespace asx
