// NewArguments: in what calls differ whose arguments no call before had. For explain() of functions whose arguments
// hardly ever come again, so that no graph pays. Behind a mutex of its owner's.
#pragma once

#include <shunt/compile/compile.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shunt::compiled {

class NewArguments {
 public:
  /// A call with such arguments, compared with the last one that was noted.
  void note(const detail::CompileArguments& arguments, const CompileOptions& options);
  /// For people: what differed most often, and what to do about it; empty where fewer than three calls were noted, or
  /// nothing differed in most of them.
  std::string explain() const;

 private:
  enum class Part : uint8_t { kNumber, kScalar, kCapture, kSizes, kKind };
  struct Place {
    Part part;
    size_t index;
    uint64_t value;      // in the last call
    uint64_t times = 0;  // that it was another one than in the call before
  };
  std::string describe(const Place& place) const;
  std::string nameOfNumber(size_t index) const;

  std::vector<Place> places_;
  const std::type_info* types_ = nullptr;
  uint64_t calls_ = 0;  // of these types
};

}  // namespace shunt::compiled
