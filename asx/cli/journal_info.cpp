// asx journal info FILE - what a journal holds, and whether all of it is there (exit 1 when it is damaged).
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "asx/cli/journal_file.hpp"
#include "asx/cli/journal_verbs.hpp"
#include "asx/journal/describe.hpp"

namespace asx::cli {
namespace {

struct summary {
  std::uint64_t semantic = 0, first_time = 0, last_time = 0;
};

std::string show_time(std::uint64_t ns) {
  std::string out;
  append_time(out, ns);
  return out;
}

std::string_view end_name(file_end end) {
  return end == file_end::marked ? "marked" : end == file_end::cut ? "cut" : "damaged";
}

void print_json(const journal_input& in, const summary& sum) {
  nlohmann::ordered_json out{{"file", in.path()},
                             {"codec", in.is_binary() ? "binary" : "json"},
                             {"profile", in.header().profile_name()},
                             {"seed", json_number(in.header().seed)},
                             {"seq_before", json_number(in.header().seq_before)},
                             {"events", in.events_read()},
                             {"semantic_events", sum.semantic},
                             {"last_seq", json_number(in.last_seq())},
                             {"first_time", json_number(sum.first_time)},
                             {"last_time", json_number(sum.last_time)},
                             {"digest", in.digest()},
                             {"end", end_name(in.end())}};
  if (in.end() == file_end::cut) out["place"] = in.cut_place();
  if (in.end() == file_end::damaged) {
    out["place"] = fmt::format("{} {}", in.fault().place_is_line ? "line" : "byte", in.fault().place);
    out["fault"] = in.fault().sentence;
  }
  put_json(out);
}

void print_text(const journal_input& in, const summary& sum) {
  fmt::print("codec    {}\n", in.is_binary() ? "binary" : "JSON Lines");
  fmt::print("profile  {}\n", in.header().profile_name());
  fmt::print("seed     {}\n", in.header().seed);
  fmt::print("events   {}, {} of them semantic", in.events_read(), sum.semantic);
  if (sum.semantic > 0) fmt::print(", numbered {} to {}", in.header().seq_before + 1, in.last_seq());
  fmt::print("\ntime     {} to {}\n", show_time(sum.first_time), show_time(sum.last_time));
  fmt::print("digest   {}{}\n", in.digest(), in.end() == file_end::marked ? "" : "  (of what is intact)");
  switch (in.end()) {
    case file_end::marked: return fmt::print("end      marked: everything is there\n");
    case file_end::cut:
      return fmt::print("end      cut at {}: its writer died or its disk was full; what came before is intact\n",
                        in.cut_place());
    default: return fmt::print("end      damaged: {}\n", in.fault().sentence);
  }
}

}  // namespace

void add_journal_info(CLI::App& journal, session& s) {
  auto* const verb = journal.add_subcommand("info", "What a journal holds and how it ends; exit 1 when it is damaged");
  auto file = std::make_shared<std::string>();
  verb->add_option("FILE", *file, "A journal, binary or JSON Lines")->required();
  verb->callback([file, &s] {
    journal_input in(*file);
    summary sum;
    for (event e; in.next(e);) {
      if (in.events_read() == 1) sum.first_time = e.time_ns;
      sum.last_time = e.time_ns;
      sum.semantic += e.semantic() ? 1U : 0U;
    }
    s.json ? print_json(in, sum) : print_text(in, sum);
    std::fflush(stdout);
    in.refuse_damage();
  });
}

}  // namespace asx::cli
