// asx/coro/combine.hpp - several children as one await: all, the first, enough of them, again and again.
//
//     auto [a, b] = co_await asx::join_all(c, fetch_a, fetch_b);            // outcomes, in the order given
//     auto first = co_await asx::race(c, from_cache, from_disk);            // the others are cancelled and drained
//     co_await asx::for_each(c, orders, 8, handle_order);                   // at most 8 at once
//     auto page = co_await asx::retry(c, {.attempts = 5}, fetch_page);      // until it is ok
//
// 1  Each child is a task in a region of its own block: nothing is left behind when the await is over, however it
//    ends. retry has no child: it awaits its function where it is itself, and what that starts is the caller's
//    region's.
// 2  race, first_ok and quorum cancel who lost with kind race_lost, and return when all of them have ended. What a
//    loser holds comes back: a two-phase operation that did not commit has not happened. One that has is over: two who
//    race for messages may both have one, and the loser's goes with it. select takes one at most. How a loser ended,
//    by a panic too, is in the journal alone.
// 3  A child that could not be spawned counts as ended with err and the refusal's status.
// 4  for_each stops at the first failure and ends with it; those that run are cancelled with kind fail_fast.
// 5  retry waits between attempts: `first_delay`, then times `factor`, each at most `max_delay`. It does not retry what
//    was cancelled.
//
// Cancel points: each await, as a region block.
// Threads: the runtime's. Lifetime: as region.hpp; functions are copied into their tasks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "asx/coro/region.hpp"

namespace asx {

template <class T, std::size_t N>
struct [[nodiscard]] quorum_result {
  bool is_reached = false;
  std::array<std::optional<T>, N> values{};  // Of those that were ok in time, in the order given.
};

struct retry_policy {
  std::uint32_t attempts = 3;
  duration first_delay = duration::milliseconds(10);
  std::uint32_t factor = 2;
  duration max_delay = duration::seconds(10);
};

namespace detail {

template <class F>
using result_of = typename task_of<F>::value_type;
template <class T>
using outcome_in = outcome<typename spawned<T>::stored>;

inline constexpr region_options judged_by_body{.policy = region_policy::body_decides};

/// Its outcome. Texts go with its handle: what a panic said is kept by the task that asked, a reason has none.
template <class T>
outcome_in<T> outcome_of(spawn_result<T>& s, coro_root& asks) {
  if (s.code != status::ok) return outcome_in<T>::err({s.code, 0});
  outcome_in<T> out;
  static_cast<void>(s.handle.take(out));
  if (out.is_panicked()) return outcome_in<T>::panicked(asks.keep_panic(out.panic()));
  if (out.is_cancelled()) {
    cancellation how = out.cancelled_by();
    how.reason.message = {};
    return outcome_in<T>::cancelled(how);
  }
  return out;
}

/// Children that compete, and who of them has ended, in order.
template <class T, std::size_t N>
struct contest {
  std::array<spawn_result<T>, N> all{};
  std::array<bool, N> has_ended{};
  std::size_t last = 0;

  template <class... Fs>
  void start(cx c, Fs&... fs) {
    std::size_t i = 0;
    ((all[i++] = spawn(c, std::move(fs))), ...);
  }
  [[nodiscard]] bool is_ok(std::size_t i) const noexcept {
    task_outcome out;
    return all[i].code == status::ok && all[i].handle.home()->result(all[i].handle.task(), out) == status::ok &&
           out.is_ok();
  }
  /// False when the cancel queue has no room for one of them.
  [[nodiscard]] bool stop_the_others() noexcept {
    bool has_room = true;
    for (std::size_t i = 0; i < N; ++i) {
      if (has_ended[i] || all[i].code != status::ok) continue;
      has_room =
          all[i].handle.cancel({cancel_kind::race_lost, "another was first"}) != status::resource_exhausted && has_room;
    }
    return has_room;
  }

  /// Ready when each of them was told; a full cancel queue is asked again after a millisecond.
  class stop_op {
   public:
    explicit stop_op(contest& of) noexcept : of_(&of) {}
    status poll(cx& c) noexcept {
      if (of_->stop_the_others()) return status::ok;
      if (!pause_) pause_.emplace(duration::milliseconds(1));
      const status s = pause_->poll(c);
      if (s == status::would_block) return s;
      pause_.reset();
      if (s != status::ok) return status::ok;  // The region closes, and that tells them.
      c.yield();
      return status::would_block;
    }
    void take() const noexcept {}

   private:
    contest* of_;
    std::optional<sleep_op> pause_;
  };

  /// Ready when one more has ended; gives which.
  class next_op {
   public:
    explicit next_op(contest& of) noexcept : of_(&of) {}
    status poll(cx& c) noexcept {
      if (const status s = c.checkpoint(); s != status::ok) return s;
      for (std::size_t i = 0; i < N; ++i) {
        if (of_->has_ended[i]) continue;
        which_ = i;
        auto& child = of_->all[i];
        if (child.code != status::ok) return status::ok;
        if (child.handle.home()->await_completed(child.handle.task(), c, waits_[i]) != status::would_block) {
          return status::ok;
        }
      }
      return status::would_block;
    }
    std::size_t take() noexcept {
      of_->has_ended[which_] = true;
      of_->last = which_;
      return which_;
    }

   private:
    contest* of_;
    std::size_t which_ = 0;
    std::array<waiter, N> waits_;
  };
};

template <class... Fs>
  requires(coroutine_function<Fs> && ...)
task<std::tuple<outcome_in<result_of<Fs>>...>> run_join_all(cx c, Fs... fs) {
  std::tuple<spawn_result<result_of<Fs>>...> all;
  auto tasks = std::make_tuple(std::move(fs)...);
  co_await region(c, judged_by_body, [&all, &tasks](cx r) -> task<> {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(all) = spawn(r, std::move(std::get<I>(tasks)))), ...);
    }(std::index_sequence_for<Fs...>{});
    co_return;
  });
  coro_root& asks = co_await own_root{};
  co_return std::apply([&asks](auto&... one) { return std::make_tuple(outcome_of(one, asks)...); }, all);
}

template <class F, class... Fs>
  requires coroutine_function<F> && (coroutine_function<Fs> && ...)
task<outcome_in<result_of<F>>> run_race(cx c, F f, Fs... fs) {
  using value = result_of<F>;
  static_assert((std::is_same_v<value, result_of<Fs>> && ...), "those who race give the same type");
  contest<value, 1 + sizeof...(Fs)> all;
  auto tasks = std::make_tuple(std::move(f), std::move(fs)...);
  co_await region(c, judged_by_body, [&all, &tasks](cx r) -> task<> {
    std::apply([&](auto&... one) { all.start(r, one...); }, tasks);
    co_await typename contest<value, 1 + sizeof...(Fs)>::next_op(all);
    co_await typename decltype(all)::stop_op(all);
  });
  co_return outcome_of(all.all[all.last], co_await own_root{});
}

template <class F, class... Fs>
  requires coroutine_function<F> && (coroutine_function<Fs> && ...)
task<outcome_in<result_of<F>>> run_first_ok(cx c, F f, Fs... fs) {
  using value = result_of<F>;
  static_assert((std::is_same_v<value, result_of<Fs>> && ...), "those who race give the same type");
  contest<value, 1 + sizeof...(Fs)> all;
  auto tasks = std::make_tuple(std::move(f), std::move(fs)...);
  co_await region(c, judged_by_body, [&all, &tasks](cx r) -> task<> {
    std::apply([&](auto&... one) { all.start(r, one...); }, tasks);
    for (std::size_t ended = 0; ended < 1 + sizeof...(Fs); ++ended) {
      const std::size_t i = co_await typename contest<value, 1 + sizeof...(Fs)>::next_op(all);
      if (all.is_ok(i)) break;
    }
    co_await typename decltype(all)::stop_op(all);
  });
  co_return outcome_of(all.all[all.last], co_await own_root{});
}

template <class F, class... Fs>
  requires coroutine_function<F> && (coroutine_function<Fs> && ...)
task<quorum_result<typename spawned<result_of<F>>::stored, 1 + sizeof...(Fs)>> run_quorum(cx c, std::size_t enough, F f,
                                                                                          Fs... fs) {
  using value = result_of<F>;
  constexpr std::size_t count = 1 + sizeof...(Fs);
  static_assert((std::is_same_v<value, result_of<Fs>> && ...), "those who are asked give the same type");
  contest<value, count> all;
  auto tasks = std::make_tuple(std::move(f), std::move(fs)...);
  std::size_t yes = 0;
  std::array<bool, count> counted{};
  co_await region(c, judged_by_body, [&all, &tasks, &yes, &counted, enough](cx r) -> task<> {
    std::apply([&](auto&... one) { all.start(r, one...); }, tasks);
    for (std::size_t ended = 0; yes < enough && ended + enough <= count + yes; ++ended) {
      if (ended == count) break;
      const std::size_t i = co_await typename contest<value, count>::next_op(all);
      counted[i] = all.is_ok(i);
      if (counted[i]) ++yes;
    }
    co_await typename decltype(all)::stop_op(all);
  });
  quorum_result<typename spawned<value>::stored, count> out;
  out.is_reached = yes >= enough;
  for (std::size_t i = 0; i < count; ++i) {
    if (!counted[i]) continue;
    auto one = outcome_of(all.all[i], co_await own_root{});
    // One that was ended ok from outside has said yes, and has nothing to show.
    if (std::is_void_v<value> || one.has_value()) out.values[i].emplace(value_in(std::move(one)));
  }
  co_return out;
}

template <class F>
  requires coroutine_function<F>
task<result_of<F>> run_retry(cx c, retry_policy how, F f) {
  duration delay = how.first_delay < how.max_delay ? how.first_delay : how.max_delay;
  for (std::uint32_t attempts = 1;; ++attempts) {
    auto got = co_await attempt(f(c));
    if (got.is_ok()) {
      if constexpr (std::is_void_v<result_of<F>>) {
        co_return;
      } else {
        co_return std::move(got).value();
      }
    }
    if (got.is_cancelled()) co_await fail(status::cancelled);
    if (attempts >= how.attempts) {
      if (got.is_panicked()) co_await end_as_panic(got.panic());
      co_await fail(got.error().code, got.error().detail);
    }
    co_await sleep(delay);
    const std::uint64_t longer =
        delay.ns > UINT64_MAX / (how.factor == 0 ? 1 : how.factor) ? how.max_delay.ns : delay.ns * how.factor;
    delay = duration{longer > how.max_delay.ns ? how.max_delay.ns : longer};
  }
}

template <class Range, class F>
task<> run_for_each(cx c, Range items, std::uint32_t limit, F f) {
  if (limit == 0) co_await fail(status::invalid_argument);
  auto next = std::begin(items);
  const auto end = std::end(items);
  co_await region(c, [&next, &end, &f, limit](cx r) -> task<> {
    const auto is_over = [&next, &end](cx w) {
      const inside here(w.kernel());  // They share the place, and may be on several workers.
      return next == end;
    };
    const auto pick = [&next, &end](cx w) -> decltype(&*next) {
      const inside here(w.kernel());
      if (next == end) return nullptr;
      auto& item = *next;
      ++next;
      return &item;
    };
    const auto work = [pick, &f](cx w) -> task<> {  // They outlive the body, and not what is around the block.
      while (auto* const item = pick(w)) {
        co_await f(w, *item);
        co_await checkpoint();
      }
    };
    for (std::uint32_t i = 0; i < limit && !is_over(r); ++i) {
      const auto s = spawn(r, work);
      if (s.code != status::ok && i == 0) co_await fail(s.code);
      if (s.code != status::ok) break;  // Fewer at once is slower, not wrong.
      co_await yield();
    }
  });
}

}  // namespace detail

/// The outcomes of all, in the order given, when all have ended.
template <class... Fs>
  requires(coroutine_function<Fs> && ...)
auto join_all(cx c, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_join_all<std::decay_t<Fs>...>(c, std::forward<Fs>(fs)...);
}

/// The outcome of the first that ends, whatever it is.
template <class... Fs>
  requires(sizeof...(Fs) > 0) && (coroutine_function<Fs> && ...)
auto race(cx c, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_race<std::decay_t<Fs>...>(c, std::forward<Fs>(fs)...);
}

/// The outcome of the first that ends ok; of the last, when none does.
template <class... Fs>
  requires(sizeof...(Fs) > 0) && (coroutine_function<Fs> && ...)
auto first_ok(cx c, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_first_ok<std::decay_t<Fs>...>(c, std::forward<Fs>(fs)...);
}

/// Until `enough` have ended ok, or it cannot be reached any more.
template <class... Fs>
  requires(sizeof...(Fs) > 0) && (coroutine_function<Fs> && ...)
auto quorum(cx c, std::size_t enough, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_quorum<std::decay_t<Fs>...>(c, enough, std::forward<Fs>(fs)...);
}

/// `f(cx)` until it ends ok, at most `attempts` times; ends with the last failure.
template <class F>
  requires coroutine_function<F>
auto retry(cx c, retry_policy how, F&& f) {
  detail::check_function<F>();
  return detail::run_retry<std::decay_t<F>>(c, how, std::forward<F>(f));
}

/// `f(cx, item)` for every item, at most `limit` at once; ends with the first failure.
template <class Range, class F>
auto for_each(cx c, Range&& items, std::uint32_t limit, F&& f) {
  detail::check_value<Range>();
  detail::check_function<F>();
  return detail::run_for_each<std::decay_t<Range>, std::decay_t<F>>(c, std::forward<Range>(items), limit,
                                                                    std::forward<F>(f));
}

}  // namespace asx
