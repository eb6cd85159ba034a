//! Scans, histograms and sorts.

use crate::device::{args, each};
use testkit::random::Random;

fn inclusive(x: &[u32]) -> Vec<u32> {
    x.iter()
        .scan(0u32, |sum, v| {
            *sum = sum.wrapping_add(*v);
            Some(*sum)
        })
        .collect()
}

#[test]
fn scans() {
    each("scan", |device| {
        for n in [1usize, 37, 256] {
            let x = Random(1).list(n, |r| r.next() as u32);
            let (dx, dy) = (device.upload(&x), device.zeros::<u32>(n));
            device.launch_shared("scan_hillis_steele", 1, 256, 2048, args!(dx, dy, n as i32));
            assert_eq!(device.download::<u32>(dy, n), inclusive(&x), "{} {n}", device.file);
        }

        let n = 1500;
        let x = Random(2).list(n, |r| r.next() as u32);
        let (dx, dy, sums) = (device.upload(&x), device.zeros::<u32>(n), device.zeros::<u32>(3));
        device.launch("scan_blelloch", 3, 256, args!(dx, dy, sums, n as i32));
        let block_sums = device.download::<u32>(sums, 3);
        let expected: Vec<u32> = x.chunks(512).map(|c| inclusive(c)[c.len() - 1]).collect();
        assert_eq!(block_sums, expected, "{}", device.file);
        let (offsets, ignored) = (device.zeros::<u32>(3), device.zeros::<u32>(1));
        device.launch("scan_blelloch", 1, 256, args!(sums, offsets, ignored, 3));
        device.launch("scan_add_offsets", 3, 256, args!(dy, offsets, n as i32));
        let exclusive: Vec<u32> = inclusive(&x).iter().zip(&x).map(|(s, v)| s.wrapping_sub(*v)).collect();
        assert_eq!(device.download::<u32>(dy, n), exclusive, "{}", device.file);

        let n = 100;
        let x = Random(3).list(n, |r| r.next() as u32);
        let (dx, dy) = (device.upload(&x), device.zeros::<u32>(n));
        device.launch("scan_warp", 2, 64, args!(dx, dy, n as i32));
        let expected: Vec<u32> = x.chunks(32).flat_map(inclusive).collect();
        assert_eq!(device.download::<u32>(dy, n), expected, "{}", device.file);
    });
}

#[test]
fn histograms() {
    each("histogram", |device| {
        let n = 5000;
        // Skewed, so that lanes collide.
        let x = Random(4).list(n, |r| (r.next() & r.next() & 0xff) as u8);
        let mut expected = vec![0u32; 256];
        x.iter().for_each(|&v| expected[usize::from(v)] += 1);
        let dx = device.upload(&x);
        for (kernel, grid) in
            [("histogram_global", 3), ("histogram_shared", 5), ("histogram_match", n.div_ceil(128) as u32)]
        {
            let bins = device.zeros::<u32>(256);
            device.launch(kernel, grid, 128, args!(dx, bins, n as i32));
            assert_eq!(device.download::<u32>(bins, 256), expected, "{} {kernel}", device.file);
        }
    });
}

#[test]
fn bitonic_sorts() {
    each("sort_bitonic", |device| {
        for n in [256usize, 200, 3] {
            let x = Random(5).list(n, |r| r.next() as i32);
            let dx = device.upload(&x);
            device.launch_shared("bitonic_block", 1, 256, 1024, args!(dx, n as i32));
            let mut expected = x.clone();
            expected.sort_unstable();
            assert_eq!(device.download::<i32>(dx, n), expected, "{} {n}", device.file);
        }

        let n = 1024u32;
        let x = Random(6).list(n as usize, |r| r.real(-1e3, 1e3) as f32);
        let dx = device.upload(&x);
        let mut k = 2;
        while k <= n {
            let mut j = k / 2;
            while j > 0 {
                device.launch("bitonic_step", 8, 128, args!(dx, j, k));
                j /= 2;
            }
            k *= 2;
        }
        let mut expected = x.clone();
        expected.sort_by(f32::total_cmp);
        assert_eq!(device.download::<f32>(dx, n as usize), expected, "{}", device.file);
    });
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn radix_sort() {
    each("sort_radix", |device| {
        let n = 3000usize;
        let blocks = n.div_ceil(256);
        let x = Random(7).list(n, |r| r.next() as u32);
        let (mut from, mut to, counts) =
            (device.upload(&x), device.zeros::<u32>(n), device.zeros::<u32>(16 * blocks));
        for pass in 0..8 {
            let shift = 4 * pass;
            device.launch("radix_count", blocks as u32, 256, args!(from, counts, n as i32, shift));
            device.launch("radix_scan", 1, 32, args!(counts, 16 * blocks as i32));
            device.launch("radix_scatter", blocks as u32, 256, args!(from, to, counts, n as i32, shift));
            (from, to) = (to, from);
        }
        let mut expected = x;
        expected.sort_unstable();
        assert_eq!(device.download::<u32>(from, n), expected, "{}", device.file);
    });
}
