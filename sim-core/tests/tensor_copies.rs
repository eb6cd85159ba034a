//! Tensor copies: to shared memory by a map, and back, as an H200 does it.

use std::sync::Arc;

use sim_core::{
    Backend, DeviceConfig, ElementType, FindingKind, Interleave, Launch, LaunchReport, Mode, Outcome,
    RunOptions, Simulator, Swizzle, TensorMap,
};

/// Waits until the first phase of the mbarrier at `%b` is over; kernels have the word in this place.
const WAIT: &str = "
    again:
        mbarrier.try_wait.parity.shared::cta.b64 %done, [%b], 0;
        @!%done bra again;";

/// A simulator with a kernel's module, in which [`WAIT`] stands where it says so.
fn load(kernel: &str) -> (Simulator, sim_core::ModuleId) {
    let source = ptx_frontend::Source::new("copies.ptx", kernel.replace("WAIT;", WAIT).into_bytes());
    let parsed = ptx_frontend::parse(source);
    let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)));
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module).unwrap();
    (simulator, id)
}

/// Loads a box of 8 rows of 32 bytes, and dumps shared memory; stores it at the same place of another tensor.
const KERNEL: &str = "
    .version 8.0\n.target sm_90\n.address_size 64
    .visible .entry copy(
        .param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .u64 dump, .param .u32 x, .param .u32 y)
    {
        .shared .align 1024 .b8 area[1024];
        .shared .align 8 .b64 bar;
        .reg .b64 %m, %d, %at; .reg .b32 %x, %y, %a, %b, %t, %v; .reg .pred %p, %done;
        mov.u32 %t, %tid.x;
        mov.u32 %a, area;
        mov.u32 %b, bar;
        ld.param.u64 %d, [dump];
        ld.param.u32 %x, [x];
        ld.param.u32 %y, [y];
        setp.ne.u32 %p, %t, 0;
        @%p bra wait;
        mbarrier.init.shared::cta.b64 [%b], 1;
        fence.proxy.async;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 256;
        mov.b64 %m, from;
        cvta.param.u64 %m, %m;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
            [%a], [%m, {%x, %y}], [%b];
    wait:
        bar.sync 0;
        WAIT;
        mad.lo.u32 %v, %t, 4, %a;
        mad.wide.u32 %at, %t, 4, %d;
        ld.shared.u32 %v, [%v];
        st.global.u32 [%at], %v;
        @%p bra out;
        mov.b64 %m, to;
        cvta.param.u64 %m, %m;
        cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m, {%x, %y}], [%a];
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
    out:
        ret;
    }";

struct Outcomes {
    report: LaunchReport,
    dump: Vec<u32>,
    to: Vec<u32>,
}

/// A tensor of 10 by 6 words, rows of 48 bytes; every word its number plus 1.
fn run(swizzle: Swizzle, at: [i32; 2], change: impl Fn(&mut TensorMap), initcheck: bool) -> Outcomes {
    let (simulator, id) = load(KERNEL);
    let [from, to] = ["from", "to"].map(|name| simulator.alloc(288, name).unwrap());
    let dump = simulator.alloc(1024, "dump").unwrap();
    let words: Vec<u8> = (1..=72u32).flat_map(u32::to_le_bytes).collect();
    simulator.write(from, &words).unwrap();
    simulator.write(to, &[0; 288]).unwrap();
    let map = |address: u64| {
        let mut map = TensorMap::tiled(ElementType::U32, address, &[10, 6], &[48], &[8, 8]);
        map.swizzle = swizzle;
        change(&mut map);
        map.to_bytes()
    };
    let mut params = [map(from), map(to)].concat();
    params.extend(dump.to_le_bytes());
    params.extend(at.iter().flat_map(|at| at.to_le_bytes()));
    let launch = Launch::new("copy", 1, 256, params);
    // What a tool watches takes another way through the simulator.
    let options = RunOptions { count_memory: initcheck, ..RunOptions::default() };
    let report = simulator.launch(id, &launch, &options).unwrap();
    let read = |at, bytes: usize| {
        let mut found = vec![0; bytes];
        simulator.read(at, &mut found).unwrap();
        found.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    Outcomes { report, dump: read(dump, 1024), to: read(to, 288) }
}

#[test]
fn a_box_comes_and_goes_wherever_it_lies() {
    for watched in [false, true] {
        for swizzle in Swizzle::ALL {
            for at in [[0, 0], [4, 2], [8, 5], [12, 0], [0, 6]] {
                let found = run(swizzle, at, |_| (), watched);
                assert_eq!(found.report.outcome, Outcome::Completed, "{:?}", found.report.findings);
                let (mut dump, mut to) = (vec![0; 256], vec![0; 72]);
                for (y, x) in (0..8).flat_map(|y| (0..8).map(move |x| (y, x))) {
                    let (column, row) = (at[0] + x, at[1] + y);
                    let inside = column < 10 && row < 6;
                    let word = if inside { (12 * row + column) as u32 + 1 } else { 0 };
                    // Rows lie as far apart as the swizzle's span; a variable begins at a multiple of 1024.
                    let plain = i64::from(y) * i64::from(swizzle.span().unwrap_or(32)) + i64::from(4 * x);
                    dump[swizzle.apply(plain as u64) as usize / 4] = word;
                    // A store writes pieces of 16 bytes: also columns 10 and 11.
                    if column < 12 && row < 6 {
                        to[(12 * row + column) as usize] = word;
                    }
                }
                assert_eq!(found.dump, dump, "{swizzle:?} at {at:?}");
                assert_eq!(found.to, to, "{swizzle:?} at {at:?}");
            }
        }
    }
}

#[test]
fn what_a_device_does_not_take_is_told() {
    type Change = fn(&mut TensorMap);
    // What `cuTensorMapReplaceAddress` lets through.
    let moved: Change = |map| {
        (map.rank, map.interleave) = (3, Interleave::B32);
        map.address = map.address / 32 * 32 + 16;
    };
    let cases: [(Change, [i32; 2], FindingKind, &str); 6] = [
        (moved, [0, 0], FindingKind::Misaligned, "with slices of 32 bytes"),
        (|_| (), [1, 0], FindingKind::IllegalInstruction, "multiple of 16 bytes"),
        (|_| (), [-4, 0], FindingKind::IllegalInstruction, "negative"),
        (
            |map| map.rank = 3,
            [0, 0],
            FindingKind::IllegalInstruction,
            "a tensor of rank 3 and coordinates of rank 2",
        ),
        (|map| map.strides[0] = 40, [0, 0], FindingKind::IllegalInstruction, "stride"),
        (|map| map.extents[1] = 100, [0, 8], FindingKind::OutOfBounds, "after the end"),
    ];
    for (change, at, kind, text) in cases {
        let found = run(Swizzle::None, at, change, false);
        let finding = &found.report.findings[0];
        let all = format!("{} {:?}", finding.message, finding.notes);
        assert_eq!((finding.kind, all.contains(text)), (kind, true), "{all}");
    }
}

/// Makes the map of `copy` from zeros in shared memory, puts it where copies may read it, and copies a box by it.
const MAKES_A_MAP: &str = "
    .version 8.3\n.target sm_90a\n.address_size 64
    .visible .entry makes(.param .u64 from, .param .u64 map, .param .u64 dump)
    {
        .shared .align 128 .b8 area[256];
        .shared .align 128 .b8 made[128];
        .shared .align 8 .b64 bar;
        .reg .b64 %from, %map, %d, %at; .reg .b32 %a, %m, %b, %t, %v; .reg .pred %p, %done;
        mov.u32 %t, %tid.x;
        mov.u32 %a, area;
        mov.u32 %m, made;
        mov.u32 %b, bar;
        ld.param.u64 %from, [from];
        ld.param.u64 %map, [map];
        ld.param.u64 %d, [dump];
        mad.lo.u32 %v, %t, 4, %m;
        st.shared.u32 [%v], 0;
        bar.warp.sync 0xffffffff;
        setp.ne.u32 %p, %t, 0;
        @%p bra made_it;
        tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%m], %from;
        tensormap.replace.tile.rank.shared::cta.b1024.b32 [%m], 1;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%m], 0, 8;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%m], 1, 8;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%m], 0, 10;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%m], 1, 6;
        tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%m], 0, 48;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%m], 0, 1;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%m], 1, 1;
        tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%m], 2;
        tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%m], 0;
        tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%m], 0;
        tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%m], 0;
    made_it:
        bar.warp.sync 0xffffffff;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [%m], 128;
        fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
        @%p bra wait;
        mbarrier.init.shared::cta.b64 [%b], 1;
        fence.proxy.async;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 256;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%a], [%map, {0, 0}], [%b];
    wait:
        bar.sync 0;
        WAIT;
        mad.lo.u32 %v, %t, 4, %a;
        mad.wide.u32 %at, %t, 4, %d;
        ld.shared.u32 %m, [%v];
        st.global.u32 [%at], %m;
        ld.shared.u32 %m, [%v + 128];
        st.global.u32 [%at + 128], %m;
        ret;
    }";

#[test]
fn a_kernel_makes_a_map_from_zeros() {
    let (simulator, id) = load(MAKES_A_MAP);
    let [from, map, dump] = [("from", 288), ("map", 128), ("dump", 256)]
        .map(|(name, bytes)| simulator.alloc(bytes, name).unwrap());
    let words: Vec<u8> = (1..=72u32).flat_map(u32::to_le_bytes).collect();
    simulator.write(from, &words).unwrap();
    let params = [from, map, dump].iter().flat_map(|address| address.to_le_bytes()).collect();
    let launch = Launch::new("makes", 1, 32, params);
    let report = simulator.launch(id, &launch, &RunOptions::default()).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let mut found = vec![0; 256];
    simulator.read(dump, &mut found).unwrap();
    for (at, bytes) in found.chunks_exact(4).enumerate() {
        let (row, column) = (at as u32 / 8, at as u32 % 8);
        let expected = if row < 6 { 12 * row + column + 1 } else { 0 };
        assert_eq!(u32::from_le_bytes(bytes.try_into().unwrap()), expected, "row {row}, column {column}");
    }
}

/// Loads 16 pixels of 16 bytes, and stores 16 at the same place, or one of the two.
const PIXELS: &str = "
    .version 8.0\n.target sm_90\n.address_size 64
    .visible .entry pixels(.param .align 64 .b8 map[128], .param .u32 x, .param .u32 stores)
    {
        .shared .align 128 .b8 area[256];
        .shared .align 8 .b64 bar;
        .reg .b64 %m; .reg .b32 %x, %s, %a, %b; .reg .b16 %o; .reg .pred %p, %done;
        mov.u32 %a, area;
        mov.u32 %b, bar;
        ld.param.u32 %x, [x];
        ld.param.u32 %s, [stores];
        setp.ne.u32 %p, %s, 0;
        mov.b64 %m, map;
        cvta.param.u64 %m, %m;
        mov.u16 %o, 0;
        mbarrier.init.shared::cta.b64 [%b], 1;
        fence.proxy.async;
        @%p bra store;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 256;
        cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
            [%a], [%m, {0, %x, 0}], [%b], {%o};
        WAIT;
        ret;
    store:
        cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%m, {0, %x, 0}], [%a];
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        ret;
    }";

/// As an H200 ends with an illegal instruction or does not.
#[test]
fn pixels_begin_in_the_bounding_box() {
    let (simulator, id) = load(PIXELS);
    let image = simulator.alloc(1024, "image").unwrap();
    simulator.write(image, &[1; 1024]).unwrap();
    let begins = "begins outside the bounding box in its width";
    let larger = "a bounding box that is larger than the image";
    for (stores, lower, upper, x, expected) in [
        (false, 0, 0, 0, None),
        (false, 0, 0, 7, None),
        (false, -2, 2, -2, None),
        (false, -2, 2, 9, None),
        (false, 1, 0, 0, Some(begins)),
        (false, 0, -1, 7, Some(begins)),
        (false, -2, 2, -3, Some(begins)),
        (true, 1, -1, 1, None),
        (true, 0, 0, 7, None),
        (true, 1, 0, 0, Some(begins)),
        (true, -1, 0, 0, Some(larger)),
        (true, 0, 1, 0, Some(larger)),
    ] {
        let mut map = TensorMap::tiled(ElementType::F32, image, &[4, 8, 8], &[16, 128], &[]);
        map.mode = Mode::Im2col { lower: [lower, 0, 0], upper: [upper, 0, 0], channels: 4, pixels: 16 };
        let mut params = map.to_bytes().to_vec();
        params.extend([x, i32::from(stores)].iter().flat_map(|word: &i32| word.to_le_bytes()));
        let launch = Launch::new("pixels", 1, 1, params);
        let report = simulator.launch(id, &launch, &RunOptions::default()).unwrap();
        let found = report.findings.first();
        let case = format!("store {stores} box {lower} {upper} at {x}: {found:?}");
        match expected {
            None => assert!(found.is_none(), "{case}"),
            Some(text) => {
                let found = found.unwrap_or_else(|| panic!("{case}"));
                assert_eq!(found.kind, FindingKind::IllegalInstruction, "{case}");
                assert!(found.message.contains(text), "{case}");
            }
        }
    }
}
