// Texture and surface references of modules, which only the driver interface has.
#include "devices.h"

static const char* image = R"(
.version 8.0
.target sm_80
.address_size 64
.global .texref plain;
.global .texref line;
.global .surfref image;
.visible .global .u32 word = 3;
.visible .entry sample(.param .u64 to, .param .f32 scale) {
  .reg .u64 %a; .reg .u32 %i; .reg .f32 %x, %y, %s; .reg .f32 %v<4>;
  ld.param.u64 %a, [to]; ld.param.f32 %s, [scale];
  mov.u32 %i, %tid.x;
  cvt.rn.f32.u32 %x, %i; add.f32 %x, %x, 0f3E800000; mul.f32 %x, %x, %s;
  mov.f32 %y, 0f3F400000; mul.f32 %y, %y, %s;
  tex.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [plain, {%x, %y}];
  mad.wide.u32 %a, %i, 4, %a;
  st.global.f32 [%a], %v0;
  ret; }
.visible .entry fetch(.param .u64 to) {
  .reg .u64 %a; .reg .u32 %i; .reg .s32 %v<4>;
  ld.param.u64 %a, [to];
  mov.u32 %i, %tid.x;
  tex.1d.v4.s32.s32 {%v0, %v1, %v2, %v3}, [line, {%i}];
  mad.wide.u32 %a, %i, 4, %a;
  st.global.u32 [%a], %v0;
  ret; }
.visible .entry store() {
  .reg .u32 %i, %x, %z; .reg .u32 %v;
  mov.u32 %i, %tid.x; shl.b32 %x, %i, 2; mov.u32 %z, 1; add.u32 %v, %i, 100;
  sust.b.2d.b32.trap [image, {%x, %z}], {%v};
  ret; }
)";

static CUmodule module;
static CUfunction sample, fetch, store;
static CUdeviceptr to;

static void prepare() {
    OK(cuInit(0));
    CUcontext context;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&sample, module, "sample"));
    OK(cuModuleGetFunction(&fetch, module, "fetch"));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuMemAlloc(&to, 4096));
}

static CUarray array(CUarray_format format, unsigned flags = 0) {
    CUDA_ARRAY3D_DESCRIPTOR d = {};
    d.Width = 8;
    d.Height = 4;
    d.Format = format;
    d.NumChannels = 1;
    d.Flags = flags;
    CUarray made;
    OK(cuArray3DCreate(&made, &d));
    return made;
}

static void set(CUarray to, const void* bytes, int row) {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes;
    copy.srcPitch = row;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = to;
    copy.WidthInBytes = row;
    copy.Height = 4;
    OK(cuMemcpy2D(&copy));
}

static void print(int count, bool floats) {
    unsigned host[32];
    OK(cuMemcpyDtoH(host, to, count * 4));
    for (int i = 0; i < count; i++) {
        if (floats) {
            float value;
            memcpy(&value, host + i, 4);
            printf("%g ", value);
        } else {
            printf("%d ", (int)host[i]);
        }
    }
    printf("\n");
}

static void run(float scale) {
    void* parameters[] = {&to, &scale};
    T(cuLaunchKernel(sample, 1, 1, 1, 10, 1, 1, 0, nullptr, parameters, nullptr));
    T(cuCtxSynchronize());
    print(10, true);
}

static void textures() {
    prepare();
    CUtexref ref, same, none;
    T(cuModuleGetTexRef(&ref, module, "plain"));
    T(cuModuleGetTexRef(&same, module, "plain"));
    SHOW(ref == same);
    T(cuModuleGetTexRef(&none, module, "image"));
    T(cuModuleGetTexRef(&none, module, "word"));
    T(cuModuleGetTexRef(&none, module, "nothing"));
    CUarray_format format = (CUarray_format)9;
    int channels = -1;
    T(cuTexRefGetFormat(&format, &channels, ref));
    printf("%d %d\n", format, channels);
    CUaddress_mode mode = (CUaddress_mode)9;
    T(cuTexRefGetAddressMode(&mode, ref, 0));
    SHOW(mode);
    T(cuTexRefGetAddressMode(&mode, ref, 3));
    CUfilter_mode filter = (CUfilter_mode)9;
    T(cuTexRefGetFilterMode(&filter, ref));
    SHOW(filter);
    unsigned flags = 99;
    T(cuTexRefGetFlags(&flags, ref));
    SHOW(flags);
    int anisotropy = -1;
    T(cuTexRefGetMaxAnisotropy(&anisotropy, ref));
    SHOW(anisotropy);
    float bias = 9, low = 9, high = 9, border[4] = {9, 9, 9, 9};
    T(cuTexRefGetMipmapLevelBias(&bias, ref));
    T(cuTexRefGetMipmapLevelClamp(&low, &high, ref));
    T(cuTexRefGetMipmapFilterMode(&filter, ref));
    T(cuTexRefGetBorderColor(border, ref));
    printf("%g %g %g %d %g\n", bias, low, high, filter, border[3]);
    CUarray bound = nullptr;
    T(cuTexRefGetArray(&bound, ref));
    CUmipmappedArray mipmapped;
    T(cuTexRefGetMipmappedArray(&mipmapped, ref));
    CUdeviceptr address = 1;
    T(cuTexRefGetAddress(&address, ref));

    CUarray floats = array(CU_AD_FORMAT_FLOAT);
    float values[32];
    for (int i = 0; i < 32; i++) values[i] = i * 1.5f;
    set(floats, values, 32);
    T(cuTexRefSetArray(ref, floats, 0));
    T(cuTexRefSetArray(ref, floats, CU_TRSA_OVERRIDE_FORMAT));
    T(cuTexRefGetArray(&bound, ref));
    SHOW(bound == floats);
    T(cuTexRefGetFormat(&format, &channels, ref));
    printf("%d %d\n", format, channels);
    run(1);
    T(cuTexRefSetFilterMode(ref, CU_TR_FILTER_MODE_LINEAR));
    run(1);
    T(cuTexRefSetFilterMode(ref, (CUfilter_mode)5));
    T(cuTexRefSetAddressMode(ref, 0, CU_TR_ADDRESS_MODE_BORDER));
    T(cuTexRefSetAddressMode(ref, 5, CU_TR_ADDRESS_MODE_BORDER));
    T(cuTexRefSetAddressMode(ref, 0, (CUaddress_mode)7));
    float color[4] = {100, 1, 1, 1};
    T(cuTexRefSetBorderColor(ref, color));
    run(1);
    T(cuTexRefSetFlags(ref, CU_TRSF_NORMALIZED_COORDINATES));
    T(cuTexRefSetAddressMode(ref, 0, CU_TR_ADDRESS_MODE_WRAP));
    T(cuTexRefSetAddressMode(ref, 1, CU_TR_ADDRESS_MODE_WRAP));
    run(0.125f);
    T(cuTexRefSetFlags(ref, 64));
    T(cuTexRefSetFlags(ref, 0));
    T(cuTexRefSetMaxAnisotropy(ref, 4));
    T(cuTexRefSetMipmapLevelBias(ref, 0.5f));
    T(cuTexRefSetMipmapLevelClamp(ref, 0, 2));
    T(cuTexRefSetMipmapFilterMode(ref, CU_TR_FILTER_MODE_LINEAR));
    T(cuTexRefGetMipmapLevelBias(&bias, ref));
    SHOW(bias * 10);
    // Bytes become fractions.
    CUarray bytes = array(CU_AD_FORMAT_UNSIGNED_INT8);
    unsigned char small[32];
    for (int i = 0; i < 32; i++) small[i] = i * 8;
    set(bytes, small, 8);
    T(cuTexRefSetArray(ref, bytes, CU_TRSA_OVERRIDE_FORMAT));
    T(cuTexRefSetFilterMode(ref, CU_TR_FILTER_MODE_POINT));
    T(cuTexRefSetAddressMode(ref, 0, CU_TR_ADDRESS_MODE_CLAMP));
    run(1);
    // Rows of memory.
    CUdeviceptr rows;
    size_t pitch;
    OK(cuMemAllocPitch(&rows, &pitch, 32, 4, 4));
    OK(cuMemsetD2D32(rows, pitch, 0x40400000, 8, 4));
    CUDA_ARRAY_DESCRIPTOR shape = {};
    shape.Width = 8;
    shape.Height = 4;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    T(cuTexRefSetFormat(ref, CU_AD_FORMAT_FLOAT, 1));
    T(cuTexRefSetAddress2D(ref, &shape, rows, pitch));
    run(1);
    T(cuTexRefSetAddress2D(ref, &shape, rows, 33));
    T(cuTexRefGetAddress(&address, ref));
    SHOW(address == rows);
    T(cuTexRefGetArray(&bound, ref));
    T(cuTexRefCreate(&none));
    T(cuTexRefSetFormat(none, CU_AD_FORMAT_FLOAT, 3));
    T(cuTexRefSetFormat(none, CU_AD_FORMAT_HALF, 2));
    T(cuTexRefGetFormat(&format, &channels, none));
    printf("%d %d\n", format, channels);
    T(cuTexRefDestroy(none));
    T(cuTexRefGetFlags(&flags, nullptr));
    T(cuParamSetTexRef(sample, CU_PARAM_TR_DEFAULT, ref));
    T(cuParamSetTexRef(sample, 0, ref));
}

static void lines() {
    prepare();
    CUtexref line;
    OK(cuModuleGetTexRef(&line, module, "line"));
    CUdeviceptr data;
    OK(cuMemAlloc(&data, 4096));
    int host[32];
    for (int i = 0; i < 32; i++) host[i] = i * i - 40;
    OK(cuMemcpyHtoD(data, host, 128));
    size_t offset = 77;
    T(cuTexRefSetFormat(line, CU_AD_FORMAT_SIGNED_INT32, 1));
    T(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
    T(cuTexRefSetAddress(&offset, line, data, 64));
    SHOW(offset);
    void* parameters[] = {&to};
    T(cuLaunchKernel(fetch, 1, 1, 1, 20, 1, 1, 0, nullptr, parameters, nullptr));
    T(cuCtxSynchronize());
    print(20, false);
    T(cuTexRefSetAddress(&offset, line, data + 16, 64));
    SHOW(offset);
    T(cuTexRefSetAddress(nullptr, line, data + 16, 64));
    T(cuTexRefSetAddress(nullptr, line, data + 512, 64));
    T(cuTexRefSetAddress(&offset, line, 0, 0));
    CUdeviceptr address = 1;
    T(cuTexRefGetAddress(&address, line));
}

static void surfaces() {
    prepare();
    CUsurfref ref, none;
    T(cuModuleGetSurfRef(&ref, module, "image"));
    T(cuModuleGetSurfRef(&none, module, "plain"));
    CUarray bound = nullptr;
    T(cuSurfRefGetArray(&bound, ref));
    CUarray plain = array(CU_AD_FORMAT_UNSIGNED_INT32);
    CUarray image = array(CU_AD_FORMAT_UNSIGNED_INT32, CUDA_ARRAY3D_SURFACE_LDST);
    unsigned zeros[32] = {};
    set(image, zeros, 32);
    T(cuSurfRefSetArray(ref, plain, 0));
    T(cuSurfRefSetArray(ref, image, 1));
    T(cuSurfRefSetArray(ref, image, 0));
    T(cuSurfRefGetArray(&bound, ref));
    SHOW(bound == image);
    T(cuLaunchKernel(store, 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, nullptr));
    T(cuCtxSynchronize());
    unsigned host[32];
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = image;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    copy.dstPitch = 32;
    copy.WidthInBytes = 32;
    copy.Height = 4;
    OK(cuMemcpy2D(&copy));
    for (unsigned value : host) printf("%u ", value);
    printf("\n");
}

int main(int count, char** words) {
    return run_cases(count, words,
                     {{"textures", textures}, {"lines", lines}, {"surfaces", surfaces}});
}
