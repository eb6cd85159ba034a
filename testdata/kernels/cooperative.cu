// Cooperative groups: tiles, coalesced groups, labelled partitions, block and grid.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sums(const int *x, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = x[block.group_index().x * block.size() + block.thread_rank()];
    for (int d = tile.size() / 2; d > 0; d /= 2)
        v += tile.shfl_xor(v, d);
    if (tile.thread_rank() == 0)
        out[block.group_index().x * tile.meta_group_size() + tile.meta_group_rank()] = v;
}

extern "C" __global__ void filter_positive(const int *x, int *out, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0)
            base = atomicAdd(count, (int)active.size());
        base = active.shfl(base, 0);
        out[base + active.thread_rank()] = x[i];
    }
}

extern "C" __global__ void warp_reductions(const unsigned *x, unsigned *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    unsigned v = x[threadIdx.x];
    unsigned sum = cg::reduce(warp, v, cg::plus<unsigned>());
    unsigned most = cg::reduce(warp, v, cg::greater<unsigned>());
    unsigned bits = cg::reduce(warp, v, cg::bit_xor<unsigned>());
    unsigned scan = cg::exclusive_scan(warp, v);
    unsigned label = v % 3;
    auto same = cg::labeled_partition(warp, label);
    out[threadIdx.x * 6 + 0] = sum;
    out[threadIdx.x * 6 + 1] = most;
    out[threadIdx.x * 6 + 2] = bits;
    out[threadIdx.x * 6 + 3] = scan;
    out[threadIdx.x * 6 + 4] = same.size();
    out[threadIdx.x * 6 + 5] = same.thread_rank();
}

// Launched as a cooperative grid.
extern "C" __global__ void grid_total(const int *x, int *partial, int *total, int n)
{
    cg::grid_group grid = cg::this_grid();
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        atomicAdd(&sum, x[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
    grid.sync();
    if (grid.thread_rank() == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; b++)
            all += partial[b];
        *total = all;
    }
}
