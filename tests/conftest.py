"""What holds for all tests: property tests are judged by what they find, not by how busy the machine is."""

import gc

import pytest
from hypothesis import HealthCheck, settings

from tests import prepared_store

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def databases_are_copied():
    with prepared_store.copied():
        yield


def pytest_addoption(parser):
    parser.addoption(
        "--mcp-servers",
        default="~/.cache/mcp-bench",
        help="folder with the public MCP servers, for tests/real/test_mcp_servers.py",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Thousands of tests are made, and all stay: to look for garbage among them, then and in each test, takes longer
    than many a test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
