// How much shared memory a preference leaves, and what a cluster that was set for a kernel means for its launches.
#include "common.h"
template <int N> __global__ void small(int* d) { d[0] = N; }
__global__ void fixed(int* d) { __shared__ int s[2048]; s[threadIdx.x] = d[threadIdx.x]; __syncthreads(); d[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x]; }
static void preferences(int number, void* kernel, int most) {
    CK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    for (int carve : {-1, 0, 1, 3, 4, 7, 8, 14, 15, 28, 29, 43, 44, 50, 57, 58, 71, 72, 85, 86, 87, 99, 100}) {
        printf("k%d carve %d: %d; b32", number, carve, cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carve));
        for (size_t bytes : {0, 1000, 4000, 7000, 16000, 30000, 60000, 110000, 190000}) {
            int n = -1;
            CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernel, 32, bytes));
            printf(" %d", n);
        }
        for (int blocks : {1, 2, 3, 8, 16}) {
            size_t bytes = 0;
            int error = cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, blocks, 32);
            cudaGetLastError();
            if (error) printf(" e%d", error); else printf(" %zu", bytes);
        }
        printf("\n");
    }
}
static void clusters(void* kernel, int x, int y, int z) {
    int set[3] = {x, y, z}, result[3];
    for (int d = 0; d < 3; d++) result[d] = cudaFuncSetAttribute(kernel, (cudaFuncAttribute)(11 + d), set[d]);
    cudaFuncAttributes a;
    int asked = cudaFuncGetAttributes(&a, kernel);
    printf("set %d %d %d -> %d %d %d attributes %d: %d %d %d %d\n", x, y, z, result[0], result[1], result[2], asked, a.clusterDimMustBeSet, a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth);
    Buf<int> d(1);
    for (int cx : {0, 1, 2, 4, 8}) for (int cy : {1, 2}) {
        cudaLaunchAttribute at; at.id = cudaLaunchAttributeClusterDimension;
        at.val.clusterDim.x = cx; at.val.clusterDim.y = cy; at.val.clusterDim.z = 1;
        cudaLaunchConfig_t c = {}; c.gridDim = dim3(16, 4); c.blockDim = 64; c.attrs = &at; c.numAttrs = cx != 0;
        void* args[] = {&d.d};
        int n = -7, m = -7;
        int active = cudaOccupancyMaxActiveClusters(&n, kernel, &c), potential = cudaOccupancyMaxPotentialClusterSize(&m, kernel, &c);
        int launched = cudaLaunchKernelExC(&c, kernel, args), waited = cudaDeviceSynchronize();
        cudaGetLastError();
        printf("  cluster %d %d: active %d %d potential %d %d launch %d %d\n", cx, cy, active, n, potential, m, launched, waited);
    }
}
int main() {
    preferences(0, (void*)small<0>, 220000);
    preferences(1, (void*)fixed, 200000);
    clusters((void*)small<1>, 2, 0, 0);
    clusters((void*)small<2>, 2, 1, 1);
    clusters((void*)small<3>, 0, 2, 0);
}
