"""The fixtures and hooks of tests/integration, for what takes minutes."""
import importlib.util
import pathlib

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
spec = importlib.util.spec_from_file_location("integration", INTEGRATION / "conftest.py")
integration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(integration)
globals().update({k: v for k, v in vars(integration).items() if not k.startswith("_")})
