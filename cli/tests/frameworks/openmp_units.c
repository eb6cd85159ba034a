/* A loop that calls a function of another unit and reads a variable of it on the device; with openmp_unit.c. */
#include <stdio.h>

#pragma omp declare target
extern int table[4];
int weight(int at);
#pragma omp end declare target

int main(void) {
    long sum = 0, expected = 0;
    int first = 0;
    table[3] = 7;
#pragma omp target update to(table)
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < 1000; i++) sum += weight(i);
    for (int i = 0; i < 1000; i++) expected += weight(i);
#pragma omp target map(from : first)
    {
        first = table[3];
        table[0] = 42;
    }
#pragma omp target update from(table)
    int right = sum == expected && first == 7 && table[0] == 42;
    printf("OpenMP of two units %s: %ld %ld %d %d\n", right ? "as expected" : "FAILED", sum, expected, first, table[0]);
    return !right;
}
