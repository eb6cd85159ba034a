/* Atomic operations of OpenCL C, one kernel a row of `memory-model/mappings/pocl.map` and a scope: compiles and launches them, so that
   PoCL keeps their PTX in the folder that POCL_CACHE_DIR names. */
#include "check.h"

static char source[1 << 14];

static void kernel(const char *operation, const char *order, const char *scope, const char *body) {
  size_t length = strlen(source);
  snprintf(source + length, sizeof source - length,
           "kernel void %s_%s_%s(volatile global atomic_int *x) { volatile local int z; %s }\n", operation, order, scope, body);
}

int main(void) {
  static const char *const scopes[][2] = {{"work_group", "cta"}, {"device", "gpu"}};
  static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  char body[256];
  start();
  for (int s = 0; s < 2; s++) {
    const char *scope = scopes[s][0], *ptx = scopes[s][1];
    kernel("load", "na", ptx, "z = *(global int *)x;");
    kernel("store", "na", ptx, "*(global int *)x = 1;");
    snprintf(body, sizeof body, "z = atomic_load_explicit(x, memory_order_relaxed, memory_scope_%s);", scope);
    kernel("load", "relaxed", ptx, body);
    snprintf(body, sizeof body, "atomic_store_explicit(x, 1, memory_order_relaxed, memory_scope_%s);", scope);
    kernel("store", "relaxed", ptx, body);
    for (int o = 0; o < 5; o++) {
      snprintf(body, sizeof body, "z = atomic_exchange_explicit(x, 1, memory_order_%s, memory_scope_%s);", orders[o], scope);
      kernel("rmw", orders[o], ptx, body);
    }
  }
  cl_program program = program_of(source);
  cl_command_queue queue = queue_with(0);
  cl_kernel kernels[32];
  cl_uint count;
  cl_int status;
  DO(clCreateKernelsInProgram(program, 32, kernels, &count));
  CHECK(count == 18);
  cl_mem word = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &status);
  DO(status);
  for (cl_uint i = 0; i < count; i++) {
    size_t one = 1;
    DO(clSetKernelArg(kernels[i], 0, sizeof word, &word));
    DO(clEnqueueNDRangeKernel(queue, kernels[i], 1, NULL, &one, &one, 0, NULL, NULL));
  }
  DO(clFinish(queue));
  puts("OpenCL atomics as expected");
  return 0;
}
