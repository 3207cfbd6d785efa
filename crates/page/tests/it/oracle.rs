//! What a browser-grade parser sees in a page, and what our scanner sees, in one comparable form.
//!
//! The oracle is html5ever's tokenizer driven by its tree builder, which decides about raw text and foreign content as
//! browsers do. We record the tokens on their way from one to the other. Differences that remain, all of them because
//! we keep no tree:
//! - tags that the tree builder ignores where they stand (`<title>` inside `<frameset>` or `<select>`) still switch our
//!   reading of their content;
//! - inside `<svg>` and `<math>` we know the layers, not the elements: the end tag of an HTML block ends the drawing
//!   for us, whether or not that block was open; `<font color>` and `<annotation-xml>` are not looked at.

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, TagKind as Kind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use lycosa_page::{Extract, Limits, LinkKind, Scanner, TagKind};
use markup5ever_rcdom::{Handle, RcDom};
use std::cell::RefCell;

/// What both sides are asked.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct View {
    /// `name`, `name/` and `/name` in order.
    pub tags: Vec<String>,
    /// Addresses of `<a>` and `<area>`.
    pub hrefs: Vec<String>,
    /// Visible text without white space.
    pub text: String,
    /// The first title without white space.
    pub title: String,
}

#[derive(Default)]
struct Record {
    view: View,
    raw: Option<String>,
    noscript: bool,
    templates: u32,
    titles: u32,
}

struct Tap {
    builder: TreeBuilder<Handle, RcDom>,
    record: RefCell<Record>,
}

impl TokenSink for Tap {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        let foreign = self.adjusted_current_node_present_but_not_in_html_namespace();
        let mut started = None;
        match &token {
            Token::TagToken(tag) => {
                let name = tag.name.to_string();
                let href = tag.attrs.iter().find(|a| &*a.name.local == "href").map(|a| clean(&a.value));
                self.record.borrow_mut().tag(
                    tag.kind == Kind::StartTag,
                    &name,
                    tag.self_closing,
                    href,
                    foreign,
                );
                started = (tag.kind == Kind::StartTag).then_some(name);
            }
            Token::CharacterTokens(text) => self.record.borrow_mut().text(text),
            _ => {}
        }
        let result = self.builder.process_token(token, line);
        if let (Some(name), TokenSinkResult::RawData(_) | TokenSinkResult::Plaintext) = (started, &result) {
            let mut record = self.record.borrow_mut();
            record.titles += u32::from(name == "title" && record.templates == 0);
            record.raw = Some(name);
        }
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl Record {
    fn tag(&mut self, start: bool, name: &str, self_closing: bool, href: Option<String>, foreign: bool) {
        self.raw = None;
        if !start {
            self.view.tags.push(format!("/{name}"));
            match name {
                "noscript" | "head" | "body" => self.noscript = false,
                "template" => self.templates = self.templates.saturating_sub(1),
                _ => {}
            }
            return;
        }
        self.view.tags.push(format!("{name}{}", if self_closing { "/" } else { "" }));
        if matches!(name, "a" | "area") && self.templates == 0 {
            self.view.hrefs.extend(href.filter(|h| !h.to_ascii_lowercase().starts_with("data:")));
        }
        match name {
            "noscript" if !foreign => self.noscript = true,
            "template" if !foreign => self.templates += 1,
            "body" => self.noscript = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let solid = text.chars().filter(|c| !is_space(*c));
        match self.raw.as_deref() {
            Some("title") if self.titles == 1 && self.templates == 0 => self.view.title.extend(solid),
            None | Some("xmp" | "plaintext") if !self.noscript && self.templates == 0 => {
                self.view.text.extend(solid)
            }
            _ => {}
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ')
}

fn clean(href: &str) -> String {
    href.replace(['\t', '\n', '\r'], "").trim_matches(is_space).to_owned()
}

/// The page as html5ever sees it.
pub fn expected(html: &str) -> View {
    let opts = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let tap = Tap { builder: TreeBuilder::new(RcDom::default(), opts), record: RefCell::default() };
    let tokenizer = Tokenizer::new(tap, TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() });
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.record.take().view
}

/// The page as we see it.
pub fn actual(html: &str) -> View {
    let mut page = Extract::new();
    Scanner::new(Limits { max_links: usize::MAX, ..Limits::default() }).scan(html, &mut page);
    let tags = page.events.iter().map(|e| match (page.tag_name(e.tag), e.kind) {
        (name, TagKind::Start) => name.to_owned(),
        (name, TagKind::StartSelfClosing) => format!("{name}/"),
        (name, TagKind::End) => format!("/{name}"),
    });
    let anchors = page.links.iter().filter(|l| matches!(l.kind, LinkKind::Anchor | LinkKind::Area));
    View {
        tags: tags.collect(),
        hrefs: anchors.map(|l| page.href(l).to_owned()).collect(),
        text: page.text.chars().filter(|c| !is_space(*c)).collect(),
        title: page.title().chars().filter(|c| !is_space(*c)).collect(),
    }
}

/// Text inside SVG is hidden by us, so it is compared only where there is none.
pub fn has_foreign(html: &str) -> bool {
    let lower = html.to_ascii_lowercase();
    lower.contains("<svg") || lower.contains("<math")
}
