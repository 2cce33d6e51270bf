// Listeners hear of definitions and of their end, whatever they do themselves.
#include "tests/dispatch/util.h"

#include <shunt/core/log.h>
#include <shunt/shunt.h>

#include <functional>
#include <stdexcept>
#include <thread>

namespace shunt {
namespace {

using namespace test;
using testing::HasSubstr;

TEST(Listeners, ListenersHearOfDefinitions) {
  struct Recorder : OpRegistrationListener {
    explicit Recorder(std::vector<std::string>& log) : log(log) {}
    void onOperatorRegistered(const OperatorHandle& op) override {
      if (op.op().name().starts_with("regC")) log.push_back("+" + op.operator_name().str());
    }
    void onOperatorDeregistered(const OperatorHandle& op) override {
      if (op.op().name().starts_with("regC")) log.push_back("-" + op.operator_name().str());
    }
    std::vector<std::string>& log;
  };
  std::vector<std::string> log;
  Library before = fragment("regC");
  before.def("early(Tensor x) -> int");
  {
    RegistrationHandle handle = Dispatcher::singleton().addRegistrationListener(std::make_unique<Recorder>(log));
    Library def = fragment("regC");
    def.def("f(Tensor x) -> int");
  }
  Library after = fragment("regC");
  after.def("late(Tensor x) -> int");
  EXPECT_THAT(log, testing::ElementsAre("+regC::early", "+regC::f", "-regC::f"));
}

/// Notes what it hears of a namespace, and throws at any of it if told to.
struct Thrower : OpRegistrationListener {
  struct Log {
    Log(std::string ns, bool throws) : ns(std::move(ns)), throws(throws) {}
    std::string ns;
    bool throws;
    std::vector<std::string> heard;
    std::function<void(const std::string&)> meanwhile = [](const std::string&) {};
  };
  explicit Thrower(Log& log) : log(log) {}
  void hear(const char* sign, const OperatorHandle& op) {
    if (!op.op().name().starts_with(log.ns)) return;
    log.heard.push_back(sign + op.operator_name().str());
    log.meanwhile(log.heard.back());
    if (log.throws) throw std::runtime_error("no thanks");
  }
  void onOperatorRegistered(const OperatorHandle& op) override { hear("+", op); }
  void onOperatorDeregistered(const OperatorHandle& op) override { hear("-", op); }
  Log& log;
};

TEST(Listeners, WhatAListenerThrowsIsLoggedAndChangesNothing) {
  static std::vector<std::string> warnings;
  warnings.clear();
  const LogSink before = set_log_sink([](LogLevel, const char* message) { warnings.push_back(message); });
  Thrower::Log bad("regI", true), good("regI", false);
  {
    RegistrationHandle first = Dispatcher::singleton().addRegistrationListener(std::make_unique<Thrower>(bad));
    RegistrationHandle second = Dispatcher::singleton().addRegistrationListener(std::make_unique<Thrower>(good));
    Library def = fragment("regI");
    def.def("f(Tensor x) -> int", [](const Tensor&) -> int64_t { return 1; });
    EXPECT_EQ(findOp("regI::f").typed<int64_t(const Tensor&)>().call(cpuTensor()), 1);
  }
  set_log_sink(before);
  EXPECT_FALSE(Dispatcher::singleton().findOp(OperatorName("regI::f", "")));
  EXPECT_THAT(bad.heard, testing::ElementsAre("+regI::f", "-regI::f"));
  EXPECT_EQ(good.heard, bad.heard) << "the one after it is told all the same";
  EXPECT_THAT(warnings,
              testing::ElementsAre(testing::AllOf(HasSubstr("regI::f was registered: "), HasSubstr("no thanks")),
                                   testing::AllOf(HasSubstr("regI::f was deregistered: "), HasSubstr("no thanks"))));
}

TEST(Listeners, AListenerThatThrowsWhileAddedIsNotAdded) {
  Library def = fragment("regJ");
  def.def("f(Tensor x) -> int");
  Thrower::Log log("regJ", true);
  EXPECT_THAT(
      errorOf<std::exception>([&] { Dispatcher::singleton().addRegistrationListener(std::make_unique<Thrower>(log)); }),
      HasSubstr("no thanks"));
  def.def("g(Tensor x) -> int");
  EXPECT_THAT(log.heard, testing::ElementsAre("+regJ::f"));
  EXPECT_THAT(errorOf([] { Dispatcher::singleton().addRegistrationListener(nullptr); }),
              HasSubstr("the listener is null"));
}

TEST(Listeners, AListenerHearsOnceOfWhatOtherThreadsDoWhileItIsAdded) {
  Library stays = fragment("regK");
  stays.def("a(Tensor x) -> int");
  std::optional<Library> goes(fragment("regK"));
  goes->def("b(Tensor x) -> int");
  Library comes = fragment("regK");
  Thrower::Log log("regK", false);
  log.meanwhile = [&](const std::string& heard) {
    if (heard != "+regK::a") return;
    std::thread([&] {
      comes.def("c(Tensor x) -> int");
      goes.reset();
    }).join();
  };
  RegistrationHandle handle = Dispatcher::singleton().addRegistrationListener(std::make_unique<Thrower>(log));
  EXPECT_THAT(log.heard, testing::ElementsAre("+regK::a", "+regK::b", "-regK::b", "+regK::c"));
  comes.reset();
  EXPECT_EQ(log.heard.back(), "-regK::c");
  EXPECT_EQ(log.heard.size(), 5u);
}

}  // namespace
}  // namespace shunt
