//! Pages of the synthetic web without a server, for examples and tests.

use lycosa_page::charset;
use lycosa_simweb::{Node, Request, Scratch, Tries, World};

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
