//! Seeds added to a crawl from outside, also while it runs: files in `DIR/inbox`, one URL per line.
//!
//! A file appears whole (it is renamed into place) and is removed once its seeds are durable, so that nothing is lost
//! whichever side dies when. A crawl that does not run finds them when it goes on.

use std::path::{Path, PathBuf};

use lycosa_types::{CanonRules, CanonUrl};

/// Files taken in at one go.
const MOST_FILES: usize = 64;
/// Largest file that is read: some hundred thousand URLs.
const MOST_BYTES: u64 = 16 << 20;

/// Leaves seeds for the crawl whose inbox this is.
pub fn submit(inbox: &Path, seeds: &[CanonUrl]) -> std::io::Result<()> {
    std::fs::create_dir_all(inbox)?;
    for (number, chunk) in seeds.chunks(50_000).enumerate() {
        let text: String = chunk.iter().flat_map(|seed| [seed.as_str(), "\n"]).collect();
        let name = format!("{:016x}-{}-{number}", crate::clock::now().0, std::process::id());
        let hidden = inbox.join(format!(".{name}"));
        std::fs::write(&hidden, text)?;
        std::fs::File::open(&hidden)?.sync_all()?;
        std::fs::rename(&hidden, inbox.join(format!("{name}.urls")))?;
    }
    Ok(())
}

/// What was found in an inbox.
#[derive(Debug, Default)]
pub struct Mail {
    pub seeds: Vec<CanonUrl>,
    /// Lines that are no URL.
    pub unusable: u64,
    /// The files, to be removed once the seeds are durable.
    pub files: Vec<PathBuf>,
}

/// Reads what lies in the inbox, leaving it there.
pub fn read(inbox: &Path, rules: &CanonRules, skip: &[PathBuf]) -> std::io::Result<Mail> {
    let mut mail = Mail::default();
    let entries = match std::fs::read_dir(inbox) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(mail),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        let is_mail = path.extension().is_some_and(|extension| extension == "urls");
        if !is_mail || skip.contains(&path) || mail.files.len() >= MOST_FILES {
            continue;
        }
        if std::fs::metadata(&path)?.len() > MOST_BYTES {
            mail.unusable += 1;
        } else {
            let text = std::fs::read(&path)?;
            for line in String::from_utf8_lossy(&text).lines().map(str::trim) {
                match CanonUrl::parse(line, rules) {
                    Ok(url) => mail.seeds.push(url),
                    Err(_) => mail.unusable += u64::from(!line.is_empty()),
                }
            }
        }
        mail.files.push(path);
    }
    Ok(mail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_submitted_is_read_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = dir.path().join("inbox");
        let rules = CanonRules::default();
        assert!(read(&inbox, &rules, &[]).unwrap().files.is_empty());
        let url = CanonUrl::parse("http://a.org/x", &rules).unwrap();
        submit(&inbox, std::slice::from_ref(&url)).unwrap();
        std::fs::write(inbox.join("typed.urls"), "nonsense\n\nhttp://b.org/\n").unwrap();
        let mail = read(&inbox, &rules, &[]).unwrap();
        assert!(mail.seeds.contains(&url));
        assert_eq!((mail.seeds.len(), mail.unusable, mail.files.len()), (2, 1, 2));
        assert!(read(&inbox, &rules, &mail.files).unwrap().files.is_empty());
    }
}
