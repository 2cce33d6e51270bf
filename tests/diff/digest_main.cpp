// interpreted_digest_test [--record] [--op GLOB]
// Interpreted results of some 25,000 drawn calls, every operator in all its dtypes and forms, are to the bit what
// interpreted.txt has, on every CPU and with every instruction set. --record writes that file anew: for a change that
// is meant to change bits, in a commit that says so. Exit status 1 where an operator's line differs or is missing.
#include "tests/diff/cells.h"
#include "tests/diff/digest.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/rules.h"

#include <shunt/core/log.h>
#include <shunt/jit/jit.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

namespace diff {
namespace {

constexpr int kCasesOfACell = 4;
constexpr uint64_t kSeed = 20240229;

/// Their values depend on the library that multiplies and factorises, and its kernels for this CPU; their metadata
/// doesn't.
bool isProduct(const std::string& name) {
  static const std::set<std::string> kProducts = {"addmm",
                                                  "addmv",
                                                  "addr",
                                                  "baddbmm",
                                                  "bmm",
                                                  "conv1d",
                                                  "conv2d",
                                                  "convolution",
                                                  "dot",
                                                  "mm",
                                                  "mv",
                                                  "vdot",
                                                  "convolution_backward",
                                                  "conv_transpose1d",
                                                  "conv_transpose2d",
                                                  "einsum",
                                                  "linear",
                                                  "matmul",
                                                  "lstm_cell",
                                                  "gru_cell",
                                                  "rnn_tanh_cell",
                                                  "rnn_relu_cell",
                                                  "scaled_dot_product_attention",
                                                  "_linalg_det",
                                                  "_linalg_slogdet",
                                                  "_linalg_solve_ex",
                                                  "linalg_cholesky",
                                                  "linalg_cholesky_ex",
                                                  "linalg_det",
                                                  "linalg_inv",
                                                  "linalg_inv_ex",
                                                  "linalg_slogdet",
                                                  "linalg_solve",
                                                  "linalg_solve_ex",
                                                  "linalg_solve_triangular"};
  return kProducts.contains(name);
}

bool hasValues(const std::string& name) {
  return name.find("empty") == std::string::npos && !name.starts_with("resize") && !isProduct(name);
}

struct Line {
  int calls = 0;
  Digest digest;
};

std::map<std::string, Line> interpret(const Options& options) {
  std::map<std::string, Line> lines;
  for (const Cell& cell : planCells(options)) {
    const std::string name = cell.schema.operator_name().str();
    Line& line = lines[name];
    parity::Rng rng(parity::hashOf(name + toString(cell.form) + parity::dtypeName(cell.dtype), kSeed));
    for (int i = 0; i < kCasesOfACell; ++i, ++line.calls) {
      const parity::Case c = parity::drawCase(cell.schema, cell.dtype, cell.form == Form::kGrad, i == 0, rng.next());
      line.digest.add(run(c, cell.form).outcome, hasValues(std::string(parity::baseName(cell.schema.name()))));
    }
  }
  return lines;
}

std::string text(const std::string& name, const Line& line) {
  char out[256];
  std::snprintf(out, sizeof out, "%s %d %016llx", name.c_str(), line.calls,
                static_cast<unsigned long long>(line.digest.value()));
  return out;
}

void record(const std::map<std::string, Line>& lines) {
  std::ofstream file(INTERPRETED_FILE);
  file << "# operator, calls, digest of their interpreted results: interpreted_digest_test --record writes this\n";
  for (const auto& [name, line] : lines) file << text(name, line) << '\n';
  if (!file.flush()) throw std::runtime_error("can't write " INTERPRETED_FILE);
}

std::map<std::string, std::string> recorded() {
  std::ifstream file(INTERPRETED_FILE);
  if (!file) throw std::runtime_error("can't read " INTERPRETED_FILE);
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) out[line.substr(0, line.find(' '))] = line;
  return out;
}

int compare(const std::map<std::string, Line>& lines, bool all) {
  std::map<std::string, std::string> expected = recorded();
  int calls = 0, wrong = 0;
  for (const auto& [name, line] : lines) {
    calls += line.calls;
    const auto it = expected.find(name);
    const bool same = it != expected.end() && it->second == text(name, line);
    if (!same)
      std::cout << "DIFFERS: got " << text(name, line) << (it == expected.end() ? ", not in the file\n" : "\n");
    wrong += !same;
    if (it != expected.end()) expected.erase(it);
  }
  for (const auto& [name, line] : expected) {
    if (!all) break;
    std::cout << "IDLE: no operator for " << line << '\n';
    ++wrong;
  }
  std::cout << lines.size() << " operators, " << calls << " calls, " << wrong << " lines differ\n";
  return wrong == 0 ? 0 : 1;
}

int runDigest(int argc, char** argv) {
  Options options;
  options.seed = kSeed;
  options.dtypes = static_cast<int>(parity::allDtypes().size());
  bool write = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--record")
      write = true;
    else if (flag == "--op" && i + 1 < argc)
      options.op = argv[++i];
    else
      throw std::invalid_argument("unknown flag " + flag + "; see the first lines of digest_main.cpp");
  }
  if (write && options.op != "*") throw std::invalid_argument("--record writes the whole file, without --op");
  const std::map<std::string, Line> lines = interpret(options);
  if (lines.empty()) throw std::invalid_argument("no operator fits " + options.op);
  if (!write) return compare(lines, options.op == "*");
  record(lines);
  return 0;
}

}  // namespace
}  // namespace diff

int main(int argc, char** argv) {
  try {
    shunt::jit::set_enabled(false);
    shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of out= tensors that were resized
    return diff::runDigest(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "interpreted_digest_test: " << e.what() << '\n';
    return 2;
  }
}
