// asx/cli/conformance.hpp - all fixtures played, in every profile and by both codecs, and what came of it.
//
//     conformance/catalog.json      which ids there must be
//     conformance/fixtures/*/*.json the scenarios, one file an id
//     conformance/digests.json      what each came to, once it was found to be right
//
// 1  Each fixture is played once for each profile, codec and seed. Its journal is written by the codec and read again:
//    nothing may be lost, and the digest of what was read is the digest of the run.
// 2  All plays of a fixture under one seed must come to one digest, and to the one that is kept.
// 3  A file that makes no sense, an id without a file and a file without an id are failures like any other.
//
// Cancel points: none. Threads: one. Lifetime: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "asx/scenario/scenario.hpp"

namespace asx::cli {

struct conform_record {
  std::string id, domain, file;  // The file that was played.
  std::string profile, codec;
  std::string digest;  // Of all seeds; empty when it was not played.
  std::vector<std::string> failures;
  std::uint64_t checks = 0, events = 0;
  std::uint64_t micros = 0;
  bool is_right = false;  // All but the digest that is kept, which may be older than what was meant.

  [[nodiscard]] bool passed() const noexcept { return failures.empty(); }
};

struct conform_order {
  std::string folder;                       // With catalog.json, fixtures and digests.json.
  std::vector<std::string> only;            // Ids, or beginnings of ids; all when empty.
  std::vector<scenario::profile> profiles;  // All that a fixture lists when empty.
  std::vector<std::string> codecs;          // "bin", "json"; both when empty.
  std::function<void(std::size_t done, std::size_t all, const std::string& id)> progress;
};

struct conformance {
  std::vector<conform_record> records;
  std::vector<std::string> complaints;  // About the folder: ids without a file, files without an id.
  std::map<std::string, std::string> digests;
  std::uint64_t fixtures = 0, fixtures_passed = 0, wanted = 0;  // `wanted`: ids of the catalogue that were asked for.
  std::uint64_t micros = 0;

  [[nodiscard]] bool passed() const noexcept { return complaints.empty() && fixtures_passed == fixtures; }
};

/// bad_data when the folder is no folder of fixtures.
[[nodiscard]] conformance conform(const conform_order& order);
/// Makes `conform` keep to what came out now, of fixtures whose expectations held.
void keep_digests(const conform_order& order, const conformance& done);
/// One JSON object a line for each record, with every field that the specification's reports have.
[[nodiscard]] std::string report_lines(const conformance& done);
/// A table by domain and what failed, for people.
[[nodiscard]] std::string summary(const conformance& done);

}  // namespace asx::cli
