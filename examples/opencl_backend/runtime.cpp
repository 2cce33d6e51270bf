#include "runtime.h"

namespace opencl {

void check(cl_int status, const char* call) {
  SHUNT_CHECK(status == CL_SUCCESS, "opencl: ", call, " failed with status ", status);
}

Runtime& Runtime::get() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() {
  cl_uint n = 0;
  SHUNT_CHECK(clGetPlatformIDs(0, nullptr, &n) == CL_SUCCESS && n > 0,
              "opencl: no OpenCL platform is installed; on Debian: apt-get install pocl-opencl-icd");
  std::vector<cl_platform_id> platforms(n);
  check(clGetPlatformIDs(n, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS || n == 0) continue;
    devices_.resize(n);
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, devices_.data(), nullptr), "clGetDeviceIDs");
    break;
  }
  SHUNT_CHECK(!devices_.empty(), "opencl: none of the ", platforms.size(), " OpenCL platforms has a device");
  cl_int status = CL_SUCCESS;
  context_ =
      clCreateContext(nullptr, static_cast<cl_uint>(devices_.size()), devices_.data(), nullptr, nullptr, &status);
  check(status, "clCreateContext");
  for (cl_device_id device : devices_) {
    queues_.push_back(clCreateCommandQueue(context_, device, 0, &status));
    check(status, "clCreateCommandQueue");
  }
}

std::string Runtime::deviceName(shunt::DeviceIndex index) const {
  char name[256] = {};
  check(clGetDeviceInfo(devices_.at(static_cast<size_t>(index)), CL_DEVICE_NAME, sizeof name - 1, name, nullptr),
        "clGetDeviceInfo");
  return name;
}

cl_kernel Runtime::kernelOf(const std::string& source, const char* kernel) {
  cl_kernel& known = kernels_[source + kernel];
  if (known != nullptr) return known;
  const char* text = source.c_str();
  cl_int status = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(context_, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  if (clBuildProgram(program, 0, nullptr, "-cl-fp32-correctly-rounded-divide-sqrt", nullptr, nullptr) != CL_SUCCESS) {
    std::string log(16384, '\0');
    clGetProgramBuildInfo(program, devices_.front(), CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
    throw shunt::Error(
        shunt::detail::str("opencl: the kernel ", kernel, " can't be built:\n", log.c_str(), "\n", source));
  }
  cl_kernel made = clCreateKernel(program, kernel, &status);
  check(status, "clCreateKernel");
  return known = made;
}

}  // namespace opencl
