// What worlds call, on top of the search.
#include "tests/interleave/engine.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "asx/base/assert.hpp"
#include "tests/interleave/search.hpp"

namespace asx::interleave {

namespace search {

void run_fiber(unsigned who) {
  engine& e = *engine::current;
  while (true) {
    if (who == host) {
      std::unique_ptr<world> made = e.make_();
      e.world_ = made.get();
      e.give_way();
      made->end();
      made.reset();
    } else {
      e.world_->run(who);
    }
    e.me().state = fiber_state::done;
    e.me().has_ended = true;
    e.give_way();
  }
}

void engine::prepare(unsigned who) {
  fiber& f = fibers_[who];
  if (!f.has_ended) {
    getcontext(&f.context.first);
    f.context.first.uc_stack.ss_sp = stacks_[who];
    f.context.first.uc_stack.ss_size = stack_bytes;
    f.context.first.uc_link = nullptr;
    makecontext(&f.context.first, reinterpret_cast<void (*)()>(reinterpret_cast<void*>(&run_fiber)), 1, who);
    f.context.has_begun = false;
  }
  f.has_ended = false;
  f.state = fiber_state::ready;
  f.next = {};
  f.knows = {};
  f.knows.clock[who] = 1;
  f.stale_left = most_.stale_reads;
  f.is_limited = false;
}

}  // namespace search

namespace {

using namespace search;

// An assertion of asx is a failure of this execution, and the process goes on.
class search_scope {
 public:
  explicit search_scope(engine& e) : former_(set_assert_handler(&asserted)) {
    if (engine::current != nullptr) std::abort();
    engine::current = &e;
  }
  ~search_scope() {
    engine::current = nullptr;
    set_assert_handler(former_);
  }
  search_scope(const search_scope&) = delete;
  search_scope& operator=(const search_scope&) = delete;

 private:
  static void asserted(const assert_site& site) noexcept {
    set_assert_handler(&asserted);  // One failure takes the handler away, and the replay wants it back.
    engine::current->fail(std::string(site.file) + ":" + std::to_string(site.line) + ": " + site.expression + ": " +
                          site.why);
  }
  assert_handler former_;
};

}  // namespace

verdict explore(unsigned threads, const std::function<std::unique_ptr<world>()>& make, const limits& most) {
  if (const char* const given = std::getenv("ASX_INTERLEAVE_REPLAY"); given != nullptr) {
    verdict out = replay(threads, make, given, most);
    std::fprintf(stderr, "%s", out.holds ? "the replay holds\n" : out.story.c_str());
    return out;
  }
  ASX_ASSERT(threads != 0 && threads <= most_threads, "a world has few threads");
  engine e(threads, make, most);
  const search_scope scope(e);
  return e.search();
}
verdict replay(unsigned threads, const std::function<std::unique_ptr<world>()>& make, std::string_view schedule,
               const limits& most) {
  ASX_ASSERT(threads != 0 && threads <= most_threads, "a world has few threads");
  engine e(threads, make, most);
  const search_scope scope(e);
  return e.replay(schedule);
}

bool is_long() noexcept {
  return std::getenv("ASX_INTERLEAVE_LONG") != nullptr;
}

void check(bool is_so, std::string_view law) {
  if (!is_so) engine::current->fail("broken: " + std::string(law));
}
void say(std::string_view what) {
  engine::current->tell(std::string(what));
}
void order_all_threads() {
  engine::current->order_all_threads();
}
unsigned this_thread() noexcept {
  return engine::current->running();
}

namespace detail {

void add_word(const void* at, std::uint64_t value) {
  engine::current->add_word(at, value);
}
void remove_word(const void* at) noexcept {
  engine::current->remove_word(at);
}

namespace {
void tell_of(engine& e, const char* what, std::size_t word, std::memory_order order, std::uint64_t value) {
  if (!e.is_told()) return;
  e.tell(std::string(what) + " word " + std::to_string(word) + ", " + name_of(order) + ": " + std::to_string(value));
}
}  // namespace

std::uint64_t load(const void* at, std::memory_order order) {
  engine& e = *engine::current;
  e.before(at, access::reads);
  const std::size_t i = e.index_of(at);
  const std::uint64_t value = e.see(i, e.pick_store(i, order, [](std::uint64_t) { return true; }), order);
  tell_of(e, "load", i, order, value);
  return value;
}
void store(const void* at, std::uint64_t value, std::memory_order order) {
  engine& e = *engine::current;
  e.before(at, access::writes);
  const std::size_t i = e.index_of(at);
  tell_of(e, "store", i, order, value);
  e.put(i, value, order, false);
}
std::uint64_t begin_exchange(const void* at, std::memory_order order, const char* what) {
  engine& e = *engine::current;
  e.before(at, access::writes);
  const std::size_t i = e.index_of(at);
  const std::uint64_t value = e.see(i, e.last_of(i), order);
  tell_of(e, what, i, order, value);
  return value;
}
void end_exchange(const void* at, std::uint64_t value, std::memory_order order) {
  engine& e = *engine::current;
  e.put(e.index_of(at), value, order, true);
}
bool compare_exchange(const void* at, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure, bool is_weak) {
  engine& e = *engine::current;
  e.before(at, access::writes);
  const std::size_t i = e.index_of(at);
  const std::uint64_t wanted = expected;
  const std::size_t seen = e.pick_store(i, failure, [wanted](std::uint64_t v) { return v != wanted; });
  const bool is_there = seen == e.last_of(i) && e.value_of(i, seen) == wanted;
  if (is_there && !(is_weak && e.fails_for_no_reason())) {
    tell_of(e, "compare_exchange took", i, success, e.see(i, seen, success));
    e.put(i, desired, success, true);
    return true;
  }
  expected = e.see(i, seen, failure);
  tell_of(e, "compare_exchange saw", i, failure, expected);
  return false;
}
bool sleep(const void* at, std::uint64_t value, bool is_limited) {
  return engine::current->sleep(at, value, is_limited);
}
void wake(const void* at, bool all) {
  engine::current->wake(at, all);
}
void stand(const void* at, std::uint64_t value) {
  engine::current->stand(at, value);
}

void enter(const void* section) {
  engine& e = *engine::current;
  e.before(section, access::writes, true);
  engine::section& s = e.section_at(section);
  if (s.owner != everybody) e.fail("two are inside at the same time");
  e.tell("goes in");
  s.owner = e.running();
  e.me().knows.join(s.released);
  e.tick();
}
void leave(const void* section) {
  engine& e = *engine::current;
  engine::section& s = e.section_at(section);
  if (s.owner != e.running()) e.fail("somebody leaves who is not inside");
  e.tell("goes out");
  s.owner = everybody;
  s.released = e.me().knows;
  e.tick();
}

void access_plain(plain_history& history, access how) {
  engine& e = *engine::current;
  const unsigned me = e.running();
  const clock_of_all& clock = e.me().knows.clock;
  if (history.written.clock > clock[history.written.thread]) {
    e.fail("a race: a plain variable that thread " + std::to_string(history.written.thread) +
           " has written is used by thread " + std::to_string(me) + ", and nothing orders the two");
  }
  if (how == access::reads) {
    history.read[me] = clock[me];
    return;
  }
  for (unsigned t = 0; t < everybody; ++t) {
    if (history.read[t] > clock[t]) {
      e.fail("a race: a plain variable that thread " + std::to_string(t) + " has read is written by thread " +
             std::to_string(me) + ", and nothing orders the two");
    }
  }
  history.written = {me, clock[me]};
}

}  // namespace detail

}  // namespace asx::interleave
