// Where a call's table entries come from: reasons and places of registration, as one snapshot under the dispatcher's
// lock.
#pragma once

#include "src/dispatch/registrations.h"

namespace shunt {

struct SlotOrigin {
  DispatchKey key;
  EntryReason reason;
  std::string place;     // "file.cpp:12"; empty where nothing is registered
  bool boxed = false;    // its kernel has no C++ signature
  bool skipped = false;  // calls look past it
};

struct CallOrigins {
  DispatchKeySet keys;            // those the call looks at
  std::vector<SlotOrigin> slots;  // of every key given, highest first, and of Undefined where there is no other
};

/// What a call of the operator with these keys (arguments' and thread's, before the operator's mask) can run through.
CallOrigins originsOf(const Operator& op, DispatchKeySet keys);

}  // namespace shunt
