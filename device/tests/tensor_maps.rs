//! A kernel with tensor maps among its parameters, made for the simulator, on a real device and on the simulator.
//!
//! Without a device it says so and passes; with `WARPGRIND_REQUIRE_DEVICE=1` that is a failure.

use std::process::ExitCode;
use std::sync::Arc;

use device::Options;
use sim_core::{
    Backend, DeviceConfig, ElementType, Error, Interleave, Launch, Mode, Outcome, RunOptions, Simulator,
    Swizzle, TensorMap,
};

/// Loads 1024 bytes by one map, of any kind, and shows them.
const KERNEL: &str = "
    .version 8.0\n.target sm_90\n.address_size 64
    .visible .entry copy(
        .param .u64 to, .param .align 64 .b8 map[128], .param .align 64 .b8 pixels[128], .param .u32 which)
    {
        .shared .align 1024 .b8 area[2048];
        .shared .align 8 .b64 bar;
        .reg .b64 %m, %to, %at; .reg .b32 %a, %b, %t, %v, %w; .reg .b16 %o; .reg .pred %p, %q, %done;
        mov.u32 %t, %tid.x;
        mov.u32 %a, area;
        mov.u32 %b, bar;
        mov.u16 %o, 0;
        ld.param.u64 %to, [to];
        ld.param.u32 %w, [which];
        mad.lo.u32 %v, %t, 4, %a;
        st.shared.u32 [%v], 0;
        st.shared.u32 [%v+1024], 0;
        fence.proxy.async;
        bar.sync 0;
        setp.ne.u32 %p, %t, 0;
        @%p bra ready;
        mbarrier.init.shared::cta.b64 [%b], 1;
        fence.proxy.async;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 1024;
        setp.ne.u32 %q, %w, 0;
        @%q bra column;
        mov.b64 %m, map;
        cvta.param.u64 %m, %m;
        cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
            [%a], [%m, {0, 1, 0}], [%b];
        bra ready;
    column:
        mov.b64 %m, pixels;
        cvta.param.u64 %m, %m;
        cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
            [%a], [%m, {0, 1, 0}], [%b], {%o};
    ready:
        bar.sync 0;
    again:
        mbarrier.try_wait.parity.shared::cta.b64 %done, [%b], 0;
        @!%done bra again;
        mad.lo.u32 %v, %t, 4, %a;
        mad.wide.u32 %at, %t, 4, %to;
        ld.shared.u32 %w, [%v];
        st.global.u32 [%at], %w;
        ld.shared.u32 %w, [%v+1024];
        st.global.u32 [%at+1024], %w;
        ret;
    }";

/// What the kernel shows with each map.
fn run(backend: &dyn Backend) -> Result<Vec<Vec<u8>>, Error> {
    let source = ptx_frontend::Source::new("copy.ptx", KERNEL.as_bytes().to_vec());
    let module = ptx_frontend::parse(source).module.expect("PTX without errors");
    let id = backend.load(Arc::new(module))?;
    let from = backend.alloc(16384, "from")?;
    let to = backend.alloc(2048, "to")?;
    let words: Vec<u8> = (0..4096u32).flat_map(|word| (3 * word + 1).to_le_bytes()).collect();
    backend.write(from, &words)?;
    let tiled = |swizzle, interleave| TensorMap {
        swizzle,
        interleave,
        ..TensorMap::tiled(ElementType::F32, from, &[8, 9, 9], &[160, 1440], &[8, 8, 4])
    };
    let columns = |fill_nan| TensorMap {
        mode: Mode::Im2col { lower: [-1, 0, 0], upper: [1, 0, 0], channels: 8, pixels: 32 },
        fill_nan,
        ..TensorMap::tiled(ElementType::F32, from, &[8, 9, 9], &[160, 1440], &[])
    };
    let mut shown = Vec::new();
    for (which, map, pixels) in [
        (0u32, tiled(Swizzle::B32, Interleave::None), columns(false)),
        (
            0,
            TensorMap {
                steps: [1, 2, 1, 1, 1],
                mode: Mode::Tiled { extents: [8, 16, 4, 1, 1] },
                ..tiled(Swizzle::None, Interleave::None)
            },
            columns(false),
        ),
        (0, tiled(Swizzle::B64, Interleave::B32), columns(false)),
        (1, tiled(Swizzle::None, Interleave::None), columns(false)),
        (1, tiled(Swizzle::None, Interleave::None), columns(true)),
    ] {
        let mut params = vec![0; 64];
        params[..8].copy_from_slice(&to.to_le_bytes());
        params.extend(map.to_bytes());
        params.extend(pixels.to_bytes());
        params.extend(which.to_le_bytes());
        let report = backend.launch(id, &Launch::new("copy", 1, 256, params), &RunOptions::default())?;
        if report.outcome != Outcome::Completed {
            return Err(Error::Backend(format!("map {}: {:?}", shown.len(), report.findings)));
        }
        let mut bytes = vec![0; 2048];
        backend.read(to, &mut bytes)?;
        shown.push(bytes);
    }
    Ok(shown)
}

fn main() -> ExitCode {
    testkit::device::main("maps_are_encoded_again", "tensor maps", Options::default(), |device, _| {
        let simulator = Simulator::new(DeviceConfig::h200());
        match (run(device), run(&simulator)) {
            (Ok(there), Ok(here)) => {
                let differ = there.iter().zip(&here).filter(|(there, here)| there != here).count();
                println!("{} maps, {differ} differ", here.len());
                differ
            }
            (there, here) => {
                println!("FAILED: {:?} {:?}", there.err(), here.err());
                1
            }
        }
    })
}
