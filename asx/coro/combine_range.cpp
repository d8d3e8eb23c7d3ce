#include "asx/coro/combine_range.hpp"

namespace asx::detail {

namespace {

outcome_kind kind_of(const join_list& all, const join_seat& seat) noexcept {
  task_outcome out;
  if (seat.code != status::ok) return outcome_kind::err;
  static_cast<void>(all.home().result(seat.task, out));
  return out.kind();
}

/// Ready when one more has ended; gives which.
class next_end_op {
 public:
  explicit next_end_op(join_list& of) noexcept : of_(&of) {}
  status poll(cx& c) noexcept { return of_->poll(c, wait_); }
  join_seat* take() noexcept {
    join_seat* const next = of_->next_ended();
    ASX_ASSERT(next != nullptr, "nobody waits for more than there are");
    of_->pass(*next);
    return next;
  }

 private:
  join_list* of_;
  waiter wait_;
};

/// Ready when each of them was told; a full cancel queue is asked again after a millisecond.
class stop_all_op {
 public:
  explicit stop_all_op(join_list& of) noexcept : of_(&of) {}
  status poll(cx& c) noexcept {
    if (of_->cancel({cancel_kind::race_lost, "another was first"}) != status::resource_exhausted) return status::ok;
    if (!pause_) pause_.emplace(duration::milliseconds(1));
    const status s = pause_->poll(c);
    if (s == status::would_block) return s;
    pause_.reset();
    if (s != status::ok) return status::ok;  // The region closes, and that tells them.
    c.yield();
    return status::would_block;
  }
  void take() const noexcept {}

 private:
  join_list* of_;
  std::optional<sleep_op> pause_;
};

/// It has to be seen who ends next. A panic decides, whatever is asked for.
bool is_open(const contest_course& course, std::size_t ended, std::size_t count, outcome_kind last) noexcept {
  using rule = contest_course::rule;
  if (ended == count || course.decides == rule::all) return false;
  if (ended != 0 && last == outcome_kind::panicked) return false;
  switch (course.decides) {
    case rule::first: return ended == 0;
    case rule::first_ok: return ended == 0 || last != outcome_kind::ok;
    default: return course.yes < course.enough && course.enough - course.yes <= count - ended;
  }
}

/// Who panicked, when all have ended: the one that was looked at last, or the first in the order given. All are asked:
/// one panic tells of all.
join_seat* panicked_in(const join_list& all, join_seat* last) noexcept {
  join_seat* first = nullptr;
  bool is_last = false;
  for (join_seat* seat = all.front(); seat != nullptr; seat = all.after(*seat)) {
    if (kind_of(all, *seat) != outcome_kind::panicked) continue;
    if (first == nullptr) first = seat;
    is_last = is_last || seat == last;
  }
  return is_last ? last : first;
}

}  // namespace

task<> hold_contest(cx c, std::source_location site, contest_start start, join_list& all, contest_course& course) {
  co_await unlisted{};
  const auto how = co_await attempt(region({c, site}, judged_by_body, [&, site](cx r) -> task<> {
    co_await unlisted{};
    if (const status s = start.start(start.context, r, site); s != status::ok) co_await fail(s);
    const std::size_t count = all.size();
    outcome_kind last = outcome_kind::err;
    for (std::size_t ended = 0; is_open(course, ended, count, last); ++ended) {
      course.decided = co_await next_end_op(all);
      last = kind_of(all, *course.decided);
      if (last != outcome_kind::ok || course.decides != contest_course::rule::enough) continue;
      course.decided->is_counted = true;
      ++course.yes;
    }
    all.forget_order();  // Those that are stopped end as they come.
    if (course.decides != contest_course::rule::all) co_await stop_all_op(all);
  }));
  join_seat* const panicked = panicked_in(all, course.decided);
  if (panicked != nullptr) course.decided = panicked;
  const bool is_an_answer = how.is_ok() && course.decides != contest_course::rule::enough;
  if (panicked != nullptr && !is_an_answer) {
    task_outcome said;
    static_cast<void>(all.home().result(panicked->task, said));
    co_await end_as_panic(said.panic());
  }
  if (how.is_panicked()) co_await end_as_panic(how.panic());
  if (!how.is_ok()) co_await end_as(ending_of(how));
}

}  // namespace asx::detail
