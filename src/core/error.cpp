#include <shunt/core/error.h>

namespace shunt::detail {

void throwError(std::string message, std::source_location where) { throw Error(message, where); }

void throwIndexError(std::string message, std::source_location where) { throw IndexError(message, where); }

void throwInternal(const char* condition, std::string message, std::source_location where) {
  throw Error(str("internal error in Shunt: ", condition, " does not hold at ", where.file_name(), ":", where.line(),
                  message.empty() ? "" : ": ", message, ". Please report this with the program that caused it."),
              where);
}

}  // namespace shunt::detail
