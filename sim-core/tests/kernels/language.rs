//! printf and assert, objects and recursion, constant memory, structures by value.

use crate::device::{Args, args, each, request};
use sim_core::{Dim3, FindingKind, Outcome};
use testkit::random::Random;

#[test]
fn printing() {
    each("print_assert", |device| {
        let report = device.launch("print_values", 2, 3, args!(device.upload(&[10i32, 20, 30, 40, 50]), 5));
        let text = String::from_utf8(report.output).unwrap();
        let (head, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| !l.starts_with("thread"));
        assert_eq!(
            head,
            [
                "plain text, 100%",
                "[   42|42   |00042|+42|ff|0XFF|10|4294967295]",
                "[-1234567890123 18446744073709551615 123456789abcdef -5 7 z text 0x10]",
                "[1.500000 3.142   1.23e+04 0.0001 0x1p+0     99]",
            ],
            "{}",
            device.file
        );
        let mut lines = lines;
        lines.sort_unstable();
        let expected: Vec<String> =
            (0..5).map(|i| format!("thread {} of block {} holds {}", i % 3, i / 3, 10 * i + 10)).collect();
        let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(lines, expected, "{}", device.file);
    });
}

#[test]
fn assertions_and_traps() {
    each("print_assert", |device| {
        device.launch("assert_positive", 2, 32, args!(device.upload(&[1i32; 40]), 40));
        let mut x = [1i32; 40];
        x[35] = -1;
        for (kernel, kind) in
            [("assert_positive", FindingKind::AssertionFailed), ("trap_on_negative", FindingKind::Trap)]
        {
            let launch = request(kernel, Dim3::from(2), Dim3::from(32), 0, args!(device.upload(&x), 40));
            let report = device.try_launch(launch);
            assert_eq!(report.outcome, Outcome::Faulted, "{} {kernel}", device.file);
            let finding = report
                .findings
                .iter()
                .find(|f| f.kind == kind)
                .unwrap_or_else(|| panic!("{:?}", report.findings));
            assert!(finding.threads.iter().any(|t| t.block.x == 1 && t.thread.x == 3), "{finding:?}");
            if kind == FindingKind::AssertionFailed {
                assert!(finding.message.contains("values[i] > 0"), "{}", finding.message);
            }
        }
    });
}

#[test]
fn virtual_functions() {
    each("objects", |device| {
        let n = 70usize;
        let mut random = Random(1);
        let kind = random.list(n, |r| r.range(0, 3) as i32);
        let size = random.list(n, |r| r.range(1, 10) as f32);
        let (area, corners) = (device.zeros::<f32>(n), device.zeros::<i32>(n));
        device.launch(
            "shapes",
            3,
            32,
            args!(device.upload(&kind), device.upload(&size), area, corners, n as i32),
        );
        let expected: Vec<f32> =
            kind.iter().zip(&size).map(|(k, s)| [3.0 * s * s, 2.0 * s, s * s][*k as usize]).collect();
        assert_eq!(device.download::<f32>(area, n), expected, "{}", device.file);
        let expected: Vec<i32> = kind.iter().map(|k| if *k == 0 { 0 } else { 4 }).collect();
        assert_eq!(device.download::<i32>(corners, n), expected);
    });
}

#[test]
fn function_pointers_and_recursion() {
    each("objects", |device| {
        let n = 100usize;
        let mut random = Random(2);
        let which = random.list(n, |r| r.next() as u8);
        let a = random.list(n, |r| r.next() as u32);
        let b = random.list(n, |r| r.next() as u32);
        let out = device.zeros::<u32>(n);
        device.launch(
            "apply",
            2,
            64,
            args!(device.upload(&which), device.upload(&a), device.upload(&b), out, n as i32),
        );
        let expected: Vec<u32> = (0..n)
            .map(|i| match which[i] & 3 {
                0 => a[i].wrapping_add(b[i]),
                1 => a[i].wrapping_sub(b[i]),
                2 => a[i].wrapping_mul(b[i]),
                _ => a[i] ^ b[i],
            })
            .collect();
        assert_eq!(device.download::<u32>(out, n), expected, "{}", device.file);

        let (m, k) = ([0i32, 1, 1, 2, 2, 2, 0, 1], [5i32, 0, 7, 0, 3, 6, 0, 4]);
        let out = device.zeros::<i32>(8);
        device.launch("recurse", 1, 32, args!(device.upload(&m), device.upload(&k), out, 8));
        // Closed forms of the first rows of Ackermann's function.
        let expected: Vec<i32> =
            m.iter().zip(&k).map(|(m, n)| [n + 1, n + 2, 2 * n + 3][*m as usize]).collect();
        assert_eq!(device.download::<i32>(out, 8), expected, "{}", device.file);
    });
}

#[test]
fn trees_on_the_heap() {
    each("objects", |device| {
        let (n, run) = (40usize, 20usize);
        let keys = Random(3).list(n * run, |r| r.next() as i32);
        let out = device.zeros::<i32>(n * run);
        device.launch("tree_sort", 2, 32, args!(device.upload(&keys), out, run as i32, n as i32));
        let mut expected = keys;
        expected.chunks_mut(run).for_each(<[i32]>::sort_unstable);
        assert_eq!(device.download::<i32>(out, n * run), expected, "{}", device.file);
    });
}

#[test]
fn constant_memory() {
    each("constants", |device| {
        let n = 60usize;
        let index = Random(4).list(n, |r| r.range(0, 64) as i32);
        let dx = device.upload(&index);
        let out = device.zeros::<f64>(n);
        device.launch("table_lookup", 2, 32, args!(dx, out, n as i32));
        let entries = [
            (97.0, 1.0, 10.0, 0.5),
            (98.0, -2.0, 20.0, 1.5),
            (99.0, 3.0, -30.0, -2.5),
            (100.0, -4.0, 40.0, 3.25),
        ];
        let permutation = [7, 2, 14, 0, 9, 5, 11, 1, 15, 3, 8, 12, 6, 10, 4, 13];
        let expected: Vec<f64> = index
            .iter()
            .map(|&i| {
                let (tag, weight, scale, bias) = entries[i as usize & 3];
                tag + weight * 100.0 + scale + bias + f64::from(permutation[i as usize & 15])
            })
            .collect();
        assert_eq!(device.download::<f64>(out, n), expected, "{}", device.file);

        let table: Vec<i32> = (0..64).map(|i| i * i).collect();
        device.set("host_table", &table);
        let out = device.zeros::<i32>(n);
        device.launch("host_lookup", 1, 64, args!(dx, out, n as i32));
        let expected: Vec<i32> = index
            .iter()
            .enumerate()
            .map(|(i, &k)| table[k as usize] + 200 + i32::from(b"constant"[i & 7]))
            .collect();
        assert_eq!(device.download::<i32>(out, n), expected, "{}", device.file);

        let global: Vec<i32> = (0..8).map(|k| 10 + k).collect();
        let out = device.zeros::<i32>(40);
        device.launch("generic_sums", 1, 40, args!(device.upload(&global), out));
        let sum: i32 = global.iter().sum();
        let expected: Vec<i32> =
            (0..40).map(|t| [sum, 2 * sum, sum + 28 * t, table[..8].iter().sum()][t as usize & 3]).collect();
        assert_eq!(device.download::<i32>(out, 40), expected, "{}", device.file);
    });
}

#[test]
fn structures_by_value() {
    each("structs", |device| {
        let (width, height) = (30usize, 20usize);
        let x: Vec<f32> = (0..width * height).map(|i| i as f32 - 300.0).collect();
        let (dx, dy) = (device.upload(&x), device.zeros::<f32>(x.len()));
        let view = |data: u64| {
            [
                data.to_le_bytes(),
                [(width as u32).to_le_bytes(), (height as u32).to_le_bytes()].concat().try_into().unwrap(),
            ]
            .concat()
        };
        let functors: Vec<u8> = [0.5f32, -100.0, 75.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let args = Args::default().bytes(8, &view(dx)).bytes(8, &view(dy)).bytes(4, &functors);
        device.launch("map_scale_clamp", (4, 3), (8, 8), args);
        let expected: Vec<f32> = x.iter().map(|v| (v * 0.5).clamp(-100.0, 75.0)).collect();
        assert_eq!(device.download::<f32>(dy, x.len()), expected, "{}", device.file);

        let n = 50usize;
        let mut random = Random(5);
        let a: Vec<[i64; 3]> = random.list(n, |r| std::array::from_fn(|_| r.next() as i64));
        let b: [i64; 3] = std::array::from_fn(|_| random.next() as i64);
        let out = device.zeros::<i64>(3 * n);
        let bytes: Vec<u8> = b.iter().flat_map(|v| v.to_le_bytes()).collect();
        let args = args!(device.upload(a.as_flattened())).bytes(8, &bytes).with(out).with(n as i32);
        device.launch("cross_products", 1, 64, args);
        let term = |p: i64, q: i64, r: i64, s: i64| p.wrapping_mul(q).wrapping_sub(r.wrapping_mul(s));
        let expected: Vec<i64> = a
            .iter()
            .flat_map(|a| {
                [term(a[1], b[2], a[2], b[1]), term(a[2], b[0], a[0], b[2]), term(a[0], b[1], a[1], b[0])]
            })
            .collect();
        assert_eq!(device.download::<i64>(out, 3 * n), expected, "{}", device.file);
    });
}

/// `struct Odd` of structs.cu: char, short, char[3], long long, float; 24 bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Odd {
    a: i8,
    b: i16,
    c: [i8; 3],
    d: i64,
    e: f32,
}

impl Odd {
    fn bytes(self) -> [u8; 24] {
        let mut out = [0; 24];
        out[0] = self.a as u8;
        out[2..4].copy_from_slice(&self.b.to_le_bytes());
        out[4..7].copy_from_slice(&self.c.map(|c| c as u8));
        out[8..16].copy_from_slice(&self.d.to_le_bytes());
        out[16..20].copy_from_slice(&self.e.to_le_bytes());
        out
    }

    fn read(bytes: &[u8]) -> Self {
        Self {
            a: bytes[0] as i8,
            b: i16::from_le_bytes(bytes[2..4].try_into().unwrap()),
            c: std::array::from_fn(|k| bytes[4 + k] as i8),
            d: i64::from_le_bytes(bytes[8..16].try_into().unwrap()),
            e: f32::from_le_bytes(bytes[16..20].try_into().unwrap()),
        }
    }

    fn twisted(mut self, by: i32) -> Self {
        self.a = self.a.wrapping_add(by as i8);
        self.b = self.b.wrapping_mul(by as i16);
        self.c[0] ^= self.c[2];
        self.c[1] = by as i8;
        self.d -= i64::from(self.a);
        self.e *= 0.5;
        self
    }
}

#[test]
fn structures_with_padding() {
    each("structs", |device| {
        let n = 40usize;
        let mut random = Random(6);
        let mut make = |r: &mut Random| Odd {
            a: r.next() as i8,
            b: r.next() as i16,
            c: std::array::from_fn(|_| r.next() as i8),
            d: r.next() as i64 >> 8,
            e: r.range(-99, 99) as f32,
        };
        let first = make(&mut random);
        let odds: Vec<Odd> = random.list(n, &mut make);
        let bytes: Vec<u8> = odds.iter().flat_map(|o| o.bytes()).collect();
        let d = device.upload(&bytes);
        device.launch("twist_all", 1, 64, args!(d).bytes(8, &first.bytes()[..]).with(n as i32));
        let got = device.download::<u8>(d, 24 * n);
        for (i, chunk) in got.chunks(24).enumerate() {
            let expected = if i == 0 { first } else { odds[i] }.twisted(i as i32);
            assert_eq!(Odd::read(chunk), expected, "{} element {i}", device.file);
        }
    });
}
