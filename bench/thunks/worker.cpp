#include "bench/thunks/worker.h"

#include "bench/thunks/interleave.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr int kIn = 0, kOut = 1;
constexpr int64_t kDidNotHold = -1;

bool readWhole(int fd, int64_t& value) { return read(fd, &value, sizeof value) == sizeof value; }
bool writeWhole(int fd, int64_t value) { return write(fd, &value, sizeof value) == sizeof value; }

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string(what) + ": " + std::strerror(errno)); }

}  // namespace

Worker::Worker(const std::string& scenario, const Settings& settings) {
  int requests[2], answers[2];
  if (pipe(requests) != 0 || pipe(answers) != 0) fail("pipe");
  process_ = fork();
  if (process_ < 0) fail("fork");
  if (process_ == 0) {
    dup2(requests[0], kIn);
    dup2(answers[1], kOut);
    for (const int fd : {requests[0], requests[1], answers[0], answers[1]}) close(fd);
    for (const auto& [name, value] : settings) setenv(name, value.c_str(), 1);
    execl("/proc/self/exe", "bench_bars", "--worker", scenario.c_str(), nullptr);
    _exit(2);
  }
  close(requests[0]);
  close(answers[1]);
  to_ = requests[1];
  from_ = answers[0];
}

Worker::~Worker() {
  close(to_);
  close(from_);
  waitpid(process_, nullptr, 0);
}

int64_t Worker::timeCalls(int64_t count) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    int64_t answer = 0;
    if (!writeWhole(to_, count) || !readWhole(from_, answer)) throw std::runtime_error("a worker ended");
    if (answer != kDidNotHold) return answer;
  }
  throw std::runtime_error("a worker's calls were never what they should be");
}

int serveAsWorker(const std::string& name) {
  const auto scenario = makeScenario(name);
  for (int64_t count = 0; readWhole(kIn, count);) {
    scenario->beforeCalls();
    const int64_t start = threadNanoseconds();
    for (int64_t i = 0; i < count; ++i) scenario->run();
    const int64_t took = threadNanoseconds() - start;
    if (!writeWhole(kOut, scenario->held() ? took : kDidNotHold)) return 2;
  }
  return 0;
}

}  // namespace bench
