//! The words that tell what the numbers beside them are: times, counts of visits, the making of the page, prices, stock.
//!
//! A list that lacks a word makes a change news that is none. A list with a word too many hides news. So the lists of
//! what can be noise are short and plain, and [`NEWS`] takes back what a word of them may have said. Words are in small
//! letters and at most [`LONGEST`] bytes long; letters beyond ASCII stand in both cases where a line can begin with them.

mod watched;

pub(crate) use watched::{MEASURES, NEWS};

/// Bytes of the longest word.
pub(crate) const LONGEST: usize = 15;

/// Months: the names of January, of February and so on.
pub(crate) const MONTHS: [&[&str]; 12] = [
    &[
        "january", "jan", "januar", "jän", "jänner", "janvier", "janv", "enero", "ene", "gennaio", "januari",
        "janeiro",
    ],
    &["february", "feb", "februar", "février", "févr", "febrero", "febbraio", "februari", "fevereiro"],
    &["march", "mar", "märz", "mär", "mars", "marzo", "maart", "mrt", "março"],
    &["april", "apr", "avril", "avr", "abril", "abr", "aprile"],
    &["may", "mai", "mayo", "maggio", "mei", "maio"],
    &["june", "jun", "juni", "juin", "junio", "giugno", "giu", "junho"],
    &["july", "jul", "juli", "juillet", "juil", "julio", "luglio", "lug", "julho"],
    &["august", "aug", "août", "agosto", "augustus", "agosto"],
    &["september", "sep", "sept", "septembre", "septiembre", "settembre", "setembro"],
    &["october", "oct", "oktober", "okt", "octobre", "octubre", "ottobre", "ott", "outubro"],
    &["november", "nov", "novembre", "noviembre", "novembro"],
    &["december", "dec", "dezember", "dez", "décembre", "déc", "diciembre", "dic", "dicembre", "dezembro"],
];

/// Days of the week; cut to any length from three letters on.
pub(crate) const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
pub(crate) const OTHER_DAYS: [&str; 35] = [
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonnabend",
    "sonntag",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "samedi",
    "dimanche",
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "sábado",
    "domingo",
    "lunedì",
    "martedì",
    "mercoledì",
    "giovedì",
    "venerdì",
    "sabato",
    "domenica",
    "maandag",
    "dinsdag",
    "woensdag",
    "donderdag",
    "vrijdag",
    "zaterdag",
];

/// Units of time, and the minutes each of them has; 0 for seconds.
pub(crate) const UNITS: [(u32, &[&str]); 7] = [
    (
        0,
        &[
            "s", "ms", "sec", "secs", "second", "seconds", "sek", "sekunde", "sekunden", "seconde",
            "secondes", "segundo", "segundos", "secondo", "secondi", "seconden", "µs",
        ],
    ),
    (1, &["min", "mins", "minute", "minutes", "minuten", "minuto", "minutos", "minuti", "minuut"]),
    (
        60,
        &[
            "h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden", "heure", "heures", "hora",
            "horas", "ora", "ore", "uur",
        ],
    ),
    (
        1440,
        &[
            "day", "days", "tag", "tage", "tagen", "jour", "jours", "día", "días", "dia", "dias", "giorno",
            "giorni", "dag", "dagen",
        ],
    ),
    (
        10_080,
        &[
            "week",
            "weeks",
            "woche",
            "wochen",
            "semaine",
            "semaines",
            "semana",
            "semanas",
            "settimana",
            "settimane",
            "weken",
        ],
    ),
    (
        43_200,
        &[
            "month", "months", "monat", "monate", "monaten", "mois", "mes", "meses", "mese", "mesi", "maand",
            "maanden",
        ],
    ),
    (
        525_600,
        &[
            "year", "years", "jahr", "jahre", "jahren", "an", "ans", "année", "années", "año", "años",
            "anno", "anni", "jaar",
        ],
    ),
];

/// What stands beside a time of day or a date and is masked with it.
pub(crate) const OTHER_TIMES: [&str; 9] = ["am", "pm", "utc", "gmt", "cet", "cest", "a", "an", "uhr"];

/// How often something was looked at.
pub(crate) const COUNTERS: [&str; 53] = [
    "view",
    "views",
    "viewed",
    "pageviews",
    "visits",
    "visitor",
    "visitors",
    "hits",
    "online",
    "counter",
    "likes",
    "followers",
    "subscribers",
    "downloads",
    "reads",
    "queries",
    "impressions",
    "aufrufe",
    "aufgerufen",
    "besucher",
    "besuche",
    "zugriffe",
    "seitenaufrufe",
    "klicks",
    "gelesen",
    "gefällt",
    "abfragen",
    "angesehen",
    "vues",
    "vue",
    "visites",
    "visiteurs",
    "visiteur",
    "consulté",
    "consultée",
    "requêtes",
    "affichages",
    "visitas",
    "visitantes",
    "visto",
    "vistas",
    "leído",
    "visualizzazioni",
    "visitatori",
    "visualizzato",
    "letto",
    "visualizações",
    "weergaven",
    "bezoekers",
    "bekeken",
    "keer",
    "gezien",
    "wyświetleń",
];

/// Made or changed at a time: what says when this page was.
pub(crate) const MADE: [&str; 46] = [
    "generated",
    "rendered",
    "served",
    "updated",
    "modified",
    "edited",
    "retrieved",
    "built",
    "revised",
    "refreshed",
    "cached",
    "uptime",
    "generiert",
    "erzeugt",
    "aktualisiert",
    "geändert",
    "aktualisierung",
    "änderung",
    "abgerufen",
    "erstellt",
    "bearbeitet",
    "généré",
    "générée",
    "modifié",
    "modifiée",
    "actualisé",
    "actualisée",
    "modification",
    "jour",
    "generado",
    "generada",
    "actualizado",
    "actualizada",
    "actualización",
    "modificado",
    "modificada",
    "modificación",
    "generato",
    "generata",
    "aggiornato",
    "aggiornata",
    "aggiornamento",
    "modifica",
    "bijgewerkt",
    "gewijzigd",
    "gegenereerd",
];

/// Of this moment; says less than [`MADE`].
pub(crate) const NOW: [&str; 21] = [
    "now",
    "today",
    "current",
    "currently",
    "heute",
    "jetzt",
    "aktuell",
    "aktuelle",
    "maintenant",
    "aujourd'hui",
    "actuelle",
    "hoy",
    "ahora",
    "actual",
    "oggi",
    "adesso",
    "attuale",
    "vandaag",
    "nu",
    "clock",
    "localtime",
];

/// What stands between such words and their dates.
pub(crate) const BETWEEN: [&str; 58] = [
    "published",
    "posted",
    "created",
    "changed",
    "last",
    "date",
    "time",
    "on",
    "at",
    "by",
    "the",
    "of",
    "as",
    "in",
    "page",
    "this",
    "was",
    "is",
    "it",
    "from",
    "zuletzt",
    "letzte",
    "am",
    "um",
    "der",
    "die",
    "das",
    "diese",
    "seite",
    "wurde",
    "vom",
    "zeit",
    "datum",
    "es",
    "ist",
    "dernière",
    "mise",
    "à",
    "le",
    "la",
    "cette",
    "heure",
    "il",
    "est",
    "última",
    "el",
    "hora",
    "fecha",
    "página",
    "esta",
    "ultimo",
    "ultima",
    "pagina",
    "questa",
    "alle",
    "laatst",
    "op",
    "local",
];

/// Behind, or in front of, a time that has passed.
pub(crate) const AGO: [&str; 13] = [
    "ago",
    "vor",
    "hace",
    "fa",
    "geleden",
    "sedan",
    "siden",
    "назад",
    "temu",
    "önce",
    "há",
    "sitten",
    "înainte",
];

pub(crate) const COPYRIGHT: [&str; 4] = ["copyright", "©", "(c)", "(©)"];

/// Names of what is made for one request.
pub(crate) const REQUEST: [&str; 8] =
    ["request", "session", "nonce", "csrf", "trace", "ray", "correlation", "token"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_longer_than_a_look_up_holds() {
        let lists: [&[&str]; 11] = [
            &COUNTERS,
            &MADE,
            &NOW,
            &BETWEEN,
            &AGO,
            &COPYRIGHT,
            &REQUEST,
            &MEASURES,
            &NEWS,
            &OTHER_DAYS,
            &OTHER_TIMES,
        ];
        let months = MONTHS.iter().flat_map(|names| names.iter());
        let units = UNITS.iter().flat_map(|(_, names)| names.iter());
        for word in lists.iter().flat_map(|list| list.iter()).chain(months).chain(units) {
            assert!(word.len() <= LONGEST, "{word}");
            assert_eq!(word.to_ascii_lowercase(), **word);
        }
    }
}
