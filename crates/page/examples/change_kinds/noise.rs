//! Changes that are none, or stand around the content.

use super::{Kind, beside as b, everywhere as e, kind as k};

const RELATED: &str =
    "<div class=related><ul><li><a href=/r{v}>{w} {o}</a><li><a href=/s{v}>{o} {w}</a></ul></div>";
const NEWEST: &str =
    "<div class=recent-posts><ul><li><a href=/{q}>{q}</a><li><a href=/b>{n} {o}</a></ul></div>";
const CLOUD: &str =
    "<div class=tagcloud><a href=/t1>{w}</a> <a href=/t2>{o}</a> <a href=/t{v}>{w}s</a></div>";
const TEASER: &str = "<div class=teaser><a href=/z>{r}</a></div>";
const PROMO: &str = "<p><a href=/promo>{r}</a></p>";

pub const NOISE: [Kind; 26] = [
    k(
        "visit counter",
        [
            "<p>Views: {u}</p>",
            "<p>Aufrufe: {u}</p>",
            "<p>Vues : {u}</p>",
            "<p>Visitas: {u}</p>",
            "<p>Visualizzazioni: {u}</p>",
        ],
    ),
    k(
        "viewed n times",
        [
            "<p>This page was viewed {u} times</p>",
            "<p>Diese Seite wurde {u} mal aufgerufen</p>",
            "<p>Page consultée {u} fois</p>",
            "<p>Página visto {u} veces</p>",
            "<p>Pagina letto {u} volte</p>",
        ],
    ),
    k(
        "visitors",
        [
            "<p>{u} visitors</p>",
            "<p>{u} Besucher</p>",
            "<p>{u} visiteurs</p>",
            "<p>{u} visitantes</p>",
            "<p>{u} visitatori</p>",
        ],
    ),
    k(
        "online",
        [
            "<p>{v} users online</p>",
            "<p>{v} Besucher online</p>",
            "<p>{v} visiteurs en ligne</p>",
            "<p>{v} visitantes online</p>",
            "<p>{v} visitatori online</p>",
        ],
    ),
    k(
        "likes",
        [
            "<p>{u} likes</p>",
            "<p>Gefällt {u}</p>",
            "<p>{u} likes</p>",
            "<p>{u} likes</p>",
            "<p>{u} likes</p>",
        ],
    ),
    k(
        "generated at",
        [
            "<p>Page generated {d}T{t}:11Z in 0.{u} s</p>",
            "<p>Seite generiert am {e} um {t}</p>",
            "<p>Page générée le {e} à {t}</p>",
            "<p>Página generada el {e}</p>",
            "<p>Pagina generata il {e} alle {t}</p>",
        ],
    ),
    k(
        "generated in",
        [
            "<p>Page generated in {v} ms</p>",
            "<p>Seite generiert in {v} ms</p>",
            "<p>Page générée en {v} ms</p>",
            "<p>Página generada en {v} ms</p>",
            "<p>Pagina generata in {v} ms</p>",
        ],
    ),
    k(
        "updated",
        [
            "<p>Last updated: {d}</p>",
            "<p>Zuletzt aktualisiert: {e}</p>",
            "<p>Dernière mise à jour : {e}</p>",
            "<p>Última actualización: {e}</p>",
            "<p>Ultimo aggiornamento: {e}</p>",
        ],
    ),
    k(
        "time now",
        [
            "<p>Time now: {t}</p>",
            "<p>Es ist jetzt {t} Uhr</p>",
            "<p>Il est maintenant {t}</p>",
            "<p>Hora actual: {t}</p>",
            "<p>Adesso {t}</p>",
        ],
    ),
    k(
        "minutes ago",
        [
            "<p>{v} minutes ago</p>",
            "<p>vor {v} Minuten</p>",
            "<p>il y a {v} minutes</p>",
            "<p>hace {v} minutos</p>",
            "<p>{v} minuti fa</p>",
        ],
    ),
    k(
        "posted hours ago",
        [
            "<p>Posted {v} hours ago by Ann</p>",
            "<p>Ann schrieb vor {v} Stunden</p>",
            "<p>Publié il y a {v} heures</p>",
            "<p>Publicado hace {v} horas</p>",
            "<p>Scritto {v} ore fa</p>",
        ],
    ),
    k(
        "queries",
        [
            "<p>{v} queries in 0.{u} seconds</p>",
            "<p>{v} Abfragen in 0.{u} Sekunden</p>",
            "<p>{v} requêtes en 0.{u} secondes</p>",
            "<p>{v} queries in 0.{u} s</p>",
            "<p>{v} queries in 0.{u} s</p>",
        ],
    ),
    e("request id", "<p>Request id {x}</p>"),
    e("session id", "<p>Session: {x}</p>"),
    e("hidden token", "<form><input type=hidden name=csrf value={x}></form>"),
    e("script", "<script>var nonce = '{x}';</script>"),
    e("comment", "<!-- served by {w} in {v} ms -->"),
    e("class names", "<p class=css-{x}>text</p>"),
    e("session in a link", "<p><a href=\"/cart?sid={x}\">cart</a></p>"),
    e("advertisement", "<div class=ad>{w} {w} {v}</div>"),
    e("advertisement in a frame", "<div id=ad-slot><p>{w}</p><iframe src=/ad?{v}></iframe><p>{o}</p></div>"),
    b("related links", [RELATED; 5]),
    b("newest posts", [NEWEST; 5]),
    b("tag cloud", [CLOUD; 5]),
    b("rotating teaser", [TEASER; 5]),
    b("rotating promotion", [PROMO; 5]),
];
