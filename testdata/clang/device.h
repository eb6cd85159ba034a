// The few definitions that CUDA code needs when clang compiles it without the toolkit's headers.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define BLOCK_SIZE __nvvm_read_ptx_sreg_ntid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
#define GRID_SIZE __nvvm_read_ptx_sreg_nctaid_x()
#define BARRIER() __syncthreads()
