// Computing in pieces: what one task computes is forked and joined on all workers, and comes out the same to the last
// bit, however many they are.
#include <algorithm>
#include <asx/asx.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

using namespace asx;

// cut: pieces
double mean_root(pieces& p, const std::vector<double>& of) {
  const double sum = p.reduce(of.size(), 1'000, 0.0, [&](std::size_t i) { return std::sqrt(of[i]); }, std::plus<>());
  return sum / static_cast<double>(of.size());
}

void sort(pieces& p, double* first, double* last) {
  if (last - first < 2'000) return std::sort(first, last);
  double* const middle = first + (last - first) / 2;
  std::nth_element(first, middle, last);                    // What is smaller lies before it, what is greater behind.
  p.both([=](pieces& here) { sort(here, first, middle); },  // Each piece forks by the `pieces` that it was handed.
         [=](pieces& there) { sort(there, middle, last); });
}

task<double> measure(cx c, std::vector<double> samples) {
  const double mean = parallel(c, [&](pieces& p) {
    sort(p, samples.data(), samples.data() + samples.size());
    return mean_root(p, samples);
  });
  co_await checkpoint();  // Whoever cancelled meanwhile is heard here.
  std::printf("from %.3f to %.3f, mean root %.9f\n", samples.front(), samples.back(), mean);
  co_return mean;
}
// end: pieces

// cut: main
double on_workers(std::uint32_t workers) {
  std::vector<double> samples(200'000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i * 7'919 % 200'003) / 8;
  threaded_runtime rt({.workers = workers});
  const auto out = run_in(*rt, measure, std::move(samples));
  return out.result.is_ok() ? out.result.value() : 0;
}

int main() {
  const bool is_same = on_workers(1) == on_workers(4);
  std::printf("to the last bit: %s\n", is_same ? "the same" : "another");
  return is_same ? 0 : 1;
}
// end: main
