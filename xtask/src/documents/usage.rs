//! What a program says about itself with `--help`: which subcommands and options it has; and a shown command line cut in
//! words.

use std::collections::BTreeSet;

/// Options and subcommands named by a help text.
#[derive(Debug, Default)]
pub struct Usage {
    pub options: BTreeSet<String>,
    pub subcommands: BTreeSet<String>,
}

impl Usage {
    pub fn read(help: &str) -> Self {
        let mut usage = Self::default();
        let mut section = "";
        for line in help.lines() {
            if !line.starts_with(' ') {
                section = line.trim();
                continue;
            }
            let entry = line.trim_start();
            let indent = line.len() - entry.len();
            if section == "Commands:" && indent == 2 {
                usage.subcommands.extend(entry.split_whitespace().next().map(str::to_owned));
                usage.subcommands.extend(aliases(entry));
            } else if entry.starts_with('-') && indent <= 6 {
                for word in
                    entry.split([' ', ',']).take_while(|w| w.is_empty() || w.starts_with(['-', '<', '[']))
                {
                    if let Some(name) = word.trim_end_matches('.').split(['=', '[']).next()
                        && name.starts_with('-')
                    {
                        usage.options.insert(name.to_owned());
                    }
                }
            }
        }
        usage
    }

    /// Whether an option as typed (`--name`, `--name=value`, `-x`, `-xvalue`) is one of these.
    pub fn has_option(&self, typed: &str) -> bool {
        let name = match typed.strip_prefix("--") {
            Some(_) => typed.split('=').next().unwrap_or(typed),
            None => typed.char_indices().nth(2).map_or(typed, |(end, _)| &typed[..end]),
        };
        self.options.contains(name)
    }
}

fn aliases(entry: &str) -> Vec<String> {
    let Some((_, rest)) = entry.split_once("[alias") else {
        return Vec::new();
    };
    let rest = rest.trim_start_matches("es").trim_start_matches(':').trim_end_matches(']');
    rest.split(',').map(|name| name.trim().to_owned()).collect()
}

/// The words of the first simple command in a shell line: quotes removed, cut at a pipe, redirection, list or comment.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | '<' | ';' | '&') => break,
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "About.\n\nUsage: x [OPTIONS] <COMMAND>\n\nCommands:\n  crawl  Crawl it [alias: resume]\n  help   Print\n\n\
        Options:\n  -d, --data <DIR>         The directory; --nothing is named here\n  -v, --verbose...  More\n      --json      As JSON\n                           --wrapped is text\n";

    #[test]
    fn help_is_read() {
        let usage = Usage::read(HELP);
        assert_eq!(usage.subcommands.iter().collect::<Vec<_>>(), ["crawl", "help", "resume"]);
        assert_eq!(usage.options.iter().collect::<Vec<_>>(), ["--data", "--json", "--verbose", "-d", "-v"]);
        for (typed, verdict) in
            [("--data", true), ("--data=x", true), ("-vv", true), ("-q", false), ("--wrapped", false)]
        {
            assert_eq!(usage.has_option(typed), verdict, "{typed}");
        }
    }

    #[test]
    fn lines_are_cut_in_words() {
        assert_eq!(words("a 'b c' --d=\"e f\" | g"), ["a", "b c", "--d=e f"]);
        assert_eq!(words("a b#c # exit 3"), ["a", "b#c"]);
        assert_eq!(words(""), Vec::<String>::new());
    }
}
