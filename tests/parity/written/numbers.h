// Programs about numbers: the C++ operators between numbers and tensors, item, arange, memory formats, pow; and about
// hooks, which see and replace the numbers of gradients.
#pragma once

#include "tests/parity/written/program.h"

namespace parity::programs {

template <class Api>
struct NumberPrograms {
  using Tensor = typename Api::Tensor;
  using Scalar = typename Api::Scalar;

  static void operators(Log& log, const std::string& which, const Scalar& number) {
    const auto ones = [&](auto dtype) { return Api::cast(Api::of({1, 2, 3, 0}), dtype); };
    Tensor t = which == "uint8"      ? ones(Api::kByte)
               : which == "bool"     ? ones(Api::kBool)
               : which == "int64"    ? ones(Api::kLong)
               : which == "float16"  ? ones(Api::kHalf)
               : which == "float32"  ? ones(Api::kFloat)
               : which == "0-dim"    ? ones(Api::kLong).select(0, 1)
               : which == "empty"    ? ones(Api::kLong).slice(0, 0, 0)
               : which == "strided"  ? ones(Api::kFloat).view({2, 2}).t()
               : which == "expanded" ? ones(Api::kFloat).view({4, 1}).expand({4, 3})
                                     : ones(Api::kDouble).requires_grad_();
    const auto both = [&](const std::string& op, auto f, auto g) {
      for (const bool left : {true, false})
        log.attempt(left ? "number " + op + " tensor" : "tensor " + op + " number", [&] {
          const Tensor y = left ? f() : g();
          std::ostringstream out;
          out << Api::show(y) << ", requires_grad " << y.requires_grad() << ", strides";
          for (const auto s : y.strides()) out << ' ' << s;
          if (y.requires_grad()) {
            y.sum().backward();
            out << ", gradient " << Api::show(t.grad());
          }
          return out.str();
        });
    };
    both("+", [&] { return number + t; }, [&] { return t + number; });
    both("-", [&] { return number - t; }, [&] { return t - number; });
    both("*", [&] { return number * t; }, [&] { return t * number; });
    both("/", [&] { return number / t; }, [&] { return t / number; });
    both("%", [&] { return number % t; }, [&] { return t % number; });
    both("&", [&] { return number & t; }, [&] { return t & number; });
    both("|", [&] { return number | t; }, [&] { return t | number; });
    both("^", [&] { return number ^ t; }, [&] { return t ^ number; });
    both("<", [&] { return number < t; }, [&] { return t < number; });
    both("<=", [&] { return number <= t; }, [&] { return t <= number; });
    both(">", [&] { return number > t; }, [&] { return t > number; });
    both(">=", [&] { return number >= t; }, [&] { return t >= number; });
    both("==", [&] { return number == t; }, [&] { return t == number; });
    both("!=", [&] { return number != t; }, [&] { return t != number; });
  }

  // ---- hooks
  static void hooks(Log& log, const std::string& order, bool leaf, const std::string& what) {
    const Tensor x = Api::leaf({1, 2});
    const Tensor h = leaf ? x : x.mul(10);
    for (const char step : order) {
      log.attempt(std::string("step ") + step, [&] {
        if (step == 'r')
          h.retain_grad();
        else if (step == 'm')
          Tensor(h).mul_(2);
        else if (step == 'h')
          h.register_hook([&](const Tensor& g) -> Tensor {
            log.line("hook sees ", Api::show(g));
            if (what == "times 100") return g.mul(100);
            if (what == "float32") return Api::cast(g, Api::kFloat);
            if (what == "int64") return Api::cast(g, Api::kLong);
            if (what == "other shape") return g.view({1, 2});
            return Tensor();
          });
        return "done";
      });
    }
    backward<Api>(log, "twice it", h.mul(2));
    log.attempt("its gradient", [&] { return h.grad().defined() ? Api::show(h.grad()) : "none"; });
    log.attempt("gradient", [&] { return x.grad().defined() ? Api::show(x.grad()) : "none"; });
  }

  static void formats(Log& log, int64_t batch, int64_t channels, int64_t width) {
    const int64_t n = batch * channels * 2 * width;
    const Tensor plain = Api::of(std::vector<double>(static_cast<size_t>(n), 1)).view({batch, channels, 2, width});
    const Tensor last =
        plain.as_strided({batch, channels, 2, width}, {2 * width * channels, 1, width * channels, channels});
    const auto write = [&](const std::string& what, const Tensor& t) {
      std::ostringstream out;
      for (const int64_t stride : t.strides()) out << ' ' << stride;
      log.line(what, ": ", Api::format(t), out.str());
    };
    write("plain", plain);
    write("last", last);
    for (const int64_t dim : {0, 1, 2, 3}) {
      write("cat of last with last", Api::cat({last, last}, dim));
      write("cat of plain with last", Api::cat({plain, last}, dim));
      write("cat of last with plain", Api::cat({last, plain}, dim));
    }
    write("sum", last + last);
    write("clone", last.clone());
    write("like", Api::emptyLike(last));
    write("contiguous", last.contiguous());
    write("as channels-last", Api::channelsLast(last));
  }

  static void numbers(std::vector<Program>& all) {
    const auto one = [&](const std::string& name, auto f) {
      all.push_back({name, [=](Log& log) { log.attempt(name, f); }});
    };
    one("item<float> of 1e300", [] { return Api::of({1e300}).template item<float>(); });
    one("item<float> of -1e300", [] { return Api::of({-1e300}).template item<float>(); });
    one("item<float> of infinity", [] { return Api::of({1e300}).mul(1e300).template item<float>(); });
    one("item<float> of 1e-300", [] { return Api::of({1e-300}).template item<float>(); });
    one("item<int64_t> of 1e30", [] { return Api::of({1e30}).template item<int64_t>(); });
    one("item<uint8_t> of 300", [] { return static_cast<int>(Api::of({300}).template item<uint8_t>()); });
    one("item<uint8_t> of -1", [] { return static_cast<int>(Api::of({-1}).template item<uint8_t>()); });
    one("item<bool> of 0.5", [] { return Api::of({0.5}).template item<bool>(); });
    for (const double end : {-0.5, -1.5, 0.5, 2.5, 300.0})
      one("arange(" + std::to_string(end) + ") of uint8", [=] { return Api::show(Api::arange(end, Api::kByte)); });
    for (const double end : {-0.5, 2.5})
      one("arange(" + std::to_string(end) + ") of int64", [=] { return Api::show(Api::arange(end, Api::kLong)); });
    for (const int64_t channels : {1, 2})
      for (const int64_t batch : {1, 2})
        for (const int64_t width : {1, 3})
          all.push_back({"channels-last " + std::to_string(batch) + " " + std::to_string(channels) + " 2 " +
                             std::to_string(width),
                         [=](Log& log) { formats(log, batch, channels, width); }});
    for (const double power : {0.0, 0.5, 1.0, 2.0, 3.0})
      for (const bool tensor : {true, false})
        one("pow(0, " + std::to_string(power) + (tensor ? " as tensor)" : ")"), [=] {
          std::ostringstream out;
          const Tensor x = Api::leaf({0, 2}), e = Api::leaf({power, power});
          const Tensor y = (tensor ? x.pow(e) : x.pow(power)).sum();
          const Tensor g = Api::grad(y, x, true)[0];
          out << Api::show(g) << ", requires_grad " << g.requires_grad();
          if (g.requires_grad()) out << ", second " << Api::show(Api::grad(g.sum(), x, true)[0]);
          return out.str();
        });
    for (const double base : {0.0, 2.0})
      for (const double power : {-1.0, 0.0, 0.5, 2.0})
        for (const bool number : {true, false})
          one("gradients of the exponent of pow(" + std::to_string(base) + (number ? "" : " as tensor") + ", " +
                  std::to_string(power) + ")",
              [=] {
                const Tensor x = Api::leaf({base}), e = Api::leaf({power});
                const Tensor g = Api::grad((number ? Api::pow(base, e) : x.pow(e)).sum(), e, true)[0];
                return Api::show(g) + ", second " +
                       (g.requires_grad() ? Api::show(Api::grad(g.sum(), e, true)[0]) : "none");
              });
  }

  static void addAll(std::vector<Program>& all) {
    const std::vector<std::pair<std::string, Scalar>> values{
        {"2.5", 2.5}, {"1.0", 1.0}, {"true", true}, {"3", 3}, {"0.1", 0.1}, {"-2", -2}, {"300", 300}, {"1e300", 1e300}};
    for (const auto& [name, value] : values)
      for (const std::string which :
           {"uint8", "bool", "int64", "float16", "float32", "float64", "0-dim", "empty", "strided", "expanded"})
        all.push_back({"operators between " + name + " and " + which, [=](Log& log) { operators(log, which, value); }});
    for (const std::string order : {"h", "rh", "hr", "hrh", "rhm", "mrh", "rmh", "hmr", "hmrh", "rhmh"})
      for (const bool leaf : {true, false})
        for (const std::string what : {"nothing", "times 100", "float32", "int64", "other shape"})
          all.push_back({"hooks " + order + (leaf ? " on a leaf, " : ", ") + what,
                         [=](Log& log) { hooks(log, order, leaf, what); }});
    numbers(all);
  }
};

}  // namespace parity::programs
