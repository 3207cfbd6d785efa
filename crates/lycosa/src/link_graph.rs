//! The link graph of a crawl directory: index, names and ranks, brought up to date when they are asked for.

use anyhow::{Context, Result};
use lycosa_engine::CrawlReader;
use lycosa_graph::{BuildOptions, GraphError, LinkIndex, Names, RankOptions, Ranks, pagerank};
use lycosa_types::{UrlId, UrlRecord};

/// The graph of a crawl that is not running.
pub struct LinkGraph {
    pub reader: CrawlReader,
    pub index: LinkIndex,
    names: Names,
}

impl LinkGraph {
    /// Opens the graph; what is older than the crawl is made again.
    pub fn open(reader: CrawlReader) -> Result<Self> {
        let log = reader.layout.edges();
        if !log.exists() {
            anyhow::bail!(
                "the crawl in {} has logged no links yet; `lycosa crawl -d {0}` goes on with it",
                reader.layout.root.display()
            );
        }
        let dir = reader.layout.graph();
        let index = LinkIndex::open_current(&log, &dir.join("links"), &BuildOptions::default())?;
        let ids = reader.store.urls().map(|known| known.map(|(id, _)| id).map_err(anyhow::Error::from));
        let names = Names::open_current::<anyhow::Error>(&dir.join("names"), stamp(&reader)?, ids)?;
        Ok(Self { reader, index, names })
    }

    /// What the crawl knows of the URL with this id.
    pub fn record(&self, id: u64) -> Result<Option<UrlRecord>> {
        let name: Option<UrlId> = self.names.find(id)?;
        Ok(name.map(|name| self.reader.store.url(name)).transpose()?.flatten())
    }

    /// The ranks of all URLs, computed unless those on disk are of the same graph and made in the same way. What was
    /// computed last, however, is where the computation starts.
    pub fn ranks(&self, options: &RankOptions) -> Result<Ranks> {
        let path = self.reader.layout.graph().join("ranks");
        let last = match Ranks::open(&path) {
            Ok(ranks) => Some(ranks),
            Err(GraphError::Damaged(_)) => None,
            Err(GraphError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let is_current = |ranks: &Ranks| {
            let info = &ranks.info;
            (info.log_bytes, info.weighting) == (self.index.log_bytes(), options.weighting)
                && info.damping == options.damping
                && info.change < options.tolerance
        };
        let last = match last {
            Some(ranks) if is_current(&ranks) => return Ok(ranks),
            other => other,
        };
        let ids = self.index.ids()?;
        let new = 1.0 - options.damping as f32;
        let start = last
            .map(|last| ids.iter().map(|id| f64::from(last.rank_of(*id).unwrap_or(new))).collect::<Vec<_>>());
        let ranking = pagerank(&self.index, options, start)?;
        let ranks = Ranks::new(&ids, &ranking, options, self.index.log_bytes());
        ranks.save(&path).context("the ranks could not be written")?;
        Ok(ranks)
    }
}

/// Changes whenever the crawl learns of a URL.
fn stamp(reader: &CrawlReader) -> Result<u64> {
    let mark = reader.store.mark("sequence")?.unwrap_or_default();
    Ok(mark.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
