// Expectations of what was said, destroyed, dispatched and journalled.
#include <algorithm>

#include "asx/journal/event_table.hpp"
#include "asx/scenario/detail/play.hpp"

namespace asx::scenario::detail {

mark_place play_run::since(const actor& who, const step& st) {
  const node* const named = st.fields->find("since");
  if (named == nullptr) return {};
  const auto found = marks_.find(named->text);
  if (found != marks_.end()) return found->second;
  fail_to_look(who, st, "nothing is marked '" + named->text + "' yet");
  return {};
}

void play_run::want_list(const actor& who, const step& st, std::string_view what,
                         const std::vector<std::string>& wanted, const std::vector<std::string>& got) {
  count_check();
  const auto [w, g] = std::mismatch(wanted.begin(), wanted.end(), got.begin(), got.end());
  if (w == wanted.end() && g == got.end()) return;
  constexpr std::size_t few = 12;
  std::string text(what);
  text += " differs at " + std::to_string(w - wanted.begin());
  text += ": expected " + (w == wanted.end() ? std::string("no more") : *w);
  text += ", got " + (g == got.end() ? std::string("no more") : *g);
  if (wanted.size() <= few && got.size() <= few) {
    text += "; expected " + show_list(wanted) + ", got " + show_list(got);
  } else {
    text += "; expected " + std::to_string(wanted.size()) + " entries, got " + std::to_string(got.size());
  }
  fail(who, st, std::move(text));
}

void play_run::want_in_order(const actor& who, const step& st, std::string_view what, std::vector<std::string> wanted,
                             std::vector<std::string> got) {
  if (!options_.checks_order) {
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
  }
  want_list(who, st, what, wanted, got);
}

void play_run::expect_said(const actor& who, const step& st) {
  std::vector<std::string> wanted;
  for (const node& line : st.fields->find("said")->items) wanted.push_back(line.text);
  std::vector<std::string> got(out_.said.begin() + static_cast<std::ptrdiff_t>(since(who, st).said), out_.said.end());
  if (flag_in(*st.fields, "sorted")) {
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
  }
  want_in_order(who, st, "said", std::move(wanted), std::move(got));
}

void play_run::expect_destroyed(const actor& who, const step& st) {
  std::vector<std::string> wanted, got;
  for (const node& value : st.fields->find("destroyed")->items) wanted.push_back(std::to_string(number_of(value)));
  for (const std::uint64_t value : world_->destroyed()) got.push_back(std::to_string(value));
  want_in_order(who, st, "destroyed", std::move(wanted), std::move(got));
}

void play_run::expect_dispatched(const actor& who, const step& st) {
  std::vector<std::string> wanted, got, from;
  const std::vector<event>& all = events();
  for (std::size_t i = since(who, st).events; i < all.size(); ++i) {
    if (all[i].kind != event_kind::task_dispatched) continue;
    got.push_back(name_of('t', all[i].subject));
    from.emplace_back(dispatch_words()[high_half(all[i].a)]);
  }
  for (const node& task : st.fields->find("dispatched")->items) {
    const bound* const found = find_called(who, st, task.text, thing::task);
    if (found == nullptr) return;
    wanted.push_back(name_of('t', found->id));
  }
  want_in_order(who, st, "dispatched", std::move(wanted), std::move(got));
  const node* const lanes = st.fields->find("from");
  if (lanes == nullptr) return;
  std::vector<std::string> wanted_from;
  for (const node& lane : lanes->items) wanted_from.push_back(lane.text);
  want_in_order(who, st, "from", std::move(wanted_from), std::move(from));
}

// ---- events ------------------------------------------------------------------------------------------------------

struct play_run::wanted_event {
  event_kind kind{};
  std::optional<std::uint64_t> of{}, with{}, a{}, b{};
  std::string of_name{}, with_name{};

  [[nodiscard]] bool is(const event& e) const {
    return e.kind == kind && (!of || *of == e.subject) && (!with || *with == e.object) && (!a || *a == e.a) &&
           (!b || *b == e.b);
  }
  static constexpr int most_said = 4;
  [[nodiscard]] int said() const {
    return int{of.has_value()} + int{with.has_value()} + int{a.has_value()} + int{b.has_value()};
  }
};

namespace {

std::string event_text(event_kind kind, const std::string& of, const std::string& with,
                       const std::optional<std::uint64_t>& a, const std::optional<std::uint64_t>& b) {
  std::string out(name(kind));
  if (!of.empty()) out += ' ' + of;
  if (!with.empty()) out += " with " + with;
  if (a) out += " a=" + std::to_string(*a);
  if (b) out += " b=" + std::to_string(*b);
  return out;
}

}  // namespace

bool play_run::read_wanted(const actor& who, const step& st, const node& item, wanted_event& out) {
  const bool is_text = item.is(node_kind::text);
  const std::string_view whole = is_text ? std::string_view(item.text) : text_in(item, "kind");
  const std::size_t space = std::min(whole.find(' '), whole.size());
  const event_info* const row = find_event_kind(whole.substr(0, space));
  if (row == nullptr) {
    fail_to_look(who, st, "'" + std::string(whole) + "' is no kind of event");
    return false;
  }
  out.kind = row->kind;
  out.of_name = is_text ? (space < whole.size() ? whole.substr(space + 1) : std::string_view{}) : text_in(item, "of");
  out.with_name = is_text ? std::string_view{} : text_in(item, "with");
  // Numbers of different kinds of things may be equal: what is named must be what the event has at that place.
  const auto resolve = [&](const std::string& name, field_type type, std::optional<std::uint64_t>& id) {
    if (name.empty()) return true;
    const bound* const found = find_called(who, st, name, things_of(type));
    if (found != nullptr) id = found->id;
    return found != nullptr;
  };
  if (!resolve(out.of_name, row->subject, out.of) || !resolve(out.with_name, row->object, out.with)) return false;
  if (is_text) return true;
  if (const node* const a = item.find("a"); a != nullptr) out.a = number_of(*a);
  if (const node* const b = item.find("b"); b != nullptr) out.b = number_of(*b);
  return true;
}

std::string play_run::show_event(const wanted_event& e) const {
  return event_text(e.kind, e.of_name, e.with_name, e.a, e.b);
}

// As a file would say it, with the parts that were asked for.
std::string play_run::show_event(const event& e, const wanted_event* like) const {
  const event_info* const row = find_event_kind(static_cast<std::uint64_t>(e.kind));
  const auto show_id = [&](field_type type, std::uint64_t id) {
    const numbered_thing* const numbered = find_numbered(type);
    return name_of(numbered != nullptr ? numbered->letter : '\0', id);
  };
  const bool shows_of = (like == nullptr || like->of) && row->subject != field_type::none;
  return event_text(e.kind, shows_of ? show_id(row->subject, e.subject) : std::string(),
                    like != nullptr && like->with ? show_id(row->object, e.object) : std::string(),
                    like != nullptr && like->a ? std::optional<std::uint64_t>(e.a) : std::nullopt,
                    like != nullptr && like->b ? std::optional<std::uint64_t>(e.b) : std::nullopt);
}

void play_run::expect_events(const actor& who, const step& st) {
  std::vector<wanted_event> wanted;
  std::vector<event_kind> kinds;
  for (const node& item : st.fields->find("events")->items) {
    wanted_event e;
    if (!read_wanted(who, st, item, e)) return;
    kinds.push_back(e.kind);
    wanted.push_back(std::move(e));
  }
  if (const node* const more = st.fields->find("kinds"); more != nullptr) {
    for (const node& kind : more->items) {
      if (const event_info* const row = find_event_kind(kind.text); row != nullptr) kinds.push_back(row->kind);
    }
  }
  const std::vector<event>& all = events();
  std::vector<event> seen;
  for (std::size_t i = since(who, st).events; i < all.size(); ++i) {
    if (std::find(kinds.begin(), kinds.end(), all[i].kind) != kinds.end()) seen.push_back(all[i]);
  }
  if (!options_.checks_order) return want_events_anyhow(who, st, wanted, std::move(seen));
  if (flag_in(*st.fields, "among")) {
    std::size_t found = 0;
    for (const event& e : seen) {
      if (found < wanted.size() && wanted[found].is(e)) ++found;
    }
    count_check();
    if (found < wanted.size()) {
      fail(
          who, st,
          "events lack entry " + std::to_string(found) + ", " + show_event(wanted[found]) + ", behind those before it");
    }
    return;
  }
  // Texts agree exactly where events do: an event that fits is shown as what was asked for.
  std::vector<std::string> expected, got;
  for (const wanted_event& e : wanted) expected.push_back(show_event(e));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const wanted_event* const like = i < wanted.size() ? &wanted[i] : nullptr;
    got.push_back(like != nullptr && like->is(seen[i]) ? expected[i] : show_event(seen[i], like));
    if (like != nullptr && !like->is(seen[i]) && got[i] == expected[i]) got[i] += " (another of that name)";
  }
  want_list(who, st, "events", expected, got);
}

// In whatever order. Who says most about an event has the first choice.
void play_run::want_events_anyhow(const actor& who, const step& st, const std::vector<wanted_event>& wanted,
                                  std::vector<event> seen) {
  count_check();
  for (int says = wanted_event::most_said; says >= 0; --says) {
    for (const wanted_event& e : wanted) {
      if (e.said() != says) continue;
      const auto found = std::find_if(seen.begin(), seen.end(), [&](const event& s) { return e.is(s); });
      if (found == seen.end()) return fail(who, st, "events lack " + show_event(e) + ", in whatever order");
      seen.erase(found);
    }
  }
  if (seen.empty() || flag_in(*st.fields, "among")) return;
  fail(who, st, "events have " + show_event(seen.front(), nullptr) + " too many, in whatever order");
}

void play_run::expect_count(const actor& who, const step& st) {
  const std::vector<event>& all = events();
  const node& counts = *st.fields->find("count");
  const std::size_t from = since(who, st).events;
  for (std::size_t i = 0; i < counts.keys.size(); ++i) {
    const event_info* const row = find_event_kind(counts.keys[i]);
    std::uint64_t got = 0;
    for (std::size_t k = from; k < all.size(); ++k) got += row != nullptr && all[k].kind == row->kind ? 1U : 0U;
    count_check();
    if (number_of(counts.items[i]) != got) {
      fail_expected(who, st, counts.keys[i], std::to_string(number_of(counts.items[i])), std::to_string(got));
    }
  }
}

}  // namespace asx::scenario::detail
