#include "asx/lab/replay_live.hpp"

#include <cstring>
#include <optional>
#include <span>

#include "asx/journal/file.hpp"

namespace asx {
namespace {

using detail::foreign_word;

constexpr std::size_t piece_bytes = 16;  // Of a text.

void take(live_recording& out, const event& e) {
  if (e.semantic()) return out.events.push_back(e);
  const bool is_value = (high_half(e.object) & 0xff) == static_cast<std::uint64_t>(text_code::value);
  if (e.kind != event_kind::text || !is_value) return;
  std::string& bytes = out.values[e.subject];
  if (low_half(e.object) == 0) bytes.clear();
  for (const std::uint64_t half : {e.a, e.b}) {
    for (unsigned i = 0; i < piece_bytes / 2; ++i) bytes += static_cast<char>(half >> (8 * i));
  }
}

// Walks beside the replay: where it is in the recording, what time it is there, and what arrives next.
class player {
 public:
  explicit player(const live_recording& recorded)
      : recorded_(recorded), rest_(recorded.events), follower_(source_of(rest_)) {}

  void play(runtime& rt) noexcept { log_ = &rt.journal(); }
  void leave() noexcept { log_ = nullptr; }

  [[nodiscard]] event_sink sink() noexcept {
    return {this, [](void* self, std::span<const event> batch) noexcept { static_cast<player*>(self)->take(batch); }};
  }
  [[nodiscard]] clock_port recorded_time() noexcept {
    return {this, [](void* self) noexcept {
              auto& p = *static_cast<player*>(self);
              if (const event* const e = p.next(); e != nullptr) p.now_ = later(p.now_, instant{e->time_ns});
              return p.now_;
            }};
  }
  [[nodiscard]] park_port park() noexcept {
    return {this,
            [](void* self, instant, instant until) noexcept {
              auto& p = *static_cast<player*>(self);
              // Parked twice before the same event, at the same time: nothing here will bring it about (law 3).
              const bool is_stuck = p.next() != nullptr && p.parked_at_ == p.place_ && p.parked_when_ == p.now_;
              p.parked_at_ = p.place_;
              p.parked_when_ = p.now_;
              if (is_stuck) p.is_lost_ = true;
              if (p.next() == nullptr && !until.is_none()) p.now_ = later(p.now_, until);
            },
            [](void*) noexcept {}};
  }
  [[nodiscard]] arrival_feed arrivals() noexcept {
    return {this,
            [](void* self, foreign_arrival& out) noexcept { return static_cast<player*>(self)->next_arrival(out); },
            [](void* self) noexcept { return static_cast<player*>(self)->next() == nullptr; },
            [](void* self, task_id by) noexcept {
              const event* const e = static_cast<player*>(self)->next();
              return e != nullptr && e->kind == event_kind::refused_other && e->subject == by.value &&
                     (e->flags & event_flags::arrived) != 0;
            },
            [](void* self, std::uint64_t handle, std::span<std::byte> out) noexcept {
              return static_cast<player*>(self)->give_value(handle, out);
            }};
  }

  [[nodiscard]] comparison finish() {
    comparison out = follower_.result();
    // The end of a cut recording is no difference: nobody knows what came after it.
    if (out.match() && (recorded_.is_whole || place_ < recorded_.events.size())) {
      follower_.finish();
      out = follower_.result();
    }
    return out;
  }
  [[nodiscard]] std::uint64_t given() const noexcept { return given_; }

 private:
  void take(std::span<const event> batch) noexcept {
    for (const event& e : batch) {
      if (!e.semantic()) continue;
      if (place_ >= recorded_.events.size() && !recorded_.is_whole) continue;  // Law 4.
      ++place_;
      is_lost_ = !follower_.feed(e) || is_lost_;
    }
  }

  // The recorded event that the run will tell next; null when there is none, or when the two have parted.
  const event* next() noexcept {
    if (log_ != nullptr) log_->settle();
    return is_lost_ || place_ >= recorded_.events.size() ? nullptr : &recorded_.events[place_];
  }

  bool next_arrival(foreign_arrival& out) noexcept {
    const event* const e = next();
    if (e == nullptr || (e->flags & event_flags::arrived) == 0 || place_ == given_at_) return false;
    if (instant{e->time_ns} > now_) return false;  // It came in a later step.
    if (e->kind == event_kind::refused_other) return false;
    given_at_ = place_;  // Once: one that has no effect here would come for ever.
    ++given_;
    switch (e->kind) {
      case event_kind::input_wake: out = {e->object, foreign_word::wake}; return true;
      case event_kind::input_io: out = {e->object, foreign_word::result}; return true;
      case event_kind::input_close: out = {e->b, foreign_word::close}; return true;
      case event_kind::input_release: out = {e->object, foreign_word::gone}; return true;
      case event_kind::input_cancel:
        out = {e->b, 1U << (foreign_word::first_cancel + static_cast<unsigned>(e->a))};
        return e->a < cancel_kind_table.size();
      default: return false;
    }
  }

  bool give_value(std::uint64_t handle, std::span<std::byte> out) noexcept {
    const auto found = recorded_.values.find(handle);
    if (next() == nullptr || found == recorded_.values.end()) return false;  // From where they part it is on its own.
    const std::string& bytes = found->second;
    if (bytes.size() < out.size() || bytes.size() >= out.size() + piece_bytes) return false;
    std::memcpy(out.data(), bytes.data(), out.size());
    return true;
  }

  const live_recording& recorded_;
  span_reader rest_;
  follower follower_;
  journal* log_ = nullptr;  // Null before the runtime is there and once it goes.
  std::size_t place_ = 0;   // Events that the replay has told.
  std::size_t given_at_ = SIZE_MAX;
  std::size_t parked_at_ = SIZE_MAX;
  instant parked_when_{};
  std::uint64_t given_ = 0;
  instant now_{};
  bool is_lost_ = false;
};

}  // namespace

journal_fault read_recording(read_port in, live_recording& out) {
  out = {};
  bin_reader file;
  status s = file.open(in);
  if (s == status::ok && file.header().seq_before != 0) {
    return {status::invalid_argument, 0, false,
            "the journal begins at event " + std::to_string(file.header().seq_before + 1) +
                ": a run is played from its first event; write it to a file from the start"};
  }
  event e;
  while (s == status::ok && (s = file.next(e)) == status::ok) {
    take(out, e);
  }
  if (s != status::empty) return file.fault();
  out.is_whole = file.end() == file_end::marked;
  return {};
}

status read_recording(const journal& log, live_recording& out) {
  out = {};
  if (log.mode() != journal_mode::full || log.seq_before() != 0 || log.overwritten() != 0) {
    return status::invalid_argument;
  }
  for (std::uint64_t i = 0; i < log.size(); ++i) {
    take(out, log.at(i));
  }
  // A run that goes on is a recording that was cut: nobody knows what comes after it.
  out.is_whole = !out.events.empty() && out.events.back().kind == event_kind::runtime_ended;
  return status::ok;
}

std::string live_replay::report() const {
  if (is_same()) {
    return "the same run: " + std::to_string(found.compared) + " events, " + std::to_string(inputs_given) +
           " arrivals from outside\n";
  }
  return explain(found);
}

live_replay replay_live(const live_recording& recorded, const runtime_config& config,
                        const std::function<void(runtime&)>& program) {
  live_replay out;
  player p(recorded);
  runtime_config again = config;
  again.clock = p.recorded_time();
  again.park = p.park();
  again.sink = p.sink();
  again.arrivals = p.arrivals();
  again.journaling = journal_mode::full;
  {
    runtime rt(again);
    if (rt.start_status() != status::ok) {
      out.found.code = rt.start_status();
      return out;
    }
    p.play(rt);
    program(rt);
    rt.journal().settle();
    out.digest = rt.journal().digest();
  }
  p.leave();
  out.found = p.finish();
  out.inputs_given = p.given();
  return out;
}

}  // namespace asx
