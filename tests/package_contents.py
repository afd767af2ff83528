"""Check what the built wheel and sdist contain: run by `make package` with the folder of the built files."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def package_files(root: Path = ROOT) -> set[str]:
    """Return every file of the package that must be in the wheel, such as subcast/series.py."""
    source = root / "src"
    return {
        path.relative_to(source).as_posix()
        for path in (source / "subcast").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    }


def missing_from_wheel(wheel: Path, root: Path = ROOT) -> set[str]:
    """Return the files of the package that the wheel does not contain."""
    with zipfile.ZipFile(wheel) as archive:
        return package_files(root) - set(archive.namelist())


def missing_from_sdist(sdist: Path, root: Path = ROOT) -> set[str]:
    """Return the files that the sdist should contain and does not."""
    expected = {f"src/{name}" for name in package_files(root)}
    expected |= {"pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE"}
    with tarfile.open(sdist) as archive:
        return expected - {name.partition("/")[2] for name in archive.getnames()}


def main(folder: Path) -> None:
    """Stop with an error when a file is missing."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    for built, missing in ((wheel, missing_from_wheel(wheel)), (sdist, missing_from_sdist(sdist))):
        if missing:
            sys.exit(f"{built.name} lacks {', '.join(sorted(missing))}")
        print(f"{built.name}: complete, {built.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
