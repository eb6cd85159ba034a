//! Faces of cubes.

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
