// Names of the device types for backends outside the library: PrivateUse1, 2 and 3. They are called "privateuseone",
// "privateusetwo" and "privateusethree" until a backend library renames them. Any thread.
#pragma once

#include <shunt/tensor/device.h>

#include <string>

namespace shunt {

/// Renames DeviceType::PrivateUse1 for the life of the process. It then prints as `name`, and Device(name) and
/// Device(name + ":0") refer to it. As torch.utils.rename_privateuse1_backend.
/// - "privateuseone" stays valid, and dispatch keys keep their names (PrivateUse1, AutogradPrivateUse1, ...).
/// - The same name again has no effect; another name throws.
/// - `name` starts with a lower-case letter, followed by lower-case letters, digits and underscores. Throws otherwise.
/// - Throws for the name of another device type, except "opencl", "opengl" and "ideep", which have no backend or key.
SHUNT_API void rename_privateuse1_backend(const std::string& name);
/// The same for any of the three types, so that one process can use three such backends. Throws for other types.
SHUNT_API void rename_privateuse_backend(DeviceType type, const std::string& name);
/// "privateuseone", or the name that it was given.
SHUNT_API std::string get_privateuse1_backend();

}  // namespace shunt
