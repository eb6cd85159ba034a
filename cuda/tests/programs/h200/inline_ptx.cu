#include "common.h"
__global__ void k(unsigned long long* o) {
    unsigned t = threadIdx.x, r = 0, r2;
    unsigned long long q;
    float f;
    double d;
    int c = 0;
    auto O = [&](unsigned long long x) { o[c++ * blockDim.x + t] = x; };
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r) : "r"(t * 77), "r"(t ^ 0x5555), "r"(t << 7));
    O(r);
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(t * 0x01020304), "r"(~t), "r"(t & 3));
    O(r);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(t * 0x9e3779b9), "r"(t & 31), "r"(t / 3));
    O(r);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(t), "r"(0xffff0000), "r"(t & 31), "r"(5));
    O(r);
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(t * 1000));
    O(r);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(-(int)t));
    O(r);
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(t * 0x01010101), "r"(t & 7), "r"(2));
    O(r);
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(t), "r"(~t), "r"(t));
    O(r);
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(r) : "r"(t * 999), "r"(t & 31));
    O(r);
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(t & 31), "r"(7));
    O(r);
    asm("{ .reg .u32 a; add.cc.u32 a, %1, %2; addc.cc.u32 %0, a, %1; addc.u32 %0, %0, 0; }"
        : "=r"(r)
        : "r"(t * 0x80000001), "r"(0xfffffff0));
    O(r);
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 0;"
        : "=r"(r), "=r"(r2)
        : "r"(t * 0x12345), "r"(0xdeadbeef), "r"(0x80000000));
    O((unsigned long long)r2 << 32 | r);
    asm("sub.cc.u32 %0, %1, %2; subc.u32 %0, %0, 0;" : "=r"(r) : "r"(t), "r"(40));
    O(r);
    asm("mul.wide.s16 %0, %1, %2;" : "=r"(r) : "h"((short)(t * 300)), "h"((short)-5));
    O(r);
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(q) : "r"(t * 0x1000001), "r"(0xffffffff), "l"(5ull));
    O(q);
    asm("mad24.hi.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(t * 0xabcde), "r"(0x765432), "r"(9));
    O(r);
    asm("sad.u16 %0, %1, %2, %3;"
        : "=h"(*(unsigned short*)&r)
        : "h"((unsigned short)t), "h"((unsigned short)50), "h"((unsigned short)7));
    O(r & 0xffff);
    asm("vadd.s32.u32.s32.sat %0, %1.b0, %2.h1, %3;" : "=r"(r) : "r"(t), "r"(t * 0x10001), "r"(3));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(t * .1f));
    O(__float_as_uint(f));
    asm("lg2.approx.f32 %0, %1;" : "=f"(f) : "f"(t * 1.1f));
    O(__float_as_uint(f));
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(t * .3f));
    O(__float_as_uint(f));
    asm("tanh.approx.f32 %0, %1;" : "=f"(f) : "f"(t * .05f - 1));
    O(__float_as_uint(f));
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"(t + .5));
    O(__double_as_longlong(d));
    asm("rsqrt.approx.f64 %0, %1;" : "=d"(d) : "d"(t + .5));
    O(__double_as_longlong(d));
    asm("div.full.f32 %0, %1, %2;" : "=f"(f) : "f"(t + 1.f), "f"(7.f));
    O(__float_as_uint(f));
    asm("div.approx.f32 %0, %1, %2;" : "=f"(f) : "f"(t + 1.f), "f"(.3f));
    O(__float_as_uint(f));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(f) : "f"(t * 3.f));
    O(__float_as_uint(f));
    asm("fma.rz.sat.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(t * .01f), "f"(.9f), "f"(-.1f));
    O(__float_as_uint(f));
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(r) : "f"(t * 2.5f - 10));
    O(r);
    asm("{ .reg .pred p; testp.subnormal.f32 p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "f"(t * 1e-40f));
    O(r);
    asm volatile(
        "{ .reg .pred p, q, s; setp.gt.u32 s, %2, 3; setp.lt.and.u32 p|q, %2, 17, s; selp.u32 %0, 5, 6, p; "
        "@q add.u32 %0, %0, 100; @!s mov.u32 %0, 0; }"
        : "=r"(r)
        : "r"(0), "r"(t));
    O(r);
    asm volatile(
        "{ .reg .pred p; .reg .u32 i; mov.u32 i, 0; mov.u32 %0, 0; L_%=: add.u32 %0, %0, i; add.u32 i, i, 1; "
        "setp.lt.u32 p, i, %1; @p bra L_%=; }"
        : "=&r"(r)
        : "r"(t));
    O(r);
    asm volatile(
        "{ .reg .b8 x; .local .align 8 .b8 buf[16]; .reg .u64 a; mov.u64 a, buf; st.local.u32 [a], %1; "
        "st.local.u32 [a+4], %1; ld.local.u64 %0, [a]; }"
        : "=l"(q)
        : "r"(t));
    O(q);
    asm volatile(
        "{ .reg .u32 i; ts: .branchtargets A_%=, B_%=, C_%=; rem.u32 i, %1, 3; brx.idx i, ts; A_%=: mov.u32 "
        "%0, 10; bra E_%=; B_%=: mov.u32 %0, 20; bra E_%=; C_%=: mov.u32 %0, 30; E_%=: }"
        : "=r"(r)
        : "r"(t));
    O(r);
    asm("slct.s32.f32 %0, %1, %2, %3;" : "=r"(r) : "r"(t), "r"(7), "f"(t - 10.f));
    O(r);
    asm("set.lt.f32.u32 %0, %1, 9;" : "=f"(f) : "r"(t));
    O(__float_as_uint(f));
    asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(t & 1));
    O(r);
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(t * 0x01f3a5c7), "r"(0x80ff017f), "r"(t));
    O(r);
    asm("mov.b64 {%0, %1}, %2;" : "=r"(r), "=r"(r2) : "l"((unsigned long long)t * 0x123456789ull));
    O(r ^ r2);
    asm("{ .reg .b16 a, b; mov.b32 {a, b}, %1; mov.b32 %0, {b, a}; }" : "=r"(r) : "r"(t * 0x30001));
    O(r);
    asm("copysign.f32 %0, %1, %2;" : "=f"(f) : "f"(-1.f), "f"((float)t));
    O(__float_as_uint(f));
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(f) : "f"(NAN), "f"((float)t));
    O(__float_as_uint(f));
    unsigned a0, a1;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(a0), "=r"(a1)
                 : "l"(o + blockDim.x * 60));
    O(a0 + a1);
    asm volatile("st.global.cg.u32 [%0], %1;" ::"l"(o + blockDim.x * 61 + t), "r"(t) : "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(o));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(o + blockDim.x * 63));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(o));
    o[59 * blockDim.x + t] = c;
}
int main() {
    Buf<unsigned long long> o(64 * 64);
    k<<<1, 64>>>(o);
    CK(cudaDeviceSynchronize());
    auto v = o.get();
    for (int j = 0; j < 63; j++) printf("%d %016llx\n", j, (unsigned long long)fnv(v.data() + j * 64, 512));
    return 0;
}
