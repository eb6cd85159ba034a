// Functions of groups and sub-groups: reductions, scans, broadcasts, votes, shuffles.
#include "check.hpp"

constexpr int N = 1024, GROUP = 128;

int main() {
#if defined(ACPP_VERSION_MAJOR) && ACPP_VERSION_MAJOR * 100 + ACPP_VERSION_MINOR < 2410
  std::cerr << "AdaptiveCpp before 24.10 declares these functions for CUDA and defines none" << std::endl;
  return 77;
#else
  sycl::queue queue{gpu(), sycl::property::queue::in_order{}};
  int *in = sycl::malloc_shared<int>(N, queue), *out = sycl::malloc_shared<int>(N, queue);
  for (int i = 0; i < N; i++) in[i] = (i * 37) % 1000;
  sycl::nd_range<1> groups{sycl::range{N}, sycl::range{GROUP}};

  queue.parallel_for(groups, [=](sycl::nd_item<1> item) {
    auto group = item.get_group();
    int i = item.get_global_id(0), sum = sycl::reduce_over_group(group, in[i], sycl::plus<int>{});
    int before = sycl::exclusive_scan_over_group(group, 1, sycl::plus<int>{});
    int first = sycl::group_broadcast(group, in[i], 0);
    bool some = sycl::any_of_group(group, in[i] == 999), all = sycl::all_of_group(group, in[i] >= 0);
    int other = sycl::permute_group_by_xor(item.get_sub_group(), in[i], 1);
    out[i] = sum + 1000 * before + first + (some ? 7 : 0) + (all ? 0 : 1) + other;
  }).wait();
  for (int i = 0; i < N; i++) {
    int from = i / GROUP * GROUP, sum = 0;
    bool some = false;
    for (int t = 0; t < GROUP; t++) sum += in[from + t], some |= in[from + t] == 999;
    CHECK(out[i] == sum + 1000 * (i % GROUP) + in[from] + (some ? 7 : 0) + in[i ^ 1]);
  }
  sycl::free(in, queue);
  sycl::free(out, queue);
  std::cout << "SYCL groups as expected" << std::endl;
#endif
}
