"""Services whose keys have no form of their own: what is long and random under their name is a key.

`DATADOG = "…"` says as much as `DATADOG_API_KEY`. Git hashes, versions and names stay as they are.
"""

from __future__ import annotations

import re

__all__ = ["MENTIONED", "OPAQUE", "find_value", "is_of_service"]

_SERVICES = (
    "adafruit|adobe|airtable|algolia|alibaba|aliyun|artifactory|asana|atlassian|beamer|bitbucket|"
    "bittrex|cloudflare|codecov|cohere|coinbase|confluence|confluent|contentful|datadog|discord|"
    "drone_?ci|dropbox|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|gitter|gocardless|"
    "heroku|hubspot|intercom|jfrog|jira|kraken|kucoin|launch_?darkly|linear|linked_?in|looker|"
    "mailgun|mapbox|mattermost|meraki|message_?bird|netlify|new[_-]?relic|nytimes|okta|plaid|"
    "private_?ai|rapid_?api|sendbird|sentry|snyk|sonar|square_?space|sumo(?:_?logic)?|telegram|travis|"
    "twitch|twitter|yandex|zendesk"
)
MENTIONED = re.compile(f"(?i:{_SERVICES})")
"""Any of them."""
_NOT_SECRET = re.compile(
    r"(?i)(?:id|url|uri|host|name|version|sha\d*|commit|rev|hash|digest|checksum|image|tag|region|"
    r"org|project|user|email|ray|trace|branch|path|file|integrity)s?$"
)
_NAME = re.compile(rf"(?i)(?:^|[^A-Za-z])(?:{_SERVICES})(?P<rest>[\w .-]{{0,20}})$")
_VALUE = re.compile(
    rf"(?i)(?<![a-z])(?:{_SERVICES})(?P<rest>[\w .-]{{0,20}}?)[\"'\\]{{0,4}}\s{{0,3}}"
    r"(?:=>|:=|\?=|\|\||[=:>,])[\"'\\\s]{0,6}(?P<value>[A-Za-z0-9][\w=-]{15,200})(?![\w.])"
)
OPAQUE = re.compile(r"[A-Za-z0-9]{16}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""What a key has in it."""
_HASH = re.compile(r"[0-9a-f]{40}")


def is_of_service(name: str, value: str) -> bool:
    """Whether a value under a name is the key of a service."""
    found = _NAME.search(name[-60:])
    return found is not None and _is_secret(found["rest"], value)


def find_value(text: str) -> tuple[int, int] | None:
    """Find the key of a service in a short text: where it begins and ends."""
    for found in _VALUE.finditer(text):
        if _is_secret(found["rest"], found["value"]):
            return found.span("value")
    return None


def _is_secret(rest: str, value: str) -> bool:
    if _NOT_SECRET.search(rest.rstrip(" ._-")) or _HASH.fullmatch(value) or len(value) > 200:
        return False
    run = OPAQUE.search(value)
    is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return run is not None and is_mixed and re.fullmatch(r"[\w=-]+", value) is not None
