// What is measured, and that measuring changes nothing; the page for Prometheus is read by a small parser.
#include "asx/runtime/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "asx/base/random.hpp"
#include "asx/base/testing.hpp"
#include "asx/runtime/testing/program.hpp"

namespace asx {
namespace {

using testing::body;
using testing::expect_legal;
using testing::must_spawn;

TEST(histogram, every_value_falls_into_the_bucket_that_ends_at_or_above_it) {
  std::vector<std::uint64_t> values = {0, 1, 2, 3, 4, 5, 7, 8, 9, UINT64_MAX - 1, UINT64_MAX};
  for (unsigned p = 3; p < 64; ++p) {
    const std::uint64_t power = std::uint64_t{1} << p;
    values.insert(values.end(), {power - 1, power, power + 1});
  }
  for (const std::uint64_t v : values) {
    const std::size_t b = histogram::bucket_of(v);
    ASSERT_LT(b, histogram::buckets) << v;
    EXPECT_LE(v, histogram::last_in(b)) << v;
    if (b != 0) {
      EXPECT_GT(v, histogram::last_in(b - 1)) << v;
    }
  }
}

TEST(histogram, a_quantile_is_off_by_at_most_a_quarter) {
  splitmix64 draw(7, 0, random_stream::faults);
  histogram h;
  std::vector<std::uint64_t> all;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(draw.next_below(std::uint64_t{1} << (1 + draw.next_below(40))));
    h.add(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const std::uint32_t q : {1U, 100U, 500U, 900U, 990U, 999U, 1000U}) {
    const std::uint64_t exact = all[q * all.size() / 1000 - 1];
    EXPECT_GE(h.quantile(q), exact) << q;
    EXPECT_LE(h.quantile(q), exact + exact / 4) << q;
  }
  EXPECT_EQ(h.quantile(1000), h.max());
  EXPECT_EQ(histogram().quantile(500), 0U);
}

// A clock that each poll moves, so that times are known.
struct hand_clock {
  std::uint64_t ns = 0;
  std::uint64_t readings = 0;
  [[nodiscard]] clock_port port() {
    return {this, [](void* self) noexcept {
              auto& at = *static_cast<hand_clock*>(self);
              ++at.readings;
              return instant{at.ns};
            }};
  }
};

TEST(metrics, count_polls_and_time_each_with_one_reading_of_the_clock) {  // law 2
  hand_clock clock;
  metrics m;
  runtime_config config;
  config.clock = clock.port();
  config.measure = &m;
  runtime rt(config);
  int polls = 0;
  body b{[&](cx& c) {
    clock.ns += 1'000;
    if (++polls == 100) return poll_result::ready;
    c.yield();
    return poll_result::pending;
  }};
  must_spawn(rt, rt.root(), b, {}, false);
  const std::uint64_t before = clock.readings;
  rt.run_until_idle();
  EXPECT_LE(clock.readings - before, 100U + 4U);
  EXPECT_EQ(rt.measured().polls[static_cast<std::size_t>(dispatch_source::ready)], 100U);
  EXPECT_EQ(m.all_polls(), 100U);
  EXPECT_EQ(m.wakes, 100U);
  EXPECT_EQ(m.poll_ns.count(), 100U);
  EXPECT_EQ(m.poll_ns.sum(), 100'000U);
  EXPECT_EQ(m.poll_ns.max(), 1'000U);
  EXPECT_EQ(m.live_tasks, 0U);
}

TEST(metrics, tell_how_deep_the_ready_lane_was_also_once_it_is_empty) {
  metrics m;
  runtime_config config;
  config.measure = &m;
  runtime rt(config);
  std::vector<body> all(5);
  for (body& b : all) {
    b.run = [](cx&) { return poll_result::ready; };
    must_spawn(rt, rt.root(), b, {}, false);
  }
  rt.run_until_idle();
  EXPECT_EQ(rt.measured().queued[static_cast<std::size_t>(lane::ready)], 0U);
  EXPECT_EQ(m.ready_depth.count(), 5U);
  EXPECT_EQ(m.ready_depth.max(), 4U) << "behind the first there were four";
  EXPECT_EQ(m.ready_depth.sum(), 4U + 3U + 2U + 1U + 0U);
}

TEST(metrics, tell_the_depth_of_the_ready_lane_of_the_worker_that_polls) {
  metrics m;
  runtime_config config;
  config.measure = &m;
  config.workers = 2;
  std::vector<body> all(6);  // Those that are left are polled at the runtime's end.
  runtime rt(config);
  for (body& b : all) {
    b.run = [](cx&) { return poll_result::ready; };
    must_spawn(rt, rt.root(), b, {}, false);
  }
  EXPECT_FALSE(rt.step(0).is_idle);
  EXPECT_FALSE(rt.step(0).is_idle);
  EXPECT_EQ(m.ready_depth.sum(), 5U + 4U) << "they lie with the first worker";
  EXPECT_FALSE(rt.step(1).is_idle) << "it takes one from there,";
  EXPECT_EQ(m.ready_depth.sum(), 5U + 4U) << "and has none behind that";
  EXPECT_EQ(m.ready_depth.count(), 3U);
}

TEST(metrics, time_a_cancel_from_its_first_request) {  // law 4
  metrics m;
  runtime_config config;
  config.measure = &m;
  runtime rt(config);
  slab_key timer;
  body b{[&](cx& c) {
    if (c.checkpoint() == status::ok) {
      static_cast<void>(c.get_waker());
      return poll_result::pending;
    }
    if (timer == slab_key{}) {
      EXPECT_EQ(c.mask_enter(), status::ok);
      EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::seconds(2), timer), status::ok);
      return poll_result::pending;
    }
    return poll_result::ready;
  }};
  const task_handle t = must_spawn(rt, rt.root(), b, {}, false);
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().request_cancel(t, {}), status::ok);
  EXPECT_EQ(rt.advance(duration::milliseconds(5)), status::ok);  // It is asked, and polled later.
  rt.run_until_idle();
  ASSERT_EQ(rt.kernel().request_cancel(t, {cancel_kind::timeout, {}}), status::ok);
  EXPECT_EQ(m.acknowledge_ns.count(), 1U);
  EXPECT_EQ(m.acknowledge_ns.sum(), duration::milliseconds(5).ns);
  EXPECT_EQ(m.complete_ns.count(), 0U);
  EXPECT_EQ(rt.measured().live_timers, 1U);
  rt.run_until_quiescent();
  EXPECT_EQ(m.complete_ns.count(), 1U);
  EXPECT_EQ(m.complete_ns.sum(), duration::milliseconds(2'005).ns);
  EXPECT_EQ(rt.measured().passed, 1U);
}

TEST(metrics, change_no_event) {  // law 1
  const auto digest = [](metrics* m) {
    runtime_config config;
    config.measure = m;
    config.workers = 3;
    config.order = worker_order::kind::drawn;
    runtime rt(config);
    std::vector<body> all(10);
    std::vector<slab_key> timers(10);
    std::vector<int> left(10, 5);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].run = [&, i](cx& c) {
        if (--left[i] == 0 || c.checkpoint() != status::ok) return poll_result::ready;
        if (left[i] % 2 == 0) {
          c.yield();
        } else {
          EXPECT_EQ(c.kernel().register_timer(c, c.now() + duration::milliseconds(1 + i), timers[i]), status::ok);
        }
        return poll_result::pending;
      };
      must_spawn(rt, rt.root(), all[i], {}, false);
    }
    rt.step();
    EXPECT_EQ(rt.advance(duration::milliseconds(3)), status::ok);
    rt.run_until_quiescent();
    rt.shutdown();
    expect_legal(rt);
    return rt.journal().digest();
  };
  metrics m;
  EXPECT_EQ(digest(&m), digest(nullptr));
  EXPECT_EQ(m.all_polls(), m.poll_ns.count());
  EXPECT_NE(m.all_polls(), 0U);
}

// ---- the page, read as the format's description has it ------------------------------------------------------------

struct page {
  std::map<std::string, std::string> types;                  // By family.
  std::vector<std::pair<std::string, std::string>> samples;  // Name with labels, value; in order.
  std::string fault;
};

bool is_name(const std::string& s) {
  if (s.empty() || (std::isdigit(static_cast<unsigned char>(s[0])) != 0)) return false;
  return std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; });
}

bool is_number(const std::string& s) {
  std::size_t used = 0;
  static_cast<void>(std::stod(s, &used));
  return used == s.size();
}

page read(const std::string& text) {
  page out;
  const auto fail = [&out](const std::string& line) { out.fault = "cannot read: " + line; };
  if (text.empty() || text.back() != '\n') fail("the last line has no end");
  std::map<std::string, bool> has_help;
  std::string current;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.rfind("# ", 0) == 0) {
      const std::size_t word = line.find(' ', 2);
      const std::size_t name = line.find(' ', word + 1);
      const std::string what = line.substr(2, word - 2);
      const std::string family = line.substr(word + 1, name - word - 1);
      if (name == std::string::npos || !is_name(family)) fail(line);
      if (what == "HELP" && !std::exchange(has_help[family], true)) continue;
      if (what != "TYPE" || !out.types.emplace(family, line.substr(name + 1)).second) fail(line);
      current = family;
      continue;
    }
    const std::size_t space = line.rfind(' ');
    const std::string sample = line.substr(0, space);
    const std::string bare = sample.substr(0, sample.find('{'));
    if (space == std::string::npos || !is_name(bare) || !is_number(line.substr(space + 1))) fail(line);
    if (bare.rfind(current, 0) != 0) fail(line + " (not of " + current + ")");
    if (const std::size_t open = sample.find('{'); open != std::string::npos) {
      const std::size_t equals = sample.find("=\"", open);
      if (sample.back() != '}' || equals == std::string::npos || !is_name(sample.substr(open + 1, equals - open - 1)) ||
          sample[sample.size() - 2] != '"') {
        fail(line);
      }
    }
    for (const auto& [known, value] : out.samples) {
      if (known == sample) fail("twice: " + line);
    }
    out.samples.emplace_back(sample, line.substr(space + 1));
  }
  return out;
}

TEST(prometheus_text, is_a_page_that_the_format_allows) {
  metrics m;
  m.polls = {1, 2, 3, 4, 5};
  m.queued = {7, 8, 9};
  for (std::uint64_t i = 1; i < 2'000'000'000; i *= 3) m.poll_ns.add(i);
  const page p = read(prometheus_text(m));
  EXPECT_EQ(p.fault, "");
  EXPECT_EQ(p.types.at("asx_polls_total"), "counter");
  EXPECT_EQ(p.types.at("asx_queued_tasks"), "gauge");
  EXPECT_EQ(p.types.at("asx_poll_seconds"), "histogram");
  std::map<std::string, std::string> by_name(p.samples.begin(), p.samples.end());
  EXPECT_EQ(by_name.at("asx_polls_total{source=\"ready\"}"), "3");
  EXPECT_EQ(by_name.at("asx_queued_tasks{lane=\"timed\"}"), "8");
  EXPECT_EQ(by_name.at("asx_poll_seconds_count"), std::to_string(m.poll_ns.count()));
  EXPECT_EQ(by_name.at("asx_poll_seconds_bucket{le=\"+Inf\"}"), std::to_string(m.poll_ns.count()));
}

TEST(prometheus_text, counts_the_tasks_of_a_lane_and_not_their_seconds) {
  metrics m;
  for (const std::uint64_t depth : {0U, 0U, 1U, 2U, 3U, 4U, 100'000U}) m.ready_depth.add(depth);
  const page p = read(prometheus_text(m));
  EXPECT_EQ(p.fault, "");
  EXPECT_EQ(p.types.at("asx_ready_depth_tasks"), "histogram");
  std::map<std::string, std::string> by_name(p.samples.begin(), p.samples.end());
  EXPECT_EQ(by_name.at("asx_ready_depth_tasks_bucket{le=\"0\"}"), "2");
  EXPECT_EQ(by_name.at("asx_ready_depth_tasks_bucket{le=\"1\"}"), "3");
  EXPECT_EQ(by_name.at("asx_ready_depth_tasks_bucket{le=\"3\"}"), "5");
  EXPECT_EQ(by_name.at("asx_ready_depth_tasks_bucket{le=\"65535\"}"), "6");
  EXPECT_EQ(by_name.at("asx_ready_depth_tasks_bucket{le=\"+Inf\"}"), "7");
  EXPECT_EQ(by_name.at("asx_ready_depth_tasks_sum"), "100010");
}

TEST(prometheus_text, has_buckets_that_rise_and_hold_what_is_at_most_their_edge) {
  metrics m;
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i < 20'000'000'000; i = i * 5 / 4 + 1) {
    m.poll_ns.add(i);
    all.push_back(i);
  }
  double last_edge = -1;
  std::uint64_t last_count = 0;
  int edges = 0;
  for (const auto& [name, value] : read(prometheus_text(m)).samples) {
    const std::string head = "asx_poll_seconds_bucket{le=\"";
    if (name.rfind(head, 0) != 0 || name.find("+Inf") != std::string::npos) continue;
    const double edge = std::stod(name.substr(head.size()));
    const std::uint64_t count = std::stoull(value);
    EXPECT_GT(edge, last_edge);
    EXPECT_GE(count, last_count);
    std::uint64_t expected = 0;
    for (const std::uint64_t v : all) expected += static_cast<double>(v) <= edge * 1e9 + 0.5 ? 1U : 0U;
    EXPECT_EQ(count, expected) << edge;
    last_edge = edge;
    last_count = count;
    ++edges;
  }
  EXPECT_GT(edges, 10);
}

}  // namespace
}  // namespace asx
