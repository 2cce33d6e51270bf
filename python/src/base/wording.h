// Messages of the library, which is C++'s too, in Python's words.
#pragma once

#include <string>
#include <string_view>

namespace shunt::python {

/// The message with C++'s names replaced by what a program in Python writes: one table, in wording.cpp.
std::string inPython(std::string_view message);

}  // namespace shunt::python
