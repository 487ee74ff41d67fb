"""Makes a failing case small: lines, options, list elements and numbers go as long as it fails in the same way."""

import ast
import copy
import dataclasses


def shrink(case, fails, tries=120):
    """The smallest case found for which `fails` holds."""
    best, left = case, [tries]

    def holds(candidate):
        if candidate == best or left[0] <= 0:
            return False
        left[0] -= 1
        return fails(candidate)

    progress = True
    while progress and left[0] > 0:
        progress = False
        for candidate in candidates(best):
            if holds(candidate):
                best, progress = candidate, True
                break
            if left[0] <= 0:
                break
    return best


def candidates(case):
    """Smaller cases, the boldest first."""
    for change in [dict(steps=1, before=0), dict(steps=1), dict(before=0), dict(weighted=False), dict(batch=2)]:
        changed = dataclasses.replace(case, **change)
        if changed != case:
            yield changed
    seen = {case.source}
    for tree in edits(ast.parse(case.source)):
        try:
            source = ast.unparse(ast.fix_missing_locations(tidy(tree)))
        except Exception:
            continue
        if source not in seen:
            seen.add(source)
            yield dataclasses.replace(case, source=source)


def edits(tree):
    for position in reversed(range(len(tree.body))):
        yield from without(tree, position)
    for edit in [simple_compile, simple_loss]:
        edited = copy.deepcopy(tree)
        if edit(edited):
            yield edited
    yield from smaller_nodes(tree)


def without(tree, position):
    """The tree without a statement; what it made is replaced by what it was made from."""
    line = tree.body[position]
    if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name):
        edited = copy.deepcopy(tree)
        if "compile" not in ast.unparse(line):
            del edited.body[position]
            yield edited
        return
    made = line.targets[0].id
    known = {s.targets[0].id for s in tree.body[:position] if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
    for name in dict.fromkeys(node.id for node in ast.walk(line.value) if isinstance(node, ast.Name) and node.id in known):
        edited = copy.deepcopy(tree)
        del edited.body[position]
        for node in ast.walk(edited):
            if isinstance(node, ast.Name) and node.id == made and isinstance(node.ctx, ast.Load):
                node.id = name
        yield edited


def compile_call(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile":
            return node


def simple_compile(tree):
    return replace_keyword(tree, "optimizer", "keras.optimizers.SGD(0.1)")


def simple_loss(tree):
    return replace_keyword(tree, "loss", "'mse'")


def replace_keyword(tree, key, text):
    call = compile_call(tree)
    for keyword in call.keywords if call else []:
        if keyword.arg == key and ast.unparse(keyword.value) != text:
            keyword.value = ast.parse(text, mode="eval").body
            return True
    return False


def smaller_nodes(tree):
    """One list element, one option or one number less."""
    count = sum(1 for _ in ast.walk(tree))
    for number in range(count):
        for change in [drop_element, drop_keyword, smaller_number, inner_call]:
            for which in range(6):
                edited = copy.deepcopy(tree)
                node = list(ast.walk(edited))[number]
                if not change(edited, node, which):
                    break
                yield edited


def drop_element(tree, node, which):
    if isinstance(node, (ast.List,)) and len(node.elts) > 1 and which < len(node.elts):
        del node.elts[which]
        return True
    if isinstance(node, ast.Dict) and len(node.keys) > 1 and which < len(node.keys):
        del node.keys[which], node.values[which]
        return True
    return False


def drop_keyword(tree, node, which):
    if isinstance(node, ast.Call) and which < len(node.keywords):
        if node.keywords[which].arg in ["optimizer", "loss"]:
            return True
        del node.keywords[which]
        return True
    return False


def smaller_number(tree, node, which):
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1 and which < 2:
        node.value = [1, node.value // 2][which] if node.value > 3 else node.value - 1
        return True
    return False


def inner_call(tree, node, which):
    """`f(g(x))` becomes `f(x)`."""
    if isinstance(node, ast.Call) and which < len(node.args):
        inner = node.args[which]
        if isinstance(inner, ast.Call) and inner.args:
            node.args[which] = inner.args[0]
            return True
        return True
    return False


def tidy(tree):
    """Without lines whose results nobody reads."""
    while True:
        read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        kept = [line for line in tree.body if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name) or line.targets[0].id in read | {"model"}]
        if len(kept) == len(tree.body):
            return tree
        tree.body = kept
