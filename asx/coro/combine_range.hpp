// asx/coro/combine_range.hpp - join_all, race, first_ok and quorum of as many as a range has.
//
//     const auto pages = co_await asx::join_all(c, urls, fetch);          // a vector of outcomes, in the order of urls
//     auto [index, how] = co_await asx::race(c, mirrors, fetch_from);     // the first, and which one it was
//     const auto acks = co_await asx::quorum(c, 2, replicas, write_to);   // acks.values[i] is that of replicas[i]
//
// 1  `f(cx, item)` is a child for each item of the range, an lvalue; all of them run at once. for_each (combine.hpp)
//    runs at most so many.
// 2  R-382: all else is as of functions that are given one by one, laws 1 to 4 and 7 of combine.hpp: a block of their
//    own, losers that are cancelled and drained, no panic lost, one that could not be spawned ended err, and of equals
//    the one that stands before the others in the range.
// 3  R-383: of an empty range join_all gives an empty list, race and first_ok end err with empty, and a quorum of 0 is
//    reached.
// 4  A child's place is a block of the runtime's. When one of them is refused the await ends resource_exhausted, and
//    those that had been started are cancelled and drained before. The list of the answer is std::vector's, made at
//    the end: without memory for it the await throws.
// 5  Functions of several kinds are given one by one; functions of one type make a range like any other:
//    join_all(c, functions, [](asx::cx c, auto& f) { return f(c); }).
//
// Cancel points: each await, as a region block.
// Threads: the runtime's. Lifetime: as region.hpp; range and function are copied or moved and kept until the await is
// over. A range that is a view, or a span, refers to what must live until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/coro/combine.hpp"
#include "asx/coro/join_set.hpp"

namespace asx {

/// Who was first among those of a range.
template <class T>
struct raced {
  std::size_t index = 0;
  outcome<T> how{};
};

template <class T>
struct [[nodiscard]] quorum_result<T, std::dynamic_extent> {
  bool is_reached = false;
  std::vector<std::optional<T>> values{};  // One for each item; of those that were ok in time.
};

namespace detail {

/// What is asked of those who compete, and what has come of it.
struct contest_course {
  enum class rule : std::uint8_t { all, first, first_ok, enough };
  rule decides = rule::all;
  std::size_t enough = 0;
  std::size_t yes = 0;
  join_seat* decided = nullptr;  // Who is the answer of a race.
};

/// Starts them all.
struct contest_start {
  void* context;
  status (*start)(void* context, cx& r, const std::source_location& site);
};

/// Starts them in a block of their own, waits as the course says, and stops who is left. It has ended likewise when
/// that did not end ok, or when a panic would not be told.
[[nodiscard]] ASX_API task<> hold_contest(cx c, std::source_location site, contest_start start, join_list& all,
                                          contest_course& course);

// Its item, or where that lies, and the function that it is for, which is in the frame around.
template <class F, class Place>
struct each_child {
  F* f;
  Place item;
  auto operator()(cx c) { return (*f)(c, *item); }
};

template <class Range, class F>
class each_start {
 public:
  using place = item_place<decltype(std::begin(std::declval<Range&>()))>;
  using child = each_child<F, place>;
  using value = result_of<child>;

  each_start(Range& items, F& f, join_store<value>& all) noexcept : items_(items), f_(f), all_(all) {}
  [[nodiscard]] contest_start by() noexcept { return {this, &start}; }

 private:
  static status start(void* context, cx& r, const std::source_location& site) {
    auto& self = *static_cast<each_start*>(context);
    const auto end = std::end(self.items_);
    for (auto next = std::begin(self.items_); !(next == end); ++next) {
      join_seat* seat = nullptr;
      if (const status s = self.all_.reserve(r.kernel(), seat); s != status::ok) return s;
      const join_place unused{self.all_, seat};
      auto made = spawn({r, site}, child{std::addressof(self.f_), place_of(*next)});
      join_seat& taken = *std::exchange(seat, nullptr);
      if (made.code != status::ok) {
        self.all_.fill_refused(taken, made.code);
      } else {
        self.all_.fill(taken, made.handle.task(), *made.handle.root());
        made.handle.pass_on();
      }
    }
    return status::ok;
  }
  template <class Item>
  static place place_of(Item&& item) {
    if constexpr (std::is_pointer_v<place>) {
      return std::addressof(item);
    } else {
      return place(std::forward<Item>(item));
    }
  }

  Range& items_;
  F& f_;
  join_store<value>& all_;
};

template <class Range, class F>
using each_value = typename each_start<Range, F>::value;
template <class Range, class F>
using each_stored = typename spawned<each_value<Range, F>>::stored;

template <class T>
outcome_in<T> outcome_at(join_store<T>& all, join_seat& seat, coro_root& asks) {
  spawn_result<T> one{seat.code, {}};
  one.handle = all.take_handle(seat);
  return outcome_of(one, asks);
}

template <class Range, class F>
task<std::vector<outcome<each_stored<Range, F>>>> run_join_each(cx c, std::source_location site, Range items, F f) {
  co_await unlisted{};
  join_store<each_value<Range, F>> all(join_list::order::of_ends);  // All are waited for: nobody comes first.
  contest_course course;
  each_start<Range, F> start(items, f, all);
  co_await hold_contest(c, site, start.by(), all, course);
  coro_root& asks = co_await own_root{};
  std::vector<outcome<each_stored<Range, F>>> out;
  out.reserve(all.size());
  while (join_seat* const first = all.front()) out.push_back(outcome_at(all, *first, asks));  // asx: bounded by items
  co_return out;
}

template <class Range, class F>
task<raced<each_stored<Range, F>>> run_race_each(cx c, std::source_location site, contest_course::rule how, Range items,
                                                 F f) {
  co_await unlisted{};
  join_store<each_value<Range, F>> all(join_list::order::of_adding);
  contest_course course{.decides = how};
  each_start<Range, F> start(items, f, all);
  co_await hold_contest(c, site, start.by(), all, course);
  coro_root& asks = co_await own_root{};
  if (course.decided == nullptr) co_await fail(status::empty);
  raced<each_stored<Range, F>> out{course.decided->index, {}};
  out.how = outcome_at(all, *course.decided, asks);
  co_return out;
}

template <class Range, class F>
task<quorum_result<each_stored<Range, F>, std::dynamic_extent>> run_quorum_each(cx c, std::source_location site,
                                                                                std::size_t enough, Range items, F f) {
  co_await unlisted{};
  join_store<each_value<Range, F>> all(join_list::order::of_adding);
  contest_course course{.decides = contest_course::rule::enough, .enough = enough};
  each_start<Range, F> start(items, f, all);
  co_await hold_contest(c, site, start.by(), all, course);
  coro_root& asks = co_await own_root{};
  quorum_result<each_stored<Range, F>, std::dynamic_extent> out;
  out.is_reached = course.yes >= enough;
  out.values.resize(all.size());
  for (auto& value : out.values) {
    join_seat& first = *all.front();
    const bool is_counted = first.is_counted;
    auto one = outcome_at(all, first, asks);
    // One that was ended ok from outside has said yes, and has nothing to show.
    const bool has_value = std::is_void_v<each_value<Range, F>> || one.has_value();
    if (is_counted && has_value) value.emplace(value_in(std::move(one)));
  }
  co_return out;
}

}  // namespace detail

/// The outcomes of `f(cx, item)` for all items, in their order, when all have ended.
template <class Range, class F>
  requires detail::each_of<Range, F>
auto join_all(cx_here at, Range&& items, F&& f) {
  detail::check_value<Range>();
  detail::check_function<F>();
  return detail::run_join_each<std::decay_t<Range>, std::decay_t<F>>(at.c, at.site, std::forward<Range>(items),
                                                                     std::forward<F>(f));
}

/// Number and outcome of the first that ends, whatever it is.
template <class Range, class F>
  requires detail::each_of<Range, F>
auto race(cx_here at, Range&& items, F&& f) {
  detail::check_value<Range>();
  detail::check_function<F>();
  return detail::run_race_each<std::decay_t<Range>, std::decay_t<F>>(at.c, at.site, detail::contest_course::rule::first,
                                                                     std::forward<Range>(items), std::forward<F>(f));
}

/// Number and outcome of the first that ends ok; of the last, when none does.
template <class Range, class F>
  requires detail::each_of<Range, F>
auto first_ok(cx_here at, Range&& items, F&& f) {
  detail::check_value<Range>();
  detail::check_function<F>();
  return detail::run_race_each<std::decay_t<Range>, std::decay_t<F>>(
      at.c, at.site, detail::contest_course::rule::first_ok, std::forward<Range>(items), std::forward<F>(f));
}

/// Until `enough` have ended ok, or it cannot be reached any more.
template <class Range, class F>
  requires detail::each_of<Range, F>
auto quorum(cx_here at, std::size_t enough, Range&& items, F&& f) {
  detail::check_value<Range>();
  detail::check_function<F>();
  return detail::run_quorum_each<std::decay_t<Range>, std::decay_t<F>>(at.c, at.site, enough,
                                                                       std::forward<Range>(items), std::forward<F>(f));
}

}  // namespace asx
