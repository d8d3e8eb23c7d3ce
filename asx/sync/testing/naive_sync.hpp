// asx/sync/testing/naive_sync.hpp - semaphores, mutexes and notifies as deques and counters, written from their laws.
//
//     thing  left, total, a queue of waits; a notify: who waits, who was told, whether one is kept
//     hand   units or a guard, the puppet that took them, and the region that owes them
//
// Everything has an index; the world of sync_model_test.cpp does the same to the real ones and compares. Tasks, regions
// and their ends are not modelled: the world says who ended and how.
//
// Cancel points: none. Threads: one owner. Lifetime: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "asx/journal/event_kind.hpp"
#include "asx/model/status.hpp"

namespace asx::testing {

enum class sync_kind : std::uint8_t { semaphore, mutex, notify };

struct naive_sync {
  static constexpr std::size_t none = SIZE_MAX;
  enum class told : std::uint8_t { no, alone, with_all };

  struct thing {
    sync_kind kind = sync_kind::semaphore;
    std::size_t region = 0;
    std::uint64_t total = 0;
    std::uint64_t left = 0;
    std::uint64_t value = 0;  // What a mutex guards.
    bool is_closed = false;
    bool is_orphan = false;   // Its region is gone; units in hand keep it.
    bool is_gone = false;     // And they came back.
    std::size_t gone_at = 0;  // How many things had been made then.
    bool is_kept = false;
    std::deque<std::size_t> queue;  // Waits.
    std::deque<std::size_t> told;   // Of a notify: they know, and did not ask since.
  };
  struct wait {
    std::size_t of = none;  // A thing.
    std::size_t by = none;  // A puppet.
    std::uint64_t wants = 0;
    told how = told::no;  // Told: no more in the queue of its notify, and still at its place.
  };
  struct hand {
    std::size_t of = none;
    std::uint64_t count = 0;
    std::size_t by = none;
    bool owes = false;
  };
  struct puppet {
    std::size_t region = 0;
    bool is_live = false;
    bool is_queued = false;          // Woken, and not polled since.
    bool is_cancelled = false;       // Asked to.
    std::vector<std::size_t> stack;  // Hands, oldest first.
    std::vector<std::size_t> waits;  // Oldest first.
  };
  struct region {
    bool is_open = true;
    bool is_closed = false;
    std::uint64_t reserved = 0;
    std::uint64_t leaked = 0;
  };
  struct told_wake {
    std::size_t who;
    wake_code why;
    friend bool operator==(const told_wake&, const told_wake&) = default;
  };
  struct promises {  // What became of obligations.
    std::uint64_t reserved = 0, committed = 0, aborted = 0, leaked = 0;
    friend bool operator==(const promises&, const promises&) = default;
  };

  std::vector<thing> things;
  std::vector<wait> waits;
  std::vector<hand> hands;
  std::vector<puppet> puppets;
  std::vector<region> regions;
  std::uint64_t max_waiters = UINT64_MAX;
  std::uint64_t max_obligations = UINT64_MAX;
  std::vector<told_wake> wakes;  // Since somebody cleared them, as the next one.
  promises owed;
  std::size_t polled = none;  // Woken meanwhile it is queued when its poll is over, and nobody tells more of it.

  // ---- semaphores and mutexes

  /// `is_cancelled`: the puppet would be told so at a checkpoint.
  status poll_acquire(std::size_t of, std::size_t w, std::size_t by, std::uint64_t n, std::size_t into,
                      bool is_cancelled) {
    if (waits[w].of != of || waits[w].wants != n) leave(w);  // Another number is another request.
    thing& t = things[of];
    const auto refuse = [&](status s) {
      leave(w);
      return s;
    };
    if (is_cancelled) return refuse(status::cancelled);
    if (t.is_gone || t.is_closed) return refuse(status::disconnected);
    if (n == 0 || n > t.total) return refuse(status::invalid_argument);
    const bool is_first = t.queue.empty() || t.queue.front() == w;
    if (is_first && n <= t.left) {
      const bool has_room = !is_owing(by) || reserved() < max_obligations;
      if (!has_room) return refuse(status::resource_exhausted);
      take(of, by, n, into);
      leave(w);
      return status::ok;
    }
    if (waits[w].of != of && t.queue.size() >= max_waiters) return status::resource_exhausted;
    stand(w, of, by);
    waits[w].wants = n;
    return status::would_block;
  }
  status try_acquire(std::size_t of, std::size_t by, std::uint64_t n, std::size_t into) {
    const thing& t = things[of];
    if (t.is_gone || t.is_closed) return status::disconnected;
    if (n == 0 || n > t.total) return status::invalid_argument;
    if (!t.queue.empty() || n > t.left) return status::full;
    if (is_owing(by) && reserved() >= max_obligations) return status::resource_exhausted;
    take(of, by, n, into);
    return status::ok;
  }
  void release(std::size_t h) {
    if (hands[h].of == none) return;
    if (hands[h].owes) settle(hands[h], owed.committed);
    give_back(h);
  }
  void move_hand(std::size_t from, std::size_t to) {
    release(to);
    hands[to] = std::exchange(hands[from], {});
    if (hands[to].by != none) std::ranges::replace(puppets[hands[to].by].stack, from, to);
  }
  status add(std::size_t of, std::uint64_t n) {
    if (things[of].is_gone || things[of].is_closed) return status::disconnected;
    if (n == 0) return status::invalid_argument;
    things[of].total += n;
    things[of].left += n;
    serve(of);
    return status::ok;
  }
  status close(std::size_t of) {
    if (things[of].is_gone) return status::disconnected;
    if (!std::exchange(things[of].is_closed, true)) dismiss(of);
    return status::ok;
  }

  // ---- notifies

  status poll_wait(std::size_t of, std::size_t w, std::size_t by, bool is_cancelled) {
    if (waits[w].of != of) leave(w);
    thing& t = things[of];
    if (is_cancelled) {
      leave(w);
      return status::cancelled;
    }
    if (t.is_gone) return status::disconnected;
    if (waits[w].how != told::no) {
      forget(w);
      return status::ok;
    }
    if (waits[w].of != of) {
      if (std::exchange(t.is_kept, false)) return status::ok;
      if (t.queue.size() >= max_waiters) return status::resource_exhausted;
    }
    stand(w, of, by);
    return status::would_block;
  }
  status notify_one(std::size_t of) {
    if (things[of].is_gone) return status::disconnected;
    pass_on(of);
    return status::ok;
  }
  status notify_all(std::size_t of) {
    if (things[of].is_gone) return status::disconnected;
    while (!things[of].queue.empty()) tell(of, told::with_all);
    return status::ok;
  }

  // ---- waits

  void leave(std::size_t w) {
    const wait was = waits[w];
    if (was.of == none) return;
    forget(w);
    if (things[was.of].kind != sync_kind::notify) {
      serve(was.of);
    } else if (was.how == told::alone) {
      pass_on(was.of);
    }
  }
  void move_wait(std::size_t from, std::size_t to) {
    leave(to);
    waits[to] = std::exchange(waits[from], {});
    if (waits[to].of == none) return;
    std::ranges::replace(things[waits[to].of].queue, from, to);
    std::ranges::replace(things[waits[to].of].told, from, to);
    std::ranges::replace(puppets[waits[to].by].waits, from, to);
  }

  // ---- ends

  /// what it has in hand, newest first.
  void unwind(std::size_t by, bool forgets) {
    const puppet& p = puppets[by];
    while (!p.stack.empty()) {
      const std::size_t h = p.stack.back();
      if (hands[h].owes && !forgets) settle(hands[h], owed.aborted);
      give_back(h);
    }
  }
  /// then what it waits in.
  void end(std::size_t by, bool forgets) {
    const puppet& p = puppets[by];
    puppets[by].is_live = false;
    unwind(by, forgets);
    while (!p.waits.empty()) leave(p.waits.front());
  }
  /// The region finalizes: nobody in it is left.
  void finalize(std::size_t r) {
    region& it = regions[r];
    it.is_closed = true;
    it.leaked += it.reserved;
    owed.leaked += std::exchange(it.reserved, 0);
    for (std::size_t t = 0; t < things.size(); ++t) {
      if (things[t].region != r || std::exchange(things[t].is_orphan, true)) continue;
      things[t].is_closed = true;
      dismiss(t);
      bury(t);
    }
  }

  // ---- looking

  [[nodiscard]] bool is_owing(std::size_t by) const { return by != none && regions[puppets[by].region].is_open; }
  [[nodiscard]] std::uint64_t reserved() const {
    std::uint64_t out = 0;
    for (const region& r : regions) out += r.reserved;
    return out;
  }
  [[nodiscard]] std::uint64_t held(std::size_t of) const {
    std::uint64_t out = 0;
    for (const hand& h : hands) out += h.of == of ? h.count : 0;
    return out;
  }

  void wake(std::size_t who, wake_code why) {
    if (!puppets[who].is_live || std::exchange(puppets[who].is_queued, true) || who == polled) return;
    wakes.push_back({who, why});
  }

 private:
  void take(std::size_t of, std::size_t by, std::uint64_t n, std::size_t into) {
    things[of].left -= n;
    hands[into] = {of, n, by, is_owing(by)};
    if (by != none) puppets[by].stack.push_back(into);
    if (!hands[into].owes) return;
    ++regions[puppets[by].region].reserved;
    ++owed.reserved;
  }
  void settle(hand& h, std::uint64_t& how) {
    --regions[puppets[h.by].region].reserved;
    ++how;
    h.owes = false;
  }
  void give_back(std::size_t h) {
    const hand was = std::exchange(hands[h], {});
    if (was.by != none) std::erase(puppets[was.by].stack, h);
    things[was.of].left += was.count;
    bury(was.of);
    serve(was.of);
  }
  void bury(std::size_t of) {
    thing& t = things[of];
    if (!t.is_orphan || t.is_gone || t.left != t.total) return;
    t.is_gone = true;
    t.gone_at = things.size();
  }
  void serve(std::size_t of) {
    const thing& t = things[of];
    if (t.is_closed || t.queue.empty()) return;
    const wait& first = waits[t.queue.front()];
    if (first.wants <= t.left) wake(first.by, wake_code::sync);
  }
  void pass_on(std::size_t of) {
    if (things[of].is_gone) return;
    if (things[of].queue.empty()) {
      things[of].is_kept = true;
    } else {
      tell(of, told::alone);
    }
  }
  void tell(std::size_t of, told how) {
    const std::size_t w = things[of].queue.front();
    things[of].queue.pop_front();
    things[of].told.push_back(w);
    waits[w].how = how;
    wake(waits[w].by, wake_code::sync);
  }
  /// All who wait are told that there is nothing more to come, and wait no more.
  void dismiss(std::size_t of) {
    std::deque<std::size_t> all = things[of].told;  // They came before those who still wait.
    all.insert(all.end(), things[of].queue.begin(), things[of].queue.end());
    for (const std::size_t w : all) {
      const std::size_t who = waits[w].by;
      forget(w);
      wake(who, wake_code::disconnected);
    }
  }
  void stand(std::size_t w, std::size_t of, std::size_t by) {
    if (waits[w].of != of) things[of].queue.push_back(w);
    if (waits[w].by != by) {
      if (waits[w].by != none) std::erase(puppets[waits[w].by].waits, w);
      puppets[by].waits.push_back(w);
    }
    waits[w].of = of;
    waits[w].by = by;
  }
  void forget(std::size_t w) {
    const wait was = std::exchange(waits[w], {});
    if (was.of == none) return;
    std::erase(things[was.of].queue, w);
    std::erase(things[was.of].told, w);
    std::erase(puppets[was.by].waits, w);
  }
};

}  // namespace asx::testing
