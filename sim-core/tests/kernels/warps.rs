//! Votes, shuffles, reductions over a warp, and cooperative groups.

use crate::device::{args, each, request};
use sim_core::{Dim3, Outcome};
use testkit::random::Random;

#[test]
fn votes() {
    each("warp", |device| {
        let mut x = Random(1).list(64, |r| r.range(1, 40) as i32);
        x[40] = 5000;
        let (dx, out) = (device.upload(&x), device.zeros::<u32>(7 * 64));
        device.launch("warp_votes", 1, 64, args!(dx, out));
        let out = device.download::<u32>(out, 7 * 64);
        for (i, o) in out.chunks(7).enumerate() {
            let warp = &x[i / 32 * 32..][..32];
            let ballot = |f: &dyn Fn(i32) -> bool| (0..32).fold(0u32, |m, l| m | u32::from(f(warp[l])) << l);
            let odd = ballot(&|v| v & 1 == 1);
            let equal = warp.iter().all(|v| v / 1000 == warp[0] / 1000);
            assert_eq!(o[0], odd, "{} thread {i}", device.file);
            assert_eq!((o[1] != 0, o[2] != 0), (true, warp.iter().any(|&v| v > 100)));
            assert_eq!(o[3], ballot(&|v| v == x[i]));
            assert_eq!((o[4], o[5] != 0), (if equal { u32::MAX } else { 0 }, equal));
            // Who is active is up to the schedule, but the thread itself is.
            assert!(o[6] >> (i % 32) & 1 == 1);
        }
    });
}

#[test]
fn reductions_over_a_warp() {
    each("warp", |device| {
        let x = Random(2).list(64, |r| r.next() as i32);
        let (dx, out) = (device.upload(&x), device.zeros::<i32>(8 * 64));
        device.launch("warp_reduce_ops", 1, 64, args!(dx, out));
        let out = device.download::<i32>(out, 8 * 64);
        for (i, o) in out.chunks(8).enumerate() {
            let warp = &x[i / 32 * 32..][..32];
            let unsigned = || warp.iter().map(|&v| v as u32);
            let expected = [
                warp.iter().fold(0i32, |a, &b| a.wrapping_add(b)),
                *warp.iter().min().unwrap(),
                *warp.iter().max().unwrap(),
                unsigned().min().unwrap() as i32,
                unsigned().max().unwrap() as i32,
                warp.iter().fold(-1, |a, b| a & b),
                warp.iter().fold(0, |a, b| a | b),
                warp.iter().fold(0, |a, b| a ^ b),
            ];
            assert_eq!(o, expected, "{} thread {i}", device.file);
        }
    });
}

#[test]
fn shuffles() {
    each("warp", |device| {
        let x = Random(3).list(32, |r| r.next() as i32);
        let y = Random(4).list(32, |r| r.real(-1.0, 1.0));
        let (out, wide) = (device.zeros::<i32>(4 * 32), device.zeros::<f64>(32));
        device.launch("warp_shuffles", 1, 32, args!(device.upload(&x), device.upload(&y), out, wide));
        let out = device.download::<i32>(out, 4 * 32);
        for (i, o) in out.chunks(4).enumerate() {
            let up = if i % 8 >= 3 { i - 3 } else { i };
            let down = if i % 16 + 5 < 16 { i + 5 } else { i };
            assert_eq!(o, [x[i * 7 % 32], x[up], x[down], x[i ^ 9]], "{} lane {i}", device.file);
        }
        let mut reversed = y;
        reversed.reverse();
        assert_eq!(device.download::<f64>(wide, 32), reversed);

        let (dx, out) = (device.upload(&x), device.zeros::<u32>(32));
        device.launch("warp_diverged", 1, 32, args!(dx, out));
        let even = (0..32).step_by(2).fold(0u32, |m, l| m | u32::from(x[l] > 0) << l);
        for (i, &o) in device.download::<u32>(out, 32).iter().enumerate() {
            assert_eq!(o, if i % 2 == 0 { even } else { x[(i + 2) % 32] as u32 }, "{} lane {i}", device.file);
        }
    });
}

#[test]
fn tiles_and_coalesced_groups() {
    each("cooperative", |device| {
        let x = Random(5).list(192, |r| r.range(-100, 100) as i32);
        let dx = device.upload(&x);
        let out = device.zeros::<i32>(24);
        device.launch("tile_sums", 2, 96, args!(dx, out));
        let expected: Vec<i32> = x.chunks(8).map(|c| c.iter().sum()).collect();
        assert_eq!(device.download::<i32>(out, 24), expected, "{}", device.file);

        let (out, count) = (device.zeros::<i32>(192), device.zeros::<i32>(1));
        device.launch("filter_positive", 3, 96, args!(dx, out, count, 180));
        let count = device.download::<i32>(count, 1)[0] as usize;
        let mut kept = device.download::<i32>(out, count);
        kept.sort_unstable();
        let mut expected: Vec<i32> = x[..180].iter().copied().filter(|&v| v > 0).collect();
        expected.sort_unstable();
        assert_eq!(kept, expected, "{}", device.file);

        let v = Random(6).list(32, |r| r.range(0, 1000) as u32);
        let out = device.zeros::<u32>(6 * 32);
        device.launch("warp_reductions", 1, 32, args!(device.upload(&v), out));
        for (i, o) in device.download::<u32>(out, 6 * 32).chunks(6).enumerate() {
            let same = |k: &usize| v[*k] % 3 == v[i] % 3;
            let expected = [
                v.iter().sum(),
                *v.iter().max().unwrap(),
                v.iter().fold(0, |a, b| a ^ b),
                v[..i].iter().sum(),
                (0..32).filter(same).count() as u32,
                (0..i).filter(same).count() as u32,
            ];
            assert_eq!(o, expected, "{} lane {i}", device.file);
        }
    });
}

#[test]
fn cooperative_grid() {
    each("cooperative", |device| {
        let n = 5000usize;
        let x = Random(7).list(n, |r| r.range(-1000, 1000) as i32);
        let (dx, partial, total) = (device.upload(&x), device.zeros::<i32>(12), device.zeros::<i32>(1));
        let mut launch =
            request("grid_total", Dim3::from(12), Dim3::from(64), 0, args!(dx, partial, total, n as i32));
        launch.cooperative = true;
        let report = device.try_launch(launch);
        assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
        assert_eq!(device.download::<i32>(total, 1), [x.iter().sum::<i32>()], "{}", device.file);
    });
}
