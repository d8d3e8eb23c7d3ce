// asx/journal/port.hpp - how journals reach bytes that are not theirs: sources, sinks, and what went wrong with them.
//
//     reader --read_at(offset)--> read_port     a file, or bytes in memory
//     writer --write(bytes)-----> write_port    a file, or a test that fails the k-th write
//     export --put(text)--------> text_port     a file, a string, a terminal
//
// 1  A port never throws; a refusal is a negative errno, as the system gives it.
// 2  A fault names the status, the place (byte or line) and a sentence that says what to do.
//
// Function pointers and not virtual functions: a port is two words, and C can make one.
//
// Cancel points: none. Threads: one owner. Lifetime: a port's context outlives its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "asx/base/config.hpp"
#include "asx/base/text.hpp"
#include "asx/model/status.hpp"

namespace asx {

/// Returns how many bytes were written, possibly fewer than asked, or a negative errno.
struct write_port {
  void* context = nullptr;
  std::int64_t (*write)(void* context, std::span<const std::byte> bytes) noexcept = nullptr;
};

/// Fills `into` from `offset`; returns how many bytes there were, 0 at the end, or a negative errno.
struct read_port {
  void* context = nullptr;
  std::int64_t (*read_at)(void* context, std::uint64_t offset, std::span<std::byte> into) noexcept = nullptr;
};

/// Writes to an open file descriptor, again after EINTR. The descriptor stays the caller's.
[[nodiscard]] ASX_API write_port descriptor_writer(int descriptor) noexcept;
[[nodiscard]] ASX_API read_port descriptor_reader(int descriptor) noexcept;
/// Reads what `bytes` refers to at the time of each read; the span itself must outlive the port.
[[nodiscard]] ASX_API read_port memory_reader(std::span<const std::byte>& bytes) noexcept;
[[nodiscard]] ASX_API text_port string_writer(std::string& out) noexcept;

struct journal_fault {
  status code = status::ok;
  std::uint64_t place = 0;  // A byte offset, or a line number from 1.
  bool place_is_line = false;
  std::string sentence;  // "byte 4711: the checksum of block 3 does not match; the 3,072 events before it are intact"
};

}  // namespace asx
