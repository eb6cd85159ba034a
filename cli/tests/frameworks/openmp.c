/* OpenMP's offloading: loops, reductions, data regions, tasks that depend on each other, printf. */
#include <omp.h>
#include <stdio.h>

enum { N = 1000 };

#pragma omp declare target
static int square(int x) { return x * x; }
#pragma omp end declare target

int main(void) {
  static double a[N];
  static int b[N];
  double sum = 0;
  int there = 0, wrong = omp_get_num_devices() != 1;
#pragma omp target map(from : there)
  {
    there = !omp_is_initial_device();
    printf("from the device\n");
  }
#pragma omp target data map(tofrom : a)
  {
#pragma omp target teams distribute parallel for num_teams(4)
    for (int i = 0; i < N; i++) a[i] = 2 * i;
#pragma omp target teams distribute parallel for num_teams(4) reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < N; i++) sum += a[i];
  }
#pragma omp target map(tofrom : b) nowait depend(out : b)
  for (int i = 0; i < N; i++) b[i] = square(i);
#pragma omp target map(tofrom : b) nowait depend(inout : b)
#pragma omp parallel for
  for (int i = 0; i < N; i++) {
#pragma omp atomic
    b[i] += 1;
  }
#pragma omp taskwait
  for (int i = 0; i < N; i++) wrong += a[i] != 2 * i || b[i] != i * i + 1;
  if (!there || wrong || sum != 999000) return 1;
  puts("OpenMP as expected");
  return 0;
}
