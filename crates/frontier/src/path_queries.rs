//! The queries of one path of a host: how many were accepted, and whether their pages still say something new.

/// Share of pages that say something new below which a space is endless.
const LEAST_NEWS: f32 = 0.02;

#[derive(Clone, Copy, Debug)]
pub struct PathQueries {
    /// Different queries accepted.
    pub accepted: u32,
    /// Pages with such a query that were visited.
    pub visited: u32,
    /// The share of them that said something new, the last ones weighing most.
    news: f32,
}

impl Default for PathQueries {
    fn default() -> Self {
        Self { accepted: 0, visited: 0, news: 1.0 }
    }
}

impl PathQueries {
    /// A page was visited. From `limit` visits on, the share is judged.
    pub fn visited(&mut self, says_something_new: bool, limit: u32) {
        self.visited = self.visited.saturating_add(1);
        let weight = (4.0 / limit.max(1) as f32).clamp(1.0 / 512.0, 0.125);
        self.news += (f32::from(u8::from(says_something_new)) - self.news) * weight;
    }

    /// Whether it was visited often, and nothing new came of it lately.
    pub fn is_endless(&self, limit: u32) -> bool {
        self.visited >= limit && self.news < LEAST_NEWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_when_nothing_new_comes_and_not_before() {
        let mut wiki = PathQueries::default();
        let mut search = PathQueries::default();
        for n in 0..20_000 {
            // One page of twelve is an article, the others are forms.
            wiki.visited(n % 12 == 0, 5000);
            search.visited(n < 100, 5000);
            assert!(!wiki.is_endless(5000), "after {n}");
            assert!(n >= 4999 || !search.is_endless(5000), "after {n}");
        }
        assert!(search.is_endless(5000));
        search.visited(true, 5000);
        (0..29).for_each(|_| search.visited(true, 5000));
        assert!(!search.is_endless(5000), "something new came after all");
    }
}
