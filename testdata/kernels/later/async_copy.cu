// cp.async in a two-stage pipeline, and an mbarrier with a bulk copy.

#include <cuda_pipeline.h>

extern "C" __global__ void staged_scale(const float4 *in, float4 *out, float factor, int tiles)
{
    __shared__ float4 stage[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(float4));
    __pipeline_commit();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles)
            __pipeline_memcpy_async(&stage[(k + 1) & 1][t], &in[(k + 1) * 128 + t], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = stage[k & 1][127 - t];
        out[k * 128 + t] = make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
        __syncthreads();
    }
}

extern "C" __global__ void bulk_reverse(const int *in, int *out)
{
    __shared__ __align__(16) int buffer[256];
    __shared__ unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned dst = (unsigned)__cvta_generic_to_shared(buffer);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(bar) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(dst),
                     "l"(in + blockIdx.x * 256), "r"(bar)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n\t"
                 "@!done bra again;\n\t}" ::"r"(bar)
                 : "memory");
    out[blockIdx.x * 256 + threadIdx.x] = buffer[255 - threadIdx.x];
}
