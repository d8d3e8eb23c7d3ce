// asx/chan/testing/channel_driver.hpp - does the same to two worlds of channels and says where they differ.
//
//     channel_pair      the model and another world; apply() does one operation to both and compares everything
//     run_operations    a list of them from the start; shorten() finds the fewest that still show a difference
//     channel_coverage  what the answers were, so that a run which met too little can be told from one which proved
//
// Compared after each operation: every answer, wake, death of a message and cleanup action in one order; the ends of
// tasks, the obligations, and what the channels journal of permits, waiters and sides, each in theirs; then what every
// endpoint, permit and waiting operation says of itself, the report of each channel, how many messages live, and two
// checks of quiescence. Of an endpoint that outlived its channel only the report counts: whether it calls itself live
// is not told.
//
// Cancel points: none. Threads: one owner. Lifetime: a pair owns its worlds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/chan/testing/channel_script.hpp"
#include "asx/chan/testing/naive_channel_world.hpp"
#include "asx/chan/testing/real_channel_world.hpp"

namespace asx::testing {

/// How often each thing happened that a run should meet.
class channel_coverage {
 public:
  void add(const channel_record& r) {
    for (const channel_note& n : r.notes) {
      if (n.what == channel_note::kind::answer) {
        ++answers_[{n.call, n.code}];
        add_list(n, r);
      }
      if (n.what == channel_note::kind::wake) ++wakes_[n.why];
      if (n.what == channel_note::kind::destroyed) ++destroyed_;
      if (n.what == channel_note::kind::cleanup) ++cleanups_;
    }
    for (const end_note& e : r.ends) ++ends_[{e.how, e.has_leaked}];
    for (const obligation_note& o : r.obligations) ++obligations_[o.state];
    for (const told_note& n : r.sides) freed_ += n.event == event_kind::channel_freed ? 1U : 0U;
    fatals_ += r.fatals;
  }

  /// A world is over.
  void add(const naive_channel_world::taken_counts& c) {
    taken_.taken += c.taken;
    taken_.in_one_go += c.in_one_go;
    taken_.not_taken += c.not_taken;
    taken_.told += c.told;
    taken_.told_to_cancelled += c.told_to_cancelled;
    taken_.told_of_dead += c.told_of_dead;
    taken_.told_of_gone += c.told_of_gone;
    taken_.untold += c.untold;
    taken_.moved += c.moved;
    taken_.over += c.over;
  }

  /// What happened less often than `wanted`, in words; "" when nothing did.
  [[nodiscard]] std::string rare(std::uint64_t wanted) const {
    std::string out;
    const auto demand = [&out, wanted](std::uint64_t count, const std::string& what) {
      if (count < wanted) out += "  " + what + ": " + std::to_string(count) + " times\n";
    };
    using call = channel_call;
    struct row {
      call of;
      std::vector<status> codes;
    };
    const std::vector<row> rows = {
        {call::poll_reserve,
         {status::ok, status::stale_handle, status::region_not_open, status::cancelled, status::disconnected,
          status::resource_exhausted, status::would_block}},
        {call::poll_send_many,
         {status::ok, status::stale_handle, status::cancelled, status::disconnected, status::resource_exhausted,
          status::would_block}},
        {call::poll_send,
         {status::ok, status::stale_handle, status::cancelled, status::disconnected, status::resource_exhausted,
          status::would_block}},
        {call::try_reserve,
         {status::ok, status::stale_handle, status::invalid_argument, status::region_not_open, status::disconnected,
          status::full}},
        {call::try_send, {status::ok, status::stale_handle, status::disconnected, status::full}},
        {call::send_evict_oldest, {status::ok, status::stale_handle, status::disconnected, status::full}},
        {call::send,
         {status::ok, status::disconnected, status::obligation_already_resolved, status::obligation_leaked}},
        {call::clone_sender, {status::ok, status::stale_handle}},
        {call::poll_recv,
         {status::ok, status::stale_handle, status::cancelled, status::disconnected, status::would_block}},
        {call::poll_recv_many,
         {status::ok, status::stale_handle, status::cancelled, status::disconnected, status::would_block}},
        {call::try_recv, {status::ok, status::stale_handle, status::disconnected, status::empty}},
        {call::create, {status::ok, status::region_not_open, status::resource_exhausted}},
    };
    for (const row& r : rows) {
      for (const status code : r.codes) {
        const auto found = answers_.find({r.of, code});
        demand(found == answers_.end() ? 0 : found->second,
               std::string(name(r.of)) + " gives " + std::string(asx::name(code)));
      }
    }
    for (const wake_code why : {wake_code::slot, wake_code::message, wake_code::disconnected, wake_code::other}) {
      demand(count(wakes_, why), "a wake for " + std::string(name(why)));
    }
    for (const outcome_kind how : {outcome_kind::ok, outcome_kind::err, outcome_kind::cancelled}) {
      demand(count(ends_, {how, false}), "an end " + std::string(asx::name(how)));
    }
    demand(count(ends_, {outcome_kind::panicked, false}), "a panic");
    demand(count(ends_, {outcome_kind::panicked, true}), "a panic of a leak");
    for (const obligation_state s : {obligation_state::reserved, obligation_state::committed, obligation_state::aborted,
                                     obligation_state::leaked}) {
      demand(count(obligations_, s), "an obligation " + std::string(obligation_lifecycle.name(s)));
    }
    demand(lists_.empty, "an empty list that is sent");
    demand(lists_.split, "a list that waits after its turn");
    demand(lists_.requeued, "a list that leaves its place and stands at the back");
    demand(lists_.refused, "a list that is refused after its turn");
    demand(lists_.received, "several messages in one receive");
    demand(taken_.taken, "a message that is taken");
    demand(taken_.in_one_go, "several that are taken by one event");
    demand(taken_.not_taken, "a head with a message that looks for itself");
    demand(taken_.told, "one that was taken and is told");
    demand(taken_.told_to_cancelled, "... to a task that was asked to cancel");
    demand(taken_.told_of_dead, "... of a dead sender");
    demand(taken_.told_of_gone, "... where nobody receives any more");
    demand(taken_.untold, "one that was taken and is not told");
    demand(taken_.moved, "a wait that is moved away from its message");
    demand(taken_.over, "a permit that is written over while somebody waits");
    demand(destroyed_, "a message that is discarded");
    demand(cleanups_, "a cleanup action");
    demand(freed_, "a channel that is freed");
    demand(fatals_, "a leak outside of polls");
    return out;
  }

 private:
  void add_list(const channel_note& n, const channel_record& r) {
    if (n.call == channel_call::poll_recv_many && n.count > 1) ++lists_.received;
    if (n.call != channel_call::poll_send_many) return;
    if (n.code == status::ok && n.count == 0) ++lists_.empty;
    if (n.code == status::resource_exhausted && n.count != 0) ++lists_.refused;
    if (n.code != status::would_block || n.count == 0) return;
    ++lists_.split;
    if (r.waiters.front().event == event_kind::send_waiter_removed) ++lists_.requeued;
  }

  template <class Map>
  [[nodiscard]] static std::uint64_t count(const Map& counts, const typename Map::key_type& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  }

  std::map<std::pair<channel_call, status>, std::uint64_t> answers_;
  std::map<wake_code, std::uint64_t> wakes_;
  std::map<std::pair<outcome_kind, bool>, std::uint64_t> ends_;
  std::map<obligation_state, std::uint64_t> obligations_;
  struct {
    std::uint64_t empty = 0;
    std::uint64_t split = 0;
    std::uint64_t requeued = 0;
    std::uint64_t refused = 0;
    std::uint64_t received = 0;
  } lists_;
  naive_channel_world::taken_counts taken_;
  std::uint64_t destroyed_ = 0;
  std::uint64_t cleanups_ = 0;
  std::uint64_t freed_ = 0;
  std::uint64_t fatals_ = 0;
};

class channel_pair {
 public:
  explicit channel_pair(const channel_plan& plan) : model_(plan), real_(make_real_channel_world(plan)) {}

  [[nodiscard]] const naive_channel_world& model() const { return model_; }
  [[nodiscard]] bool is_void(const channel_operation& op) const { return model_.is_void(op); }

  /// The first difference, or "".
  std::string apply(const channel_operation& op, channel_coverage* coverage = nullptr) {
    const channel_record& expected = model_.apply(op);
    const channel_record& got = real_->apply(op);
    if (coverage != nullptr) coverage->add(expected);
    if (!model_.plan().is_journalled || model_.plan().is_plain) {
      channel_record less = expected;
      if (!model_.plan().is_journalled) less.forget_journal();
      if (model_.plan().is_plain) less.forget_deaths();
      if (less != got) return "expected:\n" + text(less) + "  got:\n" + text(got);
    } else if (expected != got) {
      return "expected:\n" + text(expected) + "  got:\n" + text(got);
    }
    return compare();
  }

  /// Ends the real world with everything that is left in it.
  [[nodiscard]] std::string finish() { return real_->finish(); }

 private:
  [[nodiscard]] std::string compare() const {
    std::string out;
    const auto differ = [&out](const std::string& what, std::uint64_t expected, std::uint64_t got) {
      if (expected == got) return;
      out += what + ": expected " + std::to_string(expected) + ", got " + std::to_string(got) + "\n";
    };
    const auto at = [](std::string_view what, std::uint32_t slot) {
      return std::string(what) + " " + std::to_string(slot);
    };
    for (std::uint32_t s = 0; s < model_.senders().size(); ++s) {
      const naive_channel_world::sender_slot& slot = model_.senders()[s];
      if (!slot.is_live || model_.is_in_use(slot)) {
        if (slot.is_live != real_->is_sender_live(s)) out += at("sender", s) + " is live, or not\n";
      }
      compare(at("sender", s), model_.view_by_sender(s), real_->view_by_sender(s), out);
    }
    for (std::uint32_t r = 0; r < model_.receivers().size(); ++r) {
      const naive_channel_world::receiver_slot& slot = model_.receivers()[r];
      if (!slot.is_live || model_.is_in_use(slot)) {
        if (slot.is_live != real_->is_receiver_live(r)) out += at("receiver", r) + " is live, or not\n";
      }
      compare(at("receiver", r), model_.view_by_receiver(r), real_->view_by_receiver(r), out);
    }
    for (std::uint32_t w = 0; w < model_.plan().waits; ++w) {
      const std::uint64_t expected = model_.wait_id(w);
      const std::uint64_t got = real_->wait_id(w);
      if (expected != got) differ(at("wait", w), expected, got);
    }
    if (model_.permit_slots() != real_->permit_slots()) return out + "slots for permits\n";
    for (std::uint32_t p = 0; p < model_.permit_slots(); ++p) {
      const std::uint64_t expected = model_.permit_number(p);
      const std::uint64_t got = real_->permit_number(p);
      if (expected != got) differ(at("permit", p), expected, got);
    }
    if (!model_.plan().is_plain) differ("messages that live", model_.live_messages(), real_->live_messages());
    differ("obligations are owed", model_.owes_obligations() ? 1 : 0, real_->owes_obligations() ? 1 : 0);
    differ("all channels are drained", model_.is_drained() ? 1 : 0, real_->is_drained() ? 1 : 0);
    return out;
  }

  static void compare(const std::string& what, const channel_view& expected, const channel_view& got,
                      std::string& out) {
    const bool is_same = expected.code == status::ok ? expected == got : expected.code == got.code;
    if (!is_same) out += what + "\n  expected " + text(expected) + "\n  got      " + text(got) + "\n";
    if (got.code != status::ok) return;
    const channel_view& v = got;
    if (v.queued + v.reserved > v.capacity) out += what + ": more than its capacity (INV-CH-01)\n";
    if (v.total_reserved != v.total_sent + v.total_aborted + v.reserved ||
        v.total_sent != v.total_received + v.total_evicted + v.total_discarded + v.queued) {
      out += what + ": something was lost, or came twice (R-234)\n";
    }
  }

  naive_channel_world model_;
  std::unique_ptr<ending_channel_world> real_;
};

struct channel_run {
  std::vector<channel_operation> done;
  std::string difference;
};

[[nodiscard]] inline channel_run run_operations(const channel_plan& plan, const std::vector<channel_operation>& all) {
  channel_pair pair(plan);
  channel_run out;
  for (const channel_operation& op : all) {
    if (pair.is_void(op)) continue;
    out.done.push_back(op);
    out.difference = pair.apply(op);
    if (!out.difference.empty()) return out;
  }
  out.difference = pair.finish();
  return out;
}

/// Leaves out whatever it can, larger parts first, as long as some difference stays.
[[nodiscard]] inline channel_run shorten(const channel_plan& plan, channel_run run) {
  for (std::size_t part = run.done.size() / 2; part != 0; part /= 2) {
    for (std::size_t at = 0; at < run.done.size();) {
      std::vector<channel_operation> fewer = run.done;
      const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(from, from + static_cast<std::ptrdiff_t>(std::min(part, fewer.size() - at)));
      channel_run tried = run_operations(plan, fewer);
      if (tried.difference.empty()) {
        at += part;
      } else {
        run = std::move(tried);
      }
    }
  }
  return run;
}

[[nodiscard]] inline std::string describe(const channel_plan& plan, const channel_run& run) {
  std::string out = "  channels:";
  for (const channel_plan::place& c : plan.channels) {
    out += " capacity " + std::to_string(c.capacity) + " in region " + std::to_string(c.region) + ";";
  }
  out += "\n  parents of the regions:";
  for (const std::uint32_t parent : plan.parents) out += " " + std::to_string(parent);
  out += "\n  regions of the puppets:";
  for (std::size_t p = 1; p < plan.puppets.size(); ++p) out += " " + std::to_string(plan.puppets[p]);
  out += "\n  tracked senders:";
  for (std::size_t s = 0; s < plan.tracked.size(); ++s) out += plan.tracked[s] ? " " + std::to_string(s) : "";
  out += "\n  at most " + std::to_string(plan.max_waiters) + " waiters, " + std::to_string(plan.max_channels) +
         " channels" + (plan.is_journalled ? "" : ", without a journal") + (plan.is_plain ? ", plain messages" : "") +
         "\n";
  const std::size_t skipped = run.done.size() > 20 ? run.done.size() - 20 : 0;
  if (skipped != 0) out += "  after " + std::to_string(skipped) + " others:\n";
  for (std::size_t i = skipped; i < run.done.size(); ++i) out += "  " + text(run.done[i]) + "\n";
  return out + run.difference;
}

}  // namespace asx::testing
