"""Metadata of the package: names, versions and what it needs; the configuration of the tools is in pyproject.toml."""

from pathlib import Path

import pybind11
from setuptools import Extension, find_packages, setup


def core(package: str) -> Extension:
    """The compiled module `_core` of a package."""
    sources = Path(package) / "core"
    return Extension(
        f"{package.replace('/', '.')}._core",
        sources=sorted(map(str, sources.rglob("*.cpp"))),
        depends=sorted(map(str, sources.rglob("*.hpp"))),
        include_dirs=[str(sources), pybind11.get_include()],
        language="c++",
        # Sums are the same on every machine: no instruction does two operations with one rounding.
        extra_compile_args=["-std=c++20", "-O3", "-fvisibility=hidden", "-ffp-contract=off"],
    )


setup(
    name="kuijia",
    version="0.1.0",
    description="Rate rescaling for wide-area networks: victims of a failed tunnel yield to the traffic already there",
    license="Apache-2.0",
    python_requires=">=3.10",
    package_dir={"": "."},
    packages=find_packages(
        include=[
            f"{name}{sub}"
            for name in (
                "kuijia_base",
                "te_solver",
                "kuijia_app",
                "hedera",
                "simulator",
                "testbed",
                "experiments",
                "kuijia",
            )
            for sub in ("", ".*")
        ]
    ),
    package_data={"": ["py.typed", "**/*.yaml", "**/*.cdf", "**/*.csv", "**/*.json", "**/*.j2", "**/*.sh", "*.pyi"]},
    ext_modules=[core("simulator/flow"), core("simulator/packet"), core("hedera")],
    install_requires=[
        "cvxpy>=1.5",
        "highspy>=1.7",
        "jinja2>=3.1",
        "joblib>=1.4",
        "jsonschema>=4.17",
        "matplotlib>=3.7",
        "networkx>=3.2",
        "numpy>=1.26",
        "os-ken>=4.2",
        "pyyaml>=6.0",
        "scipy>=1.11",
        "topohub>=1.5",
    ],
    extras_require={"cluster": ["distributed>=2024.8"], "ns3": ["ns3>=3.44,<3.45"]},
    # ryu-manager is optional and has no extra here: c65ryu pins an eventlet that does not run on these Pythons.
    # requirements/ holds the versions that do.
    entry_points={"console_scripts": ["kuijia = kuijia.cli.main:main"]},
)
