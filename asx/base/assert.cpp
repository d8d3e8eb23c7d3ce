// The default handler writes with stdio and no formatting of its own: a failed assertion may come with a
// broken heap, and stderr is unbuffered, so nothing here allocates.
#include "asx/base/assert.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "asx/base/atomic_word.hpp"

namespace asx {
namespace {

void print_site(const assert_site& site) noexcept {
  std::fprintf(stderr, "asx: assertion failed: %s\n  at  %s:%d in %s\n  why %s\n", site.expression, site.file,
               site.line, site.function, site.why);
}

atomic_word<assert_handler> current_handler{&print_site};

}  // namespace

assert_handler set_assert_handler(assert_handler handler) noexcept {
  // Acquire/release: a handler set by one thread is called with its data visible on another.
  return current_handler.exchange(handler ? handler : &print_site, std::memory_order_acq_rel);
}

namespace detail {

void assert_failed(const char* expression, const char* file, int line, const char* function, const char* why) noexcept {
  const assert_site site{expression, file, line, function, why};
  // Exchanged, not read: a handler that fails an assertion itself meets the default one and the abort, not itself.
  // Acquire/release: pairs with the exchange in set_assert_handler.
  current_handler.exchange(&print_site, std::memory_order_acq_rel)(site);
  std::abort();
}

}  // namespace detail
}  // namespace asx
