// A disk cache of its own for each test, and a probe that fills it or loads from it, in processes of its own.
#pragma once

#include "jit/cache/cache_file.h"
#include "tests/jit/util.h"
#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace shunt::jit::test {

namespace fs = std::filesystem;

/// What the probe counted, by name, and all that it printed.
struct Report {
  std::map<std::string, int> counts;
  std::string text;
  int operator[](const std::string& name) const { return counts.at(name); }
};

inline std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class CacheOfProbe : public testing::Test {
 protected:
  /// The probe's environment is as in `settings`.
  CacheOfProbe(std::string probe, std::string settings) : probe(std::move(probe)), settings(std::move(settings)) {
    std::string name = (fs::temp_directory_path() / "shunt_cache_XXXXXX").string();
    root = mkdtemp(name.data());
    directory = root / "cache";
  }
  ~CacheOfProbe() override { fs::remove_all(root); }

  std::string command(const std::string& variables) const {
    return "env -u SHUNT_JIT OPENBLAS_NUM_THREADS=1 " + settings + " SHUNT_JIT_CACHE=" + directory.string() + " " +
           variables + " " + probe + " 2>&1";
  }
  /// The probe's results are equal to the interpreter's, whatever became of the cache.
  Report run(const std::string& variables = "") const {
    const shunt::test::CommandResult ran = shunt::test::runCommand(command(variables));
    EXPECT_EQ(ran.status, 0) << ran.text;
    Report out{{}, ran.text};
    std::istringstream words(ran.text.substr(std::min(ran.text.find("good="), ran.text.size())));
    for (std::string word; words >> word;)
      if (const size_t at = word.find('='); at != word.npos)
        out.counts[word.substr(0, at)] = std::atoi(word.c_str() + at + 1);
    for (const char* name : {"good", "thunks", "compiled", "loaded", "rejected", "failed"})
      out.counts.try_emplace(name, -1);
    EXPECT_EQ(out["good"], 1) << ran.text;
    EXPECT_EQ(out["thunks"], 1) << ran.text;
    return out;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& f : fs::directory_iterator(directory)) out.push_back(f.path());
    std::sort(out.begin(), out.end());
    return out;
  }
  /// The content of the file of each number becomes what `change` makes of it: as many cases in one run as there are
  /// files.
  void change(const std::function<std::string(size_t, std::string)>& change) const {
    size_t n = 0;
    for (const fs::path& f : files()) {
      const std::string content = contentOf(f);
      std::ofstream(f, std::ios::trunc) << change(n++, content);
    }
  }
  void changeObjects(const std::function<void(size_t, CachedObject&)>& change) const {
    this->change([&](size_t n, const std::string& content) {
      CachedObject object = must(decode(content));
      change(n, object);
      return encode(object);
    });
  }
  /// The first process's. It may load what it compiled itself before, for pairs that share a key.
  void fill() { first = run(); }
  int thunks() const { return first["compiled"] + first["loaded"]; }
  /// Each file's content, by its name.
  std::map<fs::path, std::string> contents() const {
    std::map<fs::path, std::string> out;
    for (const fs::path& f : files()) out[f.filename()] = contentOf(f);
    return out;
  }
  /// The last character of a line of each file's key becomes another one, of as many facts as there are.
  void changeFacts(const std::vector<std::string>& facts) const {
    ASSERT_GE(files().size(), facts.size());
    changeObjects([&](size_t n, CachedObject& object) {
      const std::string& fact = facts[n % facts.size()];
      const size_t at = ("\n" + object.key).find("\n" + fact);
      ASSERT_NE(at, std::string::npos) << fact;
      char& last = object.key[object.key.find('\n', at) - 1];
      last = last == '1' ? '2' : '1';
    });
  }
  /// Nothing is loaded of what lies there, all of it is compiled, and lies there again afterwards.
  void expectRejected(const std::string& what) const {
    const Report again = run("SHUNT_LOG=info");
    EXPECT_EQ(again["rejected"], static_cast<int>(files().size())) << what << '\n' << again.text;
    EXPECT_EQ(again["compiled"], first["compiled"]) << what;
    EXPECT_EQ(run()["loaded"], thunks()) << what << ": not stored again";
  }
  void expectSameBytesFromEachProcess() {
    run();
    const auto before = contents();
    fs::remove_all(directory);
    run();
    for (const auto& [name, content] : contents())
      EXPECT_TRUE(before.contains(name) && before.at(name) == content) << must(decode(content)).key;
    EXPECT_EQ(files().size(), before.size());
  }
  /// One byte of each file is another, from the first to the last.
  void expectChangedBytesRejected() {
    fill();
    const size_t count = files().size();
    change([&](size_t n, std::string content) {
      const size_t at = n * (content.size() - 1) / (count - 1);
      content[at] = static_cast<char>(content[at] ^ 0x20);
      return content;
    });
    expectRejected("in the whole file");
  }
  void expectCutFilesRejected() {
    fill();
    const size_t count = files().size();
    change([&](size_t n, const std::string& content) { return content.substr(0, n * content.size() / count); });
    expectRejected("cut short");
  }

  const std::string probe, settings;
  fs::path root, directory;
  Report first;
};

}  // namespace shunt::jit::test
