// One kind of instruction after another, the same for 32 and for 64 bits. A thread has two values and
// applies a step of `CODE` to them eight times a turn. Assembly, so that the compiler leaves it alone.

#define KERNEL(NAME, T, C, CODE)                                                   \
  extern "C" __global__ void NAME(const T* in, T* out, int turns) {                \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                            \
    T x = in[2 * i], y = in[2 * i + 1];                                            \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++) {                            \
      _Pragma("unroll") for (int step = 0; step < 8; step++)                       \
        asm volatile("{\n\t" CODE "}" : "+" C(x), "+" C(y));                       \
    }                                                                              \
    out[2 * i] = x;                                                                \
    out[2 * i + 1] = y;                                                            \
  }

#define INTEGER(BITS, T, C)                                                                                 \
  KERNEL(add_##BITS, T, C, "add.u" #BITS " %0, %0, %1;\n\tsub.u" #BITS " %1, %0, %1;\n\t")                  \
  KERNEL(logic_##BITS, T, C, "xor.b" #BITS " %0, %0, %1;\n\tnot.b" #BITS " %1, %0;\n\t")                    \
  KERNEL(mul_##BITS, T, C, "mul.lo.u" #BITS " %0, %0, %1;\n\tmul.lo.u" #BITS " %1, %1, %0;\n\t")            \
  KERNEL(mad_##BITS, T, C, "mad.lo.u" #BITS " %0, %1, %1, %0;\n\tmad.lo.u" #BITS " %1, %0, %0, %1;\n\t")    \
  KERNEL(mulhi_##BITS, T, C, "mul.hi.u" #BITS " %0, %0, %1;\n\tadd.u" #BITS " %0, %0, %1;\n\t")             \
  KERNEL(shift_##BITS, T, C,                                                                                \
         ".reg .b" #BITS " t;\n\t.reg .b32 n;\n\t"                                                          \
         "cvt.u32.u" #BITS " n, %1;\n\tand.b32 n, n, 31;\n\t"                                               \
         "shl.b" #BITS " t, %0, n;\n\txor.b" #BITS " %0, %0, t;\n\t"                                        \
         "shr.u" #BITS " t, %0, n;\n\txor.b" #BITS " %0, %0, t;\n\t")                                       \
  KERNEL(compare_##BITS, T, C,                                                                              \
         ".reg .pred p;\n\t"                                                                                \
         "setp.lt.u" #BITS " p, %0, %1;\n\tselp.b" #BITS " %0, %1, %0, p;\n\t"                              \
         "setp.gt.s" #BITS " p, %0, %1;\n\t@p sub.u" #BITS " %1, %0, %1;\n\t")                              \
  KERNEL(minmax_##BITS, T, C, "min.s" #BITS " %0, %0, %1;\n\tmax.u" #BITS " %1, %0, %1;\n\t")               \
  KERNEL(div_##BITS, T, C, ".reg .u" #BITS " t;\n\tdiv.u" #BITS " t, %0, %1;\n\tsub.u" #BITS " %0, %0, t;\n\t")     \
  KERNEL(sdiv_##BITS, T, C, ".reg .s" #BITS " t;\n\tdiv.s" #BITS " t, %0, %1;\n\tsub.s" #BITS " %0, %0, t;\n\t")    \
  KERNEL(rem_##BITS, T, C, ".reg .u" #BITS " t;\n\trem.u" #BITS " t, %0, %1;\n\tadd.u" #BITS " %0, %0, t;\n\t")

INTEGER(32, unsigned, "r")
INTEGER(64, unsigned long long, "l")

#define FLOAT(BITS, T, C)                                                                                   \
  KERNEL(fadd_##BITS, T, C, "add.rn.f" #BITS " %0, %0, %1;\n\tsub.rn.f" #BITS " %1, %1, %0;\n\t")           \
  KERNEL(fmul_##BITS, T, C, "mul.rn.f" #BITS " %0, %0, %1;\n\tmul.rn.f" #BITS " %0, %0, %1;\n\t")           \
  KERNEL(fma_##BITS, T, C, "fma.rn.f" #BITS " %0, %0, %1, %1;\n\tfma.rn.f" #BITS " %0, %0, %1, %1;\n\t")    \
  KERNEL(fcompare_##BITS, T, C,                                                                             \
         ".reg .pred p;\n\t"                                                                                \
         "setp.lt.f" #BITS " p, %0, %1;\n\tselp.f" #BITS " %0, %1, %0, p;\n\t"                              \
         "setp.gt.f" #BITS " p, %0, %1;\n\t@p sub.rn.f" #BITS " %1, %0, %1;\n\t")                           \
  KERNEL(fminmax_##BITS, T, C, "min.f" #BITS " %0, %0, %1;\n\tmax.f" #BITS " %1, %0, %1;\n\t")              \
  KERNEL(fdiv_##BITS, T, C, ".reg .f" #BITS " t;\n\tdiv.rn.f" #BITS " t, %0, %1;\n\tsub.rn.f" #BITS " %0, %0, t;\n\t") \
  KERNEL(fsqrt_##BITS, T, C, ".reg .f" #BITS " t;\n\tsqrt.rn.f" #BITS " t, %1;\n\tadd.rn.f" #BITS " %0, %0, t;\n\t")

FLOAT(32, float, "f")
FLOAT(64, double, "d")

// Approximate functions of the special-function unit. Arguments stay in a normal range.
#define APPROX(NAME, CODE) KERNEL(approx_##NAME, float, "f", ".reg .f32 t;\n\t" CODE " t, %0;\n\tadd.rn.f32 %0, %1, t;\n\t")
APPROX(ex2, "ex2.approx.f32")
APPROX(lg2, "lg2.approx.f32")
APPROX(sin, "sin.approx.f32")
APPROX(cos, "cos.approx.f32")
APPROX(rcp, "rcp.approx.f32")
APPROX(rsqrt, "rsqrt.approx.f32")
APPROX(sqrt, "sqrt.approx.f32")
APPROX(tanh, "tanh.approx.f32")

// Parts of words: two floats of 16 bits, four bytes, some bits.
#define PARTS(NAME, CODE) KERNEL(NAME, unsigned, "r", CODE)
PARTS(f16_add, "add.rn.f16x2 %0, %0, %1;\n\tsub.rn.f16x2 %1, %1, %0;\n\t")
PARTS(f16_fma, "fma.rn.f16x2 %0, %0, %1, %1;\n\tfma.rn.f16x2 %1, %1, %1, %0;\n\t")
PARTS(f16_minmax, "min.f16x2 %0, %0, %1;\n\tneg.f16x2 %0, %0;\n\tmax.f16x2 %1, %0, %1;\n\t")
PARTS(bf16_add, "add.rn.bf16x2 %0, %0, %1;\n\tsub.rn.bf16x2 %1, %1, %0;\n\t")
PARTS(bf16_fma, "fma.rn.bf16x2 %0, %0, %1, %1;\n\tfma.rn.bf16x2 %1, %1, %1, %0;\n\t")
PARTS(f16_pack, ".reg .f32 s, t;\n\tmov.b32 s, %0;\n\tmov.b32 t, %1;\n\tcvt.rn.f16x2.f32 %0, s, t;\n\tadd.u32 %1, %1, %0;\n\t")
PARTS(bf16_pack, ".reg .f32 s, t;\n\tmov.b32 s, %0;\n\tmov.b32 t, %1;\n\tcvt.rn.bf16x2.f32 %0, s, t;\n\tadd.u32 %1, %1, %0;\n\t")
PARTS(bytes_dot, "dp4a.s32.s32 %0, %0, %1, %1;\n\tdp4a.u32.s32 %1, %1, %0, %0;\n\t")
PARTS(bytes_move, "prmt.b32 %0, %0, %1, 0x5210;\n\tbfi.b32 %1, %0, %1, 9, 12;\n\tbfe.s32 %0, %1, 3, 29;\n\t")

// Conversions there and back.
KERNEL(cvt_f32_s32, float, "f", ".reg .s32 t;\n\tcvt.rzi.s32.f32 t, %0;\n\tcvt.rn.f32.s32 %0, t;\n\tadd.rn.f32 %0, %0, %1;\n\t")
KERNEL(cvt_f64_s64, double, "d", ".reg .s64 t;\n\tcvt.rzi.s64.f64 t, %0;\n\tcvt.rn.f64.s64 %0, t;\n\tadd.rn.f64 %0, %0, %1;\n\t")
KERNEL(cvt_f64_f32, double, "d", ".reg .f32 t;\n\tcvt.rn.f32.f64 t, %0;\n\tcvt.f64.f32 %0, t;\n\tadd.rn.f64 %0, %0, %1;\n\t")
