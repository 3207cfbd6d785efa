//! Pages of the synthetic web without a server, for examples and tests.

#![allow(dead_code, reason = "each user of this module needs a part of it")]

use lycosa_page::{Extract, Judger, PictureMark, Scanner, Signatures, charset};
use lycosa_simweb::{ChangeConfig, Node, PageId, RateSpread, Request, Scratch, Tries, World, WorldConfig};

/// Answers for addresses of one world at its present time.
pub struct SimPages<'w> {
    world: &'w World,
    tries: Tries,
    scratch: Scratch,
    out: Vec<u8>,
}

impl<'w> SimPages<'w> {
    pub fn new(world: &'w World) -> Self {
        Self { world, tries: Tries::default(), scratch: Scratch::default(), out: Vec::new() }
    }

    /// Status and body of `node`.
    pub fn body(&mut self, node: Node) -> (u16, &[u8]) {
        let url = self.world.url(node);
        let path = url.splitn(4, '/').nth(3).map_or("/".to_owned(), |p| format!("/{p}"));
        let request = Request::get(self.world.host_of(node), path.as_bytes());
        let reply = self.world.respond(&request, &self.tries, &mut self.scratch, &mut self.out);
        let body = self.out.windows(4).position(|w| w == b"\r\n\r\n").and_then(|at| self.out.get(at + 4..));
        (reply.status, body.unwrap_or(b""))
    }

    /// The decoded page of `node`, if the answer is one.
    pub fn page(&mut self, node: Node) -> Option<String> {
        let (status, body) = self.body(node);
        (status == 200).then(|| charset::decode(body, Some("text/html")).text.into_owned())
    }
}

/// One visit to a page: its signatures, and the marks of its images.
pub struct Visit {
    pub signatures: Signatures,
    pub pictures: Vec<PictureMark>,
    pub source: String,
}

/// Makes visits, keeping the buffers.
#[derive(Default)]
pub struct Visitor {
    scanner: Scanner,
    page: Extract,
    judger: Judger,
}

impl Visitor {
    /// Visits `page` at the world's present time; `None` if there is no page.
    pub fn visit(&mut self, world: &World, pages: &mut SimPages<'_>, page: PageId) -> Option<Visit> {
        let source = pages.page(Node::Page(page))?;
        let signatures = self.sign(&source);
        let content = world.content_of(page);
        let pictures = (0..world.image_count(content))
            .filter_map(|slot| {
                let node = Node::Image { page: content, slot };
                let (status, body) = pages.body(node);
                (status == 200).then(|| PictureMark::of(&slot.to_string(), body).0)
            })
            .collect();
        Some(Visit { signatures, pictures, source })
    }

    pub fn sign(&mut self, source: &str) -> Signatures {
        self.scanner.scan(source, &mut self.page);
        self.judger.sign(source, &self.page, None)
    }
}

/// A world in which everything changes within seconds, so that two visits differ in every way.
pub fn restless(seed: u64, pages: u32) -> World {
    let mut config = WorldConfig::clean(seed, 12, pages);
    config.change = ChangeConfig {
        spread: RateSpread::Uniform { min_ms: 2_000, max_ms: 20_000 },
        weights: [15, 20, 30, 15, 20],
        ..ChangeConfig::lively()
    };
    World::new(config)
}
