// Textures and surfaces of all shapes, formats, address modes and filters: what reads give, to the bit.
#include "common.h"

template <class T>
static cudaTextureObject_t texture(cudaResourceDesc r, cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                   cudaTextureReadMode read, bool normalized, T more) {
    cudaTextureDesc t;
    memset(&t, 0, sizeof t);
    for (auto& m : t.addressMode) m = mode;
    t.filterMode = filter;
    t.readMode = read;
    t.normalizedCoords = normalized;
    t.borderColor[0] = -2.5f;
    t.borderColor[1] = 0.25f;
    t.borderColor[3] = 1.0f;
    more(t);
    cudaTextureObject_t o = 0;
    CK(cudaCreateTextureObject(&o, &r, &t, nullptr));
    return o;
}
static cudaResourceDesc of(cudaArray_t a) {
    cudaResourceDesc r;
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    return r;
}
static cudaResourceDesc of(cudaMipmappedArray_t a) {
    cudaResourceDesc r;
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = a;
    return r;
}
static void nothing(cudaTextureDesc&) {
}
// Bytes of an array's elements, of its rows and of all.
static cudaArray_t array(cudaChannelFormatDesc d, cudaExtent e, unsigned flags, const void* data) {
    cudaArray_t a;
    CK(cudaMalloc3DArray(&a, &d, e, flags));
    cudaMemcpy3DParms p;
    memset(&p, 0, sizeof p);
    size_t row = e.width * (d.x + d.y + d.z + d.w) / 8;
    p.srcPtr = make_cudaPitchedPtr(const_cast<void*>(data), row, e.width, e.height ? e.height : 1);
    p.dstArray = a;
    p.extent = make_cudaExtent(e.width, e.height ? e.height : 1, e.depth ? e.depth : 1);
    p.kind = cudaMemcpyHostToDevice;
    CK(cudaMemcpy3D(&p));
    return a;
}

enum Shape { D1, D2, D3, A1, A2, CUBE, ACUBE, LEVEL2, LEVELCUBE, GATHER, FETCH2 };
template <class T>
__global__ void read(cudaTextureObject_t t, const float4* at, T* out, int n, Shape shape) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 c = at[i];
    int layer = (int)(c.w * 5);
    switch (shape) {
    case D1: out[i] = tex1D<T>(t, c.x); break;
    case D2: out[i] = tex2D<T>(t, c.x, c.y); break;
    case D3: out[i] = tex3D<T>(t, c.x, c.y, c.z); break;
    case A1: out[i] = tex1DLayered<T>(t, c.x, layer); break;
    case A2: out[i] = tex2DLayered<T>(t, c.x, c.y, layer); break;
    case CUBE: out[i] = texCubemap<T>(t, c.x, c.y, c.z); break;
    case ACUBE: out[i] = texCubemapLayered<T>(t, c.x, c.y, c.z, layer); break;
    case LEVEL2: out[i] = tex2DLod<T>(t, c.x, c.y, c.z * 4); break;
    case LEVELCUBE: out[i] = texCubemapLod<T>(t, c.x, c.y, c.z, c.w * 3); break;
    case GATHER: out[i] = tex2Dgather<T>(t, c.x, c.y, 1); break;
    case FETCH2: out[i] = tex2D<T>(t, c.x, c.y); break;
    }
}
static std::vector<float4> coordinates(int n, float low, float high, bool borders, uint64_t seed) {
    Lcg g(seed);
    std::vector<float4> v(n);
    for (auto& c : v) {
        float* f = &c.x;
        for (int k = 0; k < 3; k++) {
            f[k] = low + (high - low) * g.unit();
            if (borders && g.next() % 2) f[k] = floorf(f[k] * 512) / 512;
        }
        c.w = g.unit();
    }
    return v;
}
template <class T>
static void show(const char* name, cudaTextureObject_t t, const Buf<float4>& at, Shape shape) {
    Buf<T> out(at.n);
    read<<<(at.n + 127) / 128, 128>>>(t, at.d, out.d, (int)at.n, shape);
    CK(cudaDeviceSynchronize());
    auto v = out.get();
    printf("%s %016llx\n", name, (unsigned long long)fnv(v.data(), v.size() * sizeof(T)));
    CK(cudaDestroyTextureObject(t));
}
template <class T>
static void format(const char* name, cudaTextureReadMode mode, uint64_t seed, bool halves = false) {
    Lcg g(seed);
    cudaChannelFormatDesc d = halves ? cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat) : cudaCreateChannelDesc<T>();
    std::vector<T> data(16 * 16);
    for (size_t i = 0; i < sizeof(T) * data.size(); i++) ((unsigned char*)data.data())[i] = (unsigned char)(g.next() >> 9);
    if (halves)
        for (size_t i = 1; i < sizeof(T) * data.size(); i += 2) ((unsigned char*)data.data())[i] &= 0xbf;
    cudaArray_t a = array(d, make_cudaExtent(16, 16, 0), 0, data.data());
    Buf<float4> at(coordinates(4096, -2, 18, true, seed));
    char text[80];
    bool linear = mode == cudaReadModeNormalizedFloat || halves;
    for (int f = 0; f <= linear; f++) {
        snprintf(text, sizeof text, "%s %s", name, f ? "linear" : "point");
        auto t = texture(of(a), cudaAddressModeClamp, f ? cudaFilterModeLinear : cudaFilterModePoint, mode, false, nothing);
        if (linear)
            show<float4>(text, t, at, D2);
        else
            show<uint4>(text, t, at, D2);
    }
    CK(cudaFreeArray(a));
}

__global__ void surfaces(cudaSurfaceObject_t s, cudaSurfaceObject_t layered, int* sum) {
    int x = threadIdx.x - 4, y = blockIdx.x - 2;
    surf2Dwrite(make_float2(x, y), s, x * 8, y, cudaBoundaryModeZero);
    surf2DLayeredwrite(x * 100 + y, layered, x * 4, (y + 2) >> 2, y & 3, cudaBoundaryModeZero);
    __syncthreads();
    float2 clamped, zero;
    surf2Dread(&clamped, s, (x + 3) * 8, y, cudaBoundaryModeClamp);
    surf2Dread(&zero, s, (x + 3) * 8, y, cudaBoundaryModeZero);
    int back;
    surf2DLayeredread(&back, layered, x * 4, (y + 2) >> 2, y & 3, cudaBoundaryModeClamp);
    // What was written comes back; outside, zeros or the nearest.
    bool inside = x >= 0 && x < 24, row = y >= 0 && y < 6;
    bool wrong = row && zero.x != (x + 3 >= 0 && x + 3 < 24 ? x + 3 : 0);
    wrong |= row && clamped.x != (x + 3 < 0 ? 0 : x + 3 > 23 ? 23 : x + 3);
    wrong |= inside && back != x * 100 + y;
    if (wrong) atomicAdd(sum, 1);
}

int main() {
    Lcg g(3);
    std::vector<float4> data(16 * 16 * 16);
    for (auto& v : data) v = make_float4(g.unit() - 0.5f, g.unit() * 100, g.unit() * 1e-6f, -g.unit());
    auto f4 = cudaCreateChannelDesc<float4>();
    auto f1 = cudaCreateChannelDesc<float>();
    const char* modes[] = {"wrap", "clamp", "mirror", "border"};
    char text[80];
    // Address modes and filters of planes.
    for (int normalized = 0; normalized < 2; normalized++)
        for (int m = 0; m < 4; m++)
            for (int f = 0; f < 2; f++) {
                cudaArray_t a = array(f4, make_cudaExtent(13, 7, 0), 0, data.data());
                Buf<float4> at(coordinates(4096, normalized ? -1.5f : -9, normalized ? 2.5f : 22, true, 10 + m));
                snprintf(text, sizeof text, "2d %s %s %s", normalized ? "normalized" : "texels", modes[m], f ? "linear" : "point");
                show<float4>(text, texture(of(a), (cudaTextureAddressMode)m, (cudaTextureFilterMode)f, cudaReadModeElementType, normalized, nothing), at, D2);
                CK(cudaFreeArray(a));
            }
    // Shapes.
    struct {
        const char* name;
        Shape shape;
        cudaExtent extent;
        unsigned flags;
    } shapes[] = {
        {"1d", D1, {100, 0, 0}, 0},
        {"3d", D3, {8, 7, 6}, 0},
        {"1d layered", A1, {33, 0, 4}, cudaArrayLayered},
        {"2d layered", A2, {9, 8, 4}, cudaArrayLayered},
        {"cube", CUBE, {8, 8, 6}, cudaArrayCubemap},
        {"cube layered", ACUBE, {5, 5, 12}, cudaArrayCubemap | cudaArrayLayered},
        {"gather", GATHER, {13, 7, 0}, cudaArrayTextureGather},
    };
    for (auto& s : shapes)
        for (int f = 0; f < 2; f++) {
            cudaArray_t a = array(f4, s.extent, s.flags, data.data());
            Buf<float4> at(coordinates(4096, -1.25f, 1.75f, s.shape != CUBE && s.shape != ACUBE, 20));
            snprintf(text, sizeof text, "%s %s", s.name, f ? "linear" : "point");
            show<float4>(text, texture(of(a), cudaAddressModeClamp, (cudaTextureFilterMode)f, cudaReadModeElementType, true, nothing), at, s.shape);
            CK(cudaFreeArray(a));
        }
    // Formats.
    format<uchar4>("uchar4 integers", cudaReadModeElementType, 30);
    format<uchar4>("uchar4 fractions", cudaReadModeNormalizedFloat, 31);
    format<char4>("char4 fractions", cudaReadModeNormalizedFloat, 32);
    format<ushort4>("ushort4 fractions", cudaReadModeNormalizedFloat, 33);
    format<short4>("short4 fractions", cudaReadModeNormalizedFloat, 34);
    format<short4>("short4 integers", cudaReadModeElementType, 35);
    format<ushort4>("half4", cudaReadModeElementType, 36, true);
    {
        std::vector<uchar4> bytes(16 * 16);
        for (auto& b : bytes) b = make_uchar4(g.next() >> 8, g.next() >> 8, g.next() >> 8, g.next() >> 8);
        cudaArray_t a = array(cudaCreateChannelDesc<uchar4>(), make_cudaExtent(16, 16, 0), 0, bytes.data());
        Buf<float4> at(coordinates(8192, -1, 17, true, 40));
        for (int f = 0; f < 2; f++)
            show<float4>(f ? "srgb linear" : "srgb point", texture(of(a), cudaAddressModeClamp, (cudaTextureFilterMode)f, cudaReadModeNormalizedFloat, false, [](cudaTextureDesc& t) { t.sRGB = 1; }), at, D2);
        CK(cudaFreeArray(a));
    }
    // Levels.
    {
        cudaMipmappedArray_t m;
        CK(cudaMallocMipmappedArray(&m, &f4, make_cudaExtent(16, 8, 0), 5, 0));
        for (int l = 0; l < 5; l++) {
            cudaArray_t a;
            CK(cudaGetMipmappedArrayLevel(&a, m, l));
            cudaExtent e;
            CK(cudaArrayGetInfo(nullptr, &e, nullptr, a));
            CK(cudaMemcpy2DToArray(a, 0, 0, data.data() + 100 * l, e.width * 16, e.width * 16, e.height, cudaMemcpyHostToDevice));
        }
        Buf<float4> at(coordinates(8192, -0.25f, 1.25f, true, 50));
        for (int f = 0; f < 4; f++) {
            auto more = [=](cudaTextureDesc& t) {
                t.mipmapFilterMode = f & 2 ? cudaFilterModeLinear : cudaFilterModePoint;
                t.mipmapLevelBias = 0.3f;
                t.minMipmapLevelClamp = 0.125f;
                t.maxMipmapLevelClamp = 3.6f;
            };
            snprintf(text, sizeof text, "levels %d", f);
            show<float4>(text, texture(of(m), cudaAddressModeWrap, (cudaTextureFilterMode)(f & 1), cudaReadModeElementType, true, more), at, LEVEL2);
        }
        CK(cudaFreeMipmappedArray(m));
    }
    // Linear memory and rows with a pitch.
    {
        float* rows;
        size_t pitch;
        CK(cudaMallocPitch(&rows, &pitch, 21 * 4, 9));
        CK(cudaMemcpy2D(rows, pitch, data.data(), 21 * 4, 21 * 4, 9, cudaMemcpyHostToDevice));
        cudaResourceDesc r;
        memset(&r, 0, sizeof r);
        r.resType = cudaResourceTypePitch2D;
        r.res.pitch2D.devPtr = rows;
        r.res.pitch2D.desc = f1;
        r.res.pitch2D.width = 21;
        r.res.pitch2D.height = 9;
        r.res.pitch2D.pitchInBytes = pitch;
        Buf<float4> at(coordinates(4096, -2, 23, true, 60));
        show<float>("pitch linear", texture(r, cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false, nothing), at, D2);
        CK(cudaFree(rows));
    }
    // Surfaces.
    {
        cudaArray_t a, b;
        auto f2 = cudaCreateChannelDesc<float2>();
        auto i1 = cudaCreateChannelDesc<int>();
        CK(cudaMallocArray(&a, &f2, 24, 6, cudaArraySurfaceLoadStore));
        CK(cudaMalloc3DArray(&b, &i1, make_cudaExtent(24, 3, 4), cudaArraySurfaceLoadStore | cudaArrayLayered));
        std::vector<float2> zeros(24 * 6);
        CK(cudaMemcpy2DToArray(a, 0, 0, zeros.data(), 192, 192, 6, cudaMemcpyHostToDevice));
        cudaSurfaceObject_t s, t;
        auto ra = of(a), rb = of(b);
        CK(cudaCreateSurfaceObject(&s, &ra));
        CK(cudaCreateSurfaceObject(&t, &rb));
        Buf<int> sum(1);
        surfaces<<<10, 32>>>(s, t, sum.d);
        CK(cudaDeviceSynchronize());
        CK(cudaMemcpy2DFromArray(zeros.data(), 192, a, 0, 0, 192, 6, cudaMemcpyDeviceToHost));
        if (sum.get()[0]) printf("%d reads of surfaces are wrong\n", sum.get()[0]);
        printf("surfaces %016llx\n", (unsigned long long)fnv(zeros.data(), zeros.size() * 8));
        CK(cudaDestroySurfaceObject(s));
        CK(cudaDestroySurfaceObject(t));
        CK(cudaFreeArray(a));
        CK(cudaFreeArray(b));
    }
    return 0;
}
