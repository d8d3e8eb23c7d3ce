#include "asx/cli/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "asx/base/config.hpp"
#include "asx/cli/journal_file.hpp"
#include "asx/cli/scenario_file.hpp"
#include "asx/cli/words.hpp"
#include "asx/scenario/recycled_memory.hpp"

namespace asx::cli {
namespace {

namespace files = std::filesystem;
using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

std::uint64_t micros_since(clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - start).count());
}

json parse_file(const files::path& path) {
  try {
    return json::parse(read_text(path.string()));
  } catch (const json::exception&) {
    throw bad_data(fmt::format("{} is no JSON; take it from the repository again", path.string()));
  }
}

// A codec's bytes in memory: written, then read again.
struct memory_file {
  std::vector<std::byte> bytes;

  [[nodiscard]] write_port writer() noexcept {
    return {this, [](void* self, std::span<const std::byte> more) noexcept -> std::int64_t {
              auto& to = static_cast<memory_file*>(self)->bytes;
              to.insert(to.end(), more.begin(), more.end());
              return static_cast<std::int64_t>(more.size());
            }};
  }
  [[nodiscard]] read_port reader() noexcept {
    return {this, [](void* self, std::uint64_t offset, std::span<std::byte> into) noexcept -> std::int64_t {
              const auto& from = static_cast<memory_file*>(self)->bytes;
              if (offset >= from.size()) return 0;
              const std::size_t n = std::min(into.size(), from.size() - static_cast<std::size_t>(offset));
              std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(offset), n, into.begin());
              return static_cast<std::int64_t>(n);
            }};
  }
};

template <class Reader>
std::string read_back(Reader& reader, memory_file& file, const scenario::verdict& v) {
  if (reader.open(file.reader()) != status::ok) return "its journal cannot be opened again";
  std::size_t n = 0;
  for (event e; reader.next(e) == status::ok; ++n) {
    if (n >= v.journal.size() || canonical_bytes(e) != canonical_bytes(v.journal[n])) {
      return fmt::format("event {} of its journal was read as another one than was written", n + 1);
    }
  }
  if (n != v.journal.size()) return fmt::format("{} events were written, {} read", v.journal.size(), n);
  if (reader.digest() != v.digest) {
    return fmt::format("the journal that was read has the digest {}, the run {}", show(reader.digest()),
                       show(v.digest));
  }
  return {};
}

std::string check_codec(const scenario::verdict& v, const scenario::play_options& how, bool is_binary) {
  memory_file file;
  write_journal(v, how, is_binary, file.writer());
  if (is_binary) {
    bin_reader reader;
    return read_back(reader, file, v);
  }
  json_reader reader;
  return read_back(reader, file, v);
}

conform_record play_record(const loaded_scenario& l, scenario::profile with, const std::string& codec,
                           const memory_port& memory) {
  conform_record out{.id = l.id,
                     .domain = l.domain,
                     .file = l.body_path,
                     .profile = std::string(name(with)),
                     .codec = codec,
                     .digest = {},
                     .failures = {},
                     .checks = 0,
                     .events = 0,
                     .micros = 0};
  const clock::time_point start = clock::now();
  std::vector<digest128> plays;
  for (const std::uint64_t seed : l.body->seeds) {
    scenario::play_options how;
    how.with = with;
    how.seed = seed;
    how.memory = memory;
    const scenario::verdict v = scenario::play(*l.body, how);
    out.checks += v.checks;
    out.events += v.journal.size();
    for (const scenario::failure& f : v.failures) {
      out.failures.push_back(fmt::format("{}:{}:{}: {}: {}", l.body_path, f.at.line, f.at.column, f.step, f.text));
    }
    if (std::string wrong = check_codec(v, how, codec == "bin"); !wrong.empty()) out.failures.push_back(wrong);
    plays.push_back(v.digest);
  }
  out.digest = show(scenario::digest_of(plays));
  if (out.checks == 0) out.failures.emplace_back("it checks nothing");
  out.micros = micros_since(start);
  return out;
}

bool is_asked_for(const conform_order& order, const std::string& id) {
  return order.only.empty() ||
         std::any_of(order.only.begin(), order.only.end(), [&](const std::string& o) { return id.starts_with(o); });
}

// Where each id lies; complaints about ids and files that do not fit together.
std::map<std::string, files::path> find_files(const conform_order& order, const std::set<std::string>& ids,
                                              std::vector<std::string>& complaints) {
  const files::path root = files::path(order.folder) / "fixtures";
  if (!files::is_directory(root)) {
    throw bad_data(
        fmt::format("{} is no folder of fixtures: {} is missing; --fixtures names the folder `conformance` of "
                    "the sources of asx",
                    order.folder, root.string()));
  }
  std::map<std::string, files::path> out;
  for (const auto& entry : files::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".json") continue;
    const std::string id = entry.path().stem().string();
    if (!ids.contains(id)) {
      const std::vector<std::string_view> known(ids.begin(), ids.end());
      complaints.push_back(
          fmt::format("{} is named after no id of the catalogue.{}", entry.path().string(), suggestion(id, known)));
    } else if (!out.emplace(id, entry.path()).second) {
      complaints.push_back(fmt::format("{} is there twice: {} and {}", id, out[id].string(), entry.path().string()));
    }
  }
  for (const std::string& id : ids) {
    if (is_asked_for(order, id) && !out.contains(id)) {
      complaints.push_back(fmt::format("{} has no file under {}", id, root.string()));
    }
  }
  return out;
}

std::map<std::string, std::string> kept_digests(const conform_order& order) {
  const files::path path = files::path(order.folder) / "digests.json";
  std::map<std::string, std::string> out;
  if (!files::exists(path)) return out;
  const json kept = parse_file(path);
  for (const auto& [id, digest] : kept.items()) out[id] = digest.get<std::string>();
  return out;
}

class player {
 public:
  player(const conform_order& order, conformance& out)
      : order_(order), out_(out), kept_(kept_digests(order)), codecs_(order.codecs) {
    if (codecs_.empty()) codecs_ = {"bin", "json"};
  }

  void play(const std::string& id, const std::string& domain, const files::path& path) {
    bool passed = true;
    const std::size_t before = out_.records.size();
    try {
      const loaded_scenario l = load_scenario(path.string(), true);
      if (l.id != id) throw bad_data(fmt::format("{}: its id is '{}', not that of its name", path.string(), l.id));
      if (l.domain != domain) {
        throw bad_data(fmt::format("{}: its domain is '{}', the catalogue says '{}'", path.string(), l.domain, domain));
      }
      passed = play_all(id, l);
    } catch (const bad_data& error) {
      conform_record broken;
      broken.id = id;
      broken.domain = domain;
      broken.file = path.string();
      broken.failures.emplace_back(error.what());
      out_.records.push_back(std::move(broken));
      passed = false;
    }
    if (out_.records.size() == before) {  // Not in the profiles that were asked for.
      --out_.wanted;
      return;
    }
    ++out_.fixtures;
    out_.fixtures_passed += passed ? 1U : 0U;
  }

 private:
  bool play_all(const std::string& id, const loaded_scenario& l) {
    bool passed = true;
    std::string digest;
    const std::size_t first = out_.records.size();
    const auto kept = kept_.find(id);
    for (const scenario::profile with : l.body->profiles) {
      const auto& wanted = order_.profiles;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), with) == wanted.end()) continue;
      for (const std::string& codec : codecs_) {
        conform_record r = play_record(l, with, codec, memory_.port());
        if (digest.empty()) digest = r.digest;
        if (r.digest != digest) {
          r.failures.push_back(
              fmt::format("its digest is {}, and was {} in another profile or play", r.digest, digest));
        }
        r.is_right = r.passed();
        if (kept == kept_.end()) {
          r.failures.push_back(
              fmt::format("digests.json keeps nothing for it; if the run is right, asx conform {} --keep "
                          "writes {} down",
                          id, r.digest));
        } else if (r.digest != kept->second) {
          r.failures.push_back(
              fmt::format("its digest is {}, and digests.json keeps {}; if the run is right, asx conform "
                          "--keep writes it down",
                          r.digest, kept->second));
        }
        passed = passed && r.passed();
        out_.records.push_back(std::move(r));
      }
    }
    const bool is_right = std::all_of(out_.records.begin() + static_cast<std::ptrdiff_t>(first), out_.records.end(),
                                      [](const conform_record& r) { return r.is_right; });
    if (!digest.empty() && is_right) out_.digests[id] = digest;
    return passed;
  }

  const conform_order& order_;
  conformance& out_;
  std::map<std::string, std::string> kept_;
  std::vector<std::string> codecs_;
  scenario::recycled_memory memory_;
};

}  // namespace

conformance conform(const conform_order& order) {
  const clock::time_point start = clock::now();
  conformance out;
  const json catalogue = parse_file(files::path(order.folder) / "catalog.json");
  std::map<std::string, std::string> domains;
  std::set<std::string> ids;
  for (const json& fixture : catalogue.at("fixtures")) {
    const auto id = fixture.at("id").get<std::string>();
    ids.insert(id);
    domains[id] = fixture.at("domain").get<std::string>();
  }
  const std::map<std::string, files::path> found = find_files(order, ids, out.complaints);
  for (const std::string& word : order.only) {
    const bool fits = std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return id.starts_with(word); });
    if (fits) continue;
    const std::vector<std::string_view> known(ids.begin(), ids.end());
    throw bad_data(
        fmt::format("'{}' is no id of the catalogue, nor the beginning of one.{}", word, suggestion(word, known)));
  }
  std::vector<std::string> chosen;
  for (const std::string& id : ids) {
    if (is_asked_for(order, id)) chosen.push_back(id);
  }
  out.wanted = chosen.size();
  player all(order, out);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (order.progress) order.progress(i, chosen.size(), chosen[i]);
    if (const auto at = found.find(chosen[i]); at != found.end()) all.play(chosen[i], domains[chosen[i]], at->second);
  }
  if (order.progress) order.progress(chosen.size(), chosen.size(), "");
  if (out.records.empty() && out.complaints.empty()) {
    throw bad_data("none of these fixtures is played in the profile that was asked for");
  }
  out.micros = micros_since(start);
  return out;
}

void keep_digests(const conform_order& order, const conformance& done) {
  std::map<std::string, std::string> all = kept_digests(order);
  for (const auto& [id, digest] : done.digests) all[id] = digest;
  json out = json::object();
  for (const auto& [id, digest] : all) out[id] = digest;
  const std::string path = (files::path(order.folder) / "digests.json").string();
  output_file file(path, true);
  file.text()(out.dump(2) + "\n");
  file.finish();
  file.publish();
}

std::string report_lines(const conformance& done) {
  std::string out;
  for (const conform_record& r : done.records) {
    const json line{{"rust_baseline_commit", nullptr},
                    {"rust_toolchain_commit_hash", nullptr},
                    {"rust_toolchain_release", nullptr},
                    {"rust_toolchain_host", nullptr},
                    {"cargo_lock_sha256", nullptr},
                    {"cargo_lock_bytes", nullptr},
                    {"cargo_lock_tracked_by_git", nullptr},
                    {"fixture_schema_version", "1"},
                    {"scenario_dsl_version", std::to_string(scenario::dsl_version)},
                    {"scenario_id", r.id},
                    {"codec", r.codec.empty() ? json() : json(r.codec)},
                    {"profile", r.profile.empty() ? json() : json(r.profile)},
                    {"parity", "not_compared"},
                    {"semantic_digest", r.digest.empty() ? json() : json(r.digest)},
                    {"delta_classification", nullptr},
                    {"domain", r.domain},
                    {"file", r.file},
                    {"result", r.passed() ? "pass" : "fail"},
                    {"failures", r.failures},
                    {"checks", r.checks},
                    {"events", r.events},
                    {"micros", r.micros},
                    {"asx_version", fmt::format("{}.{}.{}", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH)}};
    out += line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  return out;
}

std::string summary(const conformance& done) {
  struct row {
    std::set<std::string> ids, failed;
    std::uint64_t plays = 0, checks = 0, micros = 0;
  };
  std::map<std::string, row> rows;
  for (const conform_record& r : done.records) {
    row& at = rows[r.domain];
    at.ids.insert(r.id);
    if (!r.passed()) at.failed.insert(r.id);
    at.plays += r.codec.empty() ? 0U : 1U;
    at.checks += r.checks;
    at.micros += r.micros;
  }
  std::string out =
      fmt::format("{:<14}{:>9}{:>8}{:>8}{:>9}{:>9}\n", "domain", "fixtures", "passed", "plays", "checks", "ms");
  for (const auto& [domain, at] : rows) {
    out += fmt::format("{:<14}{:>9}{:>8}{:>8}{:>9}{:>9.1f}\n", domain, at.ids.size(), at.ids.size() - at.failed.size(),
                       at.plays, at.checks, static_cast<double>(at.micros) / 1000);
  }
  return out;
}

}  // namespace asx::cli
