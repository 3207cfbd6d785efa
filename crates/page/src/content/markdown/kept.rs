//! Which marks of a line are written: links that are not in others, and emphasis that every parser is sure to recognise, which
//! is neither in other emphasis nor cut by the beginning or end of a link.

use super::inline::{Mark, Piece};

/// The choice. Linear in the pieces.
#[derive(Debug)]
pub struct Kept {
    /// Whether a mark, by its piece, is written.
    pub marks: Vec<bool>,
    /// The first piece from here on, and the last one up to here, that is written whatever becomes of emphasis.
    next: Vec<Option<usize>>,
    last: Vec<Option<usize>>,
}

impl Kept {
    pub fn of(pieces: &[Piece]) -> Self {
        let mut kept = Self { marks: vec![false; pieces.len()], next: Vec::new(), last: Vec::new() };
        let links = kept.choose_links(pieces);
        kept.find_neighbours(pieces);
        kept.choose_emphasis(pieces, &links);
        kept
    }

    /// Marks the links that are written; returns for each piece the link that it stands in.
    fn choose_links(&mut self, pieces: &[Piece]) -> Vec<Option<usize>> {
        let mut links = vec![None; pieces.len()];
        let mut until = 0;
        let mut link = None;
        for (at, piece) in pieces.iter().enumerate() {
            if at >= until {
                link = None;
                if let Piece::Begin(Mark::Link, end, _) = piece {
                    link = Some(at);
                    until = end.unwrap_or(pieces.len());
                    self.marks[at] = true;
                    if let Some(end) = end {
                        self.marks[*end] = true;
                    }
                }
            }
            links[at] = link;
        }
        links
    }

    fn find_neighbours(&mut self, pieces: &[Piece]) {
        let is_shown = |at: usize| self.marks[at] || !matches!(pieces[at], Piece::Begin(..) | Piece::End(_));
        let mut last = Vec::with_capacity(pieces.len());
        let mut found = None;
        for at in 0..pieces.len() {
            if is_shown(at) {
                found = Some(at);
            }
            last.push(found);
        }
        let mut next = vec![None; pieces.len()];
        found = None;
        for at in (0..pieces.len()).rev() {
            if is_shown(at) {
                found = Some(at);
            }
            next[at] = found;
        }
        (self.last, self.next) = (last, next);
    }

    fn choose_emphasis(&mut self, pieces: &[Piece], links: &[Option<usize>]) {
        let mut words = Vec::with_capacity(pieces.len());
        let mut count = 0usize;
        for piece in pieces {
            words.push(count);
            count += usize::from(matches!(piece, Piece::Words(_) | Piece::Code(_) | Piece::Image { .. }));
        }
        // Where the last mark that is written ends.
        let mut done: Option<usize> = None;
        for (at, piece) in pieces.iter().enumerate() {
            let Piece::Begin(Mark::Strong | Mark::Emphasis, Some(end), _) = piece else { continue };
            let is_free =
                done.is_none_or(|done| at > done) && links[at] == links[*end] && words[*end] > words[at];
            if is_free && self.is_sure(pieces, (at, *end), done) {
                self.marks[at] = true;
                self.marks[*end] = true;
                done = Some(*end);
            }
        }
    }

    /// Whether `*` in these two places is read as emphasis, whatever other marks do.
    fn is_sure(&self, pieces: &[Piece], (begin, end): (usize, usize), done: Option<usize>) -> bool {
        let (Some(first), Some(last)) = (self.after(pieces, begin), self.before(pieces, end)) else {
            return false;
        };
        let before = match (done, begin.checked_sub(1).and_then(|at| self.last[at])) {
            (Some(done), last) if last.is_none_or(|last| last < done) => Some('*'),
            _ => self.before(pieces, begin),
        };
        let after = self.after(pieces, end);
        let fits = |inner: char, outer: Option<char>| match outer {
            None | Some(' ' | '\n') => !inner.is_whitespace(),
            Some(outer) => inner.is_alphanumeric() && outer.is_ascii_punctuation() && outer != '*',
        };
        fits(first, before) && fits(last, after)
    }

    /// The first character that is written after a piece, emphasis aside.
    pub fn after(&self, pieces: &[Piece], at: usize) -> Option<char> {
        let next = *self.next.get(at + 1)?;
        match &pieces[next?] {
            Piece::Words(words) => words.chars().next(),
            Piece::Image { .. } => Some('!'),
            Piece::Begin(..) => Some('['),
            Piece::End(_) => Some(']'),
            other => edge(other),
        }
    }

    /// The last one before it.
    fn before(&self, pieces: &[Piece], at: usize) -> Option<char> {
        let last = self.last[at.checked_sub(1)?];
        match &pieces[last?] {
            Piece::Words(words) => words.chars().next_back(),
            Piece::Image { .. } | Piece::End(_) => Some(')'),
            Piece::Begin(..) => Some('['),
            other => edge(other),
        }
    }
}

fn edge(piece: &Piece) -> Option<char> {
    match piece {
        Piece::Code(_) => Some('`'),
        Piece::Break => Some('\n'),
        _ => Some(' '),
    }
}
