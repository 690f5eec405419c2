#!/usr/bin/env python3
"""Draw a random sample of the project's English, to be judged by a reader: 40 comments, 20 messages, 10
paragraphs of documents and 10 help lines.  Usage: tools/sample_words.py [SEED]"""
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRING = r'"(?:[^"\\\n]|\\.)*"'
STRINGS = re.compile(rf'{STRING}(?:\s*{STRING})*')
# A statement that makes an error or prints a message, with the functions that add to the error.
MESSAGE = re.compile(rf'\b(?!squared_error)(?:\w*_error|Error|print_message|note)\(((?:[^;"]|{STRING})*);', re.S)
PART = re.compile(r'\)\s*\.(found|expected|remedy)\(')
HELP = re.compile(
    rf'(?:add_option(?:_function<[^>]*>)?|add_flag(?:_function)?|add_subcommand|footer)\(((?:[^;"]|{STRING})*?)\)'
    rf'|(?:\.meaning =|count\(|number\(|rate\(|flag\()((?:[^;"]|{STRING})*?)[;}})]', re.S)


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob('*')):
            if path.suffix in ('.h', '.cpp') and 'phrasebook' not in str(path):
                yield path, path.read_text()


def text_of(literals):
    return ''.join(part[1:-1] for part in re.findall(STRING, literals))


def comments():
    for path, text in sources('src', 'include'):
        for match in re.finditer(r'(?m)^[ \t]*//[^\n]*(?:\n[ \t]*//[^\n]*)*|[;,{(] +//[^\n]*', text):
            lines = [re.sub(r'^.*?// ?', '', line, count=1) for line in match.group().split('\n')]
            comment = ' '.join(lines).strip()
            if len(comment) > 15 and not comment.startswith(('clang-format', 'namespace')):
                yield path, text.count('\n', 0, match.start()) + 1, comment


def literals(pattern, folders, least):
    for path, text in sources(*folders):
        for match in pattern.finditer(text):
            whole = next(group for group in match.groups() if group is not None)
            found = [text_of(part) for part in STRINGS.findall(whole)]
            found = [part for part in found if ' ' in part.strip() and len(part) >= least]
            if found:
                yield path, text.count('\n', 0, match.start()) + 1, ' … '.join(found)


def message_text(statement):
    """Return a part of an error as the program prints it. Expressions other than strings appear as {}, and further strings,
    such as those of the other case of a condition, after a slash."""
    pieces = re.split(rf'({STRING})', statement)
    parts = []
    for index, piece in enumerate(pieces):
        if piece.startswith('"'):
            parts.append(piece[1:-1].replace('\\"', '"').replace('\\n', ''))
        elif re.search('[,:?]', piece.replace('::', '')) and 0 < index < len(pieces) - 1:
            parts.append(' / ')
        elif '+' in piece and re.search(r'\w', piece):
            parts.append('{}')
    return re.sub(r'(\{\})+', '{}', ''.join(parts))


def shape_text(arguments):
    """Return the message of shape_error(OPERATION, WHY, {{NAME, VARIABLE}, …}) as the program prints it."""
    said, _, inputs = arguments.partition('{{')
    said = message_text(said.rstrip(' ,\n')).replace(' / ', ': ', 1).replace(':  ', ': {} ')
    names = [name[1:-1] + ' ' for name in re.findall(STRING, inputs)] or ['']
    return f'{said} (found {", ".join(name + "{}" for name in names)})'


def messages():
    for path, text in sources('src'):
        for match in MESSAGE.finditer(text):
            pieces = PART.split(match.group(1))
            whole = message_text(pieces[0])
            if ' ' not in whole.strip() or not re.search('[a-z]{2}', whole):
                continue
            if match.group().startswith('shape_error('):
                whole = shape_text(pieces[0])
            if match.group().startswith('io_error('):
                whole += ': {}'
            for name, piece in zip(pieces[1::2], pieces[2::2]):
                said = message_text(piece) or '{}'
                whole += f'. {said}.' if name == 'remedy' else f' ({name} {said})'
            yield path, text.count('\n', 0, match.start()) + 1, whole


def paragraphs():
    pages = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]
    for path in pages:
        text = re.sub(r'(?ms)^```.*?^```', '', path.read_text())
        for part in re.split(r'\n\s*\n', text):
            if len(part) > 60 and not part.lstrip().startswith(('|', '#', '<')):
                yield path, 0, ' '.join(part.split())


def main():
    draw = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    kinds = [('comments', 40, list(comments())),
             ('messages', 20, list(messages())),
             ('paragraphs', 10, list(paragraphs())),
             ('help lines', 10, list(literals(HELP, ('src/cli', 'src/train', 'src/models'), 12)))]
    for name, count, items in kinds:
        print(f'\n{name} ({len(items)} in all)')
        for number, (path, line, text) in enumerate(draw.sample(items, count), 1):
            print(f'{number:3}. {path.relative_to(ROOT)}:{line}: {text}')


if __name__ == '__main__':
    main()
