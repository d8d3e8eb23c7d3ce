// Values that end, between workers: no lock is held while their destructors run. Each destructor here waits for
// a thread that calls into the same runtime, and tells when that did not come back. ASX_STRESS_ROUNDS makes it longer.
#include "tests/stress/workers.hpp"

#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace asx::stress {
namespace {

// A thread that calls into the runtime whenever it is asked to.
class bystander {
 public:
  bystander() : thread_([this] { serve(); }) {}
  ~bystander() {
    {
      const std::lock_guard lock(door_);
      is_over_ = true;
    }
    bell_.notify_all();
    thread_.join();
  }
  bystander(const bystander&) = delete;
  bystander& operator=(const bystander&) = delete;

  /// What it does from now on; nobody asks meanwhile.
  void will(std::function<void()> call) { call_ = std::move(call); }
  void will_look_at(kernel& k) {
    will([&k] {
      const inside here(k);
      EXPECT_LE(k.live_tasks(), 64U);
    });
  }
  /// True when the call came back. A lock that whoever asks holds keeps it for ever: the time is a watchdog's.
  /// What it ends itself it does not ask itself for.
  bool ask() {
    if (std::this_thread::get_id() == thread_.get_id()) return true;
    std::unique_lock lock(door_);
    const std::uint64_t mine = ++asked_;
    bell_.notify_all();
    const bool has_come_back =
        bell_.wait_for(lock, std::chrono::seconds(30) * rounds(1), [&] { return served_ >= mine; });
    answered_ += has_come_back ? 1 : 0;
    return has_come_back;
  }
  [[nodiscard]] std::uint64_t answered() {
    const std::lock_guard lock(door_);
    return answered_;
  }

 private:
  void serve() {
    std::unique_lock lock(door_);
    for (;;) {
      bell_.wait(lock, [this] { return is_over_ || served_ < asked_; });
      if (served_ == asked_) return;
      const std::uint64_t upto = asked_;
      lock.unlock();
      call_();
      lock.lock();
      served_ = upto;
      bell_.notify_all();
    }
  }

  std::mutex door_;
  std::condition_variable bell_;
  std::function<void()> call_;
  std::uint64_t asked_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t answered_ = 0;
  bool is_over_ = false;
  std::thread thread_;
};

// Its end is over when the bystander has called. A copy is silent, and so is what it was moved from.
class slow_to_go {
 public:
  slow_to_go() noexcept = default;
  explicit slow_to_go(bystander& by) noexcept : by_(&by) {}
  slow_to_go(const slow_to_go&) noexcept {}
  slow_to_go(slow_to_go&& other) noexcept : by_(std::exchange(other.by_, nullptr)) {}
  slow_to_go& operator=(const slow_to_go&) noexcept {
    const slow_to_go old(std::move(*this));
    return *this;
  }
  slow_to_go& operator=(slow_to_go&& other) noexcept {
    const slow_to_go old(std::move(*this));
    by_ = std::exchange(other.by_, nullptr);
    return *this;
  }
  ~slow_to_go() {
    if (by_ == nullptr) return;
    EXPECT_TRUE(by_->ask()) << "a lock is held while a destructor runs";
  }

 private:
  bystander* by_ = nullptr;
};
static_assert(ends_outside<slow_to_go>);

// `f(runtime, bystander)` by 1, 2 and 4 workers. The bystander looks at the kernel unless it is told something else.
template <class F>
void among_workers(F f) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    for (std::uint64_t round = 0; round < rounds(4) && !::testing::Test::HasFailure(); ++round) {
      bystander other;
      threaded_runtime rt(crew_of(workers, round), config_of(journal_mode::off, round));
      other.will_look_at(rt->kernel());
      f(rt, other);
      ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
      expect_end(rt, "values");
    }
  }
}

// ---- values that make way for others --------------------------------------------------------------------------------

TEST(workers_values_stress, the_old_value_of_a_watch_ends_while_others_send) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    auto [code, tx, rx] = watch<slow_to_go>(rt->kernel(), rt->root(), slow_to_go(other));
    ASSERT_EQ(code, status::ok);
    auto theirs = tx;
    auto* const t = &theirs;
    other.will(
        [t] { EXPECT_EQ(t->send(slow_to_go()).code, status::ok) << "reentrant is for the thread that ends it"; });
    for (int i = 0; i < 8; ++i) EXPECT_EQ(tx.send(slow_to_go(other)).code, status::ok);
    EXPECT_EQ(other.answered(), 4U) << "every second one was ended by the bystander, whose value nobody asks for";
    EXPECT_EQ(tx.version(), 12U);
    other.will_look_at(rt->kernel());
  });
}

TEST(workers_values_stress, what_a_copy_of_the_latest_value_replaces_ends_outside) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    auto [code, tx, rx] = watch<slow_to_go>(rt->kernel(), rt->root(), slow_to_go());
    ASSERT_EQ(code, status::ok);
    slow_to_go mine(other);
    EXPECT_EQ(rx.latest(mine), status::ok);
    EXPECT_EQ(other.answered(), 1U);
  });
}

TEST(workers_values_stress, an_overwritten_value_of_a_broadcast_ends_while_others_send) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    auto [code, tx, rx] = broadcast<slow_to_go>(rt->kernel(), rt->root(), 2);
    ASSERT_EQ(code, status::ok);
    auto theirs = tx;
    auto* const t = &theirs;
    other.will([t] { EXPECT_EQ(t->send(slow_to_go()).code, status::ok); });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tx.send(slow_to_go(other)).code, status::ok);
    broadcast_report r;
    ASSERT_EQ(tx.inspect(r), status::ok);
    EXPECT_GE(other.answered(), 1U);
    EXPECT_EQ(r.counts.sent, r.counts.overwritten + r.counts.discarded + r.kept);
    other.will_look_at(rt->kernel());
  });
}

// R-252 among threads: whoever ends a value is still refused, and gets its own back.
TEST(workers_values_stress, a_send_from_the_destructor_of_the_value_that_leaves_is_refused_as_on_one_thread) {
  struct insists {
    std::function<void()>* at_end = nullptr;
    insists() = default;
    explicit insists(std::function<void()>& call) : at_end(&call) {}
    insists(const insists&) noexcept {}
    insists(insists&& other) noexcept : at_end(std::exchange(other.at_end, nullptr)) {}
    insists& operator=(const insists&) = delete;
    insists& operator=(insists&&) = delete;
    ~insists() {
      if (at_end != nullptr) (*at_end)();
    }
  };
  among_workers([](threaded_runtime& rt, bystander&) {
    auto [code, tx, rx] = watch<insists>(rt->kernel(), rt->root(), insists());
    auto [code_too, all, one] = broadcast<insists>(rt->kernel(), rt->root(), 1);
    ASSERT_EQ(code, status::ok);
    ASSERT_EQ(code_too, status::ok);
    int calls = 0;
    auto* const w = &tx;
    auto* const b = &all;
    std::function<void()> again = [&calls, w] {
      ++calls;
      EXPECT_EQ(w->send(insists()).code, status::reentrant);
    };
    EXPECT_EQ(tx.send(insists(again)).code, status::ok);
    EXPECT_EQ(tx.send(insists()).code, status::ok);
    EXPECT_EQ(calls, 1);
    std::function<void()> louder = [&calls, b] {
      ++calls;
      EXPECT_EQ(b->send(insists()).code, status::reentrant);
    };
    EXPECT_EQ(all.send(insists(louder)).code, status::ok);
    EXPECT_EQ(all.send(insists()).code, status::ok);
    EXPECT_EQ(calls, 2);
    std::function<void()> drops = [&calls, w] {
      ++calls;
      w->drop();
    };
    EXPECT_EQ(tx.send(insists(drops)).code, status::ok);
    EXPECT_EQ(tx.send(insists()).code, status::ok);
    EXPECT_EQ(calls, 3);
    EXPECT_FALSE(tx.is_live()) << "a destructor may drop the end that was sent by";
  });
}

// ---- values that go with their object -------------------------------------------------------------------------------

TEST(workers_values_stress, what_the_last_receiver_leaves_behind_ends_outside) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    auto [code, tx, rx] = channel<slow_to_go>(rt->kernel(), rt->root(), 3);
    ASSERT_EQ(code, status::ok);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tx.try_send(slow_to_go(other)).code, status::ok);
    rx.drop();
    EXPECT_EQ(other.answered(), 3U);
    auto [code_too, all, one] = broadcast<slow_to_go>(rt->kernel(), rt->root(), 3);
    ASSERT_EQ(code_too, status::ok);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(all.send(slow_to_go(other)).code, status::ok);
    one.drop();
    EXPECT_EQ(other.answered(), 6U);
    broadcast_report r;
    ASSERT_EQ(all.inspect(r), status::ok);
    EXPECT_EQ(r.counts.discarded, 3U);
  });
}

// The places of values that are discarded, and not gone yet, are wanted by a sender with a receiver of its own.
TEST(workers_values_stress, a_broadcast_goes_on_while_what_was_discarded_ends) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    constexpr std::uint64_t capacity = 3;
    auto [code, tx, rx] = broadcast<slow_to_go>(rt->kernel(), rt->root(), capacity);
    ASSERT_EQ(code, status::ok);
    for (std::uint64_t i = 0; i < capacity; ++i) EXPECT_EQ(tx.send(slow_to_go(other)).code, status::ok);
    auto theirs = tx;
    auto* const t = &theirs;
    std::vector<broadcast_receiver<slow_to_go>> listeners;
    auto* const l = &listeners;
    std::uint64_t sent = 0;
    auto* const n = &sent;
    kernel& k = rt->kernel();
    other.will([t, l, n, &k] {
      if (!l->empty()) {
        const inside here(k);
        return;
      }
      l->emplace_back();
      EXPECT_EQ(t->subscribe(l->back()), status::ok);
      // Two places are free: the spare one, and that of the value that is ending now. The others are taken from those
      // that wait for their end.
      for (std::uint64_t i = 0; i < 2 * capacity; ++i, ++*n) EXPECT_EQ(t->send(slow_to_go()).code, status::ok);
      EXPECT_EQ(l->back().backlog(), 2 * capacity);
    });
    rx.drop();
    EXPECT_EQ(other.answered(), 1U) << "the bystander took the others out of its way";
    for (std::uint64_t i = 0; i < 2 * capacity; ++i, ++sent) EXPECT_EQ(tx.send(slow_to_go()).code, status::ok);
    broadcast_report r;
    ASSERT_EQ(tx.inspect(r), status::ok);
    EXPECT_EQ(r.counts.sent, capacity + sent);
    EXPECT_EQ(r.counts.discarded, capacity);
    EXPECT_EQ(r.kept, capacity);
    EXPECT_EQ(r.counts.sent, r.counts.overwritten + r.counts.discarded + r.kept);
    listeners.clear();
  });
}

TEST(workers_values_stress, what_goes_with_the_last_end_ends_outside) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    auto [code, tx, rx] = watch<slow_to_go>(rt->kernel(), rt->root(), slow_to_go(other));
    ASSERT_EQ(code, status::ok);
    tx.drop();
    EXPECT_EQ(other.answered(), 0U) << "it can still be read";
    rx.drop();
    EXPECT_EQ(other.answered(), 1U);
  });
}

TEST(workers_values_stress, what_a_region_takes_down_ends_outside) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    kernel& k = rt->kernel();
    watch_sender<slow_to_go> seen;
    broadcast_sender<slow_to_go> heard;
    sender<slow_to_go> queued;
    mutex<slow_to_go> guarded;
    auto* const b = &other;
    auto* const s = &seen;
    auto* const h = &heard;
    auto* const q = &queued;
    auto* const g = &guarded;
    auto first = spawn_in(k, rt->root(), {}, [b, s, h, q, g](cx c) -> task<> {
      watch_receiver<slow_to_go> looks;
      broadcast_receiver<slow_to_go> listens;
      receiver<slow_to_go> receives;
      auto* const l = &looks;
      auto* const i = &listens;
      auto* const r = &receives;
      co_await region(c, [b, s, h, q, g, l, i, r](cx in) -> task<> {
        auto one = watch<slow_to_go>(in, slow_to_go(*b));
        auto two = broadcast<slow_to_go>(in, 2);
        auto three = channel<slow_to_go>(in, 2);
        EXPECT_EQ(one.code, status::ok);
        for (int n = 0; n < 2; ++n) EXPECT_EQ(two.tx.send(slow_to_go(*b)).code, status::ok);
        for (int n = 0; n < 2; ++n) EXPECT_EQ(three.tx.try_send(slow_to_go(*b)).code, status::ok);
        EXPECT_EQ(mutex<slow_to_go>::create(in, *g, "guarded", *b), status::ok);
        *s = std::move(one.tx);
        *l = std::move(one.rx);
        *h = std::move(two.tx);
        *i = std::move(two.rx);
        *q = std::move(three.tx);
        *r = std::move(three.rx);
        co_return;
      });
      EXPECT_EQ(b->answered(), 6U);
    });
    ASSERT_EQ(first.code, status::ok);
    ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    EXPECT_EQ(seen.send(slow_to_go()).code, status::disconnected);
    EXPECT_EQ(queued.try_send(slow_to_go()).code, status::disconnected);
    first.handle.drop();
  });
}

TEST(workers_values_stress, a_mutex_makes_and_ends_its_value_outside) {
  struct slow_to_come : slow_to_go {
    explicit slow_to_come(bystander& by) : slow_to_go(by) {
      EXPECT_TRUE(by.ask()) << "a lock is held while a constructor runs";
    }
  };
  among_workers([](threaded_runtime& rt, bystander& other) {
    kernel& k = rt->kernel();
    region_handle home;
    ASSERT_EQ(k.create_region(rt->root(), {}, home), status::ok);
    mutex<slow_to_come> m;
    ASSERT_EQ(mutex<slow_to_come>::create(k, home, m, "slow", other), status::ok);
    EXPECT_EQ(other.answered(), 1U);
    mutex_guard<slow_to_come> held;
    ASSERT_EQ(m.try_lock(held), status::ok);
    EXPECT_EQ(k.close(home), status::ok);
    EXPECT_EQ(other.answered(), 1U) << "who holds it keeps the value";
    held.unlock();
    EXPECT_EQ(other.answered(), 2U);
    EXPECT_EQ(m.try_lock(held), status::disconnected);
  });
}

TEST(workers_values_stress, an_offer_that_takes_the_place_of_another_ends_that_ones_value_outside) {
  among_workers([](threaded_runtime& rt, bystander& other) {
    kernel& k = rt->kernel();
    auto* const b = &other;
    auto [code, tx, rx] = rendezvous<slow_to_go>(k, rt->root());
    ASSERT_EQ(code, status::ok);
    auto* const t = &tx;
    auto first = spawn_in(k, rt->root(), {}, [b, t](cx c) -> task<> {
      rendezvous_offer<slow_to_go> one{slow_to_go(*b)};
      rendezvous_offer<slow_to_go> two{slow_to_go()};
      EXPECT_EQ(t->poll_send(c, one), status::would_block);
      EXPECT_EQ(t->poll_send(c, two), status::would_block);
      one = std::move(two);
      EXPECT_EQ(b->answered(), 1U);
      co_return;
    });
    ASSERT_EQ(first.code, status::ok);
    ASSERT_EQ(rt->run_until_quiescent(UINT64_MAX).ended, status::ok);
    first.handle.drop();
    rx.drop();
  });
}

// ---- all at once ----------------------------------------------------------------------------------------------------

TEST(workers_values_stress, values_that_come_and_go_on_every_worker_are_each_destroyed_once) {
  struct heard : token {
    using token::token;
    heard() = default;
    heard(const heard&) noexcept : token() {}  // A copy is nobody's.
    heard(heard&&) noexcept = default;
    heard& operator=(heard&&) noexcept = default;
    ~heard() = default;
  };
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    auto* const a = &alive;
    co_await region(c, [a, round](cx r) -> task<> {
      auto seen = watch<heard>(r, heard(0, a));
      auto told = broadcast<heard>(r, 1 + static_cast<std::uint32_t>(round % 3));
      EXPECT_EQ(seen.code, status::ok);
      EXPECT_EQ(told.code, status::ok);
      for (std::uint64_t n = 0; n < 4; ++n) {
        auto own = seen.tx;
        auto loud = told.tx;
        co_await start(
            r,
            [](cx, watch_sender<heard> w, broadcast_sender<heard> b, counter* of, std::uint64_t me) -> task<> {
              for (std::uint64_t i = 0; i < 24; ++i) {
                EXPECT_EQ(w.send(heard(i, of)).code, status::ok);
                const status s = b.send(heard(i, of)).code;
                EXPECT_TRUE(s == status::ok || s == status::disconnected);
                broadcast_receiver<heard> mine;
                EXPECT_TRUE((i + me) % 3 != 0 || b.subscribe(mine) == status::ok);
                if ((i + me) % 5 == 0) co_await yield();
                if (mine.is_live()) static_cast<void>(mine.try_recv());
              }
            },
            moved(own), moved(loud), a, n);
      }
      if (round % 2 == 0) told.rx.drop();
    });
    EXPECT_EQ(alive.load(), 0U);
  });
}

}  // namespace
}  // namespace asx::stress
