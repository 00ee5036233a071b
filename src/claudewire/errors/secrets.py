"""The looks of secrets: prefixes of well-known tokens, and names that values are secret under.

Services document how their keys begin, so that leaked ones can be found. To add a form, add its
prefix to `_PREFIXES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PREFIXES = (
    r"sk[-_]|gsk_|xai-|pplx-|r8_|csk-|nvapi-|pcsk_|tvly-|lsv2_[ps][tk]_|hf_|tgp_v1_|fw_"  # models
    r"|gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft)-|npm_|pypi-AgE|rubygems_|dckr_[po]at_"
    r"|sgp_|sq[pu]_|bkua_|ABSK|AIza|GOCSPX-|ya29\.|do[opr]_v1_|hv[sb]\.|dp\.pt\.|dapi"
    r"|pscale_(?:tkn|pw)_|sbp_|sb_secret_|tskey-(?:auth|api)-|vck_|napi_"
    r"|rk_(?:live|test)_|whsec_|shp(?:at|ca|pa|ss)_|sq0[a-z]{3}-"
    r"|xox[a-z]-|xoxe\.xoxp-|xapp-|SG\.|xkeysib-|gl(?:sa|c)_|sntry[su]_|AT[AC]TT3|ATBB"
    r"|lin_(?:api|oauth)_|ntn_|secret_|figd_|PMAK-|NRAK-|CFPAT-|pat-(?:na|eu)1-|phx_"
    r"|AGE-SECRET-KEY-1|IQoJb3JpZ2luX2Vj|vercel_blob_rw_|AQ\.|ops_eyJ"
    r"|ey[JA]|ewo"  # JSON in base64, as in a JSON Web Token
)
_REST = r"[\w.+/=~-]"
_MOST = 4000
"""Characters of a token, so that the search takes no longer than the text is long."""

TOKEN = re.compile(
    rf"sk-ant-[\w-]{{4,{_MOST}}}"
    rf"|(?<![A-Za-z0-9])(?:(?:A[KS]IA|ABIA|ACCA)[0-9A-Z]{{16}}"
    rf"|(?:{_PREFIXES})(?={_REST}{{0,40}}[0-9]){_REST}{{16,{_MOST}}}"
    r"|[0-9]{6,16}:AA[\w-]{32,40})",
    re.ASCII,
)
"""A key or token with a well-known form."""

OPEN_TOKEN = re.compile(
    rf"(?:sk-ant-|(?<![A-Za-z0-9])(?:A[KS]IA|{_PREFIXES})(?<=.{{4}})){_REST}{{0,{_MOST}}}\Z",
    re.ASCII | re.DOTALL,
)
"""A token, or its beginning, at the end of a text."""

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
    re.DOTALL,
)
END_OF_PRIVATE_KEY = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")

# --- escapes -------------------------------------------------------------------------------------

_ESCAPE = re.compile(
    r"(?:\x1b|\\(?:x1b|u001b|033|e|E))(?:\[[0-9:;<=>?]{0,40}[@-~]|\([0-9A-B])"
    r"|(?:\x9b|\\(?:x9b|u009b))[0-9;]{0,40}m|\\(?:u00([0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|[abefnrtv0])|[%=]([0-9A-F]{2}|[0-9a-f]{2})"
)


def without_escapes(text: str) -> str:
    """Put what an escape stands for in its place, padded to its length; a letter stays escaped."""
    return _ESCAPE.sub(_decoded, text)


def _decoded(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    character = chr(int(digits, 16)) if digits else " "
    return escape[0] if character.isalnum() else character.ljust(len(escape[0]))


# --- names ----------------------------------------------------------------------------------------

_KEYS = (
    "api|access|private|secret|signing|encryption|master|shared|account|storage|auth|app|license"
    "|publishing|client|service|db|database"
)
_SECRET_NAME = re.compile(
    rf"(?:(?:{_KEYS})[_ -]?keys?(?:[_-]?(?:base|data))?|token|secrets?|passw(?:or)?ds?|passphrase"
    r"|passcode|credentials?|authorization|cookie|connection[_ -]?string"
    # Short ones only as words: not `compass`.
    r"|(?<![a-z])(?:pass|pwd|pat|auth|psk))\Z"
)
_HARMLESS_NAME = re.compile(
    r"(?:progress|first|last|per|next|page|paging|continuation|sync|max|cache|stop|eos|bos|pad"
    r"|special|public[_-]?key)[_ -]?token\Z"
)
_HARMLESS_VALUES = {
    "pwd": re.compile("[/~].*", re.DOTALL),  # the working directory
    "token": re.compile("[A-Za-z]{1,12}"),  # of a parser
    "cookie": re.compile("[^=]*"),
    "credentials": re.compile("include|omit|same-origin"),  # of a request in a browser
}
_CAMEL_CASE = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_LONGEST_NAME = 200


def is_secret(name: str, value: str) -> bool:
    """Return whether a value is secret by its name, as under `apiKey` or `DB_PASSWORD`."""
    if len(name) > _LONGEST_NAME:
        return False
    name = _CAMEL_CASE.sub("_", name).lower()
    if _SECRET_NAME.search(name) is None or _HARMLESS_NAME.search(name) is not None:
        return False
    harmless = next((it for end, it in _HARMLESS_VALUES.items() if name.endswith(end)), None)
    return harmless is None or harmless.fullmatch(value) is None


_REFERENCE = re.compile(
    r"\$\w+|\$\{.*|\$\(.*|%\w+%|%\(\w+\)s|\{\{.*|<[\w -]*>?|\*{3,}|\.{3}|…|x{3,}"
    r"|(?:process\.)?env[.:\[].*|os\.(?:environ|getenv).*|--?[a-z][\w-]*"
    r"|(?:self|this|req|request|res|response|ctx|context|config|settings|args|options|params|props"
    r"|event|data|headers|cookies|session|user|secrets|vars)\.[a-z_$.]+;?"
    r"|(?:true|false|null|none|nil|undefined|required|optional|string|number|integer|boolean"
    r"|bytes|object|unknown|redacted)[.,;:!?)]*",
    re.IGNORECASE | re.DOTALL,
)


def is_reference(value: str) -> bool:
    """Return whether a value only refers to a secret, or names its type."""
    return _REFERENCE.fullmatch(value) is not None


# --- text -----------------------------------------------------------------------------------------
# All patterns are linear: runs are bounded, or cannot be entered in their middle.

_REAL = r"(?!<(?:key|email|secret)-\d)"
_GIVEN_SCHEME = r"(?:bearer|basic|token)\s{1,20}"
# Not `?+`: up to Python 3.11.4, that leaves out the beginning of an almost-match.
_SCHEME = rf"(?:{_GIVEN_SCHEME}|(?!{_GIVEN_SCHEME}))"
_SEPARATOR = r"\\*[\"']?\s{0,20}(?::=|=>|->|[:=])\s{0,20}"
_BARE = r"[^\s\"'\\,;&(){}\[\]<>|`]"

_END_OF_NAME = re.compile(
    "key(?:[_-]?(?:base|data))?|token|secrets?|passw(?:or)?ds?|passphrase|passcode|pass|pwd|pat"
    "|auth(?:orization)?|psk|credentials?|cookie|string"
)
_VALUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Not `input("Password: ")`, where the quote is the end.
        rf"{_SEPARATOR}\\*[\"'](?![),;\]}}]){_SCHEME}{_REAL}((?:[^\"'\\\n]|\\[^\"'\\\n]){{1,8000}})",
        rf"{_SEPARATOR}{_SCHEME}{_REAL}({_BARE}{{6,4000}}+)(?!\()",
    )
)
"""A value behind its name: up to the next quote, or else to the next space."""
_REST_OF_LINE = re.compile(
    rf"{_SEPARATOR}\\*[\"']?{_SCHEME}{_REAL}([^\s\"'\\][^\n\"'\\]{{2,8000}})", re.IGNORECASE
)
"""The same for headers."""
_ARGUMENT = re.compile(rf"\s{{1,20}}\\*[\"']?(?!-){_REAL}({_BARE}{{4,4000}})")
_OPTION = re.compile(r"(?<![\w-])--?[\w-]{0,40}\Z")
_LONGEST_SHOWN_NAME = 50


def named_values(text: str) -> Iterator[tuple[int, int]]:
    """Find values behind a secret name: `apiKey: …`, `DB_PASSWORD=…`, `--token …`."""
    lower = text.lower()
    done = 0
    for word in _END_OF_NAME.finditer(lower if len(lower) == len(text) else text):
        start, end = word.span()
        value = _value_behind(text, word[0], start, end) if start >= done else None
        name = text[max(0, end - _LONGEST_SHOWN_NAME) : end]
        if value is not None and not is_reference(value[1]) and is_secret(name, value[1]):
            done = value.end()
            yield value.span(1)


def _value_behind(text: str, word: str, start: int, end: int) -> re.Match[str] | None:
    if word in ("authorization", "cookie"):
        return _REST_OF_LINE.match(text, end)
    for pattern in _VALUES:
        if (value := pattern.match(text, end)) is not None:
            return value
    is_option = _OPTION.search(text, max(0, start - _LONGEST_SHOWN_NAME), start) is not None
    return _ARGUMENT.match(text, end) if is_option else None


PATTERNS: tuple[re.Pattern[str], ...] = (
    TOKEN,
    PRIVATE_KEY,
    re.compile(r"\b[Bb]earer\s{1,20}([A-Za-z0-9_.~+/=-]{8,8000})"),
    # Secrets in addresses.
    re.compile(r"://[^\s/:@\"']{0,100}:([^\s/\"'<>]{1,200})@"),
    re.compile(
        r"[?&](?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|code"
        rf"|access_token|auth|st)={_REAL}([^&\s\"'<>\\]{{8,4000}})"
    ),
    re.compile(
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/"
        r"([\w/-]{10,200})"
    ),
    re.compile(r"api\.telegram\.org/bot([\w:-]{10,100})"),
    # Beside the key that it belongs to, as in a CSV file of AWS, and as a default of Terraform.
    re.compile(r"A[KS]IA[0-9A-Z]{16}[\"']?\s{0,9}[,;|\s]\s{0,9}[\"']?([\w/+]{40})(?![\w/+])"),
    re.compile(
        r"variable\s{1,9}\"[\w-]{0,60}?(?:password|secret|token|key)[\w-]{0,20}\"\s{0,9}\{"
        r"[^{}]{0,400}?default\s{0,20}=\s{0,20}\"([^\"\n]{1,400})\""
    ),
)
"""Find a secret as their last group, or as the whole match."""

EMAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,256}+@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}")
