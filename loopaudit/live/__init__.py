"""The live agent: the guards of the replay, running; mock models, comparison, fire drill."""
