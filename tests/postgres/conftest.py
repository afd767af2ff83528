"""A throw-away cluster of PostgreSQL on 127.0.0.1, made with Debian's programs."""

import getpass
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from service_process import free_port


class Cluster:
    """A cluster in a folder of its own; PostgreSQL refuses to run as root, so it runs as Debian's user for it."""

    def __init__(self):
        self.programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.folder = Path(tempfile.mkdtemp(prefix="subcast-postgres-"))
        self.port = free_port()
        self.count = 0
        self.as_other = getpass.getuser() == "root"
        if self.as_other:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", f"{self.folder}/data", "-U", "subcast", "--auth=trust", "-E", "UTF8", "--no-sync")

    def run(self, program, *arguments):
        command = [str(self.programs / program), *arguments]
        if self.as_other:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        log = f"{self.folder}/log"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", log, "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")

    def new_database(self):
        """Return the URL of a new database."""
        self.count += 1
        name = f"feed{self.count}"
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "subcast", name)
        return f"postgresql://subcast@127.0.0.1:{self.port}/{name}"


@pytest.fixture(scope="session")
def cluster():
    if not list(Path("/usr/lib/postgresql").glob("*/bin")):
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    made = Cluster()
    made.start()
    yield made
    made.stop()
    shutil.rmtree(made.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def plant(tmp_path_factory):
    return tmp_path_factory.mktemp("postgres") / "plant"


@pytest.fixture(scope="session")
def series(plant):
    from service_process import make_plant

    return make_plant(plant)


os.environ.setdefault("OMP_NUM_THREADS", "1")
