#include "asx/kernel/ghost.hpp"

#include <cstddef>
#include <memory>

#include "asx/kernel/kernel.hpp"

namespace asx {

using detail::obligation_record;
using detail::task_record;

namespace {

// The library's build decides, not that of whoever includes the header.
constexpr bool is_debug_build() noexcept {
#if defined(NDEBUG)
  return false;
#else
  return true;
#endif
}

constexpr ghost_rule backward{7, "FB-007"};
constexpr ghost_rule skips_a_region_state{8, "FB-008"};
constexpr ghost_rule skips_a_task_state{9, "FB-009"};
constexpr ghost_rule leaks{11, "FB-011"};
constexpr ghost_rule differs{15, "FB-015"};
constexpr ghost_rule yields_with_borrow{200, "FB-200"};
constexpr ghost_rule borrows_twice{201, "FB-201"};
constexpr ghost_rule lacks_certificate{202, "FB-202"};
constexpr ghost_rule ghost_terms{115, "R-115"};

constexpr std::size_t block_alignment = alignof(std::max_align_t);

template <class T>
T* carve(std::byte*& at, std::size_t count) noexcept {
  auto* const out = reinterpret_cast<T*>(at);
  std::uninitialized_value_construct_n(out, count);
  at += sizeof(T) * count;
  return out;
}

}  // namespace

ghosts::ghosts(const kernel& watched, journal& log, const resource_contract& contract, ghost_mode mode,
               memory_port memory) noexcept
    : is_on_(mode == ghost_mode::on || (mode == ghost_mode::automatic && is_debug_build())),
      is_journalled_(contract.overflow != trace_overflow::reject),
      kernel_(watched),
      log_(log),
      memory_(memory),
      entries_(contract.max_ghost_entries) {}

void ghosts::start() noexcept {
  static_assert(alignof(ghost_violation) == alignof(slab_key) && alignof(borrow_entry) == alignof(slab_key) &&
                    alignof(object_entry) == alignof(slab_key) && alignof(digest_checkpoint) == alignof(slab_key),
                "one array may begin where another ends");
  if (!is_on_ || block_ != nullptr) return;
  const std::uint64_t bytes = std::uint64_t{entries_} * entry_bytes();
  const auto size = static_cast<std::size_t>(bytes);
  if (size != 0 && size == bytes) block_ = memory_.allocate(memory_.context, size, block_alignment);
  if (block_ == nullptr) {
    entries_ = 0;
    return;
  }
  auto* at = static_cast<std::byte*>(block_);
  ring_ = carve<ghost_violation>(at, entries_);
  borrows_ = carve<borrow_entry>(at, entries_);
  objects_ = carve<object_entry>(at, entries_);
  timers_ = carve<slab_key>(at, entries_);
  digests_ = carve<digest_checkpoint>(at, entries_);
}

ghosts::~ghosts() {
  if (block_ != nullptr) memory_.release(memory_.context, block_, entry_bytes() * entries_, block_alignment);
}

// ---- recording ----------------------------------------------------------------------------------------------------

std::uint64_t ghosts::caller() const noexcept {
  return kernel_.caller();
}

void ghosts::append(event_kind kind, ghost_rule rule, std::uint64_t by, std::uint64_t object,
                    status returned) noexcept {
  if (!is_journalled_) return;
  log_.append(kind, {.time_ns = kernel_.now().ns,
                     .subject = by,
                     .object = object,
                     .a = rule.number,
                     .b = static_cast<std::uint64_t>(returned),
                     .worker = static_cast<std::uint16_t>(kernel_.worker_)});
}

void ghosts::violate(ghost_violation what) noexcept {
  what.seq = log_.seq();
  ++counts_[static_cast<std::size_t>(what.kind)];
  ++violations_;
  if (entries_ != 0) ring_[remembered_++ % entries_] = what;
  append(event_kind::ghost_violation, what.rule, what.by.value, what.object, what.returned);
}

void ghosts::note(ghost_kind kind, ghost_rule rule, std::uint64_t by, std::uint64_t object) noexcept {
  ++counts_[static_cast<std::size_t>(kind)];
  ++notes_;
  append(event_kind::ghost_note, rule, by, object, status::ok);
}

std::size_t ghosts::size() const noexcept {
  return static_cast<std::size_t>(remembered_ < entries_ ? remembered_ : entries_);
}

const ghost_violation& ghosts::at(std::size_t place) const noexcept {
  ASX_ASSERT(place < size(), "a violation is read by its place among those that are remembered");
  return ring_[(remembered_ - size() + place) % entries_];
}

// ---- moves and resolutions ----------------------------------------------------------------------------------------

void ghosts::illegal_region(region_id region, region_state from, region_state to) noexcept {
  constexpr const char* texts[] = {"asked to open", "asked to close", "asked to drain", "asked to finalize",
                                   "asked to finish its close"};
  // The root may not even take the next step by a call: only shutdown closes it (U-40). It counts as a skip.
  const bool is_skip = to > from;
  violate({.kind = ghost_kind::illegal_transition,
           .on = ghost_noun::region,
           .returned = status::invalid_transition,
           .rule = is_skip ? skips_a_region_state : backward,
           .by = task_id{caller()},
           .object = region.value,
           .detail = static_cast<std::uint64_t>(from),
           .worker = kernel_.worker_,
           .text = texts[static_cast<std::size_t>(to)]});
}

void ghosts::illegal_end(const task_record& t) noexcept {
  const bool is_over = t.state == task_state::completed || t.is_ending;
  violate({.kind = ghost_kind::illegal_transition,
           .on = ghost_noun::task,
           .returned = status::invalid_transition,
           .rule = is_over ? backward : skips_a_task_state,
           .by = task_id{caller()},
           .object = t.task().value,
           .detail = static_cast<std::uint64_t>(t.state),
           .worker = kernel_.worker_,
           .text = "completed from outside"});
}

void ghosts::resolved_again(const obligation_record& o, obligation_state to, status returned) noexcept {
  const bool commits = to == obligation_state::committed;
  ghost_rule rule = leaks;
  if (o.state == obligation_state::committed) rule = commits ? ghost_rule{3, "FB-003"} : ghost_rule{5, "FB-005"};
  if (o.state == obligation_state::aborted) rule = commits ? ghost_rule{6, "FB-006"} : ghost_rule{4, "FB-004"};
  violate({.kind = ghost_kind::use_after_resolve,
           .on = ghost_noun::obligation,
           .returned = returned,
           .rule = rule,
           .by = task_id{caller()},
           .object = o.id.value,
           .detail = static_cast<std::uint64_t>(o.state),
           .worker = kernel_.worker_,
           .line = static_cast<std::uint32_t>(o.site.line()),
           .text = commits ? "committed" : "aborted",
           .file = o.site.file_name()});
}

void ghosts::leak(const obligation_record& o) noexcept {
  violate({.kind = ghost_kind::leak,
           .on = ghost_noun::obligation,
           .returned = status::unresolved_obligations,
           .rule = leaks,
           .by = o.owner,
           .object = o.id.value,
           .worker = kernel_.worker_,
           .line = static_cast<std::uint32_t>(o.site.line()),
           .text = "never resolved: its region closed first",
           .file = o.site.file_name()});
}

// ---- timers -------------------------------------------------------------------------------------------------------

void ghosts::remember_timer(slab_key timer) noexcept {
  if (entries_ != 0) timers_[timer.index % entries_] = timer;
}

// A timer that has fired is not there either, and cancelling it is an ordinary race: only a cancelled one is noted.
void ghosts::look_for_timer(slab_key timer) noexcept {
  if (entries_ == 0 || timer == slab_key{} || timers_[timer.index % entries_] != timer) return;
  note(ghost_kind::double_timer_cancel, {92, "R-92"}, caller(), 0);
}

// ---- the borrow ledger --------------------------------------------------------------------------------------------

ghosts::object_entry* ghosts::find(std::uint64_t object) const noexcept {
  for (std::uint32_t i = 0; i < object_count_; ++i) {
    if (objects_[i].object == object) return &objects_[i];
  }
  return nullptr;
}

ghosts::object_entry* ghosts::find_or_add(std::uint64_t object) noexcept {
  if (object_entry* const known = find(object); known != nullptr) return known;
  if (object_count_ == entries_) {
    note(ghost_kind::ledger_full, ghost_terms, caller(), object);
    return nullptr;
  }
  object_entry& fresh = objects_[object_count_++];
  fresh = {.object = object};
  return &fresh;
}

ghosts::borrow_entry* ghosts::find(ghost_borrow b) const noexcept {
  const bool is_known = b.serial != 0 && b.place < entries_ && borrows_[b.place].serial == b.serial;
  return is_known ? &borrows_[b.place] : nullptr;
}

ghost_borrow ghosts::enter(cx& c, ghost_object object, obligation_handle tie, bool is_mutable) noexcept {
  touch_task(*c.task_);
  return enter(c.task(), object, tie, is_mutable);
}

// A borrow that breaks the rule enters the ledger all the same: it will be released like any other.
ghost_borrow ghosts::enter(task_id by, ghost_object object, obligation_handle tie, bool is_mutable) noexcept {
  object_entry* const o = find_or_add(object.value);
  if (o == nullptr) return {};
  std::uint32_t place = 0;
  while (place < entries_ && borrows_[place].serial != 0) ++place;
  if (place == entries_) {
    note(ghost_kind::ledger_full, ghost_terms, by.value, object.value);
    return {};
  }
  const char* conflict = nullptr;
  if (o->exclusive != 0) {
    conflict = is_mutable ? "borrowed mutably while it is borrowed mutably" : "borrowed while it is borrowed mutably";
  } else if (is_mutable && o->shared != 0) {
    conflict = "borrowed mutably while it is borrowed";
  }
  if (conflict != nullptr) {
    violate({.kind = ghost_kind::borrow_conflict,
             .on = ghost_noun::object,
             .rule = borrows_twice,
             .by = by,
             .object = object.value,
             .detail = o->epoch,
             .worker = kernel_.worker_,
             .text = conflict});
  }
  ++(is_mutable ? o->exclusive : o->shared);
  borrows_[place] = {.serial = ++serials_, .object = object.value, .by = by, .tie = tie, .is_mutable = is_mutable};
  ++live_borrows_;
  if (!tie.is_null()) ++tied_borrows_;
  return {place, serials_};
}

void ghosts::leave(borrow_entry& b) noexcept {
  if (object_entry* const o = find(b.object); o != nullptr) {
    --(b.is_mutable ? o->exclusive : o->shared);
    if (o->shared == 0 && o->exclusive == 0) ++o->epoch;
  }
  --live_borrows_;
  if (!b.tie.is_null()) --tied_borrows_;
  b = {};
}

void ghosts::copy(ghost_borrow b) noexcept {
  if (borrow_entry* const entry = find(b); entry != nullptr) entry->is_copied = true;
}

void ghosts::release(ghost_borrow b) noexcept {
  if (b.is_null()) return;
  if (borrow_entry* const entry = find(b); entry != nullptr) return leave(*entry);
  note(ghost_kind::stray_release, ghost_terms, caller(), 0);
}

std::uint64_t ghosts::epoch(ghost_object object) const noexcept {
  const object_entry* const o = find(object.value);
  return o == nullptr ? 0 : o->epoch;
}

// Told once a borrow: a task that waits for long would say the same at each of its polls.
void ghosts::look_at_borrows(const task_record& t) noexcept {
  for (std::uint32_t i = 0; i < entries_; ++i) {
    borrow_entry& b = borrows_[i];
    if (b.serial == 0 || b.by != t.task() || b.is_copied || b.is_told || b.tie.is_null()) continue;
    const obligation_record* const o = kernel_.obligations_.find(b.tie);
    if (o == nullptr || o->state != obligation_state::reserved) continue;
    b.is_told = true;
    violate({.kind = ghost_kind::borrow_across_pending,
             .on = ghost_noun::object,
             .rule = yields_with_borrow,
             .by = b.by,
             .object = b.object,
             .detail = o->id.value,
             .worker = kernel_.worker_,
             .text = "held across pending without a copy, tied to a reserved obligation"});
  }
}

void ghosts::drop_borrows(const task_record& t) noexcept {
  for (std::uint32_t i = 0; i < entries_; ++i) {
    if (borrows_[i].serial != 0 && borrows_[i].by == t.task()) leave(borrows_[i]);
  }
}

// ---- affinity -----------------------------------------------------------------------------------------------------

void ghosts::touch_object(std::uint32_t worker, ghost_object object) noexcept {
  object_entry* const o = find_or_add(object.value);
  if (o == nullptr) return;
  if (!o->is_owned) {
    o->is_owned = true;
    o->owner = worker;
  }
  if (o->owner == worker) return;
  violate({.kind = ghost_kind::foreign_use,
           .on = ghost_noun::object,
           .rule = lacks_certificate,
           .by = task_id{caller()},
           .object = object.value,
           .detail = o->owner,
           .worker = worker,
           .text = "touched without a transfer certificate"});
}

void ghosts::touch_by(cx& c, ghost_object object) noexcept {
  touch_task(*c.task_);
  touch_object(kernel_.worker_, object);
}

// The dispatch moved the task to the worker that polls it. A cx that is used while another worker steps was kept.
void ghosts::touch_task(const task_record& t) noexcept {
  if (t.home == kernel_.worker_ || t.is_ending) return;
  violate({.kind = ghost_kind::foreign_use,
           .on = ghost_noun::task,
           .rule = lacks_certificate,
           .by = task_id{caller()},
           .object = t.task().value,
           .detail = t.home,
           .worker = kernel_.worker_,
           .text = "its cx was used by a worker that did not dispatch it"});
}

void ghosts::transfer(ghost_object object, std::uint32_t from, std::uint32_t to) noexcept {
  if (!is_on_) return;
  object_entry* const o = find_or_add(object.value);
  if (o == nullptr) return;
  if (o->is_owned && o->owner != from) {
    violate({.kind = ghost_kind::foreign_use,
             .on = ghost_noun::object,
             .rule = lacks_certificate,
             .by = task_id{caller()},
             .object = object.value,
             .detail = o->owner,
             .worker = from,
             .text = "transferred by a worker that does not own it"});
    return;
  }
  o->is_owned = true;
  o->owner = to;
}

void ghosts::forget(ghost_object object) noexcept {
  object_entry* const o = find(object.value);
  if (o == nullptr) return;
  for (std::uint32_t i = 0; i < entries_; ++i) {
    if (borrows_[i].serial != 0 && borrows_[i].object == object.value) leave(borrows_[i]);
  }
  *o = objects_[--object_count_];
}

// ---- determinism --------------------------------------------------------------------------------------------------

void ghosts::plan_look() noexcept {
  next_look_ = next_own_;
  if (!expected_.empty() && expected_.front().seq < next_look_) next_look_ = expected_.front().seq;
}

// Dispatches end at the same events in two runs that are the same, so a checkpoint that is passed over tells as much as
// a digest that differs.
void ghosts::look_at_digest() noexcept {
  const std::uint64_t seq = log_.seq();
  while (!expected_.empty() && expected_.front().seq <= seq) {
    const digest_checkpoint next = expected_.front();
    expected_ = expected_.subspan(1);
    if (!compare(next)) expected_ = {};
  }
  if (seq >= next_own_) keep_digest(seq);
  plan_look();
}

void ghosts::keep_digest(std::uint64_t seq) noexcept {
  if (entries_ < 2) {
    next_own_ = UINT64_MAX;
    return;
  }
  digests_[digest_count_++] = {seq, log_.digest()};
  if (digest_count_ == entries_) {  // Those behind the multiples of twice the distance stay.
    for (std::size_t i = 0; 2 * i + 1 < digest_count_; ++i) digests_[i] = digests_[2 * i + 1];
    digest_count_ /= 2;
    stride_ *= 2;
  }
  next_own_ = (seq / stride_ + 1) * stride_;
}

bool ghosts::compare(const digest_checkpoint& expected) noexcept {
  const digest_checkpoint found{log_.seq(), log_.digest()};
  if (found == expected) return true;
  if (has_difference_) return false;
  has_difference_ = true;
  difference_ = {expected, found};
  violate({.kind = ghost_kind::nondeterminism,
           .on = ghost_noun::event,
           .rule = differs,
           .object = expected.seq,
           .detail = found.seq,
           .worker = kernel_.worker_,
           .text = "the digest differs from the earlier run's"});
  return false;
}

void ghosts::expect_digests(std::span<const digest_checkpoint> earlier) noexcept {
  if (!is_on_) return;
  while (!earlier.empty() && earlier.front().seq <= log_.seq()) earlier = earlier.subspan(1);
  expected_ = has_difference_ ? std::span<const digest_checkpoint>{} : earlier;
  plan_look();
}

bool ghosts::expect_digest(std::uint64_t seq, const digest128& digest) noexcept {
  return is_on_ && compare({seq, digest});
}

}  // namespace asx
