// asx/coro/moved.hpp - handing something that owns memory into what is awaited, with every compiler.
//
//     auto f = [p = std::move(p)](asx::cx c) -> asx::task<> { ... };
//     co_await asx::start(c, asx::moved(f));
//
// 1  `moved(name)` moves out of the name at once, and is handed on as what it is.
// 2  Where a compiler would free a temporary twice, passing one is refused with a sentence that says what to write.
//
// Cancel points: none. Threads: any. Lifetime: what moved gives is used in the expression that it stands in.
#pragma once

#include <type_traits>
#include <utility>

namespace asx {

namespace detail {

// GCC before 13 copies a lambda, or an aggregate, that is written inside a co_await expression byte by byte into the
// frame, and destroys both: what it owns is freed twice. Nobody can tell such a temporary from std::move(name), so
// both are refused there, and `moved(name)` says which one it is.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool frees_temporaries_twice = true;
#else
inline constexpr bool frees_temporaries_twice = false;
#endif

template <class T>
inline constexpr bool is_moved = false;

/// A function object as it is passed to something that is awaited: `F` as deduced for F&&.
template <class F>
inline constexpr bool function_survives =
    !frees_temporaries_twice || std::is_lvalue_reference_v<F> || !std::is_class_v<std::remove_reference_t<F>> ||
    std::is_trivially_copyable_v<std::remove_reference_t<F>> || is_moved<std::remove_cvref_t<F>>;
/// A value, likewise: only aggregates suffer.
template <class T>
inline constexpr bool value_survives = !std::is_aggregate_v<std::remove_reference_t<T>> || function_survives<T>;

/// A T that was passed by its name, and ought to have been moved.
template <class T>
inline constexpr bool is_not_moved = std::is_lvalue_reference_v<T> && !std::is_constructible_v<std::decay_t<T>, T> &&
                                     std::is_constructible_v<std::decay_t<T>, std::remove_reference_t<T>>;

template <class F>
consteval void check_function() noexcept {
  static_assert(std::is_constructible_v<std::decay_t<F>, F>,
                "asx: a function is copied or moved into its task, and this one cannot be copied: pass std::move(f) or "
                "asx::moved(f)");
  static_assert(function_survives<F>,
                "asx: a lambda that owns what it captured must have a name here: GCC 12 would free its captures "
                "twice; write `auto f = [...]...;` and pass `f` or `asx::moved(f)`");
}
template <class T>
consteval void check_value() noexcept {
  static_assert(value_survives<T>,
                "asx: an aggregate that owns something must have a name here: GCC 12 would free it twice; write "
                "`auto v = type{...};` and pass `v` or `asx::moved(v)`");
}

}  // namespace detail

/// What `moved(name)` gives: moved out of the name at once, and handed on as what it is.
template <class T>
class moved_value {
 public:
  explicit moved_value(T& from) : value_(std::move(from)) {}
  operator T() && { return std::move(value_); }
  template <class... Args>
  decltype(auto) operator()(Args&&... args)
    requires std::is_invocable_v<T&, Args...>
  {
    return value_(std::forward<Args>(args)...);
  }

 private:
  T value_;
};
template <class T>
inline constexpr bool detail::is_moved<moved_value<T>> = true;

/// Moves something that has a name into what is awaited, with every compiler.
template <class T>
[[nodiscard]] moved_value<T> moved(T& name) {
  return moved_value<T>(name);
}

}  // namespace asx
