// asx/chan/testing/pipeline.hpp - three producers, a worker and a consumer, joined by two channels, written to cope.
//
//     producer --+
//     producer --+--[ in ]--> worker --[ out ]--> consumer          in, out, producers and worker in one region,
//     producer --+                                                  the consumer in a sibling
//
// Whatever is cancelled or refused, at any moment, each parcel dies once, is received at most once, and the journal
// accounts for all of them. A task that gives up hands back what it holds: to nobody, which is written down.
//
// Cancel points: none. Threads: one owner. Lifetime: a book outlives its stage; a pipeline is made on one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/chan/mpsc.hpp"
#include "asx/chan/tracked.hpp"
#include "asx/runtime/testing/stage.hpp"

namespace asx::testing {

/// What became of each parcel, by its number from 1.
struct parcel_book {
  struct entry {
    int died = 0;
    int received = 0;
    int handed_back = 0;  // By a refused send, or still in the hand of somebody who gave up.
  };
  std::vector<entry> entries;
  std::vector<int> order;  // As received.
  std::uint64_t alive = 0;

  int open() {
    entries.emplace_back();
    ++alive;
    return static_cast<int>(entries.size());
  }
  entry& of(int number) { return entries[static_cast<std::size_t>(number) - 1]; }
};

class parcel {
 public:
  parcel(parcel_book& book, int from) noexcept : number_(book.open()), from_(from), book_(&book) {}
  parcel(parcel&& other) noexcept
      : number_(other.number_), from_(other.from_), book_(std::exchange(other.book_, nullptr)) {}
  parcel& operator=(parcel&&) = delete;
  ~parcel() {
    if (book_ == nullptr) return;
    --book_->alive;
    ++book_->of(number_).died;
  }
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] int from() const noexcept { return from_; }
  /// It was not moved away.
  [[nodiscard]] bool is_here() const noexcept { return book_ != nullptr; }

 private:
  int number_;
  int from_;
  parcel_book* book_;
};

struct plain_kit {
  using sender = asx::sender<parcel>;
  using permit = send_permit<parcel>;
};
struct tracked_kit {
  using sender = tracked_sender<parcel>;
  using permit = tracked_permit<parcel>;
};
struct message_kit {};  // Parcels wait themselves, and are taken by whoever frees a slot.

/// One end of a stage that sends: it keeps a parcel in hand until a permit takes it.
template <class Kit>
class outlet {
 public:
  outlet(parcel_book& book, asx::sender<parcel> to) : book_(&book), tx_(std::move(to)) {}
  outlet(outlet&&) noexcept = default;
  outlet& operator=(outlet&&) = delete;
  ~outlet() { keep(); }  // The frame of a task that was forced to end.

  enum class answer : std::uint8_t { sent, waits, over };
  [[nodiscard]] bool is_empty() const { return !in_hand_.has_value(); }
  [[nodiscard]] bool is_held() const { return permit_.is_held(); }
  void take(parcel&& p) { in_hand_.emplace(std::move(p)); }

  /// `waits`: the poll says pending. Every second parcel waits a poll between its reserve and its send.
  answer send(stage& s, cx& c) {
    if (permit_.is_held()) {
      if (c.checkpoint() != status::ok) return answer::over;
    } else {
      switch (reserve(s, c)) {
        case status::ok: break;
        case status::would_block: return answer::waits;
        case status::resource_exhausted:
          if (++refused_ > 40) return answer::over;
          c.yield();
          return answer::waits;
        default: return answer::over;
      }
      if (in_hand_->number() % 2 == 0) {
        c.yield();
        return answer::waits;
      }
    }
    const int number = in_hand_->number();
    auto sent = permit_.send(std::move(*in_hand_));
    in_hand_.reset();
    if (sent.code == status::ok) return answer::sent;
    EXPECT_EQ(sent.code, status::disconnected);
    EXPECT_TRUE(sent.value.has_value() && sent.value->number() == number);
    ++book_->of(number).handed_back;
    return answer::over;
  }
  void leave() {
    permit_ = {};
    wait_.leave();
    keep();
    tx_.drop();
  }

 private:
  void keep() {
    if (in_hand_.has_value()) ++book_->of(in_hand_->number()).handed_back;
    in_hand_.reset();
  }
  status reserve(stage& s, cx& c) {
    const auto call = [&] { return tx_.poll_reserve(c, wait_, permit_); };
    const bool waited = wait_.is_waiting();
    const status code = waited ? call() : s.watch(call);  // Who waits leaves the queue when it is refused.
    EXPECT_EQ(wait_.is_waiting(), code == status::would_block);
    EXPECT_EQ(permit_.is_held(), code == status::ok);
    return code;
  }

  parcel_book* book_;
  typename Kit::sender tx_;
  reserve_wait wait_;
  typename Kit::permit permit_;
  std::optional<parcel> in_hand_;
  int refused_ = 0;
};

template <>
class outlet<message_kit> {
 public:
  outlet(parcel_book& book, asx::sender<parcel> to) : book_(&book), tx_(std::move(to)) {}
  outlet(outlet&&) noexcept = default;
  outlet& operator=(outlet&&) = delete;
  ~outlet() { keep(); }

  enum class answer : std::uint8_t { sent, waits, over };
  [[nodiscard]] bool is_empty() const { return in_hand_ == nullptr; }
  void take(parcel&& p) { in_hand_ = std::make_unique<parcel>(std::move(p)); }

  answer send(stage& s, cx& c) {
    const auto call = [&] { return tx_.poll_send(c, wait_, *in_hand_); };
    const bool waited = wait_.is_waiting() || !in_hand_->is_here();
    const status code = waited ? call() : s.watch(call);
    EXPECT_EQ(wait_.is_waiting(), code == status::would_block);
    EXPECT_EQ(in_hand_->is_here(), code != status::ok);
    switch (code) {
      case status::ok: in_hand_.reset(); return answer::sent;
      case status::would_block: return answer::waits;
      case status::resource_exhausted:
        if (++refused_ > 40) return answer::over;
        c.yield();
        return answer::waits;
      default: return answer::over;
    }
  }
  void leave() {
    wait_.leave();
    keep();
    tx_.drop();
  }

 private:
  /// What was taken is the channel's, though nobody has been told.
  void keep() {
    if (in_hand_ != nullptr && in_hand_->is_here()) ++book_->of(in_hand_->number()).handed_back;
    wait_.leave();
    in_hand_.reset();
  }

  parcel_book* book_;
  asx::sender<parcel> tx_;
  reserve_wait wait_;
  std::unique_ptr<parcel> in_hand_;  // It stays where it is while it waits.
  int refused_ = 0;
};

template <class Kit>
class pipeline {
 public:
  static constexpr int producers = 3;
  static constexpr int parcels = 3;  // Of each.

  /// A deaf producer never observes a cancel and keeps what it holds until it is forced.
  static void open(stage& s, parcel_book& book, std::uint32_t capacity, bool is_deaf) {
    const auto self = std::make_shared<pipeline>(book, is_deaf);  // The tasks have it, and outlive the caller.
    const region_handle home = s.region(s.root());
    const region_handle away = s.region(s.root());
    channel_ends<parcel> in = create(s, home, capacity);
    channel_ends<parcel> out = create(s, home, capacity);
    if (in.code != status::ok || out.code != status::ok) return;
    for (int i = 0; i < producers; ++i) add_producer(s, self, home, i, in.tx);
    in.tx.drop();
    const auto w = std::make_shared<worker>(worker{std::move(in.rx), outlet<Kit>(book, std::move(out.tx))});
    self->worker_ = w;
    s.spawn(home, [self, w](stage& on, cx& c, stage::actor&) { return self->work(*w, on, c); });
    const auto r = std::make_shared<reader>(reader{std::move(out.rx)});
    self->reader_ = r;
    s.spawn(away, [self, r](stage&, cx& c, stage::actor&) { return self->read(*r, c); });
  }

  pipeline(parcel_book& book, bool is_deaf) : book_(&book), is_deaf_(is_deaf) {}

 private:
  struct worker {
    receiver<parcel> rx;
    outlet<Kit> to;
  };
  struct reader {
    receiver<parcel> rx;
  };

  static channel_ends<parcel> create(stage& s, region_handle in, std::uint32_t capacity) {
    channel_ends<parcel> out{};
    static_cast<void>(s.watch([&] {
      out = channel<parcel>(s.k(), in, capacity);
      return out.code;
    }));
    return out;
  }
  static void add_producer(stage& s, const std::shared_ptr<pipeline>& self, region_handle home, int number,
                           const asx::sender<parcel>& tx) {
    const auto to = std::make_shared<outlet<Kit>>(*self->book_, tx);
    s.spawn(home, [self, to, number, made = 0](stage& on, cx& c, stage::actor&) mutable {
      self->look();
      if (self->is_deaf_ && c.is_cancelled()) {
        c.yield();
        return poll_result::pending;
      }
      for (;;) {
        if (to->is_empty() && made < parcels) {
          to->take(parcel(*self->book_, number));
          ++made;
        }
        const auto said = to->is_empty() ? outlet<Kit>::answer::over : to->send(on, c);
        if (said == outlet<Kit>::answer::sent) continue;
        if (said == outlet<Kit>::answer::waits) return poll_result::pending;
        to->leave();
        return poll_result::ready;
      }
    });
  }
  poll_result work(worker& w, stage& on, cx& c) {
    look();
    for (;;) {
      if (w.to.is_empty()) {
        auto got = w.rx.poll_recv(c);
        if (got.code == status::would_block) return poll_result::pending;
        if (got.code != status::ok) break;
        w.to.take(std::move(*got.value));
      }
      const auto said = w.to.send(on, c);
      if (said == outlet<Kit>::answer::waits) return poll_result::pending;
      if (said == outlet<Kit>::answer::over) break;
    }
    w.to.leave();
    w.rx.drop();
    return poll_result::ready;
  }
  poll_result read(reader& r, cx& c) {
    look();
    bool drains = false;  // Cleanup may.
    for (;;) {
      auto got = drains ? r.rx.try_recv() : r.rx.poll_recv(c);
      if (got.code == status::would_block) return poll_result::pending;
      if (got.code == status::cancelled) {
        drains = true;
        continue;
      }
      if (got.code != status::ok) break;
      ++book_->of(got.value->number()).received;
      book_->order.push_back(got.value->from() * 1000 + got.value->number());
    }
    r.rx.drop();
    return poll_result::ready;
  }
  /// Both channels keep their laws whenever somebody runs.
  void look() const {
    if (const auto w = worker_.lock()) look_at(w->rx);
    if (const auto r = reader_.lock()) look_at(r->rx);
  }
  static void look_at(const receiver<parcel>& rx) {
    channel_report r;
    if (rx.inspect(r) != status::ok) return;
    EXPECT_LE(std::uint64_t{r.queued} + r.reserved, r.capacity);
    EXPECT_EQ(r.counts.reserved, r.counts.sent + r.counts.aborted + r.reserved);
    EXPECT_EQ(r.counts.sent, r.counts.received + r.counts.evicted + r.counts.discarded + r.queued);
  }

  parcel_book* book_;
  bool is_deaf_;
  std::weak_ptr<worker> worker_;  // Its task has it; a spawn may have been refused.
  std::weak_ptr<reader> reader_;
};

/// What must hold of every run once its stage has ended.
inline void expect_accounted(stage& s, const parcel_book& book, bool has_permits = true) {
  std::uint64_t discarded = 0, unaccounted = 0;
  for (const event& e : s.events) {
    const bool is_drop =
        e.kind == event_kind::channel_receiver_closed || e.kind == event_kind::channel_fully_closed_by_receiver;
    if (is_drop) discarded += high_half(e.a);
  }
  for (std::size_t i = 0; i < book.entries.size(); ++i) {
    const parcel_book::entry& e = book.entries[i];
    EXPECT_EQ(e.died, 1) << "parcel " << i + 1;
    EXPECT_LE(e.received + e.handed_back, 1) << "parcel " << i + 1;
    if (e.received + e.handed_back == 0) ++unaccounted;
  }
  EXPECT_EQ(book.alive, 0U);
  EXPECT_EQ(unaccounted, discarded) << "what nobody has was discarded with its queue";
  for (std::size_t i = 1; i < book.order.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (book.order[i] / 1000 != book.order[j] / 1000) continue;
      EXPECT_LT(book.order[j], book.order[i]) << "INV-CH-02";
    }
  }
  const auto count = [&s](event_kind kind) { return s.count(kind); };
  EXPECT_EQ(count(event_kind::channel_created), count(event_kind::channel_freed));
  if (has_permits) {
    EXPECT_EQ(count(event_kind::permit_reserved), count(event_kind::permit_sent) + count(event_kind::permit_aborted) +
                                                      count(event_kind::permit_disconnected));
  } else {
    EXPECT_EQ(count(event_kind::permit_reserved), 0U);
  }
  EXPECT_EQ(count(event_kind::permit_dropped), 0U);
  EXPECT_EQ(count(event_kind::permit_sent), count(event_kind::message_received) + discarded);
  EXPECT_EQ(count(event_kind::obligation_leaked), 0U);
  EXPECT_EQ(count(event_kind::obligation_reserved),
            count(event_kind::obligation_committed) + count(event_kind::obligation_aborted));
}

}  // namespace asx::testing
