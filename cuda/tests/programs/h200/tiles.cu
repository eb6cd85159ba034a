#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cuda/barrier>

#include "common.h"
namespace cg = cooperative_groups;
template <int T>
__global__ void tiles(const int* in, int* o) {
    auto b = cg::this_thread_block();
    auto t = cg::tiled_partition<T>(b);
    int i = b.thread_rank(), v = in[blockIdx.x * blockDim.x + i];
    int* p = o + (blockIdx.x * blockDim.x + i) * 16;
    p[0] = cg::reduce(t, v, cg::plus<int>());
    p[1] = cg::reduce(t, v, cg::greater<int>());
    p[2] = cg::reduce(t, v, cg::less<int>());
    p[3] = cg::reduce(t, v, cg::bit_xor<int>());
    p[4] = cg::inclusive_scan(t, v);
    p[5] = cg::exclusive_scan(t, v, cg::plus<int>());
    p[6] = t.shfl(v, 0);
    p[7] = t.shfl_up(v, 1);
    p[8] = t.shfl_down(v, 1);
    p[9] = t.shfl_xor(v, 1 % T);
    p[10] = t.any(v & 1) + 2 * t.all(v & 1) + 4 * t.ballot(v & 2);
    p[11] = t.match_any(v & 3);
    int pr;
    p[12] = t.match_all(v & 0, pr) + pr;
    p[13] = t.meta_group_rank() * 100 + t.thread_rank();
    double d = cg::reduce(t, (double)v * .5, cg::plus<double>());
    p[14] = (int)(d * 2);
    p[15] = cg::reduce(t, (long long)v << 20, [](long long a, long long b) { return a > b ? a : b; }) >> 20;
    t.sync();
}
__global__ void coal(const int* in, int* o) {
    int i = threadIdx.x, v = in[i];
    int* p = o + i * 8;
    if (v % 3) {
        auto c = cg::coalesced_threads();
        p[0] = c.size() * 100 + c.thread_rank();
        p[1] = c.shfl(v, 0);
        p[2] = cg::reduce(c, v, cg::plus<int>());
        p[3] = c.ballot(v & 1);
        if (v & 1) {
            auto d = cg::coalesced_threads();
            p[4] = d.size();
            p[5] = cg::inclusive_scan(d, v);
        }
        c.sync();
        auto l = cg::labeled_partition(c, v % 5);
        p[6] = l.size() * 100 + l.thread_rank();
        p[7] = cg::reduce(l, v, cg::less<int>());
        auto bp = cg::binary_partition(c, (v & 4) != 0);
        p[7] += bp.size() * 1000;
    }
}
__global__ void dyn(const int* in, int* o, int ts) {
    auto b = cg::this_thread_block();
    cg::thread_group t = cg::tiled_partition(b, ts);
    int i = threadIdx.x;
    extern __shared__ int s[];
    int off = i / ts * ts;
    s[i] = in[i];
    t.sync();
    int v = s[i];
    for (int k = t.size() / 2; k > 0; k /= 2) {
        if (t.thread_rank() < k) s[off + t.thread_rank()] += s[off + t.thread_rank() + k];
        t.sync();
    }
    o[i] = s[off] + v;
    if (i < 40) {
        cg::thread_block bb = cg::this_thread_block();
        o[i] += bb.dim_threads().x + bb.thread_index().x;
    }
}
__global__ void mca(const int* in, int* o, int n) {
    extern __shared__ __align__(16) int s[];
    auto b = cg::this_thread_block();
    int acc = 0;
    for (int k = 0; k < n; k += 256) {
        cg::memcpy_async(b, s, in + k, sizeof(int) * 256);
        cg::wait(b);
        acc += s[(threadIdx.x * 7) & 255];
        b.sync();
    }
    cg::memcpy_async(b, s, cuda::aligned_size_t<16>(256), in, cuda::aligned_size_t<16>(256));
    cg::wait(b);
    o[threadIdx.x] = acc + s[threadIdx.x & 255];
    auto t = cg::tiled_partition<32>(b);
    cg::memcpy_async(t, s + t.meta_group_rank() * 32, in + t.meta_group_rank() * 32, 128);
    cg::wait(t);
    o[threadIdx.x] += s[t.meta_group_rank() * 32 + (t.thread_rank() ^ 1)];
    b.sync();
    cg::invoke_one(t, [&] { atomicAdd(o, 1); });
}
__global__ void big(const int* in, int* o) {
    __shared__ cg::block_tile_memory<256> m;
    auto b = cg::this_thread_block(m);
    auto t = cg::tiled_partition<64>(b);
    auto u = cg::tiled_partition<128>(b);
    int v = in[threadIdx.x];
    o[threadIdx.x * 4] = cg::reduce(t, v, cg::plus<int>());
    o[threadIdx.x * 4 + 1] = cg::inclusive_scan(u, v);
    o[threadIdx.x * 4 + 2] = t.shfl(v, 3);
    o[threadIdx.x * 4 + 3] = u.any(v == 5) + t.meta_group_rank() * 10;
    t.sync();
    u.sync();
}
int main() {
    Lcg r(3);
    std::vector<int> v(1024);
    for (auto& x : v) x = r.next() % 1000;
    Buf<int> in(v), o(256 * 16), q(256 * 8);
    tiles<1><<<2, 128>>>(in, o);
    show("1", o);
    tiles<2><<<2, 128>>>(in, o);
    show("2", o);
    tiles<4><<<2, 128>>>(in, o);
    show("4", o);
    tiles<8><<<2, 128>>>(in, o);
    show("8", o);
    tiles<16><<<2, 128>>>(in, o);
    show("16", o);
    tiles<32><<<2, 128>>>(in, o);
    show("32", o);
    coal<<<1, 256>>>(in, q);
    show("coal", q);
    Buf<int> z(256);
    dyn<<<1, 128, 512>>>(in, z, 8);
    show("dyn8", z);
    dyn<<<1, 128, 512>>>(in, z, 32);
    show("dyn32", z);
    mca<<<1, 256, 1024>>>(in, z, 1024);
    show("mca", z);
    big<<<1, 256>>>(in, q);
    show("big", q);
    return 0;
}
