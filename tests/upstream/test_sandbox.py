"""Servers that reach nothing but what their entry allows."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from tests.servers.launch import Launch
from tests.upstream.sandboxes import PROGRAM, gateway_to, need_sandboxes, told
from toolcrib import open_gateway
from toolcrib.upstream import sandbox
from toolcrib.upstream.sandbox_proxy import HostProxy


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    home = Path(os.environ["HOME"])
    (home / ".ssh").mkdir(parents=True, exist_ok=True)
    file = home / ".ssh" / "id_ed25519"
    file.write_text("canary", encoding="utf-8")
    return file


async def test_a_sandboxed_server_can_not_read_the_key_write_outside_or_reach_the_network(
    tmp_path: Path, key_file: Path
) -> None:
    need_sandboxes()
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (other / "notes").write_text("canary", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connect = f"socket.create_connection(('127.0.0.1', {port}), timeout=2)"
        async with gateway_to(tmp_path, sandbox={"write": [str(work)]}) as gateway:
            tried = {
                "key": await told(gateway, f"open({str(key_file)!r}).read()"),
                "home": await told(gateway, "os.listdir(os.path.expanduser('~'))"),
                "other": await told(gateway, f"open({str(other / 'notes')!r}).read()"),
                "write": await told(gateway, f"open({str(other / 'new')!r}, 'w').write('x')"),
                "usr": await told(gateway, "open('/usr/new', 'w').write('x')"),
                "network": await told(gateway, connect),
                "names": await told(gateway, "socket.getaddrinfo('example.com', 80)"),
                "work": await told(gateway, f"open({str(work / 'new')!r}, 'w').write('x')"),
                "tmp": await told(gateway, "open('/tmp/new', 'w').write('x')"),
                "processes": await told(gateway, "[int(name) for name in os.listdir('/proc') if name.isdigit()]"),
            }

    assert "canary" not in str(tried)
    assert tried["home"] == "[]"
    for refused in ("key", "other", "write", "usr", "network", "names"):
        assert "error" in tried[refused].lower(), (refused, tried[refused])
    assert (tried["work"], tried["tmp"]) == ("1", "1")
    assert (work / "new").read_text(encoding="utf-8") == "x"
    assert not (other / "new").exists()
    assert os.getpid() not in json.loads(tried["processes"])


async def test_a_sandboxed_server_can_not_fill_the_memory_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandboxes()
    monkeypatch.setattr(sandbox, "FOLDER_BYTES", 1024**2)
    monkeypatch.setattr(sandbox, "SHARED_MEMORY_BYTES", 1024**2)
    monkeypatch.setenv("HOME", "/home/somebody")
    async with gateway_to(tmp_path, sandbox=True) as gateway:
        for place in ("/tmp/x", "/dev/shm/x", "/home/somebody/x"):
            assert "No space left" in await told(gateway, f"open({place!r}, 'wb').write(bytes(2**21))"), place
        for place in ("/x", "/dev/x", "/etc/x", "/home/x"):
            assert "Read-only" in await told(gateway, f"open({place!r}, 'wb')"), place
        assert await told(gateway, "open('/dev/null', 'wb').write(b'x')") == "1"


async def test_a_sandboxed_server_can_not_change_the_kernel_of_a_machine_where_it_is_root(tmp_path: Path) -> None:
    need_sandboxes()
    # Nothing is written: where it could be, opening is enough to know.
    held = "sys/kernel/core_pattern sys/kernel/ostype sys/vm/swappiness sysrq-trigger mtrr irq/default_smp_affinity".split()
    there = [name for name in held if Path("/proc", name).exists()]
    async with gateway_to(tmp_path, sandbox=True) as gateway:
        for name in there:
            assert "Error" in await told(gateway, f"open('/proc/{name}', 'r+')"), name
        for name in ("keys", "kmsg", "kcore"):
            assert "Error" in await told(gateway, f"open('/proc/{name}').read(1)"), name
        assert await told(gateway, "open('/proc/sys/kernel/ostype').read()") == r"'Linux\n'"


async def test_a_server_that_may_read_everything_sees_no_other_process(tmp_path: Path) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, sandbox={"read": ["/"]}) as gateway:
        assert "root" in await told(gateway, "open('/etc/passwd').read()")
        processes = await told(gateway, "[int(name) for name in os.listdir('/proc') if name.isdigit()]")
        assert os.getpid() not in json.loads(processes)
        assert "Error" in await told(gateway, "open('/proc/sys/kernel/core_pattern', 'r+')")
        assert await told(gateway, "open('/dev/null', 'wb').write(b'x')") == "1"


@pytest.mark.parametrize(("key", "path"), [("read", "/proc"), ("write", "/proc/sys"), ("write", "/sys")])
async def test_the_files_of_the_kernel_can_not_be_named(tmp_path: Path, key: str, path: str) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, sandbox={key: [path]}) as gateway:
        answer = await gateway.execute_tool("s", "run", {"code": "1"})
    assert answer.error is not None
    assert "is not a file on a disk" in answer.error.message


async def test_a_sandboxed_server_sees_certificates_and_no_private_folder_of_the_system(tmp_path: Path) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, sandbox=True) as gateway:
        shown = await told(gateway, "[[*os.walk('/etc/' + name)] for name in ('ssl', 'pki')]")
        assert "private" not in shown
        assert await told(gateway, "os.path.isdir('/etc/ssl/certs')") == str(Path("/etc/ssl/certs").is_dir())


async def test_an_older_bubblewrap_makes_a_sandbox_without_limits_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    need_sandboxes()
    real = which("bwrap")
    older = tmp_path / "bin" / "bwrap"
    older.parent.mkdir()
    older.write_text(
        f'#!/bin/sh\ncase " $* " in *" --size "*|*" --disable-userns "*) echo "Unknown option" >&2; exit 1;; esac\nexec {real} "$@"\n'
    )
    older.chmod(0o755)
    monkeypatch.setenv("PATH", f"{older.parent}:{os.environ['PATH']}")
    async with gateway_to(tmp_path, sandbox=True) as gateway:
        assert await told(gateway, "open('/tmp/x', 'wb').write(b'x')") == "1"

    assert [record.message for record in caplog.records if "limit the memory" in record.message]


async def test_what_an_entry_allows_can_be_read_and_reached(tmp_path: Path) -> None:
    need_sandboxes()
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a").write_text("words", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connect = f"socket.create_connection(('127.0.0.1', {port}), timeout=2).getpeername()[1]"
        async with gateway_to(tmp_path, cwd=str(notes), sandbox={"read": [str(notes)], "network": "all"}) as gateway:
            assert await told(gateway, "open('a').read()") == "'words'"
            assert "Error" in await told(gateway, "open('a', 'w').write('x')")
            assert await told(gateway, connect) == str(port)


async def test_a_sandboxed_server_gets_its_variables_and_no_command_line_has_them(tmp_path: Path) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, env={"API_TOKEN": "canary-7f3a"}, sandbox=True) as gateway:
        assert await told(gateway, "os.environ['API_TOKEN']") == "'canary-7f3a'"
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if _is_readable(file)]
    assert any(b"bwrap" in line for line in lines)
    assert not any(b"canary-7f3a" in line for line in lines)


def _is_readable(file: Path) -> bool:
    try:
        return bool(file.read_bytes())
    except OSError:
        return False


async def test_a_sandboxed_server_can_not_use_the_keys_of_the_kernel(tmp_path: Path) -> None:
    need_sandboxes()
    libc, numbers = ctypes.CDLL(None), {"x86_64": (248, 250), "aarch64": (217, 219)}
    add_key, keyctl = numbers.get(os.uname().machine) or pytest.skip("no numbers of system calls")
    session, read, revoke = ctypes.c_int(-3), 11, 3
    key = libc.syscall(add_key, b"user", b"toolcrib-test", b"canary", ctypes.c_size_t(6), session)
    if key < 0:
        pytest.skip("this system has no keyrings for us")
    there = "__import__('ctypes').create_string_buffer(100)"
    code = f"(lambda room: (__import__('ctypes').CDLL(None).syscall({keyctl}, {read}, {key}, room, 100), room.value))({there})"
    try:
        assert eval(code) == (6, b"canary")
        async with gateway_to(tmp_path, sandbox=True) as gateway:
            assert await told(gateway, code) == "(-1, b'')"
    finally:
        libc.syscall(keyctl, revoke, key)


async def test_a_sandboxed_server_can_not_make_users_of_its_own(tmp_path: Path) -> None:
    need_sandboxes()
    if not _keeps_from_making_users(which("bwrap") or ""):
        pytest.skip("this bubblewrap can't keep a server from it")
    new_user = 0x10000000
    async with gateway_to(tmp_path, sandbox=True) as gateway:
        assert await told(gateway, f"__import__('ctypes').CDLL(None).unshare({new_user})") == "-1"


def _keeps_from_making_users(bubblewrap: str) -> bool:
    told_of_it = subprocess.run([bubblewrap, "--help"], capture_output=True, text=True, check=True).stdout
    return "--disable-userns" in told_of_it and not Path(bubblewrap).stat().st_mode & stat.S_ISUID


async def test_variables_of_the_loader_count_inside_of_the_sandbox_alone(tmp_path: Path) -> None:
    need_sandboxes()
    # Every program that these reach writes a file; inside, nothing can be written there.
    env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded"), "LD_X": "canary-9c1e"}
    async with gateway_to(tmp_path, env=env, sandbox=True) as gateway:
        assert await told(gateway, "os.environ['LD_DEBUG'], os.environ['LD_X']") == "('files', 'canary-9c1e')"
        assert await told(gateway, "[name for name in os.environ if name.startswith('TOOLCRIB_SANDBOX')]") == "[]"
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if _is_readable(file)]
    assert not any(b"canary-9c1e" in line for line in lines)
    assert list(tmp_path.glob("loaded*")) == []


async def test_an_entry_with_another_home_does_not_show_the_own_one(tmp_path: Path) -> None:
    need_sandboxes()
    local = Path(os.environ["HOME"]) / ".local"
    for folder in ("bin", "lib/python3.12", "share"):
        (local / folder).mkdir(parents=True)
    (local / "share" / "notes").write_text("canary", encoding="utf-8")
    program = local / "bin" / "server"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    program.chmod(0o700)
    async with gateway_to(
        tmp_path, command=str(program), args=[], env={"HOME": str(tmp_path / "home")}, sandbox=True
    ) as gateway:
        assert "FileNotFoundError" in await told(gateway, f"open({str(local / 'share' / 'notes')!r}).read()")


async def test_what_a_server_wrote_opens_nothing_at_its_next_start(tmp_path: Path, key_file: Path) -> None:
    need_sandboxes()
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other):
        folder.mkdir()
    (other / "package.json").write_text("{}", encoding="utf-8")
    program = work / "server"
    program.write_text(f"#!{os.path.realpath(sys.executable)}\n{PROGRAM}", encoding="utf-8")
    program.chmod(0o700)
    (work / "script").symlink_to(key_file)
    (work / "pyvenv.cfg").write_text(f"home = {other}\n", encoding="utf-8")
    entry = {"command": str(program), "args": [str(work / "script")]}
    async with gateway_to(tmp_path, **entry, sandbox={"write": [str(work)]}) as gateway:
        assert "FileNotFoundError" in await told(gateway, f"open({str(key_file)!r}).read()")
        assert "FileNotFoundError" in await told(gateway, f"open({str(other / 'package.json')!r}).read()")


@pytest.mark.parametrize(
    "makes", ["first line", "link", "link in a venv", "first line by name", "first line to a file"]
)
async def test_a_program_that_its_server_may_write_opens_no_other_project(tmp_path: Path, makes: str) -> None:
    need_sandboxes()
    work, other = tmp_path / "work", tmp_path / "other"
    run = other / "node_modules" / ".bin" / "run"
    run.parent.mkdir(parents=True)
    (work / "bin").mkdir(parents=True)
    (other / "package.json").write_text("{}", encoding="utf-8")
    run.write_text(f"#!/bin/sh\nexec {sys.executable} $1\n", encoding="utf-8")
    run.chmod(0o700)
    program = work / "bin" / "server"
    if makes.startswith("link"):
        program.symlink_to(run)
    else:
        runner = {"first line": run, "first line by name": "/usr/bin/env run"}.get(makes, other / "package.json")
        program.write_text(f"#!{runner}\n{PROGRAM}", encoding="utf-8")
        program.chmod(0o700)
    if makes == "link in a venv":
        (work / "pyvenv.cfg").write_text(f"home = {other}\n", encoding="utf-8")
    entry = {"command": str(program), "args": [], "env": {"PATH": f"{run.parent}:{os.environ['PATH']}"}}
    async with gateway_to(tmp_path, **entry, sandbox={"write": [str(work)]}) as gateway:
        answer = await gateway.execute_tool("s", "run", {"code": "1"})
    assert answer.error is not None
    assert "which its sandbox does not show" in answer.error.message


async def test_a_virtual_environment_that_its_server_may_write_runs_on_the_python_it_was_made_from(
    tmp_path: Path,
) -> None:
    need_sandboxes()
    work, python = tmp_path / "work", tmp_path / "python"
    library = python / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in (work / "bin", python / "bin", library):
        folder.mkdir(parents=True)
    # What a Python is known by; the rest is where the link leads.
    (library / "os.py").touch()
    (python / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    (work / "bin" / "python").symlink_to(python / "bin" / "python3")
    (work / "bin" / "server").write_text(f"#!{work / 'bin' / 'python'} -I\n{PROGRAM}", encoding="utf-8")
    (work / "bin" / "server").chmod(0o700)
    async with gateway_to(
        tmp_path, command=str(work / "bin" / "server"), args=[], sandbox={"write": [str(work)]}
    ) as gateway:
        assert await told(gateway, f"os.path.isfile({str(python / 'bin' / 'python3')!r})") == "True"


@pytest.mark.parametrize("key", ["read", "write"])
async def test_a_named_path_that_the_server_made_a_link_of_is_refused(tmp_path: Path, key_file: Path, key: str) -> None:
    need_sandboxes()
    work = tmp_path / "work"
    work.mkdir()
    (work / "data").symlink_to(key_file.parent)
    paths: dict[str, list[str]] = {"read": [], "write": [str(work)]}
    paths[key].append(str(work / "data"))
    async with gateway_to(tmp_path, sandbox=paths) as gateway:
        answer = await gateway.execute_tool("s", "run", {"code": "1"})
    assert answer.error is not None
    assert "is a link out of a folder that the server may write" in answer.error.message


async def test_what_is_named_for_reading_inside_of_what_may_be_written_is_only_read(tmp_path: Path) -> None:
    need_sandboxes()
    fixed = tmp_path / "work" / "fixed"
    fixed.mkdir(parents=True)
    sandbox = {"read": [str(fixed)], "write": [str(fixed.parent)]}
    async with gateway_to(tmp_path, sandbox=sandbox) as gateway:
        assert "Error" in await told(gateway, f"open({str(fixed / 'a')!r}, 'w').write('x')")
        assert await told(gateway, f"open({str(fixed.parent / 'a')!r}, 'w').write('x')") == "1"


async def test_a_sandboxed_server_ends_with_all_that_it_started(tmp_path: Path) -> None:
    need_sandboxes()
    code = "__import__('subprocess').Popen(['sleep', '987.5'], start_new_session=True).pid > 0"
    async with gateway_to(tmp_path, sandbox=True) as gateway:
        assert await told(gateway, code) == "True"
        # A process has no command line for a moment after it was started.
        assert _sleepers_become(1)
    assert _sleepers_become(0)


def _sleepers_become(number: int) -> bool:
    deadline = time.monotonic() + 10
    while _sleepers() != number and time.monotonic() < deadline:
        time.sleep(0.02)
    return _sleepers() == number


def _sleepers() -> int:
    lines = (file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if _is_readable(file))
    return sum(line == b"sleep\x00987.5\x00" for line in lines)


@pytest.mark.parametrize(
    ("platform", "found", "reason"),
    [("darwin", "/usr/bin/bwrap", "not_linux"), ("linux", None, "not_installed"), ("linux", "/bin/false", "forbidden")],
)
async def test_without_bubblewrap_a_sandboxed_server_is_refused_with_the_reason(
    tmp_path: Path, platform: str, found: str | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "started"
    monkeypatch.setattr(sandbox, "which", lambda _name: found)
    monkeypatch.setattr(sandbox.sys, "platform", platform)
    async with gateway_to(tmp_path, args=["-c", f"open({str(marker)!r}, 'w')"], sandbox=True) as gateway:
        answer = await gateway.execute_tool("s", "run", {"code": "1"})

    assert answer.error is not None
    assert answer.error.code == "SANDBOX_UNAVAILABLE"
    assert answer.error.details["reason"] == reason
    assert "remove `sandbox`" in answer.error.hint
    assert not marker.exists()


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("npx", ["-y", "some-server"]),
        ("uvx", ["some-server"]),
        ("sh", ["-c", "exec npx -y some-server"]),
        ("docker", ["run", "-i", "image"]),
        ("uv", ["tool", "run", "some-server"]),
    ],
)
async def test_a_command_that_downloads_what_it_runs_is_refused_in_a_sandbox(
    tmp_path: Path, command: str, args: list[str]
) -> None:
    async with gateway_to(tmp_path, command=command, args=args, sandbox=True) as gateway:
        answer = await gateway.execute_tool("s", "run", {})
    assert answer.error is not None
    assert (answer.error.code, answer.error.details["reason"]) == ("SANDBOX_UNAVAILABLE", "downloads")


async def test_a_path_that_is_not_there_is_said_before_anything_starts(tmp_path: Path) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, sandbox={"write": [str(tmp_path / "gone")]}) as gateway:
        answer = await gateway.execute_tool("s", "run", {})
    assert answer.error is not None
    assert "gone does not exist" in answer.error.message


async def test_a_request_for_an_endless_port_is_refused_like_any_other() -> None:
    proxy = HostProxy(["api.example.com"], server="s")
    await proxy.open()
    try:
        reader, writer = await asyncio.open_unix_connection(proxy.path)
        writer.write(b"CONNECT api.example.com:%b HTTP/1.1\r\n\r\n" % (b"4" * 5000))
        assert (await reader.readline()).startswith(b"HTTP/1.1 403")
        writer.close()
    finally:
        proxy.close()


ASKS = "__import__('urllib.request').request.urlopen({url!r}, timeout=5).status"


async def test_a_listed_host_is_reached_and_no_other(tmp_path: Path) -> None:
    need_sandboxes()
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(5))
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener, gateway_to(tmp_path, sandbox={"network": [f"localhost:{port}"]}) as gateway:
        allowed = await told(gateway, ASKS.format(url=f"https://localhost:{port}/"))
        other_port = await told(gateway, ASKS.format(url=f"https://localhost:{port + 1}/"))
        other_host = await told(gateway, ASKS.format(url=f"https://127.0.0.1:{port}/"))
        direct = await told(gateway, f"socket.create_connection(('127.0.0.1', {port}), timeout=2)")

    # The beginning of a TLS handshake came through; nothing here could finish it.
    assert [beginning[:1] for beginning in heard] == [b"\x16"]
    assert "403" not in allowed
    assert "403" in other_port
    assert "403" in other_host
    assert "ConnectionRefusedError" in direct


async def test_a_listed_name_does_not_lead_into_our_own_network(caplog: pytest.LogCaptureFixture) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        proxy = HostProxy([f"api.example.com:{port}"], server="notes", resolve=resolve)
        await proxy.open()
        try:
            for _ in range(2):
                reader, writer = await asyncio.open_unix_connection(proxy.path)
                writer.write(f"CONNECT api.example.com:{port} HTTP/1.1\r\n\r\n".encode())
                assert (await reader.readline()).startswith(b"HTTP/1.1 502")
                writer.close()
        finally:
            proxy.close()
    assert not proxy.path.exists()
    # Why is for the person to read, once; the server hears no more than that it can't.
    (line,) = [record.message for record in caplog.records if "notes" in record.message]
    assert "api.example.com" in line
    assert "127.0.0.1, which is in your own network" in line
    assert "network: all" in line


async def test_real_servers_in_node_and_python_run_in_a_sandbox(
    tmp_path: Path, filesystem_server: Callable[[Path], Launch], time_server: Launch
) -> None:
    need_sandboxes()
    work = tmp_path / "work"
    work.mkdir()
    files = filesystem_server(work)
    servers = {
        "files": {**files.entry(), "sandbox": {"write": [str(work)]}},
        "time": {**time_server.entry(), "sandbox": True},
    }
    config = tmp_path / "toolcrib.json"
    config.write_text(json.dumps({"servers": servers, "maxRetries": 0}), encoding="utf-8")
    async with asyncio.timeout(50), open_gateway(config, env=dict(os.environ)) as gateway:
        arguments = {"path": str(work / "a"), "content": "words"}
        wrote = await gateway.execute_tool("files", "write_file", arguments)
        told_time = await gateway.execute_tool("time", "get_current_time", {"timezone": "Europe/Paris"})

    assert (wrote.error, told_time.error) == (None, None)
    assert (work / "a").read_text(encoding="utf-8") == "words"
