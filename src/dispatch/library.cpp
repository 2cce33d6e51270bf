#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/errors.h"
#include "src/dispatch/unknown_operator.h"

#include <shunt/core/library.h>

namespace shunt {

namespace {

/// What `parse` returns. A block at static initialisation has nobody who catches its errors: they name its place.
template <class Parse>
auto parsedAt(const char* what, const std::source_location& where, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& e) {
    throw Error(detail::str(e.what(), "\n  in ", what, "() at ", placeOf(where)), e.where());
  }
}

}  // namespace

Library::Library(Kind kind, std::string ns, std::optional<DispatchKey> key, std::source_location where)
    : kind_(kind), ns_(std::move(ns)), key_(key), where_(where) {
  SHUNT_CHECK(ns_ != "_" || kind_ == Kind::kImpl,
              "the namespace _ is the wildcard of SHUNT_LIBRARY_IMPL blocks; definitions need a namespace (",
              placeOf(where), ")");
  SHUNT_CHECK(!ns_.empty(), "a Library needs a namespace, and its name is empty (", placeOf(where), ")");
  if (kind_ == Kind::kDef) handles_.push_back(Dispatcher::singleton().registerLibrary(ns_, where));
}

OperatorName Library::qualified(OperatorName name, const char* what) const {
  SHUNT_CHECK(!ns_.empty(), what, "(", name, "): this Library (", placeOf(where_),
              ") was moved from: call the one that it was moved to");
  if (ns_ == "_") {
    SHUNT_CHECK(name.getNamespace().has_value(), what, "(", name,
                "): in a block for the wildcard namespace _ the operator's namespace has to be given (",
                placeOf(where_), ")");
    return name;
  }
  if (const auto ns = name.getNamespace())
    SHUNT_CHECK(*ns == ns_, what, "(", name, "): the namespace ", *ns, " does not match the block's namespace ", ns_,
                " (", placeOf(where_), ")");
  name.setNamespaceIfNotSet(ns_);
  return name;
}

Library& Library::def(std::string_view text, std::source_location where) {
  FunctionSchema schema = parsedAt("def", where, [&] { return parseSchema(text); });
  schema.setAliasAnalysis(AliasAnalysisKind::FROM_SCHEMA);
  return def(std::move(schema), where);
}

Library& Library::def(FunctionSchema schema, std::source_location where) {
  SHUNT_CHECK(kind_ != Kind::kImpl, "def(\"", schema,
              "\"): operators are defined in SHUNT_LIBRARY or SHUNT_LIBRARY_FRAGMENT blocks, not in ",
              "SHUNT_LIBRARY_IMPL (", placeOf(where_), ")");
  schema = schema.cloneWithName(qualified(schema.operator_name(), "def"));
  handles_.push_back(Dispatcher::singleton().registerDef(std::move(schema), where));
  return *this;
}

Library& Library::def(std::string_view text, CppFunction f, std::source_location where) {
  SHUNT_CHECK(kind_ != Kind::kImpl, "def(\"", text,
              "\"): operators are defined in SHUNT_LIBRARY or SHUNT_LIBRARY_FRAGMENT blocks (", placeOf(where_), ")");
  auto parsed = parsedAt("def", where, [&] { return parseSchemaOrName(text); });
  const bool named_only = std::holds_alternative<OperatorName>(parsed);
  const OperatorName name =
      qualified(named_only ? std::get<OperatorName>(parsed) : std::get<FunctionSchema>(parsed).operator_name(), "def");
  const KernelFunction& kernel = f.kernel();
  SHUNT_CHECK(!named_only || kernel.signature != nullptr, "def(\"", text,
              "\"): the schema of a boxed kernel cannot be inferred; give it in full (", placeOf(where), ")");
  FunctionSchema schema =
      named_only ? inferSchema(name, *kernel.signature) : std::get<FunctionSchema>(parsed).cloneWithName(name);
  const KernelForKey with{f.dispatch_key().value_or(DispatchKey::CompositeImplicitAutograd), kernel};
  auto made = Dispatcher::singleton().registerDef(std::move(schema), {&with, 1}, where);
  handles_.insert(handles_.end(), std::move_iterator(made.begin()), std::move_iterator(made.end()));
  return *this;
}

Library& Library::impl(std::string_view text, CppFunction f, std::source_location where) {
  const OperatorName name = qualified(parsedAt("impl", where, [&] { return parseName(text); }), "impl");
  SHUNT_CHECK(!(key_ && f.dispatch_key() && *key_ != *f.dispatch_key()), "impl(\"", text, "\"): the kernel is for ",
              *f.dispatch_key(), ", but the block is for ", *key_, " (", placeOf(where_), ")");
  const DispatchKey key = f.dispatch_key().value_or(key_.value_or(DispatchKey::CompositeImplicitAutograd));
  handles_.push_back(Dispatcher::singleton().registerImpl(name, key, f.kernel(), where));
  return *this;
}

Library::ElementwiseForms Library::elementwiseForms(std::string_view text) const {
  const OperatorName name = qualified(parsedAt("elementwise", where_, [&] { return parseName(text); }), "elementwise");
  const Dispatcher& dispatcher = Dispatcher::singleton();
  SHUNT_CHECK(dispatcher.findSchema(name).has_value(), "elementwise(\"", text, "\"): the operator ", name,
              " is not defined yet, so its forms are not known; define it first", nearOperators(name), " (",
              placeOf(where_), ")");
  const auto ifDefined = [&](const OperatorName& form) {
    return dispatcher.findSchema(form) ? form.str() : std::string();
  };
  const std::string& overload = name.overload_name;
  return {std::string(name.baseName()), ifDefined({name.name + "_", overload}),
          ifDefined({name.name, overload.empty() ? "out" : overload + "_out"})};
}

Library& Library::fallback(CppFunction f, std::source_location where) {
  SHUNT_CHECK(!ns_.empty(), "fallback: this Library (", placeOf(where_),
              ") was moved from: call the one that it was moved to");
  SHUNT_CHECK(ns_ == "_",
              "fallback: a fallback serves operators of every namespace, so its block is SHUNT_LIBRARY_IMPL(_, KEY, "
              "m), not for ",
              ns_, " (", placeOf(where_), ")");
  const auto key = f.dispatch_key() ? f.dispatch_key() : key_;
  SHUNT_CHECK(key.has_value(), "fallback: which key is it for? (", placeOf(where), ")");
  handles_.push_back(Dispatcher::singleton().registerFallback(*key, f.kernel(), where));
  return *this;
}

void Library::reset() {
  if (handles_.empty()) return;
  while (!handles_.empty()) handles_.pop_back();
  // Functors that no call uses go now, while their destructors' code is loaded for sure; also those that another
  // thread, such as the compiler's, has taken to delete.
  Dispatcher::singleton().reclaim();
  Dispatcher::Impl::waitUntilFreed();
}

void Library::drain() {
  SHUNT_CHECK(detail::threadFrames().depth() == 0,
              "Library::drain: this thread is inside a call of its own, which may be one that it ",
              "would wait for; drain when the call has returned");
  auto& impl = Dispatcher::singleton().implForHandles();
  {
    MutexLock lock(impl.mutex);
    SHUNT_CHECK(impl.batch_thread != std::this_thread::get_id(),
                "Library::drain: inside a Dispatcher::Batch nothing is taken back yet");
  }
  reset();
  impl.drain();
}

}  // namespace shunt
