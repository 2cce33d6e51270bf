// Lists kernels of operators that are not defined: m.impl("sclae", ...) registers one for a misspelt name, and no call
// finds it. This is no error, since a kernel may be registered before its operator is defined. With SHUNT_LOG=debug one
// log line at the program's end names the operators that were never defined. Any thread.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/core/operator_name.h>

#include <string>
#include <vector>

namespace shunt {

/// A kernel of an undefined operator.
struct DanglingImpl {
  OperatorName op;
  DispatchKey key;
  std::string place;  // of the registration: "my_ops.cpp:12"
};

/// One entry per kernel of the operators in Dispatcher::findDanglingImpls, by operator and key, the newest first.
SHUNT_API std::vector<DanglingImpl> danglingImpls();
/// danglingImpls() as text, one line per kernel, with similar operator names:
/// "my::sclae  CPU at my_ops.cpp:12; did you mean 'my::scale'?"
SHUNT_API std::string dumpDanglingImpls();

}  // namespace shunt
