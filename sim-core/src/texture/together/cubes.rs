//! Directions as places on the faces of cubemaps, which are layers of planes.

use super::super::{Shape, Texture, cube, sample};
use super::Row;
use semantics::lanes::{LaneMask, WARP_SIZE};

/// Where directions meet cubes.
pub(crate) struct Faces {
    /// Lanes whose cubes are there.
    pub lanes: LaneMask,
    /// Places on faces, from 0 to 1: bits of floats.
    pub at: [Row<u32>; 3],
    /// The faces' numbers among the layers.
    pub layers: Row<u32>,
}

impl Faces {
    /// Of directions whose largest coordinate is one, and of cubes by number where there are several.
    pub(crate) fn of(
        texture: &Texture,
        directions: &[Row<u32>; 3],
        cubes: Option<&Row<u32>>,
        lanes: LaneMask,
    ) -> Faces {
        let image = &texture.image;
        let last = (image.levels[0].extent[2] / 6).saturating_sub(1);
        let mut faces = Faces { lanes, at: [[0; WARP_SIZE]; 3], layers: [0; WARP_SIZE] };
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (face, place) = cube::face(directions.map(|row| f32::from_bits(row[lane])));
            for (row, at) in faces.at.iter_mut().zip(place) {
                row[lane] = sample::upwards_from_edge(at).to_bits();
            }
            let cube = match (image.shape, cubes) {
                (Shape::CubeLayered, Some(cubes)) => cubes[lane].min(last),
                _ => 0,
            };
            let layer = 6 * cube + face;
            faces.layers[lane] = layer;
            // A view may have more cubes than there are.
            if image.shape == Shape::CubeLayered && layer >= image.whole.layers {
                faces.lanes &= !(1 << lane);
            }
        }
        faces
    }
}
