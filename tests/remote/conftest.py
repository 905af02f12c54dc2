"""An object store on loopback, and the bucket `logs` in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bucket import Store
from swift_server import OWNER, REGION, Swift


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    pytest.importorskip("swift", reason="no S3 server here: pip install swift")
    boto3 = pytest.importorskip("boto3")
    with Swift(tmp_path_factory.mktemp("swift")) as server:
        client = boto3.client(
            "s3",
            endpoint_url=server.url,
            region_name=REGION,
            aws_access_key_id=OWNER[0],
            aws_secret_access_key=OWNER[1],
        )
        client.create_bucket(Bucket="logs")
        yield Store(server, client, server.url)
