// From a module to object code: flattening, the passes of pipeline.h, and the code generator. Each call works on its
// caller's module only.
#pragma once

#include "jit/emit/redispatches.h"

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>

namespace shunt::jit {

/// Little for the first tier's modules and for those without a loop (Note [Pipeline]); all passes that LLVM has for
/// fused loops, which run for long: with the shorter lists an optimizer's step took half as long again.
enum class Effort : uint8_t { kLittle, kFull, kAll };
constexpr size_t kEfforts = 3;

/// No library function is known by its name (LLVM's folding of libm differs from ours). At the end thread-local
/// variables are read as offsets from the thread pointer: fails if one remains, or is not one of libshunt's. Constants
/// whose addresses may be kept go to the process's pool (host/literals.h). `redispatches`, unless null, gets the
/// module's, which were noted (redispatches.h); without notes there are none. Returns what generating code is worth, at
/// most `most`.
llvm::Expected<Effort> optimise(llvm::Module& module, std::vector<Redispatch>* redispatches = nullptr,
                                Tier tier = Tier::kSecond, Effort most = Effort::kFull);

/// Position-independent object code, small code model.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> generate(llvm::Module& module, Effort effort = Effort::kFull);

}  // namespace shunt::jit
