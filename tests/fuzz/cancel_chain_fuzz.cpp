// Chains of causes that are shared and cut by view agree with chains that are copied and cut for real.
#include <cstdlib>
#include <string>
#include <vector>

#include "asx/model/cause_store.hpp"
#include "tests/fuzz/input.hpp"

namespace {

struct copied_chain {
  std::vector<std::string> messages;  // Newest first; one a level.
  bool truncated = false;
};

void require(bool holds) {
  if (!holds) std::abort();
}

copied_chain extend(const copied_chain& behind, const std::string& message, asx::chain_limits limits) {
  copied_chain out{{message}, behind.truncated};
  const std::size_t room = limits.bytes_max > 88 ? limits.bytes_max - 88 : 0;
  if (message.size() > room) {
    out.messages[0].resize(room);
    out.truncated = true;
  }
  std::size_t bytes = 88 + out.messages[0].size();
  for (const std::string& level : behind.messages) {
    bytes += 88 + level.size();
    if (out.messages.size() >= limits.depth_max || bytes > limits.bytes_max) {
      out.truncated = true;
      break;
    }
    out.messages.push_back(level);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input in(data, size);
  asx::chain_limits limits;
  limits.depth_max = static_cast<std::uint16_t>(1 + in.byte() % 20);
  limits.bytes_max = static_cast<std::uint32_t>(in.number(2) % 5000);
  static asx::cause_store<64, 5000> store;  // Static for its size only; it is empty again at the end.
  std::vector<asx::cause_ref> kept;
  std::vector<copied_chain> model;
  while (!in.empty() && kept.size() < 60) {
    const std::uint8_t op = in.byte();
    const std::string message(in.number(2) % 4500, static_cast<char>('a' + op % 26));
    asx::cancel_reason reason;
    reason.message = message;
    copied_chain expected;
    if (kept.empty() || op % 5 == 0) {
      reason = asx::fit_head(reason, limits);
      expected = extend({}, message, limits);
    } else {
      const std::size_t behind = in.byte() % kept.size();  // Not always the newest: chains share their tails.
      reason = asx::with_cause(reason, kept[behind], store, limits);
      expected = extend(model[behind], message, limits);
    }
    std::size_t level = 0;
    asx::for_each_level(reason, store, [&](const asx::cancel_reason& l) {
      require(level < expected.messages.size() && l.message == expected.messages[level]);
      ++level;
    });
    require(level == expected.messages.size() && reason.levels == level && reason.truncated == expected.truncated);
    kept.push_back(store.keep(reason));
    model.push_back(expected);
    require(!kept.back().is_null());
  }
  for (const asx::cause_ref ref : kept) store.release(ref);
  require(store.live() == 0);
  return 0;
}
