// European call and put prices, in f32 with the fast intrinsics and in f64.

__device__ float cumulative_fast(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * __expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - c : c;
}

extern "C" __global__ void black_scholes_fast(const float *price, const float *strike, const float *years, float *call,
                                              float *put, float rate, float volatility, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float discounted = x * __expf(-rate * t);
    call[i] = s * cumulative_fast(d1) - discounted * cumulative_fast(d2);
    put[i] = discounted * cumulative_fast(-d2) - s * cumulative_fast(-d1);
}

extern "C" __global__ void black_scholes(const double *price, const double *strike, const double *years, double *call,
                                         double *put, double rate, double volatility, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double s = price[i], x = strike[i], t = years[i];
    double root = sqrt(t);
    double d1 = (log(s / x) + (rate + 0.5 * volatility * volatility) * t) / (volatility * root);
    double d2 = d1 - volatility * root;
    double discounted = x * exp(-rate * t);
    call[i] = s * normcdf(d1) - discounted * normcdf(d2);
    put[i] = discounted * normcdf(-d2) - s * normcdf(-d1);
}
