//! What `tld4` gives all lanes.

use super::super::format::Kind;
use super::{Results, Together};
use semantics::lanes::{FULL, LaneMask, WARP_SIZE};

impl Together<'_> {
    /// A channel of the four texels around: as [`super::super::sample::gather`].
    #[inline(always)]
    pub(super) fn gathered(&self, channel: usize) -> (Results, LaneMask) {
        // Counter-clockwise from the lower left.
        const ORDER: [usize; 4] = [2, 3, 1, 0];
        let (image, sampler) = (&self.texture.image, &self.texture.sampler);
        let level = self.level(0);
        let mut done = FULL;
        let [x, y, z] = self.along(level, false, &mut done);
        let places = [0, 1, 2, 3]
            .map(|number| self.places(level, [&x.texels[number & 1], &y.texels[number >> 1], &z.texels[0]]));
        let mut read = places;
        read.iter_mut().for_each(|read| read.there &= self.reads.lanes);
        let texels = self.texels::<4, 4>(&read);
        let kind = Kind::of(image.format, channel, sampler.integers, sampler.srgb);
        let border = kind.border(sampler.border[channel]);
        let results = ORDER.map(|number| {
            let values = self.values(kind, channel, &texels[number], &places[number], border);
            if !matches!(kind, Kind::Signed(1) | Kind::Packed(_) | Kind::Half) {
                return kind.results(&values);
            }
            let mut results = [0; WARP_SIZE];
            for lane in 0..WARP_SIZE {
                results[lane] = kind.gathered(values[lane]);
            }
            results
        });
        (results, done)
    }
}
