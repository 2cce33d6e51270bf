#include <shunt/core/by_name.h>

#include <shunt/core/error.h>
#include <shunt/core/near_names.h>

namespace shunt {

std::vector<std::string> detail::dtypeNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kNumScalarTypes; ++i)
    if (const auto t = static_cast<ScalarType>(i); isSupportedType(t)) names.emplace_back(dtypeName(t));
  return names;
}

DispatchKey dispatchKeyNamed(std::string_view name) {
  if (const auto key = parseDispatchKey(name)) return *key;
  const std::string near = detail::didYouMean(name, detail::dispatchKeyNames());
  throw Error(detail::str("could not parse dispatch key: '", name, "'",
                          near.empty() ? "; expected a name such as 'CPU', 'CUDA', 'Meta', 'Autograd', 'AutogradCPU', "
                                         "'CompositeImplicitAutograd' or 'CompositeExplicitAutograd'"
                                       : near));
}

ScalarType dtypeNamed(std::string_view name) {
  for (int i = 0; i < kNumScalarTypes; ++i)
    if (const auto t = static_cast<ScalarType>(i); isSupportedType(t) && name == dtypeName(t)) return t;
  throw Error(detail::str("unknown dtype '", name, "'", detail::didYouMean(name, detail::dtypeNames())));
}

}  // namespace shunt
