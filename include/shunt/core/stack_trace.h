// Where the calling thread is in the program: its frames, with the functions' names and, where known, source lines. For
// dispatch modes that report who called an operator, and for a program's own error reports.
//
//   void handle(const OperatorHandle& op, Stack* stack) override {
//     if (op.operator_name().str() == "aten::mm") std::cout << shunt::stackTrace();
//     op.callBoxed(stack);
//   }
//
// Names come from the symbol tables of the program and its libraries, also those of static functions where a file isn't
// stripped. Lines come from debug information (-g), read by llvm-symbolizer or addr2line, whichever is found on PATH
// first: the tool is run once for all frames (addr2line once for each file), without a shell and without access to the
// network. Without a tool, or if it fails, frames have no lines. Code that was made at run time has neither.
//
// Any thread; results are the caller's. Costs some milliseconds, and some tenths of a second where a tool reads much
// debug information: for reports, not for each call.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shunt {

/// One call on the stack.
struct StackFrame {
  std::string function;  // demangled; empty: unknown
  std::string file;      // the source's; empty: unknown
  int line = 0;          // 0: unknown
  std::string object;    // path of the program or library; empty: code that was made at run time
  uint64_t address = 0;  // in that file, as addr2line takes it; in memory where there is no file

  /// "f(int) at dir/file.cpp:12", "f(int) in dir/program+0x4f1f", or "? in ..."; without an object "? at 0x7f..."
  SHUNT_API std::string str() const;
};

/// The frames from the caller of this function outwards, at most `most` of them. An inlined function has a frame of its
/// own where lines are known. `lines`: whether a tool may be run for source lines.
SHUNT_API std::vector<StackFrame> stackFrames(size_t most = 64, bool lines = true);

/// The same as text: a line "  #0 ..." for each frame.
SHUNT_API std::string stackTrace(size_t most = 64, bool lines = true);

}  // namespace shunt
