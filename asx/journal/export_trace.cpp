#include "asx/journal/export_trace.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "asx/journal/describe.hpp"
#include "asx/journal/detail/replay.hpp"
#include "asx/model/cancel_kind.hpp"

namespace asx {
namespace {

using detail::activity;

/// Writes the array of trace events. Texts given to it hold no quote, backslash or control character.
class trace_writer {
 public:
  trace_writer(text_port out, trace_axis axis) : out_(out), axis_(axis) {
    line_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  }

  /// Microseconds with three decimals: exact to the nanosecond.
  [[nodiscard]] std::uint64_t place(const event& e) const {
    return axis_ == trace_axis::time ? e.time_ns : e.seq * 1'000;
  }

  void name_process(std::uint64_t process, std::string_view name) { metadata("process_name", process, 0, name); }
  void name_thread(std::uint64_t process, std::uint64_t thread, std::string_view name) {
    metadata("thread_name", process, thread, name);
  }
  void span(std::uint64_t process, std::uint64_t thread, std::string_view name, std::uint64_t from, std::uint64_t to,
            std::uint64_t seq) {
    begin("X", name, process, thread, from);
    line_ += ",\"dur\":";
    number(to - from);
    line_ += ",\"args\":{\"event\":" + std::to_string(seq) + "}}";
  }
  void instant(std::uint64_t process, std::uint64_t thread, std::string_view name, std::uint64_t at,
               std::uint64_t seq) {
    begin("i", name, process, thread, at);
    line_ += ",\"s\":\"t\",\"args\":{\"event\":" + std::to_string(seq) + "}}";
  }
  void arrow(bool starts, std::string_view name, std::uint64_t process, std::uint64_t thread, std::uint64_t at,
             std::uint64_t id) {
    begin(starts ? "s" : "f", name, process, thread, at);
    line_ += ",\"cat\":\"" + std::string(name) + "\",\"id\":" + std::to_string(id) + (starts ? "}" : ",\"bp\":\"e\"}");
  }
  template <std::size_t N>
  void counter(std::string_view name, std::uint64_t at,
               const std::array<std::pair<std::string_view, std::uint64_t>, N>& values) {
    begin("C", name, 0, 0, at);
    line_ += ",\"args\":{";
    for (std::size_t i = 0; i < N; ++i) {
      line_ += (i == 0 ? "\"" : ",\"") + std::string(values[i].first) + "\":" + std::to_string(values[i].second);
    }
    line_ += "}}";
  }
  void finish() {
    line_ += "\n]}\n";
    out_(line_);
  }

 private:
  void begin(std::string_view phase, std::string_view name, std::uint64_t process, std::uint64_t thread,
             std::uint64_t at) {
    if (line_.size() > 32'768) {
      out_(line_);
      line_.clear();
    }
    if (!std::exchange(first_, false)) line_ += ",\n";
    line_ += "{\"ph\":\"" + std::string(phase) + "\",\"name\":\"" + std::string(name) +
             "\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) + ",\"ts\":";
    number(at);
  }
  void metadata(std::string_view what, std::uint64_t process, std::uint64_t thread, std::string_view name) {
    begin("M", what, process, thread, 0);
    line_ += ",\"args\":{\"name\":\"" + std::string(name) + "\"}}";
  }
  void number(std::uint64_t ns) {
    line_ += std::to_string(ns / 1'000) + "." + std::to_string(1'000 + ns % 1'000).substr(1);
  }

  text_port out_;
  trace_axis axis_;
  std::string line_;
  bool first_ = true;
};

class trace_maker {
 public:
  trace_maker(text_port out, trace_axis axis, const name_book& names) : trace_(out, axis), names_(names) {
    trace_.name_process(0, "runtime");
  }

  void take(const event& e) {
    now_ = trace_.place(e);
    const region_state region_before = region_state_of(e.subject);
    world_.apply(e);
    using enum event_kind;
    switch (static_cast<std::uint16_t>(e.kind) / 100) {
      case 1: return take_region(e, region_before);
      case 5: return take_channel(e);
      default: break;
    }
    switch (e.kind) {
      case task_woken:
        set_lane(e.subject, static_cast<std::uint32_t>(place_lane(low_half(e.a))));
        wake_arrow(e);
        break;
      case task_requeued: set_lane(e.subject, static_cast<std::uint32_t>(place_lane(low_half(e.a)))); break;
      case task_dispatched: set_lane(e.subject, no_lane); break;
      case cancel_requested:
      case cancel_strengthened: cancel_arrow(e); break;
      case timer_fired: mark(e.object, e); break;
      case task_force_completed:
      case task_panicked: mark(e.subject, e); break;
      case queue_depths:
        trace_.counter<4>("depths of worker " + std::to_string(e.subject), now_,
                          {{{"cancel", low_half(e.a)},
                            {"timed", high_half(e.a)},
                            {"ready", low_half(e.b)},
                            {"parked", high_half(e.b)}}});
        return;
      default: break;
    }
    if (is_refusal(e.kind) && e.subject != 0) mark(e.subject, e);
    if (world_.tasks.count(e.subject) != 0 && concerns_task(e.kind)) move_task(e);
  }

  void finish() {
    for (auto& [id, span] : task_spans_) close_span(span);
    for (auto& [id, span] : region_spans_) close_span(span);
    trace_.finish();
  }

 private:
  static constexpr std::uint32_t no_lane = 3;
  struct open_span {
    std::uint64_t process = 0, thread = 0, from = 0, seq = 0;
    std::string name;
  };

  static bool concerns_task(event_kind kind) noexcept {
    const event_info* const row = find_event_kind(static_cast<std::uint64_t>(kind));
    return row != nullptr && row->subject == field_type::task && !is_refusal(kind) && is_semantic(kind);
  }
  region_state region_state_of(std::uint64_t id) const {
    const auto found = world_.regions.find(id);
    return found == world_.regions.end() ? region_state::closed : found->second.state;
  }
  std::uint64_t process_of(std::uint64_t task) const {
    const auto found = world_.tasks.find(task);
    return found == world_.tasks.end() ? 0 : found->second.region;
  }

  void close_span(open_span& span) {
    if (span.name.empty()) return;
    trace_.span(span.process, span.thread, span.name, span.from, now_, span.seq);
    span.name.clear();
  }
  void replace_span(open_span& span, std::uint64_t process, std::uint64_t thread, std::string name, std::uint64_t seq) {
    if (span.name == name) return;
    close_span(span);
    span = {process, thread, now_, seq, std::move(name)};
  }

  void take_region(const event& e, region_state before) {
    if (find_event_kind(static_cast<std::uint64_t>(e.kind))->subject != field_type::region) return;
    const auto found = world_.regions.find(e.subject);
    if (found == world_.regions.end()) return;
    open_span& span = region_spans_[e.subject];
    if (e.kind == event_kind::region_created) {
      std::string label;
      append_value(label, field_type::region, e.subject, &names_);
      trace_.name_process(e.subject, label);
      trace_.name_thread(e.subject, 0, label);
    } else if (before == found->second.state) {
      return;
    }
    closings_[e.seq] = e.subject;
    if (found->second.state == region_state::closed) return close_span(span);
    replace_span(span, e.subject, 0, std::string(region_lifecycle.name(found->second.state)), e.seq);
  }

  void take_channel(const event& e) {
    if (static_cast<std::uint16_t>(e.kind) < 510 || static_cast<std::uint16_t>(e.kind) > 516) return;
    trace_.counter<2>("channel " + std::to_string(e.subject), now_,
                      {{{"queued", low_half(e.b)}, {"reserved", high_half(e.b)}}});
  }

  void move_task(const event& e) {
    const detail::task_view& task = world_.tasks.at(e.subject);
    open_span& span = task_spans_[e.subject];
    if (e.kind == event_kind::task_spawned) {
      std::string label;
      append_value(label, field_type::task, e.subject, &names_);
      trace_.name_thread(task.region, e.subject, label);
    }
    switch (task.doing) {
      case activity::queued: return replace_span(span, task.region, e.subject, "queued", e.seq);
      case activity::running: return replace_span(span, task.region, e.subject, "running", e.seq);
      case activity::waiting: {
        const std::string text = detail::describe_waits(world_.waits_of(e.subject), names_);
        const std::size_t at = text.find("waits for ");
        return replace_span(span, task.region, e.subject, at == std::string::npos ? "waits" : text.substr(at), e.seq);
      }
      case activity::completed:
        close_span(span);
        if (detail::ends_task(e.kind)) mark(e.subject, e);
        return;
      default: return;
    }
  }

  void mark(std::uint64_t task, const event& e) {
    trace_.instant(process_of(task), task, describe(e, &names_), now_, e.seq);
  }

  void wake_arrow(const event& e) {
    if (e.object == 0 || e.object == e.subject || world_.tasks.count(e.object) == 0) return;
    trace_.arrow(true, "wake", process_of(e.object), e.object, now_, e.seq);
    trace_.arrow(false, "wake", process_of(e.subject), e.subject, now_, e.seq);
  }
  void cancel_arrow(const event& e) {
    const auto closing = closings_.find(e.cause);
    const bool by_region = closing != closings_.end();
    const std::uint64_t task = e.kind == event_kind::cancel_requested ? e.b : 0;
    mark(e.subject, e);
    if (!by_region && (task == 0 || world_.tasks.count(task) == 0)) return;
    trace_.arrow(true, "cancel", by_region ? closing->second : process_of(task), by_region ? 0 : task, now_, e.seq);
    trace_.arrow(false, "cancel", process_of(e.subject), e.subject, now_, e.seq);
  }

  void set_lane(std::uint64_t task, std::uint32_t lane) {
    if (lane > no_lane) lane = 0;  // Fallback and stall dispatches come from the cancel lane.
    auto [at, is_new] = lane_of_.try_emplace(task, no_lane);
    if (at->second == lane) return;
    if (at->second != no_lane) --depths_[at->second];
    if (lane != no_lane) ++depths_[lane];
    at->second = lane;
    trace_.counter<3>("lanes", now_, {{{"cancel", depths_[0]}, {"timed", depths_[1]}, {"ready", depths_[2]}}});
  }

  trace_writer trace_;
  const name_book& names_;
  detail::replay world_;
  std::uint64_t now_ = 0;
  std::map<std::uint64_t, open_span> task_spans_, region_spans_;
  std::map<std::uint64_t, std::uint64_t> closings_;  // Events of regions, by number: arrows may start there.
  std::map<std::uint64_t, std::uint32_t> lane_of_;
  std::array<std::uint64_t, 3> depths_{};
};

}  // namespace

void export_trace(text_port out, std::span<const event> events, trace_axis axis) {
  const name_book names(events);
  trace_maker maker(out, axis, names);
  for (const event& e : events) maker.take(e);
  maker.finish();
}

}  // namespace asx
