// Gathers SystemInfo.
#include <shunt/core/system_info.h>

#include "src/tiering/cache_problem.h"
#include "src/tiering/compiler.h"

#include <shunt/core/environment.h>
#include <shunt/core/isa.h>
#include <shunt/core/parallel.h>
#include <shunt/jit/budget.h>
#include <shunt/jit/cache.h>
#include <shunt/jit/jit.h>
#include <shunt/version.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace shunt {
namespace {

/// The first one's; machines with several kinds are not x86-64's.
std::string cpuModel() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const size_t at = line.find(": "); at != line.npos) return line.substr(at + 2);
  return "unknown";
}

SystemInfo::Cache cacheInfo() {
  SystemInfo::Cache cache{
      .directory = jit::cache_directory(), .problem = jit::cacheProblem(), .limit_bytes = jit::cache_limit()};
  std::error_code ignored;  // a cache that was never made, or can't be read, is empty
  for (std::filesystem::directory_iterator at(cache.directory, ignored), end; at != end; at.increment(ignored)) {
    if (!at->is_regular_file(ignored)) continue;
    ++cache.files;
    if (const auto size = at->file_size(ignored); !ignored) cache.bytes += size;
  }
  return cache;
}

std::vector<SystemInfo::Variable> variables() {
  namespace environment = detail::environment;
  std::vector<SystemInfo::Variable> out;
  for (const environment::Row& row : environment::kTable) {
    std::string ignored;  // whoever reads the variable for its meaning has warned
    environment::Value value = environment::read(row.variable, ignored);
    std::string expectation = environment::expected(row);
    if (row.variable == environment::Variable::kIsa && value.is_set && value.text != isa_name()) {
      value.text = isa_name();
      value.is_set = false;
      expectation = "a level of this CPU and build";
    }
    const char* given = environment::textOf(row.variable);
    out.push_back({row.name, value.text.empty() ? row.instead : value.text, given != nullptr ? given : "", value.is_set,
                   std::move(expectation), *row.fallback != 0 ? row.fallback : row.instead, row.reader,
                   row.description});
  }
  return out;
}

}  // namespace

SystemInfo system_info() {
  SystemInfo info;
  info.version = SHUNT_VERSION;
  info.build = {"clang " __clang_version__, SHUNT_BUILD_TYPE, SHUNT_BUILD_FLAGS};
  info.cpu = {cpuModel(), static_cast<int>(std::thread::hardware_concurrency()), toString(detail::bestIsa()),
              isa_name()};
  detail::MathLibraries libraries = detail::mathLibraries();
  info.blas = std::move(libraries.blas);
  info.onednn = std::move(libraries.onednn);
  info.threads = get_num_threads();
  info.jit.llvm = jit::Compiler::instance().llvmVersion();
  info.jit.available = !info.jit.llvm.empty();
  info.jit.enabled = jit::enabled();
  info.jit.budget_percent = jit::budget();
  info.cache = cacheInfo();
  info.variables = variables();
  return info;
}

}  // namespace shunt
