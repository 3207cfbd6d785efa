//! The fast hash, rolled along a text.

/// Hashes made in one go, in buffers that stay near.
const BLOCK: usize = 128;

/// The random number of a character.
#[inline(always)]
pub(super) fn symbol(code: u32) -> u64 {
    spread(code as u64)
}

const fn spread(code: u64) -> u64 {
    let x = (code + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

/// The random numbers of single bytes, ready made.
pub(super) static SYMBOLS: [u64; 256] = {
    let mut symbols = [0; 256];
    let mut code = 0;
    while code < 256 {
        symbols[code] = spread(code as u64);
        code += 1;
    }
    symbols
};

/// The hash of every run of `k` codes.
#[inline(always)]
pub(super) fn roll<C: Copy>(codes: &[C], k: usize, symbol: impl Fn(C) -> u64, out: &mut Vec<u64>) {
    out.clear();
    let k = k.min(codes.len());
    let (first, rest) = codes.split_at(k);
    if first.is_empty() {
        return;
    }
    let mut hash = first.iter().fold(0u64, |hash, &code| hash.rotate_left(1) ^ symbol(code));
    out.reserve(rest.len() + 1);
    out.push(hash);
    let turn = (k % 64) as u32;
    // What leaves does not wait for the hash: only a turn and an exclusive or are in the chain.
    out.extend(rest.iter().zip(codes).map(|(&entering, &leaving)| {
        hash = hash.rotate_left(1) ^ (symbol(entering) ^ symbol(leaving).rotate_left(turn));
        hash
    }));
}

/// Low hashes of all runs of `k` codes and their places, written without a branch per hash. Each hash waits for the one
/// before it, so two stretches of the text are rolled side by side; `later` holds what the second yields.
#[inline(always)]
pub(super) fn roll_low<C: Copy>(
    codes: &[C],
    k: usize,
    entering: impl Fn(C) -> u64,
    leaving: impl Fn(C) -> u64,
    limit: u64,
    out: &mut Vec<(u64, u32)>,
    later: &mut Vec<(u64, u32)>,
) {
    out.clear();
    later.clear();
    let (first, rest) = codes.split_at(k.min(codes.len()));
    let start = |codes: &[C]| codes.iter().fold(0u64, |hash, &code| hash.rotate_left(1) ^ entering(code));
    let half = rest.len() / (2 * BLOCK) * BLOCK;
    let mut a = start(first);
    let mut b = start(codes.get(half..half + first.len()).unwrap_or(first));
    if a < limit {
        out.push((a, 0));
    }
    let (rest_a, rest_b) = rest.split_at(half);
    let (enter_a, enter_b) = (rest_a.as_chunks::<BLOCK>().0, rest_b.as_chunks::<BLOCK>().0);
    let (leave_a, leave_b) = (codes.as_chunks::<BLOCK>().0, codes[half..].as_chunks::<BLOCK>().0);
    let (mut hashes_a, mut hashes_b) = ([0u64; BLOCK], [0u64; BLOCK]);
    // One entry more than needed for every count that a byte can hold: no index can leave them.
    let (mut low_a, mut low_b) = ([0u8; 256], [0u8; 256]);
    let mut place = 1u32;
    for (((ea, la), eb), lb) in enter_a.iter().zip(leave_a).zip(enter_b).zip(leave_b) {
        let (mut n, mut m) = (0u8, 0u8);
        for i in 0..BLOCK {
            a = a.rotate_left(1) ^ (entering(ea[i]) ^ leaving(la[i]));
            b = b.rotate_left(1) ^ (entering(eb[i]) ^ leaving(lb[i]));
            hashes_a[i] = a;
            hashes_b[i] = b;
            low_a[n as usize] = i as u8;
            low_b[m as usize] = i as u8;
            n += u8::from(a < limit);
            m += u8::from(b < limit);
        }
        let pick = |low: &[u8; 256], n: u8, hashes: &[u64; BLOCK], from: u32, out: &mut Vec<_>| {
            let places = low[..n as usize].iter().map(|&i| i as usize % BLOCK);
            out.extend(places.map(|i| (hashes[i], from + i as u32)));
        };
        pick(&low_a, n, &hashes_a, place, out);
        pick(&low_b, m, &hashes_b, half as u32 + place, later);
        place += BLOCK as u32;
    }
    // What is less than two blocks goes on where the second stretch ends.
    let rest = rest_b[half..].iter().zip(&codes[2 * half..]);
    for (place, (&enters, &leaves)) in (2 * half as u32 + 1..).zip(rest) {
        b = b.rotate_left(1) ^ (entering(enters) ^ leaving(leaves));
        if b < limit {
            later.push((b, place));
        }
    }
    out.append(later);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rolling_is_hashing_anew(codes in prop::collection::vec(any::<u8>(), 1..200), k in 1usize..100) {
            let mut rolled = Vec::new();
            roll(&codes, k, |c| symbol(u32::from(c)), &mut rolled);
            let anew: Vec<u64> = codes.windows(k.min(codes.len())).map(|run| {
                run.iter().fold(0u64, |h, &c| h.rotate_left(1) ^ symbol(u32::from(c)))
            }).collect();
            prop_assert_eq!(rolled, anew);
        }

        #[test]
        fn low_hashes_are_those_below_the_limit(
            codes in prop::collection::vec(any::<u8>(), 1..1500),
            k in 1usize..100,
            limit in any::<u64>(),
        ) {
            let k = k.min(codes.len());
            let mut all = Vec::new();
            roll(&codes, k, |c| SYMBOLS[c as usize], &mut all);
            let expected: Vec<(u64, u32)> =
                all.iter().enumerate().filter(|h| *h.1 < limit).map(|(at, &h)| (h, at as u32)).collect();
            let (mut low, mut later) = (Vec::new(), Vec::new());
            let turn = (k % 64) as u32;
            let leaves = |c: u8| SYMBOLS[c as usize].rotate_left(turn);
            roll_low(&codes, k, |c| SYMBOLS[c as usize], leaves, limit, &mut low, &mut later);
            prop_assert_eq!(low, expected);
        }
    }
}
