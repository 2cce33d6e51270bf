// The cache of casts that autocast keeps for a thread, put aside: what runs meanwhile neither finds these nor leaves
// any.
#pragma once

#include <memory>

namespace shunt::autocast {

/// For one thread; nests.
class CastCacheAside {
 public:
  CastCacheAside();
  ~CastCacheAside();
  CastCacheAside(const CastCacheAside&) = delete;
  CastCacheAside& operator=(const CastCacheAside&) = delete;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace shunt::autocast
