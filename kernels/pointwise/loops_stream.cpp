// streamCopy of one instruction set (stream.h).
#include <cstddef>
#include <cstdint>

namespace shunt::elementwise::SHUNT_ISA_NAMESPACE {

namespace {

constexpr int64_t kLine = 64;
using Line = char __attribute__((ext_vector_type(kLine)));
using UnalignedLine [[gnu::aligned(1), gnu::may_alias]] = Line;

void copy(std::byte* to, const std::byte* from, int64_t nbytes) {
  const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % kLine);
  int64_t i = before < nbytes ? before : nbytes;
  if (i != 0) [[unlikely]]
    __builtin_memcpy(to, from, static_cast<size_t>(i));
  for (; i + kLine <= nbytes; i += kLine)
    __builtin_nontemporal_store(*reinterpret_cast<const UnalignedLine*>(from + i), reinterpret_cast<Line*>(to + i));
  if (i != nbytes) [[unlikely]]
    __builtin_memcpy(to + i, from + i, static_cast<size_t>(nbytes - i));
}

}  // namespace

using StreamCopyFn = void (*)(std::byte* to, const std::byte* from, int64_t nbytes);
extern const StreamCopyFn kStreamCopy;
constinit const StreamCopyFn kStreamCopy = &copy;

}  // namespace shunt::elementwise::SHUNT_ISA_NAMESPACE
