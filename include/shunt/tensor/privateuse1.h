// The names of the device types that outside backends use: PrivateUse1, 2 and 3, "privateuseone", "privateusetwo" and
// "privateusethree" until a backend library renames them.
#pragma once

#include <shunt/tensor/device.h>

#include <string>

namespace shunt {

/// From now on DeviceType::PrivateUse1 prints as `name`, and Device(name) and Device(name + ":0") mean it;
/// "privateuseone" is understood as well, and the names of keys stay (PrivateUse1, AutogradPrivateUse1, ...). For the
/// life of the process: the same name again changes nothing, another one throws. A name is lower-case letters, digits
/// and underscores and none of a device type that has a backend or a key of its own; "opencl", "opengl" and "ideep",
/// which have neither, give way. Any thread. As PyTorch's torch.utils.rename_privateuse1_backend.
SHUNT_API void rename_privateuse1_backend(const std::string& name);
/// The same for any of the three, so that three outside backends can stand side by side. Throws for other types.
SHUNT_API void rename_privateuse_backend(DeviceType type, const std::string& name);
/// "privateuseone", or what it was renamed to.
SHUNT_API std::string get_privateuse1_backend();

}  // namespace shunt
