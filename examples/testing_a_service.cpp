#include <asx/lab/lab.hpp>
#include <cstdio>
#include <stdexcept>

#include "order_service.hpp"

using namespace asx;

// cut: body
lab_body a_day(bool is_careless) {  // Called for each run: whatever a run changes is made within.
  return [is_careless](cx c) -> task<> {
    order_service::day today;
    today.is_careless = is_careless;
    const int items = today.stock;
    co_await order_service::whole_day(c, today);
    if (today.sold + today.stock != items) throw std::logic_error("an item is lost");  // Its own law.
  };
}
// end: body

void tell(const char* what, const lab_result& r) {
  std::printf("%-22s %s", what, r.is_ok ? "nothing found" : r.finding.substr(0, r.finding.find('\n')).c_str());
  if (r.is_ok) {
    std::printf(" in %llu runs\n", static_cast<unsigned long long>(r.runs));
  } else {
    std::printf(", token %s\n", r.token.c_str());
  }
}

// cut: main
int main() {
  tell("50 schedules:", explore({.seeds = 50}, a_day(false)));
  tell("anybody cancelled:", sweep({}, lab_fault::cancel, a_day(false)));
  tell("anything refused:", sweep({}, lab_fault::admission, a_day(false)));
  tell("anybody out of polls:", sweep({}, lab_fault::polls, a_day(false)));
  tell("out of memory:", sweep({}, lab_fault::memory, a_day(false)));
  tell("the careless one:", explore({.seeds = 50}, a_day(true)));
  tell("the same, cancelled:", sweep({}, lab_fault::cancel, a_day(true)));
}
// end: main
