"""What pyproject.toml can't say: the extension, with the vendored library compiled into it."""

from setuptools import Extension, setup

setup(
    packages=["pantry"],
    package_dir={"": "src"},
    ext_modules=[
        Extension(
            "pantry._wire",
            sources=["src/pantry/_wire.c", "vendor/memtext/memtext.c"],
            depends=["vendor/memtext/memtext.h"],
            include_dirs=["vendor/memtext"],
        )
    ],
)
