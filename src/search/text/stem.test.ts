// Words and their stems, a group for each rule of each language. The whole vocabularies of Snowball are compared by `npm run stems`.
import { describe, expect, test } from "vitest";
import { stem, TEXT_LANGUAGES, type TextLanguage } from "./stem.ts";

type RuleCases = Readonly<Record<string, string>>;

const ENGLISH: RuleCases = {
  "words that are exceptions": `
    skis ski, skies sky, idly idl, gently gentl, ugly ugli, early earli, only onli, singly singl, sky sky,
    news news, howe howe, atlas atlas, cosmos cosmos, bias bias, andes andes`,
  "words of two letters, apostrophes and consonants y": `
    is is, 's 's, 'tis tis, dogs' dog, john's john, john's' john, don't don't, yes yes, yellow yellow,
    sayings say`,
  "step 1a: plurals": `
    caresses caress, ties tie, cries cri, gas gas, gaps gap, kiwis kiwi, bus bus, focus focus, pass pass`,
  "step 1b: ed, ing, eed": `
    agreed agre, agreedly agre, feed feed, proceed proceed, succeed succeed, luxuriated luxuri,
    troubled troubl, sized size, hopping hop, hoping hope, egged egg, adding add, falling fall, tanned tan,
    bed bed, dying die, lying lie, inning inning, evening evening, herring herring, outing outing,
    pasted paste, repeatedly repeat, charmingly charm`,
  "step 1c: final y": `
    happy happi, by by, say say, cry cri`,
  "step 2": `
    conditional condit, valency valenc, hesitancy hesit, conformably conform, differently differ,
    digitizer digit, vietnamization vietnam, relational relat, predication predic, operator oper,
    feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, formality formal,
    sensitivity sensit, sensibility sensibl, geologist geolog, geology geolog, apology apolog, hopefully hope,
    helplessly helpless, quickly quick`,
  "step 3": `
    triplicate triplic, formative format, formalize formal, electricity electr, electrical electr,
    goodness good, relative relat`,
  "step 4": `
    revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop, adjustable adjust,
    defensible defens, irritant irrit, replacement replac, adjustment adjust, dependent depend,
    adoption adopt, communism communism, activate activ, homologous homolog, effective effect,
    bowdlerize bowdler, million million`,
  "step 5": `
    probate probat, rate rate, cease ceas, controlling control, roll roll`,
  "R1 of words with a prefix of their own": `
    general general, generous generous, communication communic, community communiti, arsenal arsenal,
    university universiti, universe univers, later later, lateral lateral, emergency emergenc,
    organic organic, organize organiz, internal internal, international internat, past past`,
};

const GERMAN: RuleCases = {
  "step 1: inflection": `
    äckern ack, ackers ack, armes arm, bedürfnissen bedurfnis, bedürfnisse bedurfnis, häuser haus,
    katzen katz, lehrerin lehr, lehrerinnen lehr, system system, systemen system, blumen blum, autos autos,
    motors motor, tafeln tafel, mitteln mittel, adlern adl, kleines klein`,
  "step 2: inflection": `
    derbsten derb, schönsten schon, größten grosst, schnellster schnell, arbeitest arbeit, wartet wart,
    redet red, internet internet, planet planet, tickets ticket, vertreter vertret, geordnet geordnet,
    ersten erst, machst mach`,
  "step 3: derivation": `
    zeitung zeitung, zeitungen zeitung, wohnung wohnung, beendigung beendig, reinigung reinig,
    bedeutend bedeut, eiligen eilig, musik musik, politik polit, russisch russisch, musikalisch musikal,
    freundlich freundlich, freundlichkeit freundlich, schönheit schonheit, gelegenheit geleg,
    einsamkeit einsam, traurigkeit traurig, müdigkeit mudig, öffentlich offent, sicherlich sich,
    geistige geistig`,
  "step 4: apostrophes": `
    andrea's andrea, einstein'sche einstein, bordeaux' bordeaux, o's o's`,
  "vowels and spellings": `
    straße strass, strasse strass, mäuse maus, maeuse maus, größe gross, groesse gross, über uber, ueber uber,
    quelle quell, feuer feu, bauen bau, bayern bay, treue treu, trauer trau`,
  "short words": `
    an an, es es, tür tur, ei ei`,
};

const FRENCH: RuleCases = {
  elisions: `
    l'avion avion, qu'elle elle, d'abord abord, aujourd'hui aujourd'hui, s' s'`,
  "step 1: suffixes": `
    chance chanc, importances import, magnifique magnif, socialisme social, aimable aimabl, artiste artist,
    heureux heureux, conservatrice conserv, éducateur éduc, publications publiqu, fabrication fabriqu,
    logiques logiqu, géologie géolog, solution solut, confusion confus, absence absenc, heureusement heureux,
    rapidement rapid, activement activ, aimablement aimabl, premièrement premi, possibilité possibil,
    activité activ, publicité publiqu, qualités qualit, actif actif, offensives offens, informative inform,
    châteaux château, journaux journal, bijoux bijou, chevaux cheval, époux épou, délicieuses délici,
    amoureuse amour, établissement établ, ravissements rav, constamment const, évidemment évident,
    confusément confus`,
  "step 2a: verbs with i": `
    finir fin, finissait fin, choisissent chois, partirons part, finîmes fin, dormi dorm, haïr haïr`,
  "step 2b: verbs": `
    mangeait mang, parlèrent parl, donnerait don, chantions chantion, aimées aim, continuation continu,
    allions allion, nageâmes nag, jouaient jou, portassent port, mauvais mauvais, français franc,
    balais balais, déplais déplais, anglaises anglais`,
  "steps 3 to 6": `
    payer pai, lançant lanc, maisons maison, champs champ, souris sour, région région, mission mission,
    premier premi, première premi, cruelle cruel, bonne bon, abonnement abon, netteté nettet, sèche sech,
    achète achet, caractère caracter`,
  "letters that are no vowels": `
    jouer jou, quand quand, yeux yeux, naïf naïf, noël noël, maïs maï, loyal loyal, ennui ennui`,
  RV: `
    paris paris, parisien parisien, colis colis, tapis tapis, nier nier, niaises niais, aimer aim, août août,
    où où`,
};

const SPANISH: RuleCases = {
  "step 0: pronouns": `
    haciéndola hac, diciéndoselo dic, darle darl, cantándome cant, comprarlos compr, contribuyendole contribu,
    huyéndole huyendol, vivirla viv, házmelo hazmel`,
  "step 1: suffixes": `
    esperanza esper, mágicos magic, turismo turism, amables amabl, posible posibl, artistas artist,
    famosa famos, movimientos movimient, pensamiento pensamient, computadora comput, jugador jugador,
    publicación public, abundante abund, distancia distanci, ecología ecolog, biologías biolog,
    solución solucion, disoluciones disolu, presencia presenci, solamente sol, afectuosamente afectu,
    rápidamente rapid, negativamente negat, básicamente basic, claramente clar, posiblemente posibl,
    importantemente import, capacidad capac, posibilidades posibil, electricidad electr, pasividad pasiv,
    activa activ, relativo relat, nacion nacion, publicacion public`,
  "step 2a: verbs with y": `
    construyeron constru, huyendo huyend, oyendo oyend, contribuyamos contribu, cayó cay`,
  "step 2b: verbs": `
    cantaríamos cant, comerás com, vivirán viv, hablaba habl, llegamos lleg, siguen sig, pagues pag,
    averigüemos averigü, comíamos com, saliera sal, cantásemos cant, estáis estais, vivimos viv,
    dijeron dijeron, trabajando trabaj, distinguen disting`,
  "step 3: residues": `
    amigos amig, casa cas, libro libr, sofá sof, leí lei, llegó lleg, pague pag, noche noch, café caf`,
  "RV and short words": `
    macho mach, oliva oliv, trabajo trabaj, áureo aure, y y, el el, pingüino pingüin`,
};

const RUSSIAN: RuleCases = {
  "perfective gerunds": `
    прочитав прочита, сделавши сдела, умывшись ум, купив куп, решивши реш, открыв откр`,
  "adjectives and participles": `
    красивая красив, новыми нов, большого больш, синему син, бегавшая бега, читающий чита, сделанный сдела,
    любимая любим, несущее несущ, пришедшие пришедш, купивший куп, горячую горяч`,
  "reflexive endings": `
    учиться уч, боялся боя, смеются смеют, занимаясь заним`,
  verbs: `
    читала чита, бежали бежа, делаете дела, думайте дума, говорил говор, пишут пишут, знать знат,
    знаешь знаеш, сделано сдела, просила прос, велели велел, стройте стройт, ищут ищут, видит вид, ходят ход,
    рисует рис, купишь куп, стою сто, строен стро`,
  nouns: `
    книга книг, столов стол, здание здан, друзьями друз, людей люд, армией арм, героя геро, вещах вещ,
    линию лин, семья сем, словом слов, земле земл, площадь площад, музеи муз`,
  "и at the end, ость, superlatives, two н and soft signs": `
    радость радост, крепость крепост, глупости глупост, важнейшие важн, сильнейший сильн, длинн длин,
    старинный старин, день ден, мысль мысл, милость милост`,
  "ё, short words and words without vowels": `
    ёлка елк, зелёный зелен, я я, в в, вз вз`,
};

const CASES: readonly (readonly [language: TextLanguage, cases: RuleCases])[] = [
  ["english", ENGLISH],
  ["french", FRENCH],
  ["german", GERMAN],
  ["russian", RUSSIAN],
  ["spanish", SPANISH],
];

/** "ties tie, cries cri" */
function parsePairs(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split(",").map((pair) => pair.trim().split(" ")));
}

describe.each(CASES)("the %s stemmer", (language, cases) => {
  test.each(Object.entries(cases))("stems as Snowball does: %s", (_, text) => {
    const expected = parsePairs(text);
    const words = Object.keys(expected);
    expect(Object.fromEntries(words.map((word) => [word, stem(word, language)]))).toEqual(expected);
  });
});

describe("every stemmer", () => {
  test.each(TEXT_LANGUAGES)(
    "leaves the empty word, a digit, other scripts and a lone surrogate alone: %s",
    (language) => {
      for (const word of ["", "7", "\u{10437}", "\ud800", "中"]) expect(stem(word, language)).toBe(word);
    },
  );

  test.each(TEXT_LANGUAGES)("reads a word of a million letters in linear time: %s", (language) => {
    for (const letters of ["a", "é", "ье", "ауа", "s's", "uy"]) {
      const word = letters.repeat(1_000_000 / letters.length);
      expect(stem(word, language).length).toBeLessThanOrEqual(word.length + 1);
    }
  });

  test("leaves words as they are when the language is none", () => {
    expect(stem("connections", "none")).toBe("connections");
  });
});
