// A day of a small shop on virtual time; the service itself is order_service.hpp.
#include "order_service.hpp"

#include <asx/coro/run.hpp>
#include <cstdio>

int main() {
  order_service::day today;
  asx::runtime rt;
  const auto how = asx::run_in(rt, order_service::whole_day, std::ref(today));
  for (const std::string& line : today.log) std::printf("%s\n", line.c_str());
  std::printf("\n%s", today.tree_at_closing.c_str());
  return how.is_ok() && rt.shutdown().is_quiescent() && today.sold + today.stock == 9 ? 0 : 1;
}
