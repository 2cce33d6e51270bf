#include "jit/bitcode/extract.h"

#include "jit/bitcode/binding.h"
#include "jit/bitcode/source_unit.h"
#include "jit/emit/fatal_errors.h"
#include "jit/emit/host_target.h"

#include <llvm/Demangle/Demangle.h>

#include <map>

namespace shunt::jit {
namespace {

using FunctionSet = llvm::SmallSetVector<llvm::Function*, 8>;

bool hasBody(const llvm::Function* function) { return function != nullptr && !function->isDeclaration(); }

}  // namespace

class Extraction::State {
 public:
  State(const Library& library, const HostSymbols& host)
      : library_(library), binding_(library, host), module_("shunt_thunk", context_) {
    HostTarget::instance().prepare(module_);
    module_.setPICLevel(llvm::PICLevel::BigPIC);
    reportErrorsAsFatal(context_);
  }

  llvm::LLVMContext& context() { return context_; }
  llvm::Module& module() { return module_; }
  Binding& binding() { return binding_; }
  llvm::Expected<llvm::Function*> import(llvm::StringRef name);

 private:
  struct Closure {
    FunctionSet needed;    // the root, and what has no symbol
    FunctionSet optional;  // inline functions that may come as well
  };
  llvm::Expected<SourceUnit*> unitFor(llvm::StringRef name);
  llvm::Error addReferences(SourceUnit& unit, llvm::Function& function, Closure& closure);
  llvm::Error close(SourceUnit& unit, llvm::Function& root, Closure& closure);

  const Library& library_;
  Binding binding_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  std::map<uint32_t, std::unique_ptr<SourceUnit>> units_;
};

// One that is loaded already, where there is a choice.
llvm::Expected<SourceUnit*> Extraction::State::unitFor(llvm::StringRef name) {
  const llvm::ArrayRef<uint32_t> numbers = library_.unitsOf(name);
  if (numbers.empty()) return llvm::createStringError("there is no bitcode of it");
  for (uint32_t number : numbers) {
    if (const auto loaded = units_.find(number); loaded != units_.end()) return loaded->second.get();
  }
  auto unit = SourceUnit::open(library_.unit(numbers[0]), numbers[0], module_, binding_);
  if (!unit) return unit.takeError();
  return (units_[numbers[0]] = std::move(*unit)).get();
}

llvm::Error Extraction::State::addReferences(SourceUnit& unit, llvm::Function& function, Closure& closure) {
  llvm::Expected<const References*> references = unit.references(function);
  if (!references) return references.takeError();
  std::string why;
  if ((*references)->takes_label) return llvm::createStringError("it takes the address of a label");
  for (const llvm::GlobalValue* value : (*references)->addresses) {
    if (binding_.address(*value, &why) == Binding::Address::kRefused) return llvm::createStringError(why);
  }
  for (llvm::GlobalValue* callee : (*references)->callees) {
    const Binding::Call call = binding_.call(*callee, &why);
    if (call == Binding::Call::kRefused) return llvm::createStringError(why);
    if (call == Binding::Call::kDeclare || unit.isHere(*callee)) continue;
    (call == Binding::Call::kBody ? closure.needed : closure.optional).insert(llvm::cast<llvm::Function>(callee));
  }
  return llvm::Error::success();
}

llvm::Error Extraction::State::close(SourceUnit& unit, llvm::Function& root, Closure& closure) {
  closure.needed.insert(&root);
  for (size_t i = 0; i < closure.needed.size(); ++i) {
    llvm::Function& next = *closure.needed[i];
    if (llvm::Error error = addReferences(unit, next, closure)) {
      if (&next == &root) return error;
      return llvm::createStringError("%s: %s", llvm::demangle(next.getName().str()).c_str(),
                                     llvm::toString(std::move(error)).c_str());
    }
  }
  return llvm::Error::success();
}

llvm::Expected<llvm::Function*> Extraction::State::import(llvm::StringRef name) {
  if (llvm::Function* known = module_.getFunction(name); hasBody(known)) return known;
  llvm::Expected<SourceUnit*> unit = unitFor(name);
  if (!unit) return unit.takeError();
  llvm::Function* root = (*unit)->find(name);
  if (root == nullptr) return llvm::createStringError("it is an alias, or not a function");
  Closure closure;
  if (llvm::Error error = close(**unit, *root, closure)) return std::move(error);
  for (llvm::Function* function : closure.needed) (*unit)->move(*function);
  FunctionSet optional = closure.optional;
  for (size_t i = 0; i < optional.size(); ++i) {
    if ((*unit)->isHere(*optional[i])) continue;
    Closure more;
    if (llvm::Error error = close(**unit, *optional[i], more)) {
      llvm::consumeError(std::move(error));  // it stays the host's
      continue;
    }
    for (llvm::Function* function : more.needed) (*unit)->move(*function);
    optional.insert(more.optional.begin(), more.optional.end());
  }
  return module_.getFunction(name);
}

Extraction::Extraction(const Library& library, const HostSymbols& host) : state_(std::make_unique<State>(library, host)) {}

Extraction::~Extraction() = default;

llvm::LLVMContext& Extraction::context() { return state_->context(); }

llvm::Module& Extraction::module() { return state_->module(); }

llvm::Expected<llvm::Function*> Extraction::import(llvm::StringRef name) {
  llvm::Expected<llvm::Function*> function = state_->import(name);
  if (function) return function;
  return llvm::createStringError("%s can't be inlined: %s", llvm::demangle(name.str()).c_str(),
                                 llvm::toString(function.takeError()).c_str());
}

std::vector<llvm::Function*> Extraction::declarations() {
  std::vector<llvm::Function*> found;
  for (llvm::Function& function : module()) {
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        !function.getName().starts_with(llvm::StringRef(kHostPrefix))) {
      found.push_back(&function);
    }
  }
  return found;
}

llvm::Constant* Extraction::hostAddress(llvm::StringRef name) {
  if (!state_->binding().hostHas(name)) return nullptr;
  const std::string host = state_->binding().hostName(name);
  if (llvm::GlobalValue* known = module().getNamedValue(host)) return known;
  return new llvm::GlobalVariable(module(), llvm::Type::getInt8Ty(context()), false, llvm::GlobalValue::ExternalLinkage,
                                  nullptr, host);
}

}  // namespace shunt::jit
