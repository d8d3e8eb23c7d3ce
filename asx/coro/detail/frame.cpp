#include "asx/coro/detail/frame.hpp"

#include <array>
#include <bit>
#include <new>

#include "asx/coro/spawn.hpp"
#include "asx/kernel/extension.hpp"

namespace asx::detail {

namespace {

// Behind each frame: whose pool it came from. A frame is released without a cx at hand. In front of it the word would
// spoil the alignment of the block: compilers lay a frame out for its most demanding local, and ask for no alignment.
struct frame_footer {
  kernel* home;
};

std::size_t footer_at(std::size_t bytes) noexcept {
  return (bytes + alignof(frame_footer) - 1) / alignof(frame_footer) * alignof(frame_footer);
}

}  // namespace

void* allocate_frame(std::size_t bytes, cx& c) noexcept {
  kernel& k = extension::kernel_of(c);
  const std::size_t at = footer_at(bytes);
  void* const block = extension::take_block(k, nominal_bytes::frame, at + sizeof(frame_footer), frame_alignment);
  if (block != nullptr) new (static_cast<std::byte*>(block) + at) frame_footer{&k};
  return block;
}

void release_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t at = footer_at(bytes);
  kernel& k = *reinterpret_cast<frame_footer*>(static_cast<std::byte*>(frame) + at)->home;
  extension::give_block(k, nominal_bytes::frame, frame, at + sizeof(frame_footer), frame_alignment);
}

coro_root::coro_root(cx c, const functions& table) noexcept
    : context(c), coop_limit_(extension::coop_limit(c)), functions_(table) {}

bool coro_root::yield_now() noexcept {
  extension::note_coop_yield(context);
  return true;
}

inline bool coro_root::run() {
  ready_ops_ = 0;
  if (waiting_ != nullptr) {
    if (alarms_ == nullptr || !ring()) {
      waiting_op& op = *waiting_;
      if (!op.table_->again(op)) return false;
      waiting_ = nullptr;
      ++ready_ops_;
    }
  }
  for (;;) {
    if (next_) {
      std::exchange(next_, {}).resume();
    } else if (finished_ != nullptr) {
      promise_base& p = *std::exchange(finished_, nullptr);
      if (p.parent == nullptr) return true;
      p.parent->done_(*p.parent);
    } else if (waiting_ == nullptr || alarms_ == nullptr || !ring_late()) {
      return false;
    }
  }
}

// By their records: a handle says the state, too, and another thread may ask for a cancel between two looks at it.
bool coro_root::is_of(const cx& c) const noexcept {
  return extension::is_same_task(c, context);
}

poll_result coro_root::poll(void* context, cx&) {
  auto& self = *static_cast<coro_root*>(context);
  if (!self.run()) [[likely]]
    return poll_result::pending;
  return self.functions_.say_end(self, self.context);
}

// The outermost that is over counts: those within it go with what they limit.
bool coro_root::ring() noexcept {
  alarm* over = nullptr;
  for (alarm* a = alarms_; a != nullptr; a = a->outer_) {  // asx: bounded by the limits that nest
    if (a->is_over(context)) over = a;
  }
  if (over == nullptr) return false;
  if (waiting_->table_->hurry != nullptr) {
    waiting_->table_->hurry(*waiting_);
    return false;
  }
  // What has happened is not taken back for a limit: it is heard of first, and the limit at the next wait.
  if (waiting_->table_->settle != nullptr && waiting_->table_->settle(*waiting_)) return false;
  promise_base* p = &std::exchange(waiting_, nullptr)->promise_;
  while (p->parent != over) p = &drop_child(*p);  // asx: bounded by the awaits that nest
  over->has_rung_ = true;
  next_ = over->self_;
  return true;
}

// A wait that began in this very poll: a limit may be over already, and nobody would wake the task for it.
bool coro_root::ring_late() {
  if (ring()) return true;
  if (waiting_->table_->hurry == nullptr || !is_any_over()) return false;
  waiting_op& op = *waiting_;  // It was told to hurry, and is asked what it makes of that.
  if (!op.table_->again(op)) return false;
  waiting_ = nullptr;
  return true;
}

bool coro_root::is_any_over() noexcept {
  for (alarm* a = alarms_; a != nullptr; a = a->outer_) {  // asx: bounded by the limits that nest
    if (a->is_over(context)) return true;
  }
  return false;
}

status alarm::start() noexcept {
  coro_root& root = *parent_.root;
  cx& c = root.context;
  deadline_ = c.now() + limit_;
  if (!deadline_.is_none() && deadline_ > c.now()) {
    if (const status s = c.kernel().register_timer(c, deadline_, timer_); s != status::ok) return s;
  }
  outer_ = std::exchange(root.alarms_, this);
  is_set_ = true;
  return status::ok;
}

void alarm::stop() noexcept {
  if (!is_set_) return;
  is_set_ = false;
  parent_.root->alarms_ = outer_;  // Awaits end innermost first.
  kernel& k = parent_.root->context.kernel();
  if (extension::has_timer(k, timer_)) k.cancel_timer(timer_);
  timer_ = {};
}

bool alarm::is_over(cx& c) noexcept {
  if (has_rung_ || deadline_.is_none()) return has_rung_;
  if (c.now() >= deadline_) return true;
  if (extension::has_timer(c.kernel(), timer_)) return false;
  // It fired a little early, together with others; or it went when the task acknowledged a cancel, and is
  // set again. A region that takes none before the cancel is acknowledged takes one after it.
  const bool has_fired = timer_.generation != 0 && !c.is_cancelled();
  timer_ = {};
  if (!has_fired && c.kernel().register_timer(c, deadline_, timer_) == status::resource_exhausted) {
    c.yield();  // There is no timer to be had now; it is asked again.
  }
  return has_fired;
}

struct panic_block {
  std::array<char, 160> text{};
  panic_note said{};
  panic_block* before = nullptr;  // Outcomes refer to each of them, until nobody can read the task's value any more.
};

constexpr panic_note no_text{"somebody it waited for panicked", {}, 0};

panic_note coro_root::keep_panic(const panic_note& said) noexcept {
  kernel& k = context.kernel();
  void* const block = extension::take_block(k, nominal_bytes::frame, sizeof(panic_block), alignof(panic_block));
  if (block == nullptr) return no_text;
  panic_ = new (block) panic_block{{}, {}, panic_};
  const std::size_t size = said.text.size() < panic_->text.size() ? said.text.size() : panic_->text.size();
  for (std::size_t i = 0; i < size; ++i) panic_->text[i] = said.text[i];
  panic_->said = {{panic_->text.data(), size}, said.file, said.line};
  return panic_->said;
}

void coro_root::keep_exception([[maybe_unused]] const std::exception_ptr& thrown) noexcept {
#if defined(__cpp_exceptions)
  std::array<char, 160> said{};
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    tell_exception(said);
  }
  keep_panic({said.data(), {}, 0});
#endif
}

panic_note coro_root::kept_panic() const noexcept {
  return panic_ == nullptr ? no_text : panic_->said;
}

panic_note promise_base::note_here(std::string_view text) const noexcept {
  if (site == nullptr) return {text, {}, 0};
  const auto at = std::bit_cast<std::source_location>(site);
  return {text, at.file_name(), at.line()};
}

void promise_base::end_without_value() noexcept {
  root->keep_panic(note_here("a coroutine ended without the value that it promised: it has no co_return there"));
  end({status::ok, 0, true});
}

void promise_base::say_spent() noexcept {
  root->keep_panic(note_here("a task was awaited that is spent: it was awaited before, or moved from"));
}

void promise_base::end_without_child(bool is_refused) noexcept {
  if (is_refused) return end({status::resource_exhausted});
  say_spent();
  end({status::ok, 0, true});
}

cancel_reason coro_root::copied_reason() const noexcept {
  const inside here(context.kernel());
  const cancel_reason* const why = context.reason();
  return why == nullptr ? cancel_reason{} : *why;
}

void coro_root::release_panics(kernel& home) noexcept {
  while (panic_block* const block = panic_) {  // asx: bounded by the panics that the task has seen
    panic_ = block->before;
    extension::give_block(home, nominal_bytes::frame, block, sizeof(panic_block), alignof(panic_block));
  }
}

void coro_root::drop_children() noexcept {
  promise_base* p = &std::exchange(waiting_, nullptr)->promise_;
  while (p->parent != nullptr) p = &drop_child(*p);  // asx: bounded by the awaits that nest
}

promise_base& coro_root::drop_child(promise_base& p) noexcept {
  awaiting_parent& awaits = *p.parent;
  awaits.drop_(awaits);
  return awaits.parent_;
}

bool coro_root::next_site(const void* context, const void*& at, std::source_location& out) noexcept {
  const auto* p = static_cast<const promise_base*>(at);
  do {  // asx: bounded by the awaits that nest
    if (p != nullptr) {
      p = p->parent == nullptr ? nullptr : &p->parent->parent_;
    } else if (const waiting_op* const op = static_cast<const coro_root*>(context)->waiting_; op != nullptr) {
      p = &op->promise_;
    }
    if (p == nullptr) return false;
  } while (p->is_unlisted);
  at = p;
  out = std::bit_cast<std::source_location>(p->site);
  return true;
}

}  // namespace asx::detail
