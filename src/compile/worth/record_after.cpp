#include <shunt/compile/compile.h>
#include <shunt/core/environment.h>

namespace shunt {
namespace {

int recordAfterFromEnvironment() {
  const auto value = detail::environment::read(detail::environment::Variable::kCompileRecordAfter);
  return value.isWord("auto") ? CompileOptions::kWhenItPays : static_cast<int>(value.number);
}

}  // namespace

int default_record_after() {
  static const int calls = recordAfterFromEnvironment();
  return calls;
}

}  // namespace shunt
