// The table of words keeps to its own laws, and each way to write a value has one reading.
#include "asx/scenario/words.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace asx::scenario;
using namespace std::literals;
using asx::status;

void expect_sound(std::string_view of, std::span<const field_info> fields) {
  std::set<std::string_view> seen;
  for (const field_info& f : fields) {
    EXPECT_TRUE(seen.insert(f.name).second) << of << " has '" << f.name << "' twice";
    EXPECT_FALSE(f.says.empty()) << of << "." << f.name;
    EXPECT_LE(f.least, f.most) << of << "." << f.name;
    const bool takes_names =
        f.type == takes::name || f.type == takes::new_name || f.type == takes::names || f.type == takes::name_or_true;
    EXPECT_EQ(takes_names, f.things != 0) << of << "." << f.name;
    const bool takes_words = f.type == takes::word || f.type == takes::words || f.type == takes::counts;
    EXPECT_EQ(takes_words, !f.words.empty()) << of << "." << f.name;
  }
}

TEST(scenario_words, every_row_is_whole) {
  std::set<std::string_view> words;
  for (const op_info& row : all_ops()) {
    EXPECT_TRUE(words.insert(row.word).second) << row.word << " is there twice";
    EXPECT_EQ(find_op(row.word), &row);
    EXPECT_EQ(&info(row.what), &row);
    EXPECT_NE(row.stands, 0);
    EXPECT_FALSE(row.says.empty()) << row.word;
    expect_sound(row.word, row.fields);
    for (const field_info& f : row.fields) {
      EXPECT_EQ(find_field(fields_of_every_step(), f.name), nullptr) << row.word << " hides " << f.name;
    }
    EXPECT_TRUE(row.one_of.empty() || row.one_of.size() == 2) << row.word;
    for (const std::string_view field : row.one_of) EXPECT_NE(find_field(row.fields, field), nullptr) << row.word;
    // Whatever waits belongs to tasks: neither the driver nor a finalizer can be parked.
    EXPECT_TRUE(!row.is_cancel_point || row.stands == place_of::task) << row.word;
  }
  expect_sound("every step", fields_of_every_step());
  expect_sound("the file", fields_of_file());
  expect_sound("runtime", runtime_settings());
}

TEST(scenario_words, a_field_of_one_thing_names_no_other_thing) {
  for (const expectation_info& row : all_expectations()) {
    expect_sound(row.subject.name, row.fields);
    for (const expectation_info& other : all_expectations()) {
      EXPECT_EQ(find_field(row.fields, other.subject.name), nullptr) << row.subject.name << " " << other.subject.name;
    }
  }
}

TEST(scenario_words, every_limit_is_one_member_of_the_contract) {
  for (const limit_info& row : all_limits()) {
    EXPECT_NE(row.narrow == nullptr, row.wide == nullptr) << row.name;
    EXPECT_LE(row.most, row.narrow != nullptr ? UINT32_MAX : UINT64_MAX) << row.name;
    for (const auto& c :
         {asx::resource_contract::tiny(), asx::resource_contract::core(), asx::resource_contract::server()}) {
      const std::uint64_t usual = row.narrow != nullptr ? c.*row.narrow : c.*row.wide;
      EXPECT_TRUE(row.least <= usual && usual <= row.most) << row.name << " refuses what a profile has: " << usual;
    }
  }
}

TEST(scenario_words, words_stand_in_the_order_of_their_enumerations) {
  EXPECT_EQ(dispatch_words()[static_cast<std::size_t>(asx::dispatch_source::stall)], "stall");
  EXPECT_EQ(dispatch_words()[static_cast<std::size_t>(asx::dispatch_source::timed)], "timed");
  EXPECT_EQ(governor_words()[static_cast<std::size_t>(asx::governor::drain_obligations)], "drain_obligations");
  EXPECT_EQ(governor_words()[static_cast<std::size_t>(asx::governor::meet_deadlines)], "meet_deadlines");
  EXPECT_EQ(budget_part_words()[static_cast<std::size_t>(asx::budget_part::cost)], "cost");
  for (const profile p : {profile::tiny, profile::core, profile::server}) {
    EXPECT_EQ(profile_words()[static_cast<std::size_t>(p)], name(p));
  }
  EXPECT_EQ(state_words("task").size(), 6U);
  EXPECT_EQ(state_words("channel")[2], "receiver_closed");
  EXPECT_TRUE(state_words("timer").empty());
}

TEST(scenario_words, a_status_has_three_spellings) {
  for (const asx::status_info& row : asx::status_table) {
    EXPECT_EQ(parse_status(row.name), row.code);
    EXPECT_EQ(parse_status(row.c_name), row.code);
    EXPECT_EQ(parse_status(row.c_name.substr(row.code == status::ok ? 4 : 6)), row.code);
  }
  EXPECT_EQ(parse_status("ASX_E_OK"), std::nullopt);
  EXPECT_EQ(parse_status("Full"), std::nullopt);
  EXPECT_EQ(parse_status(""), std::nullopt);
}

TEST(scenario_words, durations_are_sums_of_numbers_with_units) {
  const auto ns = [](std::string_view word) {
    asx::duration out{7};
    std::string why;
    return parse_duration(word, out, why) ? std::to_string(out.ns) : why;
  };
  EXPECT_EQ(ns("0"), "0");
  EXPECT_EQ(ns("12"), "12");
  EXPECT_EQ(ns("7ns"), "7");
  EXPECT_EQ(ns("5us"), "5000");
  EXPECT_EQ(ns("5ms"), "5000000");
  EXPECT_EQ(ns("1s+5ns"), "1000000005");
  EXPECT_EQ(ns("2m"), "120000000000");
  EXPECT_EQ(ns("24h"), ns("1d"));
  EXPECT_EQ(ns("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(ns("18446744073709551616"), "'18446744073709551616' is longer than 2^64 - 1 nanoseconds.");
  EXPECT_EQ(ns("18446744073709551615+1ns"), "'18446744073709551615+1ns' is longer than 2^64 - 1 nanoseconds.");
  EXPECT_EQ(ns("213504d"), "'213504d' is longer than 2^64 - 1 nanoseconds.");
  EXPECT_EQ(ns(""), "'' is no duration; write a number and a unit, such as 5ms.");
  EXPECT_EQ(ns("1s+"), "'' is no duration; write a number and a unit, such as 5ms.");
  EXPECT_EQ(ns("-1s"), "'-1s' is no duration; write a number and a unit, such as 5ms.");
  EXPECT_EQ(ns("1 s"), "'1 s' has no unit that is known; use ns, us, ms, s, m, h or d.");
  EXPECT_EQ(ns("1S"), "'1S' has no unit that is known; use ns, us, ms, s, m, h or d.");
}

TEST(scenario_words, the_nearest_word_is_a_slip_away) {
  constexpr std::string_view words[] = {"region", "kind", "message"};
  EXPECT_EQ(nearest("regoin", words), "region");
  EXPECT_EQ(nearest("knd", words), "kind");
  EXPECT_EQ(nearest("value", words), "");
  EXPECT_EQ(or_meant("regoin", words), "; did you mean 'region'?");
  EXPECT_EQ(or_meant(std::string(100'000, 'x'), words), ".");
}

TEST(scenario_words, values_of_nodes) {
  node v;
  complaint wrong;
  ASSERT_TRUE(
      parse(R"({"n": 5, "m": "max", "d": "1ms", "never": "none", "f": true, "t": "x", "s": "FULL", "k": "shutdown",
      "b": {"deadline": "2ms", "polls": 3}, "z": "zero",
      "r": {"kind": "timeout", "at": 9, "message": "late"},
      "ok": "ok", "ok7": {"ok": 7}, "none": {"ok": null}, "err": {"err": "empty", "detail": 3},
      "c": {"cancelled": {"kind": "user"}, "overran": true, "cleanup_error": "full"}, "p": {"panicked": "boo"}})",
            v, wrong));
  EXPECT_EQ(number_in(v, "n"), 5U);
  EXPECT_EQ(number_in(v, "m"), UINT64_MAX);
  EXPECT_EQ(number_in(v, "absent", 4), 4U);
  EXPECT_EQ(duration_in(v, "d").ns, 1'000'000U);
  EXPECT_EQ(duration_in(v, "m"), asx::duration::max());
  EXPECT_EQ(moment_in(v, "d").ns, 1'000'000U);
  EXPECT_TRUE(moment_in(v, "never").is_none());
  EXPECT_TRUE(flag_in(v, "f"));
  EXPECT_TRUE(flag_in(v, "absent", true));
  EXPECT_EQ(text_in(v, "t"), "x");
  EXPECT_EQ(status_in(v, "s"), status::full);
  EXPECT_EQ(cancel_kind_in(v, "k"), asx::cancel_kind::shutdown);
  EXPECT_EQ(cancel_kind_in(v, "absent"), asx::cancel_kind::user);
  EXPECT_EQ(budget_in(v, "b"), (asx::budget{asx::instant{2'000'000}, 3, asx::unlimited, 0}));
  EXPECT_EQ(budget_in(v, "z"), asx::budget::zero());
  EXPECT_EQ(budget_in(v, "absent"), asx::budget::infinite());
  const asx::cancel_reason r = reason_of(*v.find("r"));
  EXPECT_EQ(r.kind, asx::cancel_kind::timeout);
  EXPECT_EQ(r.timestamp.ns, 9U);
  EXPECT_EQ(r.message, "late");
  EXPECT_TRUE(outcome_of(*v.find("ok")).is_ok() && !outcome_of(*v.find("ok")).has_value());
  EXPECT_EQ(outcome_of(*v.find("ok7")).value(), 7U);
  EXPECT_FALSE(outcome_of(*v.find("none")).has_value());
  EXPECT_EQ(outcome_of(*v.find("err")).error(), (asx::error{status::empty, 3}));
  const asx::cancellation c = outcome_of(*v.find("c")).cancelled_by();
  EXPECT_TRUE(c.cleanup_budget_exceeded);
  EXPECT_EQ(c.cleanup_error, status::full);
  EXPECT_EQ(outcome_of(*v.find("p")).panic().text, "boo");
}

}  // namespace
