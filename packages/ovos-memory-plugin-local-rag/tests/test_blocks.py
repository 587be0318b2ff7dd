"""What chromadb's index files hold beside vectors."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ovos_memory.local_rag.stores.blocks import blank_unused, index_bytes


def index(folder: Path, *, version: int = 1, room: int = 4, used: int = 1, size: int = 10) -> Path:
    segment = folder / "segment"
    segment.mkdir(exist_ok=True)
    (segment / "header.bin").write_bytes(struct.pack("=iQQQQ", version, 0, room, used, size) + bytes(8))
    (segment / "data_level0.bin").write_bytes(b"x" * 40)
    return segment / "data_level0.bin"


def test_what_no_vector_uses_is_zeros_and_the_vectors_stay(tmp_path: Path) -> None:
    data = index(tmp_path)

    blank_unused(tmp_path)

    assert data.read_bytes() == b"x" * 10 + bytes(30)
    assert index_bytes(tmp_path) == 40


@pytest.mark.parametrize("other", [{"version": 2}, {"room": 5}, {"used": 5}, {"size": 9}])
def test_a_file_of_another_form_is_left_alone(other: dict[str, int], tmp_path: Path) -> None:
    data = index(tmp_path, **other)

    blank_unused(tmp_path)

    assert data.read_bytes() == b"x" * 40


def test_a_header_that_is_cut_is_left_alone(tmp_path: Path) -> None:
    data = index(tmp_path)
    data.with_name("header.bin").write_bytes(b"\x01")

    blank_unused(tmp_path)

    assert data.read_bytes() == b"x" * 40
