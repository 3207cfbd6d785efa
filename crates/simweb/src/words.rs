//! Vocabularies: per language a table of words, drawn with falling frequency.
//!
//! Promise: a draw is one table look-up and one copy of at most 31 bytes; the tables fit the first-level cache.

use crate::rng::{Rng, below, mix};

/// A language of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lang {
    En,
    De,
    Fr,
    Es,
    Ru,
    Ja,
    Ar,
}

impl Lang {
    pub const ALL: [Lang; 7] = [Lang::En, Lang::De, Lang::Fr, Lang::Es, Lang::Ru, Lang::Ja, Lang::Ar];

    pub fn code(self) -> &'static str {
        ["en", "de", "fr", "es", "ru", "ja", "ar"][self as usize]
    }

    fn table(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Lang::En => (EN_SMALL, EN, &["s", "ing", "ed", "er", "ly", "less", "ship"]),
            Lang::De => (DE_SMALL, DE, &["en", "er", "ung", "lich", "keit", "los", "chen"]),
            Lang::Fr => (FR_SMALL, FR, &["s", "ment", "age", "eur", "ique", "ette", "ier"]),
            Lang::Es => (ES_SMALL, ES, &["s", "mente", "ero", "ción", "ito", "ista", "dor"]),
            Lang::Ru => (RU_SMALL, RU, &["ы", "ом", "ский", "ник", "ность", "ами", "ка"]),
            Lang::Ja => (JA_SMALL, JA, &["的", "者", "化", "性", "会", "学", "部"]),
            Lang::Ar => (AR_SMALL, AR, &["ات", "ون", "ية", "ين", "ها", "نا", "ي"]),
        }
    }
}

const EN_SMALL: &str = "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many";
const EN: &str = "river garden market winter harbour letter window castle forest journal kitchen village silver mountain station bridge theatre doctor engine library captain painter season shadow morning evening country island meadow orchard tower valley weather candle carpet cotton desert dinner farmer feather finger flower friend hammer harvest honey hunter jacket ladder lantern leather lemon marble mirror mustard needle ocean paper parcel pepper pocket pottery rabbit ribbon saddle sailor salmon school singer spider spring stable summer tailor teacher temple thunder timber tunnel velvet violin wagon walnut wheel whistle wisdom archive ballad beacon border canvas cargo census charter climate copper council courier dialect ferry festival foundry gallery glacier granite guild hamlet herald hedge ink inn ivory junction kiln ledger linen lodge manor mason merchant mill mineral museum nomad oak orbit parish pasture pilgrim pier plough port quarry quartz quill rail reef ridge root rope sail scholar shepherd signal slate smith spice stream sugar survey tide trade trail treaty vessel vine voyage weaver wharf wheat wool yard";
const DE_SMALL: &str = "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde sei";
const DE: &str = "Fluss Garten Markt Winter Hafen Brief Fenster Burg Wald Küche Dorf Silber Gebirge Bahnhof Brücke Bühne Arzt Maschine Bücherei Maler Schatten Morgen Abend Insel Wiese Turm Tal Wetter Kerze Teppich Wüste Bauer Feder Finger Blume Freund Hammer Ernte Honig Jäger Jacke Leiter Laterne Leder Zitrone Spiegel Nadel Papier Pfeffer Tasche Band Sattel Lachs Schule Sänger Spinne Frühling Sommer Schneider Lehrer Tempel Donner Tunnel Samt Geige Wagen Rad Pfeife Weisheit Grenze Ladung Klima Kupfer Rat Fähre Fest Gletscher Granit Zunft Hecke Tinte Elfenbein Kreuzung Leinen Kaufmann Mühle Museum Eiche Pfarre Weide Pilger Pflug Quarz Gleis Grat Wurzel Seil Segel Hirte Schiefer Schmied Gewürz Bach Zucker Gezeiten Handel Pfad Vertrag Gefäß Rebe Reise Weber Weizen Wolle Hof Straße Größe Mädchen Übung Äpfel Öl";
const FR_SMALL: &str = "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son il ou aux mais comme elle nous tout bien sans leur deux même être fait cette ces où très aussi entre peu encore après";
const FR: &str = "rivière jardin marché hiver port lettre fenêtre château forêt cuisine village argent montagne gare pont théâtre médecin moteur livre peintre saison ombre matin soir pays île prairie verger tour vallée temps bougie tapis coton désert fermier plume doigt fleur ami marteau récolte miel chasseur veste échelle lanterne cuir citron miroir aiguille papier colis poivre poche poterie lapin ruban selle marin saumon école chanteur araignée printemps été tailleur maître temple tonnerre tunnel velours violon roue sifflet sagesse frontière toile cargaison climat cuivre conseil courrier dialecte fête galerie glacier granit hameau haie encre auberge ivoire lin maçon marchand moulin musée chêne orbite paroisse pâturage pèlerin charrue carrière quartz récif crête racine corde voile berger signal ardoise forgeron épice ruisseau sucre marée commerce sentier traité vigne voyage quai blé laine cour garçon façade forêt élève";
const ES_SMALL: &str = "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque qué sólo";
const ES: &str = "río jardín mercado invierno puerto carta ventana castillo bosque cocina pueblo plata montaña estación puente teatro médico motor biblioteca pintor sombra mañana tarde país isla prado huerto torre valle tiempo vela alfombra algodón desierto granjero pluma dedo flor amigo martillo cosecha miel cazador chaqueta escalera linterna cuero limón espejo aguja papel paquete pimienta bolsillo conejo cinta marinero salmón escuela cantante araña primavera verano sastre maestro templo trueno túnel terciopelo violín rueda silbato sabiduría frontera lienzo carga clima cobre consejo correo dialecto fiesta galería glaciar granito aldea seto tinta posada marfil lino albañil mercader molino museo roble órbita parroquia pasto peregrino arado cantera cuarzo arrecife cresta raíz cuerda pastor señal pizarra herrero especia arroyo azúcar marea comercio sendero tratado viña viaje muelle trigo lana patio niño año";
const RU_SMALL: &str = "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой от так о для же как бы ты до мочь вы один тот если уже или ещё только когда сам наш где нет под";
const RU: &str = "река сад рынок зима порт письмо окно замок лес кухня село серебро гора вокзал мост театр врач мотор книга художник тень утро вечер страна остров луг башня долина погода свеча ковёр хлопок пустыня фермер перо палец цветок друг молот урожай мёд охотник куртка лестница фонарь кожа лимон зеркало игла бумага посылка перец карман кролик лента седло моряк лосось школа певец паук весна лето портной учитель храм гром тоннель бархат скрипка колесо мудрость граница холст груз климат медь совет курьер диалект паром праздник галерея ледник гранит изгородь чернила лён купец мельница музей дуб орбита приход пастбище паломник плуг карьер кварц риф хребет корень верёвка парус пастух сигнал сланец кузнец пряность ручей сахар прилив торговля тропа договор сосуд лоза пшеница шерсть двор";
const JA_SMALL: &str = "の に は を た が で て と し れ さ ある いる も する から な こと として い や など なっ ない この ため その あっ よう また もの という あり まで られ なる へ か だ これ によって により おり より による";
const JA: &str = "川 庭 市場 冬 港 手紙 窓 城 森 台所 村 銀 山 駅 橋 劇場 医者 機械 図書館 画家 季節 影 朝 夕方 国 島 草原 果樹園 塔 谷 天気 蝋燭 絨毯 綿 砂漠 農夫 羽 指 花 友人 槌 収穫 蜂蜜 猟師 上着 梯子 提灯 革 檸檬 鏡 針 紙 小包 胡椒 陶器 兎 鞍 船員 鮭 学校 歌手 蜘蛛 春 夏 先生 寺院 雷 材木 隧道 車輪 口笛 知恵 国境 帆布 貨物 気候 銅 評議 方言 祭り 画廊 氷河 花崗岩 垣根 墨 宿 象牙 商人 水車 博物館 軌道 牧場 巡礼 石英 尾根 根 綱 帆 羊飼い 信号 鍛冶 香辛料 小川 砂糖 潮 貿易 小道 条約 航海 埠頭 小麦 羊毛 データ サービス ページ";
const AR_SMALL: &str = "في من على أن إلى التي عن لا ما هذا هذه كان الذي مع كل هو بعد قد بين أو لم كما قبل ذلك حيث عند إن حتى ثم هي منذ غير أي لكن عام يوم خلال";
const AR: &str = "نهر حديقة سوق شتاء ميناء رسالة نافذة قلعة غابة مطبخ قرية فضة جبل محطة جسر مسرح طبيب محرك مكتبة رسام موسم ظل صباح مساء بلد جزيرة مرج بستان برج وادي طقس شمعة سجادة قطن صحراء مزارع ريشة إصبع زهرة صديق مطرقة حصاد عسل صياد سترة سلم فانوس جلد ليمون مرآة إبرة ورق طرد فلفل جيب فخار أرنب شريط سرج بحار مدرسة مغني عنكبوت ربيع صيف خياط معلم معبد رعد نفق مخمل كمان عجلة صافرة حكمة حدود قماش حمولة مناخ نحاس مجلس لهجة عبارة مهرجان معرض نهر جليد سياج حبر عاج كتان تاجر طاحونة متحف بلوط مدار مرعى حاج محراث محجر شعاب قمة جذر حبل شراع راعي إشارة حداد توابل جدول سكر مد تجارة درب معاهدة سفينة كرمة رحلة رصيف قمح صوف ساحة";

const SLOTS: usize = 4096;
const WORDS: usize = 1000;
const WIDTH: usize = 31;

#[derive(Clone, Copy)]
struct Word {
    bytes: [u8; WIDTH],
    len: u8,
}

impl Word {
    fn new(text: &str, space: bool) -> Option<Self> {
        let mut bytes = [0; WIDTH];
        let full = text.len() + usize::from(space);
        if full > WIDTH {
            return None;
        }
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        if space {
            bytes[text.len()] = b' ';
        }
        Some(Self { bytes, len: full as u8 })
    }

    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes);
        let spare = WIDTH - usize::from(self.len);
        out.truncate(out.len() - spare);
    }
}

/// One language, ready for writing.
pub struct Lexicon {
    lang: Lang,
    words: Vec<Word>,
    capitals: Vec<Word>,
    slots: Vec<u16>,
    /// Where content words start: what stands before carries no topic.
    content: u32,
    comma: &'static str,
    stop: &'static str,
}

/// Topics partition the content words; a host has one and its pages lean towards it.
pub const TOPICS: u32 = 16;
const TOPIC_WORDS: u32 = 24;

impl Lexicon {
    pub fn new(lang: Lang) -> Self {
        let (small, base, suffixes) = lang.table();
        let space = lang != Lang::Ja;
        let mut texts: Vec<String> = Vec::with_capacity(WORDS);
        texts.extend(small.split_whitespace().map(str::to_owned));
        let content = texts.len() as u32;
        texts.extend(base.split_whitespace().map(str::to_owned));
        for suffix in suffixes {
            texts.extend(base.split_whitespace().map(|w| format!("{w}{suffix}")));
        }
        texts.truncate(WORDS);
        let words: Vec<Word> = texts.iter().filter_map(|t| Word::new(t, space)).collect();
        let capitals = texts.iter().filter_map(|t| Word::new(&capital(t), space)).collect();
        let (comma, stop) = match lang {
            Lang::Ja => ("、", "。"),
            Lang::Ar => ("، ", ". "),
            _ => (", ", ". "),
        };
        Self { lang, slots: frequency_slots(words.len()), words, capitals, content, comma, stop }
    }

    pub fn lang(&self) -> Lang {
        self.lang
    }

    /// One sentence, whose words follow from `key` and lean towards `topic`.
    pub fn sentence(&self, out: &mut Vec<u8>, key: u64, topic: u32) {
        let mut rng = Rng::new(key);
        let shape = rng.word();
        let count = 7 + (shape & 15) as usize;
        let comma_at = ((shape >> 4) & 31) as usize;
        let topic_at = 1 + ((shape >> 9) & 3) as usize;
        let mut bits = 0;
        for i in 0..count {
            if i % 5 == 0 {
                bits = rng.word();
            }
            let slot = (bits & 0xFFF) as usize;
            bits >>= 12;
            let index = if i == topic_at { self.topic_word(topic, shape >> 16) } else { self.slots[slot] };
            let table = if i == 0 { &self.capitals } else { &self.words };
            if let Some(word) = table.get(usize::from(index)) {
                word.put(out);
            }
            if i == comma_at && i + 1 < count {
                trim_space(out);
                out.extend_from_slice(self.comma.as_bytes());
            }
        }
        trim_space(out);
        out.extend_from_slice(self.stop.as_bytes());
    }

    /// A few content words without punctuation: a title or an anchor.
    pub fn phrase(&self, out: &mut Vec<u8>, key: u64, count: u32) {
        let mut rng = Rng::new(key);
        for i in 0..count {
            let index = self.content + below(rng.word(), self.words.len() as u32 - self.content);
            let table = if i == 0 { &self.capitals } else { &self.words };
            if let Some(word) = table.get(index as usize) {
                word.put(out);
            }
        }
        trim_space(out);
    }

    /// The content words of a topic, as text.
    pub fn topic_words(&self, topic: u32) -> Vec<String> {
        (0..TOPIC_WORDS)
            .filter_map(|k| self.words.get((self.content + self.topic_start(topic) + k) as usize))
            .map(|w| String::from_utf8_lossy(&w.bytes[..usize::from(w.len)]).trim().to_owned())
            .collect()
    }

    fn topic_start(&self, topic: u32) -> u32 {
        let room = self.words.len() as u32 - self.content - TOPIC_WORDS;
        (topic % TOPICS) * (room / TOPICS)
    }

    #[inline]
    fn topic_word(&self, topic: u32, bits: u64) -> u16 {
        (self.content + self.topic_start(topic) + (bits & 0xFFFF) as u32 % TOPIC_WORDS) as u16
    }
}

#[inline]
fn trim_space(out: &mut Vec<u8>) {
    if out.last() == Some(&b' ') {
        out.pop();
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// 4096 slots shared out by 1/(rank + 6); the rare words share what rounding leaves, drawn by hash.
fn frequency_slots(words: usize) -> Vec<u16> {
    let total: u64 = (0..words as u64).map(|r| (1 << 30) / (r + 6)).sum();
    let mut slots = Vec::with_capacity(SLOTS);
    for rank in 0..words as u64 {
        let share = ((1u64 << 30) / (rank + 6)) * (SLOTS as u64 * 3 / 4) / total;
        slots.extend(std::iter::repeat_n(rank as u16, share as usize));
    }
    while slots.len() < SLOTS {
        slots.push(below(mix(0x5107, slots.len() as u64), words as u32) as u16);
    }
    slots.truncate(SLOTS);
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_writes_valid_sentences_in_its_charset() {
        for lang in Lang::ALL {
            let lexicon = Lexicon::new(lang);
            assert!(lexicon.words.len() >= 400, "{lang:?} has {} words", lexicon.words.len());
            let encoding = match lang {
                Lang::Ru => encoding_rs::WINDOWS_1251,
                Lang::Ja => encoding_rs::SHIFT_JIS,
                Lang::Ar => encoding_rs::WINDOWS_1256,
                _ => encoding_rs::WINDOWS_1252,
            };
            let mut out = Vec::new();
            for key in 0..300 {
                lexicon.sentence(&mut out, mix(9, key), key as u32 % TOPICS);
                lexicon.phrase(&mut out, mix(10, key), 3);
            }
            let text = String::from_utf8(out).unwrap();
            let (_, _, lossy) = encoding.encode(&text);
            assert!(!lossy, "{lang:?} has characters outside its legacy charset");
        }
    }

    #[test]
    fn frequent_words_come_first() {
        let slots = frequency_slots(1000);
        assert_eq!(slots.len(), SLOTS);
        let head = slots.iter().filter(|&&s| s < 20).count();
        assert!(head > SLOTS / 6 && head < SLOTS / 2, "{head}");
    }
}
