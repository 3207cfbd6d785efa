//! What is the same for all questions until the index changes: the languages of its pages, and the names of facet values.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::Searcher;

use crate::collector::{FACETS, Harvest};
use crate::columns::Columns;
use crate::error::SearchError;
use crate::language::Language;

/// The index as of some commit.
pub(crate) struct Snapshot {
    pub(crate) searcher: Searcher,
    pub(crate) languages: Vec<Language>,
    /// Of each segment.
    pub(crate) columns: Vec<Columns>,
    names: OnceLock<[Names; 3]>,
}

/// The values of a column over all segments.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    /// For each segment, the place in `names` of each of its values.
    places: Vec<Vec<u32>>,
}

/// The latest one.
#[derive(Default)]
pub(crate) struct Latest(Mutex<Option<Arc<Snapshot>>>);

impl Latest {
    pub(crate) fn of(&self, searcher: Searcher) -> Result<Arc<Snapshot>, SearchError> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(known) if known.searcher.generation() == searcher.generation() => Ok(Arc::clone(known)),
            _ => {
                let languages = languages(&searcher)?;
                let mut columns = Vec::new();
                for segment in searcher.segment_readers() {
                    columns.push(Columns::new(segment)?);
                }
                let made = Arc::new(Snapshot { searcher, languages, columns, names: OnceLock::new() });
                *latest = Some(Arc::clone(&made));
                Ok(made)
            }
        }
    }
}

impl Snapshot {
    /// For each facet, how many matches have which value; in no order.
    pub(crate) fn facets(&self, harvests: &[Harvest]) -> Result<[Vec<(&str, u64)>; 3], SearchError> {
        let names = match self.names.get() {
            Some(names) => names,
            None => {
                let made = names(&self.searcher)?;
                self.names.get_or_init(|| made)
            }
        };
        let mut counts: [Vec<(&str, u64)>; 3] = Default::default();
        for (facet, (counts, names)) in counts.iter_mut().zip(names).enumerate() {
            let mut sums = vec![0_u64; names.names.len()];
            for harvest in harvests {
                let places =
                    names.places.get(harvest.ordinal as usize).map(Vec::as_slice).unwrap_or_default();
                for (place, count) in places.iter().zip(&harvest.facets[facet]) {
                    if let Some(sum) = sums.get_mut(*place as usize) {
                        *sum += u64::from(*count);
                    }
                }
            }
            let met = names.names.iter().zip(sums).filter(|(name, sum)| *sum > 0 && !name.is_empty());
            counts.extend(met.map(|(name, sum)| (name.as_str(), sum)));
        }
        Ok(counts)
    }
}

fn names(searcher: &Searcher) -> Result<[Names; 3], SearchError> {
    let mut all: [Names; 3] = Default::default();
    for (column, names) in FACETS.iter().zip(&mut all) {
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        for segment in searcher.segment_readers() {
            let mut places = Vec::new();
            if let Some(column) = segment.fast_fields().str(column)? {
                let mut values = column.dictionary().stream()?;
                while values.advance() {
                    let next = known.len() as u32;
                    let place = *known.entry(values.key().to_vec()).or_insert(next);
                    if place == next {
                        names.names.push(String::from_utf8_lossy(values.key()).into_owned());
                    }
                    places.push(place);
                }
            }
            names.places.push(places);
        }
    }
    Ok(all)
}

/// The languages that pages of the index are in, and none.
fn languages(searcher: &Searcher) -> Result<Vec<Language>, SearchError> {
    let mut found = vec![Language::NONE];
    for segment in searcher.segment_readers() {
        let Some(column) = segment.fast_fields().str("lang")? else { continue };
        for value in 0..column.num_terms() as u64 {
            let mut code = String::new();
            column.ord_to_str(value, &mut code)?;
            let language = Language::of_tag(&code);
            if !found.contains(&language) {
                found.push(language);
            }
        }
    }
    Ok(found)
}
