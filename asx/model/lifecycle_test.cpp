// asx/model/lifecycle_test.cpp - every pair of states and every (state, trigger), against the catalogue.
//
// The matrices below are the expectation, written out from the catalogue and from, not
// from the tables under test. A cell is a row's id where the move is legal, and otherwise the refusal:
//
//   "-"   invalid_transition             "res"  obligation_already_resolved
//   "lk"  obligation_leaked              "reg"  witness_phase_regression
//   "="   legal, but the catalogue gives the row no id (cancel phases only)
#include "asx/model/lifecycle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace {

using asx::cancel_phase;
using asx::cancel_phase_trigger;
using asx::channel_state;
using asx::channel_trigger;
using asx::obligation_state;
using asx::obligation_trigger;
using asx::region_state;
using asx::region_trigger;
using asx::status;
using asx::task_state;
using asx::task_trigger;

template <std::size_t Rows, std::size_t Columns>
using matrix = std::array<std::array<std::string_view, Columns>, Rows>;

struct expected_state {
  std::string_view name;
  std::string_view c_name;
};

bool is_refusal(std::string_view cell) {
  return cell == "-" || cell == "res" || cell == "lk" || cell == "reg";
}

status status_of(std::string_view cell) {
  if (cell == "-") return status::invalid_transition;
  if (cell == "res") return status::obligation_already_resolved;
  if (cell == "lk") return status::obligation_leaked;
  if (cell == "reg") return status::witness_phase_regression;
  return status::ok;
}

template <class Enum>
constexpr Enum at(std::size_t ordinal) {
  return static_cast<Enum>(ordinal);
}

template <class Enum>
constexpr std::size_t ordinal(Enum e) {
  return static_cast<std::size_t>(e);
}

// All pairs: the exact status, legal(), the row found and its ends; then the three counts.
template <class State, class Table, std::size_t N>
void expect_pairs(const Table& table, const matrix<N, N>& want, std::size_t legal, std::size_t forbidden) {
  std::size_t accepted = 0;
  for (std::size_t from = 0; from < N; ++from) {
    for (std::size_t to = 0; to < N; ++to) {
      const std::string_view cell = want[from][to];
      SCOPED_TRACE("from " + std::string(table.name(at<State>(from))) + " to " +
                   std::string(table.name(at<State>(to))));
      EXPECT_EQ(table.check(at<State>(from), at<State>(to)), status_of(cell));
      EXPECT_EQ(table.legal(at<State>(from), at<State>(to)), !is_refusal(cell));
      const auto* row = table.find(at<State>(from), at<State>(to));
      ASSERT_EQ(row != nullptr, !is_refusal(cell));
      if (row == nullptr) continue;
      ++accepted;
      EXPECT_EQ(row->from, at<State>(from));
      EXPECT_EQ(row->to, at<State>(to));
      if (cell != "=") {
        EXPECT_EQ(row->id, cell);
      }
    }
  }
  EXPECT_EQ(accepted, legal);
  EXPECT_EQ(table.state_count(), N);
  EXPECT_EQ(table.pair_count(), N * N);
  EXPECT_EQ(table.legal_pair_count(), legal);
  EXPECT_EQ(table.forbidden_pair_count(), forbidden);
  EXPECT_EQ(legal + forbidden, N * N);
}

// The catalogue names a trigger that is a call by its function, and one that is an event by a phrase; whether the
// words of a phrase are joined is not laid down.
std::string words(std::string_view name) {
  std::string joined(name);
  std::replace(joined.begin(), joined.end(), ' ', '_');
  return joined;
}

// All (state, trigger): where a trigger leads, or that it leads nowhere.
template <class State, class Trigger, class Table, std::size_t N, std::size_t M>
void expect_triggers(const Table& table, const std::array<std::string_view, M>& trigger_names,
                     const matrix<N, M>& want_id, const std::array<std::array<int, M>, N>& want_to) {
  for (std::size_t on = 0; on < M; ++on) EXPECT_EQ(words(table.name(at<Trigger>(on))), words(trigger_names[on]));
  for (std::size_t from = 0; from < N; ++from) {
    for (std::size_t on = 0; on < M; ++on) {
      SCOPED_TRACE(std::string(table.name(at<State>(from))) + " on " + std::string(trigger_names[on]));
      const auto* row = table.find(at<State>(from), at<Trigger>(on));
      ASSERT_EQ(row != nullptr, want_to[from][on] >= 0);
      if (row == nullptr) continue;
      EXPECT_EQ(row->from, at<State>(from));
      EXPECT_EQ(row->on, at<Trigger>(on));
      EXPECT_EQ(row->to, at<State>(static_cast<std::size_t>(want_to[from][on])));
      if (want_id[from][on] != "=") {
        EXPECT_EQ(row->id, want_id[from][on]);
      }
    }
  }
}

// The rows: as many as the catalogue has, each with its own id, a known trigger and something to say.
template <class Table, std::size_t M>
void expect_rows(const Table& table, const std::array<std::string_view, M>& want_ids) {
  std::set<std::string_view> ids;
  std::size_t next = 0;
  for (const auto& row : table.rows()) {
    ASSERT_LT(next, M);
    if (want_ids[next] != "=") {
      EXPECT_EQ(row.id, want_ids[next]);
    }
    ++next;
    EXPECT_FALSE(row.id.empty());
    EXPECT_FALSE(row.effect.empty()) << row.id;
    EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is used twice";
    EXPECT_EQ(table.check(row.from, row.to), status::ok) << row.id;
    EXPECT_EQ(table.find(row.from, row.on), &row) << row.id;
  }
  EXPECT_EQ(next, M);
}

template <class State, class Table, std::size_t N>
void expect_states(const Table& table, const std::array<expected_state, N>& want) {
  std::set<std::string_view> meanings;
  ASSERT_EQ(table.states().size(), N);
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_EQ(table.states()[i].name, want[i].name);
    EXPECT_EQ(table.states()[i].c_name, want[i].c_name);
    EXPECT_EQ(table.name(at<State>(i)), want[i].name);
    EXPECT_FALSE(table.states()[i].meaning.empty()) << want[i].name;
    EXPECT_TRUE(meanings.insert(table.states()[i].meaning).second) << want[i].name;
  }
}

// Reachability and terminality by brute force from the expected matrix.
template <class State, class Table, std::size_t N>
void expect_shape(const Table& table, const matrix<N, N>& want) {
  std::array<std::array<bool, N>, N> reaches{};
  for (std::size_t a = 0; a < N; ++a) {
    for (std::size_t b = 0; b < N; ++b) reaches[a][b] = a == b || !is_refusal(want[a][b]);
  }
  for (std::size_t via = 0; via < N; ++via) {
    for (std::size_t a = 0; a < N; ++a) {
      for (std::size_t b = 0; b < N; ++b) reaches[a][b] = reaches[a][b] || (reaches[a][via] && reaches[via][b]);
    }
  }
  for (std::size_t s = 0; s < N; ++s) {
    SCOPED_TRACE(std::string(table.name(at<State>(s))));
    bool leaves = false;
    bool all_reach = true;
    for (std::size_t other = 0; other < N; ++other) {
      leaves = leaves || (other != s && !is_refusal(want[s][other]));
      all_reach = all_reach && reaches[other][s];
      if (other != s && reaches[s][other]) {
        EXPECT_FALSE(reaches[other][s]) << "the expectation itself has a cycle";
      }
    }
    EXPECT_EQ(table.is_terminal(at<State>(s)), !leaves);
    EXPECT_EQ(table.every_state_reaches(at<State>(s)), all_reach);
  }
  EXPECT_TRUE(table.never_goes_back());
}

// ---------------------------------------------------------------------------------------------------- regions

// clang-format off
constexpr matrix<5, 5> region_pairs{{
    // Open    Closing  Draining  Finalizing  Closed
    {{"-",     "R1",    "-",      "-",        "-"}},   // Open
    {{"-",     "-",     "R2",     "R3",       "-"}},   // Closing
    {{"-",     "-",     "-",      "R4",       "-"}},   // Draining
    {{"-",     "-",     "-",      "-",        "R5"}},  // Finalizing
    {{"-",     "-",     "-",      "-",        "-"}},   // Closed
}};
// clang-format on

constexpr std::array<std::string_view, 7> region_trigger_names{
    "begin_close",    "parent_closing",    "parent_cancel",        "begin_drain",
    "begin_finalize", "children_complete", "finalization_complete"};

TEST(region_lifecycle_laws, five_of_the_25_pairs_are_legal_and_20_are_refused_as_invalid) {
  expect_pairs<region_state>(asx::region_lifecycle, region_pairs, 5, 20);
}

TEST(region_lifecycle_laws, each_trigger_leads_where_the_catalogue_says_and_nowhere_else) {
  constexpr matrix<5, 7> ids{{
      {{"R1", "R1a", "R1b", "", "", "", ""}},
      {{"", "", "", "R2", "R3", "", ""}},
      {{"", "", "", "", "", "R4", ""}},
      {{"", "", "", "", "", "", "R5"}},
      {{"", "", "", "", "", "", ""}},
  }};
  constexpr std::array<std::array<int, 7>, 5> to{{
      {{1, 1, 1, -1, -1, -1, -1}},
      {{-1, -1, -1, 2, 3, -1, -1}},
      {{-1, -1, -1, -1, -1, 3, -1}},
      {{-1, -1, -1, -1, -1, -1, 4}},
      {{-1, -1, -1, -1, -1, -1, -1}},
  }};
  expect_triggers<region_state, region_trigger>(asx::region_lifecycle, region_trigger_names, ids, to);
}

TEST(region_lifecycle_laws, rows_states_and_shape_are_the_catalogues) {
  expect_rows(asx::region_lifecycle, std::array<std::string_view, 7>{"R1", "R1a", "R1b", "R2", "R3", "R4", "R5"});
  expect_states<region_state>(asx::region_lifecycle, std::to_array<expected_state>({
                                                         {"open", "ASX_REGION_OPEN"},
                                                         {"closing", "ASX_REGION_CLOSING"},
                                                         {"draining", "ASX_REGION_DRAINING"},
                                                         {"finalizing", "ASX_REGION_FINALIZING"},
                                                         {"closed", "ASX_REGION_CLOSED"},
                                                     }));
  expect_shape<region_state>(asx::region_lifecycle, region_pairs);
}

// ------------------------------------------------------------------------------------------------------ tasks

// clang-format off
constexpr matrix<6, 6> task_pairs{{
    // Created Running  CancelRequested  Cancelling  Finalizing  Completed
    {{"-",     "T1",    "T2",            "-",        "-",        "T3"}},   // Created
    {{"-",     "-",     "T4",            "-",        "-",        "T5"}},   // Running
    {{"-",     "-",     "T6",            "T7",       "-",        "T8"}},   // CancelRequested
    {{"-",     "-",     "-",             "T9",       "T10",      "T11"}},  // Cancelling
    {{"-",     "-",     "-",             "-",        "T12",      "T13"}},  // Finalizing
    {{"-",     "-",     "-",             "-",        "-",        "-"}},    // Completed
}};
// clang-format on

constexpr std::array<std::string_view, 6> task_trigger_names{"start_running", "request_cancel", "acknowledge_cancel",
                                                             "cleanup_done",  "finalize_done",  "complete"};

TEST(task_lifecycle_laws, thirteen_of_the_36_pairs_are_legal_and_23_are_refused_as_invalid) {
  expect_pairs<task_state>(asx::task_lifecycle, task_pairs, 13, 23);
  EXPECT_EQ(asx::task_lifecycle.check(task_state::running, task_state::running), status::invalid_transition);
}

TEST(task_lifecycle_laws, the_23_refusals_are_10_backward_5_skips_2_self_loops_and_6_from_terminal) {
  int backward = 0, skips = 0, self_loops = 0, from_terminal = 0;
  for (std::size_t from = 0; from < 6; ++from) {
    for (std::size_t to = 0; to < 6; ++to) {
      if (asx::task_lifecycle.legal(at<task_state>(from), at<task_state>(to))) continue;
      const bool terminal = at<task_state>(from) == task_state::completed;
      ++(terminal ? from_terminal : from == to ? self_loops : to < from ? backward : skips);
    }
  }
  EXPECT_EQ(backward, 10);
  EXPECT_EQ(skips, 5);
  EXPECT_EQ(self_loops, 2);
  EXPECT_EQ(from_terminal, 6);
}

TEST(task_lifecycle_laws, each_trigger_leads_where_the_catalogue_says_and_nowhere_else) {
  // clang-format off
  constexpr matrix<6, 6> ids{{
      // start  request  acknowledge  cleanup  finalize  complete
      {{"T1",   "T2",    "",          "",      "",       "T3"}},
      {{"",     "T4",    "",          "",      "",       "T5"}},
      {{"",     "T6",    "T7",        "",      "",       "T8"}},
      {{"",     "T9",    "",          "T10",   "",       "T11"}},
      {{"",     "T12",   "",          "",      "T13",    ""}},  // only finalize_done leaves Finalizing.
      {{"",     "",      "",          "",      "",       ""}},  // the raw function refuses a request here.
  }};
  // clang-format on
  constexpr std::array<std::array<int, 6>, 6> to{{
      {{1, 2, -1, -1, -1, 5}},
      {{-1, 2, -1, -1, -1, 5}},
      {{-1, 2, 3, -1, -1, 5}},
      {{-1, 3, -1, 4, -1, 5}},
      {{-1, 4, -1, -1, 5, -1}},
      {{-1, -1, -1, -1, -1, -1}},
  }};
  expect_triggers<task_state, task_trigger>(asx::task_lifecycle, task_trigger_names, ids, to);
}

TEST(task_lifecycle_laws, rows_states_and_shape_are_the_catalogues) {
  expect_rows(asx::task_lifecycle, std::array<std::string_view, 13>{"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8",
                                                                    "T9", "T10", "T11", "T12", "T13"});
  expect_states<task_state>(asx::task_lifecycle, std::to_array<expected_state>({
                                                     {"created", "ASX_TASK_CREATED"},
                                                     {"running", "ASX_TASK_RUNNING"},
                                                     {"cancel_requested", "ASX_TASK_CANCEL_REQUESTED"},
                                                     {"cancelling", "ASX_TASK_CANCELLING"},
                                                     {"finalizing", "ASX_TASK_FINALIZING"},
                                                     {"completed", "ASX_TASK_COMPLETED"},
                                                 }));
  expect_shape<task_state>(asx::task_lifecycle, task_pairs);
}

// ------------------------------------------------------------------------------------------------ obligations

// clang-format off
constexpr matrix<4, 4> obligation_pairs{{
    // Reserved Committed Aborted  Leaked
    {{"-",      "O1",     "O2",    "O3"}},   // Reserved
    {{"res",    "res",    "res",   "res"}},  // Committed
    {{"res",    "res",    "res",   "res"}},  // Aborted
    {{"lk",     "lk",     "lk",    "lk"}},   // Leaked
}};
// clang-format on

//
TEST(obligation_lifecycle_laws, three_of_the_16_pairs_are_legal_and_each_of_13_refusals_has_its_own_code) {
  expect_pairs<obligation_state>(asx::obligation_lifecycle, obligation_pairs, 3, 13);
}

TEST(obligation_lifecycle_laws, each_trigger_leads_where_the_catalogue_says_and_nowhere_else) {
  constexpr matrix<4, 3> ids{{{{"O1", "O2", "O3"}}, {{"", "", ""}}, {{"", "", ""}}, {{"", "", ""}}}};
  constexpr std::array<std::array<int, 3>, 4> to{{{{1, 2, 3}}, {{-1, -1, -1}}, {{-1, -1, -1}}, {{-1, -1, -1}}}};
  expect_triggers<obligation_state, obligation_trigger>(
      asx::obligation_lifecycle, std::array<std::string_view, 3>{"commit", "abort", "region_finalization"}, ids, to);
}

TEST(obligation_lifecycle_laws, rows_states_and_shape_are_the_catalogues) {
  expect_rows(asx::obligation_lifecycle, std::array<std::string_view, 3>{"O1", "O2", "O3"});
  expect_states<obligation_state>(asx::obligation_lifecycle, std::to_array<expected_state>({
                                                                 {"reserved", "ASX_OBLIGATION_RESERVED"},
                                                                 {"committed", "ASX_OBLIGATION_COMMITTED"},
                                                                 {"aborted", "ASX_OBLIGATION_ABORTED"},
                                                                 {"leaked", "ASX_OBLIGATION_LEAKED"},
                                                             }));
  expect_shape<obligation_state>(asx::obligation_lifecycle, obligation_pairs);
}

// ---------------------------------------------------------------------------------------------- cancel phases

// clang-format off
constexpr matrix<4, 4> phase_pairs{{
    // Requested Cancelling Finalizing Completed
    {{"=",       "=",       "=",       "="}},  // Requested: R-36, a witness may skip
    {{"reg",     "=",       "=",       "="}},  // Cancelling
    {{"reg",     "reg",     "=",       "="}},  // Finalizing
    {{"reg",     "reg",     "reg",     "="}},  // Completed
}};
// clang-format on

TEST(cancel_phase_lifecycle_laws, ten_of_the_16_pairs_are_legal_and_six_are_phase_regressions) {
  expect_pairs<cancel_phase>(asx::cancel_phase_lifecycle, phase_pairs, 10, 6);
}

TEST(cancel_phase_lifecycle_laws, legal_means_that_the_rank_does_not_fall) {
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      EXPECT_EQ(asx::cancel_phase_lifecycle.legal(at<cancel_phase>(from), at<cancel_phase>(to)), to >= from);
    }
  }
}

TEST(cancel_phase_lifecycle_laws, each_trigger_leads_where_the_catalogue_says_and_nowhere_else) {
  constexpr matrix<4, 6> ids{{
      {{"=", "=", "=", "=", "", ""}},
      {{"=", "", "", "=", "=", ""}},
      {{"=", "", "", "", "", "="}},
      {{"=", "", "", "", "", ""}},
  }};
  constexpr std::array<std::array<int, 6>, 4> to{{
      // strengthen acknowledge short complete cleanup finalize
      {{0, 1, 2, 3, -1, -1}},
      {{1, -1, -1, 3, 2, -1}},
      {{2, -1, -1, -1, -1, 3}},
      {{3, -1, -1, -1, -1, -1}},  // a same-phase move is a strengthening; here it changes nothing.
  }};
  expect_triggers<cancel_phase, cancel_phase_trigger>(
      asx::cancel_phase_lifecycle,
      std::array<std::string_view, 6>{"strengthen", "acknowledge_cancel", "short_cleanup", "complete", "cleanup_done",
                                      "finalize_done"},
      ids, to);
}

TEST(cancel_phase_lifecycle_laws, rows_states_and_shape_are_the_catalogues) {
  expect_rows(asx::cancel_phase_lifecycle,
              std::array<std::string_view, 10>{"=", "=", "=", "=", "=", "=", "=", "=", "=", "="});
  expect_states<cancel_phase>(asx::cancel_phase_lifecycle, std::to_array<expected_state>({
                                                               {"requested", "ASX_CANCEL_REQUESTED"},
                                                               {"cancelling", "ASX_CANCEL_CANCELLING"},
                                                               {"finalizing", "ASX_CANCEL_FINALIZING"},
                                                               {"completed", "ASX_CANCEL_COMPLETED"},
                                                           }));
  expect_shape<cancel_phase>(asx::cancel_phase_lifecycle, phase_pairs);
}

// --------------------------------------------------------------------------------------------------- channels

// clang-format off
constexpr matrix<4, 4> channel_pairs{{
    // Open SenderClosed ReceiverClosed FullyClosed
    {{"-",  "C1",        "C2",          "-"}},   // Open
    {{"-",  "-",         "-",           "C3"}},  // SenderClosed
    {{"-",  "-",         "-",           "C4"}},  // ReceiverClosed
    {{"-",  "-",         "-",           "-"}},   // FullyClosed
}};
// clang-format on

TEST(channel_lifecycle_laws, four_of_the_16_pairs_are_legal_and_twelve_are_refused_as_invalid) {
  expect_pairs<channel_state>(asx::channel_lifecycle, channel_pairs, 4, 12);
}

TEST(channel_lifecycle_laws, each_trigger_leads_where_the_catalogue_says_and_nowhere_else) {
  constexpr matrix<4, 2> ids{{{{"C1", "C2"}}, {{"", "C3"}}, {{"C4", ""}}, {{"", ""}}}};
  constexpr std::array<std::array<int, 2>, 4> to{{{{1, 2}}, {{-1, 3}}, {{3, -1}}, {{-1, -1}}}};
  expect_triggers<channel_state, channel_trigger>(
      asx::channel_lifecycle, std::array<std::string_view, 2>{"last_sender_drops", "receiver_drops"}, ids, to);
}

TEST(channel_lifecycle_laws, rows_states_and_shape_are_the_catalogues) {
  expect_rows(asx::channel_lifecycle, std::array<std::string_view, 4>{"C1", "C2", "C3", "C4"});
  expect_states<channel_state>(asx::channel_lifecycle, std::to_array<expected_state>({
                                                           {"open", "ASX_CHANNEL_OPEN"},
                                                           {"sender_closed", "ASX_CHANNEL_SENDER_CLOSED"},
                                                           {"receiver_closed", "ASX_CHANNEL_RECEIVER_CLOSED"},
                                                           {"fully_closed", "ASX_CHANNEL_FULLY_CLOSED"},
                                                       }));
  expect_shape<channel_state>(asx::channel_lifecycle, channel_pairs);
}

TEST(channel_lifecycle_laws, four_combinations_of_senders_and_receiver_are_four_states) {
  for (const std::uint64_t senders : {std::uint64_t{1}, std::uint64_t{2}, UINT64_C(1) << 32, UINT64_MAX}) {
    EXPECT_EQ(asx::derive_channel_state(senders, false), channel_state::open);
    EXPECT_EQ(asx::derive_channel_state(senders, true), channel_state::receiver_closed);
  }
  EXPECT_EQ(asx::derive_channel_state(0, false), channel_state::sender_closed);
  EXPECT_EQ(asx::derive_channel_state(0, true), channel_state::fully_closed);
}

TEST(channel_lifecycle_laws, dropping_an_end_moves_the_derived_state_along_the_table) {
  for (const std::uint64_t senders : {std::uint64_t{0}, std::uint64_t{1}}) {
    for (const bool receiver_dropped : {false, true}) {
      const channel_state from = asx::derive_channel_state(senders, receiver_dropped);
      if (senders == 1) {
        const auto* row = asx::channel_lifecycle.find(from, channel_trigger::last_sender_drops);
        ASSERT_NE(row, nullptr);
        EXPECT_EQ(row->to, asx::derive_channel_state(0, receiver_dropped));
      }
      if (!receiver_dropped) {
        const auto* row = asx::channel_lifecycle.find(from, channel_trigger::receiver_drops);
        ASSERT_NE(row, nullptr);
        EXPECT_EQ(row->to, asx::derive_channel_state(senders, true));
      }
    }
  }
}

// ------------------------------------------------------------------------------------------- at compile time

// ordinals by declaration order; journals and masks encode them.
static_assert(ordinal(region_state::open) == 0 && ordinal(region_state::closing) == 1 &&
              ordinal(region_state::draining) == 2 && ordinal(region_state::finalizing) == 3 &&
              ordinal(region_state::closed) == 4);
static_assert(ordinal(task_state::created) == 0 && ordinal(task_state::running) == 1 &&
              ordinal(task_state::cancel_requested) == 2 && ordinal(task_state::cancelling) == 3 &&
              ordinal(task_state::finalizing) == 4 && ordinal(task_state::completed) == 5);
static_assert(ordinal(obligation_state::reserved) == 0 && ordinal(obligation_state::committed) == 1 &&
              ordinal(obligation_state::aborted) == 2 && ordinal(obligation_state::leaked) == 3);
static_assert(ordinal(cancel_phase::requested) == 0 && ordinal(cancel_phase::cancelling) == 1 &&
              ordinal(cancel_phase::finalizing) == 2 && ordinal(cancel_phase::completed) == 3);
static_assert(ordinal(channel_state::open) == 0 && ordinal(channel_state::sender_closed) == 1 &&
              ordinal(channel_state::receiver_closed) == 2 && ordinal(channel_state::fully_closed) == 3);

// The tables are proofs, not only data.
static_assert(asx::region_lifecycle.legal_pair_count() == 5 && asx::region_lifecycle.forbidden_pair_count() == 20);
static_assert(asx::task_lifecycle.legal_pair_count() == 13 && asx::task_lifecycle.forbidden_pair_count() == 23);
static_assert(asx::region_lifecycle.is_terminal(region_state::closed));
static_assert(asx::region_lifecycle.every_state_reaches(region_state::closed));
static_assert(asx::task_lifecycle.every_state_reaches(task_state::completed));
static_assert(asx::task_lifecycle.find(task_state::running, task_trigger::complete)->to == task_state::completed);
static_assert(asx::task_lifecycle.check(task_state::completed, task_state::running) == status::invalid_transition);
static_assert(!asx::obligation_lifecycle.every_state_reaches(obligation_state::committed));
static_assert(asx::obligation_lifecycle.check(obligation_state::leaked, obligation_state::committed) ==
              status::obligation_leaked);
static_assert(asx::derive_channel_state(0, true) == channel_state::fully_closed);

}  // namespace
