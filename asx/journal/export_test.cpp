// Tests of the exports: asx/journal/export_{text,trace,dot}.hpp, against golden files in conformance/golden/journal.
//
// To write the golden files anew after a change that is meant: ASX_UPDATE_GOLDEN=1 and look at the diff.
#include "asx/journal/export_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "asx/journal/codec_json.hpp"
#include "asx/journal/export_dot.hpp"
#include "asx/journal/export_trace.hpp"
#include "asx/journal/testing.hpp"

namespace asx {
namespace {

/// A small program: a producer and a consumer over a channel of one slot, a sleeper, and an operator who says stop.
std::vector<event> small_program() {
  testing::collector all;
  journal j;
  testing::open_or_abort(j, {.capacity = 8}, all.sink());
  std::uint64_t now = 0;
  const auto put = [&](event_kind kind, event_fields f) {
    f.time_ns = now;
    return j.append(kind, f);
  };
  const auto call = [&](type_tag type, std::uint64_t id, std::string_view text) {
    j.append_text(text_code::name, type, id, text, now);
  };
  using enum event_kind;
  const std::uint64_t started = put(runtime_started, {.subject = 1, .a = 42, .b = 1});
  put(region_created, {.subject = 1, .cause = started});
  call(type_tag::region, 1, "root");
  const std::uint64_t region = put(region_created, {.subject = 2, .object = 1, .cause = started});
  call(type_tag::region, 2, "orders");
  put(channel_created, {.subject = 1, .object = 2, .a = 1, .cause = region});
  const auto spawn = [&](std::uint64_t task, std::string_view name) {
    const std::uint64_t e = put(task_spawned, {.subject = task, .object = 2, .b = pack(128, 0), .cause = region});
    call(type_tag::task, task, name);
    return put(task_woken, {.subject = task, .a = pack(2, 1), .b = task, .cause = e});
  };
  const std::uint64_t consumer = spawn(1, "consumer"), producer = spawn(2, "producer"), sleeper = spawn(3, "sleeper");
  const auto dispatch = [&](std::uint64_t task, std::uint64_t wake, bool first, std::uint64_t lane = 2) {
    const std::uint64_t e = put(task_dispatched, {.subject = task, .a = pack(128, lane), .b = wake, .cause = wake});
    if (first) put(task_started, {.subject = task, .object = 2, .cause = e});
    return e;
  };
  std::uint64_t poll = dispatch(1, consumer, true);
  put(receiver_waits, {.subject = 1, .object = 1, .cause = poll});
  put(task_waits, {.subject = 1, .object = 1, .a = pack(1, 0), .cause = poll});
  put(poll_ended, {.subject = 1, .object = 2, .cause = poll});
  now = 1'000;
  poll = dispatch(2, producer, true);
  put(permit_reserved, {.subject = 1, .object = 2, .a = 1, .b = pack(0, 1), .cause = poll});
  const std::uint64_t sent = put(permit_sent, {.subject = 1, .object = 2, .a = 1, .b = pack(1, 0), .cause = poll});
  const std::uint64_t message = put(task_woken, {.subject = 1, .object = 2, .a = pack(2, 3), .b = 4, .cause = sent});
  now = 1'500;
  put(poll_ended, {.subject = 2, .object = 2, .a = 1, .cause = poll});
  put(task_completed, {.subject = 2, .object = 2, .a = 0, .cause = poll});
  now = 2'000;
  poll = dispatch(3, sleeper, true);
  put(timer_registered, {.subject = 1, .object = 3, .a = 5'000'000, .b = 1, .cause = poll});
  put(task_waits, {.subject = 3, .object = 1, .a = pack(3, 0), .cause = poll});
  put(poll_ended, {.subject = 3, .object = 2, .cause = poll});
  poll = dispatch(1, message, false);
  put(message_received, {.subject = 1, .object = 1, .a = 1, .b = pack(0, 0), .cause = poll});
  now = 2'750;
  put(poll_ended, {.subject = 1, .object = 2, .a = 2, .cause = poll});
  put(task_completed, {.subject = 1, .object = 2, .a = 1, .b = pack(22, 0), .cause = poll});
  put(queue_depths, {.subject = 0, .a = pack(0, 0), .b = pack(0, 1)});
  const std::uint64_t time = put(input_time, {.a = 3'000'000, .b = now});
  now = 3'000'000;
  put(refused_spawn, {.object = 2, .a = pack(10, 1), .b = 3, .cause = time});
  const std::uint64_t stop = put(input_close, {.subject = 2, .b = 1});
  const std::uint64_t closing = put(region_closing, {.subject = 2, .object = 1, .b = pack(0, 1), .cause = stop});
  const std::uint64_t asked =
      put(cancel_requested,
          {.subject = 3, .object = 2, .a = pack(8, 2), .cause = closing, .flags = event_flags::passed_on});
  put(task_cancel_requested, {.subject = 3, .object = 2, .a = 8, .cause = asked});
  const std::uint64_t woken = put(task_woken, {.subject = 3, .a = pack(0, 9), .b = 5, .cause = asked});
  put(region_draining, {.subject = 2, .object = 1, .a = pack(1, 0), .cause = closing});
  poll = dispatch(3, woken, false, 0);
  put(task_acknowledged, {.subject = 3, .object = 2, .a = 8, .b = 200, .cause = poll});
  put(timer_cancelled, {.subject = 1, .object = 3, .a = 5'000'000, .b = 1, .cause = poll});
  put(poll_ended, {.subject = 3, .object = 2, .a = 1, .b = 199, .cause = poll});
  put(task_cleaned_up, {.subject = 3, .object = 2, .a = 8, .b = 199, .cause = poll});
  const std::uint64_t last = put(task_finalized, {.subject = 3, .object = 2, .a = 2, .cause = poll});
  put(region_finalizing, {.subject = 2, .object = 1, .cause = last});
  put(region_closed, {.subject = 2, .object = 1, .a = 2, .cause = last});
  put(runtime_ended, {.subject = 1});
  j.settle();
  j.check();
  return all.events;
}

std::filesystem::path golden_folder() {
  if (const char* const root = std::getenv("ASX_ROOT"))
    return std::filesystem::path(root) / "conformance/golden/journal";
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "LAYERS")) return at / "conformance/golden/journal";
    if (at == at.parent_path()) return {};
  }
}

void expect_golden(std::string_view file, const std::string& text) {
  const std::filesystem::path path = golden_folder() / file;
  if (std::getenv("ASX_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << "no golden file " << path << "; run in the repository, or set ASX_ROOT";
  std::stringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(golden.str(), text) << "differs from " << path << "; if that is meant, run again with ASX_UPDATE_GOLDEN=1";
}

TEST(exports, the_small_program_reads_as_its_golden_files) {
  const std::vector<event> events = small_program();
  std::string text, json, trace, by_sequence, tree;
  export_text(string_writer(text), events);
  expect_golden("small.txt", text);
  json_writer writer(string_writer(json), journal_header::of("core", 42));
  writer.append(events);
  writer.close();
  expect_golden("small.jsonl", json);
  export_trace(string_writer(trace), events);
  expect_golden("small.trace.json", trace);
  export_trace(string_writer(by_sequence), events, trace_axis::sequence);
  expect_golden("small.sequence.trace.json", by_sequence);
  export_dot(string_writer(tree), events, 40);
  expect_golden("small.dot", tree);
}

TEST(exports, a_journal_whose_beginning_is_lost_is_exported_from_what_is_left) {
  const auto run = testing::make_stream(9, {.events = 2'000});
  for (std::size_t from = 0; from < run.events.size(); from += 131) {
    const auto left = std::span(run.events).subspan(from);
    std::string text, trace, tree;
    export_text(string_writer(text), left);
    export_trace(string_writer(trace), left);
    export_dot(string_writer(tree), left);
    EXPECT_EQ(text.find("are not here") != std::string::npos, left.front().seq > 1);
    EXPECT_EQ(trace.substr(trace.size() - 4), "\n]}\n");
    EXPECT_EQ(tree.substr(0, 8), "digraph ");
  }
}

TEST(exports, the_tree_at_a_moment_shows_what_lived_then) {
  const std::vector<event> events = small_program();
  std::string early, late;
  export_dot(string_writer(early), events, 15);
  export_dot(string_writer(late), events);
  EXPECT_NE(early.find("task 1 'consumer'\\nwaits for a message of channel 1"), std::string::npos) << early;
  EXPECT_NE(early.find("region 2 'orders'\\nopen"), std::string::npos);
  EXPECT_EQ(late.find("region 2"), std::string::npos) << "a closed region is no part of the tree";
}

}  // namespace
}  // namespace asx
