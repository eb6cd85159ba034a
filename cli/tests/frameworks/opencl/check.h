/* What the programs of this folder share: the first GPU, a program built from its source, and checks that name their line. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
  do \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  while (0)

#define DO(call) \
  do { \
    cl_int status_ = (call); \
    if (status_ != CL_SUCCESS) { \
      fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_); \
      exit(1); \
    } \
  } while (0)

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;

/* Takes the first GPU of any platform; ends with status 77 where there is none. */
static void start(void) {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && !device; i++)
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &device, NULL) == CL_SUCCESS) platform = platforms[i];
  if (!device) {
    fprintf(stderr, "there is no OpenCL platform with a GPU\n");
    exit(77);
  }
  cl_int status;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  DO(status);
}

static cl_command_queue queue_with(cl_command_queue_properties properties) {
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int status;
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &status);
  DO(status);
  return queue;
}

static cl_program program_of(const char *source) {
  cl_int status;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  DO(status);
  status = clBuildProgram(program, 1, &device, "-cl-std=CL3.0", NULL, NULL);
  if (status != CL_SUCCESS) {
    static char log[8192];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fprintf(stderr, "%d: %s\n", status, log);
    exit(1);
  }
  return program;
}

static cl_kernel kernel_of(cl_program program, const char *name) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, name, &status);
  DO(status);
  return kernel;
}

static cl_mem buffer_of(cl_mem_flags flags, size_t size, void *host) {
  cl_int status;
  cl_mem buffer = clCreateBuffer(context, flags, size, host, &status);
  DO(status);
  return buffer;
}
