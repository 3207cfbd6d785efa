//! A page that was visited before: what its new visit shows against the earlier one.
//!
//! The cheapest sufficient answer ends the matter: the server says 304, or the bytes are the same, or only noise differs,
//! and only then is anything stored again.

use lycosa_fetch::{Response, Visit};
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::{Course, First, Store, StoreError};
use lycosa_page::compare::share;
use lycosa_page::{
    Comparison, ContentKind, HostTemplate, PictureMark, Reason, Signal, Verdict, charset, compare_as, sniff,
    values,
};
use lycosa_types::{
    Change, Digest, KeptLine, MOST_KEPT_LINES, NearDuplicate, Outcome, UnixMs, UrlId, UrlRecord, VisitFacts,
};

use super::{Judge, Judged, pictures};
use crate::config::NearMethod;
use crate::near::{NearPrint, StoredSignatures};

/// What is known of a page from its earlier visits.
#[derive(Debug)]
pub struct Earlier {
    pub record: UrlRecord,
    pub course: Option<Course>,
    pub signatures: Option<StoredSignatures>,
    /// What is kept of it if it is an image.
    pub picture: Option<PictureMark>,
}

/// What another visit showed.
#[derive(Debug)]
pub struct Again {
    pub earlier: UrlRecord,
    pub course: Option<Course>,
    pub change: Change,
    pub signal: String,
    pub share: f64,
    /// How the visit itself ended.
    pub outcome: Outcome,
    /// The copy in the archive stays the one of an earlier visit.
    pub keeps_copy: bool,
    /// When the page last changed, as far as its Last-Modified tells.
    pub modified_at: Option<UnixMs>,
    pub at: UnixMs,
    /// Images to look at, if the page itself showed no change.
    pub pictures: Vec<UrlId>,
    /// Lines that differed without being news.
    pub kept_lines: Vec<KeptLine>,
}

impl Earlier {
    /// What the state knows; none if the record is gone.
    pub fn load(store: &Store, id: UrlId) -> Result<Option<Self>, StoreError> {
        let Some(record) = store.url(id)? else { return Ok(None) };
        let bytes = store.signatures(id)?.unwrap_or_default();
        let picture = pictures::decode(&bytes);
        let signatures = if picture.is_none() { StoredSignatures::decode(&bytes).ok() } else { None };
        Ok(Some(Self { record, course: store.course(id)?, signatures, picture }))
    }

    /// The validators of the copy at hand: ETag, Last-Modified. None if there is no copy that a 304 could refer to.
    pub fn validators(&self) -> (Option<&str>, Option<&str>) {
        match (&self.record.outcome, &self.record.visit) {
            (Some(Outcome::Fetched { .. }), Some(facts)) => {
                (facts.etag.as_deref(), facts.last_modified.as_deref())
            }
            _ => (None, None),
        }
    }

    fn facts(&self) -> VisitFacts {
        self.record.visit.clone().unwrap_or_default()
    }

    /// When the copy in the archive was fetched.
    fn copy_at(&self) -> UnixMs {
        let ended = self.record.visited_at.unwrap_or(self.record.found_at);
        let elapsed = self.record.visit.as_ref().map_or(0, |facts| u64::from(facts.elapsed_ms));
        let copy_at = self.course.as_ref().and_then(|course| course.copy_at);
        copy_at.unwrap_or(UnixMs(ended.0.saturating_sub(elapsed)))
    }

    fn again(self, visit: &Visit, outcome: Outcome, change: Change) -> Again {
        let no_news = matches!(change, Change::Unchanged | Change::Noise | Change::Around);
        let pictures = self.signatures.filter(|_| no_news).map(|signed| signed.pictures).unwrap_or_default();
        Again {
            pictures,
            earlier: self.record,
            course: self.course,
            change,
            signal: String::new(),
            share: 1.0,
            outcome,
            keeps_copy: false,
            modified_at: None,
            at: visit.timing.started,
            kept_lines: Vec::new(),
        }
    }
}

impl Judge {
    /// Judges a visit of a page that was visited before.
    pub fn page_again(&mut self, entry: &Entry, id: UrlId, visit: &Visit, earlier: Earlier) -> Judged {
        match &visit.result {
            Ok(response) if response.status == 304 => self.not_modified(entry, visit, response, earlier),
            Ok(response) if response.is_success() => self.received_again(entry, id, visit, response, earlier),
            _ => {
                let mut judged = self.page(entry, id, visit);
                let change = change_of_state(earlier.record.outcome.as_ref(), &judged.end.outcome);
                let mut again = earlier.again(visit, judged.end.outcome.clone(), change);
                if matches!(judged.end.outcome, Outcome::Failed(_)) {
                    again.keeps_copy = true;
                    // Nor does a part of the page replace what is known of the whole.
                    judged.end.visit = None;
                }
                judged.again = Some(Box::new(again));
                judged
            }
        }
    }

    fn not_modified(
        &mut self,
        entry: &Entry,
        visit: &Visit,
        response: &Response,
        earlier: Earlier,
    ) -> Judged {
        let mut judged = Judged::empty(entry, visit);
        let mut facts = earlier.facts();
        facts.elapsed_ms = visit.timing.finished.as_millis().min(u128::from(u32::MAX)) as u32;
        judged.end.outcome = earlier.record.outcome.clone().unwrap_or(Outcome::NotModified);
        let unchanged = First {
            id: UrlId { partition: lycosa_types::PartitionId(0), key: entry.key },
            url: entry.url.as_str().into(),
            at: earlier.copy_at(),
            payload_sha1: facts.payload_sha1,
        };
        self.archive_unchanged(entry, visit, response, &unchanged, &mut judged);
        judged.end.visit = Some(facts);
        let mut again = earlier.again(visit, Outcome::NotModified, Change::Unchanged);
        again.keeps_copy = true;
        judged.again = Some(Box::new(again));
        judged
    }

    fn received_again(
        &mut self,
        entry: &Entry,
        id: UrlId,
        visit: &Visit,
        response: &Response,
        earlier: Earlier,
    ) -> Judged {
        let was_there = matches!(earlier.record.outcome, Some(Outcome::Fetched { .. }));
        let outcome = Outcome::Fetched { status: response.status };
        let digest = (!response.body.is_empty()).then(|| Digest::of(&response.body));
        let modified_at = response.last_modified().and_then(lycosa_fetch::parse_http_date);
        if was_there && digest == earlier.facts().digest {
            let mut judged = Judged::empty(entry, visit);
            judged.end.outcome = outcome.clone();
            let mut facts = earlier.facts();
            let unchanged = First {
                id,
                url: entry.url.as_str().into(),
                at: earlier.copy_at(),
                payload_sha1: facts.payload_sha1,
            };
            self.archive_unchanged(entry, visit, response, &unchanged, &mut judged);
            facts.etag = response.etag().map(|etag| super::facts::clip(etag).into_owned());
            facts.last_modified = response.last_modified().map(|date| super::facts::clip(date).into_owned());
            judged.end.visit = Some(facts);
            let mut again = earlier.again(visit, outcome, Change::Unchanged);
            again.keeps_copy = true;
            judged.again = Some(Box::new(again));
            return judged;
        }
        let mut judged = self.page_with(entry, id, visit, Some(&earlier));
        let compared = judged.compared.take();
        let change = match (&compared, judged.picture) {
            _ if !was_there => Change::Back,
            (Some(comparison), _) => change_of(comparison.verdict),
            (None, Some(None | Some(Signal::Bytes))) => Change::Noise,
            (None, Some(Some(_))) => Change::Image,
            (None, None) => Change::Content,
        };
        let picture_signal = judged.picture.flatten();
        let keeps_copy = judged.kept_earlier;
        let mut again = earlier.again(visit, judged.end.outcome.clone(), change);
        again.keeps_copy = keeps_copy;
        again.modified_at = modified_at;
        if let Some(comparison) = &compared {
            again.signal = match (comparison.verdict, comparison.explained.first()) {
                (Verdict::Noise, Some(line)) => line.reason.words().replace(' ', "-"),
                _ => word(comparison.signal),
            };
            again.share = comparison.share;
            again.kept_lines = self.kept_lines(comparison);
        } else if let Some(signal) = picture_signal {
            again.signal = word(signal);
        }
        judged.again = Some(Box::new(again));
        judged
    }

    /// Signs a document that is no page: JSON by value, XML by element, text by line.
    pub(super) fn sign_values(&mut self, response: &Response, judged: &mut Judged) {
        let content_type = response.content_type();
        let kind = sniff(content_type, &response.body);
        let by_name =
            ["json", "csv", "text/"].iter().any(|part| content_type.is_some_and(|of| of.contains(part)));
        let is_text =
            matches!(kind, ContentKind::Xml | ContentKind::Feed | ContentKind::Sitemap | ContentKind::Text);
        if !(is_text || by_name && kind == ContentKind::Other) || !self.context.config.judging.signatures {
            return;
        }
        let decoded = charset::decode(&response.body, content_type);
        self.extract.clear();
        // Of a document that is longer, only all of its bytes tell: what stands behind the limit may be news.
        if !values::lines_of(&decoded.text, MOST_VALUE_BYTES, &mut self.extract.text) {
            return;
        }
        let signatures = self.judger.sign(&decoded.text, &self.extract, None);
        let signed = StoredSignatures { signatures, near: NearPrint::None, pictures: Vec::new() };
        judged.end.signatures = signed.encode_by(&mut self.record);
        self.signed = Some(signed);
    }

    /// Which page the one last scanned still nearly repeats, if it did before; an original stays one.
    pub(super) fn near_duplicate_still(&mut self, earlier: &Earlier) -> Option<NearDuplicate> {
        let judging = &self.context.config.judging;
        let signed = self.signed.as_mut().filter(|_| judging.near_duplicates)?;
        let Some(before) = earlier.record.visit.as_ref().and_then(|facts| facts.near_duplicate) else {
            let was_original = earlier.signatures.as_ref().is_some_and(|old| old.near != NearPrint::None);
            if was_original {
                signed.near = self.context.near.print(&self.extract, &signed.signatures.sketch);
            }
            return None;
        };
        let original = self.context.store.signatures(before.of).ok().flatten();
        let original = original.and_then(|bytes| StoredSignatures::decode(&bytes).ok());
        let Some(original) = original.filter(|_| judging.near_method == NearMethod::Winnowing) else {
            return Some(before);
        };
        let alike = share(&signed.signatures.sketch, &original.signatures.sketch);
        let resemblance_permille = (alike * 1000.0).round() as u16;
        (alike >= judging.least_resemblance).then_some(NearDuplicate { of: before.of, resemblance_permille })
    }

    /// The lines of the page last scanned that differ without being news, as far as they are kept.
    fn kept_lines(&self, comparison: &Comparison) -> Vec<KeptLine> {
        let lines = comparison.explained.iter().take(MOST_KEPT_LINES);
        let text = |number: u32| {
            self.extract.text.lines().nth(number.saturating_sub(1) as usize).unwrap_or_default()
        };
        let kept = lines.map(|line| match (line.new_line, line.old_line) {
            (Some(number), _) => KeptLine::new(line.reason.words(), number, text(number)),
            (None, gone) => KeptLine::new(line.reason.words(), gone.unwrap_or(0), ""),
        });
        kept.collect()
    }

    /// Compares the page last scanned with what is known of its earlier visit, and learns what the host's pages change.
    pub(super) fn compare_with(&mut self, entry: &Entry, earlier: &Earlier) -> Option<Comparison> {
        let old = &earlier.signatures.as_ref()?.signatures;
        let new = &self.signed.as_ref()?.signatures;
        let mut templates = self.context.templates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if templates.len() >= MOST_TEMPLATES && !templates.contains_key(&entry.url.host_key()) {
            templates.clear();
        }
        let template: &mut HostTemplate = templates.entry(entry.url.host_key()).or_default();
        template.learn(old, new);
        let (mode, rules) = self.context.noise.of(entry.url.as_str());
        let mut compared = compare_as(old, new, Some(template), mode);
        if rules.is_some() {
            let own = compared.explained.iter_mut().filter(|line| line.reason == Reason::Advertisement);
            own.for_each(|line| line.reason = Reason::UserRule);
        }
        Some(compared)
    }
}

/// The name of a signal, as in reports.
fn word(signal: Signal) -> String {
    match serde_json::to_value(signal) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Bytes of a document that is no page that are compared by value; any change of a longer one is news.
const MOST_VALUE_BYTES: usize = 4 << 20;

/// Hosts whose habits are remembered at a time.
const MOST_TEMPLATES: usize = 4096;

fn change_of(verdict: Verdict) -> Change {
    match verdict {
        Verdict::Unchanged => Change::Unchanged,
        Verdict::Noise => Change::Noise,
        Verdict::Structure => Change::Structure,
        Verdict::Text => Change::Text,
        Verdict::Image => Change::Image,
        Verdict::Around => Change::Around,
    }
}

/// What it means that a page ended like this now, and like that before.
fn change_of_state(before: Option<&Outcome>, now: &Outcome) -> Change {
    match (before, now) {
        (_, Outcome::Failed(_) | Outcome::Excluded(_) | Outcome::NotModified) => Change::Unknown,
        (Some(Outcome::Redirected { to, .. }), Outcome::Redirected { to: now, .. }) if to == now => {
            Change::Unchanged
        }
        (_, Outcome::Redirected { .. }) => Change::Moved,
        (Some(Outcome::Missing { .. }), Outcome::Missing { .. }) => Change::Unchanged,
        (Some(Outcome::Failed(_) | Outcome::Excluded(_)) | None, Outcome::Missing { .. }) => Change::Gone,
        (_, Outcome::Missing { .. }) => Change::Gone,
        (_, Outcome::Fetched { .. }) => Change::Back,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::Failure;

    #[test]
    fn pages_go_move_and_come_back() {
        let there = Outcome::Fetched { status: 200 };
        let gone = Outcome::Missing { status: 404 };
        let to = |to: &str| Outcome::Redirected { status: 301, to: to.to_owned() };
        let failed = Outcome::Failed(Failure::ConnectTimeout);
        let cases = [
            (&there, &gone, Change::Gone),
            (&gone, &gone, Change::Unchanged),
            (&gone, &there, Change::Back),
            (&there, &to("a"), Change::Moved),
            (&to("a"), &to("a"), Change::Unchanged),
            (&to("a"), &to("b"), Change::Moved),
            (&there, &failed, Change::Unknown),
        ];
        for (before, now, change) in cases {
            assert_eq!(change_of_state(Some(before), now), change, "{before:?} {now:?}");
        }
    }
}
