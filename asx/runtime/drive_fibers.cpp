#include "asx/runtime/detail/drive_fibers.hpp"

#include <algorithm>

#include "asx/base/assert.hpp"
#include "asx/kernel/thread_mark.hpp"

#if defined(__linux__) && defined(__GLIBC__)
#define ASX_HAS_FIBERS 1
#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASX_TELLS_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define ASX_TELLS_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ASX_TELLS_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define ASX_TELLS_THREAD_SANITIZER 1
#endif
#if defined(ASX_TELLS_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(ASX_TELLS_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace asx::detail {

#if defined(ASX_HAS_FIBERS)
namespace {

// What the C++ library keeps for each thread of exceptions: those that are handled, as a list, and how many are on
// their way. The ABI says so (Itanium C++ ABI, exceptions, 2.2.2); the header names the type and no member.
struct exceptions_in_hand {
  void* handled = nullptr;
  unsigned on_their_way = 0;
#if defined(__ARM_EABI_UNWINDER__)
  void* propagating = nullptr;  // C++ ABI for the ARM architecture, 8.4.1.
#endif
};
exceptions_in_hand& in_hand() noexcept {
  return *reinterpret_cast<exceptions_in_hand*>(abi::__cxa_get_globals());
}

std::size_t page() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t stack_of_a_thread() noexcept {
  std::size_t out = 0;
  pthread_attr_t usual;
  if (pthread_attr_init(&usual) == 0) {
    if (pthread_attr_getstacksize(&usual, &out) != 0) out = 0;
    pthread_attr_destroy(&usual);
  }
  return out == 0 ? std::size_t{1} << 20 : out;
}

constexpr std::size_t least_stack = std::size_t{1} << 16;  // Sanitizers and a handler of signals fit as well.

}  // namespace

struct fibers::fiber {
  ucontext_t place{};
  std::byte* memory = nullptr;  // With the page that is nobody's, which comes first: stacks grow down.
  std::size_t bytes = 0;
  bool has_begun = false;
  bool has_ended = false;
#if defined(ASX_TELLS_ADDRESS_SANITIZER)
  void* frames = nullptr;        // Where the sanitizer keeps its locals.
  const void* bottom = nullptr;  // Of the stack that it is on: its own, or one of others that it plays in turn.
  std::size_t size = 0;
#endif
#if defined(ASX_TELLS_THREAD_SANITIZER)
  void* made = nullptr;    // For its own stack,
  void* thread = nullptr;  // and for the one that it is on.
#endif
};

fibers::fibers(std::uint32_t count, std::size_t stack_bytes, void* context, body run) noexcept
    : all_(new(std::nothrow) fiber[count]), count_(count), context_(context), run_(run) {
  if (all_ == nullptr) return;
  all_[0].has_begun = true;
  const std::size_t guard = page();
  const std::size_t asked = stack_bytes == 0 ? stack_of_a_thread() : stack_bytes;
  if (asked > SIZE_MAX - 2 * guard) return;
  const std::size_t whole = (std::max(asked, least_stack) + guard - 1) / guard * guard;
  for (std::uint32_t who = 1; who < count; ++who) {  // asx: bounded by the workers
    fiber& f = all_[who];
    void* const memory = mmap(nullptr, guard + whole, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    f.memory = static_cast<std::byte*>(memory);
    f.bytes = guard + whole;
    if (mprotect(f.memory, guard, PROT_NONE) != 0) return;
#if defined(ASX_TELLS_ADDRESS_SANITIZER)
    f.bottom = f.memory + guard;
    f.size = whole;
#endif
    if (getcontext(&f.place) != 0) return;
    f.place.uc_stack.ss_sp = f.memory + guard;
    f.place.uc_stack.ss_size = whole;
    f.place.uc_link = nullptr;
    // An argument of a context is an int: two of them are a pointer everywhere.
    const auto self = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
    // Its type says that it has none; a cast from one to the other would be warned of.
    void* const found = reinterpret_cast<void*>(&begin);
    auto* const entry = reinterpret_cast<void (*)()>(found);
    makecontext(&f.place, entry, 2, static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  }
  is_ready_ = true;
}

fibers::~fibers() {
  for (std::uint32_t who = 1; all_ != nullptr && who < count_; ++who) {  // asx: bounded by the workers
    fiber& f = all_[who];
#if defined(ASX_TELLS_THREAD_SANITIZER)
    if (f.made != nullptr) __tsan_destroy_fiber(f.made);
#endif
    if (f.memory == nullptr) continue;
#if defined(ASX_TELLS_ADDRESS_SANITIZER)
    ASAN_UNPOISON_MEMORY_REGION(f.memory, f.bytes);  // The next who has this memory begins anew.
#endif
    munmap(f.memory, f.bytes);
  }
}

bool fibers::has_begun(std::uint32_t who) const noexcept {
  return all_[who].has_begun;
}
bool fibers::has_ended(std::uint32_t who) const noexcept {
  return all_[who].has_ended;
}

void fibers::arrive([[maybe_unused]] fiber& at) noexcept {
#if defined(ASX_TELLS_ADDRESS_SANITIZER)
  // Where the stack of who left lies is learned from there: a thread's own, or one of others inside of it.
  fiber& from = all_[came_from_];
  __sanitizer_finish_switch_fiber(at.frames, &from.bottom, &from.size);
#endif
}

void fibers::begin(unsigned high, unsigned low) noexcept {
  const auto whole = (std::uint64_t{high} << 32) | low;
  auto& self = *reinterpret_cast<fibers*>(static_cast<std::uintptr_t>(whole));
  const std::uint32_t who = self.current_;
  fiber& mine = self.all_[who];
  self.arrive(mine);
  in_hand() = {};
  stack_mark = &mine;
  self.run_(self.context_, who);
  mine.has_ended = true;
  self.switch_to(0);
  ASX_UNREACHABLE("who has ended is not switched to");
}

void fibers::switch_to(std::uint32_t who) noexcept {
  if (who == current_) return;
  fiber& mine = all_[current_];
  fiber& to = all_[who];
  ASX_ASSERT(!to.has_ended, "whoever is switched to has something left to do");
  // They lie on this stack, and are put back by whoever finds them there.
  const int error = errno;
  const exceptions_in_hand held = in_hand();
  const void* const mark = stack_mark;
  volatile bool is_back = false;  // The place is reached twice: before, and after.
  came_from_ = current_;
  current_ = who;
  to.has_begun = true;
  getcontext(&mine.place);
  if (!is_back) {
    is_back = true;
    // Here and not in a function: a call that begins on one stack and ends on another is none.
#if defined(ASX_TELLS_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(mine.has_ended ? nullptr : &mine.frames, to.bottom, to.size);
#endif
#if defined(ASX_TELLS_THREAD_SANITIZER)
    mine.thread = __tsan_get_current_fiber();
    if (to.thread == nullptr) to.thread = to.made = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to.thread, 0);
#endif
    setcontext(&to.place);
    ASX_UNREACHABLE("a context that was made is gone to");
  }
  arrive(mine);
  in_hand() = held;
  stack_mark = mark;
  errno = error;
}

void fibers::give_way() noexcept {
  std::uint32_t next = current_;
  do {  // asx: bounded by the workers: this one has not ended
    next = next + 1 == count_ ? 0 : next + 1;
  } while (all_[next].has_ended);
  switch_to(next);
}

#else  // Nothing to switch by: it is never ready, and nobody calls the rest.

struct fibers::fiber {};
fibers::fibers(std::uint32_t count, std::size_t, void* context, body run) noexcept
    : count_(count), context_(context), run_(run) {}
fibers::~fibers() = default;
bool fibers::has_begun(std::uint32_t) const noexcept {
  return false;
}
bool fibers::has_ended(std::uint32_t) const noexcept {
  return true;
}
void fibers::switch_to(std::uint32_t) noexcept {}
void fibers::give_way() noexcept {}

#endif

}  // namespace asx::detail
