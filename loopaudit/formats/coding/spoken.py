"""Tells what a person wrote from what an agent program put into the message in their name."""

from __future__ import annotations

import re

from loopaudit.model import BoundaryKind

#: elements that agent programs insert into user messages
_INSERTED = re.compile(
    r"<(system-reminder|system_reminder|environment_context|environment_details|git-context"
    r"|user_info|user_instructions|user_rules|open_and_recently_viewed_files|project_layout"
    r"|manually_attached_skills|agent_skills|git_status|agent_transcripts|rules|mcp_file_system"
    r"|qwen:user-prompt-submit-context|hook_context|info-msg|turn-context|timestamp"
    r"|USER_SETTINGS_CHANGE|ADDITIONAL_METADATA|EPHEMERAL_MESSAGE|SYSTEM_MESSAGE"
    r"|system_notification|task-notification)(?:\s[^>]*)?>.*?</\1>",
    re.DOTALL,
)
#: elements around the person's own words
_WRAPPED = re.compile(
    r"</?(?:user_query|USER_REQUEST|user_message|user_feedback|feedback|task|answer)>"
)
_NOTICES = (
    "The following is a <SYSTEM_MESSAGE> not actually sent by the user",
    "[Inter-session message]",
    "[Subagent Context]",
    "[Subagent Task]",
    "System: [",
)


def spoken(text: str | None, inserted: bool = False) -> tuple[BoundaryKind, str | None]:
    """What a message of the role "user" is, and its text without what was inserted.

    `inserted`: the log itself says that no person wrote it.
    """
    if inserted:
        return BoundaryKind.REMINDER, text
    if text is None or not text.strip():
        return BoundaryKind.USER, None  # a picture, a file
    if text.startswith(_NOTICES):
        return BoundaryKind.REMINDER, text
    if "<" not in text:
        return BoundaryKind.USER, text
    own = _WRAPPED.sub("", _INSERTED.sub("", text)).strip()
    return (BoundaryKind.USER, own) if own else (BoundaryKind.REMINDER, text)
