/* Buffers: written, read, copied, filled, mapped, taken by rectangles, parts of others; shared virtual memory; images where
   the implementation has them. */
#include "check.h"

enum { N = 1024 };

int main(void) {
  start();
  cl_command_queue queue = queue_with(0);
  cl_program program = program_of(
      "kernel void scale(global int *x, int by) { x[get_global_id(0)] *= by; }\n"
      "constant int squares[4] = {0, 1, 4, 9};\n"
      "kernel void look_up(constant int *in, global int *out) {\n"
      "  int i = get_global_id(0);\n"
      "  out[i] = in[i] + squares[i & 3];\n"
      "}\n");
  static cl_int host[N], back[N];
  for (int i = 0; i < N; i++) host[i] = i;
  cl_mem a = buffer_of(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof host, host);
  cl_mem b = buffer_of(CL_MEM_READ_WRITE, sizeof host, NULL);

  /* The second half, as a buffer of its own. */
  cl_buffer_region half = {sizeof host / 2, sizeof host / 2};
  cl_int status;
  cl_mem part = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
  DO(status);
  cl_kernel scale = kernel_of(program, "scale");
  cl_int by = 3;
  size_t size = N / 2;
  DO(clSetKernelArg(scale, 0, sizeof part, &part));
  DO(clSetKernelArg(scale, 1, sizeof by, &by));
  DO(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clEnqueueCopyBuffer(queue, a, b, 0, 0, sizeof host, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  for (int i = 0; i < N; i++) CHECK(back[i] == (i < N / 2 ? i : 3 * i));
  size_t offset;
  DO(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof offset, &offset, NULL));
  CHECK(offset == sizeof host / 2);

  /* Filled, then a rectangle of 8 by 4 of a plane of 32 by 32 written and read. */
  cl_int pattern = -7;
  DO(clEnqueueFillBuffer(queue, b, &pattern, sizeof pattern, 0, sizeof host, 0, NULL, NULL));
  size_t there[3] = {4 * sizeof(cl_int), 2, 0}, here[3] = {0, 0, 0}, extent[3] = {8 * sizeof(cl_int), 4, 1};
  DO(clEnqueueWriteBufferRect(queue, b, CL_TRUE, there, here, extent, 32 * sizeof(cl_int), 0, 8 * sizeof(cl_int), 0, host, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  for (int i = 0; i < N; i++) {
    int x = i % 32 - 4, y = i / 32 - 2;
    CHECK(back[i] == (x >= 0 && x < 8 && y >= 0 && y < 4 ? 8 * y + x : -7));
  }

  /* Mapped and written by the host. */
  cl_int *mapped = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, sizeof host, 0, NULL, NULL, &status);
  DO(status);
  CHECK(mapped[N - 1] == -7);
  for (int i = 0; i < N; i++) mapped[i] = 10 * i;
  DO(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL));
  cl_kernel look_up = kernel_of(program, "look_up");
  DO(clSetKernelArg(look_up, 0, sizeof b, &b));
  DO(clSetKernelArg(look_up, 1, sizeof a, &a));
  size = N;
  DO(clEnqueueNDRangeKernel(queue, look_up, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  for (int i = 0; i < N; i++) CHECK(back[i] == 10 * i + (i & 3) * (i & 3));

  cl_device_svm_capabilities svm = 0;
  clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL);
  if (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) {
    cl_int *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, sizeof host, 0);
    CHECK(shared);
    DO(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, sizeof host, 0, NULL, NULL));
    for (int i = 0; i < N; i++) shared[i] = i;
    DO(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
    DO(clSetKernelArgSVMPointer(scale, 0, shared));
    DO(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &size, NULL, 0, NULL, NULL));
    DO(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, shared, sizeof host, 0, NULL, NULL));
    for (int i = 0; i < N; i++) CHECK(shared[i] == 3 * i);
    DO(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
    DO(clFinish(queue));
    clSVMFree(context, shared);
  }
  printf("shared virtual memory: %s\n", svm ? "used" : "the implementation has none");

  cl_bool images = CL_FALSE;
  DO(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL));
  printf("images: %s\n", images ? "there" : "the implementation has none");
  puts("OpenCL memory as expected");
  return 0;
}
