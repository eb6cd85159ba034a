/* OpenACC's data on a device: memory of the program's own, data that is entered and left, routines, queues that are asked and
   waited for, reductions of every kind, nested and tiled loops, and the exit status behind it all. */
#include <openacc.h>
#include <stdlib.h>

#include "offload.h"

enum { N = 600 };

#pragma acc routine seq
static int square(int x) { return x * x; }

static void own_memory(void) {
  int here[N], *there = acc_malloc(sizeof here);
  CHECK(there);
  for (int i = 0; i < N; i++) here[i] = i;
  acc_memcpy_to_device(there, here, sizeof here);
#pragma acc parallel loop deviceptr(there)
  for (int i = 0; i < N; i++) there[i] = square(there[i]);
  acc_memcpy_from_device(here, there, sizeof here);
  for (int i = 0; i < N; i++) CHECK(here[i] == i * i);
  acc_free(there);
}

static void entered_data(void) {
  static float x[N];
  for (int i = 0; i < N; i++) x[i] = i;
#pragma acc enter data copyin(x)
  CHECK(acc_is_present(x, sizeof x));
#pragma acc parallel loop present(x)
  for (int i = 0; i < N; i++) x[i] *= 2;
  CHECK(x[9] == 9);
#pragma acc update self(x[0 : N / 2])
  for (int i = 0; i < N; i++) CHECK(x[i] == (i < N / 2 ? 2 * i : i));
  for (int i = 0; i < N; i++) x[i] = 1;
#pragma acc update device(x[0 : 10])
#pragma acc exit data copyout(x)
  for (int i = 0; i < N; i++) CHECK(x[i] == (i < 10 ? 1 : 2 * i));
  CHECK(!acc_is_present(x, sizeof x));
}

static void queues(void) {
  static int a[N], b[N];
#pragma acc data copy(a, b)
  {
#pragma acc parallel loop async(3)
    for (int i = 0; i < N; i++) a[i] = i;
#pragma acc parallel loop async(4)
    for (int i = 0; i < N; i++) b[i] = 10 * i;
#pragma acc wait(3) async(4)
#pragma acc parallel loop async(4)
    for (int i = 0; i < N; i++) b[i] += a[i];
#pragma acc wait(4)
    CHECK(acc_async_test(4) && acc_async_test_all());
  }
  for (int i = 0; i < N; i++) CHECK(b[i] == 11 * i);
}

static void reductions(void) {
  int sum = 5, product = 1, least = 1 << 30, most = -1, all = -1, any = 0, yes = 1;
#pragma acc parallel loop reduction(+ : sum) reduction(* : product) reduction(min : least) reduction(max : most) \
    reduction(& : all) reduction(| : any) reduction(&& : yes)
  for (int i = 0; i < N; i++) {
    int value = VALUE(i);
    sum += value;
    product *= i == 17 || i == 400 ? 3 : 1;
    least = value < least ? value : least;
    most = value > most ? value : most;
    all &= value | 8;
    any |= i == 3 ? 64 : 0;
    yes = yes && value >= 0;
  }
  struct reduced expected = reduced(N);
  CHECK(sum == expected.sum && product == 9 && least == expected.least && most == expected.most);
  CHECK(all & 8 && any == 64 && yes);
}

static void nested_loops(void) {
  static double c[ROWS][COLUMNS];
  int offset = 3;
#pragma acc parallel loop collapse(2) copyout(c) firstprivate(offset)
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      double sum = offset;
#pragma acc loop seq
      for (int k = 0; k < TERMS; k++) sum += (i + k) * (j - k);
      c[i][j] = sum;
    }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) CHECK(c[i][j] == cell(i, j, 3));
}

int main(void) {
  CHECK(acc_get_device_type() == acc_device_nvidia);
  own_memory();
  entered_data();
  queues();
  reductions();
  nested_loops();
  if (!wrong) puts("OpenACC data as expected");
  return wrong ? 1 : 3;
}
