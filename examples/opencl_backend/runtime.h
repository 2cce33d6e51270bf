// OpenCL, as little of it as the backend needs: one platform's devices, a queue for each, and kernels built from source
// on first use.
//
// Made when the library is loaded, never destroyed: tensors may outlive every static object. The queues run in order,
// so a kernel sees what was queued before it; only copies to the host wait. Any thread: a kernel's arguments are set
// and it is queued under one lock.
#pragma once

#include <shunt/shunt.h>

#include <CL/cl.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace opencl {

/// Throws shunt::Error that names the OpenCL call and its status.
void check(cl_int status, const char* call);

class Runtime {
 public:
  /// Throws when there is no OpenCL platform with a device.
  static Runtime& get();

  shunt::DeviceIndex deviceCount() const { return static_cast<shunt::DeviceIndex>(queues_.size()); }
  std::string deviceName(shunt::DeviceIndex index) const;
  cl_context context() const { return context_; }
  cl_command_queue queue(shunt::Device device) const { return queues_.at(static_cast<size_t>(device.index())); }

  /// Runs `kernel` of `source` over a range of work items; the arguments are numbers, buffers and plain structs, in the
  /// kernel's order.
  template <class... A>
  void run(shunt::Device device, const std::string& source, const char* kernel, std::vector<size_t> range,
           const A&... arguments) {
    for (size_t n : range)
      if (n == 0) return;
    const std::lock_guard lock(mutex_);
    cl_kernel k = kernelOf(source, kernel);
    cl_uint i = 0;
    (check(clSetKernelArg(k, i++, sizeof(A), &arguments), "clSetKernelArg"), ...);
    check(clEnqueueNDRangeKernel(queue(device), k, static_cast<cl_uint>(range.size()), nullptr, range.data(), nullptr,
                                 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }

 private:
  Runtime();
  cl_kernel kernelOf(const std::string& source, const char* kernel);

  std::vector<cl_device_id> devices_;
  cl_context context_ = nullptr;
  std::vector<cl_command_queue> queues_;
  std::mutex mutex_;
  std::map<std::string, cl_kernel> kernels_;  // by source and name
};

/// The buffer that a tensor's data is in. A data pointer of this device is its handle, so nothing may be added to it:
/// kernels get the tensor's offset as a number.
inline cl_mem bufferOf(const shunt::Tensor& t) { return reinterpret_cast<cl_mem>(t.storage()->data()); }

}  // namespace opencl
