"""PTX's scalar semantics in exact arithmetic, written from the ISA manual.

An oracle for the instruction tests: integers are Python integers, floating-point values are fractions that are
rounded once. It shares nothing with the simulator.
"""

from fractions import Fraction
from math import isqrt


# ---- integers ----------------------------------------------------------------------------------------------------

def mask(bits):
    return (1 << bits) - 1


def signed(value, bits):
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def width(type_):
    return {"pred": 32}.get(type_) or int("".join(c for c in type_ if c.isdigit() and not type_.startswith("bf"))
                                          or type_[2:])


def is_signed(type_):
    return type_[0] == "s"


def read(type_, bits):
    """The integer that a register of this type holds."""
    return signed(bits, width(type_)) if is_signed(type_) else bits & mask(width(type_))


def clamp(value, type_):
    w = width(type_)
    low, high = (-(1 << (w - 1)), mask(w - 1)) if is_signed(type_) else (0, mask(w))
    return max(low, min(high, value))


def truncated_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


# ---- floating point ----------------------------------------------------------------------------------------------

class Format:
    """A binary interchange format; `ieee` has infinities, E4M3 has none."""

    def __init__(self, name, exponent_bits, fraction_bits, nan, ieee=True):
        self.name, self.e, self.f, self.nan, self.ieee = name, exponent_bits, fraction_bits, nan, ieee
        self.bits = 1 + exponent_bits + fraction_bits
        self.bias = (1 << (exponent_bits - 1)) - 1
        self.sign = 1 << (self.bits - 1)
        self.infinity = mask(exponent_bits) << fraction_bits
        self.max_finite = self.infinity - 1 if ieee else self.nan - 1

    def is_nan(self, u):
        u &= self.sign - 1
        return u > self.infinity if self.ieee else u == self.nan

    def is_inf(self, u):
        return self.ieee and (u & (self.sign - 1)) == self.infinity

    def is_zero(self, u):
        return u & (self.sign - 1) == 0

    def negative(self, u):
        return bool(u & self.sign)

    def is_subnormal(self, u):
        return 0 < (u & (self.sign - 1)) < (1 << self.f)

    def value(self, u):
        """Exact value of a finite number."""
        exponent, fraction = (u >> self.f) & mask(self.e), u & mask(self.f)
        if exponent:
            fraction |= 1 << self.f
        else:
            exponent = 1
        v = Fraction(fraction) * Fraction(2) ** (exponent - self.bias - self.f)
        return -v if self.negative(u) else v

    def overflow(self, negative, mode):
        to_infinity = self.ieee and (mode in ("rn", "rna") or mode == ("rm" if negative else "rp"))
        return (self.sign if negative else 0) | (self.infinity if to_infinity else self.max_finite)

    def round(self, v, mode="rn", zero_negative=False):
        """Rounds an exact value; `zero_negative` is the sign of an exact zero."""
        if v == 0:
            return self.sign if zero_negative else 0
        negative, v = v < 0, abs(v)
        exponent = max(floor_log2(v), 1 - self.bias)
        scaled = v / Fraction(2) ** (exponent - self.f)
        low, rest = divmod(scaled, 1)
        low = int(low)
        up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low & 1),
              "rna": rest >= Fraction(1, 2), "rz": False,
              "rm": negative and rest > 0, "rp": not negative and rest > 0}[mode]
        low += bool(up)
        u = low + ((exponent - 1 + self.bias) << self.f) if low >> self.f else low
        if u > self.max_finite:
            return self.overflow(negative, mode)
        return u | (self.sign if negative else 0)

    def flush(self, u):
        return u & self.sign if self.is_subnormal(u) else u

    def saturate(self, u):
        """Clamps to [0, 1]; NaN becomes +0."""
        if self.is_nan(u) or self.negative(u):
            return 0
        one = self.bias << self.f
        return min(u, one)


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52, 0x7FF8000000000000)
E4M3 = Format("e4m3", 4, 3, 0x7F, ieee=False)
E5M2 = Format("e5m2", 5, 2, 0x7F)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64, E4M3, E5M2)}


def floor_log2(v):
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if Fraction(2) ** e <= v else e - 1


def finish(f, u, ftz, sat):
    if ftz:
        u = f.flush(u)
    return f.saturate(u) if sat else u


def add(f, a, b, mode="rn", ftz=False, sat=False, subtract=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    if f.is_nan(a) or f.is_nan(b):
        return finish(f, f.nan, ftz, sat)
    if subtract:
        b ^= f.sign
    if f.is_inf(a) or f.is_inf(b):
        if f.is_inf(a) and f.is_inf(b) and a != b:
            return finish(f, f.nan, ftz, sat)
        return finish(f, a if f.is_inf(a) else b, ftz, sat)
    both_negative = f.negative(a) and f.negative(b)
    zero = both_negative or (mode == "rm" and not (f.is_zero(a) and f.is_zero(b) and not f.negative(a)
                                                   and not f.negative(b)))
    return finish(f, f.round(f.value(a) + f.value(b), mode, zero), ftz, sat)


def mul(f, a, b, mode="rn", ftz=False, sat=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    negative = f.negative(a) != f.negative(b)
    if f.is_nan(a) or f.is_nan(b) or (f.is_inf(a) and f.is_zero(b)) or (f.is_zero(a) and f.is_inf(b)):
        u = f.nan
    elif f.is_inf(a) or f.is_inf(b):
        u = f.infinity | (f.sign if negative else 0)
    else:
        u = f.round(f.value(a) * f.value(b), mode, negative)
    return finish(f, u, ftz, sat)


def fma(f, a, b, c, mode="rn", ftz=False, sat=False, relu=False):
    if ftz:
        a, b, c = f.flush(a), f.flush(b), f.flush(c)
    negative = f.negative(a) != f.negative(b)
    product_inf = f.is_inf(a) or f.is_inf(b)
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c) or (f.is_inf(a) and f.is_zero(b)) or (f.is_zero(a) and f.is_inf(b)):
        u = f.nan
    elif product_inf:
        u = f.nan if f.is_inf(c) and f.negative(c) != negative else f.infinity | (f.sign if negative else 0)
    elif f.is_inf(c):
        u = c
    else:
        product_zero = f.is_zero(a) or f.is_zero(b)
        if product_zero and f.is_zero(c):
            zero = negative if negative == f.negative(c) else mode == "rm"
        else:
            zero = mode == "rm"
        u = f.round(f.value(a) * f.value(b) + f.value(c), mode, zero)
    u = finish(f, u, ftz, sat)
    return relu_(f, u) if relu else u


def relu_(f, u):
    if f.is_nan(u):
        return f.nan
    return 0 if f.negative(u) else u


def div(f, a, b, mode="rn", ftz=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    negative = f.negative(a) != f.negative(b)
    s = f.sign if negative else 0
    if f.is_nan(a) or f.is_nan(b) or (f.is_inf(a) and f.is_inf(b)) or (f.is_zero(a) and f.is_zero(b)):
        return f.nan
    if f.is_inf(a) or f.is_zero(b):
        return f.infinity | s
    if f.is_inf(b):
        return s
    return finish(f, f.round(f.value(a) / f.value(b), mode, negative), ftz, False)


def sqrt(f, a, mode="rn", ftz=False):
    if ftz:
        a = f.flush(a)
    if f.is_nan(a) or (f.negative(a) and not f.is_zero(a)):
        return f.nan
    if f.is_inf(a) or f.is_zero(a):
        return a
    # A scaled integer root with a sticky bit carries every rounding decision.
    v = f.value(a)
    shift = 2 * (f.f + 8) + 2 * f.bias
    scaled = v * Fraction(2) ** shift
    whole = scaled.numerator // scaled.denominator
    root = isqrt(whole)
    exact = root * root == whole and scaled.denominator == 1
    approx = Fraction(2 * root + (0 if exact else 1), 2) / Fraction(2) ** (shift // 2)
    return f.round(approx, mode)


def less(f, a, b):
    """a < b for numbers, with -0 below +0 as min and max see it."""
    if f.is_zero(a) and f.is_zero(b):
        return f.negative(a) and not f.negative(b)
    return order(f, a) < order(f, b)


def order(f, u):
    m = u & (f.sign - 1)
    return -m if f.negative(u) else m


def minmax(f, a, b, largest, ftz=False, nan=False, xorsign=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    sign = 0
    if xorsign:
        sign = (a ^ b) & f.sign
        a, b = a & ~f.sign, b & ~f.sign
    if f.is_nan(a) or f.is_nan(b):
        if nan or (f.is_nan(a) and f.is_nan(b)):
            return f.nan
        u = b if f.is_nan(a) else a
    else:
        u = (b if less(f, a, b) else a) if largest else (a if less(f, a, b) else b)
    return u | sign


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu")


def compare_numbers(op, a, b):
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
            "lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b}[op]


def compare_floats(op, f, a, b, ftz=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    unordered = f.is_nan(a) or f.is_nan(b)
    if op in ("num", "nan"):
        return unordered == (op == "nan")
    if unordered:
        return op in UNORDERED
    return compare_numbers(op[:2], order(f, a), order(f, b))


# ---- conversions -------------------------------------------------------------------------------------------------

def to_integral(f, u, mode):
    """Rounds a finite number to an integer."""
    v = f.value(u)
    low = v.numerator // v.denominator
    rest = v - low
    if mode == "rmi":
        return low
    if mode == "rpi":
        return low + (rest > 0)
    if mode == "rzi":
        return low + (v < 0 and rest > 0)
    return low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low & 1 == 1))


def float_to_int(f, u, type_, mode, ftz=False):
    w = width(type_)
    if ftz:
        u = f.flush(u)
    if f.is_nan(u):
        return 1 << (w - 1) if f is F64 or w == 64 else 0
    if f.is_inf(u):
        v = clamp(-(1 << 200) if f.negative(u) else 1 << 200, type_)
    else:
        v = clamp(to_integral(f, u, mode), type_)
    return v & mask(w)


def int_to_float(f, type_, bits, mode):
    return f.round(Fraction(read(type_, bits)), mode)


def float_to_float(to, from_, u, mode="rn", ftz=False, sat=False, relu=False, satfinite=False):
    if ftz:
        u = from_.flush(u) if from_ is F32 else u
    if from_.is_nan(u) and from_ is F64:
        # Quiet, with its sign and the upper part of its payload.
        sign = to.sign if from_.negative(u) else 0
        r = sign | to.infinity | 1 << to.f - 1 | (u & mask(52)) >> 52 - to.f
    elif from_.is_nan(u):
        r = to.nan
    elif from_.is_inf(u):
        negative = to.sign if from_.negative(u) else 0
        r = negative | (to.max_finite if satfinite or not to.ieee else to.infinity)
    else:
        r = to.round(from_.value(u), mode, from_.negative(u))
        if satfinite and to.is_inf(r):
            r = r & to.sign | to.max_finite
    if ftz and to is F32:
        r = to.flush(r)
    if sat:
        r = to.saturate(r)
    return relu_(to, r) if relu else r


def round_to_integral_float(f, u, mode, ftz=False):
    if ftz:
        u = f.flush(u)
    if f.is_nan(u):
        return f.nan
    if f.is_inf(u):
        return u
    return f.round(Fraction(to_integral(f, u, mode)), "rn", f.negative(u))
