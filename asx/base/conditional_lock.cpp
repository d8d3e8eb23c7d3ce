#include "asx/base/conditional_lock.hpp"

namespace asx {

template void basic_conditional_lock<atomic_word>::lock_contended() noexcept;

}  // namespace asx
