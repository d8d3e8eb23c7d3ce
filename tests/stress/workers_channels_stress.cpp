// Channels and their neighbours between workers: each value arrives once, comes back to its sender, or is destroyed
// where the laws say so; nobody jumps a queue, and nobody waits for ever. ASX_STRESS_ROUNDS makes it longer.
#include "tests/stress/workers.hpp"

#include <array>
#include <optional>
#include <variant>
#include <vector>

namespace asx::stress {
namespace {

// ---- channels -------------------------------------------------------------------------------------------------------

task<> sends(cx, sender<std::uint64_t> to, std::uint64_t first, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_await send(to, first + i);
}

// The receiver goes on in another task every few messages, and its senders in others still.
task<> receives(cx c, receiver<std::uint64_t> from, std::array<std::uint64_t, 4>* next, counter* got) {
  for (int i = 0; i < 7; ++i) {
    const auto m = co_await recv(from);
    if (!m) co_return;
    EXPECT_EQ(*m & UINT32_MAX, (*next)[*m >> 32]) << "out of its sender's order";
    ++(*next)[*m >> 32];
    got->fetch_add(1, std::memory_order_relaxed);
  }
  co_await start(c, receives, moved(from), next, got);
}
task<> sends_on(cx c, sender<std::uint64_t> to, std::uint64_t first, std::uint64_t n) {
  const std::uint64_t now = n < 5 ? n : 5;
  for (std::uint64_t i = 0; i < now; ++i) co_await send(to, first + i);
  if (n > now) co_await start(c, sends_on, moved(to), first + now, n - now);
}

TEST(workers_channels_stress, messages_come_once_and_in_order_while_both_ends_move) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    std::array<std::uint64_t, 4> next{};
    counter got{0};
    auto* const n = &next;
    auto* const g = &got;
    const auto capacity = static_cast<std::uint32_t>(1 + round % 5);
    co_await region(c, [n, g, capacity](cx r) -> task<> {
      auto [code, tx, rx] = channel<std::uint64_t>(r, capacity);
      EXPECT_EQ(code, status::ok);
      for (std::uint64_t s = 0; s < 4; ++s) co_await start(r, sends_on, tx, s << 32, std::uint64_t{40});
      tx.drop();
      co_await start(r, receives, moved(rx), n, g);
    });
    EXPECT_EQ(got.load(), 160U);
    for (const std::uint64_t each : next) EXPECT_EQ(each, 40U);
  });
}

// ---- lists ----------------------------------------------------------------------------------------------------------

task<> sends_lists(cx, sender<std::uint64_t> to, std::uint64_t first, std::uint64_t n) {
  std::vector<std::uint64_t> list;
  for (std::uint64_t i = 0; i < n;) {
    list.clear();
    for (std::uint64_t most = 1 + i % 9; i < n && list.size() < most; ++i) list.push_back(first + i);
    co_await send_many(to, list);
  }
}
task<> receives_lists(cx c, receiver<std::uint64_t> from, std::array<std::uint64_t, 4>* next, counter* got) {
  std::vector<std::uint64_t> list;
  for (std::size_t most = 1; most < 8; ++most) {
    list.clear();
    if (co_await recv_many(from, list, most) == 0) co_return;
    EXPECT_LE(list.size(), most);
    for (const std::uint64_t m : list) {
      EXPECT_EQ(m & UINT32_MAX, (*next)[m >> 32]) << "out of its sender's order";
      ++(*next)[m >> 32];
      got->fetch_add(1, std::memory_order_relaxed);
    }
  }
  co_await start(c, receives_lists, moved(from), next, got);
}

// beside senders of single messages, which nobody passes.
TEST(workers_channels_stress, lists_come_whole_and_in_order_beside_single_messages) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    std::array<std::uint64_t, 4> next{};
    counter got{0};
    auto* const n = &next;
    auto* const g = &got;
    const auto capacity = static_cast<std::uint32_t>(1 + round % 7);
    co_await region(c, [n, g, capacity](cx r) -> task<> {
      auto [code, tx, rx] = channel<std::uint64_t>(r, capacity);
      EXPECT_EQ(code, status::ok);
      for (std::uint64_t s = 0; s < 3; ++s) co_await start(r, sends_lists, tx, s << 32, std::uint64_t{60});
      co_await start(r, sends, tx, std::uint64_t{3} << 32, std::uint64_t{60});
      tx.drop();
      co_await start(r, receives_lists, moved(rx), n, g);
    });
    EXPECT_EQ(got.load(), 240U);
    for (const std::uint64_t each : next) EXPECT_EQ(each, 60U);
  });
}

// Senders are cancelled in the middle of their lists: what came is what was told to be sent.
TEST(workers_channels_stress, a_list_that_is_cancelled_says_how_much_of_it_was_sent) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter told{0};
    counter got{0};
    auto* const t = &told;
    auto* const g = &got;
    co_await region(c, {.policy = region_policy::body_decides}, [t, g, round](cx r) -> task<> {
      auto [code, tx, rx] = channel<std::uint64_t>(r, 3);
      EXPECT_EQ(code, status::ok);
      co_await start(
          r,
          [](cx, receiver<std::uint64_t> from, counter* received) -> task<> {
            std::vector<std::uint64_t> list;
            while (const std::size_t more = co_await recv_many(from, list, 5)) {
              received->fetch_add(more, std::memory_order_relaxed);
              list.clear();
            }
          },
          moved(rx), g);
      std::vector<join_handle<void>> all;
      for (int i = 0; i < 4; ++i) {
        all.push_back(co_await start(
            r,
            [](cx, sender<std::uint64_t> to, counter* sent) -> task<> {
              std::vector<std::uint64_t> list(30);
              const sent_many answer = co_await attempt(send_many(to, list));
              sent->fetch_add(answer.sent, std::memory_order_relaxed);
            },
            tx, t));
      }
      tx.drop();
      for (auto& one : all) {
        for (std::uint64_t i = 0; i < round % 4; ++i) co_await yield();
        static_cast<void>(one.cancel());
      }
      for (auto& one : all) static_cast<void>(co_await attempt(join(one)));
    });
    EXPECT_EQ(got.load(), told.load());
  });
}

// messages wait in the queue and are taken from there by whoever receives, while their senders are cancelled.
TEST(workers_channels_stress, a_message_that_waits_is_sent_or_comes_back_when_its_sender_is_cancelled) {
  play_rounds(24, [](cx c, std::uint64_t round) -> task<> {
    struct counts {
      counter alive{0};
      counter made{0};
      counter told{0};
      counter kept{0};
      counter got{0};
      std::array<std::uint64_t, 4> next{};  // Of the receiver.
    } all;
    auto* const n = &all;
    co_await region(c, {.policy = region_policy::body_decides}, [n, round](cx r) -> task<> {
      auto [code, tx, rx] = channel<token>(r, static_cast<std::uint32_t>(1 + round % 3));
      EXPECT_EQ(code, status::ok);
      co_await start(
          r,
          [](cx, receiver<token> from, counts* of) -> task<> {
            while (const auto m = co_await recv(from)) {
              EXPECT_TRUE(m->is_there());
              EXPECT_EQ(m->number() & UINT32_MAX, of->next[m->number() >> 32]++) << "out of its sender's order";
              if (of->got.fetch_add(1, std::memory_order_relaxed) % 5 == 0) co_await yield();
            }
          },
          moved(rx), n);
      std::vector<join_handle<void>> senders;
      for (std::uint64_t s = 0; s < 4; ++s) {
        senders.push_back(co_await start(
            r,
            [](cx, sender<token> to, counts* of, std::uint64_t first) -> task<> {
              for (std::uint64_t i = 0; i < 40; ++i) {
                of->made.fetch_add(1, std::memory_order_relaxed);
                const auto how = co_await attempt(send(to, token(first + i, &of->alive)));
                (how.code == status::ok ? of->told : of->kept).fetch_add(1, std::memory_order_relaxed);
                EXPECT_EQ(how.value.has_value(), how.code != status::ok);
                if (how.code != status::ok) co_return;
              }
            },
            tx, n, s << 32));
      }
      tx.drop();
      for (auto& one : senders) {
        for (std::uint64_t i = 0; i < 5 + round % 7; ++i) co_await yield();
        static_cast<void>(one.cancel());
      }
      for (auto& one : senders) static_cast<void>(co_await attempt(join(one)));
    });
    EXPECT_EQ(all.got.load(), all.told.load()) << "what was said to be sent was received";
    EXPECT_EQ(all.made.load(), all.told.load() + all.kept.load());
    EXPECT_EQ(all.alive.load(), 0U);
  });
}

TEST(workers_channels_stress, what_is_evicted_and_what_is_received_is_all_there_was) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter alive{0};
    counter evicted{0};
    counter received{0};
    auto* const a = &alive;
    auto* const e = &evicted;
    auto* const g = &received;
    co_await region(c, [a, e, g](cx r) -> task<> {
      auto [code, tx, rx] = channel<token>(r, 3);
      EXPECT_EQ(code, status::ok);
      for (std::uint64_t s = 0; s < 3; ++s) {
        co_await start(
            r,
            [](cx, sender<token> to, counter* all, counter* out, std::uint64_t first) -> task<> {
              for (std::uint64_t i = 0; i < 60; ++i) {
                auto sent = to.send_evict_oldest(token(first + i, all));
                EXPECT_EQ(sent.code, status::ok);
                if (sent.evicted) out->fetch_add(1, std::memory_order_relaxed);
                if (i % 4 == 0) co_await yield();
              }
            },
            tx, a, e, s << 32);
      }
      tx.drop();
      auto& from = rx;
      std::array<std::uint64_t, 3> last{};
      while (const auto m = co_await recv(from)) {
        const std::size_t s = m->number() >> 32;
        EXPECT_TRUE(m->is_there());
        EXPECT_GT((m->number() & UINT32_MAX) + 1, last[s]) << "out of its sender's order";
        last[s] = (m->number() & UINT32_MAX) + 1;
        g->fetch_add(1, std::memory_order_relaxed);
        if (g->load(std::memory_order_relaxed) % 3 == 0) co_await yield();
      }
    });
    EXPECT_EQ(received.load() + evicted.load(), 180U);
    EXPECT_EQ(alive.load(), 0U);
  });
}

TEST(workers_channels_stress, permits_that_are_sent_aborted_and_dropped_give_every_slot_back) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter sent{0};
    counter received{0};
    auto* const s = &sent;
    auto* const g = &received;
    auto [code, tx, rx] = channel<std::uint64_t>(c, 2);
    EXPECT_EQ(code, status::ok);
    auto& to = tx;
    auto& from = rx;
    std::vector<join_handle<void>> all;
    for (std::uint64_t i = 0; i < 8; ++i) {
      all.push_back(co_await start(
          c,
          [](cx, sender<std::uint64_t> out, counter* of, std::uint64_t n) -> task<> {
            for (std::uint64_t k = 0; k < 12; ++k) {
              auto permit = co_await reserve(out);
              if ((n + k) % 3 == 0) co_await yield();  // A cancel may find it with a permit in hand.
              switch ((n + k) % 4) {
                case 0: permit.abort(); break;
                case 1: break;  // Dropped.
                default: EXPECT_EQ(permit.send(k).code, status::ok); of->fetch_add(1, std::memory_order_relaxed);
              }
              co_await checkpoint();
            }
          },
          to, s, i));
    }
    auto reader = co_await start(c, [&from, g](cx) -> task<> {
      while (co_await recv(from)) g->fetch_add(1, std::memory_order_relaxed);
    });
    for (std::size_t i = 0; i < all.size(); i += 2 + round % 3) {
      co_await yield();
      static_cast<void>(all[i].cancel());
    }
    for (auto& h : all) static_cast<void>(co_await join(h));
    channel_report report;
    EXPECT_EQ(to.inspect(report), status::ok);
    EXPECT_EQ(report.reserved, 0U);
    to.drop();
    const auto how = co_await join(reader);
    EXPECT_TRUE(how.is_ok());
    EXPECT_EQ(received.load(), sent.load());
  });
}

TEST(workers_channels_stress, tracked_permits_are_sent_aborted_or_given_back_by_the_cancel) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter sent{0};
    counter received{0};
    auto* const s = &sent;
    auto* const g = &received;
    co_await region(c, {.policy = region_policy::body_decides}, [s, g](cx r) -> task<> {
      auto [code, tx, rx] = channel<std::uint64_t>(r, 2);
      EXPECT_EQ(code, status::ok);
      std::vector<join_handle<void>> all;
      for (std::uint64_t i = 0; i < 6; ++i) {
        all.push_back(co_await start(
            r,
            [](cx, sender<std::uint64_t> out, counter* of, std::uint64_t n) -> task<> {
              tracked_sender<std::uint64_t> to(std::move(out));
              for (std::uint64_t k = 0; k < 12; ++k) {
                auto permit = co_await reserve(to);
                if ((n + k) % 3 == 0) co_await sleep(duration::microseconds(5));
                if ((n + k) % 4 == 0) {
                  EXPECT_TRUE(permit.abort().has_value());
                } else {
                  const auto out_of_hand = permit.send(k);
                  EXPECT_EQ(out_of_hand.code, status::ok);
                  EXPECT_TRUE(out_of_hand.proof.has_value());
                  of->fetch_add(1, std::memory_order_relaxed);
                }
              }
            },
            tx, s, i));
      }
      tx.drop();
      auto& from = rx;
      auto reader = co_await start(r, [&from, g](cx) -> task<> {
        while (co_await recv(from)) g->fetch_add(1, std::memory_order_relaxed);
      });
      for (std::size_t i = 0; i < all.size(); i += 2) {
        co_await yield();
        static_cast<void>(all[i].cancel());
      }
      for (auto& h : all) {
        const auto how = co_await join(h);
        EXPECT_TRUE(how.is_ok() || how.is_cancelled()) << "nobody forgot a permit";
      }
      static_cast<void>(co_await join(reader));
    });
    EXPECT_EQ(received.load(), sent.load());
  });
}

TEST(workers_channels_stress, the_last_sender_that_goes_wakes_whoever_waits) {
  play_rounds(20, [](cx c, std::uint64_t round) -> task<> {
    counter ended{0};
    auto* const e = &ended;
    co_await region(c, [e, round](cx r) -> task<> {
      for (std::uint64_t i = 0; i < 8; ++i) {
        auto [code, tx, rx] = channel<std::uint64_t>(r, 1);
        EXPECT_EQ(code, status::ok);
        co_await start(
            r,
            [](cx, receiver<std::uint64_t> from, counter* of) -> task<> {
              std::uint64_t got = 0;
              while (co_await recv(from)) ++got;
              EXPECT_LE(got, 2U);
              of->fetch_add(1, std::memory_order_relaxed);
            },
            moved(rx), e);
        for (std::uint64_t s = 0; s < 2; ++s) {  // Two copies, dropped by two tasks.
          co_await start(
              r,
              [](cx, sender<std::uint64_t> to, std::uint64_t n) -> task<> {
                for (std::uint64_t k = 0; k < n % 4; ++k) co_await yield();
                if (n % 5 == 0) co_await send(to, n);
                to.drop();
                co_await yield();
              },
              tx, round + i + s);
        }
      }
    });
    EXPECT_EQ(ended.load(), 8U);
  });
}

TEST(workers_channels_stress, a_receiver_that_goes_hands_every_value_that_waits_back) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    counter sent{0};
    counter back{0};
    counter received{0};
    auto* const a = &alive;
    auto* const s = &sent;
    auto* const b = &back;
    auto* const g = &received;
    co_await region(c, [a, s, b, g, round](cx r) -> task<> {
      auto [code, tx, rx] = channel<token>(r, 2);
      EXPECT_EQ(code, status::ok);
      for (std::uint64_t i = 0; i < 6; ++i) {
        co_await start(
            r,
            [](cx, sender<token> to, counter* all, counter* ok, counter* returned) -> task<> {
              for (std::uint64_t k = 0; k < 20; ++k) {
                auto out = co_await attempt(send(to, token(k, all)));
                if (out.code == status::ok) {
                  ok->fetch_add(1, std::memory_order_relaxed);
                } else {
                  EXPECT_EQ(out.code, status::disconnected);
                  EXPECT_TRUE(out.value && out.value->is_there());
                  returned->fetch_add(1, std::memory_order_relaxed);
                }
              }
            },
            tx, a, s, b);
      }
      tx.drop();
      auto& from = rx;
      for (std::uint64_t k = 0; k < 10 + round % 20; ++k) {
        const auto m = co_await recv(from);
        if (m) g->fetch_add(1, std::memory_order_relaxed);
      }
      from.drop();
    });
    EXPECT_EQ(sent.load() + back.load(), 120U);
    EXPECT_LE(received.load(), sent.load());
    EXPECT_GE(received.load() + 2, sent.load()) << "what was queued when it went, and no more";
    EXPECT_EQ(alive.load(), 0U);
  });
}

// A receiver that goes between the permit and the message is told of.
TEST(workers_channels_stress, a_send_that_went_on_was_sent) {
  const std::uint64_t most = rounds(150);
  for (const std::uint32_t workers : {2U, 4U}) {
    for (std::uint64_t round = 0; round < most && !HasFailure(); ++round) {
      threaded_runtime rt({.workers = workers, .disturbance = round + 1}, config_of(journal_mode::off, round));
      const hang_guard guard(rt);
      auto [code, tx, rx] = channel<std::uint64_t>(rt->kernel(), rt->root(), 1);
      ASSERT_EQ(code, status::ok);
      counter went{0};
      const auto sending = [&went](cx, sender<std::uint64_t> to) -> task<> {
        for (std::uint64_t i = 0; i < 20; ++i) {
          co_await send(to, i);
          went.fetch_add(1, std::memory_order_relaxed);
        }
      };
      const auto hearing = [](cx, receiver<std::uint64_t> from, std::uint64_t n) -> task<> {
        for (std::uint64_t i = 0; i < n; ++i) static_cast<void>(co_await recv(from));
      };
      const auto one = spawn_in(rt->kernel(), rt->root(), {}, sending, tx);
      const auto other = spawn_in(rt->kernel(), rt->root(), {}, hearing, std::move(rx), round % 8);
      ASSERT_EQ(one.code, status::ok);
      ASSERT_EQ(other.code, status::ok);
      EXPECT_EQ(rt->run_until_quiescent().ended, status::ok);
      channel_report seen;
      EXPECT_EQ(tx.inspect(seen), status::ok);
      EXPECT_EQ(seen.counts.sent, went.load()) << workers << " workers, round " << round;
      tx.drop();
    }
  }
}

// No more than capacity is ever queued or reserved, whoever looks.
TEST(workers_channels_stress, capacity_is_never_exceeded) {
  play_rounds(8, [](cx c, std::uint64_t) -> task<> {
    auto [code, tx, rx] = channel<std::uint64_t>(c, 3);
    EXPECT_EQ(code, status::ok);
    for (std::uint64_t i = 0; i < 4; ++i) co_await start(c, sends, tx, std::uint64_t{0}, std::uint64_t{30});
    for (int i = 0; i < 3; ++i) {
      co_await start(
          c,
          [](cx, sender<std::uint64_t> look) -> task<> {
            for (int k = 0; k < 50; ++k) {
              channel_report report;
              EXPECT_TRUE(look.inspect(report) != status::ok || report.queued + report.reserved <= 3);
              co_await yield();
            }
          },
          tx);
    }
    tx.drop();
    std::uint64_t got = 0;
    auto& from = rx;
    while (co_await recv(from)) ++got;
    EXPECT_EQ(got, 120U);
  });
}

// ---- rendezvous and select ------------------------------------------------------------------------------------------

// A value is with its receiver or still with its sender, whatever else the select waited for.
TEST(workers_channels_stress, a_value_is_handed_over_or_kept_and_never_both) {
  play_rounds(12, [](cx c, std::uint64_t round) -> task<> {
    counter alive{0};
    counter handed{0};
    counter kept{0};
    counter received{0};
    auto* const a = &alive;
    auto* const h = &handed;
    auto* const k = &kept;
    auto* const g = &received;
    co_await region(c, {.policy = region_policy::body_decides}, [a, h, k, g, round](cx r) -> task<> {
      auto [code, tx, rx] = rendezvous<token>(r);
      EXPECT_EQ(code, status::ok);
      notify bell;
      EXPECT_EQ(notify::create(r, bell), status::ok);
      for (std::uint64_t i = 0; i < 4; ++i) {
        co_await start(
            r,
            [](cx, rendezvous_sender<token> to, notify other, counter* all, counter* ok, counter* mine,
               std::uint64_t n) -> task<> {
              for (std::uint64_t m = 0; m < 16; ++m) {
                if ((n + m) % 2 == 0) {
                  const auto got = co_await select(hand_over(to, token(m, all)), wait(other));
                  (got.index() == 0 ? ok : mine)->fetch_add(1, std::memory_order_relaxed);
                } else {
                  const auto got = co_await select(sleep(duration::microseconds(3 * n)), hand_over(to, token(m, all)));
                  (got.index() == 1 ? ok : mine)->fetch_add(1, std::memory_order_relaxed);
                }
              }
            },
            tx, bell, a, h, k, round % 3 + i);
      }
      tx.drop();
      auto ringer = co_await start(
          r,
          [](cx, notify other) -> task<> {
            for (;;) {
              EXPECT_EQ(other.notify_all(), status::ok);
              EXPECT_EQ(other.notify_one(), status::ok);
              co_await sleep(duration::microseconds(5));
            }
          },
          bell);
      auto& from = rx;
      for (;;) {  // The receiver, too, looks away now and then.
        auto got = co_await select(recv(from), sleep(duration::microseconds(20)));
        if (got.index() == 1) continue;
        auto& m = std::get<0>(got);
        if (!m) break;
        EXPECT_TRUE(m->is_there());
        g->fetch_add(1, std::memory_order_relaxed);
      }
      static_cast<void>(ringer.cancel());
    });
    EXPECT_EQ(handed.load() + kept.load(), 64U);
    EXPECT_EQ(received.load(), handed.load());
    EXPECT_EQ(alive.load(), 0U);
  });
}

// The other branch takes a value whose remains are destroyed: nobody may come in between.
TEST(workers_channels_stress, a_value_that_another_branch_outran_is_not_handed_over) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter alive{0};
    counter handed{0};
    counter kept{0};
    counter received{0};
    auto* const a = &alive;
    auto* const h = &handed;
    auto* const k = &kept;
    auto* const g = &received;
    co_await region(c, {.policy = region_policy::body_decides}, [a, h, k, g](cx r) -> task<> {
      auto [code, tx, rx] = rendezvous<token>(r);
      EXPECT_EQ(code, status::ok);
      for (std::uint64_t i = 0; i < 3; ++i) {
        auto [code2, news, old] = channel<token>(r, 2);
        EXPECT_EQ(code2, status::ok);
        co_await start(
            r,
            [](cx, rendezvous_sender<token> to, receiver<token> other, counter* all, counter* ok,
               counter* mine) -> task<> {
              for (std::uint64_t m = 0; m < 30; ++m) {
                const auto got = co_await select(hand_over(to, token(m, all)), recv(other));
                EXPECT_TRUE(got.index() == 0 || std::get<1>(got)->is_there());
                (got.index() == 0 ? ok : mine)->fetch_add(1, std::memory_order_relaxed);
              }
            },
            tx, moved(old), a, h, k);
        co_await start(
            r,
            [](cx, sender<token> to, counter* all) -> task<> {
              for (;;) {
                const auto out = co_await attempt(send(to, token(0, all)));
                if (out.code != status::ok) co_return;
                co_await yield();
              }
            },
            news, a);
      }
      tx.drop();
      auto& from = rx;
      while (const auto m = co_await recv(from)) g->fetch_add(1, std::memory_order_relaxed);
    });
    EXPECT_EQ(handed.load() + kept.load(), 90U);
    EXPECT_EQ(received.load(), handed.load());
    EXPECT_EQ(alive.load(), 0U);
  });
}

TEST(workers_channels_stress, a_select_over_channels_takes_one_and_leaves_the_others) {
  play_rounds(12, [](cx c, std::uint64_t) -> task<> {
    counter alive{0};
    auto* const a = &alive;
    std::array<std::uint64_t, 2> got{};
    auto [code, tx, rx] = channel<token>(c, 1);
    auto [code2, tx2, rx2] = channel<token>(c, 1);
    EXPECT_EQ(code, status::ok);
    EXPECT_EQ(code2, status::ok);
    for (int i = 0; i < 2; ++i) {
      co_await start(
          c,
          [](cx, sender<token> to, counter* all) -> task<> {
            for (std::uint64_t m = 0; m < 40; ++m) co_await send(to, token(m, all));
          },
          i == 0 ? tx : tx2, a);
    }
    tx.drop();
    tx2.drop();
    auto& one = rx;
    auto& other = rx2;
    std::array<bool, 2> is_over{};
    while (!is_over[0] || !is_over[1]) {
      if (is_over[0] || is_over[1]) {
        const std::size_t at = is_over[0] ? 1 : 0;
        const auto m = co_await recv(is_over[0] ? other : one);
        m ? void(++got[at]) : void(is_over[at] = true);
        continue;
      }
      const auto m = co_await select_fair(recv(one), recv(other));
      const std::size_t at = m.index();
      const bool is_there = at == 0 ? std::get<0>(m).has_value() : std::get<1>(m).has_value();
      is_there ? void(++got[at]) : void(is_over[at] = true);
    }
    EXPECT_EQ(got[0], 40U);
    EXPECT_EQ(got[1], 40U);
    EXPECT_EQ(alive.load(), 0U);
  });
}

}  // namespace
}  // namespace asx::stress
