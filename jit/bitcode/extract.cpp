#include "jit/bitcode/extract.h"

#include "jit/bitcode/source_cache.h"
#include "jit/bitcode/unit_copier.h"
#include "jit/host/host_target.h"

#include <llvm/Demangle/Demangle.h>

#include <map>

namespace shunt::jit {
namespace {

using FunctionSet = llvm::SmallSetVector<llvm::Function*, 8>;

// A call costs about as much as this many instructions are worth optimising.
constexpr size_t kSmallFunction = 60;

bool hasBody(const llvm::Function* function) { return function != nullptr && !function->isDeclaration(); }

}  // namespace

class Extraction::State {
 public:
  explicit State(SourceCache& sources) : sources_(sources), module_("shunt_thunk", sources.context()) {
    HostTarget::instance().prepare(module_);
    module_.setPICLevel(llvm::PICLevel::BigPIC);
  }

  llvm::LLVMContext& context() { return sources_.context(); }
  llvm::Module& module() { return module_; }
  SourceCache& sources() { return sources_; }
  llvm::Expected<llvm::Function*> import(llvm::StringRef name, Inline inlines);
  std::optional<size_t> sizeOf(llvm::StringRef name);

 private:
  struct Closure {
    FunctionSet needed;    // the root, and what has no symbol
    FunctionSet optional;  // inline functions that may come as well
  };
  llvm::Expected<UnitCopier*> copierFor(llvm::StringRef name);
  llvm::Error addReferences(UnitCopier& copier, llvm::Function& function, Closure& closure);
  llvm::Error close(UnitCopier& copier, llvm::Function& root, Closure& closure);
  static bool isLarge(SourceUnit& unit, llvm::Function& function);

  SourceCache& sources_;
  llvm::Module module_;
  std::map<const SourceUnit*, std::unique_ptr<UnitCopier>> copiers_;
};

llvm::Expected<UnitCopier*> Extraction::State::copierFor(llvm::StringRef name) {
  llvm::Expected<SourceUnit*> unit = sources_.unitFor(name);
  if (!unit) return unit.takeError();
  std::unique_ptr<UnitCopier>& copier = copiers_[*unit];
  if (!copier) copier = std::make_unique<UnitCopier>(**unit, module_);
  return copier.get();
}

llvm::Error Extraction::State::addReferences(UnitCopier& copier, llvm::Function& function, Closure& closure) {
  llvm::Expected<const References*> references = copier.unit().references(function);
  if (!references) return references.takeError();
  Binding& binding = copier.unit().binding();
  std::string why;
  if ((*references)->takes_label) return llvm::createStringError("it takes the address of a label");
  for (const llvm::GlobalValue* value : (*references)->addresses) {
    if (binding.address(*value, &why) == Binding::Address::kRefused) return llvm::createStringError(why);
  }
  for (llvm::GlobalValue* callee : (*references)->callees) {
    const Binding::Call call = binding.call(*callee, &why);
    if (call == Binding::Call::kRefused) return llvm::createStringError(why);
    if (call == Binding::Call::kDeclare || copier.isHere(*callee)) continue;
    (call == Binding::Call::kBody ? closure.needed : closure.optional).insert(llvm::cast<llvm::Function>(callee));
  }
  return llvm::Error::success();
}

llvm::Error Extraction::State::close(UnitCopier& copier, llvm::Function& root, Closure& closure) {
  closure.needed.insert(&root);
  for (size_t i = 0; i < closure.needed.size(); ++i) {
    llvm::Function& next = *closure.needed[i];
    if (llvm::Error error = addReferences(copier, next, closure)) {
      if (&next == &root) return error;
      return llvm::createStringError("%s: %s", llvm::demangle(next.getName().str()).c_str(),
                                     llvm::toString(std::move(error)).c_str());
    }
  }
  return llvm::Error::success();
}

bool Extraction::State::isLarge(SourceUnit& unit, llvm::Function& function) {
  if (function.hasFnAttribute(llvm::Attribute::AlwaysInline)) return false;
  llvm::Expected<const References*> references = unit.references(function);
  if (references) return (*references)->instructions > kSmallFunction;
  llvm::consumeError(references.takeError());
  return true;
}

std::optional<size_t> Extraction::State::sizeOf(llvm::StringRef name) {
  if (const llvm::Function* known = module_.getFunction(name); hasBody(known)) return known->getInstructionCount();
  llvm::Expected<UnitCopier*> copier = copierFor(name);
  if (!copier) {
    llvm::consumeError(copier.takeError());
    return std::nullopt;
  }
  Closure closure;
  llvm::Function* function = (*copier)->unit().find(QualifiedName::bare(name));
  if (function == nullptr) return std::nullopt;
  if (llvm::Error error = close(**copier, *function, closure)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  size_t size = 0;
  for (llvm::Function* needed : closure.needed)
    size += llvm::cantFail((*copier)->unit().references(*needed))->instructions;
  return size;
}

llvm::Expected<llvm::Function*> Extraction::State::import(llvm::StringRef name, Inline inlines) {
  if (llvm::Function* known = module_.getFunction(name); hasBody(known)) return known;
  llvm::Expected<UnitCopier*> copier = copierFor(name);
  if (!copier) return copier.takeError();
  SourceUnit& unit = (*copier)->unit();
  llvm::Function* root = unit.find(QualifiedName::bare(name));
  if (root == nullptr) return llvm::createStringError("it is an alias, or not a function");
  Closure closure;
  if (llvm::Error error = close(**copier, *root, closure)) return std::move(error);
  for (llvm::Function* function : closure.needed) (*copier)->copy(*function);
  FunctionSet optional = closure.optional;
  for (size_t i = 0; i < optional.size(); ++i) {
    if ((*copier)->isHere(*optional[i]) || (inlines == Inline::kSmall && isLarge(unit, *optional[i]))) continue;
    Closure more;
    if (llvm::Error error = close(**copier, *optional[i], more)) {
      llvm::consumeError(std::move(error));  // it stays the host's
      continue;
    }
    for (llvm::Function* function : more.needed) (*copier)->copy(*function);
    optional.insert(more.optional.begin(), more.optional.end());
  }
  return module_.getFunction(name);
}

Extraction::Extraction(SourceCache& sources) : state_(std::make_unique<State>(sources)) {}

Extraction::Extraction(const Library& library, const HostSymbols& host)
    : own_sources_(std::make_unique<SourceCache>(library, host)), state_(std::make_unique<State>(*own_sources_)) {}

Extraction::~Extraction() = default;

llvm::LLVMContext& Extraction::context() { return state_->context(); }

llvm::Module& Extraction::module() { return state_->module(); }

std::optional<size_t> Extraction::sizeOf(llvm::StringRef name) { return state_->sizeOf(name); }

llvm::Expected<llvm::Function*> Extraction::import(llvm::StringRef name, Inline inlines) {
  llvm::Expected<llvm::Function*> function = state_->import(name, inlines);
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

bool Extraction::has(llvm::StringRef name) const { return state_->sources().has(name); }

llvm::Constant* Extraction::hostAddress(llvm::StringRef name) {
  if (!HostSymbols::instance().address(std::string_view(name))) return nullptr;
  const std::string host = state_->sources().binding().hostName(name);
  if (llvm::GlobalValue* known = module().getNamedValue(host)) return known;
  return new llvm::GlobalVariable(module(), llvm::Type::getInt8Ty(context()), false, llvm::GlobalValue::ExternalLinkage,
                                  nullptr, host);
}

}  // namespace shunt::jit
