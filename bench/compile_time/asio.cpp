#include <utility>  // Boost 1.74 forgets it; its cost beside the rest is nothing.

#include <boost/asio.hpp>

int main() {
  // Ten lines that use what they include.
  boost::asio::io_context context;
  int all = 0;
  for (int child = 0; child < 3; ++child) boost::asio::post(context, [&all, child] { all += child; });
  context.run();
  return all == 3 ? 0 : 1;
}
