#include "common.h"
__global__ void k(int* o) {
    int t = threadIdx.x;
    int* p = o + t * 24;
    p[0] = __syncthreads_count(t % 3 == 0);
    p[1] = __syncthreads_and(t < 1000);
    p[2] = __syncthreads_or(t == 77);
    p[3] = __syncthreads_and(t != 5);
    unsigned m = __activemask();
    p[4] = __ballot_sync(m, t & 1);
    p[5] = __any_sync(m, t == 40);
    p[6] = __all_sync(m, t < 64);
    p[7] = __popc(__match_any_sync(m, t / 5));
    int pr;
    p[8] = __match_all_sync(m, t / 32, &pr);
    p[9] = pr;
    p[10] = __reduce_add_sync(m, t);
    p[11] = __reduce_min_sync(m, t ^ 13);
    p[12] = __reduce_max_sync(m, (unsigned)t * 7);
    p[13] = __reduce_and_sync(m, t | 8);
    p[14] = __reduce_or_sync(m, t);
    p[15] = __reduce_xor_sync(m, t * 3);
    p[16] = __shfl_sync(m, t, 5, 8);
    p[17] = __shfl_up_sync(m, t, 3, 16);
    p[18] = __shfl_down_sync(m, t, 2, 4);
    p[19] = __shfl_xor_sync(m, t, 16);
    p[20] = (int)__shfl_sync(m, (long long)t << 33, 40) + (int)__shfl_sync(m, t * .5, -1);
    if (t & 1) {
        unsigned q = __activemask();
        p[21] = __popc(q) * 100 + __reduce_add_sync(0xaaaaaaaau, t);
        __syncwarp(0xaaaaaaaau);
    } else
        p[21] = __shfl_xor_sync(0x55555555u, t, 2);
    p[22] = (int)__match_any_sync(m, (long long)(t % 7) << 40);
    p[23] = __reduce_min_sync(m, -t);
}
__global__ void lanes(unsigned* o) {
    unsigned a, b, c, d, e, f, g, h;
    asm("mov.u32 %0, %%laneid;" : "=r"(a));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(b));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(c));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(d));
    asm("mov.u32 %0, %%warpid;" : "=r"(e));
    asm("mov.u32 %0, %%nwarpid;" : "=r"(f));
    asm("mov.u32 %0, %%total_smem_size;" : "=r"(g));
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(h));
    unsigned* p = o + threadIdx.x * 8;
    p[0] = a;
    p[1] = b;
    p[2] = c;
    p[3] = d;
    p[4] = f;
    p[5] = g;
    p[6] = h;
    p[7] = warpSize;
}
__global__ void named(int* o) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = t;
        asm volatile("bar.arrive 1, 128;");
        asm volatile("bar.sync 2, 64;");
        o[t] = s[63 - t];
    } else {
        asm volatile("bar.sync 1, 128;");
        s[t] = s[t - 64] * 2;
        asm volatile("bar.sync 3, 64;");
        o[t] = s[64 + (127 - t)];
    }
    int r;
    asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 100; barrier.cta.red.popc.aligned.u32 %0, 4, p; }"
                 : "=r"(r)
                 : "r"(t));
    o[t] += r * 1000;
}
int main() {
    Buf<int> o(256 * 24);
    k<<<1, 256>>>(o);
    CK(cudaDeviceSynchronize());
    auto v = o.get();
    for (int j = 0; j < 24; j++) {
        uint64_t h = 5;
        for (int t = 0; t < 256; t++) h = h * 1000003 + v[t * 24 + j];
        printf("%d %016llx\n", j, (unsigned long long)h);
    }
    Buf<unsigned> l(64 * 8);
    lanes<<<1, 64, 1000>>>(l);
    auto q = l.get();
    for (int j = 0; j < 8; j++) printf("%u ", q[37 * 8 + j]);
    puts("");
    Buf<int> n(128);
    named<<<1, 128>>>(n);
    show("named", n);
    return 0;
}
