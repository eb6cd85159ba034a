//! How many elements the vector operands of an instruction have, and of which type.

use isa::ScalarType;
use isa::{Modifier, Modifiers, Opcode};

use super::model::Count;

/// Elements of a vector operand for these modifiers; 0 stands for a scalar.
pub(super) fn elements(count: Count, modifiers: &[Modifier]) -> u32 {
    match count {
        Count::One => 0,
        Count::Fixed(n) => u32::from(n),
        Count::Vector => match modifiers.vector() {
            1 => 0,
            n => n,
        },
        Count::Number => number(modifiers),
        Count::Dimension => {
            if modifiers.has(Modifier::TileGather4) || modifiers.has(Modifier::TileScatter4) {
                5
            } else {
                dimensions(modifiers)
            }
        }
        Count::Im2col => {
            if modifiers.has(Modifier::Im2col) {
                dimensions(modifiers).saturating_sub(2)
            } else {
                2
            }
        }
        Count::Geometry => geometry(modifiers, [1, 2, 4, 2, 4, 4]),
        Count::Gradient => geometry(modifiers, [1, 2, 4, 1, 2, 4]),
        Count::Offset => geometry(modifiers, [1, 2, 4, 1, 2, 2]),
        Count::Lanes => {
            if modifiers.has(Modifier::CtaGroup2) {
                8
            } else {
                4
            }
        }
    }
}

/// By geometry: `.1d`, `.2d`, `.3d`, `.a1d`, `.a2d`, the others.
fn geometry(modifiers: &[Modifier], counts: [u32; 6]) -> u32 {
    let at = [Modifier::D1, Modifier::D2, Modifier::D3, Modifier::A1d, Modifier::A2d];
    counts[at.iter().position(|&m| modifiers.has(m)).unwrap_or(5)]
}

/// Dimensions of a tensor copy: `.1d` to `.5d`.
fn dimensions(modifiers: &[Modifier]) -> u32 {
    let names = [Modifier::D1, Modifier::D2, Modifier::D3, Modifier::D4, Modifier::D5];
    names.iter().position(|&m| modifiers.has(m)).map_or(1, |at| at as u32 + 1)
}

/// Registers of `ldmatrix`, `stmatrix`, `tcgen05.ld` and `tcgen05.st`.
fn number(modifiers: &[Modifier]) -> u32 {
    use Modifier::{Lanes16x128b, Lanes16x256b, M16n16, X1, X2, X4, X8, X16, X32, X64, X128};
    let names = [X1, X2, X4, X8, X16, X32, X64, X128];
    let repeats = names.iter().position(|&m| modifiers.has(m)).map_or(1, |at| 1u32 << at);
    let each = if modifiers.has(Lanes16x256b) {
        4
    } else if modifiers.has(Lanes16x128b) || modifiers.has(M16n16) {
        2
    } else {
        1
    };
    repeats * each
}

/// Register type and count of the fragment of `matrix` (0 to 3 for A to D) in one thread
/// (ISA 9.7.14, 9.7.15.5.1).
pub(super) fn fragment(opcode: Opcode, modifiers: &[Modifier], matrix: u8) -> Option<(ScalarType, u32)> {
    let (m, n, k) = modifiers.shape()?;
    let (m, n, mut k) = (u32::from(m), u32::from(n), u32::from(k));
    let types: Vec<ScalarType> = modifiers.types().collect();
    let wmma = opcode == Opcode::Wmma;
    let lanes = if opcode == Opcode::Wgmma { 128 } else { 32 };
    let element = match (types.as_slice(), matrix) {
        ([only], _) => *only,
        ([d, c], _) => [ScalarType::F16, ScalarType::F16, *c, *d][usize::from(matrix)],
        ([d, a, b, rest @ ..], _) => [*a, *b, rest.first().copied().unwrap_or(*d), *d][usize::from(matrix)],
        _ => return None,
    };
    let sparse = modifiers.has(Modifier::Sp) || modifiers.has(Modifier::SpOrderedMetadata);
    if sparse && matrix == 0 {
        k /= 2;
    }
    // m8n8k4 with .f16 computes four products at once.
    let four = opcode == Opcode::Mma
        && (m, n, k) == (8, 8, 4)
        && types.get(1).is_some_and(|&ty| ty != ScalarType::F64);
    let values = match matrix {
        0 if wmma && element == ScalarType::F16 => 16 * lanes,
        1 if wmma && element == ScalarType::F16 => 16 * lanes,
        0 => m * k * if four { 4 } else { 1 },
        1 => k * n * if four { 4 } else { 1 },
        _ => m * n * if four { 4 } else { 1 },
    };
    let bits = match element {
        ScalarType::E2m1 | ScalarType::E3m2 | ScalarType::E2m3 => {
            let packed = modifiers.has(Modifier::KindMxf4) || modifiers.has(Modifier::KindMxf4nvf4);
            if packed { 4 } else { 8 }
        }
        other => other.bits(),
    };
    let register = match element {
        ScalarType::F16 => ScalarType::F16x2,
        ScalarType::F32 | ScalarType::F64 | ScalarType::S32 => element,
        _ => ScalarType::B32,
    };
    Some((register, values * bits / lanes / register.bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(opcode: Opcode, text: &str) -> Vec<u32> {
        let modifiers: Vec<Modifier> = text.split('.').filter_map(Modifier::from_text).collect();
        (0..4).filter_map(|matrix| Some(fragment(opcode, &modifiers, matrix)?.1)).collect()
    }

    #[test]
    fn fragments_have_the_manuals_sizes() {
        let mma = |text| counts(Opcode::Mma, text);
        assert_eq!(mma("m8n8k4.row.col.f32.f16.f16.f16"), [2, 2, 4, 8]);
        assert_eq!(mma("m8n8k4.row.col.f64.f64.f64.f64"), [1, 1, 2, 2]);
        assert_eq!(mma("m16n8k16.row.col.f32.f16.f16.f32"), [4, 2, 4, 4]);
        assert_eq!(mma("m16n8k8.row.col.f32.tf32.tf32.f32"), [4, 2, 4, 4]);
        assert_eq!(mma("m16n8k64.row.col.s32.s4.s4.s32"), [4, 2, 4, 4]);
        assert_eq!(mma("sp.m16n8k32.row.col.s32.s8.s8.s32"), [2, 2, 4, 4]);
        assert_eq!(mma("m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"), [4, 2, 4, 4]);
        let wmma = |text| counts(Opcode::Wmma, text);
        assert_eq!(wmma("mma.sync.aligned.row.col.m16n16k16.f16.f32"), [8, 8, 8, 4]);
        assert_eq!(wmma("mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32"), [1, 4, 8, 8]);
        assert_eq!(wmma("mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32"), [4, 4, 8, 8]);
        assert_eq!(counts(Opcode::Wgmma, "mma_async.m64n72k16.f16.f16.f16"), [4, 4, 18, 18]);
    }
}
