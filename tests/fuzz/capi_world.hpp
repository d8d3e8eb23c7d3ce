// tests/fuzz/capi_world.hpp - what the fuzzer of the C interface has in its hands, and what it knows of it for certain.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "asx/capi/asx.h"
#include "tests/fuzz/input.hpp"

namespace capi_fuzz {

struct world;

struct script {
  world* home;
  std::uint32_t left = 0;  // Polls until it is ready.
};

/// Of a program of a later release: what this one does not know of it is set to zero.
struct newer_report {
  asx_task_report task{};
  unsigned char more[64]{1};
};

#define MUST(condition) \
  ((condition) ? static_cast<void>(0) : (std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), std::abort()))

struct world {
  explicit world(fuzz_input& bytes) : in(bytes) {}
  fuzz_input& in;
  asx_runtime* rt = nullptr;
  std::vector<asx_region_handle> regions;
  std::vector<bool> is_region_held;  // By us, for certain.
  std::vector<asx_task_handle> tasks;
  std::vector<bool> is_released;
  std::vector<asx_obligation_handle> obligations;
  std::vector<asx_task_slot> slots;
  std::vector<asx_channel_sender> senders;
  std::vector<bool> is_sender_dropped;
  std::vector<asx_channel_receiver> receivers;
  std::vector<bool> is_receiver_dropped;
  std::vector<asx_send_permit> permits;
  std::vector<asx_tracked_permit> tracked;
  std::vector<asx_timer_handle> timers;
  std::vector<script*> scripts;
  std::vector<asx_foreign_handle> foreign;
  std::vector<asx_channel_handle> channels;
  asx_cleanup_handle cleanup{};
  asx_cx* kept = nullptr;  // Of a poll that may be over.
  std::uint64_t holds = 0;
  bool is_ending = false;  // Holds are given up.
  int depth = 0;

  template <class T>
  T pick(const std::vector<T>& from) {
    return from.empty() ? T{} : from[in.below(static_cast<std::uint32_t>(from.size()))];
  }
  /// Mostly one that was given out; sometimes with its words bent.
  template <class T>
  T handle(const std::vector<T>& from) {
    T h = pick(from);
    switch (in.below(12)) {
      case 0: h.word ^= std::uint64_t{1} << in.below(64); break;
      case 1: h.generation += in.below(5) - std::uint64_t{2}; break;
      case 2: h.word = (std::uint64_t{in.below(8)} << 48) | in.below(8); break;
      case 3: h.generation = in.below(8); break;
      default: break;
    }
    return h;
  }
  asx_cancel_kind kind() { return static_cast<asx_cancel_kind>(in.below(12)); }
  asx_task_spec spec();
  std::uint64_t hash() {
    std::uint64_t out = 0;
    MUST(asx_runtime_state_hash(rt, &out) == ASX_OK);
    return out;
  }
  /// Makes a call: refused for one of these reasons it has changed nothing.
  template <class Call>
  asx_status tried(Call call) {
    const std::uint64_t before = hash();
    const asx_status s = call();
    switch (s) {
      case ASX_E_INVALID_ARGUMENT:
      case ASX_E_STALE_HANDLE:
      case ASX_E_REENTRANT:
      case ASX_E_RESOURCE_EXHAUSTED:
      case ASX_E_INVALID_TRANSITION:
      case ASX_E_REGION_NOT_OPEN:
      case ASX_E_ADMISSION_CLOSED:
      case ASX_E_OBLIGATION_ALREADY_RESOLVED:
      case ASX_E_FULL:
      case ASX_E_EMPTY: MUST(hash() == before); break;
      default: break;
    }
    return s;
  }
  void add_region(asx_region_handle region, bool is_held) {
    regions.push_back(region);
    is_region_held.push_back(is_held);
  }
  void add_task(asx_task_handle task) {
    tasks.push_back(task);
    is_released.push_back(false);
  }
  void act(asx_cx* cx);
  void act_in_poll(asx_cx* cx);
  void act_on_channels(asx_cx* cx);
  void act_on_ends(asx_cx* cx);
  void act_on_runtime(asx_cx* cx);
  void act_from_outside();
  void release_region();
  void look();
};

}  // namespace capi_fuzz
