// The states the explorer has seen: an open-addressing table from 128-bit fingerprints to a number of paths.
// Two different states with one fingerprint would hide a path: with 10^7 states the chance is below 10^-24.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace shunt::world::model {

struct Fingerprint {
  uint64_t a, b;
};

inline Fingerprint fingerprint(const void* data, size_t size) {
  uint64_t a = 0x243f6a8885a308d3, b = 0x13198a2e03707344;
  const auto* p = static_cast<const unsigned char*>(data);
  for (; size != 0;) {
    const size_t n = size < 8 ? size : 8;
    uint64_t w = 0;
    std::memcpy(&w, p, n);
    a = (a ^ w) * 0x9e3779b97f4a7c15;
    a ^= a >> 32;
    b = (b + w) * 0xd6e8feb86659fd93;
    b ^= b >> 29;
    p += n;
    size -= n;
  }
  return {a, b | 1};  // b == 0 marks an empty place
}

class StateTable {
 public:
  static constexpr double kAbsent = -2, kOpen = -1;

  StateTable() { clear(); }
  void clear() {
    entries_.assign(1 << 16, {});
    size_ = 0;
  }
  size_t size() const { return size_; }

  double find(Fingerprint f) const {
    const Entry& e = entries_[place(f)];
    return e.key.b == 0 ? kAbsent : e.paths;
  }
  void set(Fingerprint f, double paths) {
    if (4 * size_ > 3 * entries_.size()) grow();
    Entry& e = entries_[place(f)];
    if (e.key.b == 0) ++size_;
    e = {f, paths};
  }

 private:
  struct Entry {
    Fingerprint key{0, 0};
    double paths = 0;
  };
  size_t place(Fingerprint f) const {
    const size_t mask = entries_.size() - 1;
    size_t i = f.a & mask;
    while (entries_[i].key.b != 0 && !(entries_[i].key.a == f.a && entries_[i].key.b == f.b)) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& e : old)
      if (e.key.b != 0) entries_[place(e.key)] = e;
  }

  std::vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace shunt::world::model
