//! Notes of what limits and nofollow left out: counted for the report, kept for `why`.

use lycosa_frontier::store::{LeftOut, LeftOutRule};
use lycosa_types::{UrlId, UrlKey};

use super::Bookkeeper;
use crate::limits::Limit;
use crate::outlinks::LinkCounts;

impl Bookkeeper {
    /// What was left out of a page whose visit stands.
    pub(super) fn note_page_cuts(&mut self, page: UrlId, counts: &LinkCounts, left_out: Vec<LeftOut>) {
        if counts.cuts.any() {
            let cuts = counts.cuts.reached().map(|(limit, count)| (limit.name().to_owned(), count));
            self.left_out.pages.push((page, cuts.collect()));
        }
        for link in left_out {
            self.note_left_out(Some(page), link);
        }
    }

    /// A URL that was found and not taken in, because of a limit.
    pub(super) fn cut_url(&mut self, limit: Limit, rule: LeftOutRule, url: &str, on: Option<UrlId>) {
        self.totals.count_cut(limit, 1, 0, url);
        self.note_left_out(on, LeftOut { key: UrlKey::of(url), rule, url: url.into() });
    }

    fn note_left_out(&mut self, on: Option<UrlId>, link: LeftOut) {
        if self.left_out_notes < self.context.config.page.max_left_out {
            self.left_out_notes += 1;
            self.left_out.links.push((on, link));
        } else {
            self.totals.count_cut(Limit::LeftOut, 1, 0, &link.url);
        }
    }
}
