"""loopaudit: an offline auditor of AI-agent transcripts."""

__version__ = "0.1.0"
