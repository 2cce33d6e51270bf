// A program's inputs and its text.
#include "tests/programs/program.h"

#include "tests/parity/random.h"

#include <sstream>

namespace programs {
namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string slot(int index) { return "t" + std::to_string(index); }

std::string numberText(double v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

/// The row's expression with its single letters replaced.
std::string codeOf(const Step& step) {
  const std::string text = step.row->code;
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool alone = (at == 0 || !isWord(text[at - 1])) && (at + 1 == text.size() || !isWord(text[at + 1]));
    if (alone && c >= 'a' && c <= 'c')
      out += slot(step.tensors[static_cast<size_t>(c - 'a')]);
    else if (alone && c >= 'i' && c <= 'k')
      out += std::to_string(step.numbers[static_cast<size_t>(c - 'i')]);
    else if (alone && c == 'v')
      out += numberText(step.v);
    else
      out += c;
  }
  return out;
}

}  // namespace

Tensor makeInput(const Input& input) {
  int64_t n = 1;
  for (int64_t size : input.sizes) n *= size;
  parity::Rng rng(input.seed);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(rng.range(-8, 8)) / 4);
  const Tensor t = shunt::tensor(values).reshape(input.sizes).to(input.dtype).clone();
  return input.requires_grad ? t.requires_grad_() : t;
}

std::string Program::code() const {
  std::ostringstream out;
  out << "// program " << seed << "; makeInput is that of tests/programs\n";
  if (autocast) out << "const AutocastGuard autocast(kCPU);\n";
  int slots = 0;
  for (const Input& in : inputs) {
    out << "Tensor " << slot(slots++) << " = programs::makeInput({{";
    for (size_t i = 0; i < in.sizes.size(); ++i) out << (i == 0 ? "" : ", ") << in.sizes[i];
    out << "}, k" << shunt::toString(in.dtype) << ", " << (in.requires_grad ? "true" : "false") << ", " << in.seed
        << "u});\n";
  }
  for (const Step& step : steps) {
    const std::string left = step.row->in_place ? "" : slot(slots++) + " = ";
    if (step.no_grad)
      out << (left.empty() ? "" : "Tensor " + left.substr(0, left.find(' ')) + "; ") << "{ const NoGradGuard no_grad; "
          << left << codeOf(step) << "; }\n";
    else
      out << (left.empty() ? "" : "Tensor ") << left << codeOf(step) << ";\n";
  }
  if (root >= 0) out << slot(root) << ".sum().backward();\n";
  return std::move(out).str();
}

}  // namespace programs
