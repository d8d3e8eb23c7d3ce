// asx/coro/combine.hpp - several children as one await: all, the first, enough of them, again and again.
//
//     auto [a, b] = co_await asx::join_all(c, fetch_a, fetch_b);            // outcomes, in the order given
//     auto first = co_await asx::race(c, from_cache, from_disk);            // the others are cancelled and drained
//     auto pages = co_await asx::join_all(c, urls, fetch);                  // of a range: combine_range.hpp
//     co_await asx::for_each(c, orders, 8, handle_order);                   // at most 8 at once
//     auto page = co_await asx::retry(c, {.attempts = 5}, fetch_page);      // until it is ok
//
// 1  Each child is a task in a region of its own block: nothing is left behind when the await is over, however it
//    ends. retry has no child: it awaits its function where it is itself, and what that starts is the caller's
//    region's.
// 2  race, first_ok and quorum cancel who lost with kind race_lost, and return when all of them have ended. What a
//    loser holds comes back: a two-phase operation that did not commit has not happened. One that has is over: two who
//    race for messages may both have one, and the loser's goes with it. select takes one at most.
// 3  A panic is not lost, whoever panicked and whenever: race and first_ok answer with it, quorum ends with it,
//    and what was not decided by then is. When the caller was cancelled meanwhile, so that nobody would see an answer,
//    each of them and join_all end with the panic. An err is an answer like another: who lost with one is passed over.
// 4  A child that could not be spawned counts as ended with err and the refusal's status.
// 5  for_each stops at the first failure and ends with it; those that run are cancelled with kind fail_fast.
// 6  retry waits between attempts: `first_delay`, then times `factor`, each at most `max_delay`. It does not retry what
//    was cancelled; an exception counts as a failure. It waits for no attempt that would begin behind its `limit` or
//    the deadline of the task, and ends with the last failure instead. `jitter` per cent of each wait, at most,
//    are left out, so that those who failed together do not come back together; how much is drawn from the runtime's
//    seed and the task, and is the same in a replay. `is_worth` says which errors are worth another attempt; where it
//    is asked for, an exception is not.
// 7  Of those who end at the same moment the one that was given first is the first. join_all of nobody is over at once,
//    a quorum of 0 is reached before anybody has begun, one of more than there are is not.
//
// Cancel points: each await, as a region block.
// Threads: the runtime's. Lifetime: as region.hpp; functions are copied into their tasks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "asx/base/construct.hpp"
#include "asx/coro/region.hpp"

namespace asx {

template <class T, std::size_t N>
struct [[nodiscard]] quorum_result {
  bool is_reached = false;
  std::array<std::optional<T>, N> values{};  // Of those that were ok in time, in the order given.
};

struct retry_policy {
  std::uint32_t attempts = 3;  // At least one is made.
  duration first_delay = duration::milliseconds(10);
  std::uint32_t factor = 2;
  duration max_delay = duration::seconds(10);
  duration limit = duration::max();  // Of the whole, from the first attempt on. It ends none that has begun.
  std::uint32_t jitter = 0;          // In per cent, at most 100: so much of each wait is left out, at most.
  bool (*is_worth)(const error& failure) = nullptr;  // Null: every failure is worth another attempt.
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

/// The first panic that it is shown; its text is the handle's. Whoever is shown has been heard: one panic tells of all.
template <class T>
void note_panic(const spawn_result<T>& s, std::optional<panic_note>& out) noexcept {
  task_outcome how;
  if (s.handle.is_null() || s.handle.home()->result(s.handle.task(), how) != status::ok) return;
  if (!out && how.is_panicked()) out = how.panic();
}

/// Children that compete, and who of them has ended, in order.
template <class T, std::size_t N>
struct contest {
  std::array<spawn_result<T>, N> all{};
  std::array<bool, N> has_ended{};
  std::size_t last = 0;

  template <class... Fs>
  void start(cx_here at, Fs&... fs) {
    std::size_t i = 0;
    ((all[i++] = spawn(at, std::move(fs))), ...);
  }
  [[nodiscard]] outcome_kind kind_of(std::size_t i) const noexcept {
    task_outcome out;
    if (all[i].code != status::ok) return outcome_kind::err;
    static_cast<void>(all[i].handle.home()->result(all[i].handle.task(), out));
    return out.kind();
  }
  /// Who panicked, when all have ended: the last one that was looked at, or the first in the order given; else N. All
  /// are asked: one panic tells of all.
  [[nodiscard]] std::size_t panicked() const noexcept {
    std::size_t first = N;
    for (std::size_t i = N; i-- > 0;) {
      if (!all[i].handle.is_null() && kind_of(i) == outcome_kind::panicked) first = i;
    }
    return has_ended[last] && kind_of(last) == outcome_kind::panicked ? last : first;
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

/// How a block that gives nothing ended, for whoever ends likewise.
inline ending ending_of(const outcome<unit>& how) noexcept {
  if (how.is_err()) return {how.error().code, how.error().detail};
  return {how.is_cancelled() ? status::cancelled : status::ok};
}

template <class... Fs>
  requires(coroutine_function<Fs> && ...)
task<std::tuple<outcome_in<result_of<Fs>>...>> run_join_all(cx c, std::source_location site, Fs... fs) {
  co_await unlisted{};
  std::tuple<spawn_result<result_of<Fs>>...> all;
  auto tasks = std::make_tuple(std::move(fs)...);
  const auto how = co_await attempt(region({c, site}, judged_by_body, [&all, &tasks, site](cx r) -> task<> {
    co_await unlisted{};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(all) = spawn({r, site}, std::move(std::get<I>(tasks)))), ...);
    }(std::index_sequence_for<Fs...>{});
    co_return;
  }));
  coro_root& asks = co_await own_root{};
  if (!how.is_ok()) {
    std::optional<panic_note> said;
    std::apply([&](auto&... one) { (note_panic(one, said), ...); }, all);
    if (!said && how.is_panicked()) said = how.panic();
    if (said) co_await end_as_panic(*said);
    co_await end_as(ending_of(how));
  }
  co_return std::apply([&asks](auto&... one) { return std::make_tuple(outcome_of(one, asks)...); }, all);
}

// `NeedsOk`: who ends otherwise is passed over, as long as somebody is left. A panic decides, whatever is asked for.
template <bool NeedsOk, class F, class... Fs>
task<outcome_in<result_of<F>>> run_race(cx c, std::source_location site, F f, Fs... fs) {
  co_await unlisted{};
  using value = result_of<F>;
  constexpr std::size_t count = 1 + sizeof...(Fs);
  contest<value, count> all;
  auto tasks = std::make_tuple(std::move(f), std::move(fs)...);
  const auto how = co_await attempt(region({c, site}, judged_by_body, [&all, &tasks, site](cx r) -> task<> {
    co_await unlisted{};
    std::apply([&](auto&... one) { all.start({r, site}, one...); }, tasks);
    for (std::size_t ended = 0; ended < count; ++ended) {
      const std::size_t i = co_await typename contest<value, count>::next_op(all);
      const outcome_kind kind = all.kind_of(i);
      if (!NeedsOk || kind == outcome_kind::ok || kind == outcome_kind::panicked) break;
    }
    co_await typename contest<value, count>::stop_op(all);
  }));
  coro_root& asks = co_await own_root{};
  const std::size_t panicked = all.panicked();
  if (!how.is_ok()) {
    std::optional<panic_note> said;
    if (panicked != count) note_panic(all.all[panicked], said);
    if (!said && how.is_panicked()) said = how.panic();
    if (said) co_await end_as_panic(*said);
    co_await end_as(ending_of(how));
  }
  co_return outcome_of(all.all[panicked == count ? all.last : panicked], asks);
}

template <class F, class... Fs>
task<quorum_result<typename spawned<result_of<F>>::stored, 1 + sizeof...(Fs)>> run_quorum(cx c,
                                                                                          std::source_location site,
                                                                                          std::size_t enough, F f,
                                                                                          Fs... fs) {
  co_await unlisted{};
  using value = result_of<F>;
  constexpr std::size_t count = 1 + sizeof...(Fs);
  contest<value, count> all;
  auto tasks = std::make_tuple(std::move(f), std::move(fs)...);
  std::size_t yes = 0;
  std::array<bool, count> counted{};
  const auto how =
      co_await attempt(region({c, site}, judged_by_body, [&all, &tasks, &yes, &counted, enough, site](cx r) -> task<> {
        co_await unlisted{};
        std::apply([&](auto&... one) { all.start({r, site}, one...); }, tasks);
        for (std::size_t ended = 0; yes < enough && ended + enough <= count + yes && ended < count; ++ended) {
          const std::size_t i = co_await typename contest<value, count>::next_op(all);
          const outcome_kind kind = all.kind_of(i);
          counted[i] = kind == outcome_kind::ok;
          if (counted[i]) ++yes;
          if (kind == outcome_kind::panicked) break;
        }
        co_await typename contest<value, count>::stop_op(all);
      }));
  coro_root& asks = co_await own_root{};
  std::optional<panic_note> said;
  if (const std::size_t i = all.panicked(); i != count) note_panic(all.all[i], said);
  if (!said && how.is_panicked()) said = how.panic();
  if (said) co_await end_as_panic(*said);
  if (!how.is_ok()) co_await end_as(ending_of(how));
  quorum_result<typename spawned<value>::stored, count> out;
  out.is_reached = yes >= enough;
  for (std::size_t i = 0; i < count; ++i) {
    if (!counted[i]) continue;
    auto one = outcome_of(all.all[i], asks);
    // One that was ended ok from outside has said yes, and has nothing to show.
    if (std::is_void_v<value> || one.has_value()) out.values[i].emplace(value_in(std::move(one)));
  }
  co_return out;
}

/// How long to wait instead of `delay`. Without jitter nothing is drawn.
inline duration shortened(const cx& c, duration delay, std::uint32_t jitter) noexcept {
  const std::uint64_t percent = jitter < 100 ? jitter : 100;
  const std::uint64_t most = delay.ns > UINT64_MAX / 100 ? delay.ns / 100 * percent : delay.ns * percent / 100;
  return most == 0 ? delay : duration{delay.ns - extension::draw_wait(c) % (most + 1)};
}

template <class F>
task<result_of<F>> run_retry(cx c, retry_policy how, F f) {
  co_await unlisted{};
  duration delay = how.first_delay < how.max_delay ? how.first_delay : how.max_delay;
  const instant over = c.now() + how.limit;
  for (std::uint32_t attempts = 1;; ++attempts) {  // asx: bounded by how.attempts
    auto got = co_await attempt(f(c));
    if (got.is_ok()) {
      if constexpr (std::is_void_v<result_of<F>>) {
        co_return;
      } else {
        co_return std::move(got).value();
      }
    }
    if (got.is_cancelled()) co_await fail(status::cancelled);
    // None is none: later than all.
    const duration wait = shortened(c, delay, how.jitter);
    const instant next = c.now() + wait;
    const bool is_over = next > over || next >= c.budget_left().deadline;
    const bool is_final = how.is_worth != nullptr && (got.is_panicked() || !how.is_worth(got.error()));
    if (attempts >= how.attempts || is_over || is_final) {
      if (got.is_panicked()) co_await end_as_panic(got.panic());
      co_await fail(got.error().code, got.error().detail);
    }
    co_await sleep(wait);
    const std::uint64_t longer =
        delay.ns > UINT64_MAX / (how.factor == 0 ? 1 : how.factor) ? how.max_delay.ns : delay.ns * how.factor;
    delay = duration{longer > how.max_delay.ns ? how.max_delay.ns : longer};
  }
}

// What a range gives: where the item lies, or the item itself when it is made as it is asked for.
template <class Iterator>
using item_place =
    std::conditional_t<std::is_lvalue_reference_v<std::iter_reference_t<Iterator>>,
                       std::add_pointer_t<std::iter_reference_t<Iterator>>, std::optional<std::iter_value_t<Iterator>>>;

template <class Range, class F>
task<> run_for_each(cx c, std::source_location site, Range items, std::uint32_t limit, F f) {
  co_await unlisted{};
  if (limit == 0) co_await fail(status::invalid_argument);
  auto next = std::begin(items);
  const auto end = std::end(items);
  using place = item_place<decltype(next)>;
  co_await region({c, site}, [&next, &end, &f, limit, site](cx r) -> task<> {
    co_await unlisted{};
    const auto is_over = [&next, &end](cx w) {
      const inside here(w.kernel());  // They share the place, and may be on several workers.
      return next == end;
    };
    const auto pick = [&next, &end](cx w) -> place {
      const inside here(w.kernel());
      if (next == end) return {};
      if constexpr (std::is_pointer_v<place>) {
        auto& item = *next;
        ++next;
        return std::addressof(item);
      } else {
        place item(*next);
        ++next;
        return item;
      }
    };
    const auto work = [pick, &f](cx w) -> task<> {  // They outlive the body, and not what is around the block.
      co_await unlisted{};
      while (auto item = pick(w)) {  // asx: bounded by the range
        co_await f(w, *item);
        co_await checkpoint();
      }
    };
    for (std::uint32_t i = 0; i < limit && !is_over(r); ++i) {
      const auto s = spawn({r, site}, work);
      if (s.code != status::ok && i == 0) co_await fail(s.code);
      if (s.code != status::ok) break;  // Fewer at once is slower, not wrong.
      co_await yield();
    }
  });
}

template <class C>
inline constexpr bool is_cx = std::is_same_v<std::remove_cvref_t<C>, cx>;

template <class... Fs>
inline constexpr bool give_the_same = true;
template <class F, class... Fs>
inline constexpr bool give_the_same<F, Fs...> = (std::is_same_v<result_of<F>, result_of<Fs>> && ...);

/// What combinators take: called with a cx alone.
template <class... Fs>
concept children = (coroutine_function<Fs> && ...);
template <class... Fs>
concept rivals = sizeof...(Fs) > 0 && children<Fs...>&& give_the_same<Fs...>;

template <class Range>
concept items_of = requires(std::decay_t<Range>& items) {
  *std::begin(items);
  std::begin(items) == std::end(items);
};
template <class Range, class F>
concept worker_of = requires(std::decay_t<Range>& items, std::decay_t<F>& f, cx c) {
  requires is_task<decltype(f(c, *std::declval<item_place<decltype(std::begin(items))>&>()))>;
};

/// What the combinators of asx/coro/combine_range.hpp take.
template <class Range, class F>
concept each_of = items_of<Range> && worker_of<Range, F>;
template <class... Args>
inline constexpr bool is_each = false;
template <class Range, class F>
inline constexpr bool is_each<Range, F> = each_of<Range, F>;
template <class... Args>
inline constexpr bool has_range = false;
template <class First, class... Rest>
inline constexpr bool has_range<First, Rest...> = items_of<First> && !coroutine_function<First>;

/// Why F is no child of a combinator, in a sentence.
template <class F>
consteval bool explain_child() noexcept {
  constexpr bool is_given_task = is_task<std::remove_cvref_t<F>>;
  constexpr bool is_given_operation = !is_given_task && operation<std::remove_cvref_t<F>>;
  constexpr bool is_called = std::is_invocable_v<std::decay_t<F>&, cx>;
  static_assert(!is_given_task,
                "asx: pass the function, and not the task that it returned: race(c, f), and not race(c, f(c)); if it "
                "takes more than a cx, pass a lambda: [x](asx::cx c) { return f(c, x); }");
  static_assert(!is_given_operation,
                "asx: this takes functions that run as tasks, and not operations: select(...) waits for the first of "
                "several operations");
  static_assert(is_called || is_given_task || is_given_operation,
                "asx: it cannot be called with a cx alone: its one parameter is asx::cx; if it takes more, pass a "
                "lambda: [x](asx::cx c) { return f(c, x); }");
  if constexpr (is_called) static_assert(is_task<task_of<F>>, "asx: it must return an asx::task<T>");
  return true;
}
template <class C, class... Fs>
consteval bool explain_children() noexcept {
  static_assert(is_cx<C>, "asx: the first argument is the cx of the coroutine that waits: race(c, f, g)");
  if constexpr (is_cx<C>) {
    if constexpr (has_range<Fs...>) {
      static_assert(is_each<Fs...>,
                    "asx: behind a range stands the function of its items, called with a cx and an item, which is an "
                    "lvalue, and it returns an asx::task<T>: join_all(c, items, [](asx::cx c, item& one) -> "
                    "asx::task<T> { ... })");
    } else if constexpr ((coroutine_function<Fs> && ...)) {
      static_assert(sizeof...(Fs) > 0, "asx: there must be somebody to wait for: race(c, f, g)");
      static_assert(give_the_same<Fs...>,
                    "asx: those who compete give the same type: let each function return the same asx::task<T>");
    } else {
      return (explain_child<Fs>() && ...);
    }
  }
  return true;
}

template <class... Rest>
inline constexpr bool is_policy_and_function = false;
template <class How, class F>
inline constexpr bool is_policy_and_function<How, F> = std::is_same_v<std::remove_cvref_t<How>, retry_policy>;

/// Why it is no for_each, in a sentence.
template <class C, class Range, class Limit, class F>
consteval bool explain_for_each() noexcept {
  constexpr bool has_cx = is_cx<C>;
  constexpr bool is_range = items_of<Range>;
  constexpr bool has_limit = std::is_convertible_v<Limit, std::uint32_t>;
  static_assert(has_cx, "asx: the first argument is the cx of the coroutine that waits: for_each(c, items, limit, f)");
  static_assert(is_range || !has_cx,
                "asx: for_each takes a range that it can keep: a container, a view, a std::span, and not an array: "
                "for_each(c, items, limit, f)");
  static_assert(has_limit || !is_range || !has_cx,
                "asx: the number of items that are handled at once comes before the function: "
                "for_each(c, items, limit, f)");
  if constexpr (has_cx && is_range && has_limit) {
    static_assert(!is_task<std::remove_cvref_t<F>>,
                  "asx: pass the function, and not the task that it returned: for_each(c, items, limit, f)");
    static_assert(is_task<std::remove_cvref_t<F>> || worker_of<Range, F>,
                  "asx: the function is called with a cx and an item of the range, which is an lvalue, and returns an "
                  "asx::task<>: [](asx::cx c, item& one) -> asx::task<> { ... }");
  }
  return true;
}

}  // namespace detail

/// The outcomes of all, in the order given, when all have ended.
template <class... Fs>
  requires detail::children<Fs...>
auto join_all(cx_here at, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_join_all<std::decay_t<Fs>...>(at.c, at.site, std::forward<Fs>(fs)...);
}

/// The outcome of the first that ends, whatever it is.
template <class... Fs>
  requires detail::rivals<Fs...>
auto race(cx_here at, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_race<false, std::decay_t<Fs>...>(at.c, at.site, std::forward<Fs>(fs)...);
}

/// The outcome of the first that ends ok; of the last, when none does.
template <class... Fs>
  requires detail::rivals<Fs...>
auto first_ok(cx_here at, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_race<true, std::decay_t<Fs>...>(at.c, at.site, std::forward<Fs>(fs)...);
}

/// Until `enough` have ended ok, or it cannot be reached any more.
template <class... Fs>
  requires detail::rivals<Fs...>
auto quorum(cx_here at, std::size_t enough, Fs&&... fs) {
  (detail::check_function<Fs>(), ...);
  return detail::run_quorum<std::decay_t<Fs>...>(at.c, at.site, enough, std::forward<Fs>(fs)...);
}

/// `f(cx)` until it ends ok, at most `attempts` times; ends with the last failure, or the first that is not worth it.
template <class F>
  requires coroutine_function<F>
auto retry(cx c, retry_policy how, F&& f) {
  detail::check_function<F>();
  return detail::run_retry<std::decay_t<F>>(c, how, std::forward<F>(f));
}

/// `f(cx, item)` for every item, at most `limit` at once; ends with the first failure. Items are kept until then.
template <class Range, class F>
  requires detail::items_of<Range> && detail::worker_of<Range, F>
auto for_each(cx_here at, Range&& items, std::uint32_t limit, F&& f) {
  detail::check_value<Range>();
  detail::check_function<F>();
  return detail::run_for_each<std::decay_t<Range>, std::decay_t<F>>(at.c, at.site, std::forward<Range>(items), limit,
                                                                    std::forward<F>(f));
}

// What cannot be combined is told in a sentence.
template <class C, class... Fs>
  requires(!detail::is_cx<C> || (!detail::children<Fs...> && !detail::is_each<Fs...>))
auto join_all(C&&, Fs&&...) {
  static_assert(detail::explain_children<C, Fs...>());
  return yield();
}
template <class C, class... Fs>
  requires(!detail::is_cx<C> || (!detail::rivals<Fs...> && !detail::is_each<Fs...>))
auto race(C&&, Fs&&...) {
  static_assert(detail::explain_children<C, Fs...>());
  return yield();
}
template <class C, class... Fs>
  requires(!detail::is_cx<C> || (!detail::rivals<Fs...> && !detail::is_each<Fs...>))
auto first_ok(C&&, Fs&&...) {
  static_assert(detail::explain_children<C, Fs...>());
  return yield();
}
template <class C, class Enough, class... Fs>
  requires(!detail::is_cx<C> || !std::is_convertible_v<Enough, std::size_t> ||
           (!detail::rivals<Fs...> && !detail::is_each<Fs...>))
auto quorum(C&&, Enough&&, Fs&&...) {
  constexpr bool has_number = !detail::is_cx<C> || std::is_convertible_v<Enough, std::size_t>;
  static_assert(has_number, "asx: how many are enough comes before the functions: quorum(c, 2, f, g, h)");
  if constexpr (has_number) static_assert(detail::explain_children<C, Fs...>());
  return yield();
}
template <class C, class... Rest>
  requires(!detail::is_cx<C> || !detail::is_policy_and_function<Rest...>)
auto retry(C&&, Rest&&...) {
  static_assert(detail::is_cx<C>, "asx: the first argument is the cx of the coroutine that waits: retry(c, how, f)");
  static_assert(!detail::is_cx<C>, "asx: retry takes a cx, a policy and a function: retry(c, {.attempts = 5}, f)");
  return yield();
}
template <class F>
  requires(!coroutine_function<F>)
auto retry(cx, const retry_policy&, F&&) {
  static_assert(detail::explain_children<cx, F>());
  return yield();
}
template <class C, class Range, class Limit, class F>
  requires(!detail::is_cx<C> || !detail::items_of<Range> || !std::is_convertible_v<Limit, std::uint32_t> ||
           !detail::worker_of<Range, F>)
auto for_each(C&&, Range&&, Limit&&, F&&) {
  static_assert(detail::explain_for_each<C, Range, Limit, F>());
  return yield();
}

}  // namespace asx
