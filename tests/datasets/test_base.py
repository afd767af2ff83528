"""Where the files of a dataset are searched, and how they are downloaded."""

import dataclasses
import gzip
import hashlib
import logging
import os

import numpy as np
import pytest

from datasets.examples import FILED, NUMBERS, small, write_text
from subcast.datasets import DATASETS, load_dataset
from subcast.datasets import base as base_module
from subcast.datasets.base import Source, cache_folder, data_folders, fetch, find_files, load_files
from subcast.errors import DataNotFoundError


class TestSearch:
    def test_given_folder_is_the_only_one(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        assert data_folders(tmp_path / "given") == [tmp_path / "given"]

    def test_folder_of_the_variable_comes_before_the_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        assert data_folders() == [tmp_path / "named", tmp_path / "cache" / "subcast"]

    def test_the_cache_alone(self, tmp_path):
        assert data_folders() == [tmp_path / "cache" / "subcast"]

    def test_the_cache_is_in_the_home_by_default(self, monkeypatch):
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder().parts[-2:] == (".cache", "subcast")

    def test_first_name_and_first_folder_are_preferred(self, tmp_path):
        one, two = tmp_path / "one", tmp_path / "two"
        for path in (one / "b", two / "a", two / "b"):
            path.parent.mkdir(exist_ok=True)
            path.touch()
        alone = dataclasses.replace(DATASETS["solar"], sources=(Source(("a", "b"), "home"),))
        pair = dataclasses.replace(DATASETS["solar"], sources=(Source(("a", "b"), "home", together=True),))
        assert find_files(alone, [one, two])[1] == [one / "b"]
        assert find_files(alone, [two, one])[1] == [two / "a"]
        assert find_files(pair, [one, two])[1] == [two / "a", two / "b"]
        assert find_files(alone, [tmp_path / "none"]) is None

    def test_first_folder_is_preferred_to_the_better_source(self, tmp_path, monkeypatch):
        """The csv in the folder the user named, before the tsv pair in the cache."""
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        (tmp_path / "named").mkdir()
        write_text(tmp_path / "named" / "ECG_data.csv", NUMBERS)
        cache_folder().mkdir(parents=True)
        labelled = np.column_stack([np.arange(1, 7), NUMBERS * 0])
        write_text(cache_folder() / "ECG5000_TRAIN.tsv", labelled[:2], "\t")
        write_text(cache_folder() / "ECG5000_TEST.tsv", labelled[2:], "\t")
        series = load_files(small("ecg5000"), None, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)

    @pytest.mark.parametrize("name", FILED)
    def test_missing_files_are_reported_with_their_source(self, name, tmp_path):
        source = DATASETS[name].sources[0]
        with pytest.raises(DataNotFoundError) as caught:
            load_dataset(name, folder=tmp_path, download=False)
        sentence = str(caught.value)
        for text in (repr(name), str(tmp_path), *source.files[:1], source.home, "SUBCAST_DATA"):
            assert text in sentence
        assert "\n" not in sentence

    @pytest.mark.parametrize("name", ["metr-la", "solar", "traffic", "ecg5000"])
    def test_missing_files_without_network(self, name, tmp_path, monkeypatch):
        def no_network(*_, **__):
            raise OSError("no network")

        monkeypatch.setattr("urllib.request.urlopen", no_network)
        with pytest.raises(DataNotFoundError, match=r"and the download failed \(no network\): get .* and put it there"):
            load_dataset(name, folder=tmp_path)
        assert list(tmp_path.iterdir()) == []


class TestDownload:
    @pytest.fixture
    def home(self, tmp_path):
        """A folder that is used as a web server."""
        folder = tmp_path / "web"
        folder.mkdir()
        write_text(folder / "traffic.txt.gz", NUMBERS)
        return folder

    def dataset(self, home, **fields):
        url = (home / "traffic.txt.gz").as_uri()
        source = Source(("traffic.txt.gz", "traffic.txt"), "the home of traffic", url, **fields)
        return small("traffic", sources=(source,))

    def checksum(self, home):
        return hashlib.sha256((home / "traffic.txt.gz").read_bytes()).hexdigest()

    def test_to_the_given_folder(self, home, tmp_path):
        series = load_files(self.dataset(home, sha256=self.checksum(home)), tmp_path / "new", download=True)
        np.testing.assert_allclose(series.values, 1000 * NUMBERS, rtol=1e-6)
        assert os.listdir(tmp_path / "new") == ["traffic.txt.gz"]

    def test_to_the_cache(self, home, tmp_path):
        load_files(self.dataset(home), None, download=True)
        assert os.listdir(tmp_path / "cache" / "subcast") == ["traffic.txt.gz"]

    def test_to_the_folder_of_the_variable(self, home, tmp_path, monkeypatch):
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        load_files(self.dataset(home), None, download=True)
        assert os.listdir(tmp_path / "named") == ["traffic.txt.gz"]
        assert not (tmp_path / "cache").exists()

    def test_to_the_cache_if_the_folder_is_read_only(self, home, tmp_path, monkeypatch):
        named = tmp_path / "named"
        named.mkdir()
        may = os.access
        monkeypatch.setattr(base_module.os, "access", lambda path, mode: path != named and may(path, mode))
        for folder in (named, named / "below"):
            monkeypatch.setenv("SUBCAST_DATA", str(folder))
            load_files(self.dataset(home), None, download=True)
            (tmp_path / "cache" / "subcast" / "traffic.txt.gz").unlink()
        assert os.listdir(named) == []

    def test_folder_that_cannot_be_created(self, home, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(DataNotFoundError, match=r"the download failed \(.*\): get traffic.txt.gz from the home of"):
            load_files(self.dataset(home), tmp_path / "file" / "below", download=True)

    def test_existing_file_is_not_downloaded_again(self, home, tmp_path, monkeypatch):
        load_files(self.dataset(home), tmp_path / "new", download=True)
        monkeypatch.setattr("subcast.datasets.base.fetch", lambda *_: pytest.fail("downloaded again"))
        load_files(self.dataset(home), tmp_path / "new", download=True)

    def test_download_can_be_switched_off(self, home, tmp_path):
        with pytest.raises(DataNotFoundError, match=r"'traffic' is not in \S+new: get traffic.txt.gz from the home of"):
            load_files(self.dataset(home), tmp_path / "new", download=False)
        assert not (tmp_path / "new").exists()

    def test_wrong_checksum_leaves_no_file(self, home, tmp_path):
        with pytest.raises(DataNotFoundError) as caught:
            load_files(self.dataset(home, sha256="0" * 64), tmp_path / "new", download=True)
        sentence = str(caught.value)
        for text in (
            "another checksum than expected",
            "the home of traffic",
            str(tmp_path / "new"),
            "is not this dataset",
        ):
            assert text in sentence
        assert os.listdir(tmp_path / "new") == []

    @pytest.mark.parametrize(
        "content",
        [b"<html>please log in</html>", gzip.compress(b"1,2\n3,4\n", mtime=0), b""],
        ids=["a page", "another table", "nothing"],
    )
    def test_wrong_content_leaves_no_file(self, home, tmp_path, content):
        (home / "traffic.txt.gz").write_bytes(content)
        with pytest.raises(
            DataNotFoundError, match=r"the file at file:.* is not this dataset .* get traffic.txt.gz from the"
        ):
            load_files(self.dataset(home), tmp_path / "new", download=True)
        assert os.listdir(tmp_path / "new") == []

    def test_wrong_url(self, home, tmp_path):
        (home / "traffic.txt.gz").unlink()
        with pytest.raises(DataNotFoundError, match="and the download failed"):
            load_files(self.dataset(home), tmp_path / "new", download=True)

    def test_broken_connection(self, home, tmp_path, monkeypatch):
        class Broken:
            headers = {"Content-Length": "1000"}  # noqa: RUF012
            blocks = [b"x" * 10, b""]  # noqa: RUF012

            def __enter__(self):
                return self

            def __exit__(self, *_):
                return False

            def read(self, _):
                return self.blocks.pop(0)

        monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Broken())
        with pytest.raises(DataNotFoundError, match="the connection broke after 10 of 1,000 bytes"):
            load_files(self.dataset(home), tmp_path / "new", download=True)
        assert os.listdir(tmp_path / "new") == []

    def test_progress_adds_up(self, home, tmp_path, monkeypatch):
        import rich.progress

        steps = []
        update = rich.progress.Progress.update
        monkeypatch.setattr(
            rich.progress.Progress,
            "update",
            lambda self, task, **how: (steps.append((how["advance"], self.tasks[0].total)), update(self, task, **how))[
                1
            ],
        )
        big = home / "big"
        big.write_bytes(os.urandom(600_000))
        fetch(big.as_uri(), tmp_path / "copy", hashlib.sha256(big.read_bytes()).hexdigest())
        assert (tmp_path / "copy").read_bytes() == big.read_bytes()
        assert len(steps) > 1
        assert (sum(step for step, _ in steps), steps[0][1]) == (600_000, 600_000)

    def test_log_messages(self, home, tmp_path, caplog):
        dataset = self.dataset(home, sha256=self.checksum(home))
        with caplog.at_level(logging.INFO, logger="subcast"):
            load_files(dataset, tmp_path / "new", download=True)
            load_files(dataset, tmp_path / "new", download=True)
        path = tmp_path / "new" / "traffic.txt.gz"
        assert [record.getMessage() for record in caplog.records] == [
            f"downloading {(home / 'traffic.txt.gz').as_uri()} to {path}",
            f"downloaded {path}, sha256 {self.checksum(home)}",
            f"dataset traffic: reading {path}",
            "traffic.txt.gz: checksum as expected",
        ]
