#include "asx/runtime/metrics.hpp"

#include <string_view>

namespace asx {
namespace {

static_assert(histogram::bucket_of(UINT64_MAX) == histogram::buckets - 1 &&
                  histogram::last_in(histogram::buckets - 1) == UINT64_MAX,
              "every value has a bucket");

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void line(std::string& out, std::string_view name, std::string_view labels, std::uint64_t value) {
  out.append(name).append(labels).append(" ").append(std::to_string(value)).append("\n");
}

// As a decimal, without rounding.
std::string seconds(std::uint64_t ns) {
  std::string fraction = std::to_string(ns % 1'000'000'000);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(ns / 1'000'000'000) + '.' + fraction;
}

std::string tasks(std::uint64_t number) {
  return std::to_string(number);
}

/// Which powers of two less one are edges of a page: they are edges of buckets, so exact.
struct scale {
  unsigned first, last, step;
  std::string (*words)(std::uint64_t);
};
// From a quarter of a microsecond to a quarter of an hour,
constexpr scale times{8, 40, 2, seconds};
// and from nobody to as many as the contract has ready by itself.
constexpr scale crowds{0, 16, 1, tasks};

void put(std::string& out, std::string_view name, std::string_view help, const histogram& h, const scale& of) {
  head(out, name, "histogram", help);
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (unsigned power = of.first; power <= of.last; power += of.step) {
    const std::uint64_t edge = (std::uint64_t{1} << power) - 1;
    for (; bucket < histogram::buckets && histogram::last_in(bucket) <= edge; ++bucket) below += h.in_bucket(bucket);
    line(out, std::string(name) + "_bucket", "{le=\"" + of.words(edge) + "\"}", below);
  }
  line(out, std::string(name) + "_bucket", "{le=\"+Inf\"}", h.count());
  out.append(name).append("_sum ").append(of.words(h.sum())).append("\n");
  line(out, std::string(name) + "_count", "", h.count());
}

}  // namespace

std::string prometheus_text(const metrics& m) {
  std::string out;
  constexpr std::array<std::string_view, 5> sources = {"cancel", "timed", "ready", "fallback", "stall"};
  head(out, "asx_polls_total", "counter", "Polls of tasks, by what they were dispatched from.");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    line(out, "asx_polls_total", "{source=\"" + std::string(sources[i]) + "\"}", m.polls[i]);
  }
  head(out, "asx_wakes_total", "counter", "Entries of tasks into a lane.");
  line(out, "asx_wakes_total", "", m.wakes);
  head(out, "asx_timers_passed_total", "counter", "Timers that fired and deadlines that passed.");
  line(out, "asx_timers_passed_total", "", m.passed);
  head(out, "asx_parks_total", "counter", "Waits of the thread for something to do.");
  line(out, "asx_parks_total", "", m.parks);
  head(out, "asx_queued_tasks", "gauge", "Tasks that wait for a dispatch, by lane.");
  for (std::size_t i = 0; i < m.queued.size(); ++i) {
    line(out, "asx_queued_tasks", "{lane=\"" + std::string(sources[i]) + "\"}", m.queued[i]);
  }
  head(out, "asx_live_tasks", "gauge", "Tasks that have not ended.");
  line(out, "asx_live_tasks", "", m.live_tasks);
  head(out, "asx_live_regions", "gauge", "Regions that are not closed.");
  line(out, "asx_live_regions", "", m.live_regions);
  head(out, "asx_live_timers", "gauge", "Timers that are pending.");
  line(out, "asx_live_timers", "", m.live_timers);
  head(out, "asx_foreign_holds", "gauge", "Handles and calls outside that may still wake a task.");
  line(out, "asx_foreign_holds", "", m.foreign_holds);
  put(out, "asx_poll_seconds", "How long polls took.", m.poll_ns, times);
  put(out, "asx_cancel_acknowledge_seconds", "From the request of a cancel to its acknowledgement.", m.acknowledge_ns,
      times);
  put(out, "asx_cancel_complete_seconds", "From the request of a cancel to the end of the task.", m.complete_ns, times);
  put(out, "asx_ready_depth_tasks", "Tasks in the ready lane of the worker when a poll began.", m.ready_depth, crowds);
  return out;
}

}  // namespace asx
