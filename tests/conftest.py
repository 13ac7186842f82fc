"""Property tests are judged by what they find, not by how busy the machine is."""

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


def pytest_addoption(parser):
    parser.addoption(
        "--mcp-servers",
        default="~/.cache/mcp-bench",
        help="folder with the public MCP servers, for tests/real/test_mcp_servers.py",
    )
