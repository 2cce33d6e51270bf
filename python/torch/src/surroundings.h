// Surroundings: modes and settings of PyTorch, of this thread and of the process, under which a call computes what it
// computes.
#pragma once

#include <c10/core/DispatchKeySet.h>

#include <array>
#include <cstdint>
#include <string>

namespace shunt_torch {

class Surroundings {
 public:
  static Surroundings now();
  bool operator==(const Surroundings&) const = default;
  /// Why nothing can be recorded or replayed here: an active mode, say. Empty where it can.
  std::string refusal() const;
  /// The first that differs: "grad mode: expected true, got false".
  std::string difference(const Surroundings& got) const;

 private:
  static constexpr size_t kSettings = 27;
  static const std::array<const char*, kSettings> kNames;
  c10::DispatchKeySet included_, excluded_;
  std::array<int64_t, kSettings> settings_{};
};

}  // namespace shunt_torch
