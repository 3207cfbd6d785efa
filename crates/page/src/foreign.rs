//! SVG and MathML inside HTML.
//!
//! Inside foreign content `<title>`, `<style>` and `<script>` are ordinary elements and CDATA sections are text; some
//! foreign elements hold HTML again; some HTML elements end foreign content by starting inside it. We keep only the
//! layers, not the tree, which is enough to choose the right way to read what follows.

use super::tags::{BLOCK, BREAKOUT, TagId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Svg,
    Math,
    /// HTML inside this element of SVG or MathML.
    Html(TagId),
}

/// The layers around the current position, HTML outermost.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    layers: Vec<Layer>,
    /// Layers that were passed over because they lie too deep.
    pub too_deep: u32,
}

impl Foreign {
    pub fn clear(&mut self) {
        self.layers.clear();
        self.too_deep = 0;
    }

    /// Whether the position is outside all foreign content, the common case.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether markup is read by the rules of foreign content.
    #[inline(always)]
    pub fn active(&self) -> bool {
        matches!(self.layers.last(), Some(Layer::Svg | Layer::Math))
    }

    /// Whether text here is drawing, not reading matter. HTML in `<foreignObject>` and formulas are read.
    pub fn hides_text(&self) -> bool {
        match self.layers.last() {
            Some(Layer::Svg) => true,
            Some(Layer::Html(tag)) => matches!(*tag, TagId::DESC | TagId::TITLE),
            Some(Layer::Math) | None => false,
        }
    }

    /// A start tag, before anything else is made of it; whether its element is a foreign one.
    pub fn start(&mut self, tag: TagId, self_closing: bool, max_depth: usize) -> bool {
        if self.active() && tag.flags() & BREAKOUT != 0 {
            self.break_out();
        }
        let foreign = self.active();
        let layer = match (tag, self.layers.last()) {
            (TagId::SVG, _) => Layer::Svg,
            (TagId::MATH, _) => Layer::Math,
            (TagId::FOREIGNOBJECT | TagId::DESC | TagId::TITLE, Some(Layer::Svg)) => Layer::Html(tag),
            (TagId::MI | TagId::MO | TagId::MN | TagId::MS | TagId::MTEXT, Some(Layer::Math)) => {
                Layer::Html(tag)
            }
            _ => return foreign,
        };
        if self_closing {
            return foreign;
        }
        if self.layers.len() < max_depth {
            self.layers.push(layer);
        } else {
            self.too_deep = self.too_deep.saturating_add(1);
        }
        foreign
    }

    /// An end tag.
    pub fn end(&mut self, tag: TagId) {
        let wanted = match tag {
            TagId::SVG => Layer::Svg,
            TagId::MATH => Layer::Math,
            // The end of a block around the drawing, most likely: what was left open in it ends as well.
            _ if self.active() && tag.flags() & BLOCK != 0 => return self.break_out(),
            _ => Layer::Html(tag),
        };
        let depth = self.layers.len();
        let top = self.layers.last() == Some(&wanted);
        // Inside foreign content an end tag also closes what surrounds it; inside HTML it does not reach out.
        let next = self.active() && depth >= 2 && self.layers.get(depth - 2) == Some(&wanted);
        if top || next {
            self.layers.truncate(depth - 1 - usize::from(!top));
        }
    }

    fn break_out(&mut self) {
        while self.active() {
            self.layers.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_breaks_out_and_islands_do_not() {
        let mut foreign = Foreign::default();
        foreign.start(TagId::SVG, false, 8);
        assert!(foreign.active() && foreign.hides_text());
        foreign.start(TagId::FOREIGNOBJECT, false, 8);
        assert!(!foreign.active() && !foreign.hides_text());
        foreign.start(TagId::DIV, false, 8);
        foreign.end(TagId::FOREIGNOBJECT);
        assert!(foreign.active());
        foreign.start(TagId::DIV, false, 8);
        assert!(foreign.is_empty());
        foreign.start(TagId::SVG, true, 8);
        assert!(foreign.is_empty());
    }

    #[test]
    fn depth_is_bounded() {
        let mut foreign = Foreign::default();
        (0..100).for_each(|_| assert!(foreign.start(TagId::SVG, false, 8) || foreign.active()));
        assert_eq!(foreign.layers.len(), 8);
        (0..8).for_each(|_| foreign.end(TagId::SVG));
        assert!(foreign.is_empty());
    }
}
