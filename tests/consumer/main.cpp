// A foreign program: it uses a template, a constant and a function that is compiled into the library.
#include <asx/asx.hpp>
#include <cstdio>

int main() {
  asx::slab<int> numbers(2);
  const auto first = numbers.allocate(41);
  asx::digest_stream digest;
  digest.add(static_cast<unsigned long long>(*first.record + 1));
  const auto joined = asx::join(asx::outcome<int>::ok(*first.record), asx::outcome<int>::err({asx::status::full, 0}));
  std::printf("%s %s\n", asx::name(joined.kind()).data(), asx::name(joined.error().code).data());
  return joined.is_err() && digest.value() != asx::digest128{} ? 0 : 1;
}
