// Kernels of two devices that run at the same time and wait for each other.
#include <cuda/atomic>

#include "devices.h"

// Adds its part and hands the sum on, as a ring of devices does.
__global__ void ring(int device, int devices, int rounds, int* mine, int* next, const int* part, int* sums) {
    cuda::atomic_ref<int, cuda::thread_scope_system> full(mine[0]), to(next[0]);
    for (int round = 1; round <= rounds; round++) {
        if (device == 0) {
            next[1] = part[round % 8];
            to.store(round, cuda::memory_order_release);
            while (full.load(cuda::memory_order_acquire) < round) {}
            sums[round - 1] = mine[1];
        } else {
            while (full.load(cuda::memory_order_acquire) < round) {}
            next[1] = mine[1] * 3 + part[round % 8];
            to.store(round, cuda::memory_order_release);
        }
    }
}

// A barrier of both devices' blocks, by one counter at system scope.
__global__ void meet(unsigned* counter, unsigned all, unsigned* order, int turns) {
    for (int turn = 1; turn <= turns; turn++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence_system();
            atomicAdd_system(counter, 1u);
            while (atomicAdd_system(counter, 0u) < all * turn) {}
            atomicAdd_system(order + turn - 1, turn);
        }
    }
}

__global__ void count_system(unsigned long long* counter, unsigned* most) {
    atomicAdd_system(counter, 1ull);
    atomicMax_system(most, blockIdx.x * blockDim.x + threadIdx.x);
}

static void of_ring() {
    int *flags[2], *parts[2], *sums;
    const int rounds = 20;
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        OK(cudaDeviceEnablePeerAccess(1 - device, 0));
        OK(cudaMalloc(&flags[device], 64));
        OK(cudaMemset(flags[device], 0, 64));
        OK(cudaMalloc(&parts[device], 64));
        fill_kernel<<<1, 16>>>(parts[device], 16, 10 * device);
        OK(cudaDeviceSynchronize());
    }
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&sums, rounds * 4));
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        ring<<<1, 1>>>(device, 2, rounds, flags[device], flags[1 - device], parts[device], sums);
    }
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        T(cudaDeviceSynchronize());
    }
    SHOW(sum_of(sums, rounds));
}

static void of_meeting(bool managed) {
    unsigned* counter;
    const int blocks = 3, turns = 8;
    if (managed)
        OK(cudaMallocManaged(&counter, 256));
    else
        OK(cudaMallocHost(&counter, 256));
    memset(counter, 0, 256);
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        meet<<<blocks, 64>>>(counter, 2 * blocks, counter + 1, turns);
    }
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        T(cudaDeviceSynchronize());
    }
    SHOW(counter[0]);
    for (int turn = 1; turn <= turns; turn++) SHOW(counter[turn]);
}

static void counting() {
    unsigned long long* counter;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&counter, 16));
    OK(cudaMemset(counter, 0, 16));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    for (int turn = 0; turn < 4; turn++) {
        OK(cudaSetDevice(turn % 2));
        count_system<<<50, 128>>>(counter, (unsigned*)(counter + 1));
    }
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
    unsigned long long host[2];
    OK(cudaMemcpy(host, counter, 16, cudaMemcpyDefault));
    SHOW(host[0]);
    SHOW(host[1]);
}

int main(int count, char** words) {
    return run_cases(count, words, {{"ring", of_ring},
                                    {"managed", [] { of_meeting(true); }},
                                    {"counting", counting}});
}
