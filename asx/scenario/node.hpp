// asx/scenario/node.hpp - JSON that remembers where it stood, so that every complaint can name line and column.
//
//     {"do": "sleep", "for": "5ms"}      node(object, 3:5) --+-- do   node(text, 3:12)
//                                                            +-- for  node(text, 3:28)
//
// 1  Members keep the order of the file; a key that is there twice is a complaint of the parser.
// 2  Numbers are whole and not negative (0 to 2^64 - 1); others are a complaint of the parser.
// 3  A text is UTF-8; depth is bounded, so that no file can exhaust the stack.
//
// Cancel points: none. Threads: plain values. Lifetime: owns everything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asx::scenario {

/// In the file; lines and columns from 1, columns in bytes. 0: nowhere, as for what has a default.
struct position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend bool operator==(position, position) noexcept = default;
};

/// What is wrong, where, and what would be right.
struct complaint {
  position at{};
  std::string field{};  // Path of keys and indices: "steps[3].status".
  std::string text{};   // One sentence or two; names the nearest valid word where there is one.
};

enum class node_kind : std::uint8_t { null, boolean, number, text, list, object };

[[nodiscard]] constexpr std::string_view name(node_kind kind) noexcept {
  constexpr std::string_view names[] = {"null", "true or false", "a number", "a text", "a list", "an object"};
  return names[static_cast<std::size_t>(kind)];
}

struct node {
  node_kind kind = node_kind::null;
  position at{};
  bool flag = false;                // Of a boolean.
  std::uint64_t number = 0;         // Of a number.
  std::string text{};               // Of a text.
  std::vector<std::string> keys{};  // Of an object, beside its items.
  std::vector<position> keys_at{};  // Where each key stands.
  std::vector<node> items{};        // Of a list or an object.

  [[nodiscard]] bool is(node_kind k) const noexcept { return kind == k; }
  /// The member with this key; null when there is none, or this is no object.
  [[nodiscard]] const node* find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == key) return &items[i];
    }
    return nullptr;
  }
};

/// False with exactly one complaint when `json` is no JSON, or breaks the rules above.
[[nodiscard]] bool parse(std::string_view json, node& out, complaint& wrong);

}  // namespace asx::scenario
