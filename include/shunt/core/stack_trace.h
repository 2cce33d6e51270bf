// The calling thread's stack trace: frames with function names and, where known, source lines. For dispatch modes that
// report an operator's callers, and for a program's error reports.
//
//   void handle(const OperatorHandle& op, Stack* stack) override {
//     if (op.operator_name().str() == "aten::mm") std::cout << shunt::stackTrace();
//     op.callBoxed(stack);
//   }
//
// - Names come from the symbol tables of the program and its libraries. Unless a file is stripped, static functions
//   have names too.
// - Lines come from debug information (-g). llvm-symbolizer reads it, or addr2line, whichever is found on PATH first.
//   The tool runs once for all frames (addr2line: once per file), without a shell and without network access.
// - Without a tool, or if it fails, frames have no lines. Code generated at run time has neither names nor lines.
// - It costs a few milliseconds, or some tenths of a second if a tool reads much debug information. Use it for reports,
//   not in every call.
//
// Any thread may call; the caller owns the results.
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
  std::string object;    // path of the program or library; empty: code generated at run time
  uint64_t address = 0;  // in that file, as addr2line takes it; in memory if there is no file

  /// "f(int) at dir/file.cpp:12", "f(int) in dir/program+0x4f1f", or "? in ..."; without an object "? at 0x7f..."
  SHUNT_API std::string str() const;
};

/// At most `most` frames, innermost (the caller of this function) first. Inlined functions have frames where lines are
/// known. `lines`: whether to run a tool for source lines.
SHUNT_API std::vector<StackFrame> stackFrames(size_t most = 64, bool lines = true);

/// The same as text, one line "  #0 ..." per frame.
SHUNT_API std::string stackTrace(size_t most = 64, bool lines = true);

}  // namespace shunt
