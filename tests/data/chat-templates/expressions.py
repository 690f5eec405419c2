#!/usr/bin/env python3
"""Writes expressions.json: small templates and what transformers' environment renders for them, or that it refuses.

Needs transformers and jinja2. Each line of SOURCES is a template; the variables are those of VARIABLES."""
import json
import pathlib

from transformers.utils.chat_template_utils import _compile_jinja_template

VARIABLES = {
    "t": "  The quick-brown Fox's 2 dogs\n",
    "w": "straße Ünï 漢字 e\u0301",
    "n": 7, "z": 0, "m": -3, "x": 2.5, "yes": True, "no": False, "nothing": None,
    "l": [3, 1, 2, 1], "names": ["b", "A", "c", "B"], "empty": [], "e": "",
    "d": {"b": 1, "A": [1, "two", None, 2.5, True], "c": {"k": "v"}},
    "rows": [{"name": "x", "age": 3, "in": {"k": 1}}, {"name": "y", "age": 1, "in": {"k": 2}},
             {"name": "X", "age": 2, "in": {"k": 1}}, {"age": 3, "in": {"k": 0}}],
}
EXPRESSIONS = r"""
1 + 2 * 3 - 4
(1 + 2) * 3
7 // 2
m // 2
7 % 3
m % 2
-7 % 3
7 / 2
6 / 3
n * x
x - n
-n
- -n
+n
-x * 2
2 - 3 - 4
12 // 5 // 2
100 / 10 / 4
1.0
1.50
0.1 + 0.2
1e3
2.5e-3
1e100
1_000
123456789.0
1 ~ 2 ~ x
'a' ~ nothing ~ yes
'a' + 'b' * 3
3 * 'ab'
l + [4]
l * 2
[] + empty
'a' 'b'
"it's"
'say "x"'
'tab\tnew\nline\\'
'\x41\u00e9\U0001F600'
'\q\'\"'
1 < 2
1 < 2 < 3
1 < 3 < 2
3 > 2 >= 2
2 <= 2
2 >= 3
1 == 1.0
1 == yes
'a' == 'a'
'a' < 'b'
'B' < 'a'
'a' != 'b'
[1, 2] == [1, 2]
[1, 2] == [1, 3]
[1, 2] == [1, 2, 3]
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
{'a': 1} == {'a': 2}
{'a': 1} == {'a': 1, 'b': 1}
nothing == none
missing == nothing
missing == other
'a' in 'cat'
'dog' in 'cat'
'' in 'cat'
1 in l
9 in l
9 not in l
'b' in d
'k' in d
not 1 in l
yes and no
yes and 'x'
no or 'x'
0 or '' or 'last'
1 and 2 and 3
1 or 2
not no
not not 'a'
not []
not yes or yes
no and missing.foo
yes or missing.foo
'a' if n > 3 else 'b'
'a' if n < 3 else 'b'
'a' if no
('a' if no) is undefined
'a' if no else 'b' if no else 'c'
n is defined
missing is defined
missing is undefined
n is undefined
nothing is none
n is none
n is number
yes is number
'a' is number
'a' is string
n is string
l is sequence
d is sequence
'a' is sequence
n is sequence
l is iterable
n is iterable
d is mapping
l is mapping
yes is boolean
n is boolean
yes is true
yes is false
no is false
n is true
n is integer
x is integer
yes is integer
x is float
n is float
n is odd
4 is odd
4 is even
n is even
m is odd
9 is divisibleby 3
9 is divisibleby(2)
n is eq 7
n is equalto 8
n is ne 7
n is gt 6
n is ge 7
n is lt 7
n is le 7
n is greaterthan 7
n is lessthan 8
1 is in l
5 is in [1, 2]
5 is not in [1, 2]
'A' is upper
'aB' is upper
'a' is lower
'aB' is lower
n is callable
range is callable
n is not none
n is odd and yes
n is defined and n > 3
t | length
w | length
l | length
d | length
e | length
missing | length
l | count
t.strip()
t.strip() | length
t.lstrip() | length
t.rstrip() | length
'xxaxbxx'.strip('x')
'xyaxbyx'.lstrip('xy')
'xyaxbyx'.rstrip('xy')
'漢a漢'.strip('漢')
t | trim
'--a--' | trim('-')
w.upper()
w.lower()
w | upper
w | lower
t.title()
'hello wORLD foo-bar 3rd' | title
'hello wORLD' | capitalize
'hELLO'.capitalize()
w.title()
e.title()
'a,b,,c'.split(',')
'a,b,,c'.split(',', 1)
'a,b,,c'.split(',', 2)
'a,b,,c'.split(',', 9)
'a,b,,c'.split(',', 0)
'a,b,,c'.rsplit(',', 1)
'a,b,,c'.rsplit(',', 2)
'a,b,,c'.rsplit(',')
'aaa'.split('a')
'aaa'.split('aa')
'aaa'.rsplit('aa')
'abc'.split('x')
'  a  b c '.split()
e.split()
e.split(',')
'a\nb\r\nc'.splitlines()
'a\n\nb\n'.splitlines()
'\r\n'.splitlines()
e.splitlines()
'banana'.replace('a', 'o')
'banana'.replace('an', '')
'banana'.replace('a', 'o', 2)
'banana'.replace('a', 'o', 0)
'banana' | replace('a', 'o', 1)
'banana'.replace('x', 'o')
'aaaa'.replace('aa', 'b')
'banana'.startswith('ba')
'banana'.startswith('an')
'banana'.endswith('na')
'banana'.endswith('ba')
'banana'.startswith(('x', 'b'))
'banana'.endswith(('x', 'y'))
'banana'.find('n')
'banana'.rfind('n')
'banana'.find('x')
w.find('漢')
w.rfind('ï')
'banana'.count('a')
'banana'.count('ana')
'aaaa'.count('aa')
', '.join(names)
'-'.join(['x'])
'-'.join([])
'prefix-a'.removeprefix('prefix-')
'prefix-a'.removeprefix('x')
'a.txt'.removesuffix('.txt')
'a.txt'.removesuffix('x')
'123'.isdigit()
'12a'.isdigit()
e.isdigit()
'09'.isdigit()
t[2]
t[-2]
w[7]
w[99] is defined
l[0]
l[-1]
l[-4]
l[-5] is defined
l[4] is defined
l[3]
l.0
d['b']
d.b
d.c.k
d['c']['k']
d.q is defined
d.get('b')
d.get('q')
d.get('q', 9)
d.keys() | list
d.values() | list
d.items() | list
d | items | list
d | list
missing | items | list
l[1:]
l[:2]
l[1:3]
l[-2:]
l[:-1]
l[::2]
l[1::2]
l[::-1]
l[::-2]
l[3:0:-1]
l[3:0:-2]
l[9:]
l[:9]
l[-9:2]
l[2:1]
l[2:-9:-1]
l[9:1:-1]
t[2:5]
t[::-1]
w[7:9]
w[-1:]
t[4:1:-1]
l.count(1)
l.index(2)
l | first
l | last
empty | first is defined
'abc' | first
'abc' | last
l | sort
l | sort(reverse=true)
names | sort
names | sort(true)
names | sort(case_sensitive=true)
names | sort(true, true)
rows | sort(attribute='age') | map(attribute='age') | list
rows[:3] | sort(attribute='name') | map(attribute='name') | list
rows | sort(attribute='in.k', reverse=true) | map(attribute='age') | list
l | reverse | list
'abc' | reverse
l | unique | list
names | unique | list
[1, 1.0, true] | unique | list
rows | unique(attribute='age') | map(attribute='age') | list
l | min
l | max
empty | min is defined
rows | max(attribute='age') | tojson
rows | min(attribute='age') | tojson
l | sum
[1.5, 2] | sum
empty | sum
rows | sum(attribute='age')
names | join
names | join('+')
l | join(', ')
rows[:3] | join('/', attribute='name')
rows | map(attribute='name', default='?') | list
rows | map(attribute='in.k') | list
names | map('upper') | list
names | map('replace', 'b', 'x') | list
rows | selectattr('name') | map(attribute='age') | list
rows | selectattr('age', 'eq', 3) | list | length
rows | selectattr('age', 'greaterthan', 1) | map(attribute='age') | list
rows | rejectattr('age', 'eq', 3) | map(attribute='age') | list
rows | rejectattr('name') | map(attribute='age') | list
rows | selectattr('name', 'defined') | list | length
l | select('odd') | list
l | reject('odd') | list
[0, 1, '', 'a', none] | select | list
[0, 1, '', 'a', none] | reject | list
l | select('in', [1, 3]) | list
d | dictsort
{'b': 1, 'C': 2, 'a': 3} | dictsort | list
missing | default('x')
missing | default
nothing | default('x')
nothing | default('x', true)
e | default('x', boolean=true)
n | d('x')
0 | d('x', true)
m | abs
n | abs
-2.5 | abs
'42' | int
'4.7' | int
4.7 | int
-4.7 | int
'x' | int
'42' | float
'x' | float
7 | float
yes | int
x | round
3.5 | round
2.675 | round(2)
-2.5 | round
1234.5 | round(-2)
2.1 | round(0, 'ceil')
2.9 | round(0, 'floor')
-2.1 | round(method='floor')
42 | string ~ 1
l | string
'a\nb\n\nc' | indent
'a\nb\n\nc' | indent(2)
'a\nb\n\nc' | indent(2, true)
'a\nb\n\nc' | indent(2, true, true)
'a\nb\n\nc' | indent(2, blank=true)
'a\nb' | indent('> ')
'a\nb\n' | indent(1)
'a' | indent(0)
'\nb' | indent(3, true)
n | safe
d | tojson
d | tojson(indent=2)
d | tojson(indent=4)
l | tojson
l | tojson(indent=1)
[] | tojson(indent=2)
{} | tojson(indent=2)
[[], {}] | tojson(indent=2)
'a"b\\c\n\t漢é<>&' | tojson
x | tojson
1.0 | tojson
1e20 | tojson
nothing | tojson
yes | tojson
l
d
[1.0, 'a', none, yes, "it's", 'q"', 'b\\', 'n\n\t\r']
['both \' and "']
(1, 2) | list
[]
{}
()  | list
nothing
yes
missing
range(5) | list
range(2, 5) | list
range(0, 10, 3) | list
range(0, 9, 3) | list
range(5, 0, -2) | list
range(5, -1, -2) | list
range(3, 3) | list
range(3, 1) | list
range(1, 3, -1) | list
range(0) | list
range(-2, 1) | list
dict(a=1, b='x') | tojson
dict(a=1).a
{'a': 1, 'a': 2} | tojson
{'x': [1, {'y': 2}]}.x[1].y
[1, 2, 3,][1]
(1, 2)[0]
n > 3 and x < 3 or no
1 + 1 == 2
'a' ~ 1 + 1
2 * 3 ~ 4
not n == 7
n | string | length + 1
-n | abs
'%s' ~ n
l | length > 3
'a' if l else 'b'
'a' if empty else 'b'
(l | first) + (l | last)
names[0] ~ names[-1]
rows[0].name ~ rows[1]['name']
rows[3].name is defined
t.strip().split(' ')[0][1:3].upper()
'x' in 'xyz' and 'y' not in 'abc'
"a" == 'a' == "a"
1 if 1 else 2 if 1 else 3
"""
STATEMENTS = [
    "a{% if yes %}b{% endif %}c", "{% if no %}a{% elif n > 3 %}b{% elif yes %}c{% else %}d{% endif %}",
    "{% if no %}a{% else %}d{% endif %}", "{% if no %}a{% endif %}",
    "{% for i in l %}{{ i }},{% endfor %}", "{% for i in empty %}{{ i }}{% else %}none{% endfor %}",
    "{% for i in l %}{{ i }}{% else %}none{% endfor %}",
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.length }} {% endfor %}",
    "{% for i in l %}{{ loop.first }}{{ loop.last }} {% endfor %}",
    "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}",
    "{% for i in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for i in l if i > 1 %}{{ loop.index }}:{{ i }} {% endfor %}", "{% for i in l if i > 9 %}x{% else %}none{% endfor %}",
    "{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in l %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}!",
    "{% for i in l %}{% for j in l %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for (k, v) in d | dictsort %}{{ k }}{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %}", "{% for c in 'h漢' %}[{{ c }}]{% endfor %}",
    "{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }} {% endfor %}", "{% for i in 1, 2 %}{{ i }}{% endfor %}",
    "{% for i in missing %}x{% else %}none{% endfor %}",
    "{% set a = 1 %}{{ a }}{% set a = a + 1 %}{{ a }}", "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "{% set a = 1, 2 %}{{ a | list }}",
    "{% set a %}x{{ n }}{% endset %}[{{ a }}]", "{% set a = 1 %}{% for i in l %}{% set a = i %}{% endfor %}{{ a }}",
    "{% set a = 1 %}{% if yes %}{% set a = 2 %}{% endif %}{{ a }}",
    "{% set s = namespace(a=0, b='') %}{% for i in l %}{% set s.a = s.a + i %}{% set s.b = s.b ~ i %}{% endfor %}{{ s.a }}{{ s.b }}",
    "{% set s = namespace() %}{% set s.q = 5 %}{{ s.q }}{{ s.r is defined }}",
    "{% macro f(a, b=2, c='z') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c=4) }} {{ f(b=9, a=8) }}",
    "{% macro f(a) %}[{{ a }}{{ n }}]{% endmacro %}{% for i in l %}{{ f(i) }}{% endfor %}", "{% macro f(a, b) %}{{ b is defined }}{% endmacro %}{{ f(1) }}{{ f(1, 2) }}",
    "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro f() %}x{% endmacro %}{{ f() | upper }}{{ f() ~ f() }}",
    "{{ raise_exception('stop here') }}", "{% if n > 9 %}{{ raise_exception('no') }}{% endif %}ok",
    "a{# comment #}b", "a{#- comment -#} b", "  {# c #}\nb", "a {%- if yes -%} b {%- endif -%} c", "a {{- n -}} c", "a\n  {%- if yes %}\n b\n {%- endif %}\nc",
    "a\n  {% if yes %}\n    b\n  {% endif %}\nc\n", "  {% if yes %}x{% endif %}  {% if yes %}y{% endif %}\n", "a {%+ if yes %}b{% endif +%}\nc",
    "\n  {%+ if yes %}b\n  {%+ endif %}\nc", "{% if yes %}\n\nx{% endif %}", "a\n\n", "a\r\nb\r\n", "{{ 'a' }}\nb", "{{ 'a' -}}\n\n b", " \t{{- 'a' }}",
    "{% raw %}{{ n }}{% if %}{% endraw %}x", "{%- raw -%}  {{ n }} {%- endraw -%}  x", "{%raw%}a{%endraw%}\nb", "{{'a'}}{{ 'b'}}{{'c' }}",
    "{%if yes%}a{%endif%}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ {'a': 1}.a }}}", "{ { % # }", "{{ '}}' }}", "{{ '%}' }}{% if '%}' %}x{% endif %}",
    "{% generation %}x{% endgeneration %}", "{{ t }}{{ t | trim }}", "{% if not messages %}none{% endif %}", "{{ 1,2 }}", "x{{ e }}y",
    "{% set a = 'x' if yes else 'y' %}{{ a }}", "{% for i in l | sort %}{{ i }}{% endfor %}", "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{% for r in rows %}{{ r.name | default('-') }}{% endfor %}", "{%- for r in rows -%}\n  {{ r.age }}\n{%- endfor -%}\n",
    "{% for i in l %}\n{{ i }}\n{% endfor %}\n", "{% for i in l -%}\n{{ i }}\n{%- endfor %}\n",
    "{{ l | map('foo') | list }}", "{{ l.foo() }}", "{{ l[0].x.y }}", "{{ missing.x }}", "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ [] < 1 }}", "{{ 1 // 0 }}", "{{ n() }}",
    "{{ t.split('') }}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{{ nothing | length }}", "{{ 'a' in 3 }}", "{{ [3, 'a'] | sort }}", "{{ l.index(9) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% set n.x = 1 %}", "{{ l[::0] }}", "{{ 'a' | abs }}", "{{ range(1, 2, 0) | list }}",
]

template_variables = dict(VARIABLES)
results = []
sources = ["{{ " + line + " }}" for line in EXPRESSIONS.strip("\n").split("\n")] + STATEMENTS
for source in sources:
    try:
        results.append({"source": source, "text": _compile_jinja_template(source).render(**template_variables)})
    except Exception as error:  # whatever Python raises: the template is refused
        results.append({"source": source, "refused": f"{type(error).__name__}: {error}"})
path = pathlib.Path(__file__).parent / "expressions.json"
path.write_text(json.dumps({"variables": VARIABLES, "cases": results}, ensure_ascii=False, indent=1) + "\n")
