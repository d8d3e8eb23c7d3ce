// asx/runtime/parallel.hpp - computing on several workers, inside one poll of one task.
//
//     std::uint64_t sum = asx::parallel(c, [&](asx::pieces& p) {
//       return p.reduce(data.size(), 4096, std::uint64_t{0},
//                       [&](std::size_t i) { return weight(data[i]); }, std::plus<>());
//     });
//
//     both(f, g):  g is put aside --> f is called here --> still there?  --yes--> g is called here
//                        |                                               --no---> waits, and does others' meanwhile
//                        +--> a worker with nothing to do takes it, and calls it there
//
// A task is for what waits; a piece is for what computes. A piece has no record, no name and no budget, and costs a few
// nanoseconds where a task costs a hundred; it is of the poll that forked it, and over before that goes on.
//
// R-330  f and g are each called once, and have returned when both does. On one thread and wherever
//        nobody helps f is called first; with virtual workers, in the lab, g is, now and then, drawn from the seed:
//        what order of pieces is found there.
// R-331  What f throws comes out of both, else what g throws; the other one was called all the same.
// R-332  reduce and each split a range in halves until `grain` is reached, and join left with right: the result is the
//        same however many help, to the last bit.
// R-333  Who helps is a worker that has no task to poll; it is back for tasks after the piece in which a millisecond
//        passed. Nobody is asked to help who has something else to do.
// R-334  Pieces say nothing to the kernel: no event, no step, no poll. A recorded run has the same digest when it is
//        played, whoever called its pieces.
// R-335  A piece calls nothing of the runtime, and has no cx. is_stopped says whether somebody has asked the task to
//        cancel; the next cancel point sees it.
//
// While a task computes it is in one long poll: its worker does nothing else, and a watchdog may say so. What takes
// longer than others can wait does some of it, awaits yield(), and goes on; what waits for a disk is for blocking().
//
// Cancel points: none.
// Threads: parallel is of the thread that polls; a `pieces` is of the thread that it was handed to - each piece has
//          its own. What pieces share is theirs to guard; no lock is held over a `both`, which may call others' pieces.
// Lifetime: a `pieces` is valid during the call that it was handed to.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "asx/base/assert.hpp"
#include "asx/base/config.hpp"
#include "asx/kernel/cx.hpp"
#include "asx/runtime/detail/drive_pieces.hpp"

namespace asx {

class pieces;

namespace detail {
// What a function gives that is called with a pieces&, or with nothing.
template <class F, bool IsHandedOne = std::is_invocable_v<F&, pieces&>>
struct piece_result {
  using type = std::invoke_result_t<F&, pieces&>;
};
template <class F>
struct piece_result<F, false> {
  using type = std::invoke_result_t<F&>;
};
template <class F>
using result_of_piece = typename piece_result<F>::type;
template <class F>
decltype(auto) call_with_number(pieces& p, F& of, std::size_t i)
  requires(std::is_invocable_v<F&, pieces&, std::size_t> || std::is_invocable_v<F&, std::size_t>)
{
  if constexpr (std::is_invocable_v<F&, pieces&, std::size_t>) {
    return of(p, i);
  } else {
    return of(i);
  }
}
}  // namespace detail

class ASX_API pieces {
 public:
  pieces(const pieces&) = delete;
  pieces& operator=(const pieces&) = delete;

  /// Both are called with a `pieces&` of their own, or with nothing. Gives a pair of what they return; nothing when
  /// neither returns anything.
  template <class F, class G>
  auto both(F&& f, G&& g) {
    static_assert(is_piece<F> && is_piece<G>,
                  "a piece is called with a pieces&, or with nothing: give both two such functions");
    if constexpr (is_piece<F> && is_piece<G>) return fork(f, g);
  }

  /// of(i), or of(p, i) with a `pieces&` to fork by, for each i below n, `grain` of them in a row at most. `of` is
  /// called by several threads at a time.
  template <class F>
  void each(std::size_t n, std::size_t grain, F&& of) {
    static_assert(is_of_number<F>, "each calls its function with a number, a std::size_t, or with a pieces& and that");
    if constexpr (is_of_number<F>) each_of(0, n, grain == 0 ? 1 : grain, of);
  }

  /// with(... with(with(zero, of(0)), of(1)) ...) in runs of at most `grain`, each from a `zero` of its own, and these
  /// joined left to right by `with`, as in a tree. Both are called by several threads at a time.
  template <class T, class F, class With>
  [[nodiscard]] T reduce(std::size_t n, std::size_t grain, const T& zero, F&& of, With&& with) {
    constexpr bool is_sum = gives_sum<T, F, With>;
    static_assert(!loses_fractions<T, F, With>, "the sum would lose its fractions: begin with 0.0, and not with 0");
    static_assert(is_sum,
                  "reduce calls of(number), and with(sum, what that gave) and with(sum, sum), which give a sum");
    if constexpr (is_sum) return reduce_of<T>(0, n, grain == 0 ? 1 : grain, zero, of, with);
  }

  /// Somebody has asked the task to cancel. No cancel point, and nothing is acknowledged. Never true on one thread
  /// when it was not at the beginning: nobody else goes on meanwhile.
  [[nodiscard]] bool is_stopped() const noexcept;

 private:
  template <class F>
  friend decltype(auto) parallel(cx& c, F&& compute);
  template <class G>
  friend class detail::forked;  // What `both` puts aside.
  explicit pieces(cx& c) noexcept;
  /// Of a thread that helps.
  pieces(detail::piece_deck& mine, const detail::piece& of) noexcept : call_(of.call()), deck_(&mine) {}
  /// Of one of two pieces, where each has its own.
  explicit pieces(const detail::piece_call& call) noexcept : call_(call) {}
  ~pieces() {
    if (is_outermost_) end_call();
  }
  void end_call() noexcept;

  template <class F>
  static constexpr bool is_piece = std::is_invocable_v<F&, pieces&> || std::is_invocable_v<F&>;
  template <class F>
  static constexpr bool is_of_number =
      std::is_invocable_v<F&, pieces&, std::size_t> || std::is_invocable_v<F&, std::size_t>;
  template <class T, class F, class With>
  static constexpr bool gives_sum = requires(F& of, With& with, T sum) {
    {
      with(std::move(sum), detail::call_with_number(std::declval<pieces&>(), of, std::size_t{}))
    } -> std::convertible_to<T>;
    { with(std::move(sum), std::move(sum)) } -> std::convertible_to<T>;
  };
  template <class T, class F, class With>
  static constexpr bool loses_fractions = requires(F& of, With& with, T sum) {
    requires std::is_integral_v<T> &&
                 std::is_floating_point_v<decltype(with(
                     std::move(sum), detail::call_with_number(std::declval<pieces&>(), of, std::size_t{})))>;
  };
  template <class F, class G>
  auto fork(F& f, G& g) {
    if (call_.is_drawn) [[unlikely]]
      return fork_drawn(f, g);
    return fork_by(*this, *this, f, g, false);
  }
  // In the lab each has one of its own, so that a piece that forks by another one's is found there.
  template <class F, class G>
  auto fork_drawn(F& f, G& g) {
    ASX_ASSERT(!is_lent_, "a `pieces` is of the function that it was handed to: a piece forks by its own");
    pieces of_f(call_);
    pieces of_g(call_);
    const lent until_both_are_over(is_lent_);
    return fork_by(of_f, of_g, f, g, draw_a_turn());
  }
  template <class F, class G>
  static auto fork_by(pieces& of_f, pieces& of_g, F& f, G& g, bool is_turned);
  class lent {
   public:
    explicit lent(bool& is) noexcept : is_(is) { is_ = true; }
    ~lent() { is_ = false; }
    lent(const lent&) = delete;
    lent& operator=(const lent&) = delete;

   private:
    bool& is_;
  };
  template <class F>
  decltype(auto) call(F& f) {
    if constexpr (std::is_invocable_v<F&, pieces&>) {
      return f(*this);
    } else {
      return f();
    }
  }
  /// The lab's: g goes first.
  [[nodiscard]] bool draw_a_turn() noexcept;

  template <class F>
  void each_of(std::size_t first, std::size_t last, std::size_t grain, F& of) {
    if (last - first <= grain) {
      for (std::size_t i = first; i < last; ++i) detail::call_with_number(*this, of, i);  // asx: bounded by the grain
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    both([&](pieces& p) { p.each_of(first, middle, grain, of); },
         [&](pieces& p) { p.each_of(middle, last, grain, of); });
  }
  template <class T, class F, class With>
  T reduce_of(std::size_t first, std::size_t last, std::size_t grain, const T& zero, F& of, With& with) {
    if (last - first <= grain) {
      T sum = zero;
      for (std::size_t i = first; i < last; ++i) {  // asx: bounded by the grain
        sum = with(std::move(sum), detail::call_with_number(*this, of, i));
      }
      return sum;
    }
    const std::size_t middle = first + (last - first) / 2;
    auto [left, right] = both([&](pieces& p) { return p.reduce_of<T>(first, middle, grain, zero, of, with); },
                              [&](pieces& p) { return p.reduce_of<T>(middle, last, grain, zero, of, with); });
    return with(std::move(left), std::move(right));
  }

  detail::piece_call call_;
  detail::piece_deck* deck_ = nullptr;  // Null: nobody helps.
  bool is_outermost_ = false;           // It was made by parallel, and not inside another call of it.
  bool is_lent_ = false;                // What it forked, with a `pieces` of its own, is not over.
};

/// `compute` is called at once, on this thread, and gives what it returns.
template <class F>
decltype(auto) parallel(cx& c, F&& compute) {
  static_assert(std::is_invocable_v<F&, pieces&>, "parallel wants a function of a pieces&");
  if constexpr (std::is_invocable_v<F&, pieces&>) {
    pieces here(c);
    return compute(here);
  }
}

namespace detail {

// g, put aside: it lies in the frame of `both`, which goes on only when it is over.
template <class G>
class forked final : public piece {
 public:
  using result = result_of_piece<G>;
  static constexpr bool has_result = !std::is_void_v<result>;

  forked(G& g, pieces& here) noexcept : piece(&forked::help, here.call_, here.deck_), g_(g), here_(here) {
    is_aside_ = here.deck_ != nullptr && here.deck_->put_aside(*this);
  }
  forked(const forked&) = delete;
  forked& operator=(const forked&) = delete;
  /// When there is still something to be done, f has thrown.
  ~forked() {
    if (!is_over_) [[unlikely]]
      call_and_forget();
  }

  void go_first() noexcept {
    is_over_ = true;
    keep(here_);
  }
  result join() {
    if (!is_over_) [[likely]] {
      if (!is_aside_ || here_.deck_->take_back(*this)) [[likely]] {
        is_over_ = true;
        return here_.call(g_);
      }
      wait();
    }
#if defined(__cpp_exceptions)
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
#endif
    if constexpr (has_result) return std::move(*result_);
  }

 private:
  void wait() noexcept {
    here_.deck_->wait_for(*this);
    is_over_ = true;
  }
  ASX_OUT_OF_THE_WAY void call_and_forget() noexcept {
    if (is_aside_ && !here_.deck_->take_back(*this)) return wait();
    keep(here_);
  }
  // What comes of it is kept, for who joins or for nobody.
  void keep(pieces& with) noexcept {
#if defined(__cpp_exceptions)
    try {
#endif
      if constexpr (has_result) {
        result_.emplace(with.call(g_));
      } else {
        with.call(g_);
      }
#if defined(__cpp_exceptions)
    } catch (...) {
      thrown_ = std::current_exception();
    }
#endif
  }
  static void help(piece& self, piece_deck& by) noexcept {
    pieces mine(by, self);
    static_cast<forked&>(self).keep(mine);
  }

  G& g_;
  pieces& here_;
  bool is_aside_;
  bool is_over_ = false;
  std::conditional_t<has_result, std::optional<std::conditional_t<has_result, result, bool>>, bool> result_{};
#if defined(__cpp_exceptions)
  std::exception_ptr thrown_;
#endif
};

}  // namespace detail

template <class F, class G>
auto pieces::fork_by(pieces& of_f, pieces& of_g, F& f, G& g, bool is_turned) {
  using first_result = detail::result_of_piece<F>;
  using second_result = detail::result_of_piece<G>;
  static_assert(!std::is_reference_v<first_result> && !std::is_reference_v<second_result>,
                "both gives values; a reference may be to what is gone: return a pointer");
  static_assert(std::is_void_v<first_result> == std::is_void_v<second_result>,
                "both gives a pair or nothing: let both functions return something, or neither");
  detail::forked<G> second(g, of_g);
  if (is_turned) second.go_first();
  if constexpr (std::is_void_v<first_result>) {
    of_f.call(f);
    second.join();
  } else {
    first_result first = of_f.call(f);
    return std::pair<first_result, second_result>(std::move(first), second.join());
  }
}

}  // namespace asx
