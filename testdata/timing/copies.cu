// How long copies and fills take, by their size: pinned and pageable memory of the host, memory of the device.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
__global__ void nothing() {}
int main() {
  const size_t most = 256u << 20;
  char *pinned, *pageable = (char *)malloc(most), *a, *b;
  cudaMallocHost(&pinned, most); cudaMalloc(&a, most); cudaMalloc(&b, most);
  memset(pageable, 1, most); memset(pinned, 1, most);
  cudaStream_t s[2]; cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking); cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking);
  cudaEvent_t e[2]; cudaEventCreate(&e[0]); cudaEventCreate(&e[1]);
  const char *names[] = {"pinned-in", "pinned-out", "pageable-in", "pageable-out", "device", "fill"};
  auto copy = [&](int kind, size_t n, cudaStream_t s) {
    switch (kind) {
      case 0: cudaMemcpyAsync(a, pinned, n, cudaMemcpyHostToDevice, s); break;
      case 1: cudaMemcpyAsync(pinned, a, n, cudaMemcpyDeviceToHost, s); break;
      case 2: cudaMemcpyAsync(a, pageable, n, cudaMemcpyHostToDevice, s); break;
      case 3: cudaMemcpyAsync(pageable, a, n, cudaMemcpyDeviceToHost, s); break;
      case 4: cudaMemcpyAsync(b, a, n, cudaMemcpyDeviceToDevice, s); break;
      case 5: cudaMemsetAsync(a, 0, n, s); break;
    }
  };
  for (int kind = 0; kind < 6; kind++)
    for (size_t n : {4ul, 4096ul, 65536ul, 1ul << 20, 16ul << 20, 256ul << 20}) {
      std::vector<float> times; std::vector<double> host;
      for (int k = 0; k < 9; k++) {
        nothing<<<1, 32, 0, s[0]>>>(); cudaStreamSynchronize(s[0]);
        auto t = std::chrono::steady_clock::now();
        cudaEventRecord(e[0], s[0]); copy(kind, n, s[0]); cudaEventRecord(e[1], s[0]);
        cudaStreamSynchronize(s[0]);
        host.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - t).count());
        float ms; cudaEventElapsedTime(&ms, e[0], e[1]); times.push_back(1000 * ms);
      }
      std::sort(times.begin(), times.end()); std::sort(host.begin(), host.end());
      printf("%s %zu %.3f us by events, %.3f by the host's clock\n", names[kind], n, times[4], host[4]);
    }
  // Ten in a row: what follows at once.
  for (int kind : {0, 1, 4, 5}) for (size_t n : {4ul, 1ul << 20}) {
    std::vector<float> times;
    for (int k = 0; k < 9; k++) {
      cudaEventRecord(e[0], s[0]); for (int i = 0; i < 10; i++) copy(kind, n, s[0]); cudaEventRecord(e[1], s[0]); cudaStreamSynchronize(s[0]);
      float ms; cudaEventElapsedTime(&ms, e[0], e[1]); times.push_back(1000 * ms);
    }
    std::sort(times.begin(), times.end()); printf("ten %s %zu %.3f us\n", names[kind], n, times[4]);
  }
  // In and out at the same time, two in at the same time.
  for (int second : {1, 0}) {
    std::vector<float> times;
    for (int k = 0; k < 5; k++) {
      cudaDeviceSynchronize(); cudaEventRecord(e[0], s[0]); cudaStreamWaitEvent(s[1], e[0]);
      copy(0, most / 2, s[0]);
      if (second) cudaMemcpyAsync(pinned + most / 2, b, most / 2, cudaMemcpyDeviceToHost, s[1]); else cudaMemcpyAsync(b, pinned + most / 2, most / 2, cudaMemcpyHostToDevice, s[1]);
      cudaEvent_t o; cudaEventCreate(&o); cudaEventRecord(o, s[1]); cudaStreamWaitEvent(s[0], o); cudaEventRecord(e[1], s[0]); cudaDeviceSynchronize();
      float ms; cudaEventElapsedTime(&ms, e[0], e[1]); times.push_back(1000 * ms);
    }
    std::sort(times.begin(), times.end()); printf("128 MiB in, and 128 MiB %s: %.1f us\n", second ? "out" : "in", times[2]);
  }
  // Kernels that follow each other in a stream, and in two.
  for (int n : {1, 2, 11, 101}) {
    std::vector<float> times;
    for (int k = 0; k < 9; k++) { cudaEventRecord(e[0], s[0]); for (int i = 0; i < n; i++) nothing<<<1, 32, 0, s[0]>>>(); cudaEventRecord(e[1], s[0]); cudaStreamSynchronize(s[0]); float ms; cudaEventElapsedTime(&ms, e[0], e[1]); times.push_back(1000 * ms); }
    std::sort(times.begin(), times.end()); printf("%d kernels: %.3f us\n", n, times[4]);
  }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
