#include "python/src/base/wording.h"

#include <cctype>
#include <optional>

namespace shunt::python {

namespace {

/// What the library says, and what Python says in its place. A '*' in the former is a word (letters, digits and
/// <>:._), which '*' in the latter repeats: the first the first, the second the second.
struct Phrase {
  std::string_view in_cpp, in_python;
};

// The first that fits at a place is taken, so longer ones come before their parts.
constexpr Phrase kPhrases[] = {
    // Kernels and libraries.
    {"load a library that registers one with SHUNT_LIBRARY_IMPL(*, *, m) { m.impl(...); }, or a fallback for the whole "
     "key with SHUNT_LIBRARY_IMPL(*, *, m) { m.fallback(...); } (shunt/device/cpu_fallback.h has one that runs on the "
     "CPU), or move the tensors to cpu.",
     "register one with shunt.library.Library('*', 'IMPL').impl(..., '*'), or a fallback for the whole key with "
     "shunt.library.Library('*', 'IMPL').fallback(..., '*'), or move the tensors to cpu."},
    {"SHUNT_LIBRARY_IMPL(*, *, m) { m.impl(...); }", "shunt.library.Library('*', 'IMPL').impl(..., '*')"},
    {"SHUNT_LIBRARY_IMPL(*, *, m) { m.impl(\"*\", ...); }", "shunt.library.Library('*', 'IMPL', '*').impl('*', ...)"},
    {"SHUNT_LIBRARY_IMPL(*, *, m)", "shunt.library.Library('*', 'IMPL', '*')"},
    {"operators are defined in SHUNT_LIBRARY or SHUNT_LIBRARY_FRAGMENT blocks, not in SHUNT_LIBRARY_IMPL",
     "operators are defined in a Library of kind 'DEF' or 'FRAGMENT', not 'IMPL'"},
    {"in SHUNT_LIBRARY or SHUNT_LIBRARY_FRAGMENT blocks", "in a Library of kind 'DEF' or 'FRAGMENT'"},
    {"TORCH_LIBRARY or SHUNT_LIBRARY can be used", "TORCH_LIBRARY (a Library of kind 'DEF') can be used"},
    {"Put everything in one block, or use SHUNT_LIBRARY_FRAGMENT for the others.",
     "Put everything in one, or give the others the kind 'FRAGMENT'."},
    {"the wildcard of SHUNT_LIBRARY_IMPL blocks", "the wildcard of Libraries of kind 'IMPL'"},
    {"register one: m.impl(\"*\", DispatchKey::Meta, ...)", "register one: shunt.library.register_fake(\"*\", ...)"},
    {"a tensor of a KernelClass: it has no data of its own; its class knows what it holds",
     "a wrapper subclass: it has no data of its own; its class knows what it holds"},
    // Autograd.
    {"a NoGradGuard", "shunt.no_grad()"},
    {"outside InferenceMode, and set it", "outside shunt.inference_mode(), and set it"},
    {"Clone the tensor outside InferenceMode", "Clone the tensor outside shunt.inference_mode()"},
    {"inside InferenceMode, or both", "inside shunt.inference_mode(), or both"},
    {"autograd::grad", "autograd.grad"},
    {"retain_graph=true", "retain_graph=True"},
    {"create_graph=true", "create_graph=True"},
    {"allow_unused=true", "allow_unused=True"},
    {"pin_memory=true", "pin_memory=True"},
    // Transforms.
    {"VmapOptions::randomness doesn't allow: set it to", "vmap's randomness='error' doesn't allow: give it"},
    {"VmapOptions::", "vmap's "},
    {"or to Randomness::kDifferent for others", "or randomness='different' for others"},
    {"Randomness::kSame", "randomness='same'"},
    {"Randomness::kDifferent", "randomness='different'"},
    {"Randomness::kError", "randomness='error'"},
    {"by shunt::grad or vjp", "by shunt.func.grad or vjp"},
    {"shunt::vmap", "shunt.func.vmap"},
    {"shunt::register_vmap", "shunt.library.register_vmap"},
    {"nullopt", "None"},
    {"FakeTensorMode::from_tensor(t) or to_fake(t)", "FakeTensorMode's from_tensor(t)"},
    // Compiled functions, files.
    {"pass what changes as an argument, keep it in a 0-dim tensor, or name it in CompileOptions::captures or ::scalars",
     "pass what changes as an argument, or keep it in a 0-dim tensor"},
    {"pass what changes as an argument, or name it in CompileOptions::captures or ::scalars",
     "pass what changes as an argument"},
    {"name it in CompileOptions::captures or ::scalars", "pass it as an argument"},
    {"whose trace() is over, or runs on another thread: it is dead. Return it from the traced function, and take it "
     "from the results of Graph::run(); a function that compile() has recorded has put it into a variable that "
     "outlives the call",
     "of a recording that is over, or of another thread's: it is dead. A compiled function has put it into a variable "
     "that outlives the call; return it from the function"},
    {"CompileOptions::", "the option "},
    {"t.to(shunt::kFloat)", "t.float()"},
    {"jit::", "shunt.jit."},
};

bool isOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_<>:.").find(c) != std::string_view::npos;
}

constexpr size_t kMaxWords = 4;
struct Found {
  size_t length = 0;
  std::string_view words[kMaxWords];
};

/// Whether the message begins with the pattern.
std::optional<Found> found(std::string_view pattern, std::string_view message) {
  Found f;
  size_t num_words = 0;
  for (const char c : pattern) {
    if (c != '*') {
      if (f.length >= message.size() || message[f.length] != c) return std::nullopt;
      ++f.length;
      continue;
    }
    const size_t begin = f.length;
    while (f.length < message.size() && isOfWord(message[f.length])) ++f.length;
    if (f.length == begin) return std::nullopt;
    f.words[num_words++] = message.substr(begin, f.length - begin);
  }
  return f;
}

void append(std::string& out, std::string_view replacement, const Found& f) {
  size_t num_words = 0;
  for (const char c : replacement)
    if (c == '*')
      out += f.words[num_words++];
    else
      out += c;
}

}  // namespace

std::string inPython(std::string_view message) {
  std::string out;
  for (size_t at = 0; at < message.size();) {
    const Phrase* phrase = nullptr;
    std::optional<Found> f;
    const bool begins_word = at == 0 || !isOfWord(message[at - 1]);
    for (const Phrase& p : kPhrases)
      if (begins_word && message[at] == p.in_cpp[0] && (f = found(p.in_cpp, message.substr(at)))) {
        phrase = &p;
        break;
      }
    if (phrase == nullptr) {
      out += message[at++];
      continue;
    }
    append(out, phrase->in_python, *f);
    at += f->length;
  }
  return out;
}

}  // namespace shunt::python
