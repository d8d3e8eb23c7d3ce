// asx/chan/testing/bomb.hpp - a message whose moves throw, when a fuse says so.
//
// Cancel points: none. Threads: one. Lifetime: the fuse outlives its values.
#pragma once

#include <stdexcept>

namespace asx::testing {

/// How many moves still succeed, whose they are, and how many values are alive.
struct fuse {
  static constexpr int none = 1000;
  int left = none;
  int only = 0;  // The value with this number; 0: all.
  int alive = 0;
};

class bomb {
 public:
  bomb(int number, fuse& f) noexcept : number_(number), fuse_(&f) { ++f.alive; }
  bomb(bomb&& from) : number_(from.number_), fuse_(from.fuse_) {
    const bool counts = fuse_->left != fuse::none && (fuse_->only == 0 || fuse_->only == number_);
    if (counts && fuse_->left-- == 0) throw std::runtime_error("the move fails");
    ++fuse_->alive;
    from.number_ = -1;
  }
  bomb& operator=(bomb&&) = delete;
  ~bomb() { --fuse_->alive; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
  fuse* fuse_;
};

}  // namespace asx::testing
