// Regions, tasks, obligations, timers and the whole; channels and polls are in world_kernel_chan.cpp.
#include "asx/scenario/world_kernel.hpp"

#include <algorithm>

#include "asx/scenario/detail/kernel_world.hpp"

namespace asx::scenario {

std::unique_ptr<world> make_kernel_world(const drive& how) {
  return std::make_unique<detail::kernel_world>(how);
}

}  // namespace asx::scenario

namespace asx::scenario::detail {

namespace {

cancel_request plain(const request& why) {
  return {why.kind, why.message};
}

quiescence_look list(const quiescence_result& from) {
  constexpr status checks[] = {status::tasks_still_active, status::obligations_unresolved, status::regions_not_closed,
                               status::timers_pending, status::channel_not_drained};
  quiescence_look out{from.first, {}};
  for (std::uint32_t i = 0; i < std::size(checks); ++i) {
    if ((from.failed >> i & 1U) != 0) out.failed.push_back(checks[i]);
  }
  return out;
}

}  // namespace

// ---- beginning and end -------------------------------------------------------------------------------------------

status kernel_world::start(const runtime_config& settings, event_sink sink) {
  runtime_config config = settings;
  config.sink = sink;
  config.journaling = journal_mode::full;
  config.behaviour.fatal_context = this;
  config.behaviour.fatal = [](void* self, std::string_view) noexcept {
    static_cast<kernel_world*>(self)->fatal_calls_.fetch_add(1, std::memory_order_relaxed);  // Relaxed: a count.
  };
  status started;
  if (how_.by == drive::kind::threads) {
    threads_ = std::make_unique<threaded_runtime>(
        threads_config{.workers = how_.workers, .is_virtual = true, .disturbance = how_.seed}, config);
    rt_ = &**threads_;
    started = threads_->start_status();
  } else {
    if (how_.by == drive::kind::any_order) config.workers = how_.workers;
    alone_ = std::make_unique<runtime>(config);
    rt_ = alone_.get();
    started = rt_->start_status();
    if (how_.by == drive::kind::any_order) order_.emplace(how_.seed).lead(*rt_);
  }
  if (started == status::ok) regions_.push_back(rt_->root());
  return started;
}

kernel_world::~kernel_world() {
  if (rt_ == nullptr) return;
  if (rt_->start_status() == status::ok) take_down();
  threads_.reset();  // Before the tables: scripts that go with it give up places in them.
  alone_.reset();
}

void kernel_world::take_down() {
  constexpr std::uint64_t enough = 1'000'000;
  constexpr int rounds = 3;
  while (unhold() == status::ok) {  // asx: bounded by the holds that are open
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) static_cast<void>(abandon_task(static_cast<ref>(i)));
  // Places stay where they are: scripts hold refs to them, and are polled once more below.
  for (permit_end& p : permits_) {
    static_cast<void>(p.tracked.abort());
    p.plain.abort();
  }
  for (std::size_t i = 0; i < senders_.size(); ++i) drop_sender(static_cast<ref>(i));
  for (std::size_t i = 0; i < receivers_.size(); ++i) drop_receiver(static_cast<ref>(i));
  for (int i = 0; i < rounds && kernel().check_quiescence().failed != 0; ++i) {
    // With leak_policy::hold a region waits for each of them, and the dropped permit's is nobody's any more.
    for (const obligation_handle o : obligations_) static_cast<void>(kernel().abort(o));
    for (const obligation_handle o : promised_) static_cast<void>(kernel().abort(o));
    rt_->journal().discard_oldest(rt_->journal().size());  // A trace that rejects must not stand in the way.
    if (rt_->shutdown({}, enough).is_quiescent()) return;
    for (const task_handle t : tasks_)
      static_cast<void>(kernel().complete(t, asx::task_outcome::err({status::cancelled, 0})));
  }
}

// ---- regions -----------------------------------------------------------------------------------------------------

status kernel_world::open_region(ref in, const region_order& order, made& out) {
  region_spec spec;
  spec.limits = order.limits;
  spec.max_tasks = order.max_tasks;
  spec.is_held = order.is_held;
  spec.ends_when_empty = order.ends_when_empty;
  spec.fails_fast = order.fails_fast;
  spec.name = order.name;
  if (order.owner != no_ref) spec.owner = task_at(order.owner);
  region_handle region;
  if (const status s = kernel().create_region(region_at(in), spec, region); s != status::ok) return s;
  region_report report;
  static_cast<void>(kernel().inspect(region, report));
  out = {static_cast<ref>(regions_.size()), report.id.value};
  regions_.push_back(region);
  return status::ok;
}

status kernel_world::close(ref region, const request& why) {
  return kernel().close(region_at(region), plain(why));
}
status kernel_world::begin_close(ref region, const request& why) {
  return kernel().begin_close(region_at(region), plain(why));
}
status kernel_world::begin_drain(ref region) {
  return kernel().begin_drain(region_at(region));
}
status kernel_world::begin_finalize(ref region) {
  return kernel().begin_finalize(region_at(region));
}
status kernel_world::finish_close(ref region) {
  return kernel().finish_close(region_at(region));
}

status kernel_world::finalize(void* frame, region_handle, asx::kernel&) {
  return act(frame);
}

status kernel_world::act(void* frame) {
  const auto& f = *static_cast<const action_frame*>(frame);
  const inside here(f.home->kernel());
  return f.run(f.context);
}

status kernel_world::add_finalizer(ref region, status (*run)(void* context), void* context, bool in_turn) {
  actions_.push_back({this, run, context});
  return kernel().add_finalizer(region_at(region), &kernel_world::finalize, &actions_.back(), in_turn);
}

status kernel_world::arena(ref region, std::uint64_t bytes, std::uint64_t alignment) {
  void* memory = nullptr;
  return kernel().arena_allocate(region_at(region), static_cast<std::size_t>(bytes),
                                 static_cast<std::size_t>(alignment), memory);
}

status kernel_world::release_region(ref region) {
  return kernel().release_region(region_at(region));
}

status kernel_world::look_at_region(ref region, region_look& out) {
  region_report report;
  if (const status s = kernel().inspect(region_at(region), report); s != status::ok) return s;
  out = {report.state, report.live_tasks, report.live_regions, report.reserved, report.leaked, copy(report.reason)};
  return status::ok;
}

status kernel_world::region_outcome(ref region, full_outcome& out) {
  asx::task_outcome result;
  if (const status s = kernel().result(region_at(region), result); s != status::ok) return s;
  out = copy(result);
  return status::ok;
}

// ---- tasks -------------------------------------------------------------------------------------------------------

void kernel_world::drop(void* frame) noexcept {
  auto* const f = static_cast<task_frame*>(frame);
  const inside here(f->home->kernel());
  f->order.drop(f->order.script);
  delete f;
}

task_spec kernel_world::spec_of(task_frame& frame) const noexcept {
  task_spec spec;
  spec.poll = &kernel_world::poll;
  spec.context = &frame;
  spec.drop = &kernel_world::drop;
  spec.limits = frame.order.limits;
  spec.priority = frame.order.priority;
  spec.is_held = frame.order.is_held;
  spec.name = frame.order.name;
  return spec;
}

void kernel_world::add_task(task_handle task, made& out) {
  task_report report;
  static_cast<void>(kernel().inspect(task, report));
  out = {static_cast<ref>(tasks_.size()), report.id.value};
  tasks_.push_back(task);
}

status kernel_world::spawn(ref region, const task_order& order, made& out) {
  auto frame = std::make_unique<task_frame>(task_frame{this, order});
  task_handle task;
  if (const status s = kernel().spawn(region_at(region), spec_of(*frame), task); s != status::ok) return s;
  static_cast<void>(frame.release());  // Its drop frees it. NOLINT(bugprone-unused-return-value)
  add_task(task, out);
  return status::ok;
}

status kernel_world::reserve_task(ref region, ref& slot) {
  slots_.emplace_back();
  const status s = kernel().reserve_task(region_at(region), slots_.back());
  if (s != status::ok) {
    slots_.pop_back();
    return s;
  }
  slot = static_cast<ref>(is_slot_open_.size());
  is_slot_open_.push_back(true);
  return status::ok;
}

status kernel_world::commit_task(ref slot, const task_order& order, made& out) {
  if (slot >= slots_.size() || !is_slot_open_[slot]) return status::invalid_argument;
  is_slot_open_[slot] = false;
  auto* const frame = new task_frame{this, order};
  add_task(kernel().commit(slots_[slot], spec_of(*frame)), out);
  return status::ok;
}

status kernel_world::abandon_task(ref slot) {
  if (slot >= slots_.size() || !is_slot_open_[slot]) return status::invalid_argument;
  is_slot_open_[slot] = false;
  kernel().abandon(slots_[slot]);
  return status::ok;
}

status kernel_world::cancel(ref task, const request& why, bool& newly) {
  return kernel().request_cancel(task_at(task), plain(why), &newly);
}

status kernel_world::complete(ref task, const full_outcome& result) {
  asx::task_outcome as;
  switch (result.kind) {
    case outcome_kind::ok:
      if (result.value) as = asx::task_outcome::ok(*result.value);
      break;
    case outcome_kind::err: as = asx::task_outcome::err(result.failure); break;
    case outcome_kind::cancelled: {
      cancel_reason reason;
      if (!result.reason.empty()) {
        reason.kind = result.reason[0].kind;
        reason.timestamp = result.reason[0].at;
        reason.message = texts_.emplace_back(result.reason[0].message);
      }
      as = asx::task_outcome::cancelled(
          {.reason = reason, .cleanup_budget_exceeded = result.overran, .cleanup_error = result.cleanup_error});
      break;
    }
    case outcome_kind::panicked: as = asx::task_outcome::panicked({.text = texts_.emplace_back(result.panic)}); break;
  }
  return kernel().complete(task_at(task), as);
}

status kernel_world::wake(ref task) {
  const waker w = kernel().waker_of(task_at(task));
  if (w.is_null()) return status::stale_handle;
  w.wake();
  return status::ok;
}

status kernel_world::release_task(ref task) {
  return kernel().release_task(task_at(task));
}

status kernel_world::look_at_task(ref task, task_look& out) {
  task_report report;
  if (const status s = kernel().inspect(task_at(task), report); s != status::ok) return s;
  out.state = report.state;
  if (report.is_queued) out.queued_in = report.queued_in;
  out.polls = report.polls;
  out.epoch = report.epoch;
  out.phase = report.phase;
  out.reason = copy(report.reason);
  out.cleanup_polls_left = report.cleanup_polls_left;
  out.mask_depth = report.mask_depth;
  out.left = report.left;
  return status::ok;
}

status kernel_world::task_outcome(ref task, full_outcome& out) {
  asx::task_outcome result;
  if (const status s = kernel().result(task_at(task), result); s != status::ok) return s;
  out = copy(result);
  return status::ok;
}

status kernel_world::witness(ref task, full_witness& out) {
  cancel_witness seen;
  if (const status s = kernel().witness(task_at(task), seen); s != status::ok) return s;
  out = {seen.task, seen.region, seen.epoch, seen.phase, seen.reason.kind};
  return status::ok;
}

full_reason kernel_world::copy(const cancel_reason* reason) {
  full_reason out;
  if (reason == nullptr) return out;
  for_each_level(*reason, kernel().reasons(), [&out](const cancel_reason& r) {
    out.push_back({r.kind, std::string(r.message), r.timestamp, r.origin_region, r.origin_task, r.levels, r.truncated});
  });
  return out;
}

full_outcome kernel_world::copy(const asx::task_outcome& from) {
  full_outcome out;
  out.kind = from.kind();
  if (from.has_value()) out.value = from.value();
  if (from.is_err()) out.failure = from.error();
  if (from.is_cancelled()) {
    out.reason = copy(&from.reason());
    out.overran = from.cancelled_by().cleanup_budget_exceeded;
    out.cleanup_error = from.cancelled_by().cleanup_error;
  }
  if (from.is_panicked()) out.panic = std::string(from.panic().text);
  return out;
}

// ---- obligations and timers --------------------------------------------------------------------------------------

// Their numbers are in the journal and nowhere else. Diagnostics may stand behind the event.
std::uint64_t kernel_world::last_subject(event_kind kind) const {
  const journal& log = rt_->journal();
  constexpr std::uint64_t far = 16;
  const std::uint64_t size = log.size();
  for (std::uint64_t i = 1; i <= std::min(far, size); ++i) {
    if (const event e = log.at(size - i); e.kind == kind) return e.subject;
  }
  return 0;
}

status kernel_world::reserve_obligation(ref region, made& out) {
  obligation_handle obligation;
  if (const status s = kernel().reserve(region_at(region), obligation); s != status::ok) return s;
  out = {static_cast<ref>(obligations_.size()), last_subject(event_kind::obligation_reserved)};
  obligations_.push_back(obligation);
  return status::ok;
}

status kernel_world::commit(ref obligation) {
  return kernel().commit(obligation < obligations_.size() ? obligations_[obligation] : obligation_handle{});
}
status kernel_world::abort(ref obligation) {
  return kernel().abort(obligation < obligations_.size() ? obligations_[obligation] : obligation_handle{});
}
status kernel_world::look_at_obligation(ref obligation, obligation_state& out) {
  return kernel().inspect(obligation < obligations_.size() ? obligations_[obligation] : obligation_handle{}, out);
}

status kernel_world::add_timer(ref region, instant at, made& out) {
  slab_key timer;
  if (const status s = kernel().register_timer(region_at(region), at, timer); s != status::ok) return s;
  out = {static_cast<ref>(timers_.size()), last_subject(event_kind::timer_registered)};
  timers_.push_back(timer);
  return status::ok;
}

bool kernel_world::cancel_timer(ref timer) {
  return timer < timers_.size() && kernel().cancel_timer(timers_[timer]);
}

// ---- the whole ---------------------------------------------------------------------------------------------------

void kernel_world::hold() {
  kernel().take_foreign_hold();
  ++holds_;
}

status kernel_world::unhold() {
  if (holds_ == 0) return status::invalid_argument;
  --holds_;
  kernel().release_foreign_hold();
  return status::ok;
}

status kernel_world::begin_shutdown(const request& why) {
  return kernel().begin_shutdown(plain(why));
}
void kernel_world::set_governor(governor to) {
  rt_->set_governor(to);
}
status kernel_world::advance(duration by) {
  return rt_->advance(by);
}

step_look kernel_world::step(std::optional<std::uint32_t> worker) {
  if (worker && *worker >= rt_->sched().workers()) return {status::invalid_argument, true, dispatch_source::ready, {}};
  if (how_.by != drive::kind::as_said && !worker) return step_by_anybody();
  const step_report report = worker ? rt_->step(*worker) : rt_->step();
  return {report.refused, report.is_idle, report.from, report.task};
}

// One dispatch, whichever worker makes it; the journal has who it was.
step_look kernel_world::step_by_anybody() {
  const journal& log = rt_->journal();
  const std::uint64_t before = log.seq();
  const run_result ran = rt_->run_until_idle(1);
  if (ran.ended != status::ok && ran.ended != status::step_limit) return {ran.ended, true, dispatch_source::ready, {}};
  for (std::uint64_t i = log.size(); i != 0; --i) {  // asx: bounded by the events of the step
    const event e = log.at(i - 1);
    if (e.seq <= before) break;
    if (e.kind != event_kind::task_dispatched) continue;
    return {status::ok, false, static_cast<dispatch_source>(high_half(e.a)), task_id{e.subject}};
  }
  return {status::ok, true, dispatch_source::ready, {}};
}

run_look kernel_world::run_until_idle(std::uint64_t max_steps) {
  const run_result ran = rt_->run_until_idle(max_steps);
  return {ran.ended, ran.steps};
}
run_look kernel_world::run_until_quiescent(std::uint64_t max_steps) {
  const run_result ran = rt_->run_until_quiescent(max_steps);
  return {ran.ended, ran.steps};
}
quiescence_look kernel_world::shutdown(duration grace, std::uint64_t max_steps) {
  return list(rt_->shutdown(grace, max_steps).quiescence);
}
quiescence_look kernel_world::quiescence() {
  return list(kernel().check_quiescence());
}
fairness_certificate kernel_world::certificate() {
  return rt_->certificate();
}
void kernel_world::reset_certificate() {
  rt_->reset_certificate();
}

runtime_look kernel_world::look() {
  std::optional<std::uint64_t> violations;
  if (kernel().ghosts().is_on()) violations = kernel().ghosts().violations();
  return {rt_->now(),
          kernel().live_tasks(),
          kernel().live_regions(),
          kernel().live_timers(),
          fatal_calls_.load(std::memory_order_relaxed),
          violations,
          rt_->sched().suggestion()};
}

std::uint64_t kernel_world::state_hash() {
  return kernel().state_hash();
}

void kernel_world::settle_journal() {
  rt_->journal().settle();
}
digest128 kernel_world::digest() {
  return rt_->journal().digest();
}
void kernel_world::note_law(std::uint64_t number, status answer, std::uint64_t hash) {
  rt_->journal().append(
      event_kind::law_checked,
      {.time_ns = rt_->now().ns, .subject = number, .a = static_cast<std::uint64_t>(answer), .b = hash});
}

}  // namespace asx::scenario::detail
