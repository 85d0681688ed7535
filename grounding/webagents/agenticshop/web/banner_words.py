"""What banners and their buttons say, in the languages of the larger shops. All in lower case, matched as wholes."""

from __future__ import annotations

from grounding.records import Record


class BannerWords(Record, frozen=True, kw_only=True):
    """``cookies`` and ``newsletter`` tell what a banner is about: any one of them within its text is enough.

    ``reject``, ``close`` and ``accept`` are what a button says, tried in this order: the whole text of the button, or
    its beginning, is one of them. A button with a word that begins with one of ``never`` is not touched, whatever else
    it says.
    """

    cookies: tuple[str, ...]
    newsletter: tuple[str, ...]
    reject: tuple[str, ...]
    close: tuple[str, ...]
    accept: tuple[str, ...]
    never: tuple[str, ...]


WORDS = BannerWords(
    cookies=(
        # English
        "use cookies", "uses cookies", "using cookies", "cookie policy", "cookie notice", "cookie settings",
        "cookie preferences", "cookie consent", "manage cookies", "accept cookies", "accept all cookies", "our cookies",
        "these cookies", "cookies and similar", "cookies to", "your privacy", "privacy preferences", "consent to",
        # German
        "verwenden cookies", "verwendet cookies", "nutzen cookies", "cookie-einstellungen", "cookie-richtlinie",
        "cookies akzeptieren", "cookies zulassen", "ihre privatsphäre", "deine privatsphäre", "einwilligung",
        # French
        "utilisons des cookies", "utilise des cookies", "cookies et", "gérer les cookies", "paramètres des cookies",
        "votre vie privée", "politique de cookies", "consentement",
        # Spanish, Portuguese
        "utilizamos cookies", "usamos cookies", "utiliza cookies", "política de cookies", "configurar cookies",
        "aceptar cookies", "tu privacidad", "su privacidad", "sua privacidade", "definições de cookies",
        # Italian
        "utilizziamo i cookie", "utilizza cookie", "usiamo i cookie", "informativa sui cookie", "la tua privacy",
        # Dutch
        "gebruiken cookies", "gebruikt cookies", "cookiebeleid", "cookie-instellingen", "jouw privacy", "uw privacy",
        # Polish, Swedish, Danish, Norwegian, Finnish
        "używamy plików cookie", "pliki cookie", "plików cookies", "använder cookies", "använder kakor",
        "bruger cookies", "bruker informasjonskapsler", "bruker cookies", "käytämme evästeitä", "evästeitä",
        # Japanese, Chinese, Korean
        "クッキーを使用", "cookieを使用", "cookie を使用", "使用cookie", "使用 cookie", "쿠키를 사용",
    ),
    newsletter=(
        "newsletter", "sign up for emails", "sign up for our", "sign up and save", "sign up & save", "join our list",
        "join our mailing list", "subscribe to our", "subscribe and save", "subscribe & save", "off your first order",
        "off your next order", "be the first to know", "enter your email", "stay in the loop", "10% off", "15% off",
        "20% off", "rabatt auf", "jetzt anmelden und", "erste bestellung", "inscrivez-vous", "première commande",
        "suscríbete", "primer pedido", "primeira compra", "iscriviti", "primo ordine", "schrijf je in", "nieuwsbrief",
        "eerste bestelling", "zapisz się", "nyhetsbrev", "nyhedsbrev", "uutiskirje", "メールマガジン",
    ),
    reject=(
        "reject all", "reject", "reject cookies", "reject all cookies", "decline", "decline all", "decline cookies",
        "refuse", "deny", "deny all", "necessary only", "only necessary", "use necessary cookies only",
        "necessary cookies only", "essential only", "only essential", "essential cookies only",
        "accept only essential", "accept only necessary", "continue without accepting", "do not accept", "disagree",
        "alle ablehnen", "ablehnen", "alles ablehnen", "nur notwendige", "nur notwendige cookies", "nur erforderliche",
        "nur essenzielle", "nur technisch notwendige", "weiter ohne einwilligung",
        "tout refuser", "refuser", "refuser tout", "je refuse", "continuer sans accepter", "uniquement nécessaires",
        "rechazar todo", "rechazar todas", "rechazar", "solo necesarias", "solo las necesarias",
        "continuar sin aceptar", "rejeitar tudo", "rejeitar todos", "rejeitar", "recusar", "apenas necessários",
        "rifiuta tutto", "rifiuta tutti", "rifiuta", "solo necessari", "continua senza accettare",
        "alles weigeren", "alles afwijzen", "weigeren", "afwijzen", "alleen noodzakelijk", "alleen noodzakelijke",
        "odrzuć wszystkie", "odrzuć", "tylko niezbędne", "avvisa alla", "neka alla", "endast nödvändiga", "afvis alle",
        "avvis alle", "kun nødvendige", "hylkää kaikki", "vain välttämättömät", "すべて拒否", "拒否", "全部拒绝",
        "拒绝", "모두 거부", "거부",
    ),
    close=(
        "close", "close dialog", "close modal", "close popup", "close this", "close banner", "dismiss", "x", "\u00d7",
        "✕", "✖", "✗", "\u2a2f", "no thanks", "no, thanks", "no thank you", "no, thank you", "not now", "not today",
        "later", "maybe later", "skip", "schließen", "nein danke", "nein, danke", "später", "nicht jetzt", "fermer",
        "non merci", "non, merci", "plus tard", "cerrar", "no gracias", "no, gracias", "ahora no", "fechar",
        "não obrigado", "não, obrigado", "agora não", "chiudi", "no grazie", "no, grazie", "sluiten", "nee bedankt",
        "nee, bedankt", "zamknij", "nie, dziękuję", "stäng", "nej tack", "luk", "nej tak", "lukk", "nei takk", "sulje",
        "ei kiitos", "閉じる", "关闭", "關閉", "닫기",
    ),
    accept=(
        "accept all", "accept", "accept cookies", "accept all cookies", "accept & close", "accept and close",
        "accept and continue", "i accept", "agree", "i agree", "agree and close", "agree & close", "allow all",
        "allow all cookies", "allow cookies", "allow", "got it", "ok", "okay", "i understand", "understood", "continue",
        "alle akzeptieren", "alles akzeptieren", "akzeptieren", "alle zulassen", "zustimmen", "verstanden",
        "einverstanden", "tout accepter", "accepter", "j'accepte", "accepter et fermer", "d'accord", "j'ai compris",
        "aceptar todo", "aceptar todas", "aceptar", "acepto", "entendido", "de acuerdo", "aceitar tudo",
        "aceitar todos", "aceitar", "concordo", "accetta tutto", "accetta tutti", "accetta", "accetto", "ho capito",
        "alles accepteren", "accepteren", "akkoord", "begrepen", "zaakceptuj wszystkie", "akceptuj", "akceptuję",
        "zgadzam się", "rozumiem", "acceptera alla", "godkänn alla", "godkänn", "accepter alle", "tillad alle",
        "godta alle", "godta", "hyväksy kaikki", "hyväksy", "すべて許可", "同意する", "同意", "接受", "全部接受",
        "모두 동의", "동의",
    ),
    never=(
        "buy", "cart", "basket", "bag", "checkout", "check out", "pay", "order", "purchase", "subscribe", "sign up",
        "sign in", "log in", "login", "register", "submit", "send", "delete", "download", "install", "kaufen",
        "warenkorb", "bestellen", "anmelden", "acheter", "panier", "commander", "s'inscrire", "comprar", "carrito",
        "carrinho", "pagar", "suscribirse", "acquista", "carrello", "iscriviti", "kopen", "winkelwagen", "aanmelden",
        "kup", "koszyk", "köp", "køb", "kjøp", "osta", "購入", "カート", "购买", "구매",
    ),
)  # fmt: skip
