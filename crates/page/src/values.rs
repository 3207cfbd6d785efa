//! Documents that are no pages, as lines that can be compared: JSON by value, XML by element, anything else by line.
//!
//! A line of JSON is the path of a value and the value, `offers.price: 12.50`, and places in lists are left out, so that one
//! more entry is one more line. Of markup inside a value only words and addresses count. An element of XML is its tag, if
//! that has attributes, and its words. What cannot be read as JSON is compared line by line.

/// Levels of objects and lists; what lies deeper makes the document plain text.
const MAX_DEPTH: usize = 128;
/// Bytes of a path.
const MAX_PATH: usize = 256;

/// Writes the lines of a document to `out`, at most `most` bytes of them; nothing else is in it afterwards. False if there
/// was more.
pub fn lines_of(text: &str, most: usize, out: &mut String) -> bool {
    out.clear();
    let start = text.trim_start();
    if start.starts_with(['{', '[']) && Values::new(start, most, out).read().is_some() {
        return out.len() < most;
    }
    out.clear();
    if start.starts_with('<') {
        write_elements(start, most, out);
    } else {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            push(out, line, most);
        }
    }
    out.len() < most
}

/// Adds a line, as much of it as there is room for.
fn push(out: &mut String, line: &str, most: usize) {
    if !out.is_empty() && out.len() < most {
        out.push('\n');
    }
    let room = most.saturating_sub(out.len());
    out.push_str(line.get(..line.floor_char_boundary(room)).unwrap_or_default());
}

/// Each tag with attributes, and the text behind it, on lines of their own; white space is collapsed.
fn write_elements(text: &str, most: usize, out: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find('<').unwrap_or(rest.len());
        let (words, tail) = rest.split_at(end);
        let line = words.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !line.is_empty() {
            push(out, &line, most);
        }
        let cdata = tail.strip_prefix("<![CDATA[").and_then(|inner| inner.split_once("]]>"));
        rest = match cdata {
            Some((inner, after)) => {
                let line = without_tags(inner);
                if !line.is_empty() {
                    push(out, &line, most);
                }
                after
            }
            None => {
                let (tag, after) = tail.split_once('>').unwrap_or((tail, ""));
                let mut words = tag.trim_start_matches('<').split_ascii_whitespace().peekable();
                let name = words.next().filter(|name| !name.starts_with(['/', '!', '?']));
                if let Some(name) = name.filter(|_| words.peek().is_some_and(|word| *word != "/")) {
                    let attributes: Vec<&str> = words.collect();
                    push(out, &format!("{name} {}", attributes.join(" ")), most);
                }
                after
            }
        };
    }
}

fn without_tags(value: &str) -> String {
    let mut words = String::new();
    for (at, part) in value.split('<').enumerate() {
        let (tag, text) = if at == 0 { ("", part) } else { part.split_once('>').unwrap_or((part, "")) };
        let addresses = ["href=", "src="].iter().filter_map(|name| {
            let value = tag.split_once(name)?.1.trim_start_matches(['"', '\'']);
            value.split(['"', '\'', ' ', '#']).next()
        });
        for word in addresses.chain(text.split_ascii_whitespace()) {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
    }
    words
}

/// Walks over JSON.
struct Values<'t, 'o> {
    rest: &'t str,
    most: usize,
    out: &'o mut String,
    path: String,
    depth: usize,
}

impl<'t, 'o> Values<'t, 'o> {
    fn new(rest: &'t str, most: usize, out: &'o mut String) -> Self {
        Self { rest, most, out, path: String::new(), depth: 0 }
    }

    /// None if it is no JSON.
    fn read(mut self) -> Option<()> {
        self.value()?;
        self.rest.trim_start().is_empty().then_some(())
    }

    fn value(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start();
        match self.rest.bytes().next()? {
            b'{' => self.members('}', true),
            b'[' => self.members(']', false),
            b'"' => {
                let said = self.string()?;
                let plain = if said.contains('<') { without_tags(&said) } else { said };
                self.put(&plain);
                Some(())
            }
            _ => {
                let end = self.rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(self.rest.len());
                let (said, rest) = self.rest.split_at(end);
                let is_value = matches!(said, "true" | "false" | "null") || said.parse::<f64>().is_ok();
                self.rest = rest;
                self.put(said);
                is_value.then_some(())
            }
        }
    }

    fn members(&mut self, close: char, named: bool) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.get(1..)?.trim_start();
        while !self.rest.starts_with(close) {
            let above = self.path.len();
            if named {
                self.rest = self.rest.trim_start();
                let name = self.rest.starts_with('"').then(|| self.string()).flatten()?;
                self.rest = self.rest.trim_start().strip_prefix(':')?;
                if above > 0 {
                    self.path.push('.');
                }
                let room = MAX_PATH.saturating_sub(self.path.len());
                self.path.push_str(name.get(..name.floor_char_boundary(room)).unwrap_or_default());
            }
            self.value()?;
            self.path.truncate(above);
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest.trim_start(),
                None if self.rest.starts_with(close) => break,
                None => return None,
            }
        }
        self.rest = self.rest.get(1..)?;
        self.depth -= 1;
        Some(())
    }

    /// The string that begins here, its escapes undone.
    fn string(&mut self) -> Option<String> {
        let mut said = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(said);
                }
                '\\' => match chars.next()?.1 {
                    'n' | 'r' | 't' | 'b' | 'f' => said.push(' '),
                    'u' => {
                        let code = (0..4)
                            .map_while(|_| chars.next())
                            .try_fold(0, |code, (_, digit)| Some(code * 16 + digit.to_digit(16)?));
                        said.push(char::from_u32(code?).unwrap_or('\u{fffd}'));
                    }
                    other => said.push(other),
                },
                _ => said.push(c),
            }
        }
        None
    }

    fn put(&mut self, said: &str) {
        let said = said.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let line = if self.path.is_empty() { said } else { format!("{}: {said}", self.path) };
        push(self.out, &line, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> String {
        let mut out = String::new();
        lines_of(text, 10_000, &mut out);
        out
    }

    #[test]
    fn values_stand_on_lines_with_their_paths() {
        let json = r#"{"name": "Wolf", "offers": [{"price": 12.50, "in\u0020stock": true}, {"price": 3}], "html": "<b data-secret='x1'>hi</b> <a href='/x#s=1'>there</a>", "none": [], "o": {}}"#;
        let expected =
            "name: Wolf\noffers.price: 12.50\noffers.in stock: true\noffers.price: 3\nhtml: hi /x there";
        assert_eq!(lines(json), expected);
        assert_eq!(lines("[1, 2]"), "1\n2");
    }

    #[test]
    fn what_is_no_json_is_compared_by_line() {
        assert_eq!(lines("{oops\n  two  "), "{oops\ntwo");
        assert_eq!(lines("a;b\r\n1;2\r\n\r\n"), "a;b\n1;2");
        let deep = "[".repeat(500);
        assert_eq!(lines(&deep), deep);
        assert_eq!(lines("{\"a\": 1"), "{\"a\": 1");
    }

    #[test]
    fn xml_is_compared_by_element() {
        assert_eq!(
            lines("<a x='1'><b>one\n two</b><c><![CDATA[<i>three</i>]]></c></a>"),
            "a x='1'\none two\nthree"
        );
        assert_eq!(lines("<rate of=\"USD\" is='1.08'/>"), "rate of=\"USD\" is='1.08'/");
    }

    #[test]
    fn there_is_an_end() {
        let mut out = String::new();
        assert!(!lines_of(&"word\n".repeat(100), 40, &mut out));
        assert_eq!(out.len(), 40);
    }
}
