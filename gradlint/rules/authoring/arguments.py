"""Read, add, replace or remove arguments of a call; line breaks, comments and trailing commas are kept."""

from __future__ import annotations

import libcst as cst


def keyword_of(call: cst.Call, name: str) -> cst.Arg | None:
    """Return the argument passed by that keyword."""
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def argument_of(call: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the x of `torch.exp(x)` or of `x.exp()`."""
    if not isinstance(call, cst.Call):
        return None
    if not call.args:
        return call.func.value if isinstance(call.func, cst.Attribute) else None
    alone = len(call.args) == 1 and call.args[0].keyword is None and not call.args[0].star
    return call.args[0].value if alone else None


def holds(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    """Return whether a node is another node or is inside it."""
    return outer is inner or any(holds(child, inner) for child in outer.children)


def without(call: cst.Call, *gone: cst.Arg) -> cst.Call:
    """Return the call without some of its arguments."""
    kept = [arg for arg in call.args if arg not in gone]
    if not kept:
        return call.with_changes(args=(), whitespace_before_args=cst.SimpleWhitespace(""))
    last = call.args[-1]
    if last in gone:
        kept[-1] = kept[-1].with_changes(
            comma=_closing(kept[-1].comma, last.comma), whitespace_after_arg=last.whitespace_after_arg
        )
    return call.with_changes(args=kept)


def _closing(
    inner: cst.Comma | cst.MaybeSentinel, last: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    """Return the comma for an argument that is now the last: its own comment, the line end of the old last."""
    if not isinstance(last, cst.Comma) or not isinstance(inner, cst.Comma):
        return last
    return last.with_changes(whitespace_after=_row_end(inner.whitespace_after, last.whitespace_after))


def extended(call: cst.Call, name: str, value: str) -> cst.Call | None:
    """Return the call with a keyword argument replaced or added, in the layout of the others.

    Return None if the only argument is a generator without its own parentheses, which allows no further
    argument.
    """
    new = cst.parse_expression(value)
    given = keyword_of(call, name)
    if given is not None:
        return call.with_changes(args=[arg.with_changes(value=new) if arg is given else arg for arg in call.args])
    nothing = cst.SimpleWhitespace("")
    more = cst.Arg(new, cst.Name(name), cst.AssignEqual(nothing, nothing))
    if not call.args:
        return call.with_changes(args=[more])
    *before, last = call.args
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return None
    gap = _gap(call)
    if isinstance(last.comma, cst.Comma):
        more = more.with_changes(comma=last.comma.with_changes(whitespace_after=_plain(last.comma.whitespace_after)))
        gap = _row_end(last.comma.whitespace_after, gap)
    comma = cst.Comma(whitespace_after=gap)
    more = more.with_changes(whitespace_after_arg=last.whitespace_after_arg)
    last = last.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*before, last, more])


def _gap(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """Return the white space between two arguments; a single argument on its own line sets the layout."""
    if len(call.args) > 1:
        comma = call.args[-2].comma
        return _plain(comma.whitespace_after) if isinstance(comma, cst.Comma) else cst.SimpleWhitespace(" ")
    before = call.whitespace_before_args
    return _plain(before) if isinstance(before, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")


def _plain(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """Return white space without its comments."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=())


def _row_end(
    first: cst.BaseParenthesizableWhitespace, rest: cst.BaseParenthesizableWhitespace
) -> cst.BaseParenthesizableWhitespace:
    """Combine the comment of one line end with the following line of another."""
    if isinstance(first, cst.ParenthesizedWhitespace) and isinstance(rest, cst.ParenthesizedWhitespace):
        return rest.with_changes(first_line=first.first_line, empty_lines=first.empty_lines)
    return rest
