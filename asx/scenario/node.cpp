// A JSON parser of its own, because it must tell a person what is wrong and where.
//
// A library's events do not say where a value began, count columns from its lookahead, and word their refusals for
// programmers; bending one to that took more code than the grammar does. A test holds this parser to nlohmann's on
// generated texts: both accept the same, but for what the header rules out.
#include "asx/scenario/node.hpp"

#include <array>
#include <map>
#include <utility>

namespace asx::scenario {
namespace {

constexpr std::size_t deepest = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

/// Length of the UTF-8 sequence that `text` begins with; 0 when it is none: too short, too long, a surrogate, or above
/// U+10FFFF.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned from = 0x80, unsigned to = 0xbf) {
    return byte(i) >= from && byte(i) <= to;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool fits = follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2);
    return fits ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool fits = follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3);
    return fits ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

class parser {
 public:
  parser(std::string_view json, complaint& wrong) : json_(json), wrong_(wrong) {}

  bool whole(node& out) {
    if (json_.starts_with("\xef\xbb\xbf")) {
      return refuse("The file begins with a byte order mark; save it as UTF-8 without one.");
    }
    skip_space();
    if (at_end()) return refuse_at({1, 1}, "The file is empty; a scenario is a JSON object.");
    if (!value(out, 0)) return false;
    skip_space();
    return at_end() || refuse("The file goes on behind its end: " + what_stands_here() + " is too much.");
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == json_.size(); }
  [[nodiscard]] char here() const { return at_end() ? '\0' : json_[at_]; }
  [[nodiscard]] std::string_view rest() const { return json_.substr(at_); }
  [[nodiscard]] position where() const { return where(at_); }
  [[nodiscard]] position where(std::size_t at) const {
    return {line_, static_cast<std::uint32_t>(at - line_start_ + 1)};
  }

  bool refuse(std::string text) { return refuse_at(where(), std::move(text)); }
  bool refuse_at(position at, std::string text) {
    wrong_ = {at, path_, std::move(text)};
    return false;
  }

  // Newlines stand only here: a text that holds one is refused.
  void skip_space() {
    for (; !at_end(); ++at_) {
      const char c = here();
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return;
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
    }
  }

  /// For a sentence: the word or the sign that stands here.
  [[nodiscard]] std::string what_stands_here() const {
    if (at_end()) return "the end of the file";
    std::size_t length = 0;
    while (length < 24 && at_ + length < json_.size() &&
           (is_letter(json_[at_ + length]) || is_digit(json_[at_ + length]) || json_[at_ + length] == '_')) {
      ++length;
    }
    if (length != 0) return quoted(rest().substr(0, length));
    const auto byte = static_cast<unsigned char>(here());
    if (byte > 0x20 && byte < 0x7f) return quoted(rest().substr(0, 1));
    return "the byte " + hex(byte);
  }
  static std::string hex(unsigned char byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    return std::string("0x") + digits[byte >> 4] + digits[byte & 15];
  }

  bool value(node& out, std::size_t depth) {
    out.at = where();
    switch (here()) {
      case '{': return depth < deepest ? object(out, depth) : too_deep();
      case '[': return depth < deepest ? list(out, depth) : too_deep();
      case '"': out.kind = node_kind::text; return text(out.text);
      case '-':
      case '+':
      case '.': return number(out);
      case '\'': return refuse("A text stands in double quotes, not in single ones.");
      case '/': return refuse("JSON has no comments; a step can have a \"note\".");
      default: break;
    }
    if (is_digit(here())) return number(out);
    return literal(out);
  }
  bool too_deep() { return refuse("This is nested deeper than 64 levels, and nothing in a scenario needs that."); }

  bool literal(node& out) {
    static constexpr std::array<std::string_view, 3> known{"true", "false", "null"};
    std::size_t length = 0;
    while (at_ + length < json_.size() && (is_letter(json_[at_ + length]) || is_digit(json_[at_ + length]))) ++length;
    const std::string_view word = rest().substr(0, length);
    if (word == "true" || word == "false") {
      out.kind = node_kind::boolean;
      out.flag = word == "true";
    } else if (word == "null") {
      out.kind = node_kind::null;
    } else if (word.empty()) {
      return at_end() ? ends_early() : refuse("A value is missing here: " + what_stands_here() + " begins none.");
    } else {
      std::string_view near;  // A slip keeps its first letter; None and nil are null.
      for (const std::string_view k : known) {
        if ((word.front() | 0x20) == k.front()) near = k;
      }
      return refuse(
          what_stands_here() + " is no value of JSON; " +
          (near.empty() ? std::string("a text stands in double quotes.") : "did you mean " + quoted(near) + "?"));
    }
    at_ += length;
    return true;
  }

  bool number(node& out) {
    constexpr std::string_view wanted = "numbers are whole, 0 to 2^64 - 1.";
    std::size_t length = 0;
    while (at_ + length < json_.size()) {
      const char c = json_[at_ + length];
      if (!is_digit(c) && !is_letter(c) && c != '.' && c != '+' && c != '-') break;
      ++length;
    }
    const std::string_view word = rest().substr(0, length);
    const std::string shown = quoted(word.substr(0, 40));
    const auto no = [&](std::string_view what) {
      return refuse(shown + " " + std::string(what) + "; " + std::string(wanted));
    };
    if (word.front() == '-') return no("is negative");
    std::uint64_t n = 0;
    bool fits = true;
    for (const char c : word) {
      if (!is_digit(c)) {
        if (c == '.' || c == 'e' || c == 'E') return no("is no whole number");
        return no("is no number");
      }
      const auto digit = static_cast<std::uint64_t>(c - '0');
      fits = fits && n <= (UINT64_MAX - digit) / 10;
      n = n * 10 + digit;
    }
    if (!fits) return no("is too large");
    if (word.size() > 1 && word.front() == '0') return refuse(shown + " begins with 0; write the number without it.");
    out.kind = node_kind::number;
    out.number = n;
    at_ += length;
    return true;
  }

  bool four_hex(std::uint32_t& out) {
    out = 0;
    for (std::size_t i = 0; i < 4; ++i, ++at_) {
      const char c = here();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      out = out * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  bool escape(std::string& out) {
    const position start = where();
    ++at_;  // The backslash.
    constexpr std::string_view letters = "\"\\/bfnrt", stand_for = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = letters.find(here()); i != std::string_view::npos && !at_end()) {
      out += stand_for[i];
      ++at_;
      return true;
    }
    if (here() != 'u')
      return refuse_at(start, "A backslash stands before one of \" \\ / b f n r t u, and here it does not.");
    ++at_;
    constexpr std::string_view four = "Four hexadecimal digits follow \\u, and here they do not.";
    constexpr std::string_view half = "This is one half of a pair of surrogates; the other half is missing.";
    std::uint32_t point = 0, low = 0;
    if (!four_hex(point)) return refuse_at(start, std::string(four));
    if (point >= 0xdc00 && point <= 0xdfff) return refuse_at(start, std::string(half));
    if (point >= 0xd800 && point <= 0xdbff) {
      if (!rest().starts_with("\\u")) return refuse_at(start, std::string(half));
      at_ += 2;
      if (!four_hex(low)) return refuse_at(start, std::string(four));
      if (low < 0xdc00 || low > 0xdfff) return refuse_at(start, std::string(half));
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, point);
    return true;
  }

  bool text(std::string& out) {
    const position start = where();
    ++at_;
    for (;;) {  // asx: bounded by the length of the file: each turn takes a byte or ends
      if (at_end() || here() == '\n') return refuse_at(start, "This text has no closing quote on its line.");
      const auto byte = static_cast<unsigned char>(here());
      if (byte == '"') break;
      if (byte == '\\') {
        if (!escape(out)) return false;
        continue;
      }
      if (byte < 0x20)
        return refuse("The byte " + hex(byte) + " stands in a text; write it as an escape, such as \\t.");
      const std::size_t length = utf8_length(rest());
      if (length == 0) return refuse("The byte " + hex(byte) + " is no UTF-8; save the file as UTF-8.");
      out += rest().substr(0, length);
      at_ += length;
    }
    ++at_;
    return true;
  }

  bool ends_early() {
    if (open_.empty()) return refuse("The file ends where a value was to begin.");
    const auto [sign, start] = open_.back();
    return refuse("The file ends inside " + std::string(sign == '{' ? "an object" : "a list") + " that began at line " +
                  std::to_string(start.line) + ", column " + std::to_string(start.column) + ".");
  }

  /// Behind an item: true with `more` when another follows, true without when the end was taken.
  bool separator(char end, bool& more) {
    skip_space();
    if (at_end()) return ends_early();
    more = here() == ',';
    if (!more && here() != end) {
      return refuse("A ',' or a '" + std::string(1, end) + "' is missing before " + what_stands_here() + ".");
    }
    const position comma = where();
    ++at_;
    if (!more) return true;
    skip_space();
    if (here() == end) return refuse_at(comma, "No ',' stands behind the last one.");
    return true;
  }

  bool list(node& out, std::size_t depth) {
    out.kind = node_kind::list;
    open_.emplace_back('[', out.at);
    ++at_;
    skip_space();
    bool more = here() != ']';
    if (!more) ++at_;
    while (more) {
      const std::size_t path_length = path_.size();
      path_ += "[" + std::to_string(out.items.size()) + "]";
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1)) return false;
      path_.resize(path_length);
      if (!separator(']', more)) return false;
    }
    open_.pop_back();
    return true;
  }

  bool object(node& out, std::size_t depth) {
    out.kind = node_kind::object;
    open_.emplace_back('{', out.at);
    std::map<std::string, position, std::less<>> seen;
    ++at_;
    skip_space();
    bool more = here() != '}';
    if (!more) ++at_;
    while (more) {
      const position key_at = where();
      if (at_end()) return ends_early();
      if (here() != '"') return refuse("A key is a text in double quotes, and " + what_stands_here() + " begins none.");
      std::string key;
      if (!text(key)) return false;
      const std::size_t path_length = path_.size();
      path_ += (path_.empty() ? "" : ".") + key;
      if (const auto [first, is_new] = seen.emplace(key, key_at); !is_new) {
        return refuse_at(key_at, quoted(key) + " is there twice; it already stands at line " +
                                     std::to_string(first->second.line) + ", column " +
                                     std::to_string(first->second.column) + ".");
      }
      skip_space();
      if (at_end()) return ends_early();
      if (here() != ':') return refuse("A ':' is missing between the key " + quoted(key) + " and its value.");
      ++at_;
      skip_space();
      out.keys.push_back(std::move(key));
      out.keys_at.push_back(key_at);
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1)) return false;
      path_.resize(path_length);
      if (!separator('}', more)) return false;
    }
    open_.pop_back();
    return true;
  }

  std::string_view json_;
  complaint& wrong_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  std::string path_{};
  std::vector<std::pair<char, position>> open_{};  // What has begun and not ended.
};

}  // namespace

bool parse(std::string_view json, node& out, complaint& wrong) {
  out = {};
  return parser(json, wrong).whole(out);
}

}  // namespace asx::scenario
