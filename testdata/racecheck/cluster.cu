// Blocks of a cluster that share memory: what a barrier of the cluster orders.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block writes into the next one's memory.
//@ clean grid 4 block 64
extern "C" __cluster_dims__(2) __global__ void ring(int* out, int*) {
    __shared__ int mine[64];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    cluster.sync();
    cluster.map_shared_rank(mine, rank ^ 1)[threadIdx.x] = rank;
    cluster.sync();
    out[blockIdx.x * 64 + threadIdx.x] = mine[threadIdx.x];
}

// The second barrier is one of the block only.
//@ race data-race grid 4 block 64
extern "C" __cluster_dims__(2) __global__ void ring_without_second(int* out, int*) {
    __shared__ int mine[64];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    cluster.sync();
    cluster.map_shared_rank(mine, rank ^ 1)[threadIdx.x] = rank;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = mine[threadIdx.x];
    cluster.sync();
}

// A relaxed arrival releases nothing.
//@ race data-race grid 2 block 32
extern "C" __cluster_dims__(2) __global__ void relaxed_arrival(int* out, int*) {
    __shared__ int mine;
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    cluster.sync();
    if (threadIdx.x == 0) *cluster.map_shared_rank(&mine, rank ^ 1) = rank;
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) out[blockIdx.x] = mine;
    cluster.sync();
}

// Atomics of cluster scope count; then a fence and the barrier.
//@ clean grid 8 block 64
extern "C" __cluster_dims__(4) __global__ void sum(int* out, int*) {
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    cluster.sync();
    int* first = cluster.map_shared_rank(&total, 0);
    atomicAdd(first, 1);
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = *first;
    cluster.sync();
}

// Block scope is too little between blocks.
//@ race scope-race grid 2 block 32
extern "C" __cluster_dims__(2) __global__ void narrow_scope(int* out, int*) {
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    cluster.sync();
    int* first = cluster.map_shared_rank(&total, 0);
    if (threadIdx.x == 0) atomicAdd_block(first, 1);
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = *first;
    cluster.sync();
}

// A cluster along y: blocks that do not follow each other in the grid.
//@ clean grid 3,2 block 32
extern "C" __cluster_dims__(1, 2) __global__ void column(int* out, int*) {
    __shared__ int mine[32];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    cluster.sync();
    cluster.map_shared_rank(mine, rank ^ 1)[threadIdx.x] = rank;
    cluster.sync();
    out[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + threadIdx.x] = mine[threadIdx.x];
}
