//! Just enough Markdown: fenced blocks, link targets, and the anchors of headings.

/// A fenced block with the words after its fence and the line it starts on (the first line is 1).
#[derive(Debug, PartialEq, Eq)]
pub struct Block<'a> {
    pub info: &'a str,
    pub line: usize,
    pub lines: Vec<&'a str>,
}

/// Text split in its fenced blocks and the numbered lines outside them.
pub fn split(text: &str) -> (Vec<Block<'_>>, Vec<(usize, &str)>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<Block<'_>> = None;
    for (number, line) in text.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (open.take(), fence) {
            (None, Some(info)) => {
                open = Some(Block { info: info.trim(), line: number + 1, lines: Vec::new() })
            }
            (None, None) => prose.push((number + 1, line)),
            (Some(block), Some(_)) => blocks.push(block),
            (Some(mut block), None) => {
                block.lines.push(line);
                open = Some(block);
            }
        }
    }
    blocks.extend(open);
    (blocks, prose)
}

/// Targets of inline links and images, and of reference definitions, in one line of prose.
pub fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Every second piece lies between backticks: code, where a bracket is no link.
    for prose in line.split('`').step_by(2) {
        for (at, _) in prose.match_indices("](") {
            let rest = &prose[at + 2..];
            if let Some(end) = rest.find([')', ' ']) {
                found.push(&rest[..end]);
            }
        }
    }
    if let Some((label, target)) = line.split_once("]: ")
        && label.starts_with('[')
    {
        found.extend(target.split_whitespace().next());
    }
    found
}

/// The anchor that readers of Markdown give a heading: lower case, blanks to hyphens, punctuation left out.
pub fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_prose_are_told_apart() {
        let (blocks, prose) = split("a\n```sh test\n$ x\n```\nb [l](m)\n");
        assert_eq!(blocks, [Block { info: "sh test", line: 2, lines: vec!["$ x"] }]);
        assert_eq!(prose, [(1, "a"), (5, "b [l](m)")]);
    }

    #[test]
    fn targets_of_links_but_not_of_code() {
        assert_eq!(targets("see [a](b.md#c) and ![i](p.svg \"t\"), `x[0](y)`"), ["b.md#c", "p.svg"]);
        assert_eq!(targets("[ref]: docs/x.md"), ["docs/x.md"]);
        assert_eq!(targets("nothing (here) [or here]"), Vec::<&str>::new());
    }

    #[test]
    fn headings_become_anchors() {
        assert_eq!(anchor("## The life of a `URL`, told"), "the-life-of-a-url-told");
    }
}
