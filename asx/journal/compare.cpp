#include "asx/journal/compare.hpp"

#include <algorithm>
#include <utility>

#include "asx/journal/describe.hpp"

namespace asx {
namespace {

/// The same thing happened, wherever it stands: number and cause shift with every event that is missing before it.
bool is_same_happening(const event& x, const event& y) noexcept {
  event shifted = y;
  shifted.seq = x.seq;
  shifted.cause = x.cause;
  return x == shifted;
}

/// How many events from `x` and `y` on happen alike.
std::size_t agreement(std::span<const event> x, std::span<const event> y) noexcept {
  std::size_t n = 0;
  while (n < x.size() && n < y.size() && is_same_happening(x[n], y[n])) ++n;
  return n;
}

std::span<const event> after(std::span<const event> events, std::size_t n) noexcept {
  return events.subspan(std::min(n, events.size()));
}

}  // namespace

std::string_view name(difference what) noexcept {
  switch (what) {
    case difference::none: return "match";
    case difference::fields: return "an event differs";
    case difference::missing_in_run: return "an event is missing in the run";
    case difference::missing_in_reference: return "an event of the run is missing in the reference";
    case difference::swapped: return "two events are swapped";
    case difference::run_ended: return "the run ended before the reference";
    case difference::reference_ended: return "the reference ended before the run";
  }
  return "unknown difference";
}

std::vector<field_difference> different_fields(const event& x, const event& y) {
  const field_difference all[] = {
      {"seq", x.seq, y.seq},
      {"time", x.time_ns, y.time_ns},
      {"kind", static_cast<std::uint16_t>(x.kind), static_cast<std::uint16_t>(y.kind)},
      {"worker", x.worker, y.worker},
      {"flags", x.flags, y.flags},
      {"subject", x.subject, y.subject},
      {"object", x.object, y.object},
      {"a", x.a, y.a},
      {"b", x.b, y.b},
      {"cause", x.cause, y.cause},
  };
  std::vector<field_difference> out;
  std::copy_if(std::begin(all), std::end(all), std::back_inserter(out),
               [](const field_difference& f) { return f.reference != f.run; });
  return out;
}

std::string explain(const comparison& result) {
  const auto line = [](std::string_view mark, const event& e) {
    return std::string(mark) + " " + std::to_string(e.seq) + "  " + std::string(name(e.kind)) + ": " + describe(e) +
           "\n";
  };
  std::string out;
  if (result.code != status::ok) {
    out += "not decided after " + std::to_string(result.compared) +
           " equal events: " + std::string(sentence(result.code)) + "\n";
    return out;
  }
  if (result.match()) return "match: " + std::to_string(result.compared) + " events are equal\n";
  out += std::string(name(result.what)) + ", after " + std::to_string(result.compared) + " equal events\n";
  for (const event& e : result.before) out += line("   ", e);
  if (result.reference) out += line("  -", *result.reference);
  if (result.run) out += line("  +", *result.run);
  const event_info* const row =
      result.reference ? find_event_kind(static_cast<std::uint64_t>(result.reference->kind)) : nullptr;
  for (const field_difference& f : result.fields) {
    out += "    " + std::string(f.name) + ": " + std::to_string(f.reference) + " in the reference, " +
           std::to_string(f.run) + " in the run";
    const std::string_view meaning = row == nullptr  ? ""
                                     : f.name == "a" ? row->a.meaning
                                     : f.name == "b" ? row->b.meaning
                                                     : "";
    if (!meaning.empty()) out += "  (" + std::string(meaning) + ")";
    out += "\n";
  }
  return out;
}

// ---- follower
// --------------------------------------------------------------------------------------------------------

status follower::pull(event& out) {
  for (;;) {
    const status got = reference_.next(reference_.context, out);
    if (got != status::ok || scope_ == compare_scope::everything || out.semantic()) return got;
  }
}

void follower::part(const event* reference, const event* run) {
  if (reference != nullptr) result_.reference = *reference;
  if (run != nullptr) result_.run = *run;
  if (reference == nullptr || run == nullptr) {
    result_.what = reference == nullptr ? difference::reference_ended : difference::run_ended;
    return;
  }
  result_.what = difference::fields;
  result_.fields = different_fields(*reference, *run);
  reference_ahead_.push_back(*reference);
  run_ahead_.push_back(*run);
  event e;
  while (reference_ahead_.size() <= context_events && pull(e) == status::ok) reference_ahead_.push_back(e);
}

void follower::name_difference() {
  const std::span<const event> x(reference_ahead_), y(run_ahead_);
  const std::size_t as_fields = agreement(after(x, 1), after(y, 1));
  const std::size_t missing_in_run = agreement(after(x, 1), y);
  const std::size_t missing_in_reference = agreement(x, after(y, 1));
  const bool crossed = x.size() > 1 && y.size() > 1 && is_same_happening(x[0], y[1]) && is_same_happening(x[1], y[0]);
  const std::size_t swapped = crossed ? 2 + agreement(after(x, 2), after(y, 2)) : 0;
  const std::size_t best = std::max({as_fields, missing_in_run, missing_in_reference, swapped});
  result_.what = best > 0 && swapped == best ? difference::swapped
                 : as_fields == best         ? difference::fields
                 : missing_in_run == best    ? difference::missing_in_run
                                             : difference::missing_in_reference;
}

bool follower::feed(const event& e) {
  if (result_.code != status::ok) return false;
  if (scope_ == compare_scope::semantic && !e.semantic()) return result_.match();
  if (result_.what != difference::none) {
    if (!run_ahead_.empty() && run_ahead_.size() <= context_events) {
      run_ahead_.push_back(e);
      name_difference();
    }
    return false;
  }
  event expected;
  const status got = pull(expected);
  if (got != status::ok && got != status::empty) {
    result_.code = got;
    return false;
  }
  if (got == status::ok && expected == e) {
    ++result_.compared;
    if (result_.before.size() == context_events) result_.before.erase(result_.before.begin());
    result_.before.push_back(e);
    return true;
  }
  part(got == status::ok ? &expected : nullptr, &e);
  return false;
}

event_sink follower::sink() noexcept {
  return {this, [](void* self, std::span<const event> batch) noexcept {
            for (const event& e : batch) static_cast<follower*>(self)->feed(e);
          }};
}

void follower::finish() {
  if (!result_.match()) return;
  event left;
  const status got = pull(left);
  if (got == status::ok) part(&left, nullptr);
  if (got != status::ok && got != status::empty) result_.code = got;
}

comparison compare(event_source reference, event_source run, compare_scope scope) {
  follower follows(reference, scope);
  event e;
  status got = status::ok;
  for (std::size_t ahead = 0; ahead <= follower::context_events && (got = run.next(run.context, e)) == status::ok;) {
    if (!follows.feed(e)) ++ahead;
  }
  comparison result = follows.result();
  if (result.match() && got == status::empty) {
    follows.finish();
    result = follows.result();
  } else if (result.match() && got != status::ok) {
    result.code = got;
  }
  return result;
}

// ---- files
// -----------------------------------------------------------------------------------------------------------

namespace {

struct block_index {
  std::vector<block_info> blocks;       // Without the end mark.
  std::vector<std::uint64_t> last_seq;  // Of each block whose successor, or end mark, was found.
  bool marked = false;
};

status index_blocks(bin_reader& file, block_index& out) {
  block_info block;
  for (std::uint64_t at = bin_reader::first_block_offset();;) {
    const status got = file.read_block_header(at, block);
    if (got == status::empty) return status::ok;  // Cut: the last block may not be whole, so nothing is said of it.
    if (got != status::ok) return got;
    if (!out.blocks.empty()) out.last_seq.push_back(block.seq_before);
    if (block.is_end) {
      out.marked = true;
      return status::ok;
    }
    out.blocks.push_back(block);
    at += bin::header_bytes + block.payload_bytes;
  }
}

/// Pairs of blocks that end with the same number.
std::vector<std::pair<std::size_t, std::size_t>> common_ends(const block_index& x, const block_index& y) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t i = 0, j = 0; i < x.last_seq.size() && j < y.last_seq.size();) {
    if (x.last_seq[i] == y.last_seq[j]) out.emplace_back(i, j);
    const bool both = x.last_seq[i] == y.last_seq[j];
    if (both || x.last_seq[i] < y.last_seq[j]) {
      ++i;
      if (both) ++j;
    } else {
      ++j;
    }
  }
  return out;
}

}  // namespace

comparison compare(bin_reader& reference, bin_reader& run, compare_scope scope) {
  comparison result;
  block_index x, y;
  for (const auto& [file, index] : {std::pair{&reference, &x}, std::pair{&run, &y}}) {
    if (const status got = index_blocks(*file, *index); got != status::ok) {
      result.code = got;
      return result;
    }
  }
  const auto ends = common_ends(x, y);
  const auto equal = [&](const std::pair<std::size_t, std::size_t>& at) {
    const block_info &l = x.blocks[at.first], &r = y.blocks[at.second];
    return scope == compare_scope::semantic ? l.digest == r.digest : l.chain == r.chain && l.digest == r.digest;
  };
  const bool same_start = reference.header().seq_before == run.header().seq_before;
  // Equal prefixes have equal digests, and once they differ they differ for good: bisection finds the change.
  const auto first_different = same_start ? std::partition_point(ends.begin(), ends.end(), equal) : ends.begin();
  std::size_t from_x = 0, from_y = 0;
  std::uint64_t skipped = 0;
  if (first_different != ends.begin()) {
    const auto [i, j] = *std::prev(first_different);
    from_x = i + 1;
    from_y = j + 1;
    if (scope == compare_scope::semantic) {
      skipped = x.last_seq[i] - reference.header().seq_before;
    } else {
      for (std::size_t b = 0; b <= i; ++b) skipped += x.blocks[b].events;  // Diagnostics have no numbers to count by.
    }
  }
  if (from_x == x.blocks.size() && from_y == y.blocks.size()) {
    result.compared = skipped;
    return result;
  }
  struct tail {
    bin_reader* file;
    bool has_more;
    static status next(void* self, event& out) {
      auto& t = *static_cast<tail*>(self);
      return t.has_more ? t.file->next(out) : status::empty;
    }
  };
  tail rest_x{&reference, from_x < x.blocks.size()}, rest_y{&run, from_y < y.blocks.size()};
  if (rest_x.has_more) reference.seek(x.blocks[from_x]);
  if (rest_y.has_more) run.seek(y.blocks[from_y]);
  const std::uint64_t opened_before = reference.blocks_opened() + run.blocks_opened();
  result = compare(event_source{&rest_x, &tail::next}, event_source{&rest_y, &tail::next}, scope);
  result.blocks_decoded = reference.blocks_opened() + run.blocks_opened() - opened_before;
  result.compared += skipped;
  // The difference may stand at the start of a block: what came before it is in the block before.
  if (result.what != difference::none && result.before.size() < follower::context_events && from_x > 0) {
    std::vector<event> earlier;
    if (reference.read_block(x.blocks[from_x - 1], earlier) == status::ok) {
      ++result.blocks_decoded;
      if (scope == compare_scope::semantic) std::erase_if(earlier, [](const event& e) { return !e.semantic(); });
      const std::size_t wanted = std::min(follower::context_events - result.before.size(), earlier.size());
      result.before.insert(result.before.begin(), earlier.end() - static_cast<std::ptrdiff_t>(wanted), earlier.end());
    }
  }
  return result;
}

}  // namespace asx
