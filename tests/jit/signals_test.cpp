// A program's signals are for its own threads: not for the compiler's, the pool's, OpenBLAS's.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace shunt;

constexpr int kThreads = 5;  // the pool's and the caller

struct ThreadMask {
  pid_t thread;
  uint64_t blocked;  // bit n - 1: signal n
  bool blocks(int signal) const { return (blocked >> (signal - 1) & 1) != 0; }
};

/// All threads of the process but the calling one.
std::vector<ThreadMask> otherThreads() {
  std::vector<ThreadMask> masks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(entry.path().filename().string());
    std::ifstream status(entry.path() / "status");
    for (std::string line; thread != gettid() && std::getline(status, line);)
      if (line.starts_with("SigBlk:")) masks.push_back({thread, std::stoull(line.substr(7), nullptr, 16)});
  }
  return masks;
}

/// The same once there are `least` and all have begun, or after ten seconds. A pool starts its threads one by one while
/// there is work, and libc blocks every signal in a thread that it is creating.
std::vector<ThreadMask> startedThreads(size_t least) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const Tensor big = ones({1 << 20});
  while (true) {
    std::vector<ThreadMask> threads = otherThreads();
    const bool begun = std::ranges::none_of(threads, [](const ThreadMask& t) { return t.blocks(SIGSEGV); });
    if ((threads.size() >= least && begun) || std::chrono::steady_clock::now() > deadline) return threads;
    big.add(big);
  }
}

/// Starts all that Shunt starts, in the order that programs come upon it.
void useEverything() {
  const Tensor a = ones({16});
  for (int i = 0; i < 4096; ++i) a.add(a);
  jit::wait_idle();
  ASSERT_GT(jit::stats().compiled, 0u) << "the compiler's thread did not start";
  set_num_threads(kThreads);
  const Tensor big = ones({1 << 20}), m = ones({64, 64});
  for (int i = 0; i < 50; ++i) big.add(big);
  m.mm(m);
  m.to(kBFloat16).mm(m.to(kBFloat16));
}

void expectMasked(const std::vector<ThreadMask>& threads) {
  for (const ThreadMask& t : threads) {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGCHLD, SIGCONT,
                             SIGTSTP, SIGURG, SIGVTALRM, SIGPROF, SIGWINCH, SIGIO, SIGRTMIN, SIGRTMAX})
      EXPECT_TRUE(t.blocks(signal)) << "thread " << t.thread << " takes signal " << signal;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
      EXPECT_FALSE(t.blocks(signal)) << "thread " << t.thread << " blocks signal " << signal;
  }
}

TEST(Signals, NoThreadThatIsNotTheProgramsTakesThem) {
  useEverything();
  const std::vector<ThreadMask> threads = startedThreads(kThreads);
  EXPECT_GE(threads.size(), size_t{kThreads}) << "the compiler's and the pool's";
  expectMasked(threads);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  for (int signal = 1; signal < SIGRTMAX; ++signal)
    EXPECT_NE(sigismember(&mine, signal), 1) << "the program's thread was left with signal " << signal << " blocked";
}

std::atomic<int> taken{0};

// What a server does: no handler is to run, one thread waits.
TEST(Signals, AProgramThatBlocksOneWaitsForIt) {
  useEverything();
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  std::signal(SIGUSR1, [](int) { ++taken; });
  for (int i = 0; i < 20; ++i) {
    kill(getpid(), SIGUSR1);
    const timespec some_time{20, 0};
    EXPECT_EQ(sigtimedwait(&set, nullptr, &some_time), SIGUSR1);
  }
  EXPECT_EQ(taken, 0) << "a thread of Shunt's ran the handler";
  std::signal(SIGUSR1, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Each number of threads has an arena of its own, whose threads may be new ones.
TEST(Signals, MoreThreadsLater) {
  useEverything();
  set_num_threads(kThreads + 4);
  const Tensor big = ones({1 << 20});
  for (int i = 0; i < 50; ++i) big.add(big);
  const std::vector<ThreadMask> threads = startedThreads(kThreads + 4);
  EXPECT_GE(threads.size(), size_t{kThreads} + 4);
  expectMasked(threads);
}

std::atomic<pid_t> faulted{0};

TEST(Signals, AWorkersFaultReachesItsHandler) {
  set_num_threads(kThreads);
  std::signal(SIGSEGV, [](int) { faulted = gettid(); });
  std::atomic<pid_t> worker{0};
  for (int i = 0; i < 100 && worker == 0; ++i) {
    parallelFor(0, 64, 1, [&](int64_t, int64_t) {
      pid_t none = 0;
      if (gettid() == getpid())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      else if (worker.compare_exchange_strong(none, gettid()))
        raise(SIGSEGV);
    });
  }
  std::signal(SIGSEGV, SIG_DFL);
  ASSERT_NE(worker, 0) << "no worker came";
  EXPECT_EQ(faulted, worker);
}

TEST(Signals, NorDoThreadsOfAForksChild) {
  useEverything();
  jit::wait_idle();  // a fork that comes upon a compile leaves a child that never compiles
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Tensor a = ones({3, 5});
    for (int i = 0; i < 4096; ++i) a.mul(a);
    jit::wait_idle();
    const auto threads = otherThreads();
    expectMasked(threads);
    _exit(threads.empty() ? 2 : testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
