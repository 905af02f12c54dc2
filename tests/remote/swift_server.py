"""OpenStack Swift on loopback: a real object store that speaks S3, with one disk in a folder.

Needs the package `swift` (PyPI) beside the Python that runs this. Users: `test:owner` with the
secret `owning` may do all, `test:guest` with the secret `visiting` nothing.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

BIN = Path(sys.executable).parent
REGION = "eu-test-1"
OWNER = ("test:owner", "owning")
GUEST = ("test:guest", "visiting")
_KINDS = ("account", "container", "object")
_COMMON = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
devices = {folder}/disks
mount_check = false
workers = 0
log_level = ERROR
log_udp_host = 127.0.0.1
log_udp_port = 9
"""
_PROXY = """
[pipeline:main]
pipeline = catch_errors s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_owner = owning .admin
user_test_guest = visiting
[filter:s3api]
use = egg:swift#s3api
location = {region}
[filter:catch_errors]
use = egg:swift#catch_errors
"""


class Swift:
    """The servers, from entering to leaving the context; `url` is the endpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._servers: list[subprocess.Popen[bytes]] = []
        self.port, *others = _free_ports(4)
        self._ports = dict(zip(_KINDS, others, strict=True))
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Swift:
        (self.folder / "disks" / "d1").mkdir(parents=True)
        (self.folder / "swift.conf").write_text(
            "[swift-hash]\nswift_hash_path_suffix = s\nswift_hash_path_prefix = p\n"
            "[storage-policy:0]\nname = only\ndefault = yes\n"
        )
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        import getpass

        user = getpass.getuser()
        for kind, port in self._ports.items():
            self._ring(kind, port)
            app = f"\n[pipeline:main]\npipeline = {kind}-server\n[app:{kind}-server]\n"
            self._run(kind, _COMMON + app + f"use = egg:swift#{kind}\n", port, user)
        self._run("proxy", _COMMON + _PROXY, self.port, user)
        self._wait()

    def stop(self) -> None:
        for server in self._servers:
            server.terminate()
        for server in self._servers:
            server.wait(10)
        self._servers.clear()

    def _ring(self, kind: str, port: int) -> None:
        from swift.common.ring import RingBuilder

        builder = RingBuilder(1, 1, 0)
        builder.add_dev(
            {
                "id": 0,
                "region": 1,
                "zone": 1,
                "weight": 1.0,
                "ip": "127.0.0.1",
                "port": port,
                "device": "d1",
            }
        )
        builder.rebalance()
        builder.get_ring().save(str(self.folder / f"{kind}.ring.gz"))

    def _run(self, kind: str, text: str, port: int, user: str) -> None:
        conf = self.folder / f"{kind}.conf"
        conf.write_text(text.format(port=port, user=user, folder=self.folder, region=REGION))
        log = (self.folder / f"{kind}.log").open("wb")
        command = [sys.executable, str(BIN / f"swift-{kind}-server"), str(conf)]
        self._servers.append(subprocess.Popen(command, stdout=log, stderr=log))
        log.close()

    def _wait(self) -> None:
        end = time.monotonic() + 20
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=2)
                return
            except urllib.error.HTTPError:  # it answers: that nobody may see this
                return
            except OSError as error:
                if time.monotonic() > end or any(s.poll() is not None for s in self._servers):
                    logs = [path.read_text() for path in sorted(self.folder.glob("*.log"))]
                    raise RuntimeError(
                        f"swift did not start: {error}\n" + "\n".join(logs)
                    ) from error
                time.sleep(0.1)


def _free_ports(number: int) -> list[int]:
    held = [socket.socket() for _ in range(number)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports
