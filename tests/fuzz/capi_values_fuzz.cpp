// The parts of the C interface that need no runtime: laws, names, and a timer wheel by itself; with any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "asx/capi/asx.h"
#include "tests/fuzz/input.hpp"

namespace {

#define MUST(condition) \
  ((condition) ? static_cast<void>(0) : (std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), std::abort()))

/// Any bytes but for pointers.
template <class T>
T wild(fuzz_input& in) {
  T out{};
  auto* const bytes = reinterpret_cast<unsigned char*>(&out);
  for (std::size_t i = 0; i < sizeof out; ++i) bytes[i] = in.byte() & (in.byte() % 3 == 0 ? 0xff : 0x03);
  return out;
}
asx_cancel_reason reason(fuzz_input& in) {
  auto out = wild<asx_cancel_reason>(in);
  out.message = {nullptr, 0};
  return out;
}
asx_outcome outcome(fuzz_input& in) {
  auto out = wild<asx_outcome>(in);
  out.reason = reason(in);
  out.panic = {nullptr, 0};
  return out;
}
asx_cancel_witness witness(fuzz_input& in) {
  auto out = wild<asx_cancel_witness>(in);
  out.reason = reason(in);
  return out;
}
int number(fuzz_input& in) {
  return static_cast<int>(in.below(16)) - 2;
}

void laws(fuzz_input& in) {
  switch (in.below(11)) {
    case 0: {
      const asx_outcome a = outcome(in), b = outcome(in);
      asx_outcome out{}, again{};
      if (asx_outcome_join(&a, &b, &out) != ASX_OK) break;
      MUST(out.kind >= ASX_OUTCOME_OK && out.kind <= ASX_OUTCOME_PANICKED);
      MUST(asx_outcome_join(&out, &out, &again) == ASX_OK && again.kind == out.kind);
      break;
    }
    case 1: {
      const auto a = wild<asx_budget>(in), b = wild<asx_budget>(in);
      asx_budget out{}, other{};
      MUST(asx_budget_meet(&a, &b, &out) == ASX_OK && asx_budget_meet(&b, &a, &other) == ASX_OK);
      MUST(std::memcmp(&out.deadline, &other.deadline, 3 * sizeof(std::uint64_t)) == 0);
      MUST(out.poll_quota <= a.poll_quota && out.poll_quota <= b.poll_quota);
      break;
    }
    case 2: {
      auto left = wild<asx_budget>(in);
      const std::uint64_t before = left.poll_quota;
      MUST((asx_budget_consume_poll(&left) == ASX_OK) == (before != 0));
      MUST(left.poll_quota <= before);
      break;
    }
    case 3: {
      auto left = wild<asx_budget>(in);
      const std::uint64_t before = left.cost_quota;
      if (asx_budget_consume_cost(&left, in.number(2)) != ASX_OK) MUST(left.cost_quota == before);
      break;
    }
    case 4: {
      const auto left = wild<asx_budget>(in);
      asx_budget_part part{};
      static_cast<void>(asx_budget_exhausted(&left, in.number(8), &part));
      break;
    }
    case 5: {
      const asx_cancel_reason a = reason(in), b = reason(in);
      asx_cancel_reason out{};
      static_cast<void>(asx_cancel_reason_strengthen(&a, &b, &out));
      break;
    }
    case 6: {
      const asx_cancel_witness a = witness(in), b = witness(in);
      static_cast<void>(asx_witness_validate(&a, &b));
      break;
    }
    case 7:
      static_cast<void>(asx_region_transition_check(static_cast<asx_region_state>(number(in)),
                                                    static_cast<asx_region_state>(number(in))));
      static_cast<void>(
          asx_task_transition_check(static_cast<asx_task_state>(number(in)), static_cast<asx_task_state>(number(in))));
      break;
    case 8:
      static_cast<void>(asx_obligation_transition_check(static_cast<asx_obligation_state>(number(in)),
                                                        static_cast<asx_obligation_state>(number(in))));
      static_cast<void>(
          asx_cancel_phase_check(static_cast<asx_cancel_phase>(number(in)), static_cast<asx_cancel_phase>(number(in))));
      break;
    case 9: {
      std::uint8_t severity = 0;
      const int kind = number(in);
      const bool is_one = kind >= 0 && asx_cancel_kind_name(static_cast<asx_cancel_kind>(kind)) != nullptr;
      MUST((asx_cancel_kind_info(static_cast<asx_cancel_kind>(kind), &severity, nullptr, nullptr) == ASX_OK) == is_one);
      break;
    }
    default: MUST(asx_version_check(static_cast<std::uint32_t>(in.number(4))) == ASX_OK || asx_version() != 0); break;
  }
}

void names(fuzz_input& in) {
  const int n = number(in);
  const auto read = [](const char* text) {
    if (text != nullptr) MUST(std::strlen(text) < 300);
  };
  MUST(asx_status_name(static_cast<asx_status>(n)) != nullptr);
  MUST(asx_status_sentence(static_cast<asx_status>(n)) != nullptr);
  read(asx_region_state_name(static_cast<asx_region_state>(n)));
  read(asx_task_state_name(static_cast<asx_task_state>(n)));
  read(asx_obligation_state_name(static_cast<asx_obligation_state>(n)));
  read(asx_channel_state_name(static_cast<asx_channel_state>(n)));
  read(asx_cancel_phase_name(static_cast<asx_cancel_phase>(n)));
  read(asx_outcome_kind_name(static_cast<asx_outcome_kind>(n)));
  read(asx_event_kind_name(static_cast<std::uint16_t>(in.number(2))));
}

struct wheel {
  asx_timer_wheel* at = nullptr;
  std::vector<asx_timer_handle> timers;
  asx_time now = 0;

  asx_timer_handle pick(fuzz_input& in) {
    asx_timer_handle h{};
    if (!timers.empty()) h = timers[in.below(static_cast<std::uint32_t>(timers.size()))];
    if (in.below(8) == 0) h.id ^= std::uint64_t{1} << in.below(64);
    if (in.below(8) == 0) h.generation ^= std::uint64_t{1} << in.below(64);
    return h;
  }
  asx_time when(fuzz_input& in) { return in.below(8) == 0 ? in.number(8) : now + in.below(5000); }

  void act(fuzz_input& in) {
    const std::size_t live = asx_timer_live(at);
    asx_timer_handle made{};
    switch (in.below(6)) {
      case 0:
      case 1: {
        const bool tries = in.below(2) == 0;
        const asx_waker who{in.byte(), 0};
        const asx_status s =
            tries ? asx_timer_try_register(at, when(in), who, &made) : asx_timer_register(at, when(in), who, &made);
        MUST(asx_timer_live(at) == live + (s == ASX_OK ? 1 : 0));
        if (s == ASX_OK) timers.push_back(made);
        break;
      }
      case 2: {
        const asx_timer_handle h = pick(in);
        const bool was_live = asx_timer_is_live(at, &h);
        MUST(asx_timer_cancel(at, &h) == was_live && !asx_timer_is_live(at, &h));
        MUST(asx_timer_live(at) == live - (was_live ? 1 : 0));
        break;
      }
      case 3: {
        const asx_timer_handle h = pick(in);
        const bool was_live = asx_timer_is_live(at, &h);
        made = asx_timer_update(at, &h, when(in), {1, 0});
        if (made.id != 0) timers.push_back(made);
        MUST(made.id == 0 || asx_timer_live(at) == live + (was_live ? 0 : 1));
        break;
      }
      case 4: {
        now += in.below(3000);
        asx_waker due[8];
        const std::size_t count = asx_timer_collect_expired(at, now, due, in.below(9));
        MUST(count <= 8 && asx_timer_live(at) == live - count);
        break;
      }
      default:
        MUST((asx_timer_next_deadline(at) == ASX_TIME_NONE) == (live == 0));
        MUST(asx_timer_purge(at) == ASX_OK && asx_timer_live(at) == live);
        break;
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input in(data, size);
  wheel w;
  asx_wheel_config config = ASX_WHEEL_CONFIG_INIT;
  config.capacity = 1 + in.below(40);
  MUST(asx_timer_wheel_create(&config, &w.at) == ASX_OK);
  for (int i = 0; i < 300 && !in.empty(); ++i) {
    switch (in.below(4)) {
      case 0: laws(in); break;
      case 1: names(in); break;
      default: w.act(in); break;
    }
  }
  MUST(asx_timer_wheel_destroy(w.at) == ASX_OK);
  return 0;
}
