// Small programs that are written once, as templates over an Api (shunt_api.cpp, torch_api.cpp), and run twice: by
// Shunt and by libtorch. A program writes what it sees into a Log; programs_test compares the two logs line by line.
//
// A Log belongs to the program that fills it. Everything here runs on one thread.
#pragma once

#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace parity::programs {

/// The phrase that the messages of Shunt and libtorch share for one reason, or the whole message when it has none.
std::string reasonOf(const std::string& message);

class Log {
 public:
  template <class... Parts>
  void line(const Parts&... parts) {
    std::ostringstream out;
    out << std::boolalpha;
    (out << ... << parts);
    lines_.push_back(out.str());
    notes_.emplace_back();
  }
  /// Runs `f`, which returns what to write behind `what`; a refusal is a result like any other.
  template <class F>
  void attempt(const std::string& what, F&& f) {
    try {
      line(what, ": ", f());
    } catch (const std::exception& e) {
      line(what, ": refused, ", reasonOf(e.what()));
      notes_.back() = e.what();
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }
  /// The whole message behind a line, where it was a refusal.
  const std::string& note(size_t i) const { return notes_[i]; }

 private:
  std::vector<std::string> lines_;
  std::vector<std::string> notes_;
};

struct Program {
  std::string name;
  std::function<void(Log&)> run;
};

std::vector<Program> shuntPrograms();
std::vector<Program> torchPrograms();
/// Warnings and threads of libtorch; before its first program.
void setUp();

/// What every program may ask of a tensor.
template <class Api>
void look(Log& log, const std::string& what, const typename Api::Tensor& t) {
  log.attempt(what + " is_leaf", [&] { return t.is_leaf(); });
  log.attempt(what, [&] {
    std::ostringstream out;
    out << std::boolalpha << "view " << t.is_view() << ", requires_grad " << t.requires_grad();
    if (!t.is_inference()) out << ", version " << t._version();
    out << ", inference " << t.is_inference();
    return out.str();
  });
  log.attempt(what + " grad_fn", [&] { return t.grad_fn() != nullptr ? "one" : "none"; });
  log.attempt(what + " holds", [&] { return Api::show(t); });
}

/// Runs backward through `t`, whose gradients are 1, 2, 3, ...; the graph is kept.
template <class Api>
void backward(Log& log, const std::string& what, const typename Api::Tensor& t) {
  log.attempt("backward of " + what, [&] {
    std::vector<double> seeds;
    for (int64_t i = 0; i < t.numel(); ++i) seeds.push_back(static_cast<double>(i + 1));
    (t.reshape({-1}) * Api::of(seeds)).sum().backward({}, true);
    return "done";
  });
}

}  // namespace parity::programs
