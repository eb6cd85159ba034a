/* OpenACC: gangs and vectors, reductions, asynchronous queues, data regions, atomics. */
#include <openacc.h>
#include <stdio.h>

enum { N = 1000 };

int main(void) {
  static float x[N], y[N];
  static int bins[8];
  float most = 0;
  int wrong = acc_get_num_devices(acc_device_nvidia) != 1;
  for (int i = 0; i < N; i++) x[i] = i, y[i] = 1;
#pragma acc data copyin(x) copy(y) copy(bins)
  {
#pragma acc parallel loop gang vector async(1)
    for (int i = 0; i < N; i++) y[i] += 2 * x[i];
#pragma acc parallel loop reduction(max : most) async(1) copy(most)
    for (int i = 0; i < N; i++) most = y[i] > most ? y[i] : most;
#pragma acc parallel loop async(2)
    for (int i = 0; i < N; i++) {
#pragma acc atomic
      bins[i % 8]++;
    }
#pragma acc wait
  }
  for (int i = 0; i < N; i++) wrong += y[i] != 1 + 2 * i;
  for (int i = 0; i < 8; i++) wrong += bins[i] != N / 8;
  if (wrong || most != 1999) return 1;
  puts("OpenACC as expected");
  return 0;
}
