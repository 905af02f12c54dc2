"""A cluster on this machine: two executors, each a JVM of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="no PySpark here: pip install 'loopaudit[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java here")
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder: Any = SparkSession.builder
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "3",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }.items():
        builder = builder.config(key, value)
    session = builder.master("local-cluster[2,1,1024]").appName("loopaudit-tests").getOrCreate()
    yield session
    session.stop()
