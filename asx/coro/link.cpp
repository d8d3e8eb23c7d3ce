#include "asx/coro/link.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "asx/base/text.hpp"

namespace asx::detail {

namespace {

constexpr std::size_t front_bytes = 16;  // Of the group itself, so that its seats are aligned.
static_assert(sizeof(link_group) <= front_bytes && alignof(link_seat) <= front_bytes);

// What does not fit is cut.
struct short_text {
  std::array<char, 95> bytes{};
  std::size_t size = 0;
  static void put(void* self, std::string_view more) {
    auto& t = *static_cast<short_text*>(self);
    t.size += more.copy(t.bytes.data() + t.size, t.bytes.size() - t.size);
  }
};

}  // namespace

std::size_t link_group::bytes_of(std::size_t count) noexcept {
  return front_bytes + count * sizeof(link_seat);
}

std::span<link_seat> link_group::seats() noexcept {
  auto* const first = reinterpret_cast<link_seat*>(reinterpret_cast<std::byte*>(this) + front_bytes);
  return {std::launder(first), seats_};
}

bool link_group::acts(link_policy policy, const coro_root& ended) noexcept {
  return policy == link_policy::any_end || extension::end_of(record_of(ended)) != outcome_kind::ok;
}

// The reason has the task's number and place already; its text is for people.
void link_group::ask(kernel& k, coro_root& who, const coro_root& ended) noexcept {
  const extension::task_record& from = record_of(ended);
  const outcome_kind how = extension::end_of(from);
  short_text text;
  const text_port out{&text, &short_text::put};
  out << "linked task " << extension::number_of(from);
  if (const std::string_view called = extension::name_of(from); !called.empty()) out << " '" << called << "'";
  out << " ended " << name(how);
  if (how == outcome_kind::err) out << " " << name(extension::failure_of(from));
  extension::exit_linked(k, extension::task_of(who.context), from, {text.bytes.data(), text.size});
}

link_seat::link_seat(link_group& of) noexcept : end_seat(&link_group::end), group(&of) {}

status link_group::make(kernel& k, link_policy policy, std::span<coro_root* const> members) noexcept {
  const inside here(k);
  std::uint32_t alive = 0;
  for (const coro_root* const one : members) {
    if (!extension::has_ended(record_of(*one))) {
      ++alive;
    } else if (acts(policy, *one)) {  // The first of them, in the order given, tells the others.
      for (coro_root* const other : members) {
        if (other != one) ask(k, *other, *one);
      }
      extension::settle(k);
      return status::ok;
    }
  }
  if (alive < 2) return status::ok;
  const std::size_t bytes = bytes_of(alive);
  void* const block = extension::take_block(k, nominal_bytes::frame, bytes, alignof(std::max_align_t));
  if (block == nullptr) return status::resource_exhausted;
  auto* const group = new (block) link_group(policy, alive);
  auto* seat = reinterpret_cast<link_seat*>(static_cast<std::byte*>(block) + front_bytes);
  for (coro_root* const one : members) {
    if (extension::has_ended(record_of(*one))) continue;
    (new (seat++) link_seat(*group))->enter(*one);
  }
  return status::ok;
}

void link_group::end(end_seat& seat, kernel& k, coro_root& ended) noexcept {
  link_group& group = *static_cast<link_seat&>(seat).group;
  const bool is_told = acts(group.policy_, ended);
  std::uint32_t left = 0;
  for (const link_seat& other : group.seats()) left += other.who != nullptr ? 1 : 0;
  if (!is_told && left > 1) return;
  for (link_seat& other : group.seats()) {  // None of them ends in here: asking runs nobody.
    if (other.who == nullptr) continue;
    // Before it leaves: once nobody listens to it, its task ends without coming in.
    if (is_told) ask(k, *other.who, ended);
    other.leave();
  }
  extension::give_block(k, nominal_bytes::frame, &group, bytes_of(group.seats_), alignof(std::max_align_t));
}

}  // namespace asx::detail
