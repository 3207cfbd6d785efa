//! Rows of words and figures, lined up.

use std::fmt::Write as _;

/// Rows under each other; the first column is as wide as its widest word.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<(String, String)>,
}

impl Table {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    pub fn row(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.rows.push((name.into(), value.into()));
        self
    }

    /// Adds a row unless its value is empty.
    pub fn row_if_any(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        let value = value.into();
        if value.is_empty() { self } else { self.row(name, value) }
    }

    /// The rows, each behind `indent` blanks.
    pub fn text(&self, indent: usize) -> String {
        let width = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for (name, value) in &self.rows {
            let pad = width - name.chars().count();
            let mut lines = value.lines();
            let first = lines.next().unwrap_or_default();
            // Writing to a string does not fail.
            let _ = writeln!(out, "{:indent$}{name}{:pad$}  {first}", "", "");
            for line in lines {
                let _ = writeln!(out, "{:indent$}{:width$}  {line}", "", "");
            }
        }
        out
    }
}

/// Figures under each other, right-aligned, each followed by what it counts.
pub fn figures<'a>(rows: impl IntoIterator<Item = (String, &'a str)>, indent: usize) -> String {
    let rows: Vec<(String, &str)> = rows.into_iter().collect();
    let width = rows.iter().map(|(figure, _)| figure.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (figure, name) in rows {
        let pad = width - figure.chars().count();
        let _ = writeln!(out, "{:indent$}{:pad$}{figure}  {name}", "", "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new();
        table.row("a", "1").row("long", "2\n3").row_if_any("empty", "");
        assert_eq!(table.text(1), " a     1\n long  2\n       3\n");
        assert_eq!(figures([("12".to_owned(), "x"), ("3".to_owned(), "y")], 2), "  12  x\n   3  y\n");
    }
}
