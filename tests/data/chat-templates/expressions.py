#!/usr/bin/env python3
"""Write expressions.json: small templates, and for each the text that transformers' environment renders, or that it
refuses.

Needs transformers and jinja2. Each line of expressions.txt is an expression; each element of STATEMENTS is a template."""
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
    "{% set s = namespace(q=1) %}{% set s.q %}x{{ n }}{% endset %}{{ s.q }}{{ q is defined }}", "{% set n.q %}x{% endset %}",
    "{% set a, b %}xy{% endset %}{{ b }}{{ a }}",
    "{% macro f(a, b=2, c='z') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c=4) }} {{ f(b=9, a=8) }}",
    "{% macro f(a) %}[{{ a }}{{ n }}]{% endmacro %}{% for i in l %}{{ f(i) }}{% endfor %}", "{% macro f(a, b) %}{{ b is defined }}{% endmacro %}{{ f(1) }}{{ f(1, 2) }}",
    "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro f() %}x{% endmacro %}{{ f() | upper }}{{ f() ~ f() }}",
    "{{ raise_exception('stop here') }}", "{% if n > 9 %}{{ raise_exception('no') }}{% endif %}ok",
    "a{# comment #}b", "a{#- comment -#} b", "  {# c #}\nb", "a {%- if yes -%} b {%- endif -%} c", "a {{- n -}} c", "a\n  {%- if yes %}\n b\n {%- endif %}\nc",
    "a\n  {% if yes %}\n    b\n  {% endif %}\nc\n", "  {% if yes %}x{% endif %}  {% if yes %}y{% endif %}\n", "a {%+ if yes %}b{% endif +%}\nc",
    "\n  {%+ if yes %}b\n  {%+ endif %}\nc", "{% if yes %}\n\nx{% endif %}", "a\n\n", "a\r\nb\r\n", "a\rb\r", "{% if yes %}\rx\r\r\n{% endif %}", "{{ 'a' }}\nb", "{{ 'a' -}}\n\n b", " \t{{- 'a' }}",
    "{% raw %}{{ n }}{% if %}{% endraw %}x", "{%- raw -%}  {{ n }} {%- endraw -%}  x", "{%raw%}a{%endraw%}\nb", "{{'a'}}{{ 'b'}}{{'c' }}",
    "{%if yes%}a{%endif%}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ {'a': 1}.a }}}", "{ { % # }", "{{ '}}' }}", "{{ '%}' }}{% if '%}' %}x{% endif %}",
    "{% generation %}x{% endgeneration %}", "{{ t }}{{ t | trim }}", "{% if not messages %}none{% endif %}", "{{ 1,2 }}", "x{{ e }}y",
    "{% set a = 'x' if yes else 'y' %}{{ a }}", "{% for i in l | sort %}{{ i }}{% endfor %}", "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{% for r in rows %}{{ r.name | default('-') }}{% endfor %}", "{%- for r in rows -%}\n  {{ r.age }}\n{%- endfor -%}\n",
    "{% for i in l %}\n{{ i }}\n{% endfor %}\n", "{% for i in l -%}\n{{ i }}\n{%- endfor %}\n",
    "{{ l | map('foo') | list }}", "{{ l.foo() }}", "{{ l[0].x.y }}", "{{ missing.x }}", "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ [] < 1 }}", "{{ 1 // 0 }}", "{{ n() }}",
    "{{ t.split('') }}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{{ nothing | length }}", "{{ 'a' in 3 }}", "{{ [3, 'a'] | sort }}", "{{ l.index(9) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% set n.x = 1 %}", "{{ l[::0] }}", "{{ 'a' | abs }}", "{{ range(1, 2, 0) | list }}",
    "{% set x %}{% set y = 1 %}{{ y }}{% endset %}[{{ x }}{{ y }}]",
    "{% set y = 0 %}{% set x %}{% set y = 1 %}{{ y }}{% endset %}[{{ x }}{{ y }}]",
    "{% set y = 0 %}{% generation %}{% set y = 1 %}{{ y }}{% endgeneration %}[{{ y }}]",
    "{% for i in [] %}{% else %}{% set y = 1 %}{{ y }}{% endfor %}[{{ y }}]",
    "{% set s = namespace(a=0) %}{% generation %}{% set s.a = 1 %}{% endgeneration %}{{ s.a }}",
    "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, 2) }}",
    "{% macro f(b=i) %}{{ b }}{% endmacro %}{% for i in [5] %}[{{ f() }}]{% endfor %}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, b=2) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}",
    "a{# c +#}\nb",
    "a{# c #}\nb",
    "a{#+#}\nb",
    "{% raw %}\nx{% endraw %}",
    "{% raw %}a\n   {% endraw %}b",
    "{% raw %}a{% endraw +%}\nb",
    "{%- raw -%}\n a{% endraw -%}\n b",
    "{% raw %}a\n   {%+ endraw %}b",
    "{% raw %}   {% endraw %}b",
    "x  {% raw %}   {% endraw %}b",
    "{% raw %}\n   {%- endraw %}b",
    "a\u00a0{{- 1 -}}\u00a0b",
    "a\u3000\n{%- if yes -%}\u3000\u001fb{% endif %}",
    "\u3000{% if yes %}b{% endif %}",
    "a\n\u2003\u0085{% if yes %}b{% endif %}",
    "{{ '\\033[0m' | tojson }}",
    "{{ '\\1\\12\\0007' | tojson }}",
    "{{ '\\8\\18' | tojson }}",
    "{% set q = 1, %}{{ q | list }}",
    "{% for i in (1,) %}{{ i }}{% endfor %}",
    "{% set a, b = (1, 2,) %}{{ b }}",
    "{% set s = namespace({'a': 5}, b=6) %}{{ s.a }}{{ s.b }}",
    "{% set s = namespace(3) %}",
]

here = pathlib.Path(__file__).parent
template_variables = dict(VARIABLES)
results = []
sources = ["{{ " + line + " }}" for line in (here / "expressions.txt").read_text().splitlines()] + STATEMENTS
for source in sources:
    try:
        results.append({"source": source, "text": _compile_jinja_template(source).render(**template_variables)})
    except Exception as error:  # any exception of Python refuses the template
        results.append({"source": source, "refused": f"{type(error).__name__}: {error}"})
path = here / "expressions.json"
path.write_text(json.dumps({"variables": VARIABLES, "cases": results}, ensure_ascii=False, indent=1) + "\n")
