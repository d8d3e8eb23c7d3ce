// What the core operations cost in instructions. run.py starts this program under callgrind and compares with
// bench/budget.json; on a quiet machine or a busy one the count is the same, where a time would not be.
//
//     guard                    the problems, how often each does its operation, what it is, and who built this: JSON
//     guard NAME [COUNT]       does the operation COUNT times
//
// Counted is what runs between the entry of guard_counted and its return. Each problem does its work once before that,
// so that pools have grown and memory was touched. Journal and monitors are off but where a name says otherwise, as in
// a program that was built to be fast; assertions are on, as always. Time is virtual. Every problem checks its result.
#include <gnu/libc-version.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "asx/asx.hpp"
#include "asx/capi/asx.h"

// By this name callgrind knows when to count.
extern "C" void guard_counted(void (*work)(void*), void* context);
extern "C" [[gnu::noinline]] void guard_counted(void (*work)(void*), void* context) {
  work(context);
}

namespace {

using namespace asx;
using number = std::uint64_t;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "guard: this should hold: %s\n", what);
  std::exit(1);
}

template <class Work>
void count(Work work) {
  // Through a pointer that may change: a compiler that sees the call could make a copy by another name for it.
  static void (*volatile enter)(void (*)(void*), void*) = &guard_counted;
  enter([](void* context) { (*static_cast<Work*>(context))(); }, &work);
}

/// Once to warm up, once counted.
template <class Work>
void warm_and_count(Work work) {
  work();
  count(work);
}

runtime_config quiet() {
  runtime_config config;
  config.journaling = journal_mode::off;
  config.behaviour.ghosts = ghost_mode::off;
  return config;
}

/// A coroutine from its spawn to its end.
template <class F, class... Args>
void run_and_count(F f, Args... args) {
  runtime rt(quiet());
  warm_and_count([&] {
    auto first = spawn_in(rt.kernel(), rt.root(), {}, f, args...);
    require(first.code == status::ok && rt.run_until_quiescent(UINT64_MAX).ended == status::ok, "the program runs");
    outcome<unit> out;
    require(first.handle.take(out) == status::ok && out.is_ok(), "it ends well");
  });
}

// ---- tasks --------------------------------------------------------------------------------------------------------

task<> yields(cx, number n) {
  for (number i = 0; i < n; ++i) co_await yield();
}
task<> yield_in_turn(cx c, number n) {
  constexpr number tasks = 100;
  for (number i = 0; i < tasks; ++i) co_await start(c, yields, n / tasks);
}

task<> ends(cx) {
  co_return;
}
task<> spawn_in_batches(cx c, number n) {
  constexpr number batch = 1'000;
  for (number i = 0; i < n; ++i) {
    require(spawn(c, ends).code == status::ok, "a task is spawned");
    if (i % batch == batch - 1) co_await yield();  // All of them run before this task's turn.
  }
}
task<> spawn_and_join(cx c, number n) {
  for (number i = 0; i < n; ++i) {
    auto child = co_await start(c, ends);
    require((co_await join(child)).is_ok(), "the child ends well");
  }
}

task<> open_and_close(cx c, number n) {
  for (number i = 0; i < n; ++i) co_await region(c, ends);
}

// ---- channels -----------------------------------------------------------------------------------------------------

task<> produce(cx, sender<number> to, number first, number step, number end) {
  for (number value = first; value < end; value += step) co_await send(to, value);
}
task<> stream(cx c, number producers, number n) {
  auto both = channel<number>(c, 64);
  require(both.code == status::ok, "there is a channel");
  for (number i = 0; i < producers; ++i) co_await start(c, produce, both.tx, i, producers, n);
  both.tx.drop();
  number sum = 0;
  while (auto got = co_await recv(both.rx)) sum += *got;
  require(sum == n * (n - 1) / 2, "every value arrives");
}

task<> answer(cx, sender<number> to, receiver<number> from) {
  while (auto got = co_await recv(from)) co_await send(to, *got + 1);
}
task<> ping_pong(cx c, number n) {
  auto there = channel<number>(c, 1);
  auto back = channel<number>(c, 1);
  require(there.code == status::ok && back.code == status::ok, "there are two channels");
  co_await start(c, answer, std::move(back.tx), std::move(there.rx));
  for (number i = 0; i < n; ++i) {
    co_await send(there.tx, i);
    auto got = co_await recv(back.rx);
    require(got == i + 1, "the successor comes back");
  }
}

void try_both(number n) {
  runtime rt(quiet());
  auto both = channel<number>(rt.kernel(), rt.root(), 64);
  require(both.code == status::ok, "there is a channel");
  warm_and_count([&] {
    for (number i = 0; i < n; ++i) {
      require(both.tx.try_send(i).code == status::ok && both.rx.try_recv().value == i, "a value passes");
    }
  });
}

void try_both_in_c(number n) {
  asx_runtime_config config;
  asx_runtime* rt = nullptr;
  asx_region_handle root;
  asx_channel_sender tx;
  asx_channel_receiver rx;
  require(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE) == ASX_OK, "there is a config");
  config.journaling = ASX_JOURNAL_OFF;
  config.ghosts = ASX_GHOSTS_OFF;
  require(asx_runtime_create(&config, &rt) == ASX_OK && asx_region_root(rt, &root) == ASX_OK, "there is a runtime");
  require(asx_channel_create(rt, root, 64, nullptr, &tx, &rx) == ASX_OK, "there is a channel");
  warm_and_count([&] {
    for (number i = 0; i < n; ++i) {
      void* got = nullptr;
      require(
          asx_channel_try_send(&tx, &config) == ASX_OK && asx_channel_try_recv(&rx, &got) == ASX_OK && got == &config,
          "a value passes");
    }
  });
  require(asx_channel_drop_sender(&tx) == ASX_OK && asx_channel_drop_receiver(&rx) == ASX_OK, "both ends go");
  require(asx_runtime_destroy(rt) == ASX_OK, "the runtime ends");
}

// ---- time ---------------------------------------------------------------------------------------------------------

/// Deadlines of n timers, anywhere in the next hour, and an order to cancel them in: the same at every run.
struct timers {
  explicit timers(number n) : wheel({.capacity = static_cast<std::uint32_t>(n)}), handles(n), ahead(n), order(n) {
    splitmix64 draw(1);
    for (duration& d : ahead) d = duration::milliseconds(1 + draw.next_below(3'600'000));
    for (number i = 0; i < n; ++i) order[i] = i;
    for (number i = n; i > 1; --i) std::swap(order[i - 1], order[draw.next_below(i)]);
  }
  void add_all() {
    for (number i = 0; i < handles.size(); ++i) {
      require(wheel.register_timer(now + ahead[i], {i, 1}, handles[i]) == status::ok, "a timer is registered");
    }
  }
  timer_wheel wheel;
  std::vector<timer_handle> handles;
  std::vector<duration> ahead;
  std::vector<number> order;
  instant now{};
};

void register_and_cancel(number n) {
  timers t(n);
  warm_and_count([&] {
    t.add_all();
    for (const number i : t.order) require(t.wheel.cancel(t.handles[i]), "a timer is cancelled");
  });
}

void expire_in_order(number n) {
  timers t(n);
  const auto expire_all = [&] {
    t.now = t.now + duration::hours(2);
    instant last{};
    number fired = 0;
    expired_timer out[256];
    while (const std::size_t got = t.wheel.collect_expired(t.now, out)) {
      for (const expired_timer& e : std::span(out, got)) {
        require(last <= e.deadline, "timers come in order");
        last = e.deadline;
      }
      fired += got;
    }
    require(fired == n, "every timer fires");
  };
  t.add_all();
  expire_all();
  t.add_all();
  count(expire_all);
}

task<> sleeps(cx, number n) {
  for (number i = 0; i < n; ++i) co_await sleep(duration::milliseconds(1));
}

// ---- cancel -------------------------------------------------------------------------------------------------------

task<> wait_for_slot(cx, sender<number> to) {
  co_await send(to, number{1});
}
task<> wait_for_time(cx) {
  co_await sleep(duration::hours(1));
}
task<> park(cx c, bool on_timer, number n) {
  auto both = channel<number>(c, 1);
  require(both.code == status::ok, "there is a channel");
  auto& to = both.tx;
  co_await send(to, number{0});  // It is full now.
  co_await region(c, [&to, on_timer, n](cx r) -> task<> {
    for (number i = 0; i < n; ++i) {
      require((on_timer ? spawn(r, wait_for_time).code : spawn(r, wait_for_slot, to).code) == status::ok,
              "a task is spawned");
    }
    co_await sleep(duration::hours(1));
  });
}
/// One request: it closes the region that the task awaits, and every task in it ends.
void cancel_parked(bool on_timer, number n) {
  runtime rt(quiet());
  for (const bool is_counted : {false, true}) {
    auto owner = spawn_in(rt.kernel(), rt.root(), {}, park, on_timer, n);
    require(owner.code == status::ok && rt.run_until_idle(UINT64_MAX).ended == status::ok, "all of them wait");
    require(rt.kernel().live_tasks() == n + 2, "none has ended");
    const auto cancel_all = [&] {
      require(owner.handle.cancel() == status::ok && rt.run_until_idle(UINT64_MAX).ended == status::ok, "a cancel");
    };
    is_counted ? count(cancel_all) : cancel_all();
    require(rt.kernel().live_tasks() == 0, "all have ended");
  }
}

// ---- obligations and the journal ----------------------------------------------------------------------------------

void reserve_and_commit(number n) {
  runtime rt(quiet());
  warm_and_count([&] {
    for (number i = 0; i < n; ++i) {
      obligation_handle promised;
      require(rt.kernel().reserve(rt.root(), promised) == status::ok && rt.kernel().commit(promised) == status::ok,
              "a promise is kept");
    }
  });
}

void append_events(journal_mode mode, number n) {
  journal log;
  require(log.open(heap_memory(), {.mode = mode, .capacity = 4'096}) == status::ok, "there is a journal");
  warm_and_count([&] {
    number cause = 0;
    for (number i = 0; i < n; ++i) {
      cause = log.append(event_kind::task_woken, {.time_ns = i, .subject = i & 1'023, .a = 2, .b = i, .cause = cause});
    }
    require(cause == log.seq(), "every event has a number");
  });
}

// ---- all of them --------------------------------------------------------------------------------------------------

struct problem {
  const char* name;
  number operations;
  const char* operation;
  void (*run)(number n);
};
constexpr problem problems[] = {
    {"yield", 20'000, "a task gives way and runs again", [](number n) { run_and_count(yields, n); }},
    {"yield_in_turn", 50'000, "the same among 100 tasks", [](number n) { run_and_count(yield_in_turn, n); }},
    {"spawn_batch", 10'000, "a task is spawned and ends, 1,000 at a time",
     [](number n) { run_and_count(spawn_in_batches, n); }},
    {"spawn_join", 10'000, "a task is spawned, awaited and ends", [](number n) { run_and_count(spawn_and_join, n); }},
    {"region", 5'000, "a region block is opened, its body ends, it closes",
     [](number n) { run_and_count(open_and_close, n); }},
    {"channel_1x64", 20'000, "a message from one sender, capacity 64",
     [](number n) { run_and_count(stream, number{1}, n); }},
    {"channel_4x64", 20'000, "a message from one of four senders, capacity 64",
     [](number n) { run_and_count(stream, number{4}, n); }},
    {"ping_pong", 10'000, "a message and its answer, capacity 1", [](number n) { run_and_count(ping_pong, n); }},
    {"try_send_recv", 20'000, "try_send and try_recv", &try_both},
    {"c_try_send_recv", 20'000, "the same through the C interface", &try_both_in_c},
    {"timer_cancel", 10'000, "a timer is registered and cancelled, 10,000 at a time", &register_and_cancel},
    {"timer_expiry", 10'000, "a timer fires in its order, 10,000 at a time", &expire_in_order},
    {"sleep", 10'000, "a task sleeps and wakes", [](number n) { run_and_count(sleeps, n); }},
    {"cancel_on_channel", 5'000, "a task that waits for a slot is cancelled and ends",
     [](number n) { cancel_parked(false, n); }},
    {"cancel_on_timer", 5'000, "a task that sleeps is cancelled and ends", [](number n) { cancel_parked(true, n); }},
    {"obligation", 20'000, "an obligation is reserved and committed", &reserve_and_commit},
    {"journal_digest", 20'000, "an event is digested", [](number n) { append_events(journal_mode::digest_only, n); }},
    {"journal_full", 20'000, "an event is digested and kept", [](number n) { append_events(journal_mode::full, n); }},
};

void tell() {
#if defined(__clang__)
  std::printf("{\"compiler\": \"Clang %d.%d.%d\"", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  std::printf("{\"compiler\": \"GCC %d.%d.%d\"", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
#if defined(__x86_64__)
  const char* const machine = "x86-64";
#else
  const char* const machine = "another machine";
#endif
#if defined(NDEBUG) && defined(__OPTIMIZE__)
  const char* const build = "optimised";
#else
  const char* const build = "for development";
#endif
  std::printf(", \"machine\": \"%s\", \"c_library\": \"glibc %s\", \"build\": \"%s\", \"problems\": [", machine,
              gnu_get_libc_version(), build);
  const char* comma = "";
  for (const problem& p : problems) {
    std::printf("%s\n  {\"name\": \"%s\", \"operations\": %llu, \"operation\": \"%s\"}", comma, p.name,
                static_cast<unsigned long long>(p.operations), p.operation);
    comma = ",";
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    tell();
    return 0;
  }
  for (const problem& p : problems) {
    if (std::strcmp(p.name, argv[1]) != 0) continue;
    const number n = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : p.operations;
    require(n > 0, "the count is a number above 0");
    p.run(n);
    return 0;
  }
  std::fprintf(stderr, "guard: no problem is called '%s'; without arguments it lists them\n", argv[1]);
  return 2;
}
