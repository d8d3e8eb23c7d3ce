#include "asx/lab/replay_workers.hpp"

#include <optional>
#include <span>
#include <utility>

#include "asx/coro/run.hpp"

namespace asx {
namespace {

std::string hex(const digest128& d) {
  const auto digits = d.hex();
  return {digits.data(), digits.size()};
}

// Goes along with the journal: beside the recorded one, and counting what should not be.
class companion {
 public:
  explicit companion(const live_recording* recorded) : recorded_(recorded) {
    if (recorded == nullptr) return;
    rest_ = span_reader(recorded->events);
    follower_ = follower(source_of(*rest_));  // GCC 12 takes what `emplace` would end for something that was there.
  }
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;

  [[nodiscard]] event_sink sink() noexcept {
    return {this,
            [](void* self, std::span<const event> batch) noexcept { static_cast<companion*>(self)->take(batch); }};
  }
  [[nodiscard]] comparison finish() {
    if (!follower_) return {};
    // The end of a cut recording is no difference: nobody knows what came after it.
    if (recorded_->is_whole || told_ < recorded_->events.size()) follower_->finish();
    return follower_->result();
  }
  [[nodiscard]] std::string finding() const {
    if (leaks_ != 0) return std::to_string(leaks_) + (leaks_ == 1 ? " obligation leaked" : " obligations leaked");
    if (forced_ == 1) return "1 task overran its cleanup budget and was completed by force";
    if (forced_ != 0) {
      return std::to_string(forced_) + " tasks overran their cleanup budget and were completed by force";
    }
    return {};
  }

 private:
  void take(std::span<const event> batch) noexcept {
    for (const event& e : batch) {
      leaks_ += e.kind == event_kind::obligation_leaked ? 1U : 0U;
      forced_ += e.kind == event_kind::task_force_completed ? 1U : 0U;
      if (!follower_ || !e.semantic()) continue;
      if (told_ >= recorded_->events.size() && !recorded_->is_whole) continue;
      ++told_;
      static_cast<void>(follower_->feed(e));
    }
  }

  const live_recording* recorded_ = nullptr;
  std::optional<span_reader> rest_;
  std::optional<follower> follower_;
  std::size_t told_ = 0;
  std::uint64_t leaks_ = 0;
  std::uint64_t forced_ = 0;
};

std::string two_digests(const char* when, const digest128& there, const digest128& here) {
  return std::string("the recorded run had the digest ") + hex(there) + when + ", and this one has " + hex(here) +
         ": the program is another\n";
}

// How it is another run, if it is; `at_end` is the digest that the replay's journal has in the end.
std::string parting_of(const entry_order& recorded, const replayed_order& played, const digest128& at_end) {
  const std::string times = std::to_string(recorded.entries());
  std::string out;
  if (recorded.runs() == 0 && !recorded.is_ended()) {
    out = "nothing to compare it with: no run was over when its order was kept\n";
  } else if (played.runs < recorded.runs()) {
    out = "the recorded program made " + std::to_string(recorded.runs()) + " runs, and this one " +
          std::to_string(played.runs) + ": the program is another\n";
  } else if (recorded.runs() != 0 && played.digest != recorded.digest()) {
    out = two_digests("", recorded.digest(), played.digest);
  } else if (recorded.is_ended() && at_end != recorded.digest_at_end()) {
    out = two_digests(" behind its last run", recorded.digest_at_end(), at_end);
  } else {
    return out;
  }
  // A hint only: who waits for others goes in as often as it must.
  if (played.is_overrun) out += "somebody went in after the last of " + times + " entries: the program does more now\n";
  if (played.is_unfinished) {
    out += "the program was over after " + std::to_string(played.entries) + " of " + times +
           " entries: it did more when it was recorded\n";
  }
  return out;
}

}  // namespace

std::string workers_replay::report() const {
  std::string out;
  if (code != status::ok) {
    out = "not played: " + std::string(sentence(code)) + '\n';
  } else if (parting.empty()) {
    out = "the same run: " + std::to_string(entries) + " entries, digest " + hex(digest) + '\n';
  } else {
    out = parting;
  }
  return finding.empty() ? out : out + "found: " + finding + '\n';
}

workers_replay replay_workers(const entry_order& order, const runtime_config& config,
                              const std::function<void(runtime&)>& program, const workers_replay_options& options) {
  workers_replay out;
  companion beside(options.journal);
  runtime_config again = config;
  again.seed = order.seed();
  again.sink = beside.sink();
  again.arrivals = {};
  again.journaling = journal_mode::full;
  {
    threaded_runtime rt({.workers = order.workers(),
                         .is_virtual = order.is_virtual(),
                         .replay = &order,
                         .is_on_one_thread = true,
                         .stack_bytes = options.stack_bytes,
                         .stuck_after = options.stuck_after},
                        again);
    out.code = order.workers() == 0 ? status::invalid_argument : rt.start_status();
    if (out.code != status::ok) return out;
    program(*rt);
    rt->journal().settle();
    out.digest = rt->journal().digest();
    // What its end does is a part of what was recorded. From here on nothing goes in any more that is not: what is
    // looked at is looked at from outside, where nobody else goes on.
    if (!rt->has_ended()) static_cast<void>(rt->shutdown());
    const replayed_order played = rt.replayed();
    out.entries = played.entries;
    out.parting = parting_of(order, played, rt->journal().digest());
    out.finding = detail::words_of_unheard(rt->kernel());
  }
  out.found = beside.finish();
  if (!out.found.match()) {
    out.parting = explain(out.found);
  } else if (options.journal != nullptr && order.runs() == 0 && !order.is_ended()) {
    out.parting.clear();  // There was something to compare with.
  }
  if (out.finding.empty()) out.finding = beside.finding();
  return out;
}

}  // namespace asx
