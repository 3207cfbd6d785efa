//! The tree of a query, and its canonical text.

use std::fmt;

use super::day::Day;

/// A text field that a part of a query can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextField {
    Title,
    Heading,
    Text,
    Anchor,
    Url,
    Author,
}

impl TextField {
    pub const ALL: [Self; 6] =
        [Self::Title, Self::Heading, Self::Text, Self::Anchor, Self::Url, Self::Author];

    /// The name, with its colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title:",
            Self::Heading => "heading:",
            Self::Text => "text:",
            Self::Anchor => "anchor:",
            Self::Url => "url:",
            Self::Author => "author:",
        }
    }
}

/// A condition that holds or does not, without a score.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// A host or a domain with all hosts below it.
    Site(String),
    /// `html` or `text/html`.
    Type(String),
    /// `en` or `en-gb`.
    Lang(String),
    /// Dated before the beginning of the day.
    Before(Day),
    /// Dated at the beginning of the day or later.
    After(Day),
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Word(String),
    /// Words that begin so.
    Prefix(String),
    Phrase(String),
    Filter(Filter),
    Field(TextField, Box<Node>),
    Not(Box<Node>),
    Near {
        distance: u32,
        left: Box<Node>,
        right: Box<Node>,
    },
    And(Vec<Node>),
    /// Exactly an odd number of the parts; for two, one and not the other.
    Xor(Vec<Node>),
    Or(Vec<Node>),
    /// Parts side by side: every filter and every NOT holds, and at least one of the others.
    List(Vec<Node>),
}

impl Node {
    /// Whether it narrows a list down instead of adding to it.
    pub fn is_condition(&self) -> bool {
        match self {
            Self::Filter(_) | Self::Not(_) => true,
            Self::Field(_, inner) => inner.is_condition(),
            _ => false,
        }
    }

    /// Whether NEAR can take it.
    pub fn has_places(&self) -> bool {
        match self {
            Self::Word(_) | Self::Prefix(_) | Self::Phrase(_) => true,
            Self::Or(parts) => parts.iter().all(Self::has_places),
            _ => false,
        }
    }

    /// The text as an operand of something that binds as tightly as `level`.
    fn write_within(&self, level: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.level() > level { write!(f, "{self}") } else { write!(f, "({self})") }
    }

    fn level(&self) -> u8 {
        match self {
            Self::List(_) => 0,
            Self::Or(_) => 1,
            Self::Xor(_) => 2,
            Self::And(_) => 3,
            Self::Near { .. } => 4,
            Self::Not(_) => 5,
            Self::Word(_) | Self::Prefix(_) | Self::Phrase(_) | Self::Filter(_) | Self::Field(..) => 6,
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |parts: &[Node], between: &str, f: &mut fmt::Formatter<'_>| {
            for (place, part) in parts.iter().enumerate() {
                if place > 0 {
                    f.write_str(between)?;
                }
                part.write_within(self.level(), f)?;
            }
            Ok(())
        };
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Prefix(word) => write!(f, "{word}*"),
            Self::Phrase(words) => write!(f, "\"{words}\""),
            Self::Filter(filter) => write!(f, "{filter}"),
            Self::Field(field, inner) => match **inner {
                Self::Word(_) | Self::Prefix(_) | Self::Phrase(_) => write!(f, "{}{inner}", field.name()),
                _ => write!(f, "{}({inner})", field.name()),
            },
            Self::Not(inner) => {
                f.write_str("NOT ")?;
                inner.write_within(4, f)
            }
            Self::Near { distance, left, right } => {
                left.write_within(5, f)?;
                write!(f, " NEAR/{distance} ")?;
                right.write_within(5, f)
            }
            Self::And(parts) => joined(parts, " AND ", f),
            Self::Xor(parts) => joined(parts, " XOR ", f),
            Self::Or(parts) => joined(parts, " OR ", f),
            Self::List(parts) => joined(parts, " ", f),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Site(site) => write!(f, "site:{site}"),
            Self::Type(name) => write!(f, "type:{name}"),
            Self::Lang(tag) => write!(f, "lang:{tag}"),
            Self::Before(day) => write!(f, "before:{day}"),
            Self::After(day) => write!(f, "after:{day}"),
        }
    }
}
