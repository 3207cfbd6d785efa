//! Loops compiled twice: for every processor, and for those with wide registers.
//!
//! The program runs on every x86-64 processor, so the compiler may use no register wider than 16 bytes. Most processors have
//! wider ones and instructions for bits that save several others. [`widest`] compiles a piece of work for both and takes
//! what the processor at hand can do. What it computes does not depend on that.
//!
//! [`Registers::bits`], [`pack`] and [`AsciiSum`] do what the compiler does not find by itself.
//!
//! Promise: the only `unsafe` of the workspace is here. It pays where a loop over a page's bytes has no branches.

mod ascii_sum;
mod bits;
mod pack;

pub use ascii_sum::AsciiSum;
pub use pack::pack;

/// What the work at hand was compiled for.
#[derive(Debug, Clone, Copy)]
pub struct Registers {
    wide: bool,
}

/// Runs `work`, compiled for the widest registers of the processor at hand.
///
/// What `work` calls is compiled so only if it is inlined: mark it `#[inline(always)]`.
#[inline(always)]
pub fn widest<T>(work: impl FnOnce(Registers) -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    if has_wide_registers() {
        #[expect(unsafe_code, reason = "calls into code that needs more than every processor has")]
        // SAFETY: the processor has all of these features, as was just asked.
        return unsafe { with_wide_registers(work) };
    }
    work(Registers { wide: false })
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_wide_registers() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn with_wide_registers<T>(work: impl FnOnce(Registers) -> T) -> T {
    work(Registers { wide: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_once_and_its_result_handed_on() {
        let mut runs = 0;
        let sum = widest(|_| {
            runs += 1;
            (0..1000u64).sum::<u64>()
        });
        assert_eq!((runs, sum), (1, 499_500));
    }
}
