"""What secrets look like: the forms of keys and tokens, and the names that values are secret under.

The forms are public facts: each service documents how its keys begin, so that leaked ones can be
found. To add one, add a line to `_TOKENS`.
"""

from __future__ import annotations

import functools
import re

__all__ = [
    "AFTER_NAME",
    "ARGUMENT",
    "CANDIDATE",
    "COMMANDS",
    "IN_NETRC",
    "IN_URLS",
    "NAME",
    "NETRC_VALUE",
    "OPEN_END",
    "OPTION",
    "REST_OF_LINE",
    "SHORT_NAMES",
    "TOKEN",
    "URLS",
    "is_description",
    "is_reference",
    "is_secret_name",
]

_WORD, _DASHED, _HEX, _BASE64 = r"\w", r"[\w-]", "[0-9a-fA-F]", r"[\w+/=-]"
_ALNUM = "[A-Za-z0-9]"
_JWT = "ey[A-J]|ewo"
"""How JSON begins in base64: with a brace, and a quote, a blank or the end of a line."""

_TOKENS: tuple[tuple[str, str, int], ...] = (
    # How it begins, what follows, and how much of it at least. Models:
    ("sk-", _DASHED, 20),
    ("gsk_|xai-|pplx-|r8_|fw_|tgp_v1_|csk-|nvapi-|pcsk_|tvly-|jina_|lsv2_(?:pt|sk)_", _DASHED, 20),
    ("bedrock-api-key-|esecret_|vck_|napi_", _DASHED, 20),
    ("pa-", _DASHED, 40),
    ("hf_|api_org_", _WORD, 30),
    ("fc-|sk_", _HEX, 32),
    # Code and packages:
    ("gh[oprsu]_|github_pat_", _WORD, 20),
    ("gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-", _DASHED, 16),
    ("GR1348941", _DASHED, 20),
    ("npm_", _WORD, 30),
    ("pypi-AgE", _DASHED, 40),
    ("rubygems_", _HEX, 40),
    ("cio", _WORD, 32),
    ("dckr_[po]at_", _DASHED, 20),
    ("oy2", "[a-z0-9]", 43),
    ("CLOJARS_", _WORD, 50),
    ("sgp_", r"[\w]", 40),
    ("AKCp|cmVmd", _ALNUM, 59),
    ("API-", "[A-Z0-9]", 26),
    (r"[ps]at\.[\w-]{22}\.", r"[\w.]", 40),
    ("tk-us-", _DASHED, 48),
    ("[A-Za-z0-9]{70,80}AZDO", _ALNUM, 4),
    ("sq[apu]_", _HEX, 40),
    ("bkua_|CCIPAT_|CCIPRJ_|nfp_|HRKU-|rnd_|pul-|pnu_|ico-|rdme_|dnkey-", _DASHED, 20),
    (r"fo1_|fm[12][ar]?_", _BASE64, 20),
    # Clouds:
    ("A[KS]IA|ABIA|ACCA|A3T[A-Z0-9]", "[0-9A-Z]", 16),
    ("ABSK", _BASE64, 80),
    ("AIza", _DASHED, 30),
    (r"ya29\.|GOCSPX-|1//0", _DASHED, 20),
    ("do[opr]_v1_", _HEX, 40),
    ("LTAI", _WORD, 16),
    ("AKID", _WORD, 32),
    (r"t1\.[A-Za-z0-9]|AQVN|y0_", r"[\w.=-]", 38),
    ("[A-Za-z0-9]{52}JQQJ9", _ALNUM, 20),
    ("tskey-[a-z]{3,10}-", _DASHED, 20),
    ("4b1d", _ALNUM, 38),
    (r"hv[sb]\.", r"[\w-]", 20),
    (r"s\.", "[A-Za-z0-9]", 24),
    (r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[\w.]", 30),
    ("dapi", _HEX, 32),
    (r"dt0[a-z][0-9]{2}\.", r"[\w.]", 40),
    ("pscale_(?:tkn|pw|oauth)_", r"[\w=.-]", 20),
    ("sbp_|sb_secret_", _WORD, 20),
    ("sha256~", _DASHED, 40),
    ("v1\\.0-", _DASHED, 100),
    # Payments:
    ("[rs]k_(?:live|test|prod)_", _WORD, 10),
    ("(?:live|test)_(?:pub_)?", _HEX, 31),
    ("secret-(?:live|test)-", _BASE64, 30),
    ("whsec_", r"[\w+/=]", 20),
    ("shp(?:at|ca|pa|ss)_", _HEX, 32),
    ("sq0[a-z]{3}-|EAAA", _DASHED, 22),
    (r"access_token\$(?:production|sandbox)\$", r"[\w$]", 30),
    ("FLWSECK_TEST-", "[0-9a-h]", 12),
    ("EZ[AT]K|FLWSECK(?:_TEST)?-|shippo_(?:live|test)_|duffel_(?:live|test)_", _BASE64, 20),
    ("access-(?:sandbox|development|production)-", _DASHED, 36),
    # Messages and mail:
    (r"(?:xoxe\.)?xox[a-z]-|xapp-", _DASHED, 8),
    (r"SG\.", r"[\w.-]", 40),
    ("xkeysib-", _DASHED, 60),
    ("(?:pub)?key-", _HEX, 32),
    ("[a-h0-9]{32}-[a-h0-9]{8}-", "[a-h0-9]", 8),
    ("SK", _HEX, 32),
    (r"[0-9]{5,16}:AA", _DASHED, 32),
    (r"[MNO][\w-]{23,25}\.[\w-]{6}\.", _DASHED, 27),
    ("EAA[A-Z]", _WORD, 80),
    ("[0-9]{15,16}[|%]", _DASHED, 27),
    ("(?<![+/])A{22}", "[A-Za-z0-9%]", 80),
    ("dG9rO", r"[\w=]", 50),
    # Teams and monitoring:
    ("gl(?:sa|c)_|sntry[su]_", r"[\w+/=-]", 20),
    ("ATATT3|ATCTT3|ATBB", r"[\w=-]", 20),
    ("lin_(?:api|oauth)_|ntn_|figd_|tfp_|PMAK-|NRAK-|NRJS-|NRII-|CFPAT-", _DASHED, 16),
    ("secret_", "[A-Za-z0-9]", 40),
    (r"pat[A-Za-z0-9]{14}\.", _HEX, 40),
    ("pat-(?:na|eu)[0-9]-", _DASHED, 36),
    (r"[A-Za-z0-9]{14}\.atlasv1\.", r"[\w=-]", 40),
    ("p8e-|aio_", _WORD, 28),
    ("ATTA", _WORD, 64),
    (r"[0-2]/[0-9]{10,20}(?:/[0-9]{10,20})?:", _HEX, 32),
    ("ph[cx]_", _WORD, 40),
    ("(?:sdk|mob|api)-(?=[0-9a-f]{8}-[0-9a-f]{4}-)", "[0-9a-f-]", 36),
    ("hc[a-z]ik_|xa[ap]t-|fio-u-", _DASHED, 30),
    ("eyJrIjoi", r"[\w=]", 70),
    # Others:
    ("AGE-SECRET-KEY-1", "[0-9A-Z]", 50),
    ("A3-[A-Z0-9]{6}-", "[A-Z0-9-]", 27),
    (r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-]", r"[\w.+/=-]", 30),
    ("s-s4t2(?:ud|af)-", _HEX, 64),
    ("sm_[asp]at_", _ALNUM, 16),
    ("[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mm", "k", 1),
    (r"sl\.", _DASHED, 100),
    ("[a-z0-9]{11}A{10}", _DASHED, 43),
    ("ZXlK", _BASE64, 60),
    ("ops_eyJ", _BASE64, 40),
    (r"[a-zA-Z0-9_~.]{3}[0-9]Q~", r"[\w~.-]", 30),
    (_JWT, _DASHED + r"{8,2000}\.[\w-]", 8),
)

_BEFORE = r"(?<![A-Za-z0-9])"
_MOST = 4000
"""Characters of a token: so that none takes longer to look at than its length."""

TOKEN = re.compile(
    rf"sk-ant-[\w-]{{4,{_MOST}}}|{_BEFORE}(?:"
    + "|".join(
        rf"(?:{begin}){follow}{{{least},{_MOST}}}"
        + (r"(?:\.[\w-]{0,2000})?" if begin == _JWT else "")
        for begin, follow, least in _TOKENS
    )
    + r"|[0-9a-f]{32}-us[0-9]{1,2}(?![0-9a-zA-Z]))",
    re.ASCII,
)
"""A key or token that is recognised by its form."""

CANDIDATE = re.compile(r"[A-Za-z0-9_][\w.~+/=:$|%-]{10,}", re.ASCII)
"""What may contain a token; little of most texts. The forms are looked for in these alone."""

OPEN_END = re.compile(
    rf"(?:sk-ant-|{_BEFORE}(?:{'|'.join(begin for begin, _, _ in _TOKENS if len(begin) > 4)}))"
    rf"[\w.+/=~-]{{0,{_MOST}}}\Z",
    re.ASCII,
)
"""A text that ends in the middle of a token, or may do so."""

# --- names ---------------------------------------------------------------------------------------

_LONG_NAMES = [
    "api key",
    "access key",
    "private key",
    "secret key",
    "signing key",
    "encryption key",
    "master key",
    "shared key",
    "account key",
    "role key",
    "secret key base",
    "storage key",
    "publishing key",
    "auth key",
    "app key",
    "license key",
    "client key",
    "service key",
    "db key",
    "database key",
    "priv key",
    "key data",
    "contrasena",
    "contrasea",  # without the letters that ASCII lacks
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "connection string",
    "requirepass",
]
"""How the names of secrets end, in any spelling."""
_SHORT_NAMES = "pass|pwd|pat|auth|psk|pw"
"""The same, but as words of their own: not `compass`, nor `author`."""
_LONGEST_NAME = 200
_PLURALS = ("secrets", "passwords", "apikeys", "accesskeys", "privatekeys", "authtokens")
_NOT_SECRET = frozenset(
    [
        "progresstoken",
        "firsttoken",
        "lasttoken",
        "pertoken",
        "nexttoken",
        "pagetoken",
        "nextpagetoken",
        "pagingtoken",
        "continuationtoken",
        "synctoken",
        "maxtoken",
        "cachetoken",
        "stoptoken",
        "eostoken",
        "bostoken",
        "padtoken",
        "specialtoken",
        "accesskeyid",
        "publickeytoken",
        "pwd",
        "oldpwd",
    ]
)
_ENDINGS = tuple({name.replace(" ", "") for name in _LONG_NAMES}) + _PLURALS
_SHORT = re.compile(rf"(?:^|.*[^A-Za-z])(?i:{_SHORT_NAMES})|.*[a-z0-9](?:Pass|Pwd|Pat|Auth|Psk|PW)")
_DESCRIPTIONS = frozenset(
    [
        "type",
        "title",
        "description",
        "format",
        "name",
        "kind",
        "id",
        "default",
        "examples",
        "enum",
        "label",
        "placeholder",
        "required",
        "source",
        "status",
        "pattern",
        "const",
        "$ref",
        "created",
        "updated",
        "scope",
        "scopes",
        "expires",
        "version",
    ]
)


def is_secret_name(name: str) -> bool:
    """Whether what stands under a name is secret, as under `apiKey` or `DB_PASSWORD`."""
    return len(name) <= _LONGEST_NAME and _is_secret(name)


@functools.lru_cache(4096)
def _is_secret(name: str) -> bool:
    letters = re.sub("[^a-z]", "", name.lower())
    if letters.endswith(_ENDINGS):
        return letters not in _NOT_SECRET
    return letters not in _NOT_SECRET and _SHORT.fullmatch(name) is not None


def is_description(name: str) -> bool:
    """Whether a field of something secret only describes it, as in a JSON Schema."""
    return name in _DESCRIPTIONS


_REFERENCE = re.compile(
    r"\$\w+|\$\{.*|\$\(.*|%\w+%|%\(\w+\)s|\{\{.*|<[\w -]*>?|\*{3,}|\.{3}|…|x{3,}"
    r"|(?:process\.)?env[.:\[].*|os\.(?:environ|getenv).*|--?[a-z][\w-]*"
    r"|(?:true|false|null|none|nil|undefined|required|optional|string|number|integer|boolean"
    r"|bytes|object|unknown|redacted)[.,;:!?)]*",
    re.IGNORECASE | re.DOTALL,
)


def is_reference(value: str) -> bool:
    """Whether a value is no secret, but says where one comes from, or what type it has."""
    return _REFERENCE.fullmatch(value) is not None


_KEYS = (
    "api|access|private|secret|signing|encryption|master|shared|account|storage|auth|app|license"
    "|role|publishing|client|service|db|database|priv"
)
NAME = re.compile(
    rf"(?:{_KEYS})[_ -]?key(?:[_-]?(?:id|base|data))?|contrase[n\u00f1]a|token|secret|passw(?:or)?d"
    r"|passphrase|passcode|requirepass|credentials?|authorization|cookie"
    rf"|connection[_ -]?string|{_SHORT_NAMES}"
)
"""The end of a name that values are secret under, in lower case."""
SHORT_NAMES = frozenset(_SHORT_NAMES.split("|"))

_SEPARATOR = r"\\*[\"']?\s{0,20}(?::=|=>|->|\?=|[:=])\s{0,20}"
_GIVEN_SCHEME = r"(?:bearer|basic|token|apikey|negotiate)\s{1,20}(?!\s)"
# Not a possessive `?+`: up to Python 3.11.4, that leaves out the beginning of what almost matches.
_SCHEME = rf"(?:{_GIVEN_SCHEME}|(?!{_GIVEN_SCHEME}))"
_REAL = r"(?!<(?:key|email|secret)-\d)"
_ARGUMENT = r"\\*[\"']?([^\s\"'\\|;]{3,1000})"

# Each finds a secret as its only group. All are linear: runs are bounded, or cannot be entered in
# their middle. Behind a quote a value goes on to the next one, else to the next space.
AFTER_NAME: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_SEPARATOR}\\*[\"']{_SCHEME}{_REAL}([^\"'\\\n]{{1,8000}})",
        rf"{_SEPARATOR}{_SCHEME}{_REAL}([^\s\"'\\,;&(){{}}\[\]<>|`]{{6,4000}}+)(?!\()",
        # if (password == "…"), char password[20] = "…", password = `…`
        r"(?:\[\w{0,20}\])?\s{0,5}[!=]={0,2}\s{0,5}@?\\*[\"'`]([^\"'`\\\n]{3,500})",
        # <password>…</password>, and <add key="password" value="…"/>
        rf"(?:\s[^<>]{{0,200}})?>\s{{0,20}}{_REAL}([^\s<][^<]{{0,4000}})</",
        r"\\*[\"']\s{0,20}value\s{0,5}=\s{0,5}\\*[\"']([^\"'\\\n]{1,4000})",
        # password '…' in SQL
        r"\s{1,20}'([^'\n]{1,500})'",
    )
)
"""A value, seen from the end of its name."""

REST_OF_LINE = re.compile(
    rf"{_SEPARATOR}\\*[\"']?{_SCHEME}{_REAL}([^\s\"'\\][^\n\"'\\]{{2,8000}})", re.IGNORECASE
)
"""The same for headers that have several parts: `Authorization` and `Cookie`."""

ARGUMENT = re.compile(
    rf"\s{{1,20}}\\*[\"']?{_SCHEME}(?!-){_REAL}([^\s\"'\\,;&(){{}}\[\]<>|`]{{4,4000}})",
    re.IGNORECASE,
)
"""The same for the argument of an option, which `OPTION` is: `--password …`."""
OPTION = re.compile(r"(?<![\w-])-{1,2}[\w-]{0,40}\Z")

IN_NETRC = re.compile(
    r"\b(?:machine\s{1,20}\S{1,253}|default)\s{1,20}"
    r"(?:(?:login|account|port)\s{1,20}\S{1,200}\s{1,20}){0,3}\Z"
)
NETRC_VALUE = re.compile(rf"\s{{1,20}}{_REAL}(\S{{1,500}})")

URLS: tuple[re.Pattern[str], ...] = (
    re.compile(r"://[^\s/:@\"']{0,100}:([^\s/@\"'<>]{1,200})@"),
    re.compile(
        r"[?&](?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|code"
        rf"|access_token|auth|st)={_REAL}([^&\s\"'<>\\]{{8,4000}})"
    ),
    re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{10,200})"),
    re.compile(r"discord(?:app)?\.com/api/webhooks/[0-9]{1,25}/([\w-]{10,200})"),
    re.compile(r"webhook\.office\.com/webhookb2/([\w@/-]{20,400})"),
    re.compile(r"api\.telegram\.org/bot([\w:-]{10,100})"),
)
"""Secrets in addresses."""
IN_URLS = ("://", "?", "&", ".com/", ".org/bot")
"""What is in a text, one of them, if one of these finds something in it."""

_PAIR = r"[^\s:\"'/\\-][^\s:\"'/\\]{0,100}:(?![0-9]{1,6}(?:\s|$))([^\s\"'\\]{3,500})"
_ATTACHED = r"([^\s\"'\\|;]{2,200})"
_PROGRAMS: tuple[tuple[str, str, str], ...] = (
    # A word of the text, the program, and the option with the secret.
    ("-u", r"(?:curl|wget|https?|xh|svn)\b", r"-[uU]=?\s{0,5}\\*[\"']?" + _PAIR),
    (
        "-h",
        "curl",
        r"(?:-H|--header)[\s=]{0,5}\\*[\"'][\w-]{0,40}(?i:key|token|secret|auth):\s?" + _ARGUMENT,
    ),
    ("mysql", r"mysql\w{0,10}", "-p" + _ATTACHED),
    ("mysql", r"mysql\w{0,10}", r"-p\\*[\"']([^\"'\\]{1,200})"),
    ("mariadb", r"mariadb[\w-]{0,10}", "-p" + _ATTACHED),
    ("7z", r"7z[ar]?\b", "-p" + _ATTACHED),
    ("zip", r"(?:un)?zip\b", r"-P\s{1,5}" + _ARGUMENT),
    ("redis-cli", r"redis-cli\b", r"-a\s{1,5}" + _ARGUMENT),
    ("login", r"login\b", r"-p\s{1,5}" + _ARGUMENT),
    ("mongo", r"mongo\w{0,10}", r"-p\s{1,5}" + _ARGUMENT),
    ("sqlcmd", r"sqlcmd\b", r"-P\s{0,5}" + _ARGUMENT),
    ("ldap", r"ldap\w{3,10}", r"-w\s{1,5}" + _ARGUMENT),
    ("mosquitto", r"mosquitto_\w{3}", r"-P\s{1,5}" + _ARGUMENT),
    ("smbclient", r"smbclient\b", r"-U\s{0,5}[^\s%]{1,100}%" + _ARGUMENT),
)
_COOKIE = (
    r"(?<![\w-])(?:\w{1,40}_session|PHPSESSID|JSESSIONID|connect\.sid|ASP\.NET_SessionId|sessionid)"
    r"=([\w%.+/-]{16,500})"
)
_OTHERS: tuple[tuple[str, str], ...] = (
    ("-user", r"(?<![\w-])--(?:proxy-)?user(?:\s{1,5}|=)\\*[\"']?" + _PAIR),
    ("sshpass", r"\bsshpass\s{1,5}-p\s{0,5}" + _ARGUMENT),
    ("pass:", r"-pass(?:in|out)?\s{1,5}pass:" + _ARGUMENT),
    (
        "htpasswd",
        r"\bhtpasswd\s{1,5}-\w{0,5}b\w{0,5}(?:\s{1,5}[^\s-]\S{0,200}){1,2}\s{1,5}" + _ARGUMENT,
    ),
    ("sudo", r"\becho\s{1,5}" + _ARGUMENT + r"\\*[\"']?\s{0,5}\|\s{0,5}sudo\s{1,5}-S"),
    ("storepass", r"-storepass\s{1,20}" + _ARGUMENT),
    ("keypass", r"-keypass\s{1,20}" + _ARGUMENT),
    ("env", r"\bENV\s{1,5}\w{0,60}(?:KEY|TOKEN|SECRET|PASS\w{0,4})\s{1,5}" + _ARGUMENT),
    ("bearer", r"\b(?i:bearer)\s{1,20}([A-Za-z0-9_.~+/=-]{8,8000})"),
    ("sess", _COOKIE),
    ("connect.sid", _COOKIE),
    # A Secret of Kubernetes.
    (
        "kind: secret",
        r"(?m)^[ \t]{1,20}(?!name|namespace|type|app\b)[\w.-]{1,60}:[ \t]{1,5}([\w+/=]{8,4000})$",
    ),
    ("identified", r"(?i:identified\s{1,20}by)\s{1,20}'([^'\n]{1,500})'"),
    # A private key of PuTTY.
    ("private-lines", r"Private-Lines: [0-9]{1,4}\s{1,4}((?:[\w+/=]{1,100}\s{0,4}){1,200})"),
)
COMMANDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    *(
        (hint, re.compile(rf"\b{program}[^\n|;&]{{0,300}}?\s{option}"))
        for hint, program, option in _PROGRAMS
    ),
    *((hint, re.compile(pattern)) for hint, pattern in _OTHERS),
)
"""A word that is in the text, in lower case, and what to look for then: secrets on command lines,
and in the files of some programs."""
