"""A mypy plugin: the constructors of PySide6's classes take any property or signal of the object as a keyword.

PySide6 does so at run time (`QPushButton("Start", objectName="start")`), but its stubs say so for few classes only.
Every other call, and what is positional in these, is checked as the stubs have it.
"""

from collections.abc import Callable

from mypy.nodes import ARG_STAR2
from mypy.plugin import FunctionSigContext, MethodSigContext, Plugin
from mypy.types import AnyType, FunctionLike, TypeOfAny


class PySidePlugin(Plugin):
    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        return _with_properties if _is_widget_class(fullname) else None

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        return _with_properties if fullname.endswith(".__init__") and "PySide6." in fullname else None


def _is_widget_class(fullname: str) -> bool:
    """`PySide6.QtWidgets.QPushButton`, and the plain subclasses of `app` that have no constructor of their own."""
    return fullname.startswith("PySide6.") and fullname.rpartition(".")[2].startswith("Q")


def _with_properties(context: FunctionSigContext | MethodSigContext) -> FunctionLike:
    signature = context.default_signature
    if ARG_STAR2 in signature.arg_kinds:
        return signature
    return signature.copy_modified(
        arg_types=[*signature.arg_types, AnyType(TypeOfAny.explicit)],
        arg_kinds=[*signature.arg_kinds, ARG_STAR2],
        arg_names=[*signature.arg_names, "properties"],
    )


def plugin(_version: str) -> type[Plugin]:
    return PySidePlugin
