/* Queues in and out of order, events, profiling, callbacks, user events, barriers, markers. */
#include "check.h"

enum { N = 256 };

static volatile int called;

static void CL_CALLBACK done(cl_event event, cl_int status, void *data) {
  (void)event;
  called = status == CL_COMPLETE ? *(int *)data : -1;
}

static cl_ulong moment(cl_event event, cl_profiling_info which) {
  cl_ulong time;
  DO(clGetEventProfilingInfo(event, which, sizeof time, &time, NULL));
  return time;
}

int main(void) {
  start();
  cl_program program = program_of(
      "kernel void set(global int *x, int value) { x[get_global_id(0)] = value; }\n"
      "kernel void add(global int *x, global const int *y) { x[get_global_id(0)] += y[get_global_id(0)]; }\n");
  cl_mem x = buffer_of(CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL), y = buffer_of(CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL);
  cl_kernel set = kernel_of(program, "set"), add = kernel_of(program, "add");
  cl_command_queue ordered = queue_with(CL_QUEUE_PROFILING_ENABLE);
  /* An implementation need not have queues out of order (PoCL's CUDA driver has none); one in order keeps the same promises. */
  cl_command_queue_properties offered;
  DO(clGetDeviceInfo(device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, sizeof offered, &offered, NULL));
  cl_command_queue_properties out_of_order = offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  if (!out_of_order) puts("queues out of order: the implementation has none");
  cl_command_queue free_order = queue_with(out_of_order | CL_QUEUE_PROFILING_ENABLE);
  size_t size = N;
  cl_int value = 5, host[N];

  /* Of a queue out of order, only events say what comes after what. */
  cl_event first, second, sum;
  DO(clSetKernelArg(set, 0, sizeof x, &x));
  DO(clSetKernelArg(set, 1, sizeof value, &value));
  DO(clEnqueueNDRangeKernel(free_order, set, 1, NULL, &size, NULL, 0, NULL, &first));
  value = 7;
  DO(clSetKernelArg(set, 0, sizeof y, &y));
  DO(clSetKernelArg(set, 1, sizeof value, &value));
  DO(clEnqueueNDRangeKernel(free_order, set, 1, NULL, &size, NULL, 0, NULL, &second));
  cl_event both[] = {first, second};
  DO(clSetKernelArg(add, 0, sizeof x, &x));
  DO(clSetKernelArg(add, 1, sizeof y, &y));
  DO(clEnqueueNDRangeKernel(free_order, add, 1, NULL, &size, NULL, 2, both, &sum));
  DO(clFlush(free_order));
  /* Another queue waits for it. */
  DO(clEnqueueReadBuffer(ordered, x, CL_TRUE, 0, sizeof host, host, 1, &sum, NULL));
  for (int i = 0; i < N; i++) CHECK(host[i] == 12);
  cl_int state;
  DO(clGetEventInfo(sum, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
  CHECK(state == CL_COMPLETE);
  cl_ulong queued = moment(sum, CL_PROFILING_COMMAND_QUEUED), submitted = moment(sum, CL_PROFILING_COMMAND_SUBMIT);
  cl_ulong begun = moment(sum, CL_PROFILING_COMMAND_START), ended = moment(sum, CL_PROFILING_COMMAND_END);
  CHECK(queued <= submitted && submitted <= begun && begun <= ended);

  /* Barriers and markers in a queue out of order. */
  value = 1;
  DO(clSetKernelArg(set, 1, sizeof value, &value));
  DO(clEnqueueNDRangeKernel(free_order, set, 1, NULL, &size, NULL, 0, NULL, NULL));
  DO(clEnqueueBarrierWithWaitList(free_order, 0, NULL, NULL));
  DO(clEnqueueNDRangeKernel(free_order, add, 1, NULL, &size, NULL, 0, NULL, NULL));
  cl_event marker;
  DO(clEnqueueMarkerWithWaitList(free_order, 0, NULL, &marker));
  DO(clWaitForEvents(1, &marker));
  DO(clEnqueueReadBuffer(ordered, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
  for (int i = 0; i < N; i++) CHECK(host[i] == 13);

  /* A callback, and an event that the host sets. */
  int mark = 42;
  cl_int status;
  cl_event gate = clCreateUserEvent(context, &status), write;
  DO(status);
  for (int i = 0; i < N; i++) host[i] = i;
  DO(clEnqueueWriteBuffer(ordered, y, CL_FALSE, 0, sizeof host, host, 1, &gate, &write));
  DO(clSetEventCallback(write, CL_COMPLETE, done, &mark));
  DO(clGetEventInfo(write, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
  CHECK(state != CL_COMPLETE && !called);
  DO(clSetUserEventStatus(gate, CL_COMPLETE));
  DO(clFinish(ordered));
  for (int i = 0; i < 2000 && !called; i++) {
    struct timespec { long seconds, nanoseconds; } pause = {0, 1000000};
    extern int nanosleep(const struct timespec *, struct timespec *);
    nanosleep(&pause, NULL);
  }
  CHECK(called == 42);
  cl_uint count;
  DO(clGetEventInfo(write, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
  CHECK(count >= 1);
  puts("OpenCL queues as expected");
  return 0;
}
