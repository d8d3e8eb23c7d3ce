// examples/order_service.hpp - a small shop, as one would write a service with asx. The demo (`asx demo`) and the
// example order_shop run it; the lab tests it.
//
//     customers --orders--> clerk --one task an order--> reserve an item, take the money, hand over the parcel
//                                                                                             |
//                             courier <-------------------------------------parcels----------+
//
// An item that is reserved is a promise, an obligation of the shop's region: in the end it is sold or put back. In the
// middle of the day the operator closes the shop, wherever everybody stands just then.
#pragma once

#include <asx/coro/chan.hpp>
#include <asx/coro/region.hpp>
#include <asx/coro/spawn.hpp>
#include <asx/kernel/report.hpp>
#include <functional>
#include <string>
#include <vector>

namespace order_service {

using namespace asx;

/// How the day is to go, and what is left of it for people to read.
struct day {
  bool is_careless = false;  // With the mistake that the lab is to find.
  int orders = 12;           // That customers have in mind.
  int stock = 9;             // Items on the shelf: so few that the mistake shows rarely.
  int sold = 0;
  instant opened{};
  std::vector<std::string> log;       // What happened, and when.
  std::string tree_at_closing;        // Who was alive when the shop was told to close.
  std::uint64_t cancelled_order = 0;  // The task of an order that was cancelled.

  void say(const cx& c, const std::string& what) {
    const std::string at = std::to_string((c.now() - opened).ns / 1'000'000);
    log.push_back(std::string(at.size() < 4 ? 4 - at.size() : 0, ' ') + at + " ms  " + what);
  }
};

inline duration ms(int n) {
  return duration::milliseconds(static_cast<std::uint64_t>(n));
}

inline void sell(kernel& k, day& d, obligation_handle item) {
  if (k.commit(item) == status::ok) ++d.sold;
}
inline void put_back(kernel& k, day& d, obligation_handle item) {
  if (k.abort(item) == status::ok) ++d.stock;
}

/// An item off the shelf. It is sold, or it goes back when this goes away: at an end, a failure or a cancel alike.
class reserved_item {
 public:
  reserved_item(cx c, day& d) : cx_(c), day_(d) {
    is_held_ = d.stock > 0 && c.kernel().reserve(c.region(), promise_) == status::ok;
    if (is_held_) --d.stock;
  }
  reserved_item(const reserved_item&) = delete;
  reserved_item& operator=(const reserved_item&) = delete;
  ~reserved_item() {
    if (!is_held_) return;
    put_back(cx_.kernel(), day_, promise_);
    if (cx_.is_cancelled()) day_.cancelled_order = cx_.task().value;
    day_.say(cx_, cx_.is_cancelled() ? "an order is cancelled: its item goes back" : "an item goes back");
  }

  [[nodiscard]] bool is_held() const { return is_held_; }
  void sell() {
    is_held_ = false;
    order_service::sell(cx_.kernel(), day_, promise_);
  }

 private:
  cx cx_;
  day& day_;
  obligation_handle promise_{};
  bool is_held_ = false;
};

/// The bank answers after 10 ms; to every fourth order it does not answer at all.
inline task<> bank(cx, int order) {
  co_await sleep(order % 4 == 0 ? duration::hours(1) : ms(10));
}

/// False when the bank did not answer in time.
inline task<bool> take_money(cx c, int order) {
  const auto paid = co_await with_timeout(c, ms(30), bank, order);
  co_return paid.has_value();
}

// cut: right
/// One order, as it should be. Whichever line it ends in, `item` is sold or back on the shelf.
inline task<> handle_order(cx c, day& d, sender<int> parcels, int order) {
  const std::string name = "order " + std::to_string(order);
  reserved_item item(c, d);
  if (!item.is_held()) {
    d.say(c, name + ": sold out");
    co_return;
  }
  const bool is_paid = co_await take_money(c, order);
  if (!is_paid) {
    d.say(c, name + ": the bank did not answer");
    co_return;
  }
  co_await send(parcels, order);
  item.sell();
  d.say(c, name + ": paid and packed");
}
// end: right

// cut: wrong
/// The same by hand, and wrong. Whoever wrote it thought of a cancel while the bank is asked, and not of one while the
/// parcel waits for the courier: then the coroutine ends at that line, and the item is lost.
inline task<> handle_order_carelessly(cx c, day& d, sender<int> parcels, int order) {
  obligation_handle item;
  if (d.stock == 0 || c.kernel().reserve(c.region(), item) != status::ok) co_return;
  --d.stock;
  const auto paid = co_await attempt(take_money(c, order));
  if (!paid.is_ok() || !paid.value()) {
    put_back(c.kernel(), d, item);
    co_return;
  }
  co_await send(parcels, order);
  sell(c.kernel(), d, item);
}
// end: wrong

inline task<> courier(cx, receiver<int> parcels) {
  while (const auto parcel = co_await recv(parcels)) co_await sleep(ms(10));
}

inline task<> customers(cx, sender<int> orders, int count) {
  for (int order = 1; order <= count; ++order) {
    co_await send(orders, order);
    if (order % 3 == 0) co_await sleep(ms(20));  // They come three at a time.
  }
}

/// Takes orders until there are no more, or the shop closes.
inline task<> serve(cx c, day& d) {
  auto [no_orders, orders_in, orders] = channel<int>(c, 4, "orders");
  auto [no_parcels, parcels_in, parcels] = channel<int>(c, 1, "parcels");
  if (no_orders != status::ok || no_parcels != status::ok) co_await fail(status::resource_exhausted);
  co_await start(c, {.name = "customers"}, customers, std::move(orders_in), d.orders);
  co_await start(c, {.name = "courier"}, courier, std::move(parcels));
  while (const auto order = co_await recv(orders)) {
    const std::string name = "order " + std::to_string(*order);
    const auto handle = d.is_careless ? handle_order_carelessly : handle_order;
    co_await start(c, {.name = name}, handle, std::ref(d), parcels_in, *order);
  }
}

/// The whole shop: over when all orders are handled, or when it was told to close and everybody has cleaned up.
inline task<> shop(cx c, day& d) {
  const region_options how{.name = "shop"};
  co_await region(c, how, serve, std::ref(d));
}

/// The shop opens, and the operator closes it after 70 ms.
inline task<> open_and_close(cx c, day& d) {
  d.opened = c.now();
  auto open = co_await start(c, {.name = "owner"}, shop, std::ref(d));
  co_await sleep(ms(70));
  d.say(c, "the operator closes the shop");
  static_cast<void>(open.cancel({cancel_kind::shutdown, "the operator closes the shop"}));
  d.tree_at_closing = describe_tree(c.kernel());
  static_cast<void>(co_await join(open));
  d.say(c, "closed: " + std::to_string(d.sold) + " sold, " + std::to_string(d.stock) + " on the shelf");
}

// cut: block
/// In a block, because `d` is the caller's: what a block started has ended when it is over, also when the caller itself
/// is cancelled in the middle of it. A task beside the caller would use `d` after it is gone.
inline task<> whole_day(cx c, day& d) {
  // The shop is cancelled on purpose, so its end is not the end of the day.
  const region_options how{.name = "day", .policy = region_policy::body_decides};
  co_await region(c, how, open_and_close, std::ref(d));
}
// end: block

}  // namespace order_service
