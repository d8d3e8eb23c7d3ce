// asx/sync/testing/sync_world.hpp - puppets, host and regions around real semaphores, mutexes and notifies, and the
// model beside them.
//
//     host operation, or a step that polls one puppet, which does one operation
//       -> the same to the model -> compare answers, wakes in order, obligations, reports, hands and waits
//
// Draws happen when somebody acts, so that who is polled when is the scheduler's business: the model is asked in the
// order in which things happened. What a woken puppet does is drawn too: often it asks again, and sometimes it does
// not. A foreign hold keeps stall polls away.
//
// Cancel points: none. Threads: one owner. Lifetime: a test's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/runtime/runtime.hpp"
#include "asx/sync/mutex.hpp"
#include "asx/sync/notify.hpp"
#include "asx/sync/semaphore.hpp"
#include "asx/sync/testing/naive_sync.hpp"
#include "asx/sync/testing/sync_script.hpp"

namespace asx::testing {

/// How often each thing was met, by its name.
using sync_coverage = std::map<std::string, std::uint64_t>;

/// What a mutex guards: it counts itself.
struct sync_tally {
  explicit sync_tally(std::uint64_t& of) noexcept : alive(of) { ++alive; }
  sync_tally(const sync_tally&) = delete;
  sync_tally& operator=(const sync_tally&) = delete;
  ~sync_tally() { --alive; }
  std::uint64_t& alive;
  std::uint64_t value = 0;
};

class sync_world : sync_size {
 public:
  sync_world(std::uint64_t seed, sync_coverage& met) : draws_(seed, model_, things_), met_(met), rt_(config()) {
    k().take_foreign_hold();
    model_.puppets.resize(puppet_count);
    model_.regions.resize(region_count);
    model_.waits.resize(2 * half);
    model_.hands.resize(2 * half);
    for (std::size_t r = 0; r < region_count; ++r) open_region(r);
    for (std::size_t p = 0; p < puppet_count; ++p) {
      model_.puppets[p].region = p % 2;
      spawn(p);
    }
    for (std::size_t s = 0; s < slot_count; ++s) create(s, below(region_count), 1 + below(4));
    rt_.journal().settle();
    forget_events();
  }
  sync_world(const sync_world&) = delete;
  sync_world& operator=(const sync_world&) = delete;
  ~sync_world() { static_cast<void>(finish()); }

  /// One operation. The first difference, or "".
  [[nodiscard]] const std::string& apply() {
    forget_events();
    for (std::size_t p = 0; p < puppet_count; ++p) {
      task_report r;
      model_.puppets[p].is_queued = k().inspect(tasks_[p], r) == status::ok && r.is_queued;
    }
    if (below(100) < 55) {
      rt_.step();
    } else {
      sync_operation op = draws_.of_host();
      for (int i = 0; i < 4 && op.call == sync_call::park; ++i) op = draws_.of_host();
      static_cast<void>(act(op, nullptr));
    }
    rt_.journal().settle();
    compare();
    model_.polled = none;
    return difference_;
  }

  /// Ends everybody and everything. What is not as it should be then, or "".
  [[nodiscard]] std::string finish() {
    if (std::exchange(is_finished_, true)) return "";
    k().release_foreign_hold();
    const shutdown_result shut = rt_.shutdown();
    std::string out = shut.survivors;
    for (std::size_t h = 0; h < 2 * half; ++h) {
      const bool is_hosts = model_.hands[h].of != none && model_.hands[h].by == none;
      if (is_held(h) != is_hosts) out += "hand " + std::to_string(h) + " is held after all tasks ended, or not\n";
      drop_hand(h);
    }
    for (semaphore_wait& w : sync_waits_) out += w.is_waiting() ? "somebody still waits for units\n" : "";
    for (notify_wait& w : news_waits_) out += w.is_waiting() ? "somebody still waits for news\n" : "";
    if (tallies_ != 0) out += std::to_string(tallies_) + " guarded values were not destroyed\n";
    for (const task_handle t : tasks_) static_cast<void>(k().release_task(t));
    for (const region_handle r : regions_) static_cast<void>(k().release_region(r));
    rt_.journal().settle();
    return out;
  }

  [[nodiscard]] digest128 digest() const { return const_cast<runtime&>(rt_).journal().digest(); }
  [[nodiscard]] std::string last_operations() const {
    std::string out;
    for (const sync_operation& op : log_) out += asx::testing::text(op);
    for (std::size_t t = 0; t < slot_count; ++t) {
      const naive_sync::thing& it = model_.things[things_[t]];
      out +=
          "  thing " + std::to_string(t) + " left " + std::to_string(it.left) + " of " + std::to_string(it.total) + ":";
      for (const std::size_t w : it.queue) {
        out += " [wait " + std::to_string(w) + " of puppet " + std::to_string(model_.waits[w].by) + " wants " +
               std::to_string(model_.waits[w].wants) + "]";
      }
      out += "\n";
    }
    return out;
  }

 private:
  using guard = mutex_guard<sync_tally>;
  struct stage {
    sync_world* world;
    std::size_t number;
    bool is_going = false;  // It said that it is over.
    bool is_forced = false;
  };
  struct ended {
    std::size_t who;
    outcome_kind how;
    bool is_over = true;  // Else it has only cleaned up: its hands are empty, and it may still wait.
  };

  runtime_config config() {
    model_.max_waiters = below(3) == 0 ? 1 + below(2) : 64;
    model_.max_obligations = below(2) == 0 ? 1 + below(3) : 64;
    runtime_config out;
    out.contract = resource_contract::tiny();
    out.contract.reserve_all = false;
    out.contract.max_sync = 4'096;
    out.contract.max_channel_waiters = static_cast<std::uint32_t>(model_.max_waiters);
    out.contract.max_obligations = static_cast<std::uint32_t>(model_.max_obligations);
    out.contract.max_timers = 1;
    out.sink = {this, [](void* self, std::span<const event> batch) noexcept {
                  for (const event& e : batch) static_cast<sync_world*>(self)->see(e);
                }};
    return out;
  }
  [[nodiscard]] asx::kernel& k() { return rt_.kernel(); }
  [[nodiscard]] std::size_t below(std::size_t n) { return draws_.below(n); }
  void meet(const std::string& what) { ++met_[what]; }
  void differ(const std::string& what) { difference_ += what + "\n"; }
  void expect(const std::string& what, std::uint64_t expected, std::uint64_t got) {
    if (expected != got) differ(what + ": expected " + std::to_string(expected) + ", got " + std::to_string(got));
  }
  static void must(status s) { ASX_ASSERT(s == status::ok, "a world is made of what it has room for"); }

  // ---- the journal

  void forget_events() {
    woken_.clear();
    ends_.clear();
    owed_ = {};
    model_.wakes.clear();
    model_.owed = {};
  }
  void see(const event& e) {
    switch (e.kind) {
      case event_kind::task_woken: {
        const auto why = static_cast<wake_code>(high_half(e.a));
        const bool is_ours = why == wake_code::sync || why == wake_code::disconnected;
        if (is_ours) woken_.push_back({puppet_of(e.subject), why});
        break;
      }
      case event_kind::task_failed_at_spawn:
      case event_kind::task_completed:
      case event_kind::task_completed_unobserved:
      case event_kind::task_completed_in_cleanup:
      case event_kind::task_finalized:
        ends_.push_back({puppet_of(e.subject), static_cast<outcome_kind>(low_half(e.a)), true});
        break;
      case event_kind::task_cleaned_up: ends_.push_back({puppet_of(e.subject), outcome_kind::cancelled, false}); break;
      case event_kind::obligation_reserved: ++owed_.reserved; break;
      case event_kind::obligation_committed: ++owed_.committed; break;
      case event_kind::obligation_aborted: ++owed_.aborted; break;
      case event_kind::obligation_leaked: ++owed_.leaked; break;
      default: break;
    }
  }
  [[nodiscard]] std::size_t puppet_of(std::uint64_t task) const {
    for (std::size_t p = 0; p < puppet_count; ++p) {
      if (numbers_[p] == task) return p;
    }
    return none;
  }

  // ---- comparing

  /// First the ends that were told: what they leave behind is the model's to say.
  void compare() {
    for (const ended& e : ends_) {
      const std::size_t r = model_.puppets[e.who].region;
      const bool forgets = e.how == outcome_kind::ok || e.how == outcome_kind::err;
      if (!model_.puppets[e.who].stack.empty()) {
        meet(std::string("holder ends ") + (stages_[e.who].is_forced ? "from outside " : "") +
             std::string(name(e.how)));
      }
      if (!e.is_over) {
        model_.unwind(e.who, false);
        continue;
      }
      if (!model_.puppets[e.who].waits.empty()) meet("waiter ends " + std::string(name(e.how)));
      model_.end(e.who, forgets);
      if (!model_.regions[r].is_open) finalize_if_empty(r);
    }
    if (woken_ != model_.wakes) differ("wakes\n  expected " + text(model_.wakes) + "\n  got      " + text(woken_));
    for (const naive_sync::told_wake& w : model_.wakes) {
      meet(w.why == wake_code::sync ? "wake sync" : "wake disconnected");
    }
    for (std::size_t p = 0; p < puppet_count; ++p) {
      if (!model_.puppets[p].is_live || !model_.puppets[p].is_queued) continue;
      task_report r;
      must(k().inspect(tasks_[p], r));
      if (!r.is_queued) differ("puppet " + std::to_string(p) + " was woken and will not be polled");
    }
    expect("obligations reserved", model_.owed.reserved, owed_.reserved);
    expect("obligations committed", model_.owed.committed, owed_.committed);
    expect("obligations aborted", model_.owed.aborted, owed_.aborted);
    expect("obligations leaked", model_.owed.leaked, owed_.leaked);
    met_["obligation committed"] += owed_.committed;
    met_["obligation aborted"] += owed_.aborted;
    met_["obligation leaked"] += owed_.leaked;
    for (std::size_t r = 0; r < region_count; ++r) {
      region_report report;
      must(k().inspect(regions_[r], report));
      const std::string what = "region " + std::to_string(r);
      expect(what + " reserved", model_.regions[r].reserved, report.reserved);
      expect(what + " leaked", model_.regions[r].leaked, report.leaked);
      expect(what + " is closed", model_.regions[r].is_closed, report.state == region_state::closed);
    }
    for (std::size_t s = 0; s < slot_count; ++s) compare_thing(s);
    for (std::size_t w = 0; w < half; ++w) {
      const std::string what = "wait " + std::to_string(w);
      expect(what, model_.waits[w].of != none, sync_waits_[w].is_waiting());
      expect(what + " of a notify", model_.waits[half + w].of != none, news_waits_[w].is_waiting());
    }
    std::uint64_t values = 0;
    for (std::size_t h = 0; h < 2 * half; ++h) {
      const naive_sync::hand& expected = model_.hands[h];
      expect("hand " + std::to_string(h), expected.of != none, is_held(h));
      if (h < half) expect("count of hand " + std::to_string(h), expected.count, units_[h].count());
      if (h < half || expected.of == none || !is_held(h)) continue;
      expect("guarded value", model_.things[expected.of].value, guards_[h - half]->value);
    }
    for (std::size_t t = 0; t < model_.things.size(); ++t) {
      const naive_sync::thing& it = model_.things[t];
      values += it.kind == sync_kind::mutex && !it.is_gone ? 1 : 0;
    }
    expect("guarded values alive", values, tallies_);
  }
  void compare_thing(std::size_t s) {
    const naive_sync::thing& t = model_.things[things_[s]];
    const std::string what = "thing " + std::to_string(s);
    if (s == slot_count - 1) {
      std::uint32_t waiters = 0;
      bool is_kept = false;
      if (!is_as(s, t.is_gone ? status::disconnected : status::ok, notify_.inspect(waiters, is_kept)))
        return differ(what + " is gone, or not");
      if (t.is_gone) return;
      expect(what + " waiters", t.queue.size(), waiters);
      expect(what + " is kept", t.is_kept, is_kept);
      return;
    }
    semaphore_report r;
    const status got = t.kind == sync_kind::mutex ? mutexes_[s - 3].inspect(r) : semaphores_[s].inspect(r);
    if (!is_as(s, t.is_gone ? status::disconnected : status::ok, got))
      return differ(what + " gives " + std::string(name(got)));
    if (t.is_gone) return;
    expect(what + " total", t.total, r.total);
    expect(what + " left", t.left, r.left);
    expect(what + " waiters", t.queue.size(), r.waiters);
    expect(what + " is closed", t.is_closed, r.is_closed);
    expect(what + " left + held = total", r.total, r.left + model_.held(things_[s]));
  }
  /// A cell that may have been used again makes its old name stale.
  [[nodiscard]] bool is_as(std::size_t slot, status expected, status got) const {
    const naive_sync::thing& t = model_.things[things_[slot]];
    const bool is_reused = t.is_gone && t.gone_at != model_.things.size();
    return expected == got || ((expected == status::disconnected || expected == status::cancelled) && is_reused &&
                               got == status::stale_handle);
  }
  [[nodiscard]] static std::string text(const std::vector<naive_sync::told_wake>& all) {
    std::string out;
    for (const naive_sync::told_wake& w : all) {
      out += " " + std::to_string(w.who) + (w.why == wake_code::sync ? " (sync)" : " (disconnected)");
    }
    return out;
  }

  // ---- regions, tasks and things

  void open_region(std::size_t r) {
    static_cast<void>(k().release_region(regions_[r]));
    region_spec spec;
    spec.is_held = true;
    must(k().create_region(rt_.root(), spec, regions_[r]));
    model_.regions[r] = {};
  }
  void close_region(std::size_t r) {
    must(k().close(regions_[r]));
    model_.regions[r].is_open = false;
    for (naive_sync::puppet& p : model_.puppets) p.is_cancelled = p.is_cancelled || (p.region == r && p.is_live);
    rt_.journal().settle();
    if (ends_.empty()) finalize_if_empty(r);
  }
  void finalize_if_empty(std::size_t r) {
    for (const naive_sync::puppet& p : model_.puppets) {
      if (p.region == r && p.is_live) return;
    }
    if (model_.regions[r].is_closed) return;
    model_.finalize(r);
  }
  void spawn(std::size_t p) {
    static_cast<void>(k().release_task(tasks_[p]));
    stages_[p] = {this, p};
    task_spec spec{.poll = &sync_world::poll, .context = &stages_[p]};
    spec.is_held = true;
    must(k().spawn(regions_[model_.puppets[p].region], spec, tasks_[p]));
    task_report r;
    must(k().inspect(tasks_[p], r));
    numbers_[p] = r.id.value;
    model_.puppets[p].is_live = true;
    model_.puppets[p].is_cancelled = false;
  }
  void create(std::size_t s, std::size_t r, std::uint64_t units) {
    naive_sync::thing made;
    made.region = r;
    if (s == slot_count - 1) {
      made.kind = sync_kind::notify;
      must(notify::create(k(), regions_[r], notify_));
    } else if (s >= 3) {
      made.kind = sync_kind::mutex;
      made.total = made.left = 1;
      must(mutex<sync_tally>::create(k(), regions_[r], mutexes_[s - 3], "m", tallies_));
    } else {
      made.total = made.left = units;
      must(semaphore::create(k(), regions_[r], units, semaphores_[s], "s"));
    }
    things_[s] = model_.things.size();
    model_.things.push_back(made);
  }
  [[nodiscard]] bool is_held(std::size_t h) const {
    return h < half ? units_[h].is_held() : guards_[h - half].is_held();
  }
  void drop_hand(std::size_t h) {
    if (h < half) {
      units_[h].release();
    } else {
      guards_[h - half].unlock();
    }
  }

  // ---- acting

  static poll_result poll(void* context, cx& c) {
    auto& self = *static_cast<stage*>(context);
    return self.world->poll(self, c);
  }
  poll_result poll(stage& self, cx& c) {
    if (is_finished_) {
      static_cast<void>(c.checkpoint());
      return poll_result::ready;
    }
    model_.puppets[self.number].is_queued = false;
    model_.polled = self.number;
    if (self.is_going) return poll_result::ready;  // A cleanup that is asked once more.
    const sync_operation op = draws_.of_puppet(self.number);
    const status got = act(op, &c);
    if (got != status::would_block) static_cast<void>(c.get_waker());
    if (op.call == sync_call::end_ok || op.call == sync_call::end_err) self.is_going = true;
    if (op.call == sync_call::end_ok) return poll_result::ready;
    if (op.call != sync_call::end_err) return poll_result::pending;
    c.set_error(status::io);
    return poll_result::error;
  }

  status act(sync_operation op, cx* c) {
    using call = sync_call;
    status expected = status::ok;
    status got = status::ok;
    const bool is_notify = op.call == call::poll_wait || op.call == call::notify_one || op.call == call::notify_all;
    const std::size_t thing = op.slot < slot_count ? things_[op.slot] : none;
    const bool is_cancelled = op.by != none && model_.puppets[op.by].is_cancelled;
    switch (op.call) {
      case call::acquire:
      case call::masked_acquire: {
        const bool is_masked = op.call == call::masked_acquire;
        expected = model_.poll_acquire(thing, op.wait, op.by, op.n, op.hand, is_cancelled && !is_masked);
        if (is_masked) must(c->mask_enter());
        got = op.hand < half ? semaphores_[op.slot].poll_acquire(*c, sync_waits_[op.wait], op.n, units_[op.hand])
                             : mutexes_[op.slot - 3].poll_lock(*c, sync_waits_[op.wait], guards_[op.hand - half]);
        if (is_masked) c->mask_leave();
        break;
      }
      case call::try_acquire:
        expected = model_.try_acquire(thing, op.by, op.n, op.hand);
        got = op.hand < half ? semaphores_[op.slot].try_acquire(op.n, units_[op.hand])
                             : mutexes_[op.slot - 3].try_lock(guards_[op.hand - half]);
        break;
      case call::release:
        if (model_.things[model_.hands[op.hand].of].is_orphan) meet("release to what is gone");
        if (op.by != none && model_.hands[op.hand].by != op.by) meet("release of what another took");
        model_.release(op.hand);
        drop_hand(op.hand);
        break;
      case call::move_hand:
        model_.move_hand(op.hand, op.to);
        if (op.hand < half) {
          units_[op.to] = std::move(units_[op.hand]);
        } else {
          guards_[op.to - half] = std::move(guards_[op.hand - half]);
        }
        break;
      case call::add:
        expected = model_.add(thing, op.n);
        got = semaphores_[op.slot].add(op.n);
        break;
      case call::close:
        expected = model_.close(thing);
        got = semaphores_[op.slot].close();
        break;
      case call::poll_wait:
        if (is_cancelled && model_.waits[op.wait].how == naive_sync::told::alone) meet("told and cancelled");
        expected = model_.poll_wait(thing, op.wait, op.by, is_cancelled);
        got = notify_.poll_wait(*c, news_waits_[op.wait - half]);
        break;
      case call::notify_one:
        expected = model_.notify_one(thing);
        got = notify_.notify_one();
        break;
      case call::notify_all:
        expected = model_.notify_all(thing);
        got = notify_.notify_all();
        break;
      case call::leave:
      case call::drop_wait: leave(op.wait, op.call == call::drop_wait); break;
      case call::move_wait:
        if (model_.waits[op.wait].of != none) meet("move of a wait that waits");
        model_.move_wait(op.wait, op.to);
        if (op.wait < half) {
          sync_waits_[op.to] = std::move(sync_waits_[op.wait]);
        } else {
          news_waits_[op.to - half] = std::move(news_waits_[op.wait - half]);
        }
        break;
      case call::checkpoint:
        expected = is_cancelled ? status::cancelled : status::ok;
        got = c->checkpoint();
        break;
      case call::panic: c->panic("a puppet panics"); break;
      case call::cancel:
        must(k().request_cancel(tasks_[op.slot]));
        model_.puppets[op.slot].is_cancelled = true;
        break;
      case call::complete:
        stages_[op.slot].is_forced = true;
        static_cast<void>(k().complete(tasks_[op.slot], op.n == 0 ? task_outcome::err({status::io, 0})
                                                                  : task_outcome::panicked({"from outside", "", 0})));
        break;
      case call::wake: k().waker_of(tasks_[op.slot]).wake(); break;
      case call::spawn: spawn(op.slot); break;
      case call::close_region: close_region(op.slot); break;
      case call::open_region: open_region(op.slot); break;
      case call::create: create(op.slot, op.to, op.n); break;
      default: break;
    }
    op.code = got;
    log_.push_back(op);
    if (log_.size() > 40) log_.pop_front();
    const bool is_thing_call =
        op.call <= call::try_acquire || op.call == call::add || op.call == call::close || is_notify;
    if (is_thing_call ? !is_as(op.slot, expected, got) : expected != got) {
      differ(std::string(sync_call_names[static_cast<std::size_t>(op.call)]) + ": expected " +
             std::string(name(expected)) + ", got " + std::string(name(got)));
    }
    const bool is_in_cleanup = op.by != none && !model_.regions[model_.puppets[op.by].region].is_open;
    if (is_in_cleanup && expected == status::ok && op.call <= call::try_acquire) meet("taken in a region that closes");
    meet(std::string(sync_call_names[static_cast<std::size_t>(op.call)]) + " " + std::string(name(expected)));
    // What a guard guards changes with each lock.
    if (expected == status::ok && got == status::ok && op.call <= call::try_acquire && op.hand >= half) {
      ++model_.things[thing].value;
      ++guards_[op.hand - half]->value;
    }
    return got;
  }
  void leave(std::size_t w, bool drops) {
    if (model_.waits[w].how == naive_sync::told::alone) meet("told and left");
    model_.leave(w);
    if (w < half) {
      if (drops) {
        sync_waits_[w] = semaphore_wait();
      } else {
        sync_waits_[w].leave();
      }
    } else if (drops) {
      news_waits_[w - half] = notify_wait();
    } else {
      news_waits_[w - half].leave();
    }
  }

  naive_sync model_;
  std::array<std::size_t, slot_count> things_{};
  sync_draws draws_;
  sync_coverage& met_;
  std::string difference_;
  std::deque<sync_operation> log_;
  std::vector<naive_sync::told_wake> woken_;
  std::vector<ended> ends_;
  naive_sync::promises owed_;
  bool is_finished_ = false;
  std::uint64_t tallies_ = 0;
  std::array<stage, puppet_count> stages_{};
  std::array<std::uint64_t, puppet_count> numbers_{};
  std::array<task_handle, puppet_count> tasks_{};
  std::array<region_handle, region_count> regions_{};
  runtime rt_;  // What follows dies before it.
  std::array<semaphore, 3> semaphores_;
  std::array<mutex<sync_tally>, 2> mutexes_;
  notify notify_;
  std::array<semaphore_wait, half> sync_waits_;
  std::array<notify_wait, half> news_waits_;
  std::array<semaphore_units, half> units_;
  std::array<guard, half> guards_;
};

}  // namespace asx::testing
