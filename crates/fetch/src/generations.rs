//! A bounded map that forgets what was not used lately: two halves, the older of which is dropped when the younger is
//! full. Every operation is one or two hash lookups.

use std::{borrow::Borrow, collections::HashMap, hash::Hash, mem};

#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    half: usize,
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V> Generations<K, V> {
    /// A map that never holds more than `capacity` entries, and always at least the last half of that.
    pub fn new(capacity: usize) -> Self {
        Self { half: (capacity / 2).max(1), young: HashMap::new(), old: HashMap::new() }
    }

    pub fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if !self.young.contains_key(key) {
            let (key, value) = self.old.remove_entry(key)?;
            self.insert(key, value);
        }
        self.young.get_mut(key)
    }

    pub fn get<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.get_mut(key).map(|value| &*value)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_bounds_and_keeps_what_is_used() {
        let mut map = Generations::new(10);
        map.insert(0, 0);
        for key in 1..1_000 {
            map.insert(key, key);
            assert!(map.len() <= 10);
            assert_eq!(map.get(&0), Some(&0), "used all the time, so never forgotten");
        }
        assert_eq!(map.get(&1), None);
        assert_eq!(map.get(&999), Some(&999));
    }
}
