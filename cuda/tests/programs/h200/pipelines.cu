// Pipelines and barriers in shared memory: cuda::pipeline, cuda::barrier, primitives, mbarriers by PTX, bulk copies.
#include "common.h"
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/semaphore>
#include <cuda/latch>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
__global__ void staged(const int* in, int* out, int tiles) {
    constexpr int S = 3; __shared__ int buf[S][128]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, S> state; auto b = cg::this_thread_block(); auto p = cuda::make_pipeline(b, &state); int fetched = 0, sum = 0;
    for (int t = 0; t < tiles; t++) { for (; fetched < tiles && fetched < t + S; fetched++) { p.producer_acquire(); cuda::memcpy_async(b, buf[fetched % S], in + fetched * 128, cuda::aligned_size_t<16>(512), p); p.producer_commit(); } p.consumer_wait(); sum = sum * 3 + buf[t % S][(threadIdx.x * 5 + t) % 128]; p.consumer_release(); }
    out[threadIdx.x] = sum;
}
__global__ void roles(const int* in, int* out, int tiles) {
    constexpr int S = 2; __shared__ int buf[S][64]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, S> state; auto b = cg::this_thread_block(); auto role = threadIdx.x < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer; auto p = cuda::make_pipeline(b, &state, role); int sum = 0;
    if (role == cuda::pipeline_role::producer) for (int t = 0; t < tiles; t++) { p.producer_acquire(); cuda::memcpy_async(&buf[t % S][threadIdx.x], in + t * 64 + threadIdx.x, 4, p); p.producer_commit(); }
    else { for (int t = 0; t < tiles; t++) { p.consumer_wait(); sum = sum * 5 + buf[t % S][threadIdx.x % 64 ^ 21]; p.consumer_release(); } out[threadIdx.x - 64] = sum; }
}
__global__ void private_pipeline(const int4* in, int4* out, int n) { __shared__ int4 buf[2][64]; auto p = cuda::make_pipeline(); int4 s = {}; for (int t = 0; t < n + 1; t++) { if (t < n) { p.producer_acquire(); cuda::memcpy_async(&buf[t % 2][threadIdx.x], in + t * 64 + threadIdx.x, cuda::aligned_size_t<16>(16), p); p.producer_commit(); } if (t > 0) { if (t < n) cuda::pipeline_consumer_wait_prior<1>(p); else cuda::pipeline_consumer_wait_prior<0>(p); int4 v = buf[(t - 1) % 2][threadIdx.x]; s.x += v.x; s.y ^= v.y; s.z = s.z * 3 + v.z; s.w -= v.w; p.consumer_release(); } } out[threadIdx.x] = s; }
__global__ void primitives(const int* in, int* out) { __shared__ int buf[4][96]; for (int k = 0; k < 4; k++) { if (k % 2) __pipeline_memcpy_async(&buf[k][threadIdx.x], in + k * 96 + threadIdx.x, 4, k == 3 ? 2 : 0); else __pipeline_memcpy_async(&buf[k][threadIdx.x], in + k * 96 + threadIdx.x, 4); __pipeline_commit(); } __pipeline_wait_prior(2); __syncthreads(); int s = buf[0][95 - threadIdx.x] + buf[1][95 - threadIdx.x]; __shared__ __mbarrier_t bar; if (threadIdx.x == 0) __mbarrier_init(&bar, 96); __syncthreads(); __pipeline_arrive_on(&bar); auto t = __mbarrier_arrive(&bar); while (!__mbarrier_test_wait(&bar, t)) {} s += buf[2][95 - threadIdx.x] * 3 + buf[3][95 - threadIdx.x]; out[threadIdx.x] = s; __syncthreads(); if (threadIdx.x == 0) __mbarrier_inval(&bar); }
struct Count { int* p; __device__ void operator()() noexcept { *p = *p * 2 + 1; } };
__global__ void barriers(int* out) {
    using B = cuda::barrier<cuda::thread_scope_block>; __shared__ B bar; __shared__ int data[64]; __shared__ int rounds; using C = cuda::barrier<cuda::thread_scope_block, Count>; __shared__ alignas(C) unsigned char cm[sizeof(C)]; C* c = (C*)cm;
    if (threadIdx.x == 0) { init(&bar, 64); rounds = 0; new (c) C(64, Count{&rounds}); } __syncthreads(); int s = 0;
    for (int r = 0; r < 6; r++) { data[threadIdx.x] = r * 10 + threadIdx.x; auto t = bar.arrive(); bar.wait(std::move(t)); s += data[(threadIdx.x + r) % 64]; bar.arrive_and_wait(); }
    for (int r = 0; r < 5; r++) c->arrive_and_wait();
    if (threadIdx.x >= 48) bar.arrive_and_drop(); else { bar.arrive_and_wait(); s += 1000; bar.arrive_and_wait(); s += 5000; }
    __syncthreads(); out[threadIdx.x] = s; out[64] = rounds; out[65] = (int)(B::max() > 1000);
}
// A warp brings tiles by bulk copies, others multiply and store them back by bulk copies.
__global__ void bulk(const int* in, int* out, int tiles) {
    constexpr int S = 4; __shared__ alignas(128) int buf[S][256]; __shared__ alignas(128) int res[256]; __shared__ uint64_t full[S], empty[S];
    if (threadIdx.x == 0) { for (int i = 0; i < S; i++) { ptx::mbarrier_init(&full[i], 1); ptx::mbarrier_init(&empty[i], 256); } asm volatile("fence.mbarrier_init.release.cluster;"); } __syncthreads();
    if (threadIdx.x >= 256) { if (threadIdx.x == 256) for (int t = 0; t < tiles; t++) { int s = t % S; while (!ptx::mbarrier_try_wait_parity(&empty[s], (t / S & 1) ^ 1)) {} ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 1024); ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buf[s], in + t * 256, 1024, &full[s]); } return; }
    for (int t = 0; t < tiles; t++) { int s = t % S; while (!ptx::mbarrier_try_wait_parity(&full[s], t / S & 1)) {} int v = buf[s][255 - threadIdx.x] * 3 + t; uint64_t k = ptx::mbarrier_arrive(&empty[s]); (void)k; if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>()); asm volatile("bar.sync 1, 256;" ::: "memory"); res[threadIdx.x] = v; asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); asm volatile("bar.sync 1, 256;" ::: "memory"); if (threadIdx.x == 0) { if (t % 2) ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + t * 256, res, 1024); else ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out + t * 256, res, 1024); ptx::cp_async_bulk_commit_group(); } }
    if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
__device__ cuda::binary_semaphore<cuda::thread_scope_device> gate{1}; __device__ cuda::counting_semaphore<cuda::thread_scope_device, 4> few{3}; __device__ alignas(16) unsigned char latch_memory[64]; typedef cuda::latch<cuda::thread_scope_device> Latch; __global__ void make_latch() { new ((void*)latch_memory) Latch(8); }
__global__ void semaphores(int* out) { Latch& done = *(Latch*)latch_memory; if (threadIdx.x == 0) { gate.acquire(); int v = out[0]; out[0] = v + blockIdx.x; gate.release(); few.acquire(); atomicAdd(out + 1, 1); few.release(); done.count_down(); if (blockIdx.x == 0) { done.wait(); out[2] = out[0]; } } }
__global__ void tx(int* out) { __shared__ uint64_t bar; uint64_t s = 0; if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 2); asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"((uint32_t)__cvta_generic_to_shared(&bar))); s = ptx::mbarrier_arrive(&bar); out[0] = ptx::mbarrier_test_wait(&bar, s); asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 40;" ::"r"((uint32_t)__cvta_generic_to_shared(&bar))); ptx::mbarrier_arrive(&bar); out[1] = ptx::mbarrier_test_wait(&bar, s); asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 24;" ::"r"((uint32_t)__cvta_generic_to_shared(&bar))); out[2] = ptx::mbarrier_test_wait(&bar, s); out[3] = ptx::mbarrier_test_wait_parity(&bar, 0); out[4] = ptx::mbarrier_test_wait_parity(&bar, 1); asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(out[5]) : "l"(s)); } }
int main() {
    std::vector<int> v(8192); Lcg r(7); for (auto& x : v) x = r.next(); Buf<int> in(v), o(8192);
    for (int t : {1, 2, 3, 7, 20}) { staged<<<1, 128>>>(in, o, t); show("staged", o); roles<<<1, 128>>>(in, o, t); show("roles", o); private_pipeline<<<1, 64>>>((int4*)in.d, (int4*)o.d, t); show("private", o); CK(cudaMemset(o, 1, 32768)); bulk<<<1, 288>>>(in, o, t); show("bulk", o); }
    primitives<<<1, 96>>>(in, o); show("primitives", o); barriers<<<1, 64>>>(o); show("barriers", o); printf("%d %d\n", o.get()[64], o.get()[65]); CK(cudaMemset(o, 0, 32768)); make_latch<<<1, 1>>>(); semaphores<<<8, 32>>>(o); CK(cudaDeviceSynchronize()); auto q = o.get(); printf("semaphores %d %d %d\n", q[0], q[1], q[2]); CK(cudaMemset(o, 0, 32768)); tx<<<1, 1>>>(o); CK(cudaDeviceSynchronize()); q = o.get(); printf("tx %d %d %d %d %d %d\n", q[0], q[1], q[2], q[3], q[4], q[5]);
}
