// Operations that are ready take a short way when nobody listens. It must lead where the long one does.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/coro/chan.hpp"
#include "asx/coro/select.hpp"
#include "asx/coro/spawn.hpp"
#include "asx/coro/time.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {
namespace {

// ---- random programs: a world that is journalled and watched, and the same where nobody listens

// A word, and something that must be destroyed.
template <class Message>
Message made_of(std::uint64_t number) {
  if constexpr (std::is_same_v<Message, std::uint64_t>) {
    return number;
  } else {
    return std::make_unique<std::uint64_t>(number);
  }
}
std::uint64_t number_in(std::uint64_t message) {
  return message;
}
std::uint64_t number_in(const std::unique_ptr<std::uint64_t>& message) {
  return *message;
}

template <class Message>
class world {
 public:
  world(std::uint64_t seed, bool is_quiet) : draw_(seed), rt_(config(is_quiet)) {
    ends_ = channel<Message>(rt_.kernel(), rt_.root(), static_cast<std::uint32_t>(1 + draw_.next_below(8)));
    EXPECT_EQ(ends_.code, status::ok);
    const std::uint64_t producers = 1 + draw_.next_below(3);
    for (std::uint64_t p = 0; p < producers; ++p) {
      tasks_.push_back(spawn_in(rt_.kernel(), rt_.root(), {}, produces, this, ends_.tx, p, draw_.next()).handle);
    }
    tasks_.push_back(spawn_in(rt_.kernel(), rt_.root(), {}, consumes, this, std::move(ends_.rx), draw_.next()).handle);
    ends_.tx.drop();
  }
  std::string play() {
    for (int round = 0; round < 12; ++round) {
      static_cast<void>(rt_.run_until_idle(1 + draw_.next_below(20)));
      if (draw_.next_below(8) == 0) {
        const std::uint64_t which = draw_.next_below(tasks_.size());
        say("cancels", which, static_cast<std::uint64_t>(tasks_[which].cancel()));
      }
      if (draw_.next_below(3) == 0) static_cast<void>(rt_.advance(duration::milliseconds(draw_.next_below(3))));
    }
    EXPECT_TRUE(rt_.shutdown().is_quiescent());
    for (auto& t : tasks_) {
      outcome<unit> out;
      say("ends", static_cast<std::uint64_t>(t.take(out)), static_cast<std::uint64_t>(out.kind()));
    }
    const fairness_certificate fair = rt_.certificate();
    say("dispatches", fair.dispatches(), fair.ready_dispatches);
    return std::move(told_);
  }

 private:
  static runtime_config config(bool is_quiet) {
    runtime_config out;
    out.contract.coop_limit = 3;
    if (is_quiet) {
      out.journaling = journal_mode::off;
      out.behaviour.ghosts = ghost_mode::off;
    }
    return out;
  }
  static task<> produces(cx c, world* w, sender<Message> to, std::uint64_t me, std::uint64_t seed) {
    splitmix64 draw(seed);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::uint64_t value = me * 1000 + i;
      w->say("goes to send", value, c.now().ns);
      switch (draw.next_below(7)) {
        case 0: co_await yield(); [[fallthrough]];
        case 1:
        case 2: co_await send(to, made_of<Message>(value)); break;
        case 3: {
          auto permit = co_await reserve(to);
          w->say("sends", permit.number(), static_cast<std::uint64_t>(permit.send(made_of<Message>(value)).code));
          break;
        }
        case 4: {
          auto permit = co_await reserve(to);
          co_await yield();
          if (draw.next_below(2) == 0) permit.abort();
          break;
        }
        case 5: {
          auto op = reserve(to);
          auto permit = co_await std::move(op);
          w->say("sends late", permit.number(), static_cast<std::uint64_t>(permit.send(made_of<Message>(value)).code));
          co_await sleep(duration::milliseconds(1));
          break;
        }
        default: {
          const auto answer = co_await attempt(send(to, made_of<Message>(value)));
          w->say("attempts", static_cast<std::uint64_t>(answer.code), answer.value ? 1 : 0);
        }
      }
    }
  }
  static task<> consumes(cx c, world* w, receiver<Message> from, std::uint64_t seed) {
    splitmix64 draw(seed);
    for (;;) {
      switch (draw.next_below(5)) {
        case 0: co_await yield(); [[fallthrough]];
        case 1:
        case 2: {
          const auto got = co_await recv(from);
          if (!got) co_return;
          w->say("receives", number_in(*got), c.now().ns);
          break;
        }
        case 3: {
          const auto got = co_await select(recv(from), sleep(duration::milliseconds(1)));
          if (got.index() == 0 && !std::get<0>(got)) co_return;
          w->say("selects", got.index(), got.index() == 0 ? number_in(*std::get<0>(got)) : 0);
          break;
        }
        default: {
          const auto got = co_await attempt(recv(from));
          w->say("attempts", static_cast<std::uint64_t>(got.code),
                 got.is_ok() && *got.value ? number_in(**got.value) : 0);
          if (!got.is_ok() || !*got.value) co_return;
        }
      }
    }
  }
  void say(const char* what, std::uint64_t a, std::uint64_t b) {
    told_ += std::string(what) + " " + std::to_string(a) + " " + std::to_string(b) + "\n";
  }

  splitmix64 draw_;
  std::string told_;
  runtime rt_;
  channel_ends<Message> ends_;
  std::vector<join_handle<void>> tasks_;
};

template <class Message>
void expect_the_same_story() {
  ASSERT_FALSE(may_have_gates()) << "among threads there are no short ways";
  std::uint64_t received = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string loud = world<Message>(seed, false).play();
    ASSERT_EQ(loud, world<Message>(seed, true).play()) << "seed " << seed;
    for (std::size_t at = loud.find("receives"); at != std::string::npos; at = loud.find("receives", at + 1)) {
      ++received;
    }
  }
  EXPECT_GT(received, 2000U) << "the programs do something";
}

// Goal:   whoever receives, in which order, at which dispatch, and how everybody ends does not depend on who listens.
// Method: random programs of senders and a receiver with cancels and a small coop_limit, told and quiet.
TEST(coro_prompt, tells_the_same_story_whether_anybody_listens_or_not) {
  expect_the_same_story<std::uint64_t>();
}
TEST(coro_prompt, tells_the_same_story_of_what_must_be_destroyed) {
  expect_the_same_story<std::unique_ptr<std::uint64_t>>();
}

// ---- what recv gives

template <class T>
received<T> with(T value) {
  return received<T>(std::in_place, std::move(value));
}

TEST(coro_received, is_compared_as_the_optional_that_it_is) {
  const std::optional<int> none;
  const std::optional<int> three = 3;
  EXPECT_TRUE(received<int>() == none);
  EXPECT_TRUE(none == received<int>()) << "two that are empty are equal, whichever comes first";
  EXPECT_TRUE(received<int>() == received<int>());
  EXPECT_TRUE(received<int>() == std::nullopt);
  EXPECT_TRUE(with(3) == three && three == with(3) && with(3) == with(3));
  EXPECT_TRUE(with(3) == 3 && 3 == with(3) && with(3) != 4 && with(3) != none && none != with(3));
  EXPECT_TRUE(received<int>() != 0 && received<int>() != three);
}

TEST(coro_received, becomes_an_optional_and_can_be_given_on) {
  std::optional<int> plain = with(3);
  EXPECT_EQ(plain, 3);
  plain = received<int>();
  EXPECT_FALSE(plain.has_value());
  auto again = with(4);
  again = with(5);
  EXPECT_EQ(again.value_or(0), 5);
  static_assert(std::is_copy_constructible_v<received<int>> &&
                !std::is_copy_constructible_v<received<std::unique_ptr<int>>>);
  const auto copy = again;
  EXPECT_EQ(copy, 5);
  again = std::nullopt;
  EXPECT_FALSE(again.has_value());
  again = plain;
  again = {};
  EXPECT_FALSE((plain ? again : received<int>(std::nullopt)).has_value());
  auto owner = with(std::make_unique<int>(6));
  const auto taken = std::move(owner);
  EXPECT_EQ(**taken, 6);
}

TEST(coro_received, leaves_a_truth_value_in_a_plain_optional) {
  static_assert(std::is_same_v<detail::received_of<bool>, std::optional<bool>>);
  static_assert(std::is_same_v<detail::received_of<int>, received<int>>);
  runtime rt;
  auto [code, tx, rx] = channel<bool>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  ASSERT_EQ(tx.try_send(false).code, status::ok);
  auto made = spawn_in(
      rt.kernel(), rt.root(), {},
      [](cx, receiver<bool> from) -> task<std::optional<bool>> { co_return co_await recv(from); }, std::move(rx));
  rt.run_until_idle();
  outcome<std::optional<bool>> out;
  ASSERT_EQ(made.handle.take(out), status::ok);
  EXPECT_EQ(out.value(), std::optional<bool>(false));
  made.handle.drop();
}

// ---- what the short way must not do

runtime_config unheard() {
  runtime_config config;
  config.journaling = journal_mode::off;
  config.behaviour.ghosts = ghost_mode::off;
  return config;
}

// A message whose first move uses the channel that it is sent through: the one to the permit. The move from there into
// the channel must not.
struct meddler {
  explicit meddler(int n) : number(std::make_unique<int>(n)) {}
  meddler(meddler&& other) noexcept {
    if (auto* const tx = std::exchange(through, nullptr)) answer = tx->try_send(meddler(100)).code;
    number = std::move(other.number);
  }
  std::unique_ptr<int> number;
  static inline sender<meddler>* through = nullptr;
  static inline status answer = status::ok;
};

TEST(coro_prompt, a_move_on_the_way_to_a_permit_may_use_its_channel_and_finds_a_slot_taken) {
  for (const std::uint32_t capacity : {1U, 3U}) {
    runtime rt(unheard());
    auto [code, tx, rx] = channel<meddler>(rt.kernel(), rt.root(), capacity);
    ASSERT_EQ(code, status::ok);
    auto made = spawn_in(
        rt.kernel(), rt.root(), {},
        [](cx, sender<meddler> to) -> task<> {
          auto first = send(to, meddler(1));
          meddler::through = &to;
          co_await std::move(first);
        },
        std::move(tx));
    rt.run_until_idle();
    EXPECT_EQ(meddler::answer, capacity == 1 ? status::full : status::ok);
    std::vector<int> got;
    while (true) {  // asx: bounded by the channel
      const auto next = rx.try_recv();
      if (next.code != status::ok) break;
      ASSERT_NE(next.value->number, nullptr) << "a slot in which nothing was made";
      got.push_back(*next.value->number);
    }
    EXPECT_EQ(got, capacity == 1 ? std::vector<int>{1} : (std::vector<int>{100, 1}));
    made.handle.drop();
  }
}

// Asks another operation once, and lets it be.
template <class Op>
struct peek {
  Op* at;
  bool has_asked = false;
  status poll(cx& c) noexcept { return std::exchange(has_asked, true) ? status::ok : at->poll(c); }
  void take() noexcept {}
};
using named_recv = decltype(recv(std::declval<receiver<int>&>()));

TEST(coro_prompt, what_waited_before_it_was_ready_lets_go_of_its_wait) {
  runtime rt(unheard());
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 1);
  ASSERT_EQ(code, status::ok);
  std::optional<named_recv> named;
  std::vector<int> got;
  const auto consume = [](cx, receiver<int> from, std::optional<named_recv>* op, std::vector<int>* out) -> task<> {
    op->emplace(recv(from));
    co_await peek<named_recv>{&**op};
    if (const auto first = co_await std::move(**op)) out->push_back(*first);
    if (const auto second = co_await recv(from)) out->push_back(*second);
  };
  auto made = spawn_in(rt.kernel(), rt.root(), {}, consume, std::move(rx), &named, &got);
  rt.run_until_idle();  // It waits; and is woken by
  ASSERT_EQ(tx.try_send(1).code, status::ok);
  rt.run_until_idle();
  ASSERT_EQ(got, std::vector<int>{1});
  named.reset();  // While the next one waits.
  ASSERT_EQ(tx.try_send(2).code, status::ok);
  rt.run_until_idle();
  EXPECT_EQ(got, (std::vector<int>{1, 2})) << "its wait went with the one before";
  made.handle.drop();
}

using named_send = decltype(send(std::declval<sender<int>&>(), 0));

TEST(coro_prompt, what_has_a_permit_already_sends_by_that_one) {
  runtime rt(unheard());
  auto [code, tx, rx] = channel<int>(rt.kernel(), rt.root(), 4);
  ASSERT_EQ(code, status::ok);
  std::optional<named_send> named;
  channel_report seen{};
  const auto produce = [](cx, sender<int> to, std::optional<named_send>* op, channel_report* out) -> task<> {
    op->emplace(send(to, 7));
    co_await peek<named_send>{&**op};
    co_await std::move(**op);
    EXPECT_EQ(to.inspect(*out), status::ok);
  };
  auto made = spawn_in(rt.kernel(), rt.root(), {}, produce, std::move(tx), &named, &seen);
  rt.run_until_idle();
  EXPECT_EQ(seen.reserved, 0U) << "a permit is kept that nobody will send";
  EXPECT_EQ(seen.queued, 1U);
  made.handle.drop();
}

}  // namespace
}  // namespace asx
