/* A function and a variable of the device that openmp_units.c uses. */
#pragma omp declare target
int table[4] = {1, 2, 3, 4};

int weight(int at) { return table[at % 4] * 10 + at; }
#pragma omp end declare target
