// asx/scenario/testing/fixtures.hpp - the fixtures of the specification, read; and what is known about their order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asx/base/testing.hpp"
#include "asx/scenario/player.hpp"

namespace asx::scenario::testing {

inline std::filesystem::path conformance_folder() {
  return asx::testing::project_folder() / "conformance";
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

using fixture_map = std::map<std::string, std::unique_ptr<scenario>>;

inline fixture_map all_fixtures() {
  fixture_map out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(conformance_folder() / "fixtures")) {
    if (entry.path().extension() != ".json") continue;
    std::vector<complaint> wrong;
    auto s = read(text_of(entry.path()), entry.path().filename().string(), wrong);
    EXPECT_TRUE(wrong.empty()) << entry.path() << ":" << wrong.front().at.line << ": " << wrong.front().text;
    if (s != nullptr) out.emplace(entry.path().stem().string(), std::move(s));
  }
  return out;
}

/// A file of one level: names and texts.
inline std::map<std::string, std::string> texts_in(const node& object) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < object.keys.size(); ++i) out[object.keys[i]] = object.items[i].text;
  return out;
}

inline node read_json(std::string_view name) {
  node tree;
  complaint wrong;
  EXPECT_TRUE(parse(text_of(conformance_folder() / name), tree, wrong)) << name << ": " << wrong.text;
  return tree;
}

/// What orders a fixture holds in, as conformance/order.json says.
enum class order_need : std::uint8_t {
  none,     // It holds in every order.
  lists,    // Only the order of what it lists depends on it: without that it holds (play_options::checks_order).
  the_one,  // What happens depends on who comes first.
};

struct order_entry {
  order_need need = order_need::none;
  std::string group{}, why{};
};

/// By fixture; who is not there needs none. Aliases are not there.
inline std::map<std::string, order_entry> orders_needed() {
  std::map<std::string, order_entry> out;
  const node tree = read_json("order.json");
  for (std::size_t i = 0; i < tree.keys.size(); ++i) {
    if (!tree.items[i].is(node_kind::object)) continue;
    const order_need need = tree.keys[i] == "but_for_lists" ? order_need::lists : order_need::the_one;
    for (const auto& [id, why] : texts_in(tree.items[i])) {
      EXPECT_TRUE(out.emplace(id, order_entry{need, tree.keys[i], why}).second) << id << " stands there twice";
      EXPECT_FALSE(why.empty()) << id << " says no reason";
    }
  }
  return out;
}

inline std::string first_failure(const verdict& v) {
  if (v.passed()) return {};
  const failure& f = v.failures.front();
  return "line " + std::to_string(f.at.line) + ": " + f.step + ": " + f.text;
}

}  // namespace asx::scenario::testing
