//! The pages: how often each changes and how much each matters.

/// Over years one change in five days on average.
const MEAN_RATE_PER_S: f64 = 0.2 / 86_400.0;
/// Exponent of the importance of the n-th page.
const IMPORTANCE_POWER: f64 = 0.8;
/// The density of rates falls with this power over four decades.
const RATE_POWER: f64 = 1.5;
const RATE_DECADES: f64 = 4.0;
/// Over minutes: mean times between changes, in seconds, as in the crawl that `freshness` of the engine measures.
const UNIFORM_S: [f64; 2] = [4.0, 400.0];
const POWER_LAW_S: [f64; 2] = [2.0, 2_000.0];
pub const PAGES_PER_HOST: u32 = 100;

const DAY_MS: u64 = 86_400_000;

/// What time scale pages change on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Days between changes, two years; importance falls with the rank.
    Years,
    /// Seconds between changes, ten minutes; all pages alike, all met within two seconds, and most with a date that says
    /// nothing: a start in the cold, five decades from what is believed at first.
    Minutes,
}

impl Pace {
    pub fn name(self) -> &'static str {
        match self {
            Self::Years => "years",
            Self::Minutes => "minutes",
        }
    }

    pub fn length_ms(self) -> u64 {
        match self {
            Self::Years => 730 * DAY_MS,
            Self::Minutes => 600_000,
        }
    }

    /// Pages are met during this time, at random; those visits are not charged.
    pub fn discovery_ms(self) -> u64 {
        match self {
            Self::Years => 10 * DAY_MS,
            Self::Minutes => 2_000,
        }
    }

    pub fn min_interval_ms(self) -> u64 {
        match self {
            Self::Years => 60_000,
            Self::Minutes => 1_000,
        }
    }

    /// Due pages are looked for this often.
    pub fn look_every_ms(self) -> u64 {
        match self {
            Self::Years => 1,
            Self::Minutes => 200,
        }
    }

    /// The age that the first answer claims for a page.
    pub fn claimed_age_ms(self, host: u32) -> Option<u64> {
        (self == Self::Minutes && host % 5 < 3).then_some(318 * DAY_MS)
    }

    pub fn default_budgets(self) -> Vec<f64> {
        match self {
            Self::Years => vec![0.1, 0.5, 1.0],
            Self::Minutes => vec![0.4, 0.8, 1.6],
        }
    }

    pub fn default_pages(self) -> u32 {
        match self {
            Self::Years => 20_000,
            Self::Minutes => 1_000,
        }
    }
}

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
    pub fn new(seed: u64, count: u32, spread: Spread, pace: Pace) -> Self {
        let mut draws = Draws::new(seed ^ 0x5EED);
        if pace == Pace::Minutes {
            return Self::fast(&mut draws, count, spread);
        }
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

    fn fast(draws: &mut Draws, count: u32, spread: Spread) -> Self {
        let importance = 1.0 / f64::from(count);
        let rate = |unit: f64| match spread {
            Spread::Uniform => {
                let [fast, slow] = UNIFORM_S.map(f64::recip);
                slow + unit * (fast - slow)
            }
            Spread::PowerLaw => {
                let [fast, slow] = POWER_LAW_S.map(f64::recip);
                slow * (fast / slow).powf(unit)
            }
        };
        Self { pages: (0..count).map(|_| Page { rate: rate(draws.unit()), importance }).collect() }
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
