// Memory that runs out, at every single allocation: a status, nothing has changed, nothing is lost.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "asx/capi/testing/fixture.hpp"

namespace asx::capi_testing {
namespace {

/// Refuses the k-th request, and counts what is out.
struct miser {
  std::uint64_t asked = 0;
  std::uint64_t refused_at = 0;  // 0: none.
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;

  static void* allocate(void* self, std::size_t bytes, std::size_t alignment) {
    auto& m = *static_cast<miser*>(self);
    if (++m.asked == m.refused_at) return nullptr;
    ++m.blocks;
    m.bytes += static_cast<std::int64_t>(bytes);
    const std::size_t at = alignment < alignof(std::max_align_t) ? alignof(std::max_align_t) : alignment;
    void* const block = std::aligned_alloc(at, (bytes + at - 1) / at * at);
    std::memset(block, 0xA5, bytes);
    return block;
  }
  static void release(void* self, void* block, std::size_t bytes, std::size_t) {
    auto& m = *static_cast<miser*>(self);
    --m.blocks;
    m.bytes -= static_cast<std::int64_t>(bytes);
    std::memset(block, 0x5A, bytes);
    std::free(block);
  }
};

/// A program that needs every table; each call may be refused, and then nothing has changed.
struct program {
  asx_runtime* rt = nullptr;
  asx_region_handle root{};
  asx_channel_sender tx{};
  asx_channel_receiver rx{};
  bool has_channel = false;
  int spawned = 0, dropped = 0;
  int sent = 0, received = 0;
  int pushed = 0, cleaned = 0;
  int asked_closed = 0, closed = 0;
  static inline int destroyed = 0;

  std::uint64_t hash() const {
    std::uint64_t out = 0;
    EXPECT_EQ(asx_runtime_state_hash(rt, &out), ASX_OK);
    return out;
  }
  /// Makes a call that the memory may refuse.
  template <class Call>
  bool took(const char* name, Call make) {
    const std::uint64_t before = hash();
    const asx_status s = make();
    if (s == ASX_OK) return true;
    EXPECT_EQ(s, ASX_E_RESOURCE_EXHAUSTED) << name;
    EXPECT_EQ(hash(), before) << name << " was refused and changed something";
    return false;
  }

  static asx_poll_result poll(void* self, asx_cx* cx) {
    auto& p = *static_cast<program*>(self);
    const bool has_pushed = p.took("push_cleanup", [&] {
      return asx_cx_push_cleanup(cx, [](void* c) { return ++static_cast<program*>(c)->cleaned, ASX_OK; }, &p, nullptr);
    });
    p.pushed += has_pushed ? 1 : 0;
    asx_send_permit permit{};
    if (p.has_channel && asx_channel_reserve(&p.tx, cx, &permit) == ASX_OK) {
      EXPECT_EQ(asx_send_permit_send(&permit, &p), ASX_OK);
      ++p.sent;
    }
    return asx_sleep_for(cx, ASX_MILLISECOND) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
  }

  void run() {
    EXPECT_EQ(asx_region_root(rt, &root), ASX_OK);
    asx_region_spec inner = ASX_REGION_SPEC_INIT;
    inner.context = this;
    inner.closed = [](void* self, asx_region_handle) { ++static_cast<program*>(self)->closed; };
    asx_region_handle where = root;
    if (took("region_create", [&] { return asx_region_create(rt, root, &inner, &where); })) {
      ++asked_closed;
    }
    has_channel =
        took("channel_create", [&] { return asx_channel_create(rt, where, 2, [](void*) { ++destroyed; }, &tx, &rx); });
    asx_task_spec spec = ASX_TASK_SPEC_INIT;
    spec.poll = &poll;
    spec.context = this;
    spec.drop = [](void* self) { ++static_cast<program*>(self)->dropped; };
    asx_task_slot slot{};
    if (took("task_reserve", [&] { return asx_task_reserve(rt, where, &slot); })) {
      EXPECT_EQ(asx_task_commit(rt, slot, &spec, nullptr), ASX_OK) << "what was reserved is there";
      ++spawned;
    }
    for (int i = 0; i < 70; ++i) {  // More than one chunk of a table.
      spawned += took("task_spawn", [&] { return asx_task_spawn(rt, where, &spec, nullptr); }) ? 1 : 0;
    }
    asx_obligation_handle promise{};
    if (took("obligation_reserve", [&] { return asx_obligation_reserve(rt, where, &promise); })) {
      EXPECT_EQ(asx_obligation_commit(rt, promise), ASX_OK);
    }
    EXPECT_EQ(asx_runtime_run_until_idle(rt, 100000, nullptr), ASX_OK);
    void* value = nullptr;
    while (has_channel && asx_channel_try_recv(&rx, &value) == ASX_OK) ++received;
    EXPECT_EQ(asx_runtime_run_until_quiescent(rt, 100000, nullptr), ASX_OK);
    EXPECT_EQ(asx_runtime_destroy(rt), ASX_OK);
  }
};

TEST(capi_memory, the_kth_allocation_fails_for_every_k) {
  std::uint64_t total = 0;
  for (std::uint64_t k = 0; k <= total; ++k) {
    SCOPED_TRACE("allocation " + std::to_string(k));
    miser memory{.refused_at = k};
    asx_runtime_config config;
    ASSERT_EQ(asx_runtime_config_init(&config, sizeof config, ASX_PROFILE_CORE), ASX_OK);
    config.memory = {&memory, &miser::allocate, &miser::release};
    config.contract.max_trace_events = 4096;
    program p;
    program::destroyed = 0;
    const asx_status made = asx_runtime_create(&config, &p.rt);
    if (made == ASX_OK) {
      p.run();
    } else {
      EXPECT_EQ(made, ASX_E_RESOURCE_EXHAUSTED);
      EXPECT_EQ(p.rt, nullptr);
    }
    if (k == 0) total = memory.asked;
    EXPECT_EQ(p.dropped, p.spawned);
    EXPECT_EQ(p.cleaned, p.pushed);
    EXPECT_EQ(p.closed, p.asked_closed);
    EXPECT_EQ(p.sent, p.received + program::destroyed);
    EXPECT_EQ(memory.blocks, 0);
    EXPECT_EQ(memory.bytes, 0);
    if (HasFailure()) return;
  }
  EXPECT_GT(total, 30U);
}

}  // namespace
}  // namespace asx::capi_testing
