// The play as a whole: the driver's steps, answers, names, the end.
#include "asx/scenario/player.hpp"

#include <algorithm>
#include <ranges>

#include "asx/scenario/detail/play.hpp"
#include "asx/scenario/world_kernel.hpp"

namespace asx::scenario {

verdict play(const scenario& s, const play_options& options) {
  return detail::play_run(s, options).run();
}

digest128 digest_of(std::span<const digest128> plays) {
  if (plays.size() == 1) return plays.front();
  digest_stream all;
  for (const digest128& play : plays) {
    const auto digits = play.hex();
    all.add(std::as_bytes(std::span(digits)));
  }
  return all.value();
}

}  // namespace asx::scenario

namespace asx::scenario::detail {

play_run::play_run(const scenario& s, const play_options& options) : s_(s), options_(options) {}

play_run::~play_run() {
  if (world_ == nullptr) return;
  world_->take_down();  // Scripts end while everything that they look at is still here.
  world_.reset();
}

verdict play_run::run() {
  world_ = options_.make_world != nullptr ? options_.make_world() : make_kernel_world(options_.by);
  runtime_config config = s_.settings;
  config.contract = s_.contract_for(options_.with);
  config.seed = options_.seed;
  config.memory = options_.memory;
  const event_sink sink{&out_.journal, [](void* journal, std::span<const event> batch) noexcept {
                          auto& all = *static_cast<std::vector<event>*>(journal);
                          all.insert(all.end(), batch.begin(), batch.end());
                        }};
  if (const status s = world_->start(config, sink); s != status::ok) {
    count_check();
    const node* const settings = s_.tree.find("runtime");
    add_failure({settings != nullptr ? settings->at : s_.tree.at, "runtime",
                 "the runtime does not start in the profile " + std::string(name(options_.with)) + ": " +
                     std::string(name(s)) + "; ask for less in 'contract'"});
    world_.reset();
    return std::move(out_);
  }
  bind_as({}, "root", {thing::region, root_ref, 1});
  actor driver;
  driver.is_driver = true;
  run_list(driver, s_.driver, "steps");
  if (s_.shuts_down && !was_shut_down_ && !is_over()) {
    const quiescence_look end = world_->shutdown({}, options_.max_steps);
    count_check();
    if (!end.failed.empty()) {
      add_failure({s_.tree.at, "shutdown", "the shutdown does not end in quiescence: " + show_all(end.failed)});
    }
  }
  out_.digest = world_->digest();
  if (!s_.digest.empty()) {
    count_check();
    const auto digits = out_.digest.hex();
    const std::string got(digits.data(), digits.size());
    if (got != s_.digest) add_failure({s_.tree.find("digest")->at, "digest", "expected " + s_.digest + ", got " + got});
  }
  if (out_.failed > most_failures) {
    out_.failures.push_back(
        {s_.tree.at, "play", "and " + std::to_string(out_.failed - most_failures) + " more failures"});
  }
  out_.limit_refusals = count_limit_refusals();
  out_.ended_at = world_->look().now;
  return std::move(out_);  // What is taken down afterwards is told to what is left here.
}

const std::vector<event>& play_run::events() {
  world_->settle_journal();
  return out_.journal;
}

// ---- steps -------------------------------------------------------------------------------------------------------

void play_run::run_list(const actor& who, const steps& list, const std::string& path) {
  actor at = who;
  for (std::size_t i = 0; i < list.size() && !is_over(); ++i) {
    at.path = path + '[' + std::to_string(i) + ']';
    if (!who.is_driver && !may_go_on(at, list[i])) return;
    status answer = status::ok;
    if (!perform(at, list[i], answer)) continue;
    const judgement next = judge(at, list[i], answer);
    if (next.go == next_step::branch) run_list(who, *next.branch, at.path + ".on." + std::string(next.label));
  }
}

status play_run::run_block(void* block) {
  const sync_block& b = *static_cast<const sync_block*>(block);
  b.home->run_list(b.who, *b.list, b.who.path);
  if (b.who.own != nullptr && b.who.own->is_orphaned) b.home->drop_ends(*b.who.own);  // Nobody else would.
  return b.returns;
}

sync_block& play_run::block_of(const actor& who, const step& st, ref region) {
  sync_block& block = blocks_.emplace_back(sync_block{this, &st.inner, status_in(*st.fields, "returns"), who});
  block.who.path = path_of(who) + ".steps";
  block.who.task = nullptr;  // It runs when nobody is polled.
  block.who.is_driver = false;
  block.who.region = region;
  return block;
}

bool play_run::may_go_on(const actor& who, const step& st, std::uint64_t steps) {
  if (is_over()) return false;
  scripted_ += steps;
  if (!is_over()) return true;
  fail_to_look(who, st, "scripts did more than " + std::to_string(script_limit()) + " steps; the play ends here");
  was_cut_off_ = true;
  return false;
}

bool play_run::perform(actor& who, const step& st, status& answer) {
  const bool looks = flag_in(*st.fields, "unchanged");
  const std::uint64_t before = looks ? world_->state_hash() : 0;
  const std::uint64_t wheels_before = looks ? wheels_hash() : 0;
  bool is_done = false;
  switch (info(st.what).group) {
    case op_group::region: is_done = perform_region(who, st, answer); break;
    case op_group::task: is_done = perform_task(who, st, answer); break;
    case op_group::channel: is_done = perform_channel(who, st, answer); break;
    case op_group::thing: is_done = perform_thing(who, st, answer); break;
    case op_group::driver: is_done = perform_driver(who, st, answer); break;
    case op_group::law: is_done = perform_law(who, st, answer); break;
    case op_group::expect:
      expect(who, st);
      is_done = true;
      break;
    case op_group::poll:
    case op_group::control: fail_to_look(who, st, "only a task that is polled can do this"); break;
  }
  if (looks && is_done) {
    count_check();
    if (world_->state_hash() != before || wheels_hash() != wheels_before) {
      fail(who, st, "expected the state unchanged, and it changed");
    }
  }
  return is_done;
}

bool play_run::knows(const step& st, status answer) {
  if (std::find(st.expected.begin(), st.expected.end(), answer) != st.expected.end()) return true;
  return std::any_of(st.on.begin(), st.on.end(), [answer](const auto& branch) { return branch.first == answer; });
}

judgement play_run::judge(const actor& who, const step& st, status answer) {
  if (st.what == op::expect) return {};
  count_check();
  for (const auto& [on, branch] : st.on) {
    if (on == answer) return {next_step::branch, &branch, name(answer)};
  }
  if (knows(st, answer)) return {};
  if (answer == status::cancelled && who.task != nullptr && info(st.what).is_cancel_point && !st.says_status) {
    return {next_step::cancelled, nullptr, {}};
  }
  fail_expected(who, st, "status", show_statuses(st.expected), name(answer));
  return {};
}

// ---- names -------------------------------------------------------------------------------------------------------

const bound* play_run::find_name(const actor& who, std::string_view name) const {
  const bool is_own = name.starts_with('$');
  if (is_own && who.own == nullptr) return nullptr;
  const name_table& table = is_own ? who.own->names : names_;
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

const bound* play_run::find(const actor& who, const step& st, std::string_view field, std::uint32_t kinds) {
  return find_called(who, st, std::string(text_in(*st.fields, field)), kinds);
}

const bound* play_run::find_called(const actor& who, const step& st, const std::string& name, std::uint32_t kinds) {
  const bound* const found = find_name(who, name);
  if (found == nullptr) {
    fail_to_look(who, st, "nothing is called '" + name + "' yet");
    return nullptr;
  }
  if ((found->what & kinds) == 0) {
    fail_to_look(who, st, "'" + name + "' is " + std::string(noun_of(found->what)) + " now");
    return nullptr;
  }
  return found;
}

std::optional<ref> play_run::region_of(const actor& who, const step& st, std::string_view field) {
  if (st.fields->find(field) == nullptr) return who.region;
  const bound* const found = find(who, st, field, thing::region);
  return found == nullptr ? std::nullopt : std::optional<ref>(found->at);
}

void play_run::bind(const actor& who, const step& st, std::string_view field, const bound& what) {
  if (const node* const as = st.fields->find(field); as != nullptr) bind_as(who, as->text, what);
}

void play_run::bind_as(const actor& who, std::string_view name, const bound& what) {
  own_names* const own = name.starts_with('$') ? who.own.get() : nullptr;
  (own != nullptr ? own->names : names_).insert_or_assign(std::string(name), what);
  const bool is_end = (what.what & (thing::sender | thing::receiver | thing::permit)) != 0;
  if (own != nullptr && is_end) own->ends.push_back(what);
  const numbered_thing* const row = find_numbered_thing(what.what);
  const bool has_number = row != nullptr && what.what != thing::permit;  // A permit's is that of its channel.
  if (has_number && what.id != 0) out_.names.push_back({row->letter, what.id, std::string(name)});
}

std::string play_run::name_of(char type, std::uint64_t id) const {
  for (const auto& n : std::views::reverse(out_.names)) {
    if (n.type == type && n.id == id) return n.name;
  }
  if (id == 0) return "none";
  for (const numbered_thing& row : numbered_things) {
    if (row.letter == type) return std::string(row.noun) + ' ' + std::to_string(id);
  }
  return std::to_string(id);
}

void play_run::drop_end(const bound& end) {
  if (end.what == thing::sender) world_->drop_sender(end.at);
  if (end.what == thing::receiver) world_->drop_receiver(end.at);
  if (end.what == thing::permit) world_->drop_permit(end.at);
}

void play_run::drop_ends(own_names& of) {
  const std::vector<bound> ends = std::exchange(of.ends, {});
  for (const bound& end : std::views::reverse(ends)) drop_end(end);
}

// ---- what is wrong -----------------------------------------------------------------------------------------------

std::string play_run::path_of(const actor& who) {
  return who.task != nullptr ? who.task->path() : who.path;
}

void play_run::fail(const actor& who, const step& st, std::string text) {
  if (was_cut_off_) return;
  if (out_.failed >= most_failures) {
    ++out_.failed;  // A path is long to write.
    return;
  }
  add_failure({st.fields->at, path_of(who) + ' ' + std::string(name(st.what)), std::move(text)});
}

void play_run::fail_to_look(const actor& who, const step& st, std::string text) {
  count_check();
  fail(who, st, std::move(text));
}

void play_run::add_failure(failure f) {
  if (++out_.failed <= most_failures) out_.failures.push_back(std::move(f));
}

void play_run::fail_expected(const actor& who, const step& st, std::string_view what, std::string_view wanted,
                             std::string_view got) {
  std::string text = "expected ";
  text += what;
  text += ' ';
  text += wanted;
  text += ", got ";
  text += got;
  fail(who, st, std::move(text));
}

void play_run::want_number(const actor& who, const step& st, std::string_view field, std::uint64_t got) {
  const node* const wanted = st.fields->find(field);
  if (wanted == nullptr) return;
  count_check();
  if (number_of(*wanted) != got) fail_expected(who, st, field, std::to_string(number_of(*wanted)), std::to_string(got));
}

void play_run::want_flag(const actor& who, const step& st, std::string_view field, bool got) {
  const node* const wanted = st.fields->find(field);
  if (wanted == nullptr) return;
  count_check();
  if (wanted->flag != got) fail_expected(who, st, field, show(wanted->flag), show(got));
}

void play_run::want_word(const actor& who, const step& st, std::string_view field, std::string_view got) {
  const node* const wanted = st.fields->find(field);
  if (wanted == nullptr) return;
  count_check();
  if (wanted->text != got) fail_expected(who, st, field, wanted->text, got);
}

// ---- the driver's own --------------------------------------------------------------------------------------------

bool play_run::perform_driver(actor& who, const step& st, status& answer) {
  const node& f = *st.fields;
  const std::uint64_t limit = std::min(number_in(f, "max_steps", options_.max_steps), options_.max_steps);
  switch (st.what) {
    case op::set_governor: {
      const std::size_t to = index_in(text_in(f, "to"), governor_words()).value_or(0);
      world_->set_governor(static_cast<governor>(to));
      return true;
    }
    case op::advance: {
      const duration by = f.find("by") != nullptr ? duration_in(f, "by") : moment_in(f, "to") - world_->look().now;
      answer = world_->advance(by);
      return true;
    }
    case op::step: {
      std::optional<std::uint32_t> worker;
      if (f.find("worker") != nullptr) worker = static_cast<std::uint32_t>(number_in(f, "worker"));
      step_look last;
      const std::uint64_t times = number_in(f, "times", 1);
      for (std::uint64_t i = 0; i < times; ++i) last = world_->step(worker);
      answer = last.refused;
      if (knows(st, answer)) look_at_step(who, st, last);
      return true;
    }
    case op::run_until_idle:
    case op::run_until_quiescent: {
      const run_look ran =
          st.what == op::run_until_idle ? world_->run_until_idle(limit) : world_->run_until_quiescent(limit);
      answer = ran.ended;
      if (knows(st, answer)) want_number(who, st, "steps", ran.steps);
      return true;
    }
    case op::shutdown: shut_down(who, st, answer); return true;
    case op::certificate: look_at_certificate(who, st); return true;
    case op::reset_certificate: world_->reset_certificate(); return true;
    default: break;
  }
  return false;
}

void play_run::look_at_step(const actor& who, const step& st, const step_look& last) {
  want_flag(who, st, "idle", last.is_idle);
  if (!options_.checks_order) return;
  const bool asks = st.fields->find("task") != nullptr || st.fields->find("from") != nullptr;
  if (asks && last.is_idle) {
    count_check();
    fail(who, st, "expected a dispatch, got an idle step");
    return;
  }
  if (st.fields->find("task") != nullptr) {
    const bound* const wanted = find(who, st, "task", thing::task);
    if (wanted != nullptr) count_check();
    if (wanted != nullptr && wanted->id != last.task.value) {
      fail_expected(who, st, "task", text_in(*st.fields, "task"), name_of('t', last.task.value));
    }
  }
  want_word(who, st, "from", dispatch_words()[static_cast<std::size_t>(last.from)]);
}

void play_run::shut_down(const actor& who, const step& st, status& answer) {
  was_shut_down_ = true;
  const quiescence_look end = world_->shutdown(duration_in(*st.fields, "grace"), options_.max_steps);
  if (st.says_status || !st.on.empty()) {  // Then that says everything.
    answer = end.first;
    return;
  }
  count_check();
  const bool wanted = flag_in(*st.fields, "quiescent", true);
  if (end.failed.empty() == wanted) return;
  fail_expected(who, st, "quiescent", show(wanted), wanted ? "false: " + show_all(end.failed) : "true");
}

void play_run::look_at_certificate(const actor& who, const step& st) {
  const fairness_certificate now = world_->certificate();
  want_number(who, st, "cancel", now.cancel_dispatches);
  want_number(who, st, "timed", now.timed_dispatches);
  want_number(who, st, "ready", now.ready_dispatches);
  want_number(who, st, "fallback", now.fallback_cancel_dispatches);
  want_number(who, st, "base_exceedances", now.base_limit_exceedances);
  want_number(who, st, "effective_exceedances", now.effective_limit_exceedances);
  want_number(who, st, "max_effective", now.max_effective_limit_observed);
  if (st.fields->find("same_as") != nullptr) {
    const bound* const earlier = find(who, st, "same_as", thing::certificate);
    if (earlier != nullptr) count_check();
    if (earlier != nullptr && certificates_[earlier->at] != now.witness_hash()) {
      fail(who, st, "expected the same hash as '" + std::string(text_in(*st.fields, "same_as")) + "', got another");
    }
  }
  certificates_.push_back(now.witness_hash());
  bind(who, st, "as", {thing::certificate, static_cast<ref>(certificates_.size() - 1), 0});
}

}  // namespace asx::scenario::detail
