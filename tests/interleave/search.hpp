// tests/interleave/search.hpp - the engine itself: fibers, what each of them knows, and the search. For engine.cpp
// alone.
//
// Depth-first search without saved states: an execution is run again from its beginning, with the choices of the one
// before it up to the last that has another way to go.
//
// Cancel points: none. Threads: one. Lifetime: an exploration's.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/interleave/engine.hpp"

namespace asx::interleave::search {

using detail::access;

constexpr unsigned host = most_threads;  // Makes the world and ends it.
constexpr unsigned everybody = most_threads + 1;
constexpr std::size_t most_words = 32;
constexpr std::size_t stack_bytes = std::size_t{1} << 18;

using clock_of_all = std::array<std::uint32_t, everybody>;

// What a thread knows, or a store hands over: what happened before, and which store of each word is the oldest that it
// may still see.
struct knowledge {
  clock_of_all clock{};
  std::array<std::uint16_t, most_words> oldest{};

  void join(const knowledge& other) noexcept {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
    for (std::size_t i = 0; i < oldest.size(); ++i) oldest[i] = std::max(oldest[i], other.oldest[i]);
  }
};

struct stored {
  std::uint64_t value = 0;
  knowledge released;  // For whoever acquires it.
};

struct word {
  const void* at = nullptr;
  bool is_live = false;
  std::uint16_t last_total = 0;  // The last sequentially consistent store: such a load sees no older one.
  std::vector<stored> stores;
};

struct operation {
  const void* on = nullptr;
  access how = access::reads;
  bool enters = false;      // A section, once nobody is in it.
  bool is_barrier = false;  // Of all threads, and so of every word.
  bool stands = false;      // As long as the last value of the word is this one.
  std::uint64_t value = 0;

  [[nodiscard]] bool commutes_with(const operation& other) const noexcept {
    if (is_barrier || other.is_barrier) return false;
    return on != other.on || (how == access::reads && other.how == access::reads);
  }
};

enum class fiber_state : std::uint8_t { ready, asleep, done };

// A ucontext to begin with; from then on jumps, which ask the machine for nothing.
struct place_in_code {
  ucontext_t first{};
  jmp_buf later{};
  bool has_begun = false;
};

[[gnu::noinline]] inline void switch_over(place_in_code& from, place_in_code& to) noexcept {
  from.has_begun = true;
  if (_setjmp(from.later) != 0) return;
  if (to.has_begun) _longjmp(to.later, 1);
  setcontext(&to.first);
}

struct fiber {
  place_in_code context{};
  fiber_state state = fiber_state::done;
  operation next{};
  knowledge knows;
  std::uint32_t stale_left = 0;
  bool is_limited = false;  // Asleep, and its time may be over.
  bool has_ended = false;   // And waits for the next execution.
};

// A place where there is more than one way to go.
struct fork {
  bool is_of_threads = false;
  std::uint8_t count = 0;
  std::uint8_t taken = 0;
  std::array<std::uint8_t, most_threads> who{};
  std::uint32_t sleeping = 0;  // Threads whose next operation was tried before, at an earlier fork (sleep sets),
  std::uint32_t explored = 0;  // and at this one.
};

struct line {
  unsigned thread;
  std::string text;
};

inline bool acquires(std::memory_order o) noexcept {
  return o == std::memory_order_acquire || o == std::memory_order_consume || o == std::memory_order_acq_rel ||
         o == std::memory_order_seq_cst;
}
inline bool releases(std::memory_order o) noexcept {
  return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
inline const char* name_of(std::memory_order o) noexcept {
  switch (o) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_consume: return "consume";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    default: return "seq_cst";
  }
}

class engine {
 public:
  engine(unsigned threads, const std::function<std::unique_ptr<world>()>& make, const limits& most)
      : threads_(threads), make_(make), most_(most) {
    for (void*& s : stacks_) {
      s = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (s == MAP_FAILED) std::abort();
    }
    words_.resize(most_words);
  }
  ~engine() {
    for (void* s : stacks_) munmap(s, stack_bytes);
  }
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  static inline engine* current = nullptr;

  verdict search() {
    verdict out;
    do {
      if (out.executions + out.redundant >= most_.executions) {
        failure_ = "more executions than the limit of " + std::to_string(most_.executions) +
                   ": the world is too large for it, and not all of it was seen";
        break;
      }
      run_once();
      ++(is_redundant_ ? out.redundant : out.executions);
    } while (failure_.empty() && advance());
    return conclude(out);
  }
  verdict replay(std::string_view schedule) {
    verdict out;
    is_replay_ = is_told_ = true;
    for (std::size_t at = 0; at < schedule.size();) {
      const std::size_t end = std::min(schedule.find('.', at), schedule.size());
      given_.push_back(static_cast<std::uint8_t>(std::atoi(std::string(schedule.substr(at, end - at)).c_str())));
      at = end + 1;
    }
    run_once();
    out.executions = 1;
    return conclude(out);
  }

  // ---- for those who run
  [[nodiscard]] unsigned running() const noexcept { return running_; }

  [[noreturn]] void fail(std::string text) {
    if (failure_.empty()) failure_ = std::move(text);
    has_failed_ = true;
    me().context.has_begun = me().has_ended = false;  // Whoever uses this stack next begins anew.
    switch_over(abandoned_, scheduler_);
    std::abort();  // Nobody goes on after a failure.
  }
  void tell(std::string text) {
    if (is_told_) lines_.push_back({running_, std::move(text)});
  }
  [[nodiscard]] bool is_told() const noexcept { return is_told_; }

  // The point before an operation, at which another one may go on.
  void before(const operation& next) {
    if (running_ == host) return;
    if (++operations_ > most_.operations) fail("an execution of more operations than the limit: does it end?");
    me().next = next;
    give_way();
  }
  void before(const void* on, access how, bool enters = false) { before({.on = on, .how = how, .enters = enters}); }
  void stand(const void* at, std::uint64_t value) {
    before({.on = at, .stands = true, .value = value});
    tell("has stood until word " + std::to_string(index_of(at)) + " is not " + std::to_string(value));
  }
  void order_all_threads() {
    before({.on = this, .how = access::writes, .is_barrier = true});
    tell("lets every thread pass a barrier");
    for (fiber& f : fibers_) {
      for (std::size_t i = 0; i < used_words_; ++i) f.knows.oldest[i] = static_cast<std::uint16_t>(last_of(i));
    }
    tick();
  }
  void give_way() { switch_over(me().context, scheduler_); }
  [[nodiscard]] fiber& me() noexcept { return fibers_[running_]; }

  unsigned choose(unsigned count) {
    if (count <= 1) return 0;
    unsigned taken = 0;
    if (is_replay_) {
      taken = said_.size() < given_.size() ? std::min<unsigned>(given_[said_.size()], count - 1) : 0;
    } else if (at_ < path_.size()) {
      taken = path_[at_++].taken;
    } else if (!is_redundant_) {
      path_.push_back({false, static_cast<std::uint8_t>(count), 0, {}, 0, 0});
      ++at_;
    }
    said_.push_back(static_cast<std::uint8_t>(taken));
    return taken;
  }

  [[nodiscard]] std::size_t index_of(const void* at) {
    for (std::size_t i = used_words_; i != 0; --i) {
      if (words_[i - 1].at != at) continue;
      if (!words_[i - 1].is_live) break;
      return i - 1;
    }
    fail("a word is used after its end, or before it was made");
  }
  void add_word(const void* at, std::uint64_t value) {
    if (used_words_ == most_words) fail("more words than the engine has room for");
    word& w = words_[used_words_];
    w.at = at;
    w.is_live = true;
    w.last_total = 0;
    w.stores.clear();
    w.stores.push_back({value, me().knows});
    ++used_words_;
    tick();
  }
  void remove_word(const void* at) noexcept {
    for (std::size_t i = used_words_; i != 0; --i) {
      if (words_[i - 1].at != at || !words_[i - 1].is_live) continue;
      words_[i - 1].is_live = false;
      return;
    }
  }

  // What `me` learns by reading that store.
  std::uint64_t see(std::size_t index, std::size_t store, std::memory_order order) {
    const stored& s = words_[index].stores[store];
    auto& oldest = me().knows.oldest[index];
    oldest = std::max(oldest, static_cast<std::uint16_t>(store));
    if (acquires(order)) me().knows.join(s.released);
    tick();
    return s.value;
  }
  // Which of the stores that it may see it sees; only those that `fits`.
  template <class Fits>
  std::size_t pick_store(std::size_t index, std::memory_order order, Fits fits) {
    const word& w = words_[index];
    const std::size_t last = w.stores.size() - 1;
    if (running_ == host || me().stale_left == 0) return last;
    std::size_t oldest = me().knows.oldest[index];
    if (order == std::memory_order_seq_cst) oldest = std::max<std::size_t>(oldest, w.last_total);
    std::array<std::size_t, 64> may{};
    unsigned count = 0;
    may[count++] = last;
    for (std::size_t i = oldest; i < last && count < may.size(); ++i) {
      // Of equal values that hand nothing over, the oldest leaves open whatever the others do.
      const auto is_equal = [&](std::size_t other) { return w.stores[other].value == w.stores[i].value; };
      if (!acquires(order) && std::any_of(may.begin() + 1, may.begin() + count, is_equal)) continue;
      if (fits(w.stores[i].value)) may[count++] = i;
    }
    const std::size_t taken = may[choose(count)];
    if (taken != last) --me().stale_left;
    return taken;
  }
  void put(std::size_t index, std::uint64_t value, std::memory_order order, bool continues) {
    word& w = words_[index];
    const auto at = static_cast<std::uint16_t>(w.stores.size());
    me().knows.oldest[index] = at;
    stored made{value, {}};
    if (continues) made.released = w.stores.back().released;  // A release sequence goes on through exchanges.
    if (releases(order)) made.released.join(me().knows);
    w.stores.push_back(made);
    if (order == std::memory_order_seq_cst) w.last_total = at;
    tick();
  }

  [[nodiscard]] std::size_t last_of(std::size_t index) const noexcept { return words_[index].stores.size() - 1; }
  [[nodiscard]] std::uint64_t value_of(std::size_t index, std::size_t store) const noexcept {
    return words_[index].stores[store].value;
  }

  bool sleep(const void* at, std::uint64_t value, bool is_limited) {
    before(at, access::writes);
    const std::size_t i = index_of(at);
    if (words_[i].stores.back().value != value) {
      tell("does not sleep on word " + std::to_string(i) + ": it is " + std::to_string(words_[i].stores.back().value));
      return true;
    }
    if (running_ == host) fail("whoever makes or ends a world does not sleep");
    tell("sleeps on word " + std::to_string(i) + " while it is " + std::to_string(value));
    me().state = fiber_state::asleep;
    me().is_limited = is_limited;
    me().next = {.on = at, .how = access::writes};
    give_way();
    const bool was_woken = me().state == fiber_state::ready;
    if (!was_woken && !is_limited) --spurious_left_;
    me().state = fiber_state::ready;
    tell(was_woken ? "is woken" : "wakes by itself");
    return was_woken;
  }
  void wake(const void* at, bool all) {
    before(at, access::writes);
    const std::size_t i = index_of(at);
    tell((all ? "wakes all on word " : "wakes one on word ") + std::to_string(i));
    std::array<unsigned, most_threads> asleep{};
    unsigned count = 0;
    for (unsigned t = 0; t < threads_; ++t) {
      if (fibers_[t].state == fiber_state::asleep && fibers_[t].next.on == at) asleep[count++] = t;
    }
    if (count == 0) return;
    const unsigned first = all ? 0 : choose(count);
    for (unsigned k = first; k < (all ? count : first + 1); ++k) fibers_[asleep[k]].state = fiber_state::ready;
  }
  bool fails_for_no_reason() {
    if (running_ == host || spurious_left_ == 0 || choose(2) == 0) return false;
    --spurious_left_;
    return true;
  }

  void tick() noexcept { ++me().knows.clock[running_]; }

 private:
  friend void run_fiber(unsigned who);

  void run_once() {
    for (word& w : words_) w.is_live = false;
    used_words_ = 0;
    operations_ = preemptions_ = 0;
    spurious_left_ = most_.spurious;
    at_ = 0;
    sleeping_ = 0;
    is_redundant_ = has_failed_ = false;
    last_ = host;
    said_.clear();
    lines_.clear();
    sections_.clear();
    prepare(host);
    resume(host);
    for (unsigned t = 0; t < threads_ && !has_failed_; ++t) {
      prepare(t);
      fibers_[t].knows = fibers_[host].knows;
      ++fibers_[t].knows.clock[t];
      resume(t);  // To its first operation.
    }
    ++fibers_[host].knows.clock[host];
    while (!has_failed_ && step()) {
    }
    if (has_failed_) return;
    for (unsigned t = 0; t < threads_; ++t) fibers_[host].knows.join(fibers_[t].knows);
    resume(host);
  }
  void prepare(unsigned who);
  void resume(unsigned who) {
    running_ = who;
    switch_over(scheduler_, fibers_[who].context);
    running_ = host;
  }

  [[nodiscard]] bool can_go_on(unsigned t) {
    const fiber& f = fibers_[t];
    if (f.state == fiber_state::ready && f.next.stands && is_still(f.next)) return false;
    if (f.state == fiber_state::ready && f.next.enters && section_at(f.next.on).owner != everybody) return false;
    return f.state == fiber_state::ready || (f.state == fiber_state::asleep && (f.is_limited || spurious_left_ != 0));
  }
  [[nodiscard]] bool is_still(const operation& o) const noexcept {
    const auto has = [&](const word& w) { return w.at == o.on && w.is_live && w.stores.back().value == o.value; };
    return std::any_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(used_words_), has);
  }
  // False: everybody is done, or something is wrong.
  bool step() {
    std::array<std::uint8_t, most_threads> who{};
    unsigned count = 0;
    bool is_over = true;
    for (unsigned t = 0; t < threads_; ++t) {
      is_over = is_over && fibers_[t].state == fiber_state::done;
      if (can_go_on(t)) who[count++] = static_cast<std::uint8_t>(t);
    }
    if (is_over) return false;
    if (count == 0) {
      failure_ = "everybody sleeps or waits, and nobody is left to wake anybody";
      has_failed_ = true;
      return false;
    }
    const unsigned next = choose_thread(who, count);
    last_ = next;
    resume(next);
    return true;
  }

  unsigned choose_thread(const std::array<std::uint8_t, most_threads>& who, unsigned count) {
    if (is_replay_) {
      unsigned next = who[0];
      if (count > 1) {
        const unsigned wanted = said_.size() < given_.size() ? given_[said_.size()] : who[0];
        for (unsigned i = 0; i < count; ++i) {
          if (who[i] == wanted) next = wanted;
        }
        said_.push_back(static_cast<std::uint8_t>(next));
      }
      return next;
    }
    const bool last_goes_on = last_ != host && fibers_[last_].state == fiber_state::ready;
    const bool is_bounded = most_.preemptions != UINT32_MAX;
    fork here{true, 0, 0, {}, is_bounded ? 0 : sleeping_, 0};
    for (unsigned i = 0; i < count; ++i) {
      if (last_goes_on && preemptions_ >= most_.preemptions && who[i] != last_) continue;
      if ((here.sleeping >> who[i] & 1U) == 0) here.who[here.count++] = who[i];
    }
    if (here.count == 0) is_redundant_ = true;  // Whatever comes now was seen in another order: to the end, and out.
    unsigned next = who[0];
    for (unsigned i = 0; i < count && fibers_[next].state != fiber_state::ready; ++i) next = who[i];
    std::uint32_t tried = here.sleeping;
    if (!is_redundant_) {
      next = here.who[0];
      if (here.count > 1) {
        if (at_ == path_.size()) path_.push_back(here);
        const fork& f = path_[at_++];
        next = f.who[f.taken];
        tried |= f.explored;
      }
    }
    if (count > 1) said_.push_back(static_cast<std::uint8_t>(next));
    if (last_goes_on && next != last_) ++preemptions_;
    sleeping_ = 0;
    for (unsigned t = 0; t < threads_; ++t) {
      if ((tried >> t & 1U) != 0 && t != next && fibers_[t].next.commutes_with(fibers_[next].next)) {
        sleeping_ |= 1U << t;
      }
    }
    return next;
  }

  // To the next execution; false: there is none.
  bool advance() {
    while (!path_.empty()) {
      fork& f = path_.back();
      if (f.is_of_threads) f.explored |= 1U << f.who[f.taken];
      if (++f.taken < f.count) return true;
      path_.pop_back();
    }
    return false;
  }

  verdict conclude(verdict out) {
    out.holds = failure_.empty();
    if (out.holds) return out;
    for (const std::uint8_t s : said_) out.schedule += (out.schedule.empty() ? "" : ".") + std::to_string(s);
    out.story = failure_ + "\n";
    if (!has_failed_) return out;
    if (!is_replay_) {  // Once more, and this time it is told.
      given_ = said_;
      is_replay_ = is_told_ = true;
      std::swap(failure_, first_failure_);
      run_once();
      if (failure_ != first_failure_) out.story += "(the replay says otherwise: " + failure_ + ")\n";
    }
    for (const line& l : lines_) {
      out.story += l.thread == host ? "  the world  " : "  thread " + std::to_string(l.thread) + "   ";
      out.story += l.text + "\n";
    }
    out.story += "replay: ASX_INTERLEAVE_REPLAY=" + (out.schedule.empty() ? "0" : out.schedule) + "\n";
    return out;
  }

  const unsigned threads_;
  const std::function<std::unique_ptr<world>()>& make_;
  const limits most_;
  std::array<void*, everybody> stacks_{};
  std::array<fiber, everybody> fibers_{};
  place_in_code scheduler_{};
  place_in_code abandoned_{};
  world* world_ = nullptr;
  unsigned running_ = host;
  unsigned last_ = host;

  // The search.
  std::vector<fork> path_;
  std::size_t at_ = 0;
  std::uint32_t sleeping_ = 0;
  bool is_redundant_ = false;
  bool is_replay_ = false;
  std::vector<std::uint8_t> given_;

  // This execution.
  std::vector<word> words_;
  std::size_t used_words_ = 0;
  std::uint32_t operations_ = 0;
  std::uint32_t preemptions_ = 0;
  std::uint32_t spurious_left_ = 0;
  std::vector<std::uint8_t> said_;
  bool has_failed_ = false;
  std::string failure_;
  std::string first_failure_;
  bool is_told_ = false;
  std::vector<line> lines_;

 public:
  struct section {
    const void* at;
    unsigned owner;
    knowledge released;
  };
  std::vector<section> sections_;
  section& section_at(const void* at) {
    for (section& s : sections_) {
      if (s.at == at) return s;
    }
    return sections_.emplace_back(section{at, everybody, {}});
  }
};

}  // namespace asx::interleave::search
