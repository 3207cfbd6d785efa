//! What two sets of minutiae have in common.

/// What two sets of minutiae (sorted, each once) have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    pub common: usize,
    /// Share of the first text's minutiae found in the second.
    pub contained: f64,
    /// Share of the second text's minutiae found in the first.
    pub containing: f64,
    /// Common minutiae among all of both.
    pub resemblance: f64,
}

impl Likeness {
    /// Two texts without minutiae are alike; one without is unlike any other.
    pub fn of(a: &[u64], b: &[u64]) -> Self {
        let common = common(a, b);
        let share =
            |of: usize| if of == 0 { f64::from(a.len() == b.len()) } else { common as f64 / of as f64 };
        Self {
            common,
            contained: share(a.len()),
            containing: share(b.len()),
            resemblance: share(a.len() + b.len() - common),
        }
    }
}

/// How many values two sorted lists share.
pub(crate) fn common<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        n += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    n
}
