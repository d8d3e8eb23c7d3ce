// What the journal costs: an append in each mode beside an empty loop, the codecs, and the comparison of two files.
//
// The aims: a full journal at most 12 ns an event, the digest alone at most 6 ns, beside the empty loop of the same
// run. docs/adr/0003-journal.md has the figures.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "asx/journal/codec_json.hpp"
#include "asx/journal/compare.hpp"
#include "asx/journal/file.hpp"
#include "asx/journal/journal.hpp"
#include "asx/journal/testing.hpp"

namespace {

using bytes = std::vector<std::byte>;

/// What a kernel would do at a wake: fields from registers, the number kept as the cause of what follows.
void append_events(benchmark::State& state, asx::journal* journal) {
  std::uint64_t cause = 0, i = 0;
  for (auto _ : state) {
    ++i;
    benchmark::DoNotOptimize(i);
    if (journal != nullptr) {
      cause = journal->append(
          asx::event_kind::task_woken,
          {.time_ns = i, .subject = i & 1'023, .object = 7, .a = 2, .b = i, .cause = cause, .worker = 1});
    }
    benchmark::DoNotOptimize(cause);
  }
}

void empty_loop(benchmark::State& state) {
  append_events(state, nullptr);
}

void append_in_mode(benchmark::State& state, asx::journal_mode mode) {
  asx::journal journal;
  asx::testing::open_or_abort(journal, {.mode = mode});
  append_events(state, &journal);
}

void append_to_file(benchmark::State& state) {
  asx::bin_writer writer;
  const asx::write_port nowhere = {nullptr, [](void*, std::span<const std::byte> piece) noexcept -> std::int64_t {
                                     return static_cast<std::int64_t>(piece.size());
                                   }};
  if (writer.open(asx::heap_memory(), nowhere, asx::journal_header::of("core", 1)) != asx::status::ok) std::abort();
  asx::journal journal;
  asx::testing::open_or_abort(journal, {}, writer.sink());
  append_events(state, &journal);
}

const asx::testing::made_stream& stream() {
  static const asx::testing::made_stream run = asx::testing::make_stream(1, {.events = 200'000});
  return run;
}

bytes as_file(const std::vector<asx::event>& events) {
  bytes out;
  out.reserve(events.size() * 20);
  asx::bin_writer writer;
  const asx::write_port port = {&out, [](void* self, std::span<const std::byte> piece) noexcept -> std::int64_t {
                                  auto& all = *static_cast<bytes*>(self);
                                  all.insert(all.end(), piece.begin(), piece.end());
                                  return static_cast<std::int64_t>(piece.size());
                                }};
  if (writer.open(asx::heap_memory(), port, asx::journal_header::of("core", 1)) != asx::status::ok) std::abort();
  writer.append(events);
  if (writer.close() != asx::status::ok) std::abort();
  return out;
}

void per_event(benchmark::State& state, std::size_t size) {
  const auto events = static_cast<double>(stream().events.size());
  state.counters["bytes_per_event"] = static_cast<double>(size) / events;
  state.counters["per_event"] =
      benchmark::Counter(events, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void encode_bin(benchmark::State& state) {
  std::size_t size = 0;
  for (auto _ : state) size = as_file(stream().events).size();
  per_event(state, size);
}

void decode_bin(benchmark::State& state) {
  const bytes file = as_file(stream().events);
  for (auto _ : state) {
    std::span<const std::byte> view(file);
    asx::bin_reader reader;
    asx::event e;
    asx::status got = reader.open(asx::memory_reader(view));
    while (got == asx::status::ok) got = reader.next(e);
    if (reader.digest() != stream().digest) std::abort();
  }
  per_event(state, file.size());
}

std::string as_json() {
  std::string out;
  asx::json_writer writer(asx::string_writer(out), asx::journal_header::of("core", 1));
  writer.append(stream().events);
  writer.close();
  return out;
}

void encode_json(benchmark::State& state) {
  std::size_t size = 0;
  for (auto _ : state) size = as_json().size();
  per_event(state, size);
}

void decode_json(benchmark::State& state) {
  const std::string text = as_json();
  for (auto _ : state) {
    std::span<const std::byte> view = std::as_bytes(std::span(text));
    asx::json_reader reader;
    asx::event e;
    asx::status got = reader.open(asx::memory_reader(view));
    while (got == asx::status::ok) got = reader.next(e);
    if (reader.digest() != stream().digest) std::abort();
  }
  per_event(state, text.size());
}

/// Two files of a million events, equal, or different in one operand of one event.
void compare_million(benchmark::State& state, bool equal) {
  std::vector<asx::event> events;
  std::uint64_t seq = 0;
  while (seq < 1'000'000) {
    for (asx::event e : stream().events) {
      if (e.semantic()) ++seq;
      e.seq = seq;
      e.cause = e.semantic() ? seq - 1 : seq;
      events.push_back(e);
      if (seq == 1'000'000) break;
    }
  }
  const bytes first = as_file(events);
  if (!equal) events[events.size() / 3].b ^= 1;
  const bytes second = as_file(events);
  std::span<const std::byte> x(first), y(second);
  for (auto _ : state) {
    asx::bin_reader reference, run;
    if (reference.open(asx::memory_reader(x)) != asx::status::ok || run.open(asx::memory_reader(y)) != asx::status::ok)
      std::abort();
    const asx::comparison result = asx::compare(reference, run);
    if (result.match() != equal) std::abort();
    state.counters["blocks_decoded"] = static_cast<double>(result.blocks_decoded);
  }
}

}  // namespace

BENCHMARK(empty_loop);
BENCHMARK_CAPTURE(append_in_mode, off, asx::journal_mode::off);
BENCHMARK_CAPTURE(append_in_mode, digest_only, asx::journal_mode::digest_only);
BENCHMARK_CAPTURE(append_in_mode, full, asx::journal_mode::full);
BENCHMARK(append_to_file);
BENCHMARK(encode_bin)->Unit(benchmark::kMillisecond);
BENCHMARK(decode_bin)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_json)->Unit(benchmark::kMillisecond);
BENCHMARK(decode_json)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compare_million, equal, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compare_million, one_event_differs, false)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
