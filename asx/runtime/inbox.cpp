#include "asx/runtime/inbox.hpp"

#include <memory>
#include <new>

#include "asx/kernel/extension.hpp"
#include "asx/runtime/detail/inbox_core.hpp"

namespace asx {

namespace detail {

struct inbox_core : basic_inbox_core<system_threads> {
  std::unique_ptr<foreign_slot[]> slots;
  // What the runtime does with it at its end: named where a core is made, so that a program without foreign handles
  // holds nothing of the heap.
  void (*leave)(inbox_core& self) noexcept = nullptr;

  void let_go() noexcept {
    if (release()) delete this;
  }
};

}  // namespace detail

static_assert(detail::foreign_word::cancels >> detail::foreign_word::first_cancel ==
                  (1U << cancel_kind_table.size()) - 1,
              "every kind of cancel has its bit");

using detail::foreign_slot;
using detail::foreign_word;

namespace {
constexpr std::uint64_t loose_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t events_of_a_word = 16;  // What one slot says, and what follows at once.
}  // namespace

void foreign_handle::say(std::uint32_t what) const noexcept {
  if (core_ != nullptr) core_->say(*slot_, what);
}

void foreign_handle::drop() noexcept {
  if (core_ == nullptr) return;
  core_->say(*slot_, foreign_word::gone);
  slot_ = nullptr;
  std::exchange(core_, nullptr)->let_go();
}

inbox::inbox(kernel& home, park_port park, std::uint32_t max_handles, close_port closing, arrival_feed feed,
             bool is_live) noexcept
    : home_(home),
      park_(park),
      closing_(closing),
      feed_(feed),
      max_handles_(max_handles),
      is_live_(is_live && feed.next == nullptr) {
  home_.listen_to({is_fed() ? &always_ : nullptr, this, &inbox::take_in});
}

inbox::~inbox() {
  home_.listen_to({});
  if (core_ == nullptr) return;
  core_->leave(*core_);
}

bool inbox::make_core() noexcept {
  // Asked for more than a size can hold, `new` throws, whatever it was told.
  constexpr std::uint64_t most = PTRDIFF_MAX / sizeof(foreign_slot);
  if (std::uint64_t{max_handles_} > most) return false;
  auto* const made = new (std::nothrow) detail::inbox_core;
  if (made == nullptr) return false;
  made->slots.reset(new (std::nothrow) foreign_slot[max_handles_]);
  if (made->slots == nullptr) {
    delete made;
    return false;
  }
  made->park = park_;
  made->leave = [](detail::inbox_core& self) noexcept {
    self.close();
    self.let_go();
  };
  for (std::uint32_t i = max_handles_; i != 0; --i) {
    made->slots[i - 1].next_free = std::exchange(free_, &made->slots[i - 1]);
  }
  core_ = made;
  if (!is_fed()) home_.listen_to({&made->newest, this, &inbox::take_in});
  return true;
}

status inbox::open(const order& what, foreign_handle& out) noexcept {
  const inside in(home_);
  const bool has_task = what.task.generation != 0;
  detail::task_record* const t = has_task ? extension::live_task(home_, what.task) : nullptr;
  const auto refuse = [&](status why) {
    return extension::refuse(home_, event_kind::refused_other, t == nullptr ? 0 : t->task().value, why);
  };
  if (has_task && t == nullptr) return refuse(status::stale_handle);
  if (park_.unpark == nullptr) return refuse(status::invalid_argument);
  if (extension::is_full(home_, open_, max_handles_) || !extension::has_trace(home_, 2)) {
    return refuse(status::resource_exhausted);
  }
  if (core_ == nullptr && !make_core()) return refuse(status::resource_exhausted);
  foreign_slot& s = *std::exchange(free_, free_->next_free);
  s.number = has_task ? ++last_number_ : loose_bit | ++last_loose_;
  s.task = what.task;
  s.is_hold = has_task && what.is_hold;
  s.is_call = what.is_call;
  if (s.is_call) ++calls_;
  s.context = what.context;
  s.arrived = what.arrived;
  ++open_;
  if (s.is_hold) home_.take_foreign_hold();
  core_->owners.fetch_add(1, std::memory_order_relaxed);  // Relaxed: the runtime is an owner itself.
  out = foreign_handle(*core_, s);
  return status::ok;
}

void inbox::take() noexcept {
  if (is_led()) return take_fed();
  if (core_ == nullptr) return;
  auto* oldest = static_cast<foreign_slot*>(core_->take_all());
  while (oldest != nullptr) {  // asx: bounded by max_foreign
    if (!extension::has_trace(home_, events_of_a_word)) return put_back(oldest);
    // Out of the stack first: it may be pushed again as soon as it was heard.
    foreign_slot& one = *std::exchange(oldest, static_cast<foreign_slot*>(oldest->next));
    has_heard_ = true;
    do_as_said(one, detail::inbox_core::hear(one));
  }
}

// No room to tell of them now: they stay in the stack, the oldest at the bottom.
void inbox::put_back(foreign_slot* oldest) noexcept {
  while (oldest != nullptr) {  // asx: bounded by max_foreign
    foreign_slot& one = *std::exchange(oldest, static_cast<foreign_slot*>(oldest->next));
    core_->push(one);
  }
}

void inbox::take_fed() noexcept {
  for (foreign_arrival next; feed_.next(feed_.context, next);) {  // asx: bounded by the inputs that were recorded
    if ((next.said & foreign_word::close) != 0) {                 // Its handle may be one that only the live run had.
      closing_.close(closing_.context, next.handle);
      continue;
    }
    for (std::uint32_t i = 0; core_ != nullptr && i < max_handles_; ++i) {  // asx: bounded by max_foreign
      if (core_->slots[i].number != next.handle) continue;
      do_as_said(core_->slots[i], next.said);
      break;
    }
  }
}

void inbox::release_hold(foreign_slot& slot) noexcept {
  if (std::exchange(slot.is_call, false)) --calls_;
  if (std::exchange(slot.is_hold, false)) home_.release_foreign_hold();
}

void inbox::do_as_said(foreign_slot& slot, std::uint32_t said) noexcept {
  if (slot.number == 0) return;  // A replay has let go of it before its handle said so.
  if ((said & foreign_word::wake) != 0) extension::arrive_wake(home_, slot.task, slot.number);
  if ((said & foreign_word::result) != 0) {
    const detail::task_record* const t = extension::live_task(home_, slot.task);
    const std::uint64_t told = extension::note_arrival(home_, event_kind::input_io, t == nullptr ? 0 : t->task().value,
                                                       slot.number, 0, extension::next_input(home_));
    extension::following(home_, told, [&] {
      release_hold(slot);
      if (slot.arrived != nullptr) slot.arrived(slot.context);
      if (detail::task_record* const waiting = extension::live_task(home_, slot.task); waiting != nullptr)
        extension::wake(home_, *waiting, wake_code::input, told);
    });
  }
  if ((said & foreign_word::cancels) != 0) {
    auto kind = static_cast<unsigned>(cancel_kind_table.size());
    while ((said & 1U << (foreign_word::first_cancel + --kind)) == 0) {  // asx: bounded by the number of cancel kinds
    }
    if (!extension::arrive_cancel(home_, slot.task, slot.number, static_cast<cancel_kind>(kind)) && !is_led()) {
      // No room now: it stays in the inbox, with what follows it, and is tried again at the next step.
      const std::uint32_t rest = said & ~(foreign_word::wake | foreign_word::result | foreign_word::look);
      core_->keep(slot, rest);
      return;
    }
  }
  if ((said & foreign_word::close) != 0) closing_.close(closing_.context, slot.number);
  if ((said & foreign_word::look) != 0 && slot.arrived != nullptr) slot.arrived(slot.context);
  if ((said & foreign_word::gone) != 0) {
    std::uint64_t told = 0;
    if (slot.task.generation != 0) {  // A handle of no task, as signals have, is nobody's input.
      const detail::task_record* const t = extension::live_task(home_, slot.task);
      told = extension::note_arrival(home_, event_kind::input_release, t == nullptr ? 0 : t->task().value, slot.number,
                                     extension::next_input(home_));
    }
    extension::following(home_, told, [&] { release_hold(slot); });
    slot.number = 0;
    slot.task = {};
    slot.context = nullptr;
    slot.arrived = nullptr;
    slot.next_free = std::exchange(free_, &slot);
    // What a replay did not hear is not heard by the next one who lives here.
    if (is_fed()) slot.said.fetch_and(foreign_word::in_stack, std::memory_order_relaxed);
    --open_;
  }
}

status open_foreign(cx& c, foreign_handle& out) noexcept {
  return inbox::of(c.kernel()).open({.task = c.handle()}, out);
}

}  // namespace asx
