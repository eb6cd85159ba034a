#include "common.h"
template <class T>
__device__ int it(T x0, T y0, int m) {
    T x = 0, y = 0;
    int i = 0;
    while (x * x + y * y < T(4) && i < m) {
        T t = x * x - y * y + x0;
        y = T(2) * x * y + y0;
        x = t;
        i++;
    }
    return i;
}
template <class T>
__global__ void mandel(unsigned char* o, int w, int h, int m) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) o[y * w + x] = it<T>(T(x) / w * T(3) - T(2), T(y) / h * T(2) - T(1), m);
}
__global__ void julia(uchar4* o, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float jx = 1.5f * (float)(w / 2 - x) / (w / 2), jy = 1.5f * (float)(h / 2 - y) / (h / 2), cr = -0.8f,
          ci = 0.156f;
    int i = 0;
    for (; i < 200; i++) {
        float t = jx * jx - jy * jy + cr;
        jy = jy * jx + jx * jy + ci;
        jx = t;
        if (jx * jx + jy * jy > 1000) break;
    }
    o[y * w + x] = make_uchar4(i, i * 3, 255 - i, 255);
}
struct Ray {
    float3 o, d;
};
__device__ float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
__global__ void rays(float4* o, int w, const float4* sp, int ns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= w) return;
    Ray r = {make_float3(0, 0, -3), make_float3((x - w / 2) / (float)w, (y - w / 2) / (float)w, 1)};
    float l = rsqrtf(dot(r.d, r.d));
    r.d.x *= l;
    r.d.y *= l;
    r.d.z *= l;
    float best = 1e20f;
    int id = -1;
    for (int i = 0; i < ns; i++) {
        float3 c = make_float3(r.o.x - sp[i].x, r.o.y - sp[i].y, r.o.z - sp[i].z);
        float b = dot(c, r.d), q = dot(c, c) - sp[i].w * sp[i].w, disc = b * b - q;
        if (disc > 0) {
            float t = -b - sqrtf(disc);
            if (t > 0 && t < best) {
                best = t;
                id = i;
            }
        }
    }
    float4 c = make_float4(0, 0, 0, 1);
    if (id >= 0) {
        float3 p = make_float3(r.o.x + best * r.d.x, r.o.y + best * r.d.y, r.o.z + best * r.d.z),
               nn = make_float3((p.x - sp[id].x) / sp[id].w, (p.y - sp[id].y) / sp[id].w,
                                (p.z - sp[id].z) / sp[id].w);
        float k = fmaxf(0, dot(nn, make_float3(.57735f, .57735f, -.57735f)));
        c = make_float4(k, powf(k, 20), __saturatef(k * id), best);
    }
    o[y * w + x] = c;
}
int main() {
    int w = 120, h = 80;
    Buf<unsigned char> a(w * h);
    dim3 g(8, 10), b(16, 8);
    mandel<float><<<g, b>>>(a, w, h, 200);
    show("mf", a);
    mandel<double><<<g, b>>>(a, w, h, 200);
    show("md", a);
    Buf<uchar4> j(w * h);
    julia<<<g, b>>>(j, w, h);
    show("julia", j);
    Lcg r;
    std::vector<float4> s(10);
    for (auto& x : s) x = make_float4(r.unit() * 2 - 1, r.unit() * 2 - 1, r.unit() * 2, .1f + r.unit() * .4f);
    Buf<float4> ds(s), o(80 * 80);
    rays<<<dim3(5, 10), b>>>(o, 80, ds, 10);
    show("rays", o);
    return 0;
}
