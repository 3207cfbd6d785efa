//! Questions to the ledger: coverage, repeats, politeness, overlap.
//!
//! Promise: answers cover every entry kept so far, open requests included; an open request lasts for ever.

use std::io::{self, Write};
use std::net::IpAddr;

use foldhash::{HashMap, HashMapExt};

use super::{Entry, Ledger, Record};

impl Ledger {
    /// Every request, in order of arrival.
    pub fn entries(&self) -> Vec<Entry> {
        let book = self.book();
        book.records.iter().map(|r| self.spell(&book, r)).collect()
    }

    /// The requests to one host.
    pub fn by_host(&self, name: &str) -> Vec<Entry> {
        let book = self.book();
        let wanted = book.records.iter().filter(|r| self.host_name(&book, r.target) == name);
        wanted.map(|r| self.spell(&book, r)).collect()
    }

    /// How often each URL was requested.
    pub fn counts(&self) -> HashMap<String, u32> {
        let book = self.book();
        let mut counts = HashMap::with_capacity(book.records.len());
        let mut url = Vec::new();
        for record in &book.records {
            url.clear();
            url.extend_from_slice(b"http://");
            url.extend_from_slice(self.host_name(&book, record.target).as_bytes());
            self.put_target(&book, record.target, &mut url);
            *counts.entry(String::from_utf8_lossy(&url).into_owned()).or_insert(0) += 1;
        }
        counts
    }

    /// URLs requested more than once, robots.txt included, with their counts.
    pub fn repeats(&self) -> Vec<(String, u32)> {
        let mut repeats: Vec<_> = self.counts().into_iter().filter(|&(_, n)| n > 1).collect();
        repeats.sort();
        repeats
    }

    /// How often a URL was requested, in exactly this spelling (scheme and port aside).
    pub fn requested(&self, url: &str) -> u32 {
        let Some((host, target)) = self.world.split(url) else {
            return 0;
        };
        let name = &*self.world.host(host).name;
        let book = self.book();
        let mut path = Vec::new();
        let same = book.records.iter().filter(|r| {
            path.clear();
            self.host_name(&book, r.target) == name && {
                self.put_target(&book, r.target, &mut path);
                path == target.as_bytes()
            }
        });
        same.count() as u32
    }

    fn host_times<T>(&self, mut fold: impl FnMut(&mut T, &Record)) -> HashMap<String, T>
    where
        T: Default,
    {
        let book = self.book();
        let mut hosts: HashMap<&str, T> = HashMap::new();
        for record in &book.records {
            fold(hosts.entry(self.host_name(&book, record.target)).or_default(), record);
        }
        hosts.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
    }

    /// Shortest time between the arrivals of two requests, per host that had at least two.
    pub fn min_gap_us_per_host(&self) -> HashMap<String, u64> {
        let times = self.host_times(|(last, least): &mut (Option<u64>, Option<u64>), record| {
            if let Some(last) = *last {
                let gap = record.arrived_us.saturating_sub(last);
                *least = Some(least.map_or(gap, |l| l.min(gap)));
            }
            *last = Some(record.arrived_us);
        });
        times.into_iter().filter_map(|(host, (_, least))| Some((host, least?))).collect()
    }

    /// Shortest time from the end of one answer to the next request, per host; 0 if they overlapped.
    pub fn min_rest_us_per_host(&self) -> HashMap<String, u64> {
        let times = self.host_times(|(end, least): &mut (Option<u64>, Option<u64>), record| {
            if let Some(end) = *end {
                let rest = record.arrived_us.saturating_sub(end);
                *least = Some(least.map_or(rest, |l| l.min(rest)));
            }
            *end = Some((*end).max(Some(record.ended_us())).unwrap_or(0));
        });
        times.into_iter().filter_map(|(host, (_, least))| Some((host, least?))).collect()
    }

    /// Shortest time between the arrivals of two requests, per address of the server.
    pub fn min_gap_us_per_ip(&self) -> HashMap<IpAddr, u64> {
        let book = self.book();
        let mut last: HashMap<u16, u64> = HashMap::new();
        let mut least: HashMap<IpAddr, u64> = HashMap::new();
        for record in &book.records {
            let before = last.insert(record.ip, record.arrived_us);
            if let (Some(before), Some(&ip)) = (before, book.ips.get(usize::from(record.ip))) {
                let gap = record.arrived_us.saturating_sub(before);
                least.entry(ip).and_modify(|l| *l = gap.min(*l)).or_insert(gap);
            }
        }
        least
    }

    /// Most requests that were open at once, per host.
    pub fn max_concurrent_per_host(&self) -> HashMap<String, u32> {
        let times = self.host_times(|spans: &mut Vec<(u64, i32)>, record| {
            spans.push((record.arrived_us, 1));
            spans.push((record.ended_us(), -1));
        });
        let most = |mut spans: Vec<(u64, i32)>| {
            // At the same microsecond an end comes before a start.
            spans.sort_unstable();
            let mut open = 0;
            spans
                .iter()
                .map(|&(_, step)| {
                    open += step;
                    open
                })
                .max()
                .unwrap_or(0)
                .max(1) as u32
        };
        times.into_iter().map(|(host, spans)| (host, most(spans))).collect()
    }

    /// Writes one JSON object per line.
    pub fn write_json_lines(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        for entry in self.entries() {
            line.clear();
            put_json(&mut line, &entry);
            out.write_all(&line)?;
        }
        out.flush()
    }
}

fn put_json(line: &mut Vec<u8>, entry: &Entry) {
    let took = entry.took_us.map_or_else(|| "null".to_owned(), |t| t.to_string());
    let head = format!(
        "{{\"arrived_us\":{},\"arrived_unix_ms\":{},\"took_us\":{took},\"status\":{},\"connection\":{},\"local_ip\":\"{}\",",
        entry.arrived_us, entry.arrived_unix_ms, entry.status, entry.connection, entry.local_ip
    );
    line.extend_from_slice(head.as_bytes());
    let fields = [("host", &entry.host), ("path", &entry.path), ("user_agent", &entry.user_agent)];
    for (i, (name, value)) in fields.into_iter().enumerate() {
        line.extend_from_slice(format!("{}\"{name}\":\"", if i > 0 { "," } else { "" }).as_bytes());
        for c in value.chars() {
            match c {
                '"' | '\\' => line.extend_from_slice(&[b'\\', c as u8]),
                c if (c as u32) < 32 => line.extend_from_slice(format!("\\u{:04x}", c as u32).as_bytes()),
                c => line.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        line.push(b'"');
    }
    line.extend_from_slice(b"}\n");
}
