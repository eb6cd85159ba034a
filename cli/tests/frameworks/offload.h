/* What the programs of OpenMP and OpenACC have in common: checks, and what their loops are to give, computed on the host. */
#include <stdio.h>

static int wrong;

#define CHECK(condition) \
  do \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      wrong = 1; \
    } \
  while (0)

/* The numbers that are reduced, and what becomes of the first `n`. */
#define VALUE(i) ((i) * 37 % 1000)

struct reduced {
  int sum, least, most, parity;
};

static struct reduced reduced(int n) {
  struct reduced of = {5, 1 << 30, -1, 0};
  for (int i = 0; i < n; i++) {
    int value = VALUE(i);
    of.sum += value;
    of.least = value < of.least ? value : of.least;
    of.most = value > of.most ? value : of.most;
    of.parity ^= i;
  }
  return of;
}

/* A table of sums, each from an offset. */
enum { ROWS = 24, COLUMNS = 16, TERMS = 8 };

static double cell(int i, int j, double sum) {
  for (int k = 0; k < TERMS; k++) sum += (i + k) * (j - k);
  return sum;
}
