"""Which list entries a logged model name may stand for: stated rules, in a fixed order.

A rule removes something that does not change the price (a router's prefix, a region, a version
suffix) or turns one spelling into another. What no rule explains stays unknown: `:thinking`,
`-TEE`, effort suffixes, names of local models.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: longer names are no model ids
LONGEST = 200

#: vendors that sell their own models; bare names are looked up here, in this order. Z.ai (world
#: wide, in USD) stands before zhipuai (the same models in mainland China, in yuan).
FIRST_PARTY = (
    "anthropic",
    "openai",
    "google",
    "x-ai",
    "deepseek",
    "alibaba",
    "moonshotai",
    "zai",
    "zhipuai",
    "minimax",
    "mistral",
    "cohere",
    "meta",
    "perplexity",
    "cursor",
    "voyageai",
)

#: clouds and routers that sell closed models at their vendors' list prices
PASS_THROUGH = frozenset({"aws", "azure", "google", "openrouter", "github-copilot"})
CLOSED = ("anthropic", "openai", "google", "x-ai")

#: how names in prefixes and in a log's `service` field are spelled -> provider
PROVIDERS = {
    "alibaba": "alibaba",
    "amazon": "aws",
    "amazon-bedrock": "aws",
    "anthropic": "anthropic",
    "aws": "aws",
    "aws-bedrock": "aws",
    "azure": "azure",
    "azure-openai": "azure",
    "azure_ai": "azure",
    "azure_openai": "azure",
    "baseten": "baseten",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "copilot": "github-copilot",
    "dashscope": "alibaba",
    "deepseek": "deepseek",
    "firstparty": "anthropic",  # Claude Code's word for the vendor's own API
    "fireworks": "fireworks",
    "fireworks_ai": "fireworks",
    "gcp": "google",
    "gemini": "google",
    "github-copilot": "github-copilot",
    "github_copilot": "github-copilot",
    "google": "google",
    "google-vertex": "google",
    "google-vertex-anthropic": "google",
    "groq": "groq",
    "meta": "meta",
    "minimax": "minimax",
    "mistral": "mistral",
    "mistralai": "mistral",
    "moonshot": "moonshotai",
    "moonshot-ai": "moonshotai",
    "moonshotai": "moonshotai",
    "novita": "novita",
    "openai": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "qwen": "alibaba",
    "together": "together",
    "together_ai": "together",
    "togetherai": "together",
    "vertex": "google",
    "vertex_ai": "google",
    "vertexai": "google",
    "x-ai": "x-ai",
    "xai": "x-ai",
    "z-ai": "zai",
    "zai": "zai",
    "zai-org": "zai",
    "zhipu": "zhipuai",
    "zhipuai": "zhipuai",
}

#: prefixes of a proxy that says nothing of who serves the model
PROXIES = ("litellm_proxy/", "litellm/")

_BEDROCK = re.compile(
    r"(?:(?:us|eu|apac|au|jp|ca|in|sa|us-gov|global)\.)?"
    r"(anthropic|openai|amazon|meta|mistral|deepseek|qwen|moonshotai|zai|google|nvidia|writer)"
    r"\.([a-z].*)"
)
_VERSION = re.compile(r"(?:-v\d+)?(?::\d+)?$")  # Bedrock's -v1:0
_DOTTED = re.compile(r"(?<=\d)\.(?=\d)")


class Candidate(NamedTuple):
    """One reading of a name: who sells it, under which id, and the rules that led there."""

    provider: str
    id: str
    rules: tuple[str, ...]


def is_model(name: object) -> bool:
    """Whether a logged name can be a model at all; `<synthetic>` is a message the client made."""
    return isinstance(name, str) and bool(name.strip()) and not name.strip().startswith("<")


def candidates(model: object, provider: str | None = None) -> list[Candidate]:
    """The readings of a logged name, likeliest first. `provider`: who served it, where known."""
    if not isinstance(model, str) or not is_model(model) or len(model) > LONGEST:
        return []
    name = model.strip().lower()
    rules: list[str] = []
    if name.endswith("[1m]"):
        name = name[:-4]
        rules.append("`[1m]` marks the context window, not another model")
    if name.startswith("arn:aws") and "/" in name:
        name, provider = name.rsplit("/", 1)[1], "aws"
        rules.append("last part of an AWS resource name")
    for proxy in PROXIES:
        if name.startswith(proxy):
            name = name[len(proxy) :]
            rules.append(f"prefix `{proxy}` names a proxy")
    if name.startswith("models/"):
        name, provider = name[7:], provider or "google"
        rules.append("prefix `models/` of the Gemini API")
    found: list[Candidate] = []
    if name.startswith("openrouter/"):
        name, provider = name[11:], "openrouter"
        rules.append("prefix `openrouter/` names the router")
    if provider is not None:
        found += _sold_by(provider, name, [*rules, f"served by {provider}"])
        if provider not in FIRST_PARTY and provider not in PASS_THROUGH:
            return found  # a host with prices of its own: nobody else's price is its price
    head, slash, rest = name.partition("/")
    if slash and not name.startswith(("accounts/fireworks/", "@cf/")):
        return found + _prefixed(head, rest, rules, provider)
    if name.startswith("accounts/fireworks/"):
        return found + _sold_by("fireworks", name, rules)
    match = _BEDROCK.fullmatch(name)
    if match:
        return found + _bedrock(name, match, rules)
    sellers = CLOSED if provider in PASS_THROUGH else FIRST_PARTY
    for seller in sellers:
        if seller != provider:
            found += _sold_by(seller, name, rules)
    return found


def _prefixed(head: str, rest: str, rules: list[str], provider: str | None) -> list[Candidate]:
    seller = PROVIDERS.get(head)
    if seller is None:
        return []
    rules = [*rules, f"prefix `{head}/` names the provider {seller}"]
    if provider in PASS_THROUGH and seller not in CLOSED:
        return []  # an open model behind a router: its maker's price is not the router's
    match = _BEDROCK.fullmatch(rest)
    if match:
        return _bedrock(rest, match, rules)
    found = _sold_by(seller, rest, rules)
    if seller in PASS_THROUGH:
        inner, slash, last = rest.partition("/")
        name = last if slash and PROVIDERS.get(inner) in CLOSED else rest
        for vendor in CLOSED:
            if vendor != seller:
                found += _sold_by(
                    vendor, name, [*rules, f"{seller} sells at {vendor}'s list price"]
                )
    return found


def _bedrock(name: str, match: re.Match[str], rules: list[str]) -> list[Candidate]:
    """Bedrock's own price for the id as written (regional ids cost more), else the vendor's."""
    vendor, rest = PROVIDERS.get(match[1], match[1]), match[2]
    bare = _VERSION.sub("", rest)
    found = [Candidate("aws", name, (*rules, "an Amazon Bedrock id"))]
    if vendor in CLOSED:
        removed = f"`{name[: -len(rest)]}` and `{rest[len(bare) :]}` removed from a Bedrock id"
        found += _sold_by(vendor, bare, [*rules, removed])
    return found


def _sold_by(provider: str, name: str, rules: list[str]) -> list[Candidate]:
    """The spellings under which `provider` may list a name."""
    found = [Candidate(provider, name, tuple(rules))]
    if "@" in name:
        name = name.replace("@", "-")
        rules = [*rules, "`@` read as `-`"]
        found.append(Candidate(provider, name, tuple(rules)))
    dashed = _DOTTED.sub("-", name)
    if dashed != name:
        found.append(Candidate(provider, dashed, (*rules, "`4.5` read as `4-5`")))
    return found
