// Templates, structs by value as kernel parameters and function results, and
// functors.

template <typename T, int N>
struct Vector {
    T v[N];
    __host__ __device__ T &operator[](int i) { return v[i]; }
    __host__ __device__ const T &operator[](int i) const { return v[i]; }
};

template <typename T>
struct View2 {
    T *data;
    int width, height;
    __device__ T &operator()(int y, int x) const { return data[y * width + x]; }
};

struct Scale {
    float factor;
    __device__ float operator()(float x) const { return x * factor; }
};

struct Clamp {
    float low, high;
    __device__ float operator()(float x) const { return x < low ? low : x > high ? high : x; }
};

template <typename F, typename G>
struct Compose {
    F f;
    G g;
    __device__ float operator()(float x) const { return g(f(x)); }
};

template <typename F>
__device__ void map(View2<const float> in, View2<float> out, F f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < in.width && y < in.height)
        out(y, x) = f(in(y, x));
}

extern "C" __global__ void map_scale_clamp(View2<const float> in, View2<float> out, Compose<Scale, Clamp> f)
{
    map(in, out, f);
}

__device__ __noinline__ Vector<long long, 3> cross(Vector<long long, 3> a, Vector<long long, 3> b)
{
    Vector<long long, 3> c;
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
    return c;
}

extern "C" __global__ void cross_products(const Vector<long long, 3> *a, Vector<long long, 3> b,
                                          Vector<long long, 3> *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = cross(a[i], b);
}

struct Odd {
    char a;
    short b;
    char c[3];
    long long d;
    float e;
};

__device__ __noinline__ Odd twist(Odd o, int by)
{
    o.a += by;
    o.b *= by;
    o.c[0] ^= o.c[2];
    o.c[1] = by;
    o.d -= o.a;
    o.e = o.e * 0.5f;
    return o;
}

extern "C" __global__ void twist_all(Odd *odds, Odd first, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        odds[i] = twist(i == 0 ? first : odds[i], i);
}
