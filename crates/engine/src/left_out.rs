//! What a crawl left out, told apart by whose will that was: a rule of the user, the site's wish, a guess of ours, a fault.
//!
//! Made from the counts in [`Totals`]: a word that no [`Reason`] has is a failure's own word.

use lycosa_types::{Origin, Reason};
use serde::{Deserialize, Serialize};

use crate::totals::Totals;

/// One reason for which URLs were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The word under which they are counted in `rejected` or `outcomes`.
    pub reason: String,
    pub origin: Origin,
    pub count: u64,
    /// One of them, where one is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// The option or command that includes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
}

/// Outcomes by which nothing was left out.
const KEPT: [&str; 4] = ["fetched", "missing", "not-modified", "redirected"];

/// All of it, by origin and then by number.
pub fn left_out(totals: &Totals) -> Vec<LeftOut> {
    let outcomes = totals.outcomes.iter().filter(|(word, _)| !KEPT.contains(&word.as_str()));
    let mut all: Vec<LeftOut> = Vec::new();
    for (word, &count) in totals.rejected.iter().chain(outcomes) {
        let reason = Reason::of_word(word).unwrap_or(Reason::Failed);
        match all.iter_mut().find(|other| other.reason == *word) {
            Some(other) => other.count += count,
            None => all.push(LeftOut {
                reason: word.clone(),
                origin: reason.origin(),
                count,
                example: totals.examples.get(word).cloned(),
                option: reason.option().map(str::to_owned),
            }),
        }
    }
    all.sort_by(|a, b| (a.origin, b.count, &a.reason).cmp(&(b.origin, a.count, &b.reason)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlinks::LinkCounts;
    use lycosa_types::{Exclusion, Outcome};

    #[test]
    fn guesses_are_told_from_rules_and_wishes() {
        let mut totals = Totals::default();
        totals.count_links(&LinkCounts {
            links: 9,
            out_of_scope: 3,
            nofollow: 2,
            traps: 1,
            ..LinkCounts::default()
        });
        let mirror = Outcome::Excluded(Exclusion::Mirror { of: "http://a.test".to_owned() });
        for (outcome, url) in [
            (&mirror, "http://b.test/1"),
            (&mirror, "http://b.test/2"),
            (&Outcome::Fetched { status: 200 }, "http://a.test/"),
        ] {
            totals.count_outcome(outcome);
            totals.remember(outcome, url);
        }
        let found = left_out(&totals);
        let told: Vec<(Origin, &str, u64)> =
            found.iter().map(|part| (part.origin, part.reason.as_str(), part.count)).collect();
        assert_eq!(
            told,
            [
                (Origin::Setting, "out-of-scope", 3),
                (Origin::Site, "nofollow", 2),
                (Origin::Guess, "mirror", 2),
                (Origin::Guess, "trap", 1),
            ]
        );
        assert_eq!(found[2].example.as_deref(), Some("http://b.test/1"));
        assert!(found[2].option.as_deref().is_some_and(|option| option.contains("--no-guesses")));
    }

    /// Words under which links are counted must say whose will they are: a new one has to be a [`Reason`].
    #[test]
    fn every_counted_word_has_a_reason() {
        let all = LinkCounts {
            links: 1,
            unusable: 1,
            out_of_scope: 1,
            excluded: 1,
            too_deep: 1,
            traps: 1,
            nofollow: 1,
            off_topic: 1,
            ..LinkCounts::default()
        };
        let mut totals = Totals::default();
        totals.count_links(&all);
        for word in totals.rejected.keys() {
            assert!(Reason::of_word(word).is_some(), "{word}");
        }
    }
}
