// What a kernel calls by a name that several libraries have.
#pragma once

#include <shunt/core/macros.h>

extern "C" SHUNT_API double factor();
