// bench/scaling/asx.cpp - what one of n costs, as n grows: a runtime must not care how many there are.
//
//     tasks     spawn     n tasks into n / 1000 regions                                              ns a task
//               run       the first poll of each, which parks                                        ns a task
//               churn     with n parked: spawn one, run it, let it end                               ns a task
//               cancel    every region is closed: propagation alone                                  ns a task
//               end       the poll that cleans up, the dispatch that ends, the end of the regions    ns a task
//               yield     n tasks that are ready give way once each                                  ns a yield
//     regions   open      n regions under one                                                        ns a region
//               churn     with n open: one more is opened, closed and gone                           ns a region
//               close     all of them, to their end                                                  ns a region
//     timers    register, cancel in random order, churn with n pending, expire in order              ns a timer
//     waiters   wait      n coroutines wait for a slot of one channel                                ns a waiter
//               grant     a receive each: the next one is woken, sends, and ends                     ns a waiter
//               leave     all are cancelled one by one in random order, and end                      ns a waiter
//     memory    touch     a read from one of n records of 1 KiB, in random order: what the machine
//                         itself takes, and by which the others are judged                           ns a read
//
// `tasks` and `waiters` once with the journal off and once with its digest. The whole is done several times with few,
// so that something is there to measure, and twice with a million, of which the second counts: the pools have grown
// then. Reported are medians of processor time from a thousand on; with fewer of wall time, whose clock can be read
// within a few nanoseconds. The clock's own cost is taken off. Argument: n.
#include <chrono>
#include <map>
#include <string>

#include "asx/asx.hpp"
#include "bench/shared/asx.hpp"

namespace {

using asx::status;
using bench::require;

std::uint64_t quick_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

class table {
 public:
  explicit table(std::uint64_t n) : n_(n), clock_(n < 1000 ? &quick_ns : &bench::processor_ns) {
    std::vector<double> costs;
    for (int i = 0; i < 1001; ++i) {
      const std::uint64_t begin = clock_();
      costs.push_back(static_cast<double>(clock_() - begin));
    }
    clock_ns_ = bench::median(costs);
  }
  /// How often the whole is done, besides the first time.
  [[nodiscard]] std::uint64_t cycles() const { return n_ >= 100'000 ? 1 : std::min<std::uint64_t>(500, 200'000 / n_); }
  void warm(bool is_warm) { is_warm_ = is_warm; }

  template <class Body>
  void timed(const std::string& what, std::uint64_t operations, Body body) {
    const std::uint64_t begin = clock_();
    body();
    const double took = static_cast<double>(clock_() - begin) - clock_ns_;
    if (is_warm_) times_[what].push_back(std::max(took, 0.0) / static_cast<double>(operations));
  }
  void print() const {
    for (const auto& [what, times] : times_) {
      std::printf("{\"workload\": \"%s\", \"n\": %llu, \"ns\": %.2f}\n", what.c_str(),
                  static_cast<unsigned long long>(n_), bench::median(times));
    }
  }

 private:
  std::uint64_t n_;
  std::uint64_t (*clock_)();
  double clock_ns_ = 0;
  bool is_warm_ = false;
  std::map<std::string, std::vector<double>> times_;
};

asx::runtime_config config_of(asx::journal_mode mode) {
  asx::runtime_config config = bench::quiet(mode);
  config.contract.max_regions = 1U << 21;
  return config;
}

void run_until_idle(asx::runtime& rt) {
  require(rt.run_until_idle(UINT64_MAX).ended == status::ok, "everybody runs");
}

std::vector<std::uint32_t> shuffled(std::uint32_t n) {
  std::vector<std::uint32_t> order(n);
  std::uint64_t state = n;
  for (std::uint32_t i = 0; i < n; ++i) order[i] = i;
  for (std::uint32_t i = n; i > 1; --i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[i - 1], order[static_cast<std::uint32_t>((state >> 32) * i >> 32)]);
  }
  return order;
}

// ---- tasks

asx::poll_result waits(void*, asx::cx& c) {
  if (c.checkpoint() != status::ok) return asx::poll_result::ready;
  static_cast<void>(c.get_waker());
  return asx::poll_result::pending;
}
asx::poll_result ends(void*, asx::cx&) {
  return asx::poll_result::ready;
}
asx::poll_result yields(void*, asx::cx& c) {
  if (c.checkpoint() != status::ok) return asx::poll_result::ready;
  c.yield();
  return asx::poll_result::pending;
}

void measure_tasks(table& t, std::uint32_t n, asx::journal_mode mode, const std::string& how) {
  asx::runtime rt(config_of(mode));
  asx::kernel& k = rt.kernel();
  const std::uint32_t regions = n < 1000 ? 1 : n / 1000;
  std::vector<asx::region_handle> all(regions);
  const auto spawn = [&](asx::region_handle into, auto poll) {
    asx::task_handle spawned;
    require(k.spawn(into, {.poll = poll}, spawned) == status::ok, "a task is spawned");
  };
  for (std::uint64_t cycle = 0; cycle <= t.cycles(); ++cycle) {
    t.warm(cycle > 0);
    t.timed("tasks: spawn" + how, n, [&] {
      for (asx::region_handle& r : all) {
        require(k.create_region(rt.root(), {}, r) == status::ok, "a region is made");
        for (std::uint32_t i = 0; i < n / regions; ++i) spawn(r, &waits);
      }
    });
    t.timed("tasks: run" + how, n, [&] { run_until_idle(rt); });
    const std::uint32_t rounds = std::min<std::uint32_t>(10 * n, 100'000);
    t.timed("tasks: churn" + how, rounds, [&] {
      for (std::uint32_t i = 0; i < rounds; ++i) {
        spawn(all[i % regions], &ends);
        rt.step();
      }
    });
    require(k.live_tasks() == n, "all of them wait");
    t.timed("tasks: cancel" + how, n, [&] {
      for (const asx::region_handle r : all) require(k.close(r) == status::ok, "a region closes");
    });
    t.timed("tasks: end" + how, n, [&] { run_until_idle(rt); });
    require(k.live_tasks() == 0 && k.live_regions() == 1, "everything has ended");

    asx::region_handle r;
    require(k.create_region(rt.root(), {}, r) == status::ok, "a region is made");
    for (std::uint32_t i = 0; i < n; ++i) spawn(r, &yields);
    const auto once_each = [&] {
      for (std::uint32_t i = 0; i < n; ++i) rt.step();
    };
    once_each();
    t.timed("tasks: yield" + how, n, once_each);
    require(k.close(r) == status::ok, "a region closes");
    run_until_idle(rt);
    require(k.live_tasks() == 0 && k.live_regions() == 1, "everything has ended");
  }
}

// ---- regions

void measure_regions(table& t, std::uint32_t n) {
  asx::runtime rt(config_of(asx::journal_mode::off));
  asx::kernel& k = rt.kernel();
  std::vector<asx::region_handle> all(n);
  for (std::uint64_t cycle = 0; cycle <= t.cycles(); ++cycle) {
    t.warm(cycle > 0);
    t.timed("regions: open", n, [&] {
      for (asx::region_handle& r : all) require(k.create_region(rt.root(), {}, r) == status::ok, "a region is made");
    });
    const std::uint32_t rounds = std::min<std::uint32_t>(n, 10'000);
    t.timed("regions: churn", rounds, [&] {
      for (std::uint32_t i = 0; i < rounds; ++i) {
        asx::region_handle r;
        require(k.create_region(rt.root(), {}, r) == status::ok && k.close(r) == status::ok, "one comes and goes");
        run_until_idle(rt);
      }
    });
    require(k.live_regions() == n + 1, "the others are open");
    t.timed("regions: close", n, [&] {
      for (const asx::region_handle r : all) require(k.close(r) == status::ok, "a region closes");
      run_until_idle(rt);
    });
    require(k.live_regions() == 1, "everything has ended");
  }
}

// ---- timers

void measure_timers(table& t, std::uint32_t n) {
  constexpr std::uint32_t hour_ms = 3'600'000;
  asx::timer_wheel wheel({.capacity = n});
  std::vector<asx::timer_handle> handles(n);
  const std::vector<std::uint32_t> order = shuffled(n);
  const std::vector<std::uint32_t> spread = shuffled(hour_ms);
  asx::instant now{};
  const auto add = [&](std::uint32_t i) {
    const asx::instant due = now + asx::duration::milliseconds(1 + spread[i]);
    require(wheel.register_timer(due, {i, 1}, handles[i]) == status::ok, "a timer is registered");
  };
  const auto add_all = [&] {
    for (std::uint32_t i = 0; i < n; ++i) add(i);
  };
  for (std::uint64_t cycle = 0; cycle <= t.cycles(); ++cycle) {
    t.warm(cycle > 0);
    t.timed("timers: register", n, add_all);
    t.timed("timers: churn", n, [&] {
      for (const std::uint32_t i : order) {
        require(wheel.cancel(handles[i]), "a timer is cancelled");
        add(i);
      }
    });
    t.timed("timers: cancel", n, [&] {
      for (const std::uint32_t i : order) require(wheel.cancel(handles[i]), "a timer is cancelled");
    });
    add_all();
    now = now + asx::duration::milliseconds(hour_ms + 1);
    std::size_t fired = 0;
    t.timed("timers: expire", n, [&] {
      asx::expired_timer out[256];
      for (std::size_t got = std::size(out); got == std::size(out); fired += got) got = wheel.collect_expired(now, out);
    });
    require(fired == n, "every timer fires");
  }
}

// ---- waiters

asx::task<> sends(asx::cx, asx::sender<std::uint64_t>* to, std::uint64_t number) {
  co_await asx::send(*to, number);
}
asx::task<> receives(asx::cx, asx::receiver<std::uint64_t>* from, std::uint64_t times, std::uint64_t* sum) {
  for (std::uint64_t i = 0; i < times; ++i) *sum += *co_await asx::recv(*from);
}

void measure_waiters(table& t, std::uint32_t n, asx::journal_mode mode, const std::string& how) {
  asx::runtime rt(config_of(mode));
  auto ends_of = asx::channel<std::uint64_t>(rt.kernel(), rt.root(), 1);
  require(ends_of.code == status::ok, "there is a channel");
  const std::vector<std::uint32_t> order = shuffled(n);
  std::vector<asx::join_handle<>> all(n);
  const auto spawn_all = [&] {
    bench::spawn(rt, sends, &ends_of.tx, std::uint64_t{1});  // It takes the only slot.
    for (auto& handle : all) {
      auto spawned = asx::spawn_in(rt.kernel(), rt.root(), {}, sends, &ends_of.tx, std::uint64_t{1});
      require(spawned.code == status::ok, "a task is spawned");
      handle = std::move(spawned.handle);
    }
  };
  for (std::uint64_t cycle = 0; cycle <= t.cycles(); ++cycle) {
    t.warm(cycle > 0);
    std::uint64_t sum = 0;
    spawn_all();
    t.timed("waiters: wait" + how, n, [&] { run_until_idle(rt); });
    require(rt.kernel().live_tasks() == n, "all of them wait");
    t.timed("waiters: grant" + how, n, [&] {
      bench::spawn(rt, receives, &ends_of.rx, std::uint64_t{n} + 1, &sum);
      run_until_idle(rt);
    });
    require(rt.kernel().live_tasks() == 0 && sum == std::uint64_t{n} + 1, "all have sent");
    spawn_all();
    run_until_idle(rt);
    t.timed("waiters: leave" + how, n, [&] {
      for (const std::uint32_t i : order) require(all[i].cancel() == status::ok, "a cancel is taken");
      run_until_idle(rt);
    });
    require(rt.kernel().live_tasks() == 0, "all have left");
    bench::spawn(rt, receives, &ends_of.rx, std::uint64_t{1}, &sum);
    run_until_idle(rt);
  }
}

// ---- memory

void measure_memory(table& t, std::uint32_t n) {
  struct alignas(64) record {
    std::uint32_t next;
    char rest[1020];
  };
  std::vector<record> all(n);
  const std::vector<std::uint32_t> order = shuffled(n);
  for (std::uint32_t i = 0; i < n; ++i) all[order[i]].next = order[(i + 1) % n];
  const std::uint32_t reads = std::max(n, 10'000U);
  std::uint32_t at = 0;
  for (int round = 0; round < 3; ++round) {
    t.warm(round > 0);
    t.timed("memory: touch", reads, [&] {
      for (std::uint32_t i = 0; i < reads; ++i) at = all[at].next;  // The next is not known before this one is read.
    });
  }
  require(at < n, "the chain is a ring");
}

}  // namespace

int main(int argc, char** argv) {
  const bench::arguments given(argc, argv);
  const auto n = static_cast<std::uint32_t>(given.number(1));
  table t(n);
  for (const asx::journal_mode mode : {asx::journal_mode::off, asx::journal_mode::digest_only}) {
    const std::string how = mode == asx::journal_mode::off ? "" : ", digest";
    measure_tasks(t, n, mode, how);
    measure_waiters(t, n, mode, how);
  }
  measure_regions(t, n);
  measure_timers(t, n);
  measure_memory(t, n);
  t.print();
  return 0;
}
