// Runs the launches of a manifest that record.py writes, from machine code, so that a profiler can look on:
//     launch MANIFEST [FIRST [COUNT]]
// gcc -O1 launch.c -o launch -I$CUDA_HOME/include -lcuda
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096
static void check(CUresult result, const char *what)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS) return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}
#define DO(call) check(call, #call)

static void fill(CUdeviceptr to, size_t bytes, FILE *data, long at)
{
    char *host = calloc(1, bytes ? bytes : 1);
    if (at >= 0 && (fseek(data, at, SEEK_SET) || fread(host, 1, bytes, data) != bytes)) exit(2);
    DO(cuMemcpyHtoD(to, host, bytes));
    free(host);
}

int main(int argc, char **argv)
{
    static CUdeviceptr buffers[MOST];
    CUmodule module = 0;
    CUdevice device;
    CUcontext context;
    char word[64], path[1024];
    int first = argc > 2 ? atoi(argv[2]) : 0, count = argc > 3 ? atoi(argv[3]) : 1 << 30, at = 0, held = 0;
    FILE *manifest = fopen(argv[1], "r"), *data;
    snprintf(path, sizeof path, "%s.data", argv[1]);
    data = fopen(path, "rb");
    if (!manifest || !data) return 2;
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    while (fscanf(manifest, "%63s", word) == 1) {
        if (!strcmp(word, "module")) {
            fscanf(manifest, "%1023s", path);
            for (int i = 0; i < held; i++) DO(cuMemFree(buffers[i]));
            held = 0;
            if (module) DO(cuModuleUnload(module));
            DO(cuModuleLoad(&module, path));
        } else if (!strcmp(word, "buffer")) {
            size_t bytes;
            long from;
            fscanf(manifest, "%zu %ld", &bytes, &from);
            DO(cuMemAlloc(&buffers[held], bytes ? bytes : 1));
            fill(buffers[held++], bytes, data, from);
        } else if (!strcmp(word, "variable")) {
            size_t bytes;
            long from;
            CUdeviceptr to;
            fscanf(manifest, "%1023s %zu %ld", path, &bytes, &from);
            DO(cuModuleGetGlobal(&to, NULL, module, path));
            fill(to, bytes, data, from);
        } else if (!strcmp(word, "launch")) {
            static unsigned char storage[256][4096];
            void *args[256];
            unsigned g[3], b[3], c[3], shared;
            int cooperative, args_count;
            CUfunction function;
            fscanf(manifest, "%1023s %u %u %u %u %u %u %u %u %u %u %d %d", path, g, g + 1, g + 2, b, b + 1, b + 2, c, c + 1,
                   c + 2, &shared, &cooperative, &args_count);
            for (int i = 0; i < args_count; i++) {
                int parts;
                size_t filled = 0;
                fscanf(manifest, "%d", &parts);
                for (int p = 0; p < parts; p++) {
                    char *text = malloc(9000);
                    fscanf(manifest, "%8999s", text);
                    if (text[0] == '&') {
                        int which;
                        unsigned long long offset;
                        sscanf(text + 1, "%d+%llu", &which, &offset);
                        CUdeviceptr value = buffers[which] + offset;
                        memcpy(storage[i] + filled, &value, 8);
                        filled += 8;
                    } else {
                        for (char *digit = text + 1; digit[0] && digit[1]; digit += 2) {
                            unsigned value;
                            sscanf(digit, "%2x", &value);
                            storage[i][filled++] = value;
                        }
                    }
                    free(text);
                }
                args[i] = storage[i];
            }
            if (at >= first && at - first < count) {
                CUlaunchAttribute attributes[2];
                CUlaunchConfig config = {.gridDimX = g[0], .gridDimY = g[1], .gridDimZ = g[2], .blockDimX = b[0], .blockDimY = b[1],
                                         .blockDimZ = b[2], .sharedMemBytes = shared, .attrs = attributes};
                if (c[0]) {
                    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
                    attributes[config.numAttrs].value.clusterDim.x = c[0];
                    attributes[config.numAttrs].value.clusterDim.y = c[1];
                    attributes[config.numAttrs++].value.clusterDim.z = c[2];
                }
                if (cooperative) {
                    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
                    attributes[config.numAttrs++].value.cooperative = 1;
                }
                DO(cuModuleGetFunction(&function, module, path));
                if (shared > 48 << 10)
                    DO(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
                DO(cuLaunchKernelEx(&config, function, args, NULL));
                DO(cuCtxSynchronize());
            }
            at++;
        } else {
            return 3;
        }
    }
    printf("%d launches\n", at);
    return 0;
}
