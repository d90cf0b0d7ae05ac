import hashlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pandas as pd
import pytest

from guestlist import InputError
from guestlist.datasets import DATASETS, load, table


def test_digits_are_embedded():
    assert load("digits").shape == (1797, 65)


def test_adult_is_read_from_the_users_folder(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("adult.parquet").parent))
    adult = load("adult")
    assert len(adult) == 48842
    assert adult["split"].value_counts().to_dict() == {"train": 32561, "test": 16281}


@pytest.mark.slow
def test_adult_as_published_has_the_pinned_checksums_and_parses_to_the_same_table(real_data, tmp_path, monkeypatch):
    """The public files, written from the table byte for byte, go through the download path."""
    adult = pd.read_parquet(real_data("adult.parquet"))
    public = {}
    for split, end, head in (("train", "", ""), ("test", ".", "|1x3 Cross validator\n")):
        rows = adult[adult["split"] == split].drop(columns="split").itertuples(index=False)
        name, sha256 = table.ADULT_FILES[split]
        public[name] = (head + "".join(", ".join(map(str, row)) + end + "\n" for row in rows) + "\n").encode()
        assert hashlib.sha256(public[name]).hexdigest() == sha256
    monkeypatch.delenv("GUESTLIST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(table, "_download", lambda url: public[url.rsplit("/", 1)[-1]])
    fetched = load("adult")
    pd.testing.assert_frame_equal(fetched, adult, check_dtype=False)
    monkeypatch.setattr(table, "_download", lambda url: pytest.fail("the cache was not used"))
    assert len(load("adult")) == 48842


def test_a_file_with_another_checksum_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(table, "_download", lambda url: b"something else")
    with pytest.raises(InputError, match=r"checksum of .* differs"):
        table.fetched("https://example.org/adult.data", "0" * 64)
    assert not list(tmp_path.rglob("adult.data"))


def test_location30_is_read_from_the_users_folder(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("location30.npz").parent))
    table = load("location30")
    assert table.shape == (5010, 447)
    assert table["cluster"].nunique() == 30
    assert table.drop(columns="cluster").to_numpy().mean() == pytest.approx(0.1204, abs=1e-4)
    monkeypatch.delenv("GUESTLIST_DATA")
    with pytest.raises(InputError, match="publishes no checksum"):
        load("location30")


def test_an_unknown_name_lists_the_known():
    with pytest.raises(InputError, match=", ".join(DATASETS)):
        load("adulte")


@pytest.mark.parametrize("promised", [100, None])
def test_a_download_that_breaks_off_is_reported_and_leaves_nothing(tmp_path, monkeypatch, promised):
    class Half(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            if promised:
                self.send_header("Content-Length", str(promised))
            else:
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"half of it" if promised else b"ff\r\nhalf of it")

        def log_message(self, *_):
            pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), Half) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/adult.data"
        with pytest.raises(InputError, match=r"Cannot download .* \(IncompleteRead"):
            table.fetched(url, "0" * 64)
        server.shutdown()
    with pytest.raises(InputError, match="Cannot download"):
        table.fetched(url, "0" * 64)  # the server has stopped
    assert not any(tmp_path.rglob("*.*"))
