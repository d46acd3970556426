from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.search.tiny_encoder import HEADS, POSITIONS, RANK, VOCABULARY, WIDTH, Arrays, random_arrays, weights_file
from toolcrib.errors import WeightsUnreadable
from toolcrib.model.tool import Tool
from toolcrib.search.arrays_file import ArraysFile
from toolcrib.search.encoder import Encoder
from toolcrib.search.encoder_text import document_text
from toolcrib.search.tokenizer import Tokenizer, words
from toolcrib.search.transformer import gelu, unpacked_rows
from training.compact import WORD_GROUP, quantize_words

LAYERS = 2


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(VOCABULARY)


@pytest.fixture
def arrays() -> Arrays:
    return random_arrays(LAYERS)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Arrays], Path]:
    def written(arrays: Arrays) -> Path:
        path = tmp_path / "encoder.safetensors"
        path.write_bytes(weights_file(arrays, LAYERS))
        return path

    return written


@pytest.fixture
def encoder(arrays: Arrays, write: Callable[[Arrays], Path]) -> Encoder:
    return Encoder.load(write(arrays))


class TestVectors:
    def test_vectors_are_of_unit_length_and_in_the_order_of_the_texts(self, encoder: Encoder) -> None:
        texts = ["send mail", "weather", "a file! send files? unbelievable - mail", ""]
        vectors = encoder.encode(texts)
        assert vectors.shape == (4, encoder.dimensions)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        for text, vector in zip(texts, vectors, strict=True):
            np.testing.assert_allclose(encoder.encode([text])[0], vector, atol=1e-5)

    def test_no_texts_give_no_vectors(self, encoder: Encoder) -> None:
        assert encoder.encode([]).shape == (0, WIDTH)

    def test_the_same_texts_give_the_same_bits(self, encoder: Encoder) -> None:
        texts = ["send mail", "weather?", "files"]
        assert encoder.encode(texts).tobytes() == encoder.encode(texts).tobytes()

    def test_many_texts_of_unequal_length_agree_with_each_alone(self, encoder: Encoder) -> None:
        texts = ["mail " * count for count in (1, 3, 2, 25, 14, 7)] * 30
        vectors = encoder.encode(texts)
        for place in (0, 3, 100, 179):
            np.testing.assert_allclose(encoder.encode([texts[place]])[0], vectors[place], atol=1e-5)

    def test_only_the_beginning_of_a_long_text_counts(self, encoder: Encoder) -> None:
        start = "mail " * POSITIONS
        np.testing.assert_allclose(encoder.encode([start + "weather"]), encoder.encode([start]), atol=1e-6)

    def test_the_forward_pass_agrees_with_one_written_out_token_by_token(
        self, encoder: Encoder, arrays: Arrays
    ) -> None:
        pieces = Tokenizer(VOCABULARY).encode("send mail unbelievable", POSITIONS)
        np.testing.assert_allclose(
            encoder.encode(["send mail unbelievable"])[0], slow_vector(arrays, pieces), atol=1e-5
        )

    def test_queries_are_moved_by_the_matrix_that_the_weights_carry(
        self, arrays: Arrays, write: Callable[[Arrays], Path]
    ) -> None:
        matrix = np.random.default_rng(2).normal(size=(WIDTH, WIDTH)).astype(np.float16)
        encoder = Encoder.load(write({**arrays, "asking": matrix}))
        moved = encoder.encode(["send mail", "weather"]) @ matrix.astype(np.float32)
        expected = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        np.testing.assert_allclose(encoder.encode_queries(["send mail", "weather"]), expected, atol=1e-5)

    def test_without_such_a_matrix_queries_are_read_as_tools_are(self, encoder: Encoder) -> None:
        assert encoder.encode_queries(["send mail"]).tobytes() == encoder.encode(["send mail"]).tobytes()

    def test_two_weights_to_a_byte_count_as_the_same_weights_in_bytes_of_their_own(
        self, arrays: Arrays, write: Callable[[Arrays], Path]
    ) -> None:
        half_bytes = in_half_bytes(arrays)
        in_bytes = Encoder.load(write(half_bytes.whole)).encode(["send mail", "weather? a file!"])
        packed = Encoder.load(write(half_bytes.packed)).encode(["send mail", "weather? a file!"])
        np.testing.assert_allclose(packed, in_bytes, atol=1e-5)


@dataclass(frozen=True)
class HalfBytes:
    """The same sixteen values a matrix, one to a byte and two to a byte."""

    whole: Arrays
    packed: Arrays


def in_half_bytes(arrays: Arrays) -> HalfBytes:
    whole, packed = dict(arrays), dict(arrays)
    for name in (key.removesuffix(".bias") for key in arrays if f"{key.removesuffix('.bias')}.scale" in arrays):
        codes = (arrays[f"{name}.weight"].astype(np.int16) + 127) // 16
        # Half bytes stand for -7.5 to 7.5: twice that are whole numbers.
        whole[f"{name}.weight"] = (2 * codes - 15).astype(np.int8)
        whole[f"{name}.scale"] = arrays[f"{name}.scale"] * np.float32(8)
        half = len(codes) // 2
        packed[f"{name}.weight"] = (codes[:half] | (codes[half:] << 4)).astype(np.uint8)
        packed[f"{name}.scale"] = arrays[f"{name}.scale"] * np.float32(16)
    return HalfBytes(whole, packed)


class TestGelu:
    def test_it_is_exact_to_a_millionth(self) -> None:
        points = np.linspace(-9, 9, 3001, dtype=np.float32)
        exact = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in points.tolist()]
        computed = points.copy()
        gelu(computed)
        np.testing.assert_allclose(computed, exact, atol=1e-6)


class TestWordPieces:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Send MAIL", ["send", "mail"]),
            ("mail-server!", ["mail", "-", "server", "!"]),
            ("Café", ["cafe"]),
            ("東京weather", ["東", "京", "weather"]),
            ("a\tb\nc\u00a0d", ["a", "b", "c", "d"]),
            ("x\x00y\u200bz\ufffd", ["xyz"]),
            ("a\x01b", ["ab"]),
            ("naïve…résumé", ["naive", "…", "resume"]),
        ],
    )
    def test_words_follow_the_rules_of_the_uncased_vocabulary(self, text: str, expected: list[str]) -> None:
        assert words(text) == expected

    def test_the_longest_piece_wins_and_continues_with_marked_pieces(self, tokenizer: Tokenizer) -> None:
        assert pieces_of(tokenizer, "unbelievable files") == ["un", "##believ", "##able", "file", "##s"]

    def test_a_word_that_does_not_come_out_even_is_unknown_as_a_whole(self, tokenizer: Tokenizer) -> None:
        assert pieces_of(tokenizer, "unzip mail") == ["[UNK]", "mail"]

    def test_a_word_of_more_than_a_hundred_letters_is_unknown(self, tokenizer: Tokenizer) -> None:
        assert pieces_of(tokenizer, "a" + "b" * 99) == ["a", *["##b"] * 99]
        assert pieces_of(tokenizer, "a" + "b" * 100) == ["[UNK]"]

    def test_marks_stand_around_a_text_and_count_towards_its_limit(self, tokenizer: Tokenizer) -> None:
        assert [VOCABULARY[number] for number in tokenizer.encode("mail mail mail", 4)] == [
            "[CLS]",
            "mail",
            "mail",
            "[SEP]",
        ]

    @given(st.text(max_size=200))
    def test_any_text_gives_numbers_of_the_vocabulary_within_the_limit(self, text: str) -> None:
        numbers = Tokenizer(VOCABULARY).encode(text, 16)
        assert 2 <= len(numbers) <= 16
        assert all(0 <= number < len(VOCABULARY) for number in numbers)


class TestWeightsFile:
    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(WeightsUnreadable, match=r"nothing\.safetensors"):
            Encoder.load(tmp_path / "nothing.safetensors")

    @pytest.mark.parametrize("size", [0, 5, 40, 3_000])
    def test_a_file_cut_short_is_refused(self, arrays: Arrays, write: Callable[[Arrays], Path], size: int) -> None:
        path = write(arrays)
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(WeightsUnreadable):
            Encoder.load(path)

    @given(st.binary(max_size=300))
    def test_any_bytes_are_refused_or_read(self, tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
        path = tmp_path_factory.mktemp("weights") / "any"
        path.write_bytes(content)
        with pytest.raises(WeightsUnreadable):
            Encoder.load(path)

    def test_a_file_without_one_of_its_matrices_is_refused(
        self, arrays: Arrays, write: Callable[[Arrays], Path]
    ) -> None:
        del arrays["layers.1.widen.weight"]
        with pytest.raises(WeightsUnreadable):
            Encoder.load(write(arrays))

    def test_words_in_another_number_of_bits_are_refused(self, arrays: Arrays, write: Callable[[Arrays], Path]) -> None:
        arrays["words.weight"] = arrays["words.weight"][:, : RANK // 2]
        with pytest.raises(WeightsUnreadable):
            Encoder.load(write(arrays))

    @given(st.integers(0, 1_000))
    def test_words_are_read_as_training_packs_them(self, seed: int) -> None:
        matrix = np.random.default_rng(seed).normal(size=(5, 2 * WORD_GROUP * 2))
        packed, scale = quantize_words(matrix)
        steps = np.repeat(scale.astype(np.float32), WORD_GROUP, axis=1)
        is_near = np.abs(unpacked_rows(packed, scale) - matrix) <= steps
        # The few largest numbers of a stretch may be cut off, for the sake of the others.
        assert is_near.mean() > 0.9

    def test_arrays_come_back_as_they_were_written_whoever_changes_them_meanwhile(
        self, arrays: Arrays, write: Callable[[Arrays], Path]
    ) -> None:
        path = write(arrays)
        changed = ArraysFile.open(path)
        changed.arrays["positions"][:] = 0
        read = ArraysFile.open(path)
        assert set(read.arrays) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(read.arrays[name], array)


class TestToolText:
    def test_a_tool_reads_server_name_description_parameters(self) -> None:
        tool = make_tool("github", "createPullRequest_v2", "Open a pull\n  request.", ["baseBranch", "dry_run"])
        assert document_text(tool) == "github create Pull Request v2: Open a pull request. | base Branch, dry run"

    def test_missing_parts_leave_no_gaps(self) -> None:
        assert document_text(make_tool("", "ping", "", [])) == "ping:"
        assert document_text(make_tool("net", "ping", "", ["host"])) == "net ping: | host"

    def test_brands_in_server_names_stay_whole(self) -> None:
        assert document_text(make_tool("YouTube-data", "search", "", [])) == "YouTube data search:"

    @pytest.mark.parametrize(
        ("given_text", "kept"),
        [
            ("Deploy Server Notion @smithery/notion Try in Playground list-databases", "list-databases"),
            ("Description not available", ""),
            ("Tool description not accessible via automated extraction", ""),
            ("Explains why a description not available elsewhere matters.", None),
        ],
    )
    def test_what_registries_put_in_place_of_a_description_is_left_out(self, given_text: str, kept: str | None) -> None:
        text = document_text(make_tool("s", "t", given_text, []))
        assert text == f"s t: {given_text if kept is None else kept}".strip()

    def test_the_title_stands_in_for_a_missing_description(self) -> None:
        tool = Tool.from_mcp("s", {"name": "t", "title": "Send a fax"})
        assert document_text(tool) == "s t: Send a fax"

    def test_a_long_description_and_many_parameters_are_cut(self) -> None:
        text = document_text(make_tool("s", "t", "x" * 5_000, [f"p{number}" for number in range(40)]))
        assert text.count("x") == 1_200
        assert text.endswith("| p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15")

    @pytest.mark.parametrize(
        "schema", [None, [], {"properties": None}, {"properties": ["a"]}, {"properties": {"": {}}}]
    )
    def test_a_schema_of_another_shape_does_no_harm(self, schema: object) -> None:
        tool = Tool.from_mcp("s", {"name": "t", "description": "d", "inputSchema": schema})
        assert document_text(tool) == "s t: d"


def make_tool(server: str, name: str, description: str, parameters: list[str]) -> Tool:
    schema = {"type": "object", "properties": {parameter: {} for parameter in parameters}}
    return Tool.from_mcp(server, {"name": name, "description": description, "inputSchema": schema})


def pieces_of(tokenizer: Tokenizer, text: str) -> list[str]:
    return [VOCABULARY[number] for number in tokenizer.pieces(text, 1_000)]


def word_number(arrays: Mapping[str, NDArray[Any]], piece: int, place: int) -> float:
    """The number that stands at a place of a word's row: six bits of the 24 that one of each quarter share."""
    quarter, at = divmod(place, RANK // 4)
    shared = sum(int(arrays["words.weight"][piece, part * RANK // 4 + at]) << (8 * part) for part in range(3))
    code = shared >> (6 * quarter) & 63
    return (code - 31.5) * float(arrays["words.scale"][piece, place // (RANK // 2)])


def slow_vector(arrays: Mapping[str, NDArray[Any]], pieces: list[int]) -> NDArray[np.float64]:
    """The same model in loops and 64 bits, as a text book writes it."""

    def linear(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        weight = arrays[f"{name}.weight"].astype(np.float64) * arrays[f"{name}.scale"]
        return np.asarray(rows @ weight + arrays[f"{name}.bias"])

    def norm(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = rows - rows.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(scaled * arrays[f"{name}.gain"] + arrays[f"{name}.bias"])

    rows = np.array([[word_number(arrays, piece, place) for place in range(RANK)] for piece in pieces])
    values = rows @ arrays["projection"].astype(np.float64) + arrays["positions"][: len(pieces)].astype(np.float64)
    values = norm(values, "embedding_norm")
    size = WIDTH // HEADS
    for layer in (f"layers.{number}" for number in range(LAYERS)):
        queries, keys, contents = np.split(linear(values, f"{layer}.attend"), 3, axis=1)
        mixed = np.zeros_like(values)
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            for place in range(len(pieces)):
                weights = np.exp(keys[:, own] @ queries[place, own] / math.sqrt(size))
                mixed[place, own] = weights @ contents[:, own] / weights.sum()
        values = norm(values + linear(mixed, f"{layer}.attended"), f"{layer}.attended_norm")
        wide = linear(values, f"{layer}.widen")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        values = norm(values + linear(wide, f"{layer}.narrow"), f"{layer}.narrow_norm")
    mean = values.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))
