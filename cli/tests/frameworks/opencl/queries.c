/* Platforms, devices, programs and kernels say what they are; objects count their references; errors have their codes. */
#include "check.h"

/* Others may hold references, too: what counts is by how much the number changes. */
#define REFERENCES(type, info, object) \
  do { \
    cl_uint before_, held_, after_; \
    DO(clGet##type##Info(object, info, sizeof before_, &before_, NULL)); \
    DO(clRetain##type(object)); \
    DO(clGet##type##Info(object, info, sizeof held_, &held_, NULL)); \
    DO(clRelease##type(object)); \
    DO(clGet##type##Info(object, info, sizeof after_, &after_, NULL)); \
    CHECK(before_ >= 1 && held_ == before_ + 1 && after_ == before_); \
  } while (0)

int main(void) {
  start();
  char text[256];
  DO(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof text, text, NULL));
  CHECK(strncmp(text, "OpenCL 3", 8) == 0);
  DO(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL));
  CHECK(strstr(text, "H200"));
  cl_ulong local, global;
  size_t group;
  cl_uint units;
  DO(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL));
  DO(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global, &global, NULL));
  DO(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL));
  DO(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
  CHECK(local >= 48 << 10 && global >= 1 << 30 && group == 1024 && units == 132);

  cl_command_queue queue = queue_with(0);
  cl_program program = program_of(
      "kernel void fill(global int *out, int value) { out[get_global_id(0)] = value; }\n"
      "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sized(global int *out) { out[get_global_id(0)] = 64; }\n");
  cl_kernel fill = kernel_of(program, "fill"), sized = kernel_of(program, "sized");
  cl_uint arguments;
  DO(clGetKernelInfo(fill, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL));
  CHECK(arguments == 2);
  DO(clGetKernelInfo(fill, CL_KERNEL_FUNCTION_NAME, sizeof text, text, NULL));
  CHECK(strcmp(text, "fill") == 0);
  size_t wanted[3];
  DO(clGetKernelWorkGroupInfo(sized, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof wanted, wanted, NULL));
  CHECK(wanted[0] == 64 && wanted[1] == 1 && wanted[2] == 1);

  cl_mem memory = buffer_of(CL_MEM_READ_WRITE, 4096, NULL);
  REFERENCES(Context, CL_CONTEXT_REFERENCE_COUNT, context);
  REFERENCES(CommandQueue, CL_QUEUE_REFERENCE_COUNT, queue);
  REFERENCES(Program, CL_PROGRAM_REFERENCE_COUNT, program);
  REFERENCES(Kernel, CL_KERNEL_REFERENCE_COUNT, fill);
  REFERENCES(MemObject, CL_MEM_REFERENCE_COUNT, memory);

  /* Errors. */
  cl_int status;
  const char *broken = "kernel void wrong(global int *out) { out[0] = nowhere; }";
  cl_program wrong = clCreateProgramWithSource(context, 1, &broken, NULL, &status);
  CHECK(clBuildProgram(wrong, 1, &device, "", NULL, NULL) == CL_BUILD_PROGRAM_FAILURE);
  static char log[8192];
  DO(clGetProgramBuildInfo(wrong, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  CHECK(strstr(log, "nowhere"));
  clCreateKernel(program, "nothing", &status);
  CHECK(status == CL_INVALID_KERNEL_NAME);
  size_t global_size = 100, local_size = 2048;
  DO(clSetKernelArg(fill, 0, sizeof memory, &memory));
  CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global_size, NULL, 0, NULL, NULL) == CL_INVALID_KERNEL_ARGS);
  int value = 3;
  DO(clSetKernelArg(fill, 1, sizeof value, &value));
  CHECK(clSetKernelArg(fill, 2, sizeof value, &value) == CL_INVALID_ARG_INDEX);
  global_size = 4096;
  CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global_size, &local_size, 0, NULL, NULL) == CL_INVALID_WORK_GROUP_SIZE);
  clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &status);
  CHECK(status == CL_INVALID_BUFFER_SIZE);
  CHECK(clEnqueueReadBuffer(queue, memory, CL_TRUE, 4000, 200, log, 0, NULL, NULL) == CL_INVALID_VALUE);
  puts("OpenCL queries as expected");
  return 0;
}
