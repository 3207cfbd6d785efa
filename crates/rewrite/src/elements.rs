//! Which attribute of which element refers to something, and what for.

use crate::attributes::Tag;
use crate::finder::is_space;
use crate::reference::Role;

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Url(Role),
    /// A URL, if it looks like one: the attribute is a convention of some scripts.
    Perhaps(Role),
    Srcset(Role),
    /// URLs parted by white space.
    Spaced(Role),
    Css,
    Refresh,
    Policy,
    /// A document.
    Html,
}

/// What the text of an element of XML holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Url(Role),
    /// A URL, if it begins with a scheme.
    Absolute(Role),
    Css,
    Html,
}

/// Elements whose content is text to their end tag, whatever it looks like.
pub fn is_raw(element: &[u8]) -> bool {
    matches!(
        element,
        b"script"
            | b"style"
            | b"xmp"
            | b"iframe"
            | b"noembed"
            | b"noframes"
            | b"textarea"
            | b"title"
            | b"plaintext"
    )
}

/// Elements of HTML that end SVG and MathML wherever they stand in them.
pub fn breaks_out(element: &[u8]) -> bool {
    const NAMES: [&[u8]; 44] = [
        b"b",
        b"big",
        b"blockquote",
        b"body",
        b"br",
        b"center",
        b"code",
        b"dd",
        b"div",
        b"dl",
        b"dt",
        b"em",
        b"embed",
        b"h1",
        b"h2",
        b"h3",
        b"h4",
        b"h5",
        b"h6",
        b"head",
        b"hr",
        b"i",
        b"img",
        b"li",
        b"listing",
        b"menu",
        b"meta",
        b"nobr",
        b"ol",
        b"p",
        b"pre",
        b"ruby",
        b"s",
        b"small",
        b"span",
        b"strong",
        b"strike",
        b"sub",
        b"sup",
        b"table",
        b"tt",
        b"u",
        b"ul",
        b"var",
    ];
    NAMES.contains(&element)
}

/// What `attribute` of `element` (both in lower case) holds.
pub fn holds(element: &[u8], attribute: &[u8], tag: &Tag, input: &[u8]) -> Option<Holds> {
    use Holds::{Html, Perhaps, Spaced, Srcset, Url};
    let value = |name: &[u8]| tag.value(input, name).unwrap_or_default();
    Some(match (element, attribute) {
        (_, b"style") => Holds::Css,
        (_, b"background") => Url(Role::Image),
        (
            _,
            b"fill" | b"stroke" | b"clip-path" | b"mask" | b"filter" | b"cursor" | b"marker"
            | b"marker-start" | b"marker-mid" | b"marker-end",
        ) => Holds::Css,
        (b"a" | b"area", b"href" | b"xlink:href") => Url(Role::Page),
        (b"a" | b"area", b"ping") => Spaced(Role::Ping),
        (b"link", b"href") => Url(link(value(b"rel"), value(b"as"))),
        (b"link", b"imagesrcset") => Srcset(Role::Image),
        (b"base", b"href") => Url(Role::Base),
        (b"img" | b"image" | b"input", b"src" | b"lowsrc" | b"dynsrc") => Url(Role::Image),
        (b"img" | b"source" | b"image", b"srcset") => Srcset(Role::Image),
        (b"img" | b"iframe" | b"frame", b"longdesc") => Url(Role::Page),
        (b"audio" | b"video" | b"source" | b"track" | b"bgsound", b"src") => Url(Role::Media),
        (b"video", b"poster") => Url(Role::Image),
        (b"script", b"src" | b"href" | b"xlink:href") => Url(Role::Script),
        (b"iframe" | b"frame", b"src") => Url(Role::Frame),
        (b"iframe", b"srcdoc") => Html,
        (b"embed", b"src") | (b"object", b"data") => Url(Role::Object),
        (b"form", b"action") | (b"button" | b"input", b"formaction") => Url(Role::Form),
        (b"blockquote" | b"q" | b"ins" | b"del", b"cite") => Url(Role::Other),
        (b"html", b"manifest") => Url(Role::Manifest),
        (b"meta", b"content") => return meta(tag, input),
        (b"enclosure", b"url") => Url(Role::Media),
        (b"content", b"url" | b"src") => Url(Role::Media),
        (b"thumbnail", b"url" | b"href") => Url(Role::Image),
        (b"player", b"url") => Url(Role::Other),
        (b"outline", b"xmlurl" | b"htmlurl") => Url(Role::Page),
        // What else refers to anything in SVG is drawn.
        (
            b"use" | b"image" | b"feimage" | b"pattern" | b"lineargradient" | b"radialgradient" | b"textpath"
            | b"tref" | b"mpath" | b"cursor" | b"filter",
            b"href" | b"xlink:href",
        )
        | (_, b"xlink:href") => Url(Role::Image),
        (b"iframe" | b"frame", b"data-src" | b"data-lazy-src") => Perhaps(Role::Frame),
        (b"script", b"data-src") => Perhaps(Role::Script),
        (b"video" | b"audio", b"data-src" | b"data-lazy-src") => Perhaps(Role::Media),
        (
            _,
            b"data-src"
            | b"data-lazy-src"
            | b"data-lazy"
            | b"data-original"
            | b"data-orig-src"
            | b"data-bg"
            | b"data-background"
            | b"data-background-image"
            | b"data-poster"
            | b"data-lazyload"
            | b"data-hi-res-src"
            | b"data-full-src",
        ) => Perhaps(Role::Image),
        (_, b"data-srcset" | b"data-lazy-srcset" | b"data-original-set") => Srcset(Role::Image),
        _ => return None,
    })
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| is_space(b)).filter(|word| !word.is_empty())
}

/// What `<link>` is for.
fn link(rel: &[u8], what: &[u8]) -> Role {
    const ICONS: [&[u8]; 6] = [
        b"icon",
        b"apple-touch-icon",
        b"apple-touch-icon-precomposed",
        b"apple-touch-startup-image",
        b"mask-icon",
        b"image_src",
    ];
    const OTHERS: [&[u8]; 6] = [b"pingback", b"edituri", b"search", b"profile", b"self", b"hub"];
    let is = |name: &[u8]| words(rel).take(64).any(|word| word.eq_ignore_ascii_case(name));
    if is(b"stylesheet") {
        Role::Style
    } else if ICONS.iter().any(|name| is(name)) {
        Role::Image
    } else if is(b"manifest") {
        Role::Manifest
    } else if is(b"modulepreload") {
        Role::Script
    } else if is(b"preload") {
        preload(what)
    } else if [b"dns-prefetch".as_slice(), b"preconnect", b"prerender", b"prefetch"]
        .iter()
        .any(|name| is(name))
    {
        Role::Hint
    } else if OTHERS.iter().any(|name| is(name)) {
        Role::Other
    } else {
        Role::Page
    }
}

/// What is loaded ahead, by its `as`.
fn preload(what: &[u8]) -> Role {
    match what.to_ascii_lowercase().as_slice() {
        b"style" => Role::Style,
        b"script" | b"worker" => Role::Script,
        b"image" => Role::Image,
        b"font" => Role::Font,
        b"audio" | b"video" | b"track" => Role::Media,
        b"document" => Role::Frame,
        _ => Role::Data,
    }
}

/// What `<meta>` holds in `content`.
fn meta(tag: &Tag, input: &[u8]) -> Option<Holds> {
    if let Some(equiv) = tag.value(input, b"http-equiv") {
        let is = |name: &[u8]| equiv.trim_ascii().eq_ignore_ascii_case(name);
        if is(b"refresh") {
            return Some(Holds::Refresh);
        }
        if is(b"content-security-policy") || is(b"x-content-security-policy") {
            return Some(Holds::Policy);
        }
    }
    let named =
        [b"property".as_slice(), b"name", b"itemprop"].iter().find_map(|name| tag.value(input, name))?;
    let name = named.trim_ascii().to_ascii_lowercase();
    let preview = matches!(
        name.as_slice(),
        b"og:image"
            | b"og:image:url"
            | b"og:image:secure_url"
            | b"og:video"
            | b"og:video:url"
            | b"og:video:secure_url"
            | b"og:audio"
            | b"og:audio:url"
            | b"og:audio:secure_url"
            | b"twitter:image"
            | b"twitter:image:src"
            | b"twitter:player"
            | b"thumbnail"
            | b"thumbnailurl"
            | b"image"
            | b"msapplication-tileimage"
            | b"msapplication-square70x70logo"
            | b"msapplication-square150x150logo"
            | b"msapplication-wide310x150logo"
            | b"msapplication-square310x310logo"
    );
    preview.then_some(Holds::Url(Role::Preview))
}

/// What the text of an element of a sitemap or feed holds; `name` is in lower case and without its prefix.
pub fn text(name: &[u8], prefix: &[u8], tag: &Tag, input: &[u8]) -> Option<Text> {
    Some(match name {
        b"loc" if prefix == b"image" => Text::Url(Role::Image),
        b"loc" => Text::Url(Role::Page),
        b"thumbnail_loc" => Text::Url(Role::Image),
        b"content_loc" => Text::Url(Role::Media),
        b"player_loc" => Text::Url(Role::Other),
        b"link" | b"comments" => Text::Url(Role::Page),
        b"url" | b"icon" | b"logo" => Text::Url(Role::Image),
        b"docs" => Text::Url(Role::Other),
        b"guid" if tag.value(input, b"ispermalink").is_none_or(|value| value != b"false") => {
            Text::Absolute(Role::Page)
        }
        b"style" => Text::Css,
        b"description" | b"encoded" | b"summary" | b"content" => Text::Html,
        _ => return None,
    })
}
