// The parser: what it says of broken JSON, where things stand, and that it takes what others take.
#include "asx/scenario/node.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "asx/base/random.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define ASX_HAS_PEER 1
#endif

namespace {

using namespace asx::scenario;

// "line:column: field: text", or nothing when it parses.
std::string told(std::string_view json) {
  node out;
  complaint wrong;
  if (parse(json, out, wrong)) return "";
  return std::to_string(wrong.at.line) + ":" + std::to_string(wrong.at.column) + ": " +
         (wrong.field.empty() ? "" : wrong.field + ": ") + wrong.text;
}

struct broken {
  std::string_view json;
  std::string_view says;
};

using namespace std::literals;

// clang-format off: a table is read by its rows
const broken broken_texts[] = {
    {"", "1:1: The file is empty; a scenario is a JSON object."},
    {"\n \t\r\n", "1:1: The file is empty; a scenario is a JSON object."},
    {"\xef\xbb\xbf{}", "1:1: The file begins with a byte order mark; save it as UTF-8 without one."},
    {"{} x", "1:4: The file goes on behind its end: 'x' is too much."},
    {"{}\n{}", "2:1: The file goes on behind its end: '{' is too much."},
    {"1 \0"sv, "1:3: The file goes on behind its end: the byte 0x00 is too much."},
    {R"({"a": -5})", "1:7: a: '-5' is negative; numbers are whole, 0 to 2^64 - 1."},
    {R"({"a": [1, 2.5]})", "1:11: a[1]: '2.5' is no whole number; numbers are whole, 0 to 2^64 - 1."},
    {R"({"a": 1e3})", "1:7: a: '1e3' is no whole number; numbers are whole, 0 to 2^64 - 1."},
    {R"({"a": +1})", "1:7: a: '+1' is no number; numbers are whole, 0 to 2^64 - 1."},
    {R"({"a": .5})", "1:7: a: '.5' is no whole number; numbers are whole, 0 to 2^64 - 1."},
    {R"({"a": 5ms})", "1:7: a: '5ms' is no number; numbers are whole, 0 to 2^64 - 1."},
    {R"({"a": 007})", "1:7: a: '007' begins with 0; write the number without it."},
    {"18446744073709551616", "1:1: '18446744073709551616' is too large; numbers are whole, 0 to 2^64 - 1."},
    {"{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}", "2:16: b.c: 'c' is there twice; it already stands at line 2, column 8."},
    {R"({"a": 1,})", "1:8: No ',' stands behind the last one."},
    {R"(["a", "b",])", "1:10: No ',' stands behind the last one."},
    {R"({"a" 1})", "1:6: a: A ':' is missing between the key 'a' and its value."},
    {R"({"a": 1 "b": 2})", R"(1:9: A ',' or a '}' is missing before '"'.)"},
    {"[1 2]", "1:4: A ',' or a ']' is missing before '2'."},
    {"{a: 1}", "1:2: A key is a text in double quotes, and 'a' begins none."},
    {"{'a': 1}", "1:2: A key is a text in double quotes, and ''' begins none."},
    {"['a']", "1:2: [0]: A text stands in double quotes, not in single ones."},
    {"[1, // one\n2]", "1:5: [1]: JSON has no comments; a step can have a \"note\"."},
    {"[tru]", "1:2: [0]: 'tru' is no value of JSON; did you mean 'true'?"},
    {"[None]", "1:2: [0]: 'None' is no value of JSON; did you mean 'null'?"},
    {"[running]", "1:2: [0]: 'running' is no value of JSON; a text stands in double quotes."},
    {"[1, }", "1:5: [1]: A value is missing here: '}' begins none."},
    {"{\"steps\": [\n  {\"do\": 1", "2:11: steps[0]: The file ends inside an object that began at line 2, column 3."},
    {"[1,", "1:4: [1]: The file ends inside a list that began at line 1, column 1."},
    {"{\"a\":", "1:6: a: The file ends inside an object that began at line 1, column 1."},
    {"[\"abc", "1:2: [0]: This text has no closing quote on its line."},
    {"[\"abc\n\"]", "1:2: [0]: This text has no closing quote on its line."},
    {"[\"a\tb\"]", "1:4: [0]: The byte 0x09 stands in a text; write it as an escape, such as \\t."},
    {R"(["\q"])", "1:3: [0]: A backslash stands before one of \" \\ / b f n r t u, and here it does not."},
    {R"(["\u12g4"])", "1:3: [0]: Four hexadecimal digits follow \\u, and here they do not."},
    {R"(["\ud800"])", "1:3: [0]: This is one half of a pair of surrogates; the other half is missing."},
    {R"(["\udc00"])", "1:3: [0]: This is one half of a pair of surrogates; the other half is missing."},
    {R"(["\ud800A"])", "1:3: [0]: This is one half of a pair of surrogates; the other half is missing."},
    {"[\"a\xff\"]", "1:4: [0]: The byte 0xff is no UTF-8; save the file as UTF-8."},
    {"[\"\xc3\"]", "1:3: [0]: The byte 0xc3 is no UTF-8; save the file as UTF-8."},
    {"[\"\xed\xa0\x80\"]", "1:3: [0]: The byte 0xed is no UTF-8; save the file as UTF-8."},
    {"[\"\xc0\x80\"]", "1:3: [0]: The byte 0xc0 is no UTF-8; save the file as UTF-8."},
    {"[\xff]", "1:2: [0]: A value is missing here: the byte 0xff begins none."},
};
// clang-format on

TEST(scenario_node, broken_json_is_told_in_a_sentence_with_its_place) {
  for (const broken& b : broken_texts) EXPECT_EQ(told(b.json), b.says) << b.json;
}

TEST(scenario_node, every_value_knows_where_it_stands) {
  node root;
  complaint wrong;
  ASSERT_TRUE(
      parse("\n {\"a\" : [true,\n  null, \"x\\u00e9\\ud83d\\ude00\\n\"],\t\"b\":18446744073709551615}", root, wrong));
  EXPECT_EQ(root.at, (position{2, 2}));
  EXPECT_EQ(root.keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(root.keys_at, (std::vector<position>{{2, 3}, {3, 35}}));
  const node& list = *root.find("a");
  EXPECT_EQ(list.at, (position{2, 9}));
  ASSERT_EQ(list.items.size(), 3U);
  EXPECT_TRUE(list.items[0].is(node_kind::boolean) && list.items[0].flag);
  EXPECT_TRUE(list.items[1].is(node_kind::null));
  EXPECT_EQ(list.items[1].at, (position{3, 3}));
  EXPECT_EQ(list.items[2].text, "x\xc3\xa9\xf0\x9f\x98\x80\n");
  EXPECT_EQ(root.find("b")->number, UINT64_MAX);
  EXPECT_EQ(root.find("b")->at, (position{3, 39}));
  EXPECT_EQ(root.find("c"), nullptr);
}

TEST(scenario_node, depth_is_bounded) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(told(nested(64)), "");
  EXPECT_TRUE(
      told(nested(65)).ends_with("This is nested deeper than 64 levels, and nothing in a scenario needs that."));
  EXPECT_TRUE(told(std::string(1'000'000, '[')).starts_with("1:65: "));
}

#if ASX_HAS_PEER
// The same for a tree: nlohmann takes the last of two equal keys and any number, so texts are judged by their events.
struct peer : nlohmann::json_sax<nlohmann::json> {
  bool is_ours = true;  // Breaks none of the rules that nlohmann does not have.
  std::size_t depth = 0;
  std::vector<std::vector<std::string>> keys{};

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return no(); }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return no(); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& k) override {
    for (const std::string& other : keys.back()) is_ours = is_ours && other != k;
    keys.back().push_back(k);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool no() {
    is_ours = false;
    return true;
  }
  bool enter() {
    keys.emplace_back();
    is_ours = is_ours && ++depth <= 64;
    return true;
  }
  bool leave() {
    keys.pop_back();
    --depth;
    return true;
  }
};

// Goal:   a text is taken here exactly when nlohmann takes it and it keeps to the rules of the header.
// Method: right texts, broken at random places by bytes that matter to JSON.
TEST(scenario_node, takes_what_another_parser_takes) {
  const std::string seeds[] = {
      R"({"a": [1, 22, {"b": "x\u00e9\ud83d\ude00\n"}, true, false, null], "c": {}, "d": []})",
      "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", 0, 18446744073709551615, \"\\\\\\\"\\/\\b\"]",
      " { \"a\" : 1 ,\n\"b\" : [ [ ] , { } ] } \r\n",
  };
  constexpr std::string_view bytes =
      "{}[]:,\"\\ut0189.-+eE \n\t\x01\x80\xc3\xed\xa0\xf4\x90\xff"
      "ad";
  asx::splitmix64 draw(20261115);
  std::size_t taken = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = seeds[draw.next_below(3)];
    for (std::uint64_t edits = draw.next_below(4); edits > 0; --edits) {
      const std::size_t at = static_cast<std::size_t>(draw.next_below(text.size()));
      const char byte = bytes[static_cast<std::size_t>(draw.next_below(bytes.size()))];
      switch (draw.next_below(4)) {
        case 0: text[at] = byte; break;
        case 1: text.insert(at, 1, byte); break;
        case 2: text.erase(at, 1); break;
        default: text += text.substr(at, 8); break;
      }
    }
    peer other;
    const bool is_right = nlohmann::json::sax_parse(text, &other) && other.is_ours;
    ASSERT_EQ(told(text).empty(), is_right) << text << "\n" << told(text);
    taken += is_right ? 1U : 0U;
  }
  EXPECT_GT(taken, 10'000U);  // It is no test of refusals alone.
}
#endif

}  // namespace
