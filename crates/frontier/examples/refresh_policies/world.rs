//! The pages: how often each changes and how much each matters.

/// One change in five days on average.
const MEAN_RATE_PER_S: f64 = 0.2 / 86_400.0;
/// Exponent of the importance of the n-th page.
const IMPORTANCE_POWER: f64 = 0.8;
/// The density of rates falls with this power over four decades.
const RATE_POWER: f64 = 1.5;
const RATE_DECADES: f64 = 4.0;
pub const PAGES_PER_HOST: u32 = 100;

/// How change rates are spread over pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    Uniform,
    PowerLaw,
}

/// Draws that repeat.
#[derive(Clone)]
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, both excluded.
    pub fn unit(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Seconds until the next event of a Poisson process.
    pub fn wait(&mut self, rate: f64) -> f64 {
        -self.unit().ln() / rate
    }
}

/// A page as it is; what a crawler knows of it is elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub rate: f64,
    pub importance: f64,
}

/// All pages. Importance sums to one and does not depend on the rate.
pub struct World {
    pub pages: Vec<Page>,
}

impl World {
    pub fn new(seed: u64, count: u32, spread: Spread) -> Self {
        let mut draws = Draws::new(seed ^ 0x5EED);
        let mut pages: Vec<Page> = (1..=count)
            .map(|n| {
                let rate = match spread {
                    Spread::Uniform => draws.unit(),
                    Spread::PowerLaw => bounded_power(draws.unit()),
                };
                Page { rate, importance: f64::from(n).powf(-IMPORTANCE_POWER) }
            })
            .collect();
        let rates: f64 = pages.iter().map(|p| p.rate).sum();
        let importance: f64 = pages.iter().map(|p| p.importance).sum();
        for page in &mut pages {
            page.rate *= MEAN_RATE_PER_S * f64::from(count) / rates;
            page.importance /= importance;
        }
        Self { pages }
    }

    pub fn total_rate(&self) -> f64 {
        self.pages.iter().map(|p| p.rate).sum()
    }
}

/// The inverse of the distribution of a bounded power law that starts at one.
fn bounded_power(unit: f64) -> f64 {
    let power = 1.0 - RATE_POWER;
    let most = 10f64.powf(RATE_DECADES * power);
    (1.0 + unit * (most - 1.0)).powf(1.0 / power)
}
