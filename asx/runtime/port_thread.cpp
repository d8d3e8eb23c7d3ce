// The address of the thread's own block, as the system hands it out: one load, where a thread's id would be a call.
#include "asx/runtime/port_thread.hpp"

#include <pthread.h>

#include <cstring>

namespace asx {

std::uint64_t this_thread_number() noexcept {
  const pthread_t self = ::pthread_self();
  static_assert(sizeof self <= sizeof(std::uint64_t));
  std::uint64_t number = 0;
  std::memcpy(&number, &self, sizeof self);
  return number;
}

}  // namespace asx
