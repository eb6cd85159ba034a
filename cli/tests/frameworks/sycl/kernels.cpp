// What kernels compute: groups with local memory and barriers, reductions, atomics with their orders and scopes, halves and
// doubles, vectors.
#include "check.hpp"

constexpr int N = 1024, GROUP = 128;

int main() {
  sycl::queue queue{gpu(), sycl::property::queue::in_order{}};
  int *in = sycl::malloc_shared<int>(N, queue), *out = sycl::malloc_shared<int>(N, queue);
  for (int i = 0; i < N; i++) in[i] = (i * 37) % 1000;
  sycl::nd_range<1> groups{sycl::range{N}, sycl::range{GROUP}};

  queue.submit([&](sycl::handler &group) {
    sycl::local_accessor<int> part{sycl::range{GROUP}, group};
    group.parallel_for(groups, [=](sycl::nd_item<1> item) {
      int t = item.get_local_id(0);
      part[t] = in[item.get_global_id(0)];
      sycl::group_barrier(item.get_group());
      out[item.get_global_id(0)] = part[GROUP - 1 - t];
    });
  }).wait();
  for (int i = 0; i < N; i++) CHECK(out[i] == in[i / GROUP * GROUP + GROUP - 1 - i % GROUP]);

  int *sum = sycl::malloc_shared<int>(2, queue);
  sum[0] = 100, sum[1] = 0;
  queue.parallel_for(sycl::range{N}, sycl::reduction(sum, sycl::plus<int>{}), sycl::reduction(sum + 1, sycl::maximum<int>{}),
                     [=](sycl::id<1> i, auto &total, auto &most) {
                       total += in[i];
                       most.combine(in[i]);
                     })
      .wait();
  CHECK(sum[0] == 100 + std::accumulate(in, in + N, 0) && sum[1] == *std::max_element(in, in + N));

  std::fill(out, out + N, 0);
  queue.parallel_for(sycl::range{N}, [=](sycl::id<1> i) {
    using sycl::memory_order, sycl::memory_scope, sycl::access::address_space;
    sycl::atomic_ref<int, memory_order::relaxed, memory_scope::device, address_space::global_space> bin{out[in[i] & 7]};
    bin.fetch_add(1);
    sycl::atomic_ref<int, memory_order::acq_rel, memory_scope::device, address_space::global_space> most{out[8]};
    int seen = most.load(memory_order::relaxed);
    while (seen < in[i] && !most.compare_exchange_weak(seen, in[i])) {}
  }).wait();
  int bins[9] = {};
  for (int i = 0; i < N; i++) bins[in[i] & 7]++, bins[8] = std::max(bins[8], in[i]);
  for (int i = 0; i < 9; i++) CHECK(out[i] == bins[i]);

  double *d = sycl::malloc_shared<double>(64, queue);
  sycl::half *h = sycl::malloc_shared<sycl::half>(64, queue);
  sycl::float4 *v = sycl::malloc_shared<sycl::float4>(64, queue);
  queue.parallel_for(sycl::range{64}, [=](sycl::id<1> i) {
    d[i] = sycl::sqrt(double(i[0])) + sycl::pow(2.0, 3.0);
    h[i] = sycl::half(float(i[0])) * sycl::half(0.5f);
    sycl::float4 w{1, 2, 3, float(i[0])};
    v[i] = sycl::float4(w.swizzle<3, 2, 1, 0>()) * 2.0f;
  }).wait();
  for (int i = 0; i < 64; i++) {
    CHECK(std::abs(d[i] - 8 - std::sqrt(double(i))) < 1e-12 && float(h[i]) == i * 0.5f);
    CHECK(v[i].x() == 2.0f * i && v[i].w() == 2.0f);
  }
  for (void *memory : {(void *)in, (void *)out, (void *)sum, (void *)d, (void *)h, (void *)v}) sycl::free(memory, queue);
  std::cout << "SYCL kernels as expected" << std::endl;
}
