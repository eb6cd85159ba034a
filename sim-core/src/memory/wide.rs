//! Accesses of 8 and 16 bytes to cells, each of them one access.
//!
//! The memory consistency model lets vector accesses fall apart into their elements (ISA 8.2.2), but no
//! device does so, and CUDA's libraries pass a flag together with its value in one vector. To Rust an
//! assembly block here is a handful of relaxed accesses to words; that the processor makes them one is more
//! than Rust asks for, and no accesses of different sizes to one place appear in the language.

use std::sync::atomic::{AtomicBool, Ordering};

use semantics::lanes::SimdLevel;

/// How 16 bytes are accessed at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wide {
    /// By instructions for them: aligned moves of 16 bytes are single accesses on x86-64 processors with AVX
    /// (Intel's manual, volume 3, "Guaranteed Atomic Operations"; AMD's, volume 2, "Access Atomicity").
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Moves,
    /// One at a time: all who access 16 bytes take a lock.
    Locked,
}

impl Wide {
    /// The best way of a processor with this level, which it was found to have.
    pub(crate) fn of(level: SimdLevel) -> Wide {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if level != SimdLevel::Baseline && is_x86_feature_detected!("cmpxchg16b") {
            return Wide::Moves;
        }
        let _ = level;
        Wide::Locked
    }

    /// Reads 16 bytes.
    ///
    /// # Safety
    /// They are cells, and aligned.
    #[inline(always)]
    pub(crate) unsafe fn load(self, at: *const u32) -> u128 {
        // SAFETY: the caller's; who has the lock has the other accesses of 16 bytes for himself.
        unsafe {
            match self {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                Wide::Moves => {
                    let value: std::arch::x86_64::__m128i;
                    std::arch::asm!(
                        "vmovdqa {value}, xmmword ptr [{at}]",
                        at = in(reg) at,
                        value = out(xmm_reg) value,
                        options(nostack, preserves_flags, readonly)
                    );
                    std::mem::transmute::<std::arch::x86_64::__m128i, u128>(value)
                }
                Wide::Locked => {
                    locked(at, || u128::from(load_double(at)) | u128::from(load_double(at.add(2))) << 64)
                }
            }
        }
    }

    /// Writes 16 bytes.
    ///
    /// # Safety
    /// As for [`Wide::load`].
    #[inline(always)]
    pub(crate) unsafe fn store(self, at: *mut u32, value: u128) {
        // SAFETY: as above.
        unsafe {
            match self {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                Wide::Moves => {
                    let value = std::mem::transmute::<u128, std::arch::x86_64::__m128i>(value);
                    std::arch::asm!(
                        "vmovdqa xmmword ptr [{at}], {value}",
                        at = in(reg) at,
                        value = in(xmm_reg) value,
                        options(nostack, preserves_flags)
                    );
                }
                Wide::Locked => locked(at, || {
                    store_double(at, value as u64);
                    store_double(at.add(2), (value >> 64) as u64);
                }),
            }
        }
    }

    /// Replaces 16 bytes by a function of them; returns the old ones.
    ///
    /// # Safety
    /// As for [`Wide::load`].
    pub(crate) unsafe fn update(self, at: *mut u32, new: impl Fn(u128) -> u128) -> u128 {
        // SAFETY: as above.
        unsafe {
            match self {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                Wide::Moves => {
                    let mut old = self.load(at);
                    loop {
                        let now = compare_exchange_16(at, old, new(old));
                        if now == old {
                            return old;
                        }
                        old = now;
                    }
                }
                Wide::Locked => locked(at, || {
                    let old = u128::from(load_double(at)) | u128::from(load_double(at.add(2))) << 64;
                    let new = new(old);
                    store_double(at, new as u64);
                    store_double(at.add(2), (new >> 64) as u64);
                    old
                }),
            }
        }
    }
}

/// `cmpxchg16b`; the old value.
///
/// # Safety
/// The processor has it; `at` is 16 bytes of cells, and aligned.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn compare_exchange_16(at: *mut u32, expected: u128, new: u128) -> u128 {
    let (low, high);
    // SAFETY: the caller's. `rbx` is the compiler's own, so it is put aside.
    unsafe {
        std::arch::asm!(
            "xchg {spare}, rbx",
            "lock cmpxchg16b xmmword ptr [{at}]",
            "mov rbx, {spare}",
            at = in(reg) at,
            spare = inout(reg) new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            options(nostack)
        );
    }
    let (low, high): (u64, u64) = (low, high);
    u128::from(low) | u128::from(high) << 64
}

/// Reads 8 bytes as one access.
///
/// # Safety
/// They are cells; aligned, if it has to be one access.
#[inline(always)]
pub(crate) unsafe fn load_double(at: *const u32) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let value;
        // SAFETY: the caller's.
        unsafe {
            std::arch::asm!(
                "mov {value}, qword ptr [{at}]",
                at = in(reg) at,
                value = out(reg) value,
                options(nostack, preserves_flags, readonly)
            );
        }
        value
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's. Atomics of two sizes race here only where a kernel's own accesses do.
    unsafe {
        if at.cast::<u64>().is_aligned() {
            return atomic_double(at).load(Ordering::Relaxed);
        }
        let word =
            |at: *const u32| std::sync::atomic::AtomicU32::from_ptr(at.cast_mut()).load(Ordering::Relaxed);
        u64::from(word(at)) | u64::from(word(at.add(1))) << 32
    }
}

/// Writes 8 bytes as one access.
///
/// # Safety
/// As for [`load_double`].
#[inline(always)]
pub(crate) unsafe fn store_double(at: *mut u32, value: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller's.
    unsafe {
        std::arch::asm!(
            "mov qword ptr [{at}], {value}",
            at = in(reg) at,
            value = in(reg) value,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: as in `load_double`.
    unsafe {
        if at.cast::<u64>().is_aligned() {
            return atomic_double(at).store(value, Ordering::Relaxed);
        }
        let word = |at, value| std::sync::atomic::AtomicU32::from_ptr(at).store(value, Ordering::Relaxed);
        word(at, value as u32);
        word(at.add(1), (value >> 32) as u32);
    }
}

/// Replaces 8 bytes if they are as expected, as one access; the old ones.
///
/// # Safety
/// They are cells, and aligned.
#[inline(always)]
pub(crate) unsafe fn compare_exchange_double(at: *mut u32, expected: u64, new: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let old;
        // SAFETY: the caller's.
        unsafe {
            std::arch::asm!(
                "lock cmpxchg qword ptr [{at}], {new}",
                at = in(reg) at,
                new = in(reg) new,
                inout("rax") expected => old,
                options(nostack)
            );
        }
        old
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: as in `load_double`.
    unsafe {
        match atomic_double(at).compare_exchange(expected, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(old) | Err(old) => old,
        }
    }
}

/// # Safety
/// 8 aligned bytes of cells.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn atomic_double<'a>(at: *const u32) -> &'a std::sync::atomic::AtomicU64 {
    // SAFETY: the caller's.
    unsafe { std::sync::atomic::AtomicU64::from_ptr(at.cast_mut().cast()) }
}

/// Spin locks by address. One table for all: kernels of several launches may share memory.
static LOCKS: [AtomicBool; 1024] = [const { AtomicBool::new(false) }; 1024];

/// Runs `body` while holding the lock of the 16 bytes at `at`.
#[inline]
fn locked<T>(at: *const u32, body: impl FnOnce() -> T) -> T {
    let lock = &LOCKS[(at.addr() >> 4) % LOCKS.len()];
    while lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::hint::spin_loop();
    }
    let result = body();
    lock.store(false, Ordering::Release);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Cells;

    /// Reads beside a writer, and updates of each of several threads: an interpreter takes a thousand times as long.
    const READS: u64 = if cfg!(miri) { 10 } else { 200_000 };
    const UPDATES: u64 = if cfg!(miri) { 10 } else { 20_000 };

    /// Runs `write` again and again beside `read`, which tells whether it saw halves that differ.
    fn torn(write: impl Fn(u32) + Sync, read: impl Fn() -> bool) -> usize {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut value = 0;
                while !stop.load(Ordering::Relaxed) {
                    write(value);
                    value += 1;
                }
            });
            let count = (0..READS).filter(|_| read()).count();
            stop.store(true, Ordering::Relaxed);
            count
        })
    }

    #[test]
    fn wide_accesses_do_not_tear() {
        let cells = Cells::zeroed(64).unwrap();
        let place = cells.words().as_ptr().cast::<u32>().cast_mut().expose_provenance();
        let at = || std::ptr::with_exposed_provenance_mut::<u32>(place);
        let differs = |value: u128| value as u64 != (value >> 64) as u64;
        let both = |value: u32| u128::from(value) << 64 | u128::from(value);
        for wide in [Wide::of(SimdLevel::detect()), Wide::Locked] {
            // SAFETY: the cells have 64 bytes and are aligned.
            unsafe {
                assert_eq!(torn(|v| wide.store(at(), both(v)), || differs(wide.load(at()))), 0, "{wide:?}");
                let plus = |old: u128| old.wrapping_add(1 << 64 | 1);
                wide.store(at(), 0);
                let update = |_| {
                    wide.update(at(), plus);
                };
                assert_eq!(torn(update, || differs(wide.load(at()))), 0, "{wide:?}");
                assert_eq!(torn(|v| wide.store(at(), both(v)), || differs(wide.update(at(), |v| v))), 0);
            }
        }
        // SAFETY: as above.
        unsafe {
            let differs = |value: u64| value as u32 != (value >> 32) as u32;
            let write = |v| store_double(at(), u64::from(v) << 32 | u64::from(v));
            // The reader may come first.
            write(0);
            assert_eq!(torn(write, || differs(load_double(at()))), 0);
        }
    }

    #[test]
    fn updates_of_several_threads_are_all_kept() {
        for wide in [Wide::of(SimdLevel::detect()), Wide::Locked] {
            let cells = Cells::zeroed(64).unwrap();
            let place = cells.words().as_ptr().cast::<u32>().cast_mut().expose_provenance();
            let at = |skip: usize| std::ptr::with_exposed_provenance_mut::<u32>(place + skip);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..UPDATES {
                            // SAFETY: the cells have 64 bytes and are aligned.
                            unsafe { wide.update(at(16), |old| old + (1 << 100 | 1)) };
                            cells.update_double(2, false, |old| old + (1 << 40 | 1));
                        }
                    });
                }
            });
            // SAFETY: as above.
            let (sum, double) = unsafe { (wide.load(at(16)), load_double(at(8))) };
            let all = 3 * UPDATES;
            assert_eq!(
                (sum, double),
                (u128::from(all) << 100 | u128::from(all), all << 40 | all),
                "{wide:?}"
            );
        }
    }
}
