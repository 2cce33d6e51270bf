// SystemInfo for people, and as JSON.
#include <shunt/core/system_info.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace shunt {
namespace {

constexpr double kMiB = 1 << 20;

std::string blasText(const SystemInfo::Blas& blas) {
  if (!blas.problem.empty()) return "not available: " + blas.problem;
  return fmt::format("{}, kernels for {}, {}", blas.library, blas.core, blas.file);
}

std::string jitText(const SystemInfo::Jit& jit) {
  if (!jit.available) return "not available: every call is interpreted";
  return fmt::format("{}, LLVM {}, may use {:g} % of the CPU time", jit.enabled ? "on" : "off", jit.llvm,
                     jit.budget_percent);
}

std::string cacheText(const SystemInfo::Cache& cache) {
  if (cache.directory.empty()) return cache.problem.empty() ? "none" : "none: " + cache.problem;
  return fmt::format("{}: {} file{}, {:.1f} of at most {:g} MiB", cache.directory, cache.files,
                     cache.files == 1 ? "" : "s", static_cast<double>(cache.bytes) / kMiB,
                     static_cast<double>(cache.limit_bytes) / kMiB);
}

std::string withoutMarkdown(std::string text) {
  std::erase(text, '`');
  return text;
}

std::string variableText(const SystemInfo::Variable& v) {
  const std::string from = v.is_set          ? "set"
                           : v.given.empty() ? "default"
                                             : fmt::format("default: '{}' is not {}", v.given, v.expected);
  return fmt::format("  {}={} ({})\n    {}\n", v.name, v.value, from, withoutMarkdown(v.description));
}

}  // namespace

std::string SystemInfo::text() const {
  const std::pair<const char*, std::string> lines[] = {
      {"version", version},
      {"build", fmt::format("{}, {}, {}", build.compiler, build.type, build.flags)},
      {"CPU",
       fmt::format("{}, {} hardware thread{}", cpu.model, cpu.hardware_threads, cpu.hardware_threads == 1 ? "" : "s")},
      {"ISA", fmt::format("{} in use, {} is the best of this CPU and build", cpu.isa, cpu.best_isa)},
      {"BLAS", blasText(blas)},
      {"oneDNN", onednn},
      {"threads", std::to_string(threads)},
      {"JIT", jitText(jit)},
      {"cache", cacheText(cache)},
  };
  std::string out;
  for (const auto& [name, value] : lines) out += fmt::format("{:<8} {}\n", name, value);
  out += "variables\n";
  for (const Variable& v : variables) out += variableText(v);
  return out;
}

std::string SystemInfo::json() const {
  using Json = nlohmann::ordered_json;
  Json out{{"version", version},
           {"build", {{"compiler", build.compiler}, {"type", build.type}, {"flags", build.flags}}},
           {"cpu", {{"model", cpu.model}, {"hardware_threads", cpu.hardware_threads}}},
           {"isa", {{"best", cpu.best_isa}, {"used", cpu.isa}}},
           {"blas", {{"library", blas.library}, {"file", blas.file}, {"core", blas.core}, {"problem", blas.problem}}},
           {"onednn", onednn},
           {"threads", threads},
           {"jit",
            {{"available", jit.available},
             {"enabled", jit.enabled},
             {"llvm", jit.llvm},
             {"budget_percent", jit.budget_percent}}},
           {"cache",
            {{"directory", cache.directory},
             {"problem", cache.problem},
             {"files", cache.files},
             {"bytes", cache.bytes},
             {"limit_bytes", cache.limit_bytes}}},
           {"variables", Json::array()}};
  for (const Variable& v : variables)
    out["variables"].push_back({{"name", v.name},
                                {"value", v.value},
                                {"given", v.given},
                                {"is_set", v.is_set},
                                {"expected", v.expected},
                                {"default", v.by_default},
                                {"reader", v.reader},
                                {"description", v.description}});
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shunt
