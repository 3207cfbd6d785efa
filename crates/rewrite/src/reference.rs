//! A reference of a document, and what is decided about it.

/// What a reference is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A link to another page.
    Page,
    /// A page shown inside this one.
    Frame,
    Style,
    Script,
    Image,
    Font,
    /// Sound, video and their subtitles.
    Media,
    Manifest,
    /// `<object>` and `<embed>`.
    Object,
    /// Something the page needs whose kind it doesn't tell.
    Data,
    /// Where a form is sent.
    Form,
    /// Told when a link is followed.
    Ping,
    /// A connection made ahead of time.
    Hint,
    /// What the other references of the document are relative to.
    Base,
    /// A content security policy: its value is no URL.
    Policy,
    /// A picture or film that others show beside a link to the page.
    Preview,
    Other,
}

impl Role {
    /// A page: something a crawl follows.
    pub fn is_page(self) -> bool {
        matches!(self, Self::Page | Self::Frame)
    }

    /// Without it the document doesn't look or behave as it should.
    pub fn is_requisite(self) -> bool {
        matches!(
            self,
            Self::Style
                | Self::Script
                | Self::Image
                | Self::Font
                | Self::Media
                | Self::Manifest
                | Self::Object
                | Self::Data
        )
    }
}

/// Where a reference stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A value of its own.
    Attribute { element: &'a [u8], attribute: &'a [u8] },
    /// One of several in an attribute.
    List { element: &'a [u8], attribute: &'a [u8] },
    /// `url()`, `src()` or `image-set()` of a style sheet.
    CssValue,
    /// `@import`.
    CssImport,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// The text of an element of a sitemap or feed.
    Text { element: &'a [u8] },
    /// A value of a manifest.
    Member { name: &'a [u8] },
    /// `<?xml-stylesheet?>`.
    Instruction,
}

/// A reference that was found.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    pub role: Role,
    pub place: Place<'a>,
    /// As the document means it: character references and escapes resolved, white space around it removed. Bytes in the
    /// document's encoding.
    pub value: &'a [u8],
    /// The `<base href>` in force, as it stands in the document.
    pub base: Option<&'a [u8]>,
}

/// What is to stand in a reference's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    /// This. Every character is meant as itself; the crate escapes it for the place.
    Replace(String),
    /// Nothing: the attribute goes. Where a reference is only a part of a value it stays.
    Remove,
}
