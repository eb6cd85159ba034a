//! The fragments of matrix instructions hold every element, once.

use semantics::matrix::layout::{Layout, Role};

/// How often each element of a matrix occurs.
fn times(layout: &Layout, rows: usize, columns: usize) -> Vec<usize> {
    let mut times = vec![0; rows * columns];
    for lane in 0..32 {
        for element in 0..layout.count() {
            let ((row, column), (down, right)) = (layout.lane(lane), layout.element(element));
            times[(row + down) * columns + column + right] += 1;
        }
    }
    times
}

#[test]
fn fragments_hold_every_element() {
    for (shape, per) in [((16, 8, 16), 2), ((16, 8, 8), 1), ((8, 8, 16), 4), ((16, 8, 64), 8), ((8, 8, 4), 1)]
    {
        let (m, n, k) = shape;
        for (role, rows, columns) in [(Role::A, m, k), (Role::B, k, n), (Role::C, m, n)] {
            let times = times(&Layout::mma(role, shape, per), rows.into(), columns.into());
            assert!(times.iter().all(|&n| n == 1), "{role:?} {shape:?}");
        }
    }
    for (shape, per) in [
        ((16, 16, 16), 2),
        ((8, 32, 16), 2),
        ((32, 8, 16), 4),
        ((8, 32, 16), 4),
        ((16, 16, 8), 1),
        ((8, 8, 32), 8),
    ] {
        let (m, n, k) = shape;
        for (role, rows, columns) in [(Role::A, m, k), (Role::B, k, n), (Role::C, m, n)] {
            let layout = Layout::wmma(role, shape, per, false).unwrap();
            let times = times(&layout, rows.into(), columns.into());
            assert!(times.iter().all(|&n| n == 1), "{role:?} {shape:?}");
        }
    }
}

#[test]
fn halves_have_eight_registers() {
    for shape in [(16, 16, 16), (8, 32, 16), (32, 8, 16)] {
        for role in [Role::A, Role::B] {
            assert_eq!(Layout::wmma(role, shape, 2, true).unwrap().count(), 16);
        }
    }
}
