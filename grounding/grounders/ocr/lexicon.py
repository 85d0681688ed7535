"""The words that an instruction is taken apart with. Tables only; each says what it is for.

They hold what English speakers call things on any screen, nothing of any one site.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILLERS = _words(
    """okay ok um uh uhm hmm yeah yes yep no nope so well alright right now then just please actually maybe probably
    oh ah like guess think thanks thank you hey hi hello sure great good cool nice basically really
    can could would should will shall may might must do does did done is are was were be been am i'm i'll i'd it's
    that's there's let let's lets i we me my us our your it its he she they them this that these those there here
    what which who whose where when how want wanted wants need needs gonna wanna going go goes try see look looks
    looking again also too very even still one ones thing things something someone any some
    don't cause because but if as than into onto has have had
    """
)  # Said while thinking, or to be polite: hardly ever what is written on the thing to click.
ACTIONS = _words(
    """click clicks clicking clicked press presses pressing tap tapping hit hitting select selecting selected choose
    choosing pick picking open opening use using take taking get getting give put set move moving bring navigate
    visit interact focus locate located activate toggle expand make show display type typing enter entering input fill
    write change
    """
)  # What is done to the thing; screens seldom say it themselves.
KINDS = _words(
    """button buttons link links icon icons field fields box bar textbox input area dropdown drop-down checkbox
    radio toggle switch slider option options item items product products result results card cards listing
    listings image images picture pictures photo thumbnail text label labeled labelled titled title named called
    heading section panel column row tab tabs page website site webpage screen window browser element
    elements entry suggestion suggestions list day position placeholder popup dialog modal banner header footer
    corner side correct corresponding instruction user says saying reading bold large small big little
    """
)  # What sort of thing it is: describes, but is not written on it.
# In front of a kind of thing they describe it ("the yellow button"); else they may be written ("Blue shirt").
COLOURS = _words("red blue green yellow orange white black gray grey purple pink brown teal dark light")
# Actions that are never part of a text when they stand in front of it.
CLICKS = _words("click clicks clicking press tap hit select choose pick go navigate")
LINKS = _words("a an the of to at for from by with and or")  # Words at which no text ends.
# Little words that texts contain too: they count, but little. "Sign in" and "4 stars and up" end with one.
STOPS = LINKS | _words("in on up out off over not")
# Which one in reading order; negative counts from the end.
ORDINALS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
    "sixth": 6, "6th": 6, "seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "ninth": 9, "9th": 9, "tenth": 10,
    "10th": 10, "last": -1, "final": -1,
}  # fmt: skip
# People say numbers in words, screens write digits.
NUMBERS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100",
}  # fmt: skip
# Ordinals too high to count things by: they are days.
DAYS = {
    "eleventh": "11th", "twelfth": "12th", "thirteenth": "13th", "fourteenth": "14th", "fifteenth": "15th",
    "sixteenth": "16th", "seventeenth": "17th", "eighteenth": "18th", "nineteenth": "19th", "twentieth": "20th",
    "thirtieth": "30th",
}  # fmt: skip
MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)  # After a month "1st" is a day, not an ordinal.
SYNONYMS: tuple[tuple[str, ...], ...] = (
    # Different words for one control, in no order.
    ("sign in", "log in", "login", "signin", "log on"),
    ("sign up", "register", "create account", "create an account", "join"),
    ("sign out", "log out", "logout"),
    ("cart", "basket", "bag", "trolley"),
    ("checkout", "check out", "proceed to checkout"),
    ("buy now", "purchase", "order now"),
    ("settings", "preferences", "options"),
    ("delete", "remove", "trash"),
    ("next", "continue", "proceed"),
    ("done", "finish", "apply", "confirm", "save"),
    ("submit", "send"),
    ("favorites", "favourites", "wishlist", "wish list", "saved"),
    ("account", "profile"),
    ("reviews", "ratings"),
    ("photos", "images", "pictures"),
    ("cancel", "dismiss", "no thanks", "not now"),
    ("agree", "accept", "allow", "got it"),
    ("home", "homepage", "home page"),
    ("book", "reserve"),
    ("search", "find"),
    ("nonstop", "non-stop", "no stops", "direct"),
    # What a list of orders shows while it is closed: the first of them.
    ("sort", "sort by", "recommended", "featured", "relevance", "most relevant", "best match"),
    ("plus", "+"),
    ("minus", "-"),
    ("cheapest", "cheapest first", "price low to high", "lowest price", "price"),
    ("dearest", "most expensive", "price high to low", "highest price"),
    ("best rated", "top rated", "highest rated", "rating", "customer reviews"),
    ("most reviewed", "most popular", "popular", "popularity"),
)
