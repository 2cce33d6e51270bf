// Every operator that writes has a functional form, found by its schema; every view can be undone. Fails when the
// dictionary gets an operator for which that isn't so.
#include "tests/functionalize/util.h"

#include <map>
#include <set>

namespace shunt::test {
namespace {

std::vector<OperatorHandle> dictionary() {
  std::vector<OperatorHandle> out;
  for (const OperatorName& name : Dispatcher::singleton().getAllOpNames())
    if (const auto op = Dispatcher::singleton().findSchema(name); op && name.getNamespace() == "aten")
      out.push_back(*op);
  return out;
}

// What they do is seen on fake tensors, without another operator.
const std::set<std::string> kResizing = {"aten::resize_", "aten::resize_as_"};
// The functional form has its arguments in another order, as in PyTorch.
const std::set<std::string> kOtherwise = {"aten::polygamma_"};

TEST(FunctionalRules, EveryWritingOperatorHasAForm) {
  size_t writing = 0;
  for (const OperatorHandle& op : dictionary()) {
    if (!op.schema().is_mutable()) {
      EXPECT_FALSE(functional_form(op).has_value()) << op.operator_name() << " writes nothing";
      continue;
    }
    ++writing;
    const auto form = functional_form(op);
    const std::string name = op.operator_name().str();
    EXPECT_NE(form.has_value(), kResizing.contains(name) || kOtherwise.contains(name)) << name;
    if (form) {
      EXPECT_FALSE(form->schema().is_mutable()) << form->operator_name();
    }
  }
  EXPECT_GT(writing, 250u);
}

TEST(FunctionalRules, TheFormsAreTheRightOnes) {
  const std::map<std::string, std::string> expected = {{"aten::add_.Tensor", "aten::add.Tensor"},
                                                       {"aten::add.out", "aten::add.Tensor"},
                                                       {"aten::pow_.Scalar", "aten::pow.Tensor_Scalar"},
                                                       {"aten::floor_divide_.Tensor", "aten::floor_divide"},
                                                       {"aten::max.dim_max", "aten::max.dim"},
                                                       {"aten::sum.IntList_out", "aten::sum.dim_IntList"},
                                                       {"aten::arange.start_out", "aten::arange.start_step"},
                                                       {"aten::empty.out", "aten::empty.memory_format"},
                                                       {"aten::rand.generator_out", "aten::rand.generator"},
                                                       {"aten::where.self_out", "aten::where.self"},
                                                       {"aten::t_", "aten::t"},
                                                       {"aten::squeeze_.dim", "aten::squeeze.dim"},
                                                       {"aten::bernoulli_.float", "aten::bernoulli.p"},
                                                       {"aten::normal_", "functional::normal"},
                                                       {"aten::copy_", "functional::copy"},
                                                       {"aten::sigmoid_backward.grad_input", "aten::sigmoid_backward"}};
  for (const auto& [writing, form] : expected) {
    const size_t dot = writing.find('.');
    const auto op = Dispatcher::singleton().findSchemaOrThrow(
        writing.substr(0, dot).c_str(), dot == std::string::npos ? "" : writing.substr(dot + 1).c_str());
    ASSERT_TRUE(functional_form(op).has_value()) << writing;
    EXPECT_EQ(functional_form(op)->operator_name().str(), form) << writing;
  }
}

// The arguments of each view operator, on a tensor of sizes [2, 3, 4].
std::vector<Tensor> viewsOf(const Tensor& t, const std::string& name) {
  static const std::map<std::string, std::function<std::vector<Tensor>(const Tensor&)>> kViews = {
      {"aten::alias", [](const Tensor& t) { return std::vector{alias(t)}; }},
      {"aten::detach", [](const Tensor& t) { return std::vector{t.detach()}; }},
      {"aten::view", [](const Tensor& t) { return std::vector{t.view({4, 6})}; }},
      {"aten::view.dtype", [](const Tensor& t) { return std::vector{t.view(kInt).slice(0, 1).view(kFloat)}; }},
      {"aten::view_as", [](const Tensor& t) { return std::vector{t.view_as(ones({6, 4}))}; }},
      {"aten::reshape", [](const Tensor& t) { return std::vector{t.reshape({-1, 3})}; }},
      {"aten::reshape_as", [](const Tensor& t) { return std::vector{t.reshape_as(ones({6, 4}))}; }},
      {"aten::flatten.using_ints", [](const Tensor& t) { return std::vector{t.flatten(1)}; }},
      {"aten::_reshape_alias", [](const Tensor& t) { return std::vector{_reshape_alias(t, {4, 6}, {6, 1})}; }},
      {"aten::transpose.int", [](const Tensor& t) { return std::vector{t.transpose(0, 2)}; }},
      {"aten::t", [](const Tensor& t) { return std::vector{t[1].t()}; }},
      {"aten::permute", [](const Tensor& t) { return std::vector{t.permute({2, 0, 1})}; }},
      {"aten::expand", [](const Tensor& t) { return std::vector{t.expand({1, 2, 3, 4})}; }},
      {"aten::expand_as", [](const Tensor& t) { return std::vector{t.expand_as(ones({1, 2, 3, 4}))}; }},
      {"aten::broadcast_to", [](const Tensor& t) { return std::vector{t.broadcast_to({1, 2, 3, 4})}; }},
      {"aten::movedim.intlist", [](const Tensor& t) { return std::vector{t.movedim({0, 1}, {2, 0})}; }},
      {"aten::movedim.int", [](const Tensor& t) { return std::vector{t.movedim(0, 2)}; }},
      {"aten::positive", [](const Tensor& t) { return std::vector{t.positive()}; }},
      {"aten::ravel", [](const Tensor& t) { return std::vector{t.ravel()}; }},
      {"aten::swapaxes", [](const Tensor& t) { return std::vector{t.swapaxes(0, 2)}; }},
      {"aten::swapdims", [](const Tensor& t) { return std::vector{t.swapdims(0, 2)}; }},
      {"aten::squeeze", [](const Tensor& t) { return std::vector{t.narrow(0, 1, 1).squeeze()}; }},
      {"aten::squeeze.dim", [](const Tensor& t) { return std::vector{t.narrow(0, 1, 1).squeeze(0)}; }},
      {"aten::unsqueeze", [](const Tensor& t) { return std::vector{t.unsqueeze(1)}; }},
      {"aten::select.int", [](const Tensor& t) { return std::vector{t.select(1, -1)}; }},
      {"aten::slice.Tensor", [](const Tensor& t) { return std::vector{t.slice(2, 0, std::nullopt, 2)}; }},
      {"aten::narrow", [](const Tensor& t) { return std::vector{t.narrow(1, 1, 2)}; }},
      {"aten::narrow.Tensor", [](const Tensor& t) { return std::vector{t.narrow(1, full({}, 1, kLong), 2)}; }},
      {"aten::as_strided", [](const Tensor& t) { return std::vector{t.as_strided({2, 2}, {5, 3}, 2)}; }},
      {"aten::diagonal", [](const Tensor& t) { return std::vector{t.diagonal(1, 0, 2)}; }},
      {"aten::split.Tensor", [](const Tensor& t) { return t.split(2, 1); }},
      {"aten::split_with_sizes", [](const Tensor& t) { return t.split_with_sizes({1, 3}, 2); }},
      {"aten::chunk", [](const Tensor& t) { return t.chunk(2, 2); }},
      {"aten::unbind.int", [](const Tensor& t) { return t.unbind(1); }},
      {"aten::contiguous", [](const Tensor& t) { return std::vector{t.contiguous()}; }},
      {"aten::to.dtype_layout", [](const Tensor& t) { return std::vector{t.to(TensorOptions(kFloat))}; }},
      {"aten::to.device", [](const Tensor& t) { return std::vector{t.to(Device(kCPU), kFloat)}; }},
      {"aten::to.dtype", [](const Tensor& t) { return std::vector{t.to(kFloat)}; }},
      {"aten::to.other", [](const Tensor& t) { return std::vector{t.to(ones({1}))}; }},
  };
  const auto it = kViews.find(name);
  return it == kViews.end() ? std::vector<Tensor>() : it->second(t);
}

bool isView(const FunctionSchema& schema) {
  for (const Argument& r : schema.returns())
    if (r.hasAlias() && !r.is_write()) return true;
  return false;
}

TEST(FunctionalRules, EveryViewCanBeWrittenThrough) {
  for (const OperatorHandle& op : dictionary()) {
    if (!isView(op.schema())) continue;
    const std::string name = op.operator_name().str();
    ASSERT_FALSE(viewsOf(iota({2, 3, 4}), name).empty())
        << name << ": a view operator that this test doesn't know; add it to the table above";
    SCOPED_TRACE(name);
    expectSameProgram({iota({2, 3, 4})}, [&](const std::vector<Tensor>& in) {
      const NoGradGuard no_grad;
      const Tensor other = in[0].view({24});
      std::vector<Tensor> views = viewsOf(in[0], name);
      for (Tensor& view : views) {
        view.mul_(2);
        view.copy_(view.add(1));
      }
      other.add_(100);
      for (Tensor& view : views) view = view.clone();
      return views;
    });
  }
}

TEST(FunctionalRules, ReadableInverses) {
  // What runs below is seen by a kernel in the place of the operator.
  static std::vector<std::string> seen;
  seen.clear();
  std::vector<Library> spies;
  for (const char* name : {"select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter"}) {
    spies.emplace_back(Library::Kind::kImpl, "aten", DispatchKey::BackendSelect);
    spies.back().impl(name, CppFunction::makeFromBoxed([](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
                        seen.push_back(op.operator_name().str());
                        op.redispatchBoxed(ks & DispatchKeySet::fullAfter(DispatchKey::BackendSelect), stack);
                      }));
  }
  const Tensor x = to_functional(iota({3, 3}));
  x[0].add_(1);
  x.slice(1, 1).add_(1);
  x.diagonal().add_(1);
  x.t().add_(1);
  x[0][1].add_(1);
  EXPECT_THAT(seen, testing::ElementsAre("aten::select_scatter", "aten::slice_scatter", "aten::diagonal_scatter",
                                         "aten::as_strided_scatter", "aten::as_strided_scatter"));
}

}  // namespace
}  // namespace shunt::test
