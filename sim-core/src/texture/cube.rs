//! Faces of cubes.

use numerics::approx::rcp_f32;

/// The coordinate of the largest magnitude; z before y before x where they are equal.
pub(crate) fn major_axis([x, y, z]: [f32; 3]) -> f32 {
    x.abs().max(y.abs()).max(z.abs())
}

/// The face that a direction meets and where on it, from -1 to 1. A NaN is no direction, and is the middle.
pub(super) fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let [ax, ay, az] = [x, y, z].map(|at| if at.is_nan() { -1.0 } else { at.abs() });
    let [x, y, z] = [x, y, z].map(|at| if at.is_nan() { 0.0 } else { at });
    if az >= ax && az >= ay {
        if z < 0.0 { (5, [-x, -y]) } else { (4, [x, -y]) }
    } else if ay >= ax {
        if y < 0.0 { (3, [x, -z]) } else { (2, [x, z]) }
    } else if x < 0.0 {
        (1, [z, -y])
    } else {
        (0, [-z, -y])
    }
}

/// A step in the plane of the face that a direction meets, along two coordinates in their order, as one along the face's own axes.
pub(super) fn along_face(from: [f32; 3], [a, b]: [f32; 2]) -> [f32; 2] {
    match face(from).0 {
        0 => [-b, -a],
        1 => [b, -a],
        2 => [a, b],
        3 | 4 => [a, -b],
        _ => [-a, -b],
    }
}

/// A place on a face, from -1 to 1, as a direction whose coordinate towards the face is `ahead`.
fn direction(face: u32, [u, v]: [f32; 2], ahead: f32) -> [f32; 3] {
    match face {
        0 => [ahead, -v, -u],
        1 => [-ahead, -v, u],
        2 => [u, ahead, v],
        3 => [u, -ahead, -v],
        4 => [u, -v, ahead],
        _ => [-u, -v, -ahead],
    }
}

/// The texel at `x` and `y` of a face of `size` texels, or of the face beside it if it is over the edge, as far from it there: its
/// face and place. Over a corner there is none.
pub(super) fn texel(face: u32, size: u32, texel: [i64; 2]) -> Option<(u32, [u32; 2])> {
    let last = i64::from(size) - 1;
    // How far over which side.
    let over = texel.map(|at| at.min(0) + (at - last).max(0));
    if over == [0; 2] {
        return Some((face, texel.map(|at| at as u32)));
    }
    if over[0] != 0 && over[1] != 0 {
        return None;
    }
    // In halves of a texel, which are exact.
    let half = size as f32;
    let place = [0, 1].map(|axis| match over[axis] {
        0 => (2 * texel[axis] + 1) as f32 - half,
        over => half.copysign(over as f32),
    });
    let behind = (over[0] + over[1]).abs().min(last + 1);
    let (beside, place) = self::face(direction(face, place, half - (2 * behind - 1) as f32));
    Some((beside, place.map(|at| ((at + half) * 0.5) as u32)))
}

/// Where a direction meets the faces of a cube, as seen from one of them.
pub(super) enum Seen {
    /// On that face, from -1 to 1.
    There([f32; 2]),
    /// On a face beside it: where along the axes of that face, over an edge of which of them, and how far ahead still.
    Beside { at: [f32; 2], over: usize, ahead: f32 },
    /// On the opposite face, where along the axes of that face.
    Opposite([f32; 2]),
}

/// Which axis has the largest coordinate.
fn major([x, y, z]: [f32; 3]) -> usize {
    let [x, y, z] = [x, y, z].map(|at| if at.is_nan() { -1.0 } else { at.abs() });
    if z >= x && z >= y { 2 } else { usize::from(y >= x) }
}

/// Where a direction meets the cube, seen from the face that `from` meets.
pub(super) fn seen(from: [f32; 3], at: [f32; 3]) -> Seen {
    let (home, face) = (major(from), major(at));
    let reciprocal = f32::from_bits(rcp_f32(at[face].abs().to_bits(), true));
    let at = at.map(|at| at * reciprocal);
    // How far it is in front of the middle of the cube.
    let ahead = if from[home] > 0.0 { at[home] } else { -at[home] };
    let flat = match home {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    };
    let on_face = flat.map(|axis| at[axis]);
    if face != home {
        return Seen::Beside { at: on_face, over: usize::from(face == flat[1]), ahead };
    }
    if ahead < 0.0 { Seen::Opposite(on_face) } else { Seen::There(on_face) }
}
