// Platforms, devices, contexts and queues say what they are and are equal to their copies; so do the native handles.
#include "check.hpp"

int main() {
  sycl::device device = gpu();
  CHECK(device.is_gpu() && !device.is_cpu());
  CHECK(device.get_info<sycl::info::device::name>().find("H200") != std::string::npos);
  CHECK(device.get_info<sycl::info::device::max_compute_units>() == 132);
  CHECK(device.get_info<sycl::info::device::max_work_group_size>() == 1024);
  CHECK(device.get_info<sycl::info::device::local_mem_size>() >= 48 << 10);
  CHECK(device.get_info<sycl::info::device::global_mem_size>() > std::size_t{1} << 30);
  CHECK(device.has(sycl::aspect::fp64) && device.has(sycl::aspect::usm_device_allocations));
  auto sizes = device.get_info<sycl::info::device::sub_group_sizes>();
  CHECK(sizes.size() == 1 && sizes[0] == 32);

  sycl::platform platform = device.get_platform();
  bool listed = false;
  for (auto &other : platform.get_devices()) listed |= other == device;
  CHECK(listed && platform.get_info<sycl::info::platform::name>().size() > 0);

  sycl::context context{device};
  // AdaptiveCpp adds the host.
  auto members = context.get_devices();
  CHECK(std::count(members.begin(), members.end(), device) == 1);
  sycl::queue queue{context, device}, copy = queue, other{context, device, sycl::property::queue::in_order{}};
  CHECK(copy == queue && other != queue && std::hash<sycl::queue>{}(copy) == std::hash<sycl::queue>{}(queue));
  CHECK(other.is_in_order() && !queue.is_in_order() && queue.get_device() == device);
  std::cout << "SYCL queries as expected" << std::endl;
}
