"""Which files are source code, by their name or by the interpreter that their first line asks for."""

from pathlib import PurePath

_SUFFIX_LIST = """
    .ada .adb .ads .agda .applescript .as .asm .awk .bas .bash .bat .bb .c .c++ .cabal .cbl .cc .cfg .cjs .cl
    .clj .cljs .cmake .cmd .cob .coffee .conf .cpp .cr .cs .css .cu .cuh .cxx .d .dart .diff .dockerfile .dpr .ebuild
    .el .elm .erl .ex .exs .f .f03 .f08 .f77 .f90 .f95 .fish .for .fs .fsx .gd .glsl .go .gradle .graphql .groovy
    .h .h++ .hcl .hh .hpp .hrl .hs .hx .hxx .idl .ini .inl .ino .ipp .java .jl .js .jsx .kt .kts .less .lhs .lisp
    .ll .lua .m .m4 .mak .mjs .mk .ml .mli .mm .mts .nim .nix .nsi .pas .patch .php .pl .pm .pp .pro .properties
    .proto .ps1 .psm1 .purs .pxd .py .pyi .pyw .pyx .qml .r .rake .rb .rkt .rs .s .sass .scala .scm .scss .sh
    .sln .sol .sql .st .styl .sv .svelte .svh .swift .tcl .tex .tf .thrift .toml .ts .tsx .v .vala .vb .vbs
    .verilog .vhd .vhdl .vim .vue .wat .x86 .xsl .xslt .y .yaml .yml .zig .zsh
"""
_NAME_LIST = """
    brewfile build build.bazel cmakelists.txt containerfile dockerfile gemfile gnumakefile jenkinsfile justfile
    makefile meson.build procfile rakefile sconscript sconstruct vagrantfile workspace.bazel
"""
SUFFIXES = frozenset(_SUFFIX_LIST.split())
NAMES = frozenset(_NAME_LIST.split())


def is_source_code(name: str) -> bool:
    """True where a file of this name holds source code or the settings of a program."""
    path = PurePath(name)
    return path.suffix.lower() in SUFFIXES or path.name.lower() in NAMES


def is_script(text: str) -> bool:
    """True where the first line names an interpreter, as in `#!/bin/sh`."""
    return text.startswith("#!") and "/" in text[: text.find("\n") + 1 or None]
