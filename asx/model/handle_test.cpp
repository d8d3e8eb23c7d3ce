// asx/model/handle_test.cpp - the bits of a handle, at their edges.
//
//   63        48 47        32 31                     0
//   | type tag  | state mask | arena index           |   and a 64-bit generation beside the word
#include "asx/model/handle.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "asx/model/lifecycle.hpp"

namespace {

using asx::channel_state;
using asx::handle;
using asx::obligation_state;
using asx::region_state;
using asx::task_state;
using asx::type_tag;

constexpr std::array<type_tag, 6> all_tags{type_tag::region,         type_tag::task,  type_tag::obligation,
                                           type_tag::cancel_witness, type_tag::timer, type_tag::channel};

// two registers, no more, and nothing to run when one is copied.
static_assert(sizeof(handle) == 16 && std::is_trivially_copyable_v<handle> && std::is_standard_layout_v<handle>);
static_assert(sizeof(asx::region_handle) == 16 && std::is_trivially_copyable_v<asx::region_handle>);
static_assert(sizeof(asx::task_handle) == 16 && std::is_trivially_copyable_v<asx::task_handle>);
static_assert(sizeof(asx::obligation_handle) == 16 && std::is_trivially_copyable_v<asx::obligation_handle>);
static_assert(sizeof(asx::channel_handle) == 16 && std::is_trivially_copyable_v<asx::channel_handle>);

// the word is as drawn.
static_assert(handle(type_tag::region, 0x0001, 0, 1).word == UINT64_C(0x0001'0001'0000'0000));
static_assert(handle(type_tag::channel, 0x8000, 0xFFFF'FFFF, 1).word == UINT64_C(0x0006'8000'FFFF'FFFF));
static_assert(handle(type_tag::task, 0, 0, 0).word == UINT64_C(0x0002'0000'0000'0000));
static_assert(handle(type_tag::timer, 0xFFFF, 0x1234'5678, UINT64_MAX).word == UINT64_C(0x0005'FFFF'1234'5678));
static_assert(handle(type_tag::timer, 0xFFFF, 0x1234'5678, UINT64_MAX).generation == UINT64_MAX);

// The catalogue's tag values.
static_assert(static_cast<std::uint16_t>(type_tag::region) == 0x0001);
static_assert(static_cast<std::uint16_t>(type_tag::task) == 0x0002);
static_assert(static_cast<std::uint16_t>(type_tag::obligation) == 0x0003);
static_assert(static_cast<std::uint16_t>(type_tag::cancel_witness) == 0x0004);
static_assert(static_cast<std::uint16_t>(type_tag::timer) == 0x0005);
static_assert(static_cast<std::uint16_t>(type_tag::channel) == 0x0006);

// the regions' masks are the catalogue's, all others are 1 << ordinal.
static_assert(asx::mask_of(region_state::open) == 0x0001 && asx::mask_of(region_state::closing) == 0x0002 &&
              asx::mask_of(region_state::draining) == 0x0004 && asx::mask_of(region_state::finalizing) == 0x0008 &&
              asx::mask_of(region_state::closed) == 0x0010);
static_assert(asx::mask_of(task_state::created) == 0x0001 && asx::mask_of(task_state::running) == 0x0002 &&
              asx::mask_of(task_state::cancel_requested) == 0x0004 && asx::mask_of(task_state::cancelling) == 0x0008 &&
              asx::mask_of(task_state::finalizing) == 0x0010 && asx::mask_of(task_state::completed) == 0x0020);
static_assert(asx::mask_of(obligation_state::reserved) == 0x0001 &&
              asx::mask_of(obligation_state::committed) == 0x0002 &&
              asx::mask_of(obligation_state::aborted) == 0x0004 && asx::mask_of(obligation_state::leaked) == 0x0008);
static_assert(asx::mask_of(channel_state::open) == 0x0001 && asx::mask_of(channel_state::sender_closed) == 0x0002 &&
              asx::mask_of(channel_state::receiver_closed) == 0x0004 &&
              asx::mask_of(channel_state::fully_closed) == 0x0008);

TEST(handle_laws, every_field_survives_at_its_edges_and_none_spills_into_another) {
  for (const type_tag tag : all_tags) {
    for (std::uint32_t bit = 0; bit <= 16; ++bit) {
      const auto mask = static_cast<std::uint16_t>(bit == 16 ? 0xFFFFU : 1U << bit);
      for (const std::uint32_t index : {0U, 1U, 0x7FFF'FFFFU, 0x8000'0000U, 0xFFFF'FFFFU}) {
        for (const std::uint64_t generation : {UINT64_C(0), UINT64_C(1), UINT64_C(1) << 32, UINT64_MAX}) {
          const handle h(tag, mask, index, generation);
          const std::uint64_t want = (static_cast<std::uint64_t>(tag) << 48) | (std::uint64_t{mask} << 32) | index;
          ASSERT_EQ(h.word, want);
          ASSERT_EQ(h.generation, generation);
          ASSERT_EQ(h.tag_bits(), static_cast<std::uint16_t>(tag));
          ASSERT_EQ(h.mask(), mask);
          ASSERT_EQ(h.index(), index);
          ASSERT_FALSE(h.is_null());
          ASSERT_EQ(h, handle(want, generation)) << "the word and the generation are the whole handle";
          for (const type_tag other : all_tags) ASSERT_EQ(h.is(other), other == tag);
        }
      }
    }
  }
}

TEST(handle_laws, each_of_the_65536_masks_reads_back_and_leaves_tag_and_index_alone) {
  for (std::uint32_t mask = 0; mask <= 0xFFFF; ++mask) {
    const handle h(type_tag::obligation, static_cast<std::uint16_t>(mask), 0xA5A5'5A5A, 1);
    ASSERT_EQ(h.mask(), mask);
    ASSERT_EQ(h.word, (UINT64_C(3) << 48) | (std::uint64_t{mask} << 32) | 0xA5A5'5A5A);
  }
}

RC_GTEST_PROP(handle_laws, any_word_reads_back_as_the_fields_that_make_it, ()) {
  const auto word = *rc::gen::arbitrary<std::uint64_t>() ^ (*rc::gen::arbitrary<std::uint64_t>() << 32);
  const auto generation = *rc::gen::arbitrary<std::uint64_t>();
  const handle h(word, generation);
  RC_ASSERT(h.tag_bits() == (word >> 48));
  RC_ASSERT(h.mask() == ((word >> 32) & 0xFFFF));
  RC_ASSERT(h.index() == (word & 0xFFFF'FFFF));
  RC_ASSERT(h.is_null() == (word == 0));
  for (const type_tag tag : all_tags) RC_ASSERT(h.is(tag) == (h.tag_bits() == static_cast<std::uint16_t>(tag)));
}

TEST(handle_laws, the_null_handle_is_word_zero_whatever_its_generation) {
  static_assert(handle().is_null() && handle().word == 0);
  EXPECT_TRUE(handle(0, 0).is_null());
  EXPECT_TRUE(handle(0, 77).is_null());
  EXPECT_FALSE(handle(1, 0).is_null());
  EXPECT_FALSE(handle(type_tag::region, 0, 0, 0).is_null()) << "a tag alone is not null";
  for (const type_tag tag : all_tags) EXPECT_FALSE(handle().is(tag));
  EXPECT_TRUE(asx::region_handle().is_null());
  EXPECT_TRUE(asx::task_handle().is_null());
  EXPECT_TRUE(asx::obligation_handle().is_null());
  EXPECT_TRUE(asx::channel_handle().is_null());
}

TEST(handle_laws, a_reused_slot_makes_a_different_handle) {
  const asx::task_handle old_one(task_state::created, 3, 1);
  EXPECT_NE(old_one, asx::task_handle(task_state::created, 3, 2));
  EXPECT_NE(old_one, asx::task_handle(task_state::created, 4, 1));
  EXPECT_NE(old_one, asx::task_handle(task_state::running, 3, 1)) << "the mask at issue is part of the word";
  EXPECT_EQ(old_one, asx::task_handle(task_state::created, 3, 1));
}

template <class Typed, class State>
void expect_typed(type_tag own, std::size_t states) {
  for (std::size_t s = 0; s < states; ++s) {
    const auto state = static_cast<State>(s);
    for (const std::uint32_t index : {0U, 7U, 0xFFFF'FFFFU}) {
      const Typed typed(state, index, 9);
      SCOPED_TRACE("state " + std::to_string(s) + " index " + std::to_string(index));
      EXPECT_TRUE(typed.is(own));
      EXPECT_EQ(typed.mask(), 1U << s);
      EXPECT_EQ(typed.mask(), asx::mask_of(state));
      EXPECT_EQ(typed.index(), index);
      EXPECT_EQ(typed.generation, 9U);
      EXPECT_FALSE(typed.is_null());
      EXPECT_EQ(Typed::from(typed), typed) << "through the untyped form and back";
    }
  }
  for (const type_tag tag : all_tags) {
    const handle untyped(tag, 0x0001, 5, 6);
    const Typed typed = Typed::from(untyped);
    EXPECT_EQ(typed.is_null(), tag != own) << "R-110: another tag is no handle of this kind";
    if (tag == own) {
      EXPECT_EQ(typed, untyped);
    }
  }
  for (const std::uint64_t word :
       {UINT64_C(0), UINT64_C(5), UINT64_C(0x0000'0001'0000'0005), UINT64_C(0x0007'0001'0000'0005),
        UINT64_C(0xFFFF'0001'0000'0005), UINT64_C(0x0100'0001'0000'0005)}) {
    EXPECT_TRUE(Typed::from(handle(word, 6)).is_null()) << std::hex << word;
  }
}

TEST(handle_laws, a_typed_handle_carries_its_tag_and_the_mask_of_the_state_it_was_issued_in) {
  expect_typed<asx::region_handle, region_state>(type_tag::region, 5);
  expect_typed<asx::task_handle, task_state>(type_tag::task, 6);
  expect_typed<asx::obligation_handle, obligation_state>(type_tag::obligation, 4);
  expect_typed<asx::channel_handle, channel_state>(type_tag::channel, 4);
}

TEST(handle_laws, a_mask_has_one_bit_and_no_two_states_share_it) {
  std::uint32_t seen = 0;
  for (std::size_t s = 0; s < 6; ++s) {
    const std::uint32_t mask = asx::mask_of(static_cast<task_state>(s));
    EXPECT_EQ(mask & (mask - 1), 0U);
    EXPECT_EQ(seen & mask, 0U);
    seen |= mask;
  }
  EXPECT_EQ(seen, 0x3FU);
}

}  // namespace
