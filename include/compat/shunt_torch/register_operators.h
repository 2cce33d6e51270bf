// RegisterOperators: PyTorch's older way to register operators, by chained calls. An object owns its registrations and
// takes them back when it is destroyed.
//
//   static auto registry = RegisterOperators()
//       .op("my::op(Tensor a) -> Tensor", RegisterOperators::options().kernel<MyKernel>(DispatchKey::CPU));
//
// Threads must not use one object at the same time. Errors in schemas and kernels throw from op().
#pragma once

#include <iterator>

#include <shunt/core/library.h>

#include <shunt_torch/schema.h>

namespace shunt {

class RegisterOperators {
 public:
  class Options;
  static Options options();

  RegisterOperators() = default;
  RegisterOperators(RegisterOperators&&) = default;
  RegisterOperators& operator=(RegisterOperators&&) = default;
  template <class... Args>
    requires(sizeof...(Args) > 0 &&
             std::is_constructible_v<std::string, const std::decay_t<std::tuple_element_t<0, std::tuple<Args...>>>&>)
  explicit RegisterOperators(Args&&... args) {
    std::move(*this).op(std::forward<Args>(args)...);
  }

  /// Registers an operator. The first form needs options.schema(). For a name alone, the schema is inferred from a
  /// kernel.
  RegisterOperators&& op(Options&& options, std::source_location where = std::source_location::current()) &&;
  RegisterOperators&& op(const std::string& schema_or_name, Options&& options,
                         std::source_location where = std::source_location::current()) &&;
  RegisterOperators&& op(const std::string& schema, std::source_location where = std::source_location::current()) &&;
  /// `f`, a function pointer or lambda, is the kernel of every backend.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Options> &&
             !std::is_same_v<std::remove_cvref_t<F>, std::source_location>)
  RegisterOperators&& op(const std::string& schema_or_name, F&& f,
                         std::source_location where = std::source_location::current()) &&;

 private:
  void add(FunctionSchema schema, const Options& options, std::source_location where);
  std::vector<RegistrationHandle> handles_;
};

/// The schema and kernels that one call of op() registers.
class RegisterOperators::Options {
 public:
  Options&& schema(const std::string& schema_or_name) && {
    SHUNT_CHECK(!schema_, "Tried to register operator ", schema_or_name,
                " but specified schema multiple times. You can only specify the schema once per operator "
                "registration.");
    schema_ = parseSchemaOrName(schema_or_name);
    return std::move(*this);
  }
  // A kernel class that derives from OperatorKernel, constructed with these arguments.
  template <class Functor, class... Args>
    requires std::is_base_of_v<OperatorKernel, Functor>
  Options&& kernel(DispatchKey key, Args&&... args) && {
    return std::move(*this).add(key, userFunctor<Functor>(std::forward<Args>(args)...));
  }
  template <class Functor, class... Args>
    requires std::is_base_of_v<OperatorKernel, Functor>
  Options&& catchAllKernel(Args&&... args) && {
    return std::move(*this).add(std::nullopt, userFunctor<Functor>(std::forward<Args>(args)...));
  }
  // A function known at compile time.
  template <class Signature, Signature* fn>
  Options&& kernel(DispatchKey key) && {
    return std::move(*this).add(key, KernelFunction::fromFunction<fn>());
  }
  template <class Signature, Signature* fn>
  Options&& catchAllKernel() && {
    return std::move(*this).add(std::nullopt, KernelFunction::fromFunction<fn>());
  }
  // A boxed function.
  template <auto fn>
  Options&& kernel(DispatchKey key) && {
    return std::move(*this).add(key, KernelFunction::fromBoxed(fn));
  }
  template <auto fn>
  Options&& catchAllKernel() && {
    return std::move(*this).add(std::nullopt, KernelFunction::fromBoxed(fn));
  }
  // A lambda.
  template <class Lambda>
  Options&& kernel(DispatchKey key, Lambda&& f) && {
    return std::move(*this).add(key, KernelFunction::fromFunctor(std::decay_t<Lambda>(std::forward<Lambda>(f))));
  }
  template <class Lambda>
  Options&& catchAllKernel(Lambda&& f) && {
    return std::move(*this).add(std::nullopt,
                                KernelFunction::fromFunctor(std::decay_t<Lambda>(std::forward<Lambda>(f))));
  }

 private:
  friend class RegisterOperators;
  struct Kernel {
    std::optional<DispatchKey> key;  // empty: every backend
    KernelFunction function;
  };
  template <class Functor, class... Args>
  static KernelFunction userFunctor(Args&&... args) {
    return KernelFunction::fromUserFunctor<Functor>(std::make_unique<Functor>(std::forward<Args>(args)...));
  }
  Options&& add(std::optional<DispatchKey> key, KernelFunction function) && {
    kernels_.push_back({key, std::move(function)});
    return std::move(*this);
  }
  void checkKeysAreDistinct(const OperatorName& name) const;
  FunctionSchema inferSchema(const OperatorName& name) const;
  void checkKernelsFit(const FunctionSchema& schema) const;

  std::optional<std::variant<OperatorName, FunctionSchema>> schema_;
  std::vector<Kernel> kernels_;
};

inline RegisterOperators::Options RegisterOperators::options() { return {}; }

inline void RegisterOperators::Options::checkKeysAreDistinct(const OperatorName& name) const {
  for (size_t i = 0; i < kernels_.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (kernels_[i].key != kernels_[j].key) continue;
      SHUNT_CHECK(kernels_[i].key,
                  "In operator registration: Tried to register multiple catch-all kernels for operator schema ", name);
      SHUNT_CHECK(false, "In operator registration: Tried to register multiple kernels with same dispatch key ",
                  *kernels_[i].key, " for operator schema ", name);
    }
}

inline FunctionSchema RegisterOperators::Options::inferSchema(const OperatorName& name) const {
  SHUNT_CHECK(!kernels_.empty(), "Cannot infer operator schema in registration of operator ", name,
              " because there is no kernel specified.");
  for (const Kernel& k : kernels_)
    if (k.function.signature != nullptr) return inferFunctionSchema(name, *k.function.signature);
  throw Error(detail::str("Cannot infer operator schema for this kind of kernel in registration of operator ", name,
                          ". Please explicitly specify the operator schema or specify at least one kernel for which "
                          "we can infer the schema."));
}

inline void RegisterOperators::Options::checkKernelsFit(const FunctionSchema& schema) const {
  const CppSignature* first = nullptr;  // each kernel is compared with it before the schema, as in PyTorch
  for (const Kernel& k : kernels_) {
    const CppSignature* const signature = k.function.signature;
    if (signature == nullptr) continue;
    if (first == nullptr) first = signature;
    SHUNT_CHECK(*signature == *first, "Mismatch in kernel C++ signatures of operator ", schema.operator_name(), ": ",
                first->str(), " and ", signature->str());
    const FunctionSchema inferred = inferFunctionSchema(schema.operator_name(), *signature);
    // C++ lists have any length, so a schema's fixed sizes don't count.
    const auto with_sizes = [](std::vector<Argument> of, const std::vector<Argument>& from) {
      for (size_t i = 0; i < std::min(of.size(), from.size()); ++i)
        if (of[i].type.list && !of[i].type.fixed_size) of[i].type.fixed_size = from[i].type.fixed_size;
      return of;
    };
    const FunctionSchema sized(schema.operator_name(), with_sizes(inferred.arguments(), schema.arguments()),
                               with_sizes(inferred.returns(), schema.returns()));
    if (const auto difference = findSchemaDifferences(schema, sized))
      throw Error(detail::str("In operator registration: the kernel's C++ signature doesn't match the schema of ",
                              schema.operator_name(), ". ", *difference, "\n  schema:    ", schema,
                              "\n  signature: ", signature->str()));
  }
}

inline void RegisterOperators::add(FunctionSchema schema, const Options& options, std::source_location where) {
  options.checkKeysAreDistinct(schema.operator_name());
  options.checkKernelsFit(schema);
  std::vector<KernelForKey> kernels;
  for (const Options::Kernel& k : options.kernels_)
    kernels.push_back({k.key.value_or(DispatchKey::CompositeImplicitAutograd), k.function});
  auto made = Dispatcher::singleton().registerDef(std::move(schema), kernels, where);
  handles_.insert(handles_.end(), std::move_iterator(made.begin()), std::move_iterator(made.end()));
}

inline RegisterOperators&& RegisterOperators::op(Options&& options, std::source_location where) && {
  SHUNT_CHECK(options.schema_.has_value(),
              "In operator registration: Tried to register an operator without specifying a schema or operator name.");
  if (const auto* name = std::get_if<OperatorName>(&*options.schema_))
    add(options.inferSchema(*name), options, where);
  else
    add(std::get<FunctionSchema>(*options.schema_), options, where);
  return std::move(*this);
}
inline RegisterOperators&& RegisterOperators::op(const std::string& schema_or_name, Options&& options,
                                                 std::source_location where) && {
  return std::move(*this).op(std::move(options).schema(schema_or_name), where);
}
inline RegisterOperators&& RegisterOperators::op(const std::string& schema, std::source_location where) && {
  return std::move(*this).op(schema, options(), where);
}
template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, RegisterOperators::Options> &&
           !std::is_same_v<std::remove_cvref_t<F>, std::source_location>)
RegisterOperators&& RegisterOperators::op(const std::string& schema_or_name, F&& f, std::source_location where) && {
  return std::move(*this).op(schema_or_name, options().catchAllKernel(std::forward<F>(f)), where);
}

}  // namespace shunt
