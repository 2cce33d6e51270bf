// One compile's module: functions brought out of a library's bitcode, with everything internal that they need.
//
// Owned and used by one thread. The module dies with the Extraction, so nothing of it may be kept.
//
// Note [No pointer into a thunk]
// Code may be freed while tensors, graphs and exceptions that it made live on. So whatever has an address that can be
// kept stays the host's: vtables, type information, variables and every function that is stored or passed are
// declarations, bound to the host's symbols when the object is linked. A function whose address is taken may be
// imported as well, for its direct calls; its address is then a second declaration with kHostPrefix before its name. A
// function that takes the address of something without a host symbol can't be imported.
#pragma once

#include "jit/bitcode/library.h"
#include "jit/host/host_symbols.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

#include <memory>
#include <optional>
#include <vector>

namespace shunt::jit {

class SourceCache;

class Extraction {
 public:
  /// The sources must outlive it, and serve one Extraction at a time.
  explicit Extraction(SourceCache& sources);
  /// With sources of its own.
  Extraction(const Library& library, const HostSymbols& host);
  ~Extraction();

  llvm::LLVMContext& context();
  llvm::Module& module();

  /// What of the inline functions that the host has compiled too comes along.
  enum class Inline { kSmall, kAll };
  /// The function `name` with its body, as an internal function of module(). Everything internal or inline that it
  /// calls comes with it; calls of other functions stay declarations, and a later import() of one gives that same
  /// Function a body. An inline function that can't be imported, is large, or marked cold or noinline, is left to the
  /// host. An error says why `name` itself can't be: the module is then unchanged.
  llvm::Expected<llvm::Function*> import(llvm::StringRef name, Inline inlines = Inline::kSmall);
  /// Whether there is bitcode of the function `name`.
  bool has(llvm::StringRef name) const;
  /// Instructions of the function `name` and of what has to come with it; nothing if it can't be imported.
  std::optional<size_t> sizeOf(llvm::StringRef name);

  /// Functions without a body (no intrinsics, no addresses of host functions), each importable or the host's.
  std::vector<llvm::Function*> declarations();

  /// A declaration of the host's function or variable `name`, for its address; null where the host has no such symbol.
  llvm::Constant* hostAddress(llvm::StringRef name);

 private:
  class State;
  std::unique_ptr<SourceCache> own_sources_;
  std::unique_ptr<State> state_;
};

}  // namespace shunt::jit
