"""Commands: flags to engine to renderer, one thin file each."""
