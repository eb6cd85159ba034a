/* What kernels compute: groups with local memory and barriers, atomics with their orders and scopes, vectors, halves, doubles,
   structures, pointers to any space, printf. */
#include "check.h"

enum { N = 1024, GROUP = 128 };

static const char *SOURCE =
    "kernel void sums(global const int *in, global int *out, local int *part) {\n"
    "  int t = get_local_id(0);\n"
    "  part[t] = in[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
    "    if (t < step) part[t] += part[t + step];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (t == 0) out[get_group_id(0)] = part[0];\n"
    "}\n"
    "kernel void count(global const int *in, volatile global atomic_int *bins, volatile global int *most) {\n"
    "  int i = get_global_id(0);\n"
    "  atomic_fetch_add_explicit(&bins[in[i] & 7], 1, memory_order_relaxed, memory_scope_device);\n"
    "  atomic_max(most, in[i]);\n"
    "}\n"
    "typedef struct { int to; float4 weight; } Step;\n"
    "kernel void vectors(global const float4 *in, global float4 *out, Step step) {\n"
    "  int i = get_global_id(0);\n"
    "  float4 v = in[i].wzyx * step.weight;\n"
    "  out[i] = select(v, (float4)(-1), v > (float4)(step.to));\n"
    "}\n"
    "kernel void narrow(global half *h, global double *d, global short *s) {\n"
    "  int i = get_global_id(0);\n"
    "  float x = vload_half(i, h);\n"
    "  d[i] = sqrt((double)x) + 0.25;\n"
    "  s[i] = (short)(x * 2.0f);\n"
    "  vstore_half(x + 1.0f, i, h);\n"
    "}\n"
    "#ifdef __opencl_c_generic_address_space\n"
    "int through(int *p) { return *p + 1; }\n"
    "kernel void generic_pointers(global int *out, local int *shared) {\n"
    "  int i = get_global_id(0), own = i, *p = &own;\n"
    "  shared[get_local_id(0)] = 10 * i;\n"
    "  if (!(i & 1)) p = &shared[get_local_id(0)];\n"
    "  out[i] = through(p);\n"
    "}\n"
    "#endif\n"
    "kernel void hello(int x) { if (get_global_id(0) == 3) printf(\"%d from %s, %f\\n\", x, \"item 3\", 0.5f); }\n";

int main(void) {
  start();
  cl_command_queue queue = queue_with(0);
  cl_program program = program_of(SOURCE);
  static cl_int in[N], out[N];
  for (int i = 0; i < N; i++) in[i] = (i * 37) % 1000;
  cl_mem a = buffer_of(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof in, in), b = buffer_of(CL_MEM_READ_WRITE, sizeof in, NULL);
  size_t size = N, group = GROUP;

  cl_kernel sums = kernel_of(program, "sums");
  DO(clSetKernelArg(sums, 0, sizeof a, &a));
  DO(clSetKernelArg(sums, 1, sizeof b, &b));
  DO(clSetKernelArg(sums, 2, GROUP * sizeof(cl_int), NULL));
  DO(clEnqueueNDRangeKernel(queue, sums, 1, NULL, &size, &group, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  for (int g = 0; g < N / GROUP; g++) {
    int sum = 0;
    for (int t = 0; t < GROUP; t++) sum += in[g * GROUP + t];
    CHECK(out[g] == sum);
  }

  cl_int zero = 0, bins[9] = {0};
  DO(clEnqueueFillBuffer(queue, b, &zero, sizeof zero, 0, sizeof bins, 0, NULL, NULL));
  cl_buffer_region last = {4096 - 512, 512};
  cl_int status;
  cl_mem most = clCreateSubBuffer(b, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &last, &status);
  DO(status);
  DO(clEnqueueFillBuffer(queue, most, &zero, sizeof zero, 0, 512, 0, NULL, NULL));
  cl_kernel count = kernel_of(program, "count");
  DO(clSetKernelArg(count, 0, sizeof a, &a));
  DO(clSetKernelArg(count, 1, sizeof b, &b));
  DO(clSetKernelArg(count, 2, sizeof most, &most));
  DO(clEnqueueNDRangeKernel(queue, count, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 8 * sizeof(cl_int), bins, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, most, CL_TRUE, 0, sizeof(cl_int), &bins[8], 0, NULL, NULL));
  int expected[9] = {0};
  for (int i = 0; i < N; i++) {
    expected[in[i] & 7]++;
    if (in[i] > expected[8]) expected[8] = in[i];
  }
  CHECK(memcmp(bins, expected, sizeof bins) == 0);

  struct { cl_int to; cl_float4 weight; } step = {900, {{1, 2, 3, 4}}};
  static cl_float x[N], y[N];
  for (int i = 0; i < N; i++) x[i] = i;
  DO(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL));
  cl_kernel vectors = kernel_of(program, "vectors");
  DO(clSetKernelArg(vectors, 0, sizeof a, &a));
  DO(clSetKernelArg(vectors, 1, sizeof b, &b));
  DO(clSetKernelArg(vectors, 2, sizeof step, &step));
  size = N / 4;
  DO(clEnqueueNDRangeKernel(queue, vectors, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL));
  for (int i = 0; i < N; i++) {
    float v = x[i / 4 * 4 + 3 - i % 4] * (i % 4 + 1);
    CHECK(y[i] == (v > 900 ? -1 : v));
  }

  static cl_half halves[16], more[16];
  for (int i = 0; i < 16; i++) halves[i] = 0x3c00 + 64 * i; /* 1, 1.0625 and so on */
  static cl_double doubles[16];
  static cl_short shorts[16];
  cl_mem h = buffer_of(CL_MEM_COPY_HOST_PTR, sizeof halves, halves), d = buffer_of(0, sizeof doubles, NULL), s = buffer_of(0, sizeof shorts, NULL);
  cl_kernel narrow = kernel_of(program, "narrow");
  DO(clSetKernelArg(narrow, 0, sizeof h, &h));
  DO(clSetKernelArg(narrow, 1, sizeof d, &d));
  DO(clSetKernelArg(narrow, 2, sizeof s, &s));
  size = 16;
  DO(clEnqueueNDRangeKernel(queue, narrow, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, h, CL_TRUE, 0, sizeof more, more, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, d, CL_TRUE, 0, sizeof doubles, doubles, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, s, CL_TRUE, 0, sizeof shorts, shorts, 0, NULL, NULL));
  for (int i = 0; i < 16; i++) {
    double v = 1 + i / 16.0, root = doubles[i] - 0.25;
    CHECK(root * root - v < 1e-12 && v - root * root < 1e-12 && shorts[i] == (int)(2 * v) && more[i] == 0x4000 + 32 * i);
  }

  cl_kernel generic_pointers = clCreateKernel(program, "generic_pointers", &status);
  if (status == CL_SUCCESS) {
    DO(clSetKernelArg(generic_pointers, 0, sizeof b, &b));
    DO(clSetKernelArg(generic_pointers, 1, GROUP * sizeof(cl_int), NULL));
    size = N;
    DO(clEnqueueNDRangeKernel(queue, generic_pointers, 1, NULL, &size, &group, 0, NULL, NULL));
    DO(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    for (int i = 0; i < N; i++) CHECK(out[i] == (i & 1 ? i : 10 * i) + 1);
  }
  printf("generic pointers: %s\n", status == CL_SUCCESS ? "used" : "the implementation has none");

  cl_kernel hello = kernel_of(program, "hello");
  cl_int number = 12;
  DO(clSetKernelArg(hello, 0, sizeof number, &number));
  size = 8;
  DO(clEnqueueNDRangeKernel(queue, hello, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clFinish(queue));
  puts("OpenCL kernels as expected");
  return 0;
}
