#include "asx/base/conditional_lock.hpp"

namespace asx {

template void basic_conditional_lock<words::atomic>::lock_contended() noexcept;

}  // namespace asx
