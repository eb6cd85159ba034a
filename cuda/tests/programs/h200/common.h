#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CK(x)                                                                                   \
    do {                                                                                        \
        cudaError_t e_ = (x);                                                                   \
        if (e_ != cudaSuccess) {                                                                \
            printf("%s:%d %s -> %d %s\n", "line", __LINE__, #x, (int)e_, cudaGetErrorName(e_)); \
            fflush(stdout);                                                                     \
            exit(3);                                                                            \
        }                                                                                       \
    } while (0)
static inline uint64_t fnv(const void* p, size_t n) {
    const unsigned char* b = (const unsigned char*)p;
    uint64_t h = 1469598103934665603ull;
    for (size_t i = 0; i < n; i++) {
        h ^= b[i];
        h *= 1099511628211ull;
    }
    return h;
}
struct Lcg {
    uint64_t s;
    explicit Lcg(uint64_t seed = 1) : s(seed * 2862933555777941757ull + 3037000493ull) {
    }
    uint32_t next() {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(s >> 33) * 2u + (uint32_t)(s >> 63);
    }
    float unit() {
        return (next() >> 8) * (1.0f / 16777216.0f);
    }
};
template <class T>
struct Buf {
    T* d = nullptr;
    size_t n;
    explicit Buf(size_t n_) : n(n_) {
        CK(cudaMalloc(&d, n * sizeof(T)));
        CK(cudaMemset(d, 0, n * sizeof(T)));
    }
    explicit Buf(const std::vector<T>& v) : n(v.size()) {
        CK(cudaMalloc(&d, n * sizeof(T)));
        CK(cudaMemcpy(d, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buf(const Buf&) = delete;
    ~Buf() {
        cudaFree(d);
    }
    std::vector<T> get() {
        std::vector<T> v(n);
        CK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    uint64_t hash() {
        auto v = get();
        return fnv(v.data(), n * sizeof(T));
    }
    operator T*() {
        return d;
    }
};
template <class T>
static void show(const char* name, Buf<T>& b) {
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    printf("%s %016llx\n", name, (unsigned long long)b.hash());
}
