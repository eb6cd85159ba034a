// The f64 library: polynomial bodies inlined by nvcc, with their slow paths as calls.

extern "C" __global__ void math_f64(const double *x, const double *y, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double a = x[i], b = y[i];
    double *o = out + 12 * i;
    o[0] = sin(a);
    o[1] = cos(a);
    o[2] = exp(a);
    o[3] = log(fabs(a));
    o[4] = pow(fabs(a), b);
    o[5] = atan2(a, b);
    o[6] = cbrt(a);
    o[7] = erf(a);
    o[8] = tgamma(b);
    o[9] = hypot(a, b);
    o[10] = fmod(a, b);
    o[11] = tanh(a);
}

extern "C" __global__ void math_f64_exact(const double *x, const double *y, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double a = x[i], b = y[i];
    double *o = out + 10 * i;
    o[0] = a / b;
    o[1] = sqrt(fabs(a));
    o[2] = __dadd_ru(a, b);
    o[3] = __dmul_rd(a, b);
    o[4] = __fma_rz(a, b, a);
    o[5] = floor(a);
    o[6] = rint(b);
    o[7] = (double)(long long)a;
    o[8] = (double)(float)b;
    o[9] = __ddiv_ru(a, b);
}
