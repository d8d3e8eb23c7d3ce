// Two streams of variable-length numbers: runs of entries, and differences of clock readings.
#include "asx/runtime/entry_order.hpp"

#include <array>
#include <limits>
#include <new>
#include <utility>

#include "asx/base/hash.hpp"

namespace asx {
namespace {

constexpr std::array<std::uint8_t, 8> mark = {'a', 's', 'x', 'o', 'r', 'd', 'e', 3};  // The last one: its version.
constexpr std::uint64_t complete = 1;
constexpr std::uint64_t in_virtual_time = 2;
constexpr std::uint64_t ended = 4;

// Seven bits a byte, the lowest first; the top bit says that there is more.
void put(std::vector<std::uint8_t>& to, std::uint64_t number) {
  while (number >= 0x80) {  // asx: bounded by ten bytes
    to.push_back(static_cast<std::uint8_t>(number | 0x80));
    number >>= 7;
  }
  to.push_back(static_cast<std::uint8_t>(number));
}

// False: the bytes end, or there are too many of them for a number.
bool get(std::span<const std::uint8_t> from, std::size_t& at, std::uint64_t& out) noexcept {
  out = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at == from.size()) return false;
    const std::uint8_t byte = from[at++];
    if (shift == 63 && byte > 1) return false;
    out |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

std::uint64_t check_of(std::span<const std::uint8_t> bytes) noexcept {
  return hash_bytes(std::as_bytes(bytes));
}

}  // namespace

void entry_order::begin(std::uint32_t workers, std::uint64_t seed, bool is_virtual) noexcept {
  *this = {};
  workers_ = workers;
  seed_ = seed;
  is_virtual_ = is_virtual;
}

void entry_order::enter(std::uint32_t worker) {
  if (worker != run_of_ || run_ == 0) {
    close_run();
    run_of_ = worker;
  }
  ++run_;
  ++entries_;
}

void entry_order::close_run() {
  if (run_ == 0) return;
  put(who_, run_of_);
  put(who_, std::exchange(run_, 0));
}

void entry_order::read_clock(instant moment) {
  put(when_, moment.ns - last_ns_);  // A clock never goes back.
  last_ns_ = moment.ns;
}

void entry_order::measure(std::uint64_t number) {
  put(when_, number);
}

std::vector<std::uint8_t> entry_order::save() const {
  entry_order whole = *this;
  whole.close_run();
  std::vector<std::uint8_t> out(mark.begin(), mark.end());
  put(out, workers_);
  put(out, seed_);
  put(out, entries_);
  put(out, runs_);
  put(out, digest_.high);
  put(out, digest_.low);
  put(out, digest_at_end_.high);
  put(out, digest_at_end_.low);
  put(out, (is_complete_ ? complete : 0) | (is_virtual_ ? in_virtual_time : 0) | (is_ended_ ? ended : 0));
  put(out, whole.who_.size());
  out.insert(out.end(), whole.who_.begin(), whole.who_.end());
  put(out, whole.when_.size());
  out.insert(out.end(), whole.when_.begin(), whole.when_.end());
  const std::uint64_t check = check_of(out);
  for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<std::uint8_t>(check >> (8 * i)));
  return out;
}

status entry_order::load(std::span<const std::uint8_t> bytes, entry_order& out) {
  if (bytes.size() < mark.size() + 8) return status::invalid_argument;
  const std::span<const std::uint8_t> body = bytes.first(bytes.size() - 8);
  std::uint64_t check = 0;
  for (unsigned i = 0; i < 8; ++i) check |= std::uint64_t{bytes[body.size() + i]} << (8 * i);
  if (check != check_of(body)) return status::invalid_argument;
  for (std::size_t i = 0; i < mark.size(); ++i) {
    if (body[i] != mark[i]) return status::invalid_argument;
  }
  std::size_t at = mark.size();
  entry_order read;
  std::uint64_t workers = 0;
  std::uint64_t kind = 0;
  const auto take = [&](std::vector<std::uint8_t>& to) {
    std::uint64_t size = 0;
    if (!get(body, at, size) || size > body.size() - at) return false;
    const auto part = body.subspan(at, static_cast<std::size_t>(size));
    to.assign(part.begin(), part.end());
    at += part.size();
    return true;
  };
  const bool is_read = get(body, at, workers) && get(body, at, read.seed_) && get(body, at, read.entries_) &&
                       get(body, at, read.runs_) && get(body, at, read.digest_.high) &&
                       get(body, at, read.digest_.low) && get(body, at, read.digest_at_end_.high) &&
                       get(body, at, read.digest_at_end_.low) && get(body, at, kind) && take(read.who_) &&
                       take(read.when_);
  if (!is_read || at != body.size() || kind > (complete | in_virtual_time | ended) ||
      workers > std::numeric_limits<std::uint32_t>::max()) {
    return status::invalid_argument;
  }
  read.workers_ = static_cast<std::uint32_t>(workers);
  read.is_complete_ = (kind & complete) != 0;
  read.is_virtual_ = (kind & in_virtual_time) != 0;
  read.is_ended_ = (kind & ended) != 0;
  // Every run is there, and of a worker: who reads it later need not look again.
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < read.who_.size();) {
    std::uint64_t who = 0;
    std::uint64_t count = 0;
    if (!get(read.who_, i, who) || !get(read.who_, i, count) || who >= workers || count == 0) {
      return status::invalid_argument;
    }
    seen += count;
  }
  if (seen != read.entries_) return status::invalid_argument;
  out = std::move(read);
  return status::ok;
}

// ---- reading ------------------------------------------------------------------------------------------------------

entry_order::reader::reader(const entry_order& from) noexcept : from_(from) {
  read_run();
}

void entry_order::reader::read_run() noexcept {
  std::uint64_t who = 0;
  if (who_at_ < from_.who_.size()) {
    static_cast<void>(get(from_.who_, who_at_, who));
    static_cast<void>(get(from_.who_, who_at_, left_));
    who_ = static_cast<std::uint32_t>(who);
  } else if (!is_at_open_run_) {
    is_at_open_run_ = true;  // The one that nobody has closed.
    who_ = from_.run_of_;
    left_ = from_.run_;
  }
}

std::optional<std::uint32_t> entry_order::reader::next() const noexcept {
  return left_ == 0 ? std::nullopt : std::optional(who_);
}

void entry_order::reader::advance() noexcept {
  if (--left_ == 0) read_run();
}

std::optional<instant> entry_order::reader::next_time() noexcept {
  const std::optional<std::uint64_t> more = next_number();
  if (!more) return std::nullopt;
  last_ns_ += *more;
  return instant{last_ns_};
}

std::optional<std::uint64_t> entry_order::reader::next_number() noexcept {
  std::uint64_t number = 0;
  if (!get(from_.when_, when_at_, number)) return std::nullopt;
  return number;
}

}  // namespace asx
