"""The bucket `logs` of an object store, and the program run against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swift_server import OWNER, REGION, Swift

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Store:
    """The bucket `logs` of a server, and the program run against it."""

    server: Swift
    client: Any  # of boto3
    url: str  # endpoint for the program

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket="logs", Key=key, Body=data)

    def upload(self, folder: Path, prefix: str) -> str:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://logs/{prefix}"

    def environment(self, **changes: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return {
            **kept,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": OWNER[0],
            "AWS_SECRET_ACCESS_KEY": OWNER[1],
            "AWS_EC2_METADATA_DISABLED": "true",
            "PYTHONPATH": str(ROOT),
            **changes,
        }

    def run(
        self, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "loopaudit", *arguments],
            cwd=cwd,
            env=self.environment() if env is None else env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def discover(self, *paths: list[str]) -> list[list[str]]:
        """The inputs behind each list of paths."""
        program = (
            "import json, sys; from loopaudit.ingest.sources import discover\n"
            "print(json.dumps([[s.path for s in discover(p).sources]"
            " for p in json.loads(sys.argv[1])]))"
        )
        found: list[list[str]] = json.loads(
            subprocess.check_output(
                [sys.executable, "-c", program, json.dumps(paths)], env=self.environment()
            )
        )
        return found

    def report(self, *arguments: str) -> dict[str, Any]:
        ended = self.run("report", "--format", "json", *arguments)
        assert ended.returncode == 0, ended.stderr
        told: dict[str, Any] = json.loads(ended.stdout)
        return told
