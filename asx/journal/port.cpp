#include "asx/journal/port.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace asx {

namespace {

// The descriptor travels in the pointer itself, so that a port has nothing to outlive.
void* as_context(int descriptor) noexcept {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
}
int as_descriptor(void* context) noexcept {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(context));
}

}  // namespace

write_port descriptor_writer(int descriptor) noexcept {
  return {as_context(descriptor), [](void* context, std::span<const std::byte> bytes) noexcept -> std::int64_t {
            for (;;) {
              const ssize_t n = ::write(as_descriptor(context), bytes.data(), bytes.size());
              if (n >= 0) return n;
              if (errno != EINTR) return -errno;
            }
          }};
}

read_port descriptor_reader(int descriptor) noexcept {
  return {as_context(descriptor),
          [](void* context, std::uint64_t offset, std::span<std::byte> into) noexcept -> std::int64_t {
            std::size_t filled = 0;
            while (filled < into.size()) {
              const ssize_t n = ::pread(as_descriptor(context), into.data() + filled, into.size() - filled,
                                        static_cast<off_t>(offset + filled));
              if (n == 0) break;
              if (n > 0) {
                filled += static_cast<std::size_t>(n);
              } else if (errno != EINTR) {
                return -errno;
              }
            }
            return static_cast<std::int64_t>(filled);
          }};
}

read_port memory_reader(std::span<const std::byte>& bytes) noexcept {
  return {&bytes, [](void* context, std::uint64_t offset, std::span<std::byte> into) noexcept -> std::int64_t {
            const auto all = *static_cast<const std::span<const std::byte>*>(context);
            if (offset >= all.size()) return 0;
            const std::size_t n = std::min(into.size(), all.size() - static_cast<std::size_t>(offset));
            if (n > 0) std::memcpy(into.data(), all.data() + static_cast<std::size_t>(offset), n);
            return static_cast<std::int64_t>(n);
          }};
}

text_port string_writer(std::string& out) noexcept {
  return {&out, [](void* context, std::string_view text) { static_cast<std::string*>(context)->append(text); }};
}

}  // namespace asx
