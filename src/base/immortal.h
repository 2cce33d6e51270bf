// immortal<T>(): an object that lives as long as the process.
#pragma once

namespace shunt {

/// Made once, by the first caller, and never destroyed. What the library registers itself is kept so: to take a
/// fallback back makes every operator's table anew, and at exit all fallbacks together took 0.1 s for nothing.
template <class T>
T& immortal() {
  static T* const made = new T;
  return *made;
}

}  // namespace shunt
