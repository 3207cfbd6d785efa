//! One part of the table: open addressing with linear probes, twenty bytes a slot, bounded.

/// What is known of a URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    pub importance: f32,
    /// Pages fetched so far that link to it.
    pub in_links: u32,
    pub fetched: bool,
}

impl Known {
    /// [`super::class`] of the importance.
    pub fn class(&self) -> i32 {
        super::class(self.importance)
    }
}

const FETCHED: u32 = 1 << 31;
const USED: u32 = 1 << 30;
const MAX_IN_LINKS: u32 = USED - 1;

#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    url: u64,
    importance: f32,
    /// In-links and the two flags.
    links: u32,
}

impl Slot {
    fn is_used(&self) -> bool {
        self.links & USED != 0
    }

    fn is_fetched(&self) -> bool {
        self.links & FETCHED != 0
    }

    fn known(&self) -> Known {
        Known { importance: self.importance, in_links: self.links & MAX_IN_LINKS, fetched: self.is_fetched() }
    }
}

const FIRST_SLOTS: usize = 16;

#[derive(Debug)]
pub struct Table {
    slots: Vec<Slot>,
    /// What reached a fetched page since it last handed on; apart from the slots, as links to waiting pages pass it by.
    unspent: Vec<f32>,
    used: usize,
    most_slots: usize,
    seed: u64,
}

/// Where a URL stands: the top bits choose the part, the low bits the slot.
pub fn hash(url: u64, seed: u64) -> u64 {
    let wide = u128::from(url ^ seed) * 0x9e37_79b9_7f4a_7c15;
    (wide >> 64) as u64 ^ wide as u64
}

impl Table {
    pub const SLOT_BYTES: usize = size_of::<Slot>() + size_of::<f32>();

    /// A table of at most `most_slots` slots, rounded down to a power of two.
    pub fn new(most_slots: usize, seed: u64) -> Self {
        let most_slots = match most_slots.checked_ilog2() {
            Some(bits) => (1 << bits).max(FIRST_SLOTS),
            None => FIRST_SLOTS,
        };
        Self { slots: Vec::new(), unspent: Vec::new(), used: 0, most_slots, seed }
    }

    pub fn len(&self) -> usize {
        self.used
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * Self::SLOT_BYTES
    }

    pub fn get(&self, url: u64, hash: u64) -> Option<Known> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = &self.slots[self.find(url, hash)];
        slot.is_used().then(|| slot.known())
    }

    /// Reads the slot where the search for a URL begins, whatever it holds: see [`super::OnlineImportance`]'s `hand_on`.
    pub fn touch(&self, hash: u64) -> u32 {
        let slot = hash as usize & self.slots.len().wrapping_sub(1);
        self.slots.get(slot).map_or(0, |slot| slot.links)
    }

    /// The place of a URL and whether it is new here. What has to go for it is added to `forgotten`.
    fn place(&mut self, url: u64, hash: u64, forgotten: &mut u64) -> (usize, bool) {
        // One slot in eight stays free, so that probes end soon and always.
        if (self.used + 1) * 8 > self.slots.len() * 7 {
            self.make_room(forgotten);
        }
        let at = self.find(url, hash);
        let is_new = !self.slots[at].is_used();
        if is_new {
            self.slots[at] = Slot { url, importance: 0.0, links: USED };
            self.unspent[at] = 0.0;
            self.used += 1;
        }
        (at, is_new)
    }

    /// Marks a page as fetched. Returns what it may hand on, and whether this is its first visit.
    pub fn visit(&mut self, url: u64, hash: u64, forgotten: &mut u64) -> (f32, bool) {
        let (at, _) = self.place(url, hash, forgotten);
        let slot = &mut self.slots[at];
        let is_first = !slot.is_fetched();
        slot.links |= FETCHED;
        let amount = if is_first { slot.importance } else { self.unspent[at] };
        self.unspent[at] = 0.0;
        (amount, is_first)
    }

    /// Adds to a URL's importance, and to its in-links those that were not met before. Returns its importance before, unless
    /// it is new here, and what is known now.
    pub fn pay(
        &mut self,
        url: u64,
        hash: u64,
        amount: f32,
        new_links: u32,
        forgotten: &mut u64,
    ) -> (Option<f32>, Known) {
        let (at, is_new) = self.place(url, hash, forgotten);
        let slot = &mut self.slots[at];
        let before = if is_new { None } else { Some(slot.importance) };
        slot.importance += amount;
        slot.links += new_links.min(MAX_IN_LINKS - (slot.links & MAX_IN_LINKS));
        if slot.is_fetched() {
            self.unspent[at] += amount;
        }
        (before, slot.known())
    }

    /// What a fetched page has not handed on, and its importance.
    pub fn unspent(&self, url: u64, hash: u64) -> Option<(f32, f32)> {
        if self.slots.is_empty() {
            return None;
        }
        let at = self.find(url, hash);
        let slot = &self.slots[at];
        (slot.is_used() && slot.is_fetched()).then(|| (self.unspent[at], slot.importance))
    }

    fn find(&self, url: u64, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].is_used() && self.slots[at].url != url {
            at = (at + 1) & mask;
        }
        at
    }

    fn make_room(&mut self, forgotten: &mut u64) {
        if self.slots.len() < self.most_slots {
            let bigger = (self.slots.len() * 2).max(FIRST_SLOTS);
            self.rebuild(bigger, |_| true);
            return;
        }
        let before = self.used;
        let keep = self.slots.len() * 5 / 8;
        let mut waiting: Vec<f32> =
            self.slots.iter().filter(|s| s.is_used() && !s.is_fetched()).map(|s| s.importance).collect();
        if waiting.len() <= keep {
            self.rebuild(self.slots.len(), |slot| !slot.is_fetched());
        } else {
            let cut = waiting.len() - keep;
            let (_, least, above) = waiting.select_nth_unstable_by(cut, f32::total_cmp);
            // Of those worth exactly as much as the cut, as many stay as there is room for: from all over the table, or its
            // front would fill up and probes there grow long.
            let least = *least;
            let room = keep - above.iter().filter(|worth| **worth > least).count();
            let ties = waiting.iter().filter(|worth| **worth == least).count();
            let mut credit = 0;
            self.rebuild(self.slots.len(), |slot| {
                if slot.is_fetched() || slot.importance != least {
                    return !slot.is_fetched() && slot.importance > least;
                }
                credit += room;
                let stays = credit >= ties;
                credit -= if stays { ties } else { 0 };
                stays
            });
        }
        *forgotten += (before - self.used) as u64;
    }

    fn rebuild(&mut self, slots: usize, mut keep: impl FnMut(&Slot) -> bool) {
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); slots]);
        let old_unspent = std::mem::replace(&mut self.unspent, vec![0.0; slots]);
        self.used = 0;
        for (slot, unspent) in old.into_iter().zip(old_unspent) {
            if slot.is_used() && keep(&slot) {
                let at = self.find(slot.url, hash(slot.url, self.seed));
                (self.slots[at], self.unspent[at]) = (slot, unspent);
                self.used += 1;
            }
        }
    }
}
