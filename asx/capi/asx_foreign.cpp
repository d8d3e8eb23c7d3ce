// Handles for other threads. In C they are two words that are moved by copying; in between they are foreign_handles.
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "asx/capi/detail/convert.hpp"
#include "asx/capi/detail/state.hpp"

using namespace asx;
using namespace asx::capi;

namespace {

static_assert(sizeof(foreign_handle) == sizeof(asx_foreign_handle));

/// A handle that lies in C's struct for as long as the call takes, and is not dropped at its end.
class borrowed {
 public:
  explicit borrowed(const asx_foreign_handle& h) noexcept { std::memcpy(bytes_, &h, sizeof h); }
  [[nodiscard]] foreign_handle& get() noexcept { return *std::launder(reinterpret_cast<foreign_handle*>(bytes_)); }
  void leave_in(asx_foreign_handle& h) const noexcept { std::memcpy(&h, bytes_, sizeof h); }

 private:
  alignas(foreign_handle) std::byte bytes_[sizeof(foreign_handle)];
};

}  // namespace

extern "C" {

asx_status asx_foreign_open(asx_runtime* runtime, asx_task_handle task, asx_foreign_handle* out) {
  const call guard(runtime);
  if (guard.refused != ASX_OK) return guard.refused;
  if (out == nullptr) return ASX_E_INVALID_ARGUMENT;
  const task_handle of = in(task);
  if (of.generation == 0) return ASX_E_STALE_HANDLE;  // A handle of no task is for signals, and not for C.
  alignas(foreign_handle) std::byte place[sizeof(foreign_handle)];
  auto* const made = new (place) foreign_handle;
  const status s = runtime->core.foreign(of, *made);
  if (s == status::ok) std::memcpy(out, place, sizeof *out);  // Not destroyed: it lives in C from here on.
  return capi::out(s);
}

void asx_foreign_wake(const asx_foreign_handle* handle) {
  if (handle != nullptr) borrowed(*handle).get().wake();
}

void asx_foreign_cancel(const asx_foreign_handle* handle, asx_cancel_kind kind) {
  if (handle != nullptr && is_kind(kind)) borrowed(*handle).get().cancel(in(kind));
}

void asx_foreign_shut_down(const asx_foreign_handle* handle) {
  if (handle != nullptr) borrowed(*handle).get().shut_down();
}

void asx_foreign_drop(asx_foreign_handle* handle) {
  if (handle == nullptr) return;
  borrowed b(*handle);
  b.get().drop();
  b.leave_in(*handle);
}

}  // extern "C"
