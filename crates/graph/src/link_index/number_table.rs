//! Numbers for URLs, given out as they are first met: twelve bytes a slot, nothing per link.

use crate::error::GraphError;

const FIRST_SLOTS: usize = 1 << 10;
/// The number that means "free"; no URL gets it.
const FREE: u32 = u32::MAX;

#[derive(Debug)]
pub struct NumberTable {
    ids: Vec<u64>,
    numbers: Vec<u32>,
    used: u32,
}

impl NumberTable {
    pub fn new() -> Self {
        Self { ids: vec![0; FIRST_SLOTS], numbers: vec![FREE; FIRST_SLOTS], used: 0 }
    }

    /// The number of a URL, and whether it is new.
    pub fn number(&mut self, id: u64) -> Result<(u32, bool), GraphError> {
        let at = self.find(id);
        if self.numbers[at] != FREE {
            return Ok((self.numbers[at], false));
        }
        if self.used == FREE - 1 {
            return Err(GraphError::TooManyUrls { limit: FREE - 1 });
        }
        let number = self.used;
        (self.ids[at], self.numbers[at]) = (id, number);
        self.used += 1;
        if self.used as usize * 4 > self.numbers.len() * 3 {
            self.grow();
        }
        Ok((number, true))
    }

    fn find(&self, id: u64) -> usize {
        let mask = self.numbers.len() - 1;
        let mut at = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.numbers[at] != FREE && self.ids[at] != id {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let slots = self.numbers.len() * 2;
        let ids = std::mem::replace(&mut self.ids, vec![0; slots]);
        let numbers = std::mem::replace(&mut self.numbers, vec![FREE; slots]);
        for (id, number) in ids.into_iter().zip(numbers).filter(|(_, number)| *number != FREE) {
            let at = self.find(id);
            (self.ids[at], self.numbers[at]) = (id, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_keeps_its_number() {
        let mut table = NumberTable::new();
        for round in 0..2 {
            for id in 0..10_000u64 {
                let found = table.number(id << 40).unwrap();
                assert_eq!(found, (id as u32, round == 0));
            }
        }
    }
}
