/* OpenMP's data on a device: memory of the program's own, data that is entered, updated and left, variables and functions of
   the device, reductions of every kind, nested loops, what a device prints, and the exit status behind it all. */
#include <omp.h>
#include <stdlib.h>

#include "offload.h"

enum { N = 200 };

#pragma omp declare target
int table[4] = {1, 10, 100, 1000};
long count;
static int looked_up(int i) { return table[i & 3]; }
#pragma omp end declare target

static void own_memory(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device(), here[N];
  int *there = omp_target_alloc(sizeof here, device);
  CHECK(there);
  for (int i = 0; i < N; i++) here[i] = i;
  CHECK(omp_target_memcpy(there, here, sizeof here, 0, 0, device, host) == 0);
#pragma omp target teams distribute parallel for num_teams(2) is_device_ptr(there)
  for (int i = 0; i < N; i++) there[i] += looked_up(i);
  CHECK(omp_target_memcpy(here, there, N / 2 * sizeof(int), 0, N / 2 * sizeof(int), host, device) == 0);
  for (int i = 0; i < N / 2; i++) CHECK(here[i] == i + N / 2 + looked_up(i + N / 2));
  omp_target_free(there, device);
}

static void entered_data(void) {
  static float x[N];
  CHECK(!omp_target_is_present(x, omp_get_default_device()));
#pragma omp target enter data map(alloc : x)
  CHECK(omp_target_is_present(x, omp_get_default_device()));
  for (int i = 0; i < N; i++) x[i] = i;
#pragma omp target update to(x[0 : N / 2])
#pragma omp target teams distribute parallel for num_teams(2)
  for (int i = 0; i < N / 2; i++) x[i] = 2 * x[i];
#pragma omp target update from(x[0 : N / 4])
  for (int i = 0; i < N; i++) CHECK(x[i] == (i < N / 4 ? 2 * i : i));
#pragma omp target exit data map(from : x)
  for (int i = 0; i < N / 2; i++) CHECK(x[i] == 2 * i);
  table[2] = 200;
#pragma omp target update to(table)
#pragma omp target
  {
    count = 0;
    for (int i = 0; i < 8; i++) count += looked_up(i);
  }
#pragma omp target update from(count)
  CHECK(count == 2 * 1211);
}

static void reductions(void) {
  int sum = 5, product = 1, least = 1 << 30, most = -1, all = -1, any = 0, odd = 0, yes = 1, no = 0;
#pragma omp target teams distribute parallel for num_teams(2) reduction(+ : sum) reduction(* : product) reduction(min : least) \
    reduction(max : most) reduction(& : all) reduction(| : any) reduction(^ : odd) reduction(&& : yes) reduction(|| : no) \
    map(tofrom : sum, product, least, most, all, any, odd, yes, no)
  for (int i = 0; i < N; i++) {
    int value = VALUE(i);
    sum += value;
    product *= i == 17 || i == 140 ? 3 : 1;
    least = value < least ? value : least;
    most = value > most ? value : most;
    all &= value | 8;
    any |= i == 3 ? 64 : 0;
    odd ^= i;
    yes = yes && value >= 0;
    no = no || value == 1001;
  }
  struct reduced expected = reduced(N);
  CHECK(sum == expected.sum && product == 9 && least == expected.least && most == expected.most);
  CHECK(all & 8 && any == 64 && odd == expected.parity && yes && !no);
}

static void nested_loops(void) {
  static double c[ROWS][COLUMNS];
  double total = 0;
#pragma omp target teams distribute parallel for num_teams(2) collapse(2) map(from : c)
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      double sum = 0;
      for (int k = 0; k < TERMS; k++) sum += (i + k) * (j - k);
      c[i][j] = sum;
    }
#pragma omp target teams distribute parallel for num_teams(2) collapse(2) map(to : c) map(tofrom : total) reduction(+ : total) nowait
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) total += c[i][j];
#pragma omp taskwait
  double expected = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      CHECK(c[i][j] == cell(i, j, 0));
      expected += cell(i, j, 0);
    }
  CHECK(total == expected);
}

int main(void) {
  own_memory();
  entered_data();
  reductions();
  nested_loops();
#pragma omp target
  printf("device: %d %s %.2f %c\n", 42, "text", 0.25, 'x');
  if (!wrong) puts("OpenMP data as expected");
  return wrong ? 1 : 3;
}
