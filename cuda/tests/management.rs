//! The libraries that clients ask before they use a device: NVML, CUPTI, the files of devices.

mod support;

use std::ffi::CStr;

use support::{alone, at, call, driver, folder, open, out, symbol};

fn library(name: &str) -> usize {
    driver();
    open(&folder().join(name)) as usize
}

const NVML: &str = include_str!("../names/nvml.txt");
const CUPTI: &str = include_str!("../names/cupti.txt");

#[test]
fn every_declared_name_is_exported_and_the_refused_say_so() {
    let _alone = alone();
    let nvml = library("libnvidia-ml.so.1");
    assert!(NVML.lines().count() > 400);
    for line in NVML.lines() {
        let (name, state) = line.split_once(' ').expect("name and state");
        assert!(symbol(nvml, name).is_some(), "{name}");
        if state == "refused" {
            assert_eq!(call(nvml, name, &[]), 3, "{name}");
        }
    }
    for (version, number) in [("12", 28u32), ("13", 130_500)] {
        let cupti = library(&format!("libcupti.so.{version}"));
        let mut asked = 0;
        for line in CUPTI.lines() {
            let [name, versions, state] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            if !versions.split(',').any(|known| known.trim_end_matches('*') == version) {
                continue;
            }
            asked += 1;
            assert!(symbol(cupti, name).is_some(), "{name}");
            if state == "refused" {
                assert_eq!(call(cupti, name, &[]), 27, "{name}");
            }
        }
        assert!(asked > 150, "{asked} of {version}");
        let mut found = 0u32;
        assert_eq!((call(cupti, "cuptiGetVersion", &[out(&mut found)]), found), (0, number));
        assert_eq!(call(cupti, "cuptiGetVersion", &[0]), 1);
        let (mut text, mut time) = (0u64, 0u64);
        assert_eq!(call(cupti, "cuptiGetResultString", &[27, out(&mut text)]), 0);
        // SAFETY: it is a text that stays.
        let text = unsafe { CStr::from_ptr(text as *const _) };
        assert_eq!(text, c"CUPTI_ERROR_NOT_SUPPORTED");
        assert_eq!(call(cupti, "cuptiGetTimestamp", &[out(&mut time)]), 0);
        assert!(time > 1_700_000_000 * 1_000_000_000, "{time}");
    }
}

/// A text that a function writes.
fn text(nvml: usize, name: &str, device: Option<u64>) -> String {
    let mut bytes = [1u8; 96];
    let place = out(&mut bytes);
    let arguments = device.map_or(vec![place, 96], |device| vec![device, place, 96]);
    assert_eq!(call(nvml, name, &arguments), 0, "{name}");
    CStr::from_bytes_until_nul(&bytes).expect("an end").to_str().expect("a text").into()
}

#[test]
fn the_devices_are_those_of_the_driver() {
    let _alone = alone();
    let nvml = library("libnvidia-ml.so.1");
    let mut count = 7u32;
    assert_eq!(call(nvml, "nvmlDeviceGetCount_v2", &[out(&mut count)]), 1, "before initialisation");
    assert_eq!(call(nvml, "nvmlInit_v2", &[]), 0);
    assert_eq!(call(nvml, "nvmlInitWithFlags", &[0]), 0);
    assert_eq!((call(nvml, "nvmlDeviceGetCount_v2", &[out(&mut count)]), count), (0, 1));
    let mut device = 0u64;
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByIndex_v2", &[1, out(&mut device)]), 2);
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByIndex_v2", &[0, 0]), 2);
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByIndex_v2", &[0, out(&mut device)]), 0);

    // Name, UUID and address are the driver's.
    assert_eq!(call(driver(), "cuInit", &[0]), 0);
    let mut name = [0u8; 96];
    assert_eq!(call(driver(), "cuDeviceGetName", &[out(&mut name), 96, 0]), 0);
    let name = CStr::from_bytes_until_nul(&name).expect("an end").to_str().expect("a text");
    assert_eq!(text(nvml, "nvmlDeviceGetName", Some(device)), name);
    let mut id = [0u8; 16];
    assert_eq!(call(driver(), "cuDeviceGetUuid_v2", &[out(&mut id), 0]), 0);
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let uuid = text(nvml, "nvmlDeviceGetUUID", Some(device));
    assert_eq!(uuid.replace('-', ""), format!("GPU{hex}"));
    assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [3, 8, 4, 4, 4, 12]);
    let mut found = 0u64;
    let with_end = std::ffi::CString::new(uuid).expect("no zero byte");
    let arguments = [at(with_end.to_bytes_with_nul()), out(&mut found)];
    assert_eq!((call(nvml, "nvmlDeviceGetHandleByUUID", &arguments), found), (0, device));
    for (from, code) in [(4, 0), (5, 6)] {
        let arguments = [at(&with_end.to_bytes_with_nul()[from..]), out(&mut found)];
        assert_eq!(call(nvml, "nvmlDeviceGetHandleByUUID", &arguments), code, "without {from} letters");
    }
    for (id, code) in
        [(c"0000:01:00.0", 0), (c"00000000:01:00.0", 0), (c"01:00.0", 0), (c"0000:02:00.0", 6), (c"", 6)]
    {
        let arguments = [at(id.to_bytes_with_nul()), out(&mut found)];
        assert_eq!(call(nvml, "nvmlDeviceGetHandleByPciBusId_v2", &arguments), code, "{id:?}");
    }

    // What the process allocates is in use.
    let mut memory = [0u64; 3];
    let mut used = || {
        assert_eq!(call(nvml, "nvmlDeviceGetMemoryInfo", &[device, out(&mut memory)]), 0);
        assert_eq!(memory[0], memory[1] + memory[2]);
        memory[2]
    };
    let before = used();
    let mut context = 0u64;
    assert_eq!(call(driver(), "cuDevicePrimaryCtxRetain", &[out(&mut context), 0]), 0);
    assert_eq!(call(driver(), "cuCtxSetCurrent", &[context]), 0);
    let mut address = 0u64;
    assert_eq!(call(driver(), "cuMemAlloc_v2", &[out(&mut address), 64 << 20]), 0);
    assert!(used() >= before + (64 << 20), "{} after {before}", used());
    assert_eq!(call(driver(), "cuMemFree_v2", &[address]), 0);
    // A structure of another version is refused.
    let mut second = [0u64; 5];
    assert_eq!(call(nvml, "nvmlDeviceGetMemoryInfo_v2", &[device, out(&mut second)]), 25);
    second[0] = 40 | 2 << 24;
    assert_eq!(call(nvml, "nvmlDeviceGetMemoryInfo_v2", &[device, out(&mut second)]), 0);
    assert_eq!(second[1], memory[0]);

    // Texts want room; handles are looked at; what no simulated device has is not supported.
    let mut few = [0u8; 4];
    assert_eq!(call(nvml, "nvmlDeviceGetName", &[device, out(&mut few), 4]), 7);
    for handle in [0, 2, u64::MAX] {
        assert_eq!(call(nvml, "nvmlDeviceGetIndex", &[handle, out(&mut count)]), 2, "{handle}");
    }
    assert_eq!(call(nvml, "nvmlDeviceGetUtilizationRates", &[device, out(&mut found)]), 3);
    assert_eq!(text(nvml, "nvmlSystemGetDriverVersion", None), "580.65.06");
    let error = symbol(nvml, "nvmlErrorString").expect("exported");
    // SAFETY: the function takes a number and gives a text that stays.
    let error = unsafe { CStr::from_ptr(support::call_at(error, &[3]) as *const _) };
    assert_eq!(error, c"Not Supported");
    assert_eq!([call(nvml, "nvmlShutdown", &[]), call(nvml, "nvmlShutdown", &[])], [0, 0]);
    assert_eq!(call(nvml, "nvmlShutdown", &[]), 1);
}

#[test]
fn files_of_devices_are_there_and_others_as_they_are() {
    let files = library("libwarpgrind_files.so");
    let access = |path: &CStr| call(files, "access", &[at(path.to_bytes_with_nul()), 0]) as i32;
    assert_eq!(access(c"/dev/nvidia0"), 0);
    assert_eq!(access(c"/dev/nvidiactl"), 0);
    assert_eq!(access(c"/dev/nvidia1"), -1);
    assert_eq!((access(c"/dev/null"), access(c"/no such file"), access(c"")), (0, -1, -1));
    let mut found = [0u64; 64];
    assert_eq!(call(files, "stat", &[at(c"/dev/nvidia0".to_bytes_with_nul()), out(&mut found)]), 0);
    let mut null = [0u64; 64];
    assert_eq!(call(files, "stat", &[at(c"/dev/null".to_bytes_with_nul()), out(&mut null)]), 0);
    assert_eq!(found, null);
}

#[test]
fn the_version_of_the_driver_is_read_from_its_file() {
    let files = library("libwarpgrind_files.so");
    let path = at(c"/proc/driver/nvidia/version".to_bytes_with_nul());
    assert_eq!(call(files, "access", &[path, 4]) as i32, 0);
    let text = |open: &dyn Fn() -> i32| {
        let file = open();
        assert!(file >= 0);
        let mut bytes = [0u8; 200];
        // SAFETY: the file is open, and there are so many bytes.
        let count = unsafe { libc::read(file, bytes.as_mut_ptr().cast(), bytes.len()) };
        // SAFETY: nobody else closes it.
        unsafe { libc::close(file) };
        String::from_utf8_lossy(&bytes[..count as usize]).into_owned()
    };
    let expected = "Kernel Module  580.65.06  simulated by Warpgrind\n";
    let opened = [
        text(&|| call(files, "open", &[path, 0]) as i32),
        text(&|| call(files, "__openat64_2", &[libc::AT_FDCWD as u64, path, 0]) as i32),
        text(&|| {
            let open = symbol(files, "fopen").expect("exported");
            // SAFETY: the function takes two texts and gives a stream.
            unsafe { libc::fileno(support::call_at(open, &[path, at(b"r\0")]) as *mut libc::FILE) }
        }),
    ];
    for text in opened {
        assert!(text.starts_with("NVRM version: NVIDIA UNIX ") && text.ends_with(expected), "{text}");
    }
    // Others are opened as they are, and created with their mode.
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("made");
    let name = std::ffi::CString::new(made.as_os_str().as_encoded_bytes()).expect("no zero byte");
    let flags = (libc::O_CREAT | libc::O_WRONLY) as u64;
    let file = call(files, "open64", &[at(name.as_bytes_with_nul()), flags, 0o640]) as i32;
    // SAFETY: nobody else closes it.
    assert!(file >= 0 && unsafe { libc::close(file) } == 0);
    let mode = std::fs::metadata(&made).expect("it is there").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o700, 0o600);
    assert_eq!(call(files, "open", &[at(c"/no such file".to_bytes_with_nul()), 0]) as i32, -1);
}

#[test]
fn no_function_takes_nulls() {
    let _alone = alone();
    let nvml = library("libnvidia-ml.so.1");
    assert_eq!(call(nvml, "nvmlInit_v2", &[]), 0);
    let mut device = 0u64;
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByIndex_v2", &[0, out(&mut device)]), 0);
    let implemented = NVML.lines().filter_map(|line| line.strip_suffix(" implemented"));
    let whole = ["nvmlInit", "nvmlShutdown", "nvmlErrorString"];
    let mut asked = 0;
    for name in implemented.filter(|name| !whole.iter().any(|begin| name.starts_with(begin))) {
        assert_ne!(call(nvml, name, &[]), 0, "{name} without a device");
        // Those that take no device take a pointer first.
        if ["HandleBy", "System", "Count", "EventSet"].iter().any(|part| name.contains(part)) {
            continue;
        }
        // Nothing is written to: there is no field to give.
        let nothing = u32::from(name != "nvmlDeviceGetFieldValues");
        assert_eq!(call(nvml, name, &[device]).min(1), nothing, "{name} with nothing to write to");
        asked += 1;
    }
    assert!(asked > 35, "{asked}");
    assert_eq!(call(nvml, "nvmlShutdown", &[]), 0);
}

/// What a device is, as monitors and libraries of communication ask: what an H200 answers that does nothing, and its mistakes.
#[test]
fn properties_of_a_board_are_an_h200_s() {
    let _alone = alone();
    let nvml = library("libnvidia-ml.so.1");
    assert_eq!(call(nvml, "nvmlInit_v2", &[]), 0);
    let mut device = 0u64;
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByIndex_v2", &[0, out(&mut device)]), 0);
    let mut branch = [0u32; 21];
    assert_eq!(call(nvml, "nvmlSystemGetDriverBranch", &[out(&mut branch), 80]), 25, "no version");
    branch[0] = 84 | 1 << 24;
    assert_eq!(call(nvml, "nvmlSystemGetDriverBranch", &[out(&mut branch), 80]), 0);
    assert_eq!(branch[1].to_ne_bytes(), *b"r582");
    assert_eq!(call(nvml, "nvmlSystemGetDriverBranch", &[0, 80]), 2);

    let asks = |name: &str, arguments: &[u64]| {
        let mut value = u32::MAX;
        let place = out(&mut value);
        let code = call(nvml, name, &[&[device], arguments, &[place]].concat());
        (code, value)
    };
    for (name, arguments, answer) in [
        ("nvmlDeviceGetApplicationsClock", &[0u64][..], (0, 1980)),
        ("nvmlDeviceGetDefaultApplicationsClock", &[2], (0, 3201)),
        ("nvmlDeviceGetMaxCustomerBoostClock", &[1], (0, 1980)),
        ("nvmlDeviceGetMaxCustomerBoostClock", &[2], (3, u32::MAX)),
        ("nvmlDeviceGetClock", &[1, 2], (0, 1980)),
        ("nvmlDeviceGetClock", &[2, 3], (3, u32::MAX)),
        ("nvmlDeviceGetClock", &[0, 4], (2, u32::MAX)),
        ("nvmlDeviceGetMaxClockInfo", &[3], (3, u32::MAX)),
        ("nvmlDeviceGetMaxClockInfo", &[4], (2, u32::MAX)),
        ("nvmlDeviceGetPerformanceState", &[], (0, 0)),
        ("nvmlDeviceGetBusType", &[], (0, 2)),
        ("nvmlDeviceGetC2cModeInfoV", &[], (0, 0)),
        ("nvmlDeviceGetVirtualizationMode", &[], (0, 0)),
        ("nvmlDeviceGetDefaultEccMode", &[], (0, 1)),
        ("nvmlDeviceGetUtilizationRates", &[], (3, u32::MAX)),
    ] {
        assert_eq!(asks(name, arguments), answer, "{name} {arguments:?}");
    }
    let (mut now, mut later, mut errors) = (7u32, 7u32, 7u64);
    assert_eq!(call(nvml, "nvmlDeviceGetEccMode", &[device, out(&mut now), out(&mut later)]), 0);
    assert_eq!((now, later), (1, 1));
    assert_eq!(call(nvml, "nvmlDeviceGetTotalEccErrors", &[device, 1, 0, out(&mut errors)]), 0);
    assert_eq!(errors, 0);
    assert_eq!(call(nvml, "nvmlDeviceGetTotalEccErrors", &[device, 2, 0, out(&mut errors)]), 2);

    // Lists say how long they are.
    let (mut count, mut clocks) = (1u32, [0u32; 128]);
    let graphics = |count: &mut u32, clocks: u64, memory: u64| {
        call(nvml, "nvmlDeviceGetSupportedGraphicsClocks", &[device, memory, out(count), clocks])
    };
    assert_eq!((graphics(&mut count, out(&mut clocks), 3201), count), (7, 110));
    assert_eq!((graphics(&mut count, 0, 3201), count), (7, 110));
    assert_eq!((graphics(&mut count, out(&mut clocks), 3201), count), (0, 110));
    assert_eq!((clocks[0], clocks[1], clocks[109], clocks[110]), (1980, 1965, 345, 0));
    assert_eq!(graphics(&mut count, out(&mut clocks), 1), 6);
    assert_eq!(graphics(&mut count, out(&mut clocks), 0), 2);
    assert_eq!(
        call(nvml, "nvmlDeviceGetSupportedMemoryClocks", &[device, out(&mut count), out(&mut clocks)]),
        0
    );
    assert_eq!((count, clocks[0]), (1, 3201));

    // By its identity in both forms.
    let text = text(nvml, "nvmlDeviceGetUUID", Some(device));
    let mut id = [0u8; 52];
    id[..8].copy_from_slice(&[52, 0, 0, 1, 1, 0, 0, 0]);
    id[8..8 + text.len()].copy_from_slice(text.as_bytes());
    let mut found = 0u64;
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByUUIDV", &[at(&id), out(&mut found)]), 0);
    assert_eq!(found, device);
    let digits = text.trim_start_matches("GPU-").replace('-', "");
    for at in 0..16 {
        id[8 + at] = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits");
    }
    id[4] = 2;
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByUUIDV", &[at(&id), out(&mut found)]), 0);
    id[8] ^= 1;
    assert_eq!(call(nvml, "nvmlDeviceGetHandleByUUIDV", &[at(&id), out(&mut found)]), 6);

    // Processors that are near: those that the process may use, none behind them.
    let mut words = [u64::MAX; 20];
    assert_eq!(call(nvml, "nvmlDeviceGetCpuAffinity", &[device, 20, out(&mut words)]), 0);
    assert!(words[0] != 0 && words[19] == 0, "{words:?}");
    assert_eq!(call(nvml, "nvmlDeviceGetCpuAffinity", &[device, 0, out(&mut words)]), 2);
    assert_eq!(call(nvml, "nvmlDeviceGetCpuAffinityWithinScope", &[device, 20, out(&mut words), 2]), 2);

    assert_eq!(call(nvml, "nvmlDeviceGetMemoryAffinity", &[device, 20, out(&mut words), 1]), 0);
    assert_eq!(words.iter().sum::<u64>(), 1, "the first node's");
    assert_eq!(call(nvml, "nvmlDeviceGetMemoryAffinity", &[device, 20, out(&mut words), 2]), 2);
    assert_eq!(call(nvml, "nvmlDeviceGetMemoryAffinity", &[device, 0, out(&mut words), 1]), 2);

    // Numbers and features, and the names of processes.
    let mut number = [(16 | 1 << 24) as u64, 0];
    assert_eq!(
        (call(nvml, "nvmlDeviceGetPdi", &[device, out(&mut number)]), number[1]),
        (0, 0x7761_7270_6772_696e)
    );
    let mut features = [7u32; 3];
    assert_eq!(call(nvml, "nvmlDeviceGetGridLicensableFeatures_v4", &[device, out(&mut features)]), 0);
    assert_eq!(features, [0, 0, 7]);
    let mut has = [8u32 | 1 << 24, 7];
    assert_eq!((call(nvml, "nvmlDeviceGetCapabilities", &[device, out(&mut has)]), has[1]), (0, 0));
    assert_eq!(call(nvml, "nvmlDeviceGetCapabilities", &[device, out(&mut [0u32, 7])]), 25, "of no version");
    let mut name = [1u8; 4096];
    let own = u64::from(std::process::id());
    assert_eq!(call(nvml, "nvmlSystemGetProcessName", &[own, out(&mut name), 4096]), 0);
    let said = CStr::from_bytes_until_nul(&name).expect("an end").to_str().expect("a text");
    assert_eq!(Some(said), std::env::args().next().as_deref());
    assert_eq!(call(nvml, "nvmlSystemGetProcessName", &[own, out(&mut name), 3]), 7);
    assert_eq!(call(nvml, "nvmlSystemGetProcessName", &[0x7fff_ffff, out(&mut name), 4096]), 6);

    // Events, which do not come.
    let (mut set, mut kinds, mut event) = (0u64, 0u64, [0u64; 4]);
    assert_eq!(call(nvml, "nvmlEventSetCreate", &[out(&mut set)]), 0);
    assert_eq!(call(nvml, "nvmlDeviceGetSupportedEventTypes", &[device, out(&mut kinds)]), 0);
    assert_eq!(call(nvml, "nvmlDeviceRegisterEvents", &[device, kinds, set]), 0);
    assert_eq!(call(nvml, "nvmlDeviceRegisterEvents", &[device, 1 << 40, set]), 3);
    assert_eq!(call(nvml, "nvmlEventSetWait_v2", &[set, out(&mut event), 1]), 10);
    assert_eq!(call(nvml, "nvmlEventSetFree", &[set]), 0);
    for call in [
        call(nvml, "nvmlEventSetFree", &[set]),
        call(nvml, "nvmlEventSetWait_v2", &[set, out(&mut event), 1]),
        call(nvml, "nvmlDeviceRegisterEvents", &[device, 1, set]),
    ] {
        assert_eq!(call, 2);
    }
    assert_eq!(call(nvml, "nvmlShutdown", &[]), 0);
}
