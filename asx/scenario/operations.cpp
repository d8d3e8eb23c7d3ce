// What tasks, driver and synchronous steps can all do.
#include "asx/scenario/detail/play.hpp"

namespace asx::scenario::detail {

namespace {

request why(const step& st, cancel_kind otherwise = cancel_kind::user) {
  return {cancel_kind_in(*st.fields, "kind", otherwise), text_in(*st.fields, "message")};
}

}  // namespace

// ---- regions -----------------------------------------------------------------------------------------------------

bool play_run::perform_region(actor& who, const step& st, status& answer) {
  const node& f = *st.fields;
  if (st.what == op::release) {
    const bound* const what = find(who, st, "what", thing::task | thing::region);
    if (what == nullptr) return false;
    answer = what->what == thing::task ? world_->release_task(what->at) : world_->release_region(what->at);
    return true;
  }
  const std::optional<ref> region = region_of(who, st, st.what == op::open_region ? "in" : "region");
  if (!region) return false;
  switch (st.what) {
    case op::open_region: {
      region_order order;
      order.limits = budget_in(f, "budget");
      order.max_tasks = static_cast<std::uint32_t>(number_in(f, "max_tasks", UINT32_MAX));
      order.ends_when_empty = flag_in(f, "ends_when_empty");
      order.fails_fast = flag_in(f, "fails_fast");
      order.is_held = flag_in(f, "held", true);
      order.name = text_in(f, "as");
      if (f.find("owner") != nullptr) {
        const bound* const owner = find(who, st, "owner", thing::task);
        if (owner == nullptr) return false;
        order.owner = owner->at;
      }
      made out;
      answer = world_->open_region(*region, order, out);
      if (answer == status::ok) bind(who, st, "as", {thing::region, out.at, out.id});
      return true;
    }
    case op::close: answer = world_->close(*region, why(st)); return true;
    case op::begin_close: answer = world_->begin_close(*region, why(st)); return true;
    case op::begin_drain: answer = world_->begin_drain(*region); return true;
    case op::begin_finalize: answer = world_->begin_finalize(*region); return true;
    case op::finish_close: answer = world_->finish_close(*region); return true;
    case op::add_finalizer: {
      sync_block& block = block_of(who, st, *region);
      answer = world_->add_finalizer(*region, &play_run::run_block, &block, flag_in(f, "in_turn"));
      return true;
    }
    default: answer = world_->arena(*region, number_in(f, "bytes"), number_in(f, "alignment", 8)); return true;
  }
}

// ---- tasks -------------------------------------------------------------------------------------------------------

task_order play_run::order_for(const step& st, ref region, std::string_view called) {
  const node& f = *st.fields;
  const std::string_view script_name = text_in(f, "task");
  task_order order;
  order.poll = &script_task::poll;
  order.drop = &script_task::drop;
  order.script = new script_task(*this, s_.tasks.find(script_name)->second, script_name, region);
  order.limits = budget_in(f, "budget");
  order.priority = static_cast<std::uint8_t>(number_in(f, "priority", 128));
  order.is_held = flag_in(f, "held", true);
  order.name = called.empty() ? script_name : called;
  return order;
}

bool play_run::perform_task(actor& who, const step& st, status& answer) {
  const node& f = *st.fields;
  switch (st.what) {
    case op::spawn: {
      const std::optional<ref> region = region_of(who, st);
      if (!region) return false;
      const node* const count = f.find("count");
      const std::uint64_t times = count == nullptr ? 1 : number_of(*count);
      const std::string_view as = text_in(f, "as");
      for (std::uint64_t i = 1; i <= times && answer == status::ok; ++i) {
        if (i > 1 && !who.is_driver && !may_go_on(who, st)) return false;
        const std::string called =
            count == nullptr || as.empty() ? std::string(as) : std::string(as) + std::to_string(i);
        const task_order order = order_for(st, *region, called);
        made out;
        answer = world_->spawn(*region, order, out);
        if (answer != status::ok) {
          script_task::drop(order.script);
        } else if (!as.empty()) {
          bind_as(who, called, {thing::task, out.at, out.id});
        }
      }
      return true;
    }
    case op::reserve_task: {
      const std::optional<ref> region = region_of(who, st);
      if (!region) return false;
      ref slot = no_ref;
      answer = world_->reserve_task(*region, slot);
      if (answer != status::ok) return true;
      if (slot_regions_.size() <= slot) slot_regions_.resize(slot + 1, root_ref);
      slot_regions_[slot] = *region;
      bind(who, st, "as", {thing::slot, slot, 0});
      return true;
    }
    case op::commit_task: {
      const bound* const slot = find(who, st, "slot", thing::slot);
      if (slot == nullptr) return false;
      const task_order order = order_for(st, slot_regions_[slot->at], text_in(f, "as"));
      made out;
      answer = world_->commit_task(slot->at, order, out);
      if (answer == status::ok) {
        bind(who, st, "as", {thing::task, out.at, out.id});
      } else {
        script_task::drop(order.script);
      }
      return true;
    }
    case op::abandon_task: {
      const bound* const slot = find(who, st, "slot", thing::slot);
      if (slot == nullptr) return false;
      answer = world_->abandon_task(slot->at);
      return true;
    }
    default: break;
  }
  const bound* const task = find(who, st, "task", thing::task);
  if (task == nullptr) return false;
  if (st.what == op::cancel) {
    bool newly = false;
    answer = world_->cancel(task->at, why(st), newly);
    if (knows(st, answer)) want_flag(who, st, "newly", newly);
  } else if (st.what == op::complete) {
    answer = world_->complete(task->at, full(outcome_of(*f.find("outcome"))));
  } else {
    answer = world_->wake(task->at);
  }
  return true;
}

// ---- obligations, timers, and the rest ---------------------------------------------------------------------------

bool play_run::perform_thing(actor& who, const step& st, status& answer) {
  const node& f = *st.fields;
  switch (st.what) {
    case op::reserve_obligation: {
      const std::optional<ref> region = region_of(who, st);
      if (!region) return false;
      made out;
      answer = world_->reserve_obligation(*region, out);
      if (answer == status::ok) bind(who, st, "as", {thing::obligation, out.at, out.id});
      return true;
    }
    case op::commit:
    case op::abort: {
      const bool is_commit = st.what == op::commit;
      const bound* const what =
          find(who, st, "what", is_commit ? thing::obligation : thing::obligation | thing::permit);
      if (what == nullptr) return false;
      bool proved = false;
      if (what->what == thing::permit) {
        world_->abort_permit(what->at, proved);
      } else {
        answer = is_commit ? world_->commit(what->at) : world_->abort(what->at);
      }
      return true;
    }
    case op::add_timer: {
      const std::optional<ref> region = region_of(who, st);
      if (!region) return false;
      const instant at = f.find("at") != nullptr ? moment_in(f, "at") : world_->look().now + duration_in(f, "for");
      made out;
      answer = world_->add_timer(*region, at, out);
      if (answer == status::ok) bind(who, st, "as", {thing::timer, out.at, out.id});
      return true;
    }
    case op::cancel_timer: {
      const bound* const timer = find(who, st, "timer", thing::timer);
      if (timer == nullptr) return false;
      want_flag(who, st, "was_live", world_->cancel_timer(timer->at));
      return true;
    }
    case op::say: out_.said.emplace_back(text_in(f, "text")); return true;
    case op::hold: world_->hold(); return true;
    case op::unhold: answer = world_->unhold(); return true;
    case op::begin_shutdown: answer = world_->begin_shutdown(why(st, cancel_kind::shutdown)); return true;
    case op::mark:
      marks_.insert_or_assign(std::string(text_in(f, "as")), mark_place{events().size(), out_.said.size()});
      return true;
    default: break;
  }
  return false;
}

// ---- channels ----------------------------------------------------------------------------------------------------

void play_run::want_proof(const actor& who, const step& st, bool proved, std::string_view word) {
  want_word(who, st, "proof", proved ? word : std::string_view("none"));
}

bool play_run::perform_channel(actor& who, const step& st, status& answer) {
  const node& f = *st.fields;
  const auto end_of = [&](std::string_view field, std::uint32_t kinds) { return find(who, st, field, kinds); };
  switch (st.what) {
    case op::channel: {
      const std::optional<ref> region = region_of(who, st);
      if (!region) return false;
      made channel;
      ref tx = no_ref, rx = no_ref;
      answer = world_->channel(*region, number_in(f, "capacity"), channel, tx, rx);
      if (answer != status::ok) return true;
      channels_[channel.id] = channel.at;
      bind(who, st, "tx", {thing::sender, tx, channel.id});
      bind(who, st, "rx", {thing::receiver, rx, channel.id});
      return true;
    }
    case op::clone:
    case op::track: {
      const bound* const tx = end_of("tx", thing::sender);
      if (tx == nullptr) return false;
      const std::uint64_t channel = tx->id;
      ref out = no_ref;
      answer = st.what == op::clone ? world_->clone(tx->at, out) : world_->track(tx->at, out);
      if (answer == status::ok) bind(who, st, "as", {thing::sender, out, channel});
      return true;
    }
    case op::drop: {
      const bound* const what = end_of("what", thing::sender | thing::receiver | thing::permit);
      if (what == nullptr) return false;
      drop_end(*what);
      return true;
    }
    case op::try_reserve: {
      const bound* const tx = end_of("tx", thing::sender);
      if (tx == nullptr) return false;
      const bool is_polled = who.task != nullptr && f.find("region") == nullptr;
      const std::optional<ref> region = region_of(who, st);
      if (!region) return false;
      const std::uint64_t channel = tx->id;
      ref permit = no_ref;
      answer = world_->try_reserve(tx->at, is_polled ? no_ref : *region, permit);
      if (answer == status::ok) bind(who, st, "as", {thing::permit, permit, channel});
      return true;
    }
    case op::send:
    case op::abort_permit: {
      const bound* const permit = end_of("permit", thing::permit);
      if (permit == nullptr) return false;
      bool proved = false;
      if (st.what == op::send) {
        answer = world_->send(permit->at, number_in(f, "value"), proved);
        if (knows(st, answer)) want_proof(who, st, proved, "committed");
      } else {
        world_->abort_permit(permit->at, proved);
        want_proof(who, st, proved, "aborted");
      }
      return true;
    }
    case op::try_recv: {
      const bound* const rx = end_of("rx", thing::receiver);
      if (rx == nullptr) return false;
      std::uint64_t value = 0;
      answer = world_->try_recv(rx->at, value);
      if (answer == status::ok && knows(st, answer)) want_number(who, st, "value", value);
      return true;
    }
    default: break;
  }
  const bound* const tx = end_of("tx", thing::sender);
  if (tx == nullptr) return false;
  if (st.what == op::try_send) {
    answer = world_->try_send(tx->at, number_in(f, "value"));
    return true;
  }
  std::optional<std::uint64_t> evicted;
  answer = world_->send_evicting(tx->at, number_in(f, "value"), evicted);
  const node* const wanted = f.find("evicted");
  if (wanted == nullptr || !knows(st, answer)) return true;
  count_check();
  const auto text = [](const std::optional<std::uint64_t>& v) { return v ? std::to_string(*v) : std::string("none"); };
  const std::optional<std::uint64_t> expected =
      wanted->is(node_kind::null) ? std::nullopt : std::optional<std::uint64_t>(number_of(*wanted));
  if (expected != evicted) fail_expected(who, st, "evicted", text(expected), text(evicted));
  return true;
}

}  // namespace asx::scenario::detail
