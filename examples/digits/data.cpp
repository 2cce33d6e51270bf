#include "examples/digits/data.h"

#include <zlib.h>

#include <charconv>
#include <memory>
#include <random>
#include <stdexcept>
#include <string_view>

namespace digits {
namespace {

std::string readGzip(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (!file) throw std::runtime_error("cannot open " + path + "; give the file with --data");
  std::string text;
  char buffer[1 << 16];
  int n = 0;
  while ((n = gzread(file.get(), buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(n));
  if (n < 0) throw std::runtime_error(path + " is not a whole gzip file");
  return text;
}

void parseRow(std::string_view line, Data& out) {
  const char* p = line.data();
  const char* const end = p + line.size();
  for (int64_t column = 0; column <= kPixels; ++column) {
    int value = -1;
    const auto [next, error] = std::from_chars(p, end, value);
    const bool last = column == kPixels;
    if (error != std::errc() || value < 0 || value > (last ? 9 : 16) ||
        (last ? next != end : next == end || *next != ','))
      throw std::runtime_error("row " + std::to_string(out.labels.size() + 1) + ", column " +
                               std::to_string(column + 1) +
                               ": expected 64 pixels from 0 to 16 and a label from 0 to 9");
    if (last)
      out.labels.push_back(value);
    else
      out.images.push_back(static_cast<float>(value) / 16.0f);
    p = next + 1;
  }
}

}  // namespace

Data load(const std::string& path) {
  const std::string text = readGzip(path);
  Data out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) parseRow(std::string_view(text).substr(begin, end - begin), out);
    begin = end + 1;
  }
  if (out.labels.size() != static_cast<size_t>(kRows))
    throw std::runtime_error(path + " has " + std::to_string(out.labels.size()) + " rows, expected " +
                             std::to_string(kRows));
  return out;
}

std::vector<int64_t> shuffledRows(int epoch) {
  std::mt19937_64 random(static_cast<uint64_t>(1234 + epoch));
  std::vector<int64_t> rows(kTrainRows);
  for (int64_t i = 0; i < kTrainRows; ++i) rows[static_cast<size_t>(i)] = i;
  // Fisher-Yates by hand: std::shuffle differs between standard libraries.
  for (size_t i = rows.size() - 1; i > 0; --i) std::swap(rows[i], rows[random() % (i + 1)]);
  return rows;
}

}  // namespace digits
