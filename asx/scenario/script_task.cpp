// Tasks that follow a script: a stack of lists of steps, and the waits that they stand in.
#include <algorithm>
#include <memory>

#include "asx/scenario/detail/play.hpp"

namespace asx::scenario::detail {

script_task::script_task(play_run& home, const script& follows, std::string_view name, ref region)
    : home_(home), follows_(follows), name_(name) {
  who_.task = this;
  who_.own = std::make_shared<own_names>();
  who_.region = region;
  stack_.push_back({&follows.body, 0, 1, "task " + name_});
}

poll_answer script_task::poll(void* self, poll_face& face) {
  return static_cast<script_task*>(self)->go_on(face);
}

void script_task::drop(void* self) noexcept {
  const std::unique_ptr<script_task> gone(static_cast<script_task*>(self));
  gone->stop_waiting();
  gone->who_.own->is_orphaned = true;
  gone->home_.drop_ends(*gone->who_.own);
}

std::string script_task::path() const {
  std::string out;
  for (const frame& f : stack_) out += f.label + '[' + std::to_string(f.at) + ']';
  return out;
}

// ---- a poll ------------------------------------------------------------------------------------------------------

poll_answer script_task::go_on(poll_face& face) {
  std::uint64_t done = 0;
  while (!stack_.empty()) {
    if (home_.is_over()) break;
    frame& top = stack_.back();
    if (top.at == top.list->size()) {
      const bool is_counted = top.rounds != UINT64_MAX;
      if (is_counted) --top.rounds;
      if (is_counted && top.rounds == 0) {
        stack_.pop_back();
        if (!stack_.empty()) ++stack_.back().at;
        continue;
      }
      top.at = 0;
      if (top.list->empty()) top.rounds = 1;  // Nothing, again and again, is nothing.
      continue;
    }
    const step& st = (*top.list)[top.at];
    if (!home_.may_go_on(who_, st)) break;
    if (++done > home_.step_limit()) {
      home_.fail_to_look(who_, st, "one poll did more than " + std::to_string(home_.step_limit()) + " steps");
      face.panic("a poll that does not end");
      return poll_answer::ready;
    }
    switch (do_one(face, st)) {
      case turn::on: break;
      case turn::pending: return poll_answer::pending;
      case turn::ready: return poll_answer::ready;
      case turn::error: return poll_answer::error;
    }
  }
  return poll_answer::ready;
}

script_task::turn script_task::do_one(poll_face& face, const step& st) {
  const node& f = *st.fields;
  switch (st.what) {
    case op::yield:
      face.yield();
      ++stack_.back().at;
      return turn::pending;
    case op::park:
      face.take_waker();
      ++stack_.back().at;
      return turn::pending;
    case op::repeat: {
      const std::uint64_t times = number_in(f, "times", UINT64_MAX);
      if (times == 0) {
        ++stack_.back().at;
      } else {
        stack_.push_back({&st.inner, 0, times, ".steps"});
      }
      return turn::on;
    }
    case op::return_:
      if (const node* const value = f.find("value"); value != nullptr) face.set_value(number_of(*value));
      return turn::ready;
    case op::fail: face.set_error(status_in(f, "error"), number_in(f, "detail")); return turn::error;
    case op::panic: face.panic(text_in(f, "text")); return turn::ready;
    default: break;
  }
  const bool looks = flag_in(f, "unchanged");
  const bool is_own = info(st.what).group == op_group::poll;
  const std::uint64_t before = looks && is_own ? home_.back_end().state_hash() : 0;
  std::optional<status> answer;
  if (is_own) {
    answer = ask(face, st);
  } else {
    status s = status::ok;
    if (home_.perform(who_, st, s)) answer = s;
  }
  if (!answer) {
    ++stack_.back().at;  // It could not be done, and that was told.
    return turn::on;
  }
  if (*answer == status::would_block && info(st.what).is_cancel_point && !flag_in(f, "poll_once")) return turn::pending;
  parked_at_ = nullptr;
  if (looks && is_own) {
    home_.count_check();
    if (home_.back_end().state_hash() != before) home_.fail(who_, st, "expected the state unchanged, and it changed");
  }
  return after(st, *answer);
}

script_task::turn script_task::after(const step& st, status answer) {
  const judgement next = home_.judge(who_, st, answer);
  if (next.go == next_step::cancelled) {
    const bool again = is_cleaning_up_;
    stack_.clear();
    if (again || follows_.when_cancelled.empty()) return turn::ready;
    is_cleaning_up_ = true;
    stack_.push_back({&follows_.when_cancelled, 0, 1, "task " + name_ + ".when_cancelled"});
    return turn::on;
  }
  if (next.go == next_step::branch) {
    // The branch's end moves on behind this step.
    stack_.push_back({next.branch, 0, 1, ".on." + std::string(next.label)});
  } else {
    ++stack_.back().at;
  }
  return turn::on;
}

// ---- what only a poll can do -------------------------------------------------------------------------------------

std::optional<status> script_task::ask(poll_face& face, const step& st) {
  const node& f = *st.fields;
  switch (st.what) {
    case op::reserve:
    case op::recv:
    case op::sleep:
    case op::join:
    case op::await_closed: return ask_wait(face, st);
    case op::checkpoint: return face.checkpoint();
    case op::is_cancelled: home_.want_flag(who_, st, "is", face.is_cancelled()); return status::ok;
    case op::consume: return face.consume(number_in(f, "cost"));
    case op::mask: {
      const status s = face.mask();
      if (s == status::ok) ++masks_;
      return s;
    }
    case op::unmask:
      if (masks_ == 0) return status::invalid_argument;
      --masks_;
      face.unmask();  // Nothing, when the quota has ended the mask.
      return status::ok;
    case op::push_cleanup: {
      ref out = no_ref;
      const status s = face.push_cleanup(&play_run::run_block, &home_.block_of(who_, st, who_.region), out);
      if (s == status::ok) home_.bind(who_, st, "as", {thing::cleanup, out, 0});
      return s;
    }
    case op::pop_cleanup: {
      const bound* const what = home_.find(who_, st, "what", thing::cleanup);
      if (what == nullptr) return std::nullopt;
      return face.pop_cleanup(what->at);
    }
    default: stop_waiting(); return status::ok;
  }
}

std::optional<status> script_task::ask_wait(poll_face& face, const step& st) {
  // Who is parked waits for what it began to wait for, whatever the name stands for now.
  ref target = parked_on_;
  if (parked_at_ != &st) {
    if (st.what == op::reserve || st.what == op::recv || st.what == op::join) {
      const bool is_join = st.what == op::join;
      const bound* const what = st.what == op::reserve ? home_.find(who_, st, "tx", thing::sender)
                                : is_join              ? home_.find(who_, st, "task", thing::task)
                                                       : home_.find(who_, st, "rx", thing::receiver);
      if (what == nullptr) return std::nullopt;
      target = what->at;
      parked_channel_ = what->id;
    } else if (st.what == op::await_closed) {
      const std::optional<ref> region = home_.region_of(who_, st);
      if (!region) return std::nullopt;
      target = *region;
    } else {
      target = no_ref;
    }
    parked_at_ = &st;
    parked_on_ = target;
  }
  auto at = std::find_if(waits_.begin(), waits_.end(),
                         [&](const own_wait& w) { return w.what == st.what && w.target == target; });
  if (at == waits_.end()) {
    const node& f = *st.fields;
    const instant until = st.what != op::sleep         ? instant{}
                          : f.find("until") != nullptr ? moment_in(f, "until")
                                                       : home_.back_end().look().now + duration_in(f, "for");
    waits_.push_back({st.what, target, no_ref, until});
    at = waits_.end() - 1;
  }
  own_wait w = *at;  // A copy: what the poll sets off may come back here.
  const status s = poll_wait(face, st, w);
  at = std::find_if(waits_.begin(), waits_.end(),
                    [&](const own_wait& x) { return x.what == st.what && x.target == target; });
  if (at == waits_.end()) return s;
  if (s == status::would_block) {
    *at = w;
  } else {
    waits_.erase(at);
  }
  return s;
}

status script_task::poll_wait(poll_face& face, const step& st, own_wait& w) {
  switch (st.what) {
    case op::reserve: {
      ref permit = no_ref;
      const status s = face.reserve(w.target, w.wait, permit);
      if (s == status::ok) home_.bind(who_, st, "as", {thing::permit, permit, parked_channel_});
      return s;
    }
    case op::recv: {
      std::uint64_t value = 0;
      const status s = face.recv(w.target, value);
      if (s == status::would_block) home_.receiving_[w.target] = this;
      if (s == status::ok && play_run::knows(st, s)) home_.want_number(who_, st, "value", value);
      return s;
    }
    case op::sleep: return face.sleep(w.until, w.wait);
    case op::join: {
      const status s = face.join(w.target, w.wait);
      const node* const wanted = st.fields->find("outcome");
      if (s != status::ok || wanted == nullptr) return s;
      full_outcome got;
      if (home_.back_end().task_outcome(w.target, got) == status::ok) home_.want_outcome(who_, st, *wanted, got);
      return s;
    }
    default: return face.await_closed(w.target, w.wait);
  }
}

void script_task::stop_waiting() {
  const std::vector<own_wait> all = std::exchange(waits_, {});
  for (const own_wait& w : all) {
    if (w.what == op::recv) {
      const auto who = home_.receiving_.find(w.target);
      if (who == home_.receiving_.end() || who->second != this) continue;  // Another has taken the place.
      home_.receiving_.erase(who);
      home_.back_end().stop_recv(w.target);
    } else {
      home_.back_end().give_up(w.wait);
    }
  }
  parked_at_ = nullptr;
}

}  // namespace asx::scenario::detail
