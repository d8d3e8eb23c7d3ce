// An offer that is withdrawn while the receiver takes it, in every interleaving. The laws are those of
// asx/chan/rendezvous.hpp.
#include "asx/chan/rendezvous.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/interleave/expect.hpp"
#include "tests/interleave/kernel_world.hpp"

namespace {

using namespace asx;
using namespace asx::interleave;
using asx::interleave::atomic;

struct meets : kernel_world {
  // Its end takes its time, also when it was moved from.
  struct letter {
    meets* world;
    bool is_whole = true;
    explicit letter(meets& of) : world(&of) {}
    letter(letter&& other) noexcept : world(other.world), is_whole(std::exchange(other.is_whole, false)) {}
    letter& operator=(letter&&) = delete;
    ~letter() {
      unsigned& counted = is_whole ? world->burnt : world->ending;
      ++counted;
      world->fire.fetch_add(1, std::memory_order_relaxed);
      if (!is_whole) --counted;
    }
  };
  atomic<unsigned> fire{0};
  unsigned burnt = 0;
  unsigned ending = 0;  // Shells of letters that were taken out.
  rendezvous_sender<letter> tx;
  rendezvous_receiver<letter> rx;
  std::optional<rendezvous_offer<letter>> offer;
  std::optional<status> received;

  meets() {
    auto made = rendezvous<letter>(k(), rt.root());
    check(made.code == status::ok, "made");
    tx = std::move(made.tx);
    rx = std::move(made.rx);
    offer.emplace(letter(*this));
    burnt = 0;
  }
  void receive() {
    recv_result<letter> r = rx.try_recv();
    check((r.code == status::ok) == r.value.has_value(), "a value, or a reason");
    received = r.code;
  }
  void judge() override {
    offer.reset();
    check(burnt == 1, "the letter has gone, and once");
    tx.drop();
    rx.drop();
  }
};

// The sender asks again and again; once it was taken the offer is its own, and it goes.
struct taken : meets {
  script sends{*this, [this](cx& c) {
                 if (!offer) return poll_result::ready;  // Nobody came for it.
                 static_cast<void>(fire.load());         // Here others may come first.
                 const status s = tx.poll_send(c, *offer);
                 if (s == status::would_block) {
                   if (sends.polls() < 3) c.yield();
                   return poll_result::pending;
                 }
                 check(s == status::ok, "it was taken");
                 check(!offer->has_value(), "R-255: the receiver has it");
                 check(ending == 0, "nobody is at work on what is ours again");
                 offer.reset();
                 return poll_result::ready;
               }};
  taken() { check(sends.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    receive();
  }
  void judge() override {
    check(sends.has_ended() == (received == status::ok), "R-255: a send is over when it was taken");
    if (!sends.has_ended()) {
      check(k().request_cancel(sends.handle) == status::ok, "R-18");
      offer.reset();
    }
    meets::judge();
  }
};

// Whoever offered it takes it back at the same time.
struct withdrawn : meets {
  std::optional<bool> was_mine;
  script sends{*this, [this](cx& c) {
                 if (sends.polls() == 1) {
                   check(tx.poll_send(c, *offer) == status::would_block, "nobody receives yet");
                   c.yield();
                   return poll_result::pending;
                 }
                 static_cast<void>(fire.load());  // Here others may come first.
                 const std::optional<letter> back = offer->take();
                 was_mine = back.has_value();
                 check(ending == 0, "nobody is at work on what is ours again");
                 return poll_result::ready;
               }};
  withdrawn() { check(sends.spawn(rt.root()) == status::ok, "spawned"); }
  void run(unsigned thread) override {
    if (thread == 0) return work(0);
    receive();
  }
  void judge() override {
    check(sends.has_ended() && was_mine, "nobody is lost");
    check(received == status::ok || received == status::empty, "R-67");
    check(*was_mine != (received == status::ok), "one of the two has it");
    meets::judge();
  }
};

TEST(interleave_rendezvous, an_offer_that_was_taken_is_its_owners_again) {
  expect_all_hold<taken>();
}
TEST(interleave_rendezvous, an_offer_is_taken_or_withdrawn) {
  expect_all_hold<withdrawn>();
}

}  // namespace
