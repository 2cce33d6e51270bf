#include "src/base/about_file.h"

#include <unistd.h>

#include <cstdint>
#include <system_error>

namespace shunt::detail {
namespace {

/// The bytes of the character that begins at `at`; 0 where none does (RFC 3629: no surrogates, nothing overlong).
size_t utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  // What follows the lead has a narrower range after some of them.
  const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  return length;
}

}  // namespace

bool isUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8Length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string shown(std::string_view text, size_t most) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "'";
  size_t at = 0;
  while (at < text.size() && at < most) {
    const auto c = static_cast<unsigned char>(text[at]);
    const size_t length = utf8Length(text, at);
    // C1 controls are the two bytes c2 80 to c2 9f.
    const bool control =
        c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0);
    if (length == 0 || control) {
      out += "\\x";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
      ++at;
      continue;
    }
    out += text.substr(at, length);
    at += length;
  }
  return out + (at < text.size() ? "...'" : "'");
}

void AboutFile::failWith(int error, const char* what) const {
  fail(what, ": ", std::generic_category().message(error));
}

int Descriptor::close() noexcept {
  const int number = std::exchange(number_, -1);
  return number < 0 ? 0 : ::close(number);
}

}  // namespace shunt::detail
