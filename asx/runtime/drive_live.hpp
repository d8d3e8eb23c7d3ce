// asx/runtime/drive_live.hpp - a runtime on the machine's own clock, on one thread.
//
//     asx::live_runtime rt;                             // time moves by itself; waiting parks the thread
//     rt->kernel().spawn(...);
//     rt->run_until_quiescent();
//
// Laws: as runtime.hpp. Whatever config.clock says, the steady clock is used.
// Cancel points: none. Threads: one. Lifetime: as runtime.hpp.
#pragma once

#include "asx/runtime/port_clock.hpp"
#include "asx/runtime/runtime.hpp"

namespace asx {

class live_runtime {
 public:
  explicit live_runtime(const runtime_config& config = {}) noexcept : runtime_(on(clock_, config)) {}

  [[nodiscard]] runtime& operator*() noexcept { return runtime_; }
  [[nodiscard]] runtime* operator->() noexcept { return &runtime_; }

 private:
  static runtime_config on(steady_clock& clock, runtime_config config) noexcept {
    config.clock = clock.port();
    return config;
  }

  steady_clock clock_;  // Outlives the runtime that reads it.
  runtime runtime_;
};

}  // namespace asx
