// asx journal convert FROM TO - the same journal in the other form; nothing is lost, and that is checked.
//
// What was written is read again before it gets its name: header, count and every byte of every event must agree,
// diagnostics too, which the digest of the run leaves out. A cut journal has no end mark, and one must not be made up
// for it, so converting one has to be asked for, and gives a cut journal.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "asx/base/memory.hpp"
#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/cli/words.hpp"

namespace asx::cli {
namespace {

struct convert_words {
  std::string from, to, block_events;
  bool force = false, allow_cut = false;
};

// Everything that two journals of one run have in common, whatever their form.
class content {
 public:
  void add(const event& e) noexcept { all_.add(canonical_bytes(e)); }
  [[nodiscard]] digest128 value() const noexcept { return all_.value(); }

 private:
  digest_stream all_;
};

template <class Writer>
content copy(journal_input& in, Writer& writer) {
  content out;
  std::vector<event> batch;
  for (event e; in.next(e);) {
    out.add(e);
    batch.push_back(e);
    if (batch.size() < 256) continue;
    writer.append(batch);
    batch.clear();
  }
  writer.append(batch);
  in.refuse_damage();
  return out;
}

content copy_to(journal_input& in, output_file& file, const convert_words& w, std::uint32_t block_events) {
  if (!wants_binary(w.to)) {
    json_writer writer(file.text(), in.header());
    content out = copy(in, writer);
    if (in.end() == file_end::marked) writer.close();
    return out;
  }
  bin_writer writer;
  const status opened = writer.open(heap_memory(), file.bytes(), in.header(), {.block_events = block_events});
  if (opened == status::resource_exhausted) throw bad_data("there is not enough memory for a block of the journal");
  content out;
  if (opened == status::ok) out = copy(in, writer);
  // finish() reports what the port refused.
  static_cast<void>(in.end() == file_end::marked ? writer.close() : writer.flush());
  return out;
}

void convert(const convert_words& w, session& s) {
  static_cast<void>(wants_binary(w.to));
  const std::uint64_t block_events =
      w.block_events.empty() ? writer_options{}.block_events : parse_number(w.block_events, "number of events");
  if (block_events == 0 || block_events > bin::block_events_max / 2) {
    throw bad_word(
        fmt::format("'{}' is no size of a block: 1 to {} events", w.block_events, bin::block_events_max / 2));
  }
  journal_input in(w.from);
  output_file file(w.to, w.force);
  const content before = copy_to(in, file, w, static_cast<std::uint32_t>(block_events));
  if (in.end() == file_end::cut && !w.allow_cut) {
    throw bad_data(
        fmt::format("{}, {}: the file is cut here; --cut converts the {} events before it, and {} is then cut too",
                    w.from, in.cut_place(), in.events_read(), w.to));
  }
  file.finish();

  journal_input out(file.partial_path());
  content after;
  for (event e; out.next(e);) after.add(e);
  const bool same = out.digest() == in.digest() && after.value() == before.value() && out.header() == in.header() &&
                    out.events_read() == in.events_read() && out.end() == in.end();
  if (same) file.publish();
  if (s.json) {
    put_json({{"from", w.from},
              {"to", w.to},
              {"events", in.events_read()},
              {"from_digest", in.digest()},
              {"to_digest", out.digest()},
              {"end", in.end() == file_end::cut ? "cut" : "marked"},
              {"same", same}});
  } else {
    fmt::print("{}  {}\n{}  {}\n", in.digest(), w.from, out.digest(), w.to);
    if (same) fmt::print("{} events, nothing was lost\n", in.events_read());
  }
  std::fflush(stdout);
  in.tell_cut();
  if (!same) {
    throw bad_data(
        fmt::format("{} would not say the same as {}, and was not written; this is a fault of asx: report "
                    "it with {}",
                    w.to, w.from, w.from));
  }
}

}  // namespace

void add_journal_convert(CLI::App& journal, session& s) {
  auto* const verb = journal.add_subcommand("convert", "The same journal in the other form, without loss");
  auto w = std::make_shared<convert_words>();
  verb->add_option("FROM", w->from, "A journal, binary or JSON Lines")->required();
  verb->add_option("TO", w->to, "The file to make: .asxj for binary, .jsonl for JSON Lines")->required();
  verb->add_flag("--force", w->force, "Replace TO if it is there");
  verb->add_flag("--cut", w->allow_cut, "Convert what there is of a cut journal; TO is then cut too");
  verb->add_option("--block-events", w->block_events, "Events in a block of a binary TO, 1 to 4096; 1024 by default");
  verb->callback([w, &s] { convert(*w, s); });
}

}  // namespace asx::cli
