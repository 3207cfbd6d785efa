//! The HTTP/2 connections of one fetcher: which are open, and which may be closed. How many there may be is the pool's
//! to say: each holds one of its slots.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use lycosa_types::HostKey;
use tokio::time::Instant;

use crate::http2::Session;

/// The sessions of one fetcher, at most one per origin.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_origin: RefCell<HashMap<HostKey, Rc<Session>>>,
}

impl Sessions {
    /// A session that can take one more request.
    pub fn get(&self, origin: &str) -> Option<Rc<Session>> {
        let sessions = self.by_origin.borrow();
        let session = sessions.get(&HostKey::of(origin))?;
        (session.origin() == origin && session.has_room()).then(|| Rc::clone(session))
    }

    pub fn put(&self, session: &Rc<Session>) {
        let key = HostKey::of(session.origin());
        self.by_origin.borrow_mut().insert(key, Rc::clone(session));
    }

    /// Forgets a session that failed; requests still under way on it keep it open.
    pub fn remove(&self, session: &Rc<Session>) {
        let mut sessions = self.by_origin.borrow_mut();
        let key = HostKey::of(session.origin());
        if sessions.get(&key).is_some_and(|own| Rc::ptr_eq(own, session)) {
            sessions.remove(&key);
        }
    }

    /// Forgets a session whose last request is over.
    pub fn remove_idle(&self, session: &Rc<Session>) {
        if session.is_idle() {
            self.remove(session);
        }
    }

    /// Closes the session that was idle longest. False if all are busy.
    pub fn close_oldest(&self) -> bool {
        let mut sessions = self.by_origin.borrow_mut();
        let idle = sessions.iter().filter(|(_, session)| session.is_idle());
        let oldest = idle.min_by_key(|(_, session)| session.last_used());
        let Some(key) = oldest.map(|(key, _)| *key) else {
            return false;
        };
        sessions.remove(&key).is_some()
    }

    /// Closes sessions without a request since `before`.
    pub fn expire(&self, before: Instant) {
        self.by_origin.borrow_mut().retain(|_, session| !session.is_idle() || session.last_used() > before);
    }

    pub fn clear(&self) {
        self.by_origin.borrow_mut().clear();
    }
}
