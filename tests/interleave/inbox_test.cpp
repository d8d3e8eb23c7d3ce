// What threads share of an inbox (asx/runtime/detail/inbox_core.hpp) in every interleaving: a word against the drain,
// and against the end of the runtime. "law n" is the n-th of its banner.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "asx/runtime/detail/inbox_core.hpp"
#include "tests/interleave/atomic.hpp"
#include "tests/interleave/expect.hpp"
#include "tests/interleave/faults.hpp"

namespace {

using namespace asx::interleave;
using asx::basic_thread_parker;
using asx::duration;
using asx::detail::basic_foreign_line;
using asx::detail::basic_inbox_core;
using asx::detail::foreign_word;

constexpr auto relaxed = std::memory_order_relaxed;

// Thread 0 is the runtime; the others speak, each by a line of its own or all by one.
template <class Threads, unsigned Lines>
struct inbox_world : world {
  using core_type = basic_inbox_core<Threads>;
  using line = basic_foreign_line<Threads>;
  std::optional<basic_thread_parker<Threads>> parker;
  std::unique_ptr<core_type> owned = std::make_unique<core_type>();
  core_type* core = owned.get();
  std::array<line, Lines> lines;
  asx::interleave::atomic<unsigned> words[2];
  plain<int> letters[2];

  inbox_world() {
    parker.emplace();
    core->park = parker->port();
  }
  [[nodiscard]] line& line_of(unsigned speaker) { return lines[speaker % Lines]; }
  void speak(unsigned speaker, unsigned word) {
    letters[speaker] = static_cast<int>(word);
    words[speaker].store(word, relaxed);
    core->say(line_of(speaker), foreign_word::wake);
  }
  // What a step does in phase 0; how many lines were heard.
  template <class Hear>
  void drain(Hear hear) {
    if (core->newest.load(relaxed) == nullptr) return;
    line* oldest = core->take_all();
    while (oldest != nullptr) {
      line& one = *oldest;
      oldest = one.next;
      hear(one, core_type::hear(one));
    }
  }
};

// ---- a word against the drain

// The runtime steps and parks until it has seen the last word of everybody. The words are relaxed: only the inbox and
// the parker order them. Whoever is heard has written its letter.
template <class Threads, unsigned Speakers, unsigned Lines, unsigned Words>
struct listens : inbox_world<Threads, Lines> {
  using base = inbox_world<Threads, Lines>;
  void run(unsigned thread) override {
    if (thread != 0) {
      for (unsigned w = 1; w <= Words; ++w) this->speak(thread - 1, w);
      return;
    }
    unsigned heard = 0;
    for (;;) {
      this->drain([&](typename base::line& one, std::uint32_t said) {
        check((said & foreign_word::in_stack) != 0, "law 2: what lies in the stack says so");
        check((said & foreign_word::wake) != 0, "law 1: what is heard was said");
        for (unsigned s = 0; s < Speakers; ++s) {
          if (Speakers == Lines && &one == &this->line_of(s)) {
            check(this->words[s].load(relaxed) != 0, "law 1: what was written before is seen");
          }
        }
        ++heard;
      });
      bool has_all = true;
      for (unsigned s = 0; s < Speakers; ++s) has_all = has_all && this->words[s].load(relaxed) == Words;
      if (has_all) break;
      this->parker->park(duration::max());
    }
    check(heard <= Speakers * Words, "law 1: nothing is heard twice");
  }
  void end() override {
    unsigned left = 0;
    this->drain([&](typename base::line&, std::uint32_t) { ++left; });
    check(left <= Lines, "law 2: a line lies in the stack once");
    for (auto& l : this->lines) check(l.said.load() == 0, "law 1: everything was heard");
  }
};

TEST(interleave_inbox, a_word_is_heard_whether_the_runtime_looks_or_parks) {  // law 1
  expect_all_hold<listens<threads, 1, 1, 1>>();
}
TEST(interleave_inbox, two_words_of_one_speaker_are_heard) {  // laws 1 and 2
  expect_all_hold<listens<threads, 1, 1, 2>>(2, {.executions = 5'000'000, .stale_reads = is_long() ? 3U : 1U});
}
// Two may speak by one handle; three threads would be too many executions without a bound.
TEST(interleave_inbox, two_who_speak_by_one_handle_are_heard_with_3_preemptions) {
  expect_all_hold<listens<threads, 2, 1, 1>>(
      3, {.executions = 20'000'000, .preemptions = is_long() ? 4U : 3U, .stale_reads = 1});
}
TEST(interleave_inbox, two_who_speak_by_handles_of_their_own_are_heard_with_3_preemptions) {
  expect_all_hold<listens<threads, 2, 2, 1>>(
      3, {.executions = 20'000'000, .preemptions = is_long() ? 4U : 3U, .stale_reads = 1});
}

// What is heard hands over plain memory, too.
template <class Threads>
struct hands_over : inbox_world<Threads, 1> {
  void run(unsigned thread) override {
    if (thread != 0) return this->speak(0, 7);
    this->drain([this](basic_foreign_line<Threads>&, std::uint32_t said) {
      if ((said & foreign_word::wake) != 0) check(this->letters[0] == 7, "law 1: what was written before is seen");
    });
  }
};

TEST(interleave_inbox, what_was_written_before_a_word_is_seen_by_who_hears_it) {  // law 1
  expect_all_hold<hands_over<threads>>(2, {.spurious = 1});
}

// ---- a word against the end of the runtime

// The runtime closes and takes its parker with it; the speaker says a word and lets its handle go. Whoever is last
// frees the core. `IsPolite`: the runtime closes first.
template <class Threads, unsigned Speakers, bool IsPolite = true>
struct goes : inbox_world<Threads, Speakers> {
  goes() { this->core->owners.fetch_add(Speakers, relaxed); }
  void let_go() {
    if (this->core->release()) this->owned.reset();
  }
  void run(unsigned thread) override {
    if (thread == 0) {
      if (IsPolite) this->core->close();
      this->parker.reset();
    } else {
      this->speak(thread - 1, 1);
      this->core->say(this->line_of(thread - 1), foreign_word::gone);
    }
    let_go();
  }
  void end() override { check(this->owned == nullptr, "law 4: the last owner has freed it"); }
};

TEST(interleave_inbox, a_runtime_goes_while_somebody_speaks_to_it) {  // laws 3 and 4
  expect_all_hold<goes<threads, 1>>();
}
TEST(interleave_inbox, a_runtime_goes_while_two_speak_to_it_with_3_preemptions) {  // laws 3 and 4
  expect_all_hold<goes<threads, 2>>(3,
                                    {.executions = 20'000'000, .preemptions = is_long() ? 4U : 3U, .stale_reads = 1});
}

// ---- the checks can fail

TEST(interleave_inbox_faults, a_runtime_that_goes_without_a_close_is_noticed) {
  expect_noticed<goes<threads, 1, false>>("after its end");
}

template <class T>
class silent_atomic : public asx::interleave::atomic<T> {
 public:
  using asx::interleave::atomic<T>::atomic;
  void notify_all() noexcept {}
};
struct silent_threads : threads {
  template <class T>
  using atomic = silent_atomic<T>;
};
TEST(interleave_inbox_faults, a_last_speaker_who_wakes_nobody_is_noticed) {
  expect_noticed<goes<silent_threads, 1>>("everybody sleeps");
}

// A word that is said hands nothing over.
template <class T>
class vague_atomic : public asx::interleave::atomic<T> {
 public:
  using asx::interleave::atomic<T>::atomic;
  T fetch_or(T bits, std::memory_order) noexcept { return asx::interleave::atomic<T>::fetch_or(bits, relaxed); }
};
struct vague_threads : threads {
  template <class T>
  using atomic = vague_atomic<T>;
};
TEST(interleave_inbox_faults, a_word_that_hands_nothing_over_is_noticed) {
  // A push hands over as well, so the first word is seen; the second one, to a line that is in the stack, is not.
  struct twice : inbox_world<vague_threads, 1> {
    void run(unsigned thread) override {
      if (thread == 1) return speak(0, 7);
      if (thread == 2) return speak(1, 7);
      drain([this](line&, std::uint32_t said) {
        if ((said & foreign_word::result) != 0) check(letters[1] == 7, "law 1");
      });
    }
    void speak(unsigned speaker, unsigned word) {
      letters[speaker] = static_cast<int>(word);
      core->say(line_of(0), speaker == 0 ? foreign_word::wake : foreign_word::result);
    }
  };
  expect_noticed<twice>("a race", 3, {.executions = 20'000'000, .preemptions = 3, .stale_reads = 1});
}

// Speaks to a parker that forgets.
TEST(interleave_inbox_faults, a_runtime_that_sleeps_without_a_look_is_noticed) {
  expect_noticed<listens<blind_threads, 1, 1, 1>>("everybody sleeps");
}

}  // namespace
