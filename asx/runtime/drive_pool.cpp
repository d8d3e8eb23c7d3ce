#include "asx/runtime/drive_pool.hpp"

#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "asx/base/atomic_word.hpp"
#include "asx/kernel/extension.hpp"

namespace asx {

struct blocking_pool::shared {
  using stage = blocking_job::stage;

  explicit shared(const pool_options& o) noexcept : options(o) {}

  // Under the lock. False: nobody would ever run it.
  bool has_hands() {
    if (idle > waiting + coming || crew.size() >= options.threads) return !crew.empty();
#if defined(__cpp_exceptions)
    try {
      crew.emplace_back([this] { work(); });
    } catch (...) {
      return !crew.empty();  // The machine has no more threads, or no memory for one: those that there are must do.
    }
#else
    crew.emplace_back([this] { work(); });
#endif
    return !crew.empty();
  }

  void work() {
    disturb();
    std::unique_lock lock(guard);
    for (;;) {
      ++idle;
      has_work.wait(lock, [this] { return first != nullptr || is_over; });
      --idle;
      if (first == nullptr) return;
      blocking_job& job = *std::exchange(first, first->next_);
      if (first == nullptr) last = nullptr;
      --waiting;
      job.stage_ = stage::running;
      lock.unlock();
      job.run_(job);
      disturb();
      lock.lock();
      --in_flight;  // Before anybody hears of it: who makes the next call because of it finds its place.
      lock.unlock();
      // Outside the lock: it may wake a worker, and whoever submits need not stand behind that. Before it is marked:
      // from then on whoever withdraws it may let go of the job, and waits for that also when it has arrived.
      job.handle_.say(detail::foreign_word::result);
      disturb();
      lock.lock();
      job.stage_ = stage::returned;
      has_returned.notify_all();
    }
  }

  pool_options options;
  std::mutex guard;
  std::condition_variable has_work;
  std::condition_variable has_returned;
  blocking_job* first = nullptr;
  blocking_job* last = nullptr;
  std::uint32_t waiting = 0;    // In the queue,
  std::uint64_t in_flight = 0;  // and with those that run.
  std::uint32_t coming = 0;     // Admitted, and about to be queued.
  std::uint32_t idle = 0;       // Threads without a call.
  bool is_over = false;
  std::vector<std::thread> crew;
};

blocking_pool::blocking_pool(const pool_options& options) noexcept : shared_(new(std::nothrow) shared(options)) {}

blocking_pool::~blocking_pool() {
  if (shared_ == nullptr) return;
  {
    disturb();
    const std::lock_guard lock(shared_->guard);
    ASX_ASSERT(shared_->first == nullptr, "a pool outlives the runtimes that use it");
    shared_->is_over = true;
  }
  shared_->has_work.notify_all();
  for (std::thread& t : shared_->crew) t.join();
  delete shared_;
}

std::uint32_t blocking_pool::threads() const noexcept {
  if (shared_ == nullptr) return 0;
  disturb();
  const std::lock_guard lock(shared_->guard);
  return static_cast<std::uint32_t>(shared_->crew.size());
}

status blocking_pool::submit(cx& c, blocking_job& job, std::source_location site) noexcept {
  ASX_ASSERT(job.home_ == nullptr, "a job is submitted once");
  kernel& k = c.kernel();
  inbox& in = inbox::of(k);
  std::optional<inside> here(std::in_place, k);  // But for the call itself.
  const auto refuse = [&](limit_code limit, std::uint64_t value) {
    return extension::refuse(k, event_kind::refused_other, c.task().value, status::resource_exhausted, limit, value);
  };
  // What other threads do decides this, so it is told as an input, and a replay is given it again.
  const auto refuse_for_now = [&] {
    extension::note(k, event_kind::refused_other, c.task().value, c.task().value,
                    pack(static_cast<std::uint64_t>(status::resource_exhausted), 0), 0, event_flags::arrived);
    return status::resource_exhausted;
  };
  if (in.was_refused(c.task())) return refuse_for_now();
  if (in.is_live()) {
    if (shared_ == nullptr) return refuse(limit_code::memory, 0);
    disturb();
    const std::lock_guard lock(shared_->guard);
    const bool is_full =
        shared_->in_flight >= std::uint64_t{shared_->options.threads} + shared_->options.queue || !shared_->has_hands();
    if (is_full) return refuse_for_now();
    ++shared_->in_flight;  // Its place, and the hands that are to take it: another runtime may share the pool.
    ++shared_->coming;
  }
  const auto give_back = [&] {
    if (!in.is_live()) return;
    disturb();
    const std::lock_guard lock(shared_->guard);
    --shared_->in_flight;
    --shared_->coming;
  };
  // where the region takes no promise any more, as in a shutdown, the call is made without.
  if (extension::gate(k, k.root()) == status::ok) {
    if (const status s = k.reserve(k.root(), job.promise_, site); s != status::ok) {
      give_back();
      return s;
    }
  }
  if (const status s = in.open({.task = c.handle(), .is_call = true, .context = &job, .arrived = arrived}, job.handle_);
      s != status::ok) {
    if (job.promise_.generation != 0) static_cast<void>(k.abort(std::exchange(job.promise_, {})));
    give_back();
    return s;
  }
  job.home_ = &k;
  job.number_ = job.handle_.slot()->number;
  here.reset();
  if (!in.is_live()) {
    const bool is_given = job.value_ != nullptr && in.gives_value(job.number_, job.value_(job, true));
    if (!is_given) job.run_(job);
    job.stage_ = blocking_job::stage::returned;
    job.handle_.say(detail::foreign_word::result);  // Not heard in a replay, which knows when it arrived.
    return status::ok;
  }
  {
    disturb();
    const std::lock_guard lock(shared_->guard);
    job.stage_ = blocking_job::stage::queued;
    (shared_->last == nullptr ? shared_->first : shared_->last->next_) = &job;
    shared_->last = &job;
    ++shared_->waiting;
    --shared_->coming;
  }
  shared_->has_work.notify_one();
  return status::ok;
}

void blocking_pool::arrived(void* context) noexcept {
  auto& job = *static_cast<blocking_job*>(context);
  job.has_arrived_ = true;
  if (job.value_ != nullptr) {
    const std::span<const std::byte> bytes = job.value_(job, false);
    extension::keep_value(*job.home_, job.number_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  if (job.promise_.generation != 0) static_cast<void>(job.home_->commit(std::exchange(job.promise_, {})));
}

void blocking_pool::withdraw(blocking_job& job) noexcept {
  using stage = blocking_job::stage;
  if (job.home_ == nullptr) return;
  if (shared_ != nullptr) {
    disturb();
    std::unique_lock lock(shared_->guard);  // Of one that has arrived, too: its thread may still be on its way out.
    if (job.stage_ == stage::queued) {
      blocking_job* before = nullptr;
      // asx: bounded by the length of the queue
      for (blocking_job* at = shared_->first; at != &job; at = at->next_) before = at;
      (before == nullptr ? shared_->first : before->next_) = job.next_;
      if (shared_->last == &job) shared_->last = before;
      --shared_->waiting;
      --shared_->in_flight;
      job.stage_ = stage::returned;
    }
    shared_->has_returned.wait(lock, [&job] { return job.stage_ == stage::returned; });
  }
  {
    const inside here(*job.home_);  // It may arrive on another worker.
    if (job.promise_.generation != 0) static_cast<void>(job.home_->abort(std::exchange(job.promise_, {})));
    job.handle_.slot()->arrived = nullptr;  // It may still lie in the inbox.
  }
  job.handle_.drop();
  job.home_ = nullptr;
}

}  // namespace asx
