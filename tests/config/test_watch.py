from __future__ import annotations

import asyncio
import os

from toolcrib.config.watch import FileWatch, signature, watch_files

BOUND = 10


def test_an_edit_counts_once_it_held_still(tmp_path):
    file = tmp_path / "a"
    file.write_text("1")
    watch = FileWatch(lambda: [file])
    assert not watch.poll()
    file.write_text("12")
    assert not watch.poll()
    assert watch.poll()
    assert not watch.poll()


def test_edits_in_a_row_are_one(tmp_path):
    file = tmp_path / "a"
    watch = FileWatch(lambda: [file])
    for text in ("1", "22", "333"):
        file.write_text(text)
        assert not watch.poll()
    assert watch.poll()
    assert not watch.poll()


def test_a_replaced_a_new_and_a_removed_file_are_noticed(tmp_path):
    file = tmp_path / "a"
    before = signature([file])
    file.write_text("1")
    created = signature([file])
    stamp = file.stat().st_mtime_ns
    other = tmp_path / "b"
    other.write_text("2")
    os.utime(other, ns=(stamp, stamp))
    other.replace(file)
    replaced = signature([file])
    file.unlink()
    assert before != created
    assert created != replaced
    assert signature([file]) == before


def test_a_path_that_comes_to_be_watched_is_no_edit_but_its_edits_are(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    paths = [first]
    watch = FileWatch(lambda: paths)
    second.write_text("1")
    paths.append(second)
    assert not watch.poll()
    assert not watch.poll()
    second.write_text("22")
    assert not watch.poll()
    assert watch.poll()


def test_an_impossible_path_is_a_missing_file(tmp_path):
    assert list(signature([tmp_path / "a\x00b"]).values()) == [None]


async def test_the_watcher_calls_back_until_it_is_stopped(tmp_path):
    file = tmp_path / "a"
    noticed, stop = asyncio.Event(), asyncio.Event()

    async def changed() -> None:
        noticed.set()

    looked = asyncio.Event()

    def paths():
        looked.set()
        return [file]

    task = asyncio.create_task(watch_files(paths, changed, interval_seconds=lambda: 0.005, stop=stop))
    await asyncio.wait_for(looked.wait(), BOUND)
    file.write_text("1")
    await asyncio.wait_for(noticed.wait(), BOUND)
    stop.set()
    await asyncio.wait_for(task, BOUND)
    assert not task.cancelled()
