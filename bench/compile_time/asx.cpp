#include <asx/asx.hpp>

int main() {
  // Ten lines that use what they include.
  asx::outcome<int> all;
  for (int child = 0; child < 3; ++child) {
    all = asx::join(all, asx::outcome<int>::ok(child));
  }
  return all.value();
}
