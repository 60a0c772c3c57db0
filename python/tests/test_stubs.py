"""The stubs name every setting and every class."""

from __future__ import annotations

import ast
import pathlib

import clewline

STUB = pathlib.Path(clewline.__file__).with_name("_native.pyi")


def test_every_setting_has_a_type():
    tree = ast.parse(STUB.read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    named = [
        node.target.id
        for node in classes["_Settings"].body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    assert named == [name for name, _, _ in clewline.settings()]


def test_everything_is_documented():
    for name in clewline.__all__:
        thing = getattr(clewline, name)
        assert name == "__version__" or thing.__doc__, name
