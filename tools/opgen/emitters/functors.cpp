// The dictionary's functors: which there are, and the sources that make their loops, in shards.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

namespace opgen {

void emitFunctors(const Dictionary& dictionary, const Output& out) {
  std::vector<std::vector<std::string>> shards(kFunctorShards);
  std::string list, numbers;
  for (const std::string& name : functorsOf(dictionary)) {
    const size_t shard = shardOf(name, kFunctorShards);
    list += fmt::format(" X({}, {}, {})", name, shard, shards[shard].size());
    shards[shard].push_back("functors::" + name);
  }
  for (size_t i = 0; i < kFunctorShards; ++i) {
    numbers += fmt::format(" X({})", i);
    // A shard may be empty: its tables are, too.
    const std::string macro_arguments = std::to_string(i) + (shards[i].empty() ? "" : ", " + join(shards[i], ", "));
    out.write(fmt::format("generated/pointwise_loops_{}.cpp", i),
              fmt::format("{}#include \"kernels/pointwise/isa_loops.h\"\n\nSHUNT_DEFINE_LOOPS({})\n", kBanner,
                          macro_arguments));
    out.write(fmt::format("generated/pointwise_generic_{}.cpp", i),
              fmt::format("{}#include \"kernels/pointwise/generic_loops.h\"\n\nSHUNT_DEFINE_GENERIC_LOOPS({})\n",
                          kBanner, macro_arguments));
  }
  out.write(
      "generated/functors.h",
      fmt::format(R"({}// The functors of the dictionary, and where their loops stand: Note [Shards of functors] in
// kernels/pointwise/loop_types.h. Macros only.
#pragma once

namespace shunt::elementwise {{
inline constexpr int kNumFunctorShards = {};
}}

// X(functor, shard, index in it)
#define SHUNT_FORALL_FUNCTORS(X){}
// X(shard)
#define SHUNT_FORALL_FUNCTOR_SHARDS(X){}
)",
                  kBanner, kFunctorShards, list, numbers));
}

}  // namespace opgen
