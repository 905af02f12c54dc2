"""What a tool call does, by a table: changes state, waits, starts an agent, reads which lines."""

from loopaudit.effects.table import NO_EFFECT, Effect, ToolTable

__all__ = ["NO_EFFECT", "Effect", "ToolTable"]
