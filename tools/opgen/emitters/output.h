// The generated files. A file is written only when its content changed, so that nothing is compiled again needlessly.
#pragma once

#include <string>
#include <vector>

namespace opgen {

class Output {
 public:
  explicit Output(std::string directory) : directory_(std::move(directory)) {}
  /// `path` relative to the output directory. Throws when the file can't be written.
  void write(const std::string& path, const std::string& content) const;

 private:
  std::string directory_;
};

/// Which of `count` files an entry goes to: by its key only.
size_t shardOf(const std::string& key, size_t count);

/// Text spread over a fixed number of source files. Where an entry goes depends on its key only, a name or what several
/// entries share: adding one operator changes one file.
class Shards {
 public:
  /// Files <stem>_0.cpp ... <stem>_<count-1>.cpp, each beginning with `head` and ending with `tail`.
  Shards(std::string stem, size_t count, std::string head, std::string tail);
  void add(const std::string& key, const std::string& text) { bodies_[shardOf(key, bodies_.size())] += text; }
  void write(const Output& out) const;

 private:
  std::string stem_, head_, tail_;
  std::vector<std::string> bodies_;
};

/// The first line of every generated file.
extern const char* const kBanner;

}  // namespace opgen
