// What the tests of the JIT's lower half share: modules from text, one-line compiles, /proc/self/maps.
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/link/linker.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

namespace shunt::jit::test {

/// An assembled module with the context that owns it.
struct TextModule {
  explicit TextModule(const std::string& text);
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// The value, or a test failure with the message and an exception that ends the test.
template <class T>
T must(llvm::Expected<T> value) {
  if (value) return std::move(*value);
  throw std::runtime_error(llvm::toString(value.takeError()));
}
void must(llvm::Error error);

/// The message of an expected failure; "" where there was none.
template <class T>
std::string messageOf(llvm::Expected<T> value) {
  return value ? std::string() : llvm::toString(value.takeError());
}

/// Object code of a module given as text, optimised.
std::unique_ptr<llvm::MemoryBuffer> compileText(const std::string& text);
/// A copy, since link() consumes its object.
std::unique_ptr<llvm::MemoryBuffer> copyOf(const llvm::MemoryBuffer& object);

struct Mapping {
  uint64_t begin, end;
  std::string permissions, name;
};
std::vector<Mapping> mappings();
size_t residentBytes();

/// A function that returns `value`.
std::string constantFunction(const std::string& name, int value);

}  // namespace shunt::jit::test
