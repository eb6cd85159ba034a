#pragma once
// What calls give and what memory holds, on a machine with two devices.
#include <cuda.h>
#include <cuda_runtime.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// Prints what a call of either interface gives.
#define T(call)                               \
    do {                                      \
        int code_ = (int)(call);              \
        printf("%s = %d\n", #call, code_);    \
        fflush(stdout);                       \
        cudaGetLastError();                   \
    } while (0)
// A call that must succeed.
#define OK(call)                                                 \
    do {                                                         \
        int code_ = (int)(call);                                 \
        if (code_ != 0) {                                        \
            printf("line %d: %s = %d\n", __LINE__, #call, code_); \
            fflush(stdout);                                      \
            _exit(3);                                            \
        }                                                        \
    } while (0)
#define SHOW(value) (printf("%s: %lld\n", #value, (long long)(value)), fflush(stdout))

extern char** environ;

struct Case {
    const char* name;
    std::function<void()> run;
};

// Starts this program again for a case, with a word more; its exit code.
static inline int again(const char* name, const std::string& more = "") {
    const char* arguments[] = {"/proc/self/exe", name, more.c_str(), nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environ) != 0) return 99;
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

// Runs each case in a process of its own.
static inline int run_cases(int count, char** words, const std::vector<Case>& cases) {
    if (count > 1) {
        for (const Case& one : cases)
            if (strcmp(one.name, words[1]) == 0) {
                one.run();
                fflush(stdout);
                _exit(0);
            }
        return 97;
    }
    for (const Case& one : cases) {
        if (one.name[0] == '-') continue;
        printf("== %s\n", one.name);
        fflush(stdout);
        int code = again(one.name);
        if (code != 0) printf("exit %d\n", code);
    }
    return 0;
}

__global__ void fill_kernel(int* to, int count, int first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = first + i;
}
__global__ void sum_kernel(const int* from, int count, unsigned long long* to) {
    unsigned long long sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += from[i];
    atomicAdd(to, sum);
}
__global__ void add_kernel(int* to, int value) {
    atomicAdd(to, value);
}

static inline long long sum_of(const int* from, int count) {
    std::vector<int> host(count);
    OK(cudaMemcpy(host.data(), from, count * sizeof(int), cudaMemcpyDefault));
    long long sum = 0;
    for (int value : host) sum += value;
    return sum;
}
