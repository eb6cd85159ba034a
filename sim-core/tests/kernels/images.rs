//! Mandelbrot, transposes, convolution.

use crate::device::{Args, args, close, each, wide};
use testkit::random::Random;

/// Escape count; the comparison's sum may be contracted.
fn escape(cx: f64, cy: f64, limit: i32, contracted: bool) -> i32 {
    let (mut x, mut y, mut k) = (0.0f64, 0.0f64, 0);
    while k < limit {
        let norm = if contracted { x.mul_add(x, y * y) } else { x * x + y * y };
        if norm > 4.0 {
            break;
        }
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        k += 1;
    }
    k
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn mandelbrot() {
    each("mandelbrot", |device| {
        let (width, height, limit) = (50i32, 30i32, 60i32);
        let (left, top, step) = (-2.0f64, -0.9375f64, 0.0625f64);
        let mut bytes = Vec::new();
        [left, top, step].iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        [width, height, limit, 0].iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        let n = (width * height) as usize;
        let (counts, image) = (device.zeros::<u16>(n), device.zeros::<u8>(4 * n));
        let args = |out: u64| Args::default().bytes(8, &bytes).with(out);
        device.launch("mandelbrot", (7, 4), (8, 8), args(counts));
        device.launch("mandelbrot_rgba", (2, 8), (32, 4), args(image));
        let counts = device.download::<u16>(counts, n);
        let image = device.download::<u8>(image, 4 * n);
        for at in 0..n {
            let (px, py) = (at as i32 % width, at as i32 / width);
            let (cx, cy) = (left + f64::from(px) * step, top + f64::from(py) * step);
            let k = i32::from(counts[at]);
            let allowed = [false, true].map(|c| escape(cx, cy, limit, c));
            assert!(allowed.contains(&k), "{}: ({px}, {py}) is {k}, not {allowed:?}", device.file);
            let mut c = [0, 0, 0, 255];
            if k < limit {
                match k % 6 {
                    0 => c[0] = 255,
                    1 => c[1] = 200,
                    2 => c[2] = 150,
                    3 => (c[0], c[1]) = (128, 128),
                    4 => (c[1], c[2]) = (k as u8, k as u8),
                    _ => (c[0], c[2]) = (!k as u8, !k as u8),
                }
            }
            assert_eq!(image[4 * at..4 * at + 4], c, "{}: ({px}, {py}) of count {k}", device.file);
        }
        assert!(counts.contains(&(limit as u16)) && counts.contains(&1));
    });
}

#[test]
fn transposes() {
    each("transpose", |device| {
        let (width, height) = (70usize, 45usize);
        let grid = (width.div_ceil(32) as u32, height.div_ceil(32) as u32);
        let size = |out: u64, d: u64| args!(d, out, width as i32, height as i32);

        let x: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
        let out = device.zeros::<f32>(x.len());
        device.launch("transpose_f32", grid, (32, 8), size(out, device.upload(&x)));
        let expected: Vec<f32> = (0..x.len()).map(|i| x[i % height * width + i / height]).collect();
        assert_eq!(device.download::<f32>(out, x.len()), expected, "{}", device.file);

        let x = Random(1).list(width * height, |r| r.next() as u8);
        let out = device.zeros::<u8>(x.len());
        device.launch("transpose_u8", grid, (32, 8), size(out, device.upload(&x)));
        let expected: Vec<u8> = (0..x.len()).map(|i| x[i % height * width + i / height]).collect();
        assert_eq!(device.download::<u8>(out, x.len()), expected, "{}", device.file);

        let x: Vec<[f64; 2]> = (0..width * height).map(|i| [i as f64, -(i as f64)]).collect();
        let out = device.zeros::<f64>(2 * x.len());
        device.launch("transpose_f64x2", grid, (32, 8), size(out, device.upload(x.as_flattened())));
        let expected: Vec<[f64; 2]> = (0..x.len()).map(|i| x[i % height * width + i / height]).collect();
        assert_eq!(device.download::<f64>(out, 2 * x.len()), expected.as_flattened(), "{}", device.file);
    });
}

#[test]
fn convolutions() {
    each("convolution", |device| {
        let (width, height) = (40i32, 23i32);
        let mut random = Random(2);
        let image = random.list((width * height) as usize, |r| r.real(0.0, 1.0) as f32);
        let filter = random.list(25, |r| r.real(-1.0, 1.0) as f32);
        device.set("filter", &filter);
        let (din, dout) = (device.upload(&image), device.zeros::<f32>(image.len()));
        device.launch("convolve", (3, 2), (16, 16), args!(din, dout, width, height));
        let at = |x: i32, y: i32| {
            f64::from(image[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize])
        };
        let pixels = || (0..width * height).map(|i| (i % width, i / width));
        let expected: Vec<f64> = pixels()
            .map(|(x, y)| {
                (0..25).map(|k| f64::from(filter[k as usize]) * at(x + k % 5 - 2, y + k / 5 - 2)).sum()
            })
            .collect();
        close(&wide(&device.download::<f32>(dout, image.len())), &expected, 1e-5, 1e-5, &device.file);

        let image = random.list((width * height) as usize, |r| r.next() as u8);
        let (din, dout) = (device.upload(&image), device.zeros::<u8>(image.len()));
        device.launch("sobel", (5, 3), (8, 8), args!(din, dout, width, height));
        let at = |x: i32, y: i32| i32::from(image[(y * width + x) as usize]);
        let expected: Vec<u8> = pixels()
            .map(|(x, y)| {
                if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                    return 0;
                }
                let gx = at(x + 1, y - 1) + 2 * at(x + 1, y) + at(x + 1, y + 1)
                    - at(x - 1, y - 1)
                    - 2 * at(x - 1, y)
                    - at(x - 1, y + 1);
                let gy = at(x - 1, y + 1) + 2 * at(x, y + 1) + at(x + 1, y + 1)
                    - at(x - 1, y - 1)
                    - 2 * at(x, y - 1)
                    - at(x + 1, y - 1);
                (gx.abs() + gy.abs()).min(255) as u8
            })
            .collect();
        assert_eq!(device.download::<u8>(dout, image.len()), expected, "{}", device.file);
    });
}
