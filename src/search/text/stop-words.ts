// Words that say how the others belong together, and so are in nearly every text. Queries go without them; the index has them, so
// that a phrase is found as it was written. Each list is made from the grammar of its language: articles, pronouns, prepositions,
// conjunctions, auxiliary verbs, words that ask. They are written as tokenise(text, "none") gives them, and as English joins them.
import { once } from "../../core/memoize.ts";
import type { TextLanguage } from "./stem.ts";

const LISTS: Readonly<Record<TextLanguage, string>> = {
  english: `
    a an the this that these those such same other another each every either neither some any no both all few more most much many
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves who whom whose which what
    and or but nor so yet if then else than because while although though unless until since as whether
    of to in on at by for with without from into onto upon about above below under over between among through during before after
    against within across up down out off again further toward towards via per
    am is are was were be been being have has had having do does did doing done can could will would shall should may might must ought
    not only just also too very how when where why here there now once ever own
    i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
    they're they've they'd they'll that's there's here's what's who's where's how's let's
    don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't mustn't`,
  german: `
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser diese dieses diesen diesem
    jener jene jenes jenen jenem jeder jede jedes jeden jedem welcher welche welches welchen welchem mancher manche solche solcher
    ich mich mir du dich dir er ihn ihm sie ihr ihnen es wir uns euch man sich selbst
    mein meine meinen meinem meiner dein deine deinen deinem deiner sein seine seinen seinem seiner ihre ihren ihrem ihrer
    unser unsere unseren unserem euer eure euren eurem
    und oder aber denn sondern wenn als ob dass daß weil während damit bevor nachdem obwohl indem sowie sowohl weder noch doch
    in im an am auf aus bei beim mit nach von vom zu zum zur um über unter vor hinter neben zwischen durch für gegen ohne bis seit
    bin bist ist sind seid war waren warst gewesen habe hast hat haben habt hatte hatten gehabt werde wirst wird werden wurde wurden
    kann kannst können konnte muss müssen musste soll sollen sollte will wollen wollte darf dürfen mag möchte
    nicht nur auch sehr schon so wie was wer wen wem wann wo warum woher wohin hier da dort dann nun jetzt also etwas nichts alle alles
    allen aller`,
  french: `
    le la les l un une des du de d au aux ce cet cette ces c mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs
    je j me m moi tu te t toi il elle on nous vous ils elles lui se s soi eux y en qui que qu quoi dont où lequel laquelle lesquels
    quel quelle quels quelles celui celle ceux celles ceci cela ça
    et ou mais donc or ni car si comme quand lorsque puisque parce afin tandis
    à dans par pour sur sous avec sans vers chez entre contre depuis pendant avant après jusque jusqu dès selon hors
    suis es est sommes êtes sont étais était étions étiez étaient été être sera serai seras serons serez seront serait soit fut
    ai as a avons avez ont avais avait avions aviez avaient eu avoir aura aurai auras aurons aurez auront aurait ait
    fait faire peut peuvent doit doivent ne n pas plus moins très aussi même mêmes tout toute tous toutes autre autres chaque
    ici là alors encore déjà comment pourquoi combien aucun aucune`,
  russian: `
    я меня мне мной ты тебя тебе тобой он его ему им нем нём она ее её ей ею ней оно мы нас нам нами вы вас вам вами они их ими них
    себя себе собой мой моя моё мое мои моего моей твой твоя твои свой своя свое своё свои своего своей наш наша наше наши ваш ваша
    ваше ваши этот эта это эти этого этой этому этим этих тот та то те того той тому тем тех такой такая такое такие сам сама само сами
    весь вся все всё всего всей всем всех каждый кто кого кому кем что чего чему чем который которая которое которые которого которой
    какой какая какое какие чей и а но или да же ли бы б если чтобы когда потому поэтому как так хотя либо
    в во на с со к ко у о об от до из изо за по под над при про через для без между перед после около
    не ни был была было были быть есть буду будет будут будем может можно нужно надо нет
    уже еще ещё только даже очень тут там здесь где куда откуда почему зачем сейчас тогда потом вот ну`,
  spanish: `
    el la los las lo un una unos unas al del este esta esto estos estas ese esa eso esos esas aquel aquella aquello aquellos aquellas
    yo me mí mi mis mío mía tú te ti tu tus tuyo tuya él ella ello ellos ellas se sí si su sus suyo suya nosotros nosotras nos
    nuestro nuestra nuestros nuestras vosotros vosotras os vuestro vuestra usted ustedes le les
    que qué quien quién quienes cual cuál cuales cuyo cuya cuando cuándo donde dónde como cómo cuanto cuánto
    y e o u ni pero sino aunque porque pues mientras
    a ante bajo con contra de desde durante en entre hacia hasta para por según sin sobre tras
    soy eres es somos sois son era eras éramos eran fui fue fueron ser sido siendo será serán sería
    estoy estás está estamos están estaba estaban estar estado he has ha hemos han había habían haber hay hubo
    tengo tiene tienen tener puede pueden poder hace hacer
    no más menos muy también ya aún aquí allí ahí así entonces ahora otro otra otros otras mismo misma mismos mismas
    todo toda todos todas algo alguno alguna algunos algunas cada tanto tan poco mucho muchos`,
  none: "",
};

const SETS = once(
  () =>
    new Map(
      Object.entries(LISTS).map(([language, list]) => [
        language,
        new Set(list.split(/\s+/).filter((word) => word !== "")),
      ]),
    ),
);

/** Takes the word in lower case and NFC, with its accents and unstemmed. */
export function isStopWord(word: string, language: TextLanguage): boolean {
  return SETS().get(language)?.has(word) ?? false;
}

export function stopWordsOf(language: TextLanguage): readonly string[] {
  return [...(SETS().get(language) ?? [])];
}
