"""A marker of scikit-learn's tests, which test_svc_habits.py runs."""


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: of scikit-learn's tests")
