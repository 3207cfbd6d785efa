//! Changes that are news.

use super::{Kind, everywhere as e, kind as k};

pub const NEWS: [Kind; 44] = [
    k(
        "price",
        [
            "<p>Price: €{p}</p>",
            "<p>Preis: {p} €</p>",
            "<p>Prix : {p} €</p>",
            "<p>Precio: {p} €</p>",
            "<p>Prezzo: {p} €</p>",
        ],
    ),
    e("price alone", "<p class=price>€{p}</p>"),
    e("price without a currency", "<p><b>{p}</b></p>"),
    e("price in dollars", "<div><span>$ </span><span>{p}</span></div>"),
    k(
        "stock",
        [
            "<p>{v} in stock</p>",
            "<p>Noch {v} auf Lager</p>",
            "<p>{v} en stock</p>",
            "<p>Quedan {v} unidades</p>",
            "<p>{v} disponibili</p>",
        ],
    ),
    k(
        "sold out",
        [
            "<p>{a|In stock|Sold out}</p>",
            "<p>{a|Auf Lager|Ausverkauft}</p>",
            "<p>{a|En stock|Épuisé}</p>",
            "<p>{a|En existencias|Agotado}</p>",
            "<p>{a|Disponibile|Esaurito}</p>",
        ],
    ),
    k(
        "seats left",
        [
            "<p>{v} seats left</p>",
            "<p>{v} freie Plätze</p>",
            "<p>{v} places libres</p>",
            "<p>{v} plazas libres</p>",
            "<p>{v} posti liberi</p>",
        ],
    ),
    e("score", "<p>{o} {v}:{n}</p>"),
    e("score with a dash", "<p>{o} – {w}x {v} - 2</p>"),
    e("score in a cell", "<table><tr><td>{o}<td>{v}:1</table>"),
    e("points in a cell", "<table><tr><td>{o}<td>{v}<td>{n}</table>"),
    e("rates", "<table><tr><th>USD<td>{f}<tr><th>GBP<td>{n}.12</table>"),
    e("rate in per cent", "<p>{o}: {f} %</p>"),
    k(
        "interest",
        [
            "<p>Interest rate {f}%</p>",
            "<p>Zinssatz {f}%</p>",
            "<p>Taux d'intérêt {f}%</p>",
            "<p>Tipo de interés {f}%</p>",
            "<p>Tasso d'interesse {f}%</p>",
        ],
    ),
    e("share price", "<p>{o} {f} (+1.2)</p>"),
    k(
        "temperature",
        [
            "<p>Today: {v} °C</p>",
            "<p>Heute: {v} °C</p>",
            "<p>Aujourd'hui : {v} °C</p>",
            "<p>Hoy: {v} °C</p>",
            "<p>Oggi: {v} °C</p>",
        ],
    ),
    k(
        "wind",
        [
            "<p>Wind {v} km/h</p>",
            "<p>Wind {v} km/h</p>",
            "<p>Vent {v} km/h</p>",
            "<p>Viento {v} km/h</p>",
            "<p>Vento {v} km/h</p>",
        ],
    ),
    e("weather table", "<table><tr><td>Mo<td>{v}°<tr><td>Di<td>{n}°</table>"),
    k(
        "deadline",
        [
            "<p>Apply by {d}</p>",
            "<p>Bewerbungsfrist: {e}</p>",
            "<p>Date limite : {e}</p>",
            "<p>Plazo hasta el {e}</p>",
            "<p>Scadenza: {e}</p>",
        ],
    ),
    k(
        "deadline in a heading",
        [
            "<h2>Deadline {d}</h2>",
            "<h2>Frist {e}</h2>",
            "<h2>Limite {e}</h2>",
            "<h2>Plazo {e}</h2>",
            "<h2>Scadenza {e}</h2>",
        ],
    ),
    k(
        "date of an event",
        [
            "<p>Concert on {d} at {t}</p>",
            "<p>Konzert am {e} um {t} Uhr</p>",
            "<p>Concert le {e} à {t}</p>",
            "<p>Concierto el {e} a las {t}</p>",
            "<p>Concerto il {e} alle {t}</p>",
        ],
    ),
    e("date in a cell", "<table><tr><td>{o}<td>{d}</table>"),
    k(
        "hours",
        [
            "<p>Mon-Fri {v}:00-17:00</p>",
            "<p>Mo-Fr {v}:00-17:00 Uhr</p>",
            "<p>Lun-ven {v}:00-17:00</p>",
            "<p>Lun-vie {v}:00-17:00</p>",
            "<p>Lun-ven {v}:00-17:00</p>",
        ],
    ),
    e("hours in a cell", "<table><tr><td>Mo<td>{t}–18:00</table>"),
    k(
        "opens at",
        [
            "<p>Opens at {t}</p>",
            "<p>Öffnet um {t} Uhr</p>",
            "<p>Ouvre à {t}</p>",
            "<p>Abre a las {t}</p>",
            "<p>Apre alle {t}</p>",
        ],
    ),
    k(
        "departure",
        [
            "<p>Departure {t}</p>",
            "<p>Abfahrt {t}</p>",
            "<p>Départ {t}</p>",
            "<p>Salida {t}</p>",
            "<p>Partenza {t}</p>",
        ],
    ),
    e("time in a cell", "<table><tr><td>{o}<td>{t}</table>"),
    k(
        "phone",
        [
            "<p>Phone: 555 {n} {v}{v}</p>",
            "<p>Telefon: 030 {n} {v}{v}</p>",
            "<p>Tél. : 01 {n} {v}{v}</p>",
            "<p>Teléfono: 91 {n} {v}{v}</p>",
            "<p>Telefono: 06 {n} {v}{v}</p>",
        ],
    ),
    e("phone alone", "<p>+49 30 {n}{v}{v}</p>"),
    e("mail address", "<p>{w}@{o}.example</p>"),
    e("address", "<p>{o} {v}, 10{n} {o}</p>"),
    k(
        "law",
        [
            "<p>Section {n} (2): The fine is at least {v} units.</p>",
            "<p>§ {n} Absatz 2: Die Strafe beträgt mindestens {v} Tagessätze.</p>",
            "<p>Article {n}-2 : l'amende est d'au moins {v} unités.</p>",
            "<p>Artículo {n}.2: la multa es de al menos {v} unidades.</p>",
            "<p>Articolo {n}, 2: la multa è di almeno {v} unità.</p>",
        ],
    ),
    k(
        "in force from",
        [
            "<p>In force from {d}</p>",
            "<p>In Kraft ab {e}</p>",
            "<p>En vigueur le {e}</p>",
            "<p>En vigor desde {e}</p>",
            "<p>In vigore dal {e}</p>",
        ],
    ),
    e("list of links", "<ul><li><a href=/l{n}>{o}</a><li><a href=/l{v}x>{w}</a></ul>"),
    e("table of results", "<table><tr><td>1<td>{w}<td>{v}<tr><td>2<td>{o}<td>{n}</table>"),
    e("a word in a paragraph", "<p>{o} {o} {w} {o} {o}</p>"),
    k(
        "a sentence",
        [
            "<p>The council has decided about the {w} today.</p>",
            "<p>Der Rat hat über {w} entschieden.</p>",
            "<p>Le conseil a décidé de {w}.</p>",
            "<p>El consejo decidió sobre {w}.</p>",
            "<p>Il consiglio ha deciso su {w}.</p>",
        ],
    ),
    e("a heading", "<h2>{w}</h2>"),
    k(
        "version of a product",
        [
            "<p>Firmware {v}.{n} is out</p>",
            "<p>Firmware {v}.{n} ist da</p>",
            "<p>Micrologiciel {v}.{n}</p>",
            "<p>Firmware {v}.{n}</p>",
            "<p>Firmware {v}.{n}</p>",
        ],
    ),
    k(
        "weight",
        [
            "<p>Weight: {v} kg</p>",
            "<p>Gewicht: {v} kg</p>",
            "<p>Poids : {v} kg</p>",
            "<p>Peso: {v} kg</p>",
            "<p>Peso: {v} kg</p>",
        ],
    ),
    k(
        "delivery",
        [
            "<p>Delivery in {v} days</p>",
            "<p>Lieferung in {v} Tagen</p>",
            "<p>Livraison en {v} jours</p>",
            "<p>Entrega en {v} días</p>",
            "<p>Consegna in {v} giorni</p>",
        ],
    ),
    e("checksum", "<p>SHA256: {x}</p>"),
    k(
        "cases",
        [
            "<p>{v} new cases reported</p>",
            "<p>{v} neue Fälle gemeldet</p>",
            "<p>{v} nouveaux cas</p>",
            "<p>{v} nuevos casos</p>",
            "<p>{v} nuovi casi</p>",
        ],
    ),
    e("reordered ranking", "<ol><li>{a|one|two} {o}<li>{a|two|one} {o}</ol>"),
];
