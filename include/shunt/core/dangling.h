// Kernels of operators that nobody defined: m.impl("sclae", ...) registers one for a misspelt name, and no call finds
// it. Kernels may be registered before their operator is defined, so this is no error. With SHUNT_LOG=debug a log line
// at the end of the program names them. Any thread.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/core/operator_name.h>

#include <string>
#include <vector>

namespace shunt {

/// A kernel of an operator that nobody defined, and where it was registered: "my_ops.cpp:12".
struct DanglingImpl {
  OperatorName op;
  DispatchKey key;
  std::string place;
};

/// One entry a kernel, by operator and key, newest first: of the operators that Dispatcher::findDanglingImpls returns.
SHUNT_API std::vector<DanglingImpl> danglingImpls();
/// The same as text, one line a kernel, with the operators whose names are near: "my::sclae  CPU at my_ops.cpp:12; did
/// you mean 'my::scale'?" Empty without any.
SHUNT_API std::string dumpDanglingImpls();

}  // namespace shunt
