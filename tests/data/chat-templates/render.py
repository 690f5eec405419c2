#!/usr/bin/env python3
"""Write golden.json: each template with each conversation as transformers renders it, or the kind and text of its
error.

Needs transformers and jinja2. The templates were written for this project in the forms of common models; the name of a
file names the model."""
import json
import pathlib

import jinja2
from transformers.utils.chat_template_utils import render_jinja_template

here = pathlib.Path(__file__).parent
conversations = json.loads((here / "conversations.json").read_text())
golden = {}
for path in sorted((here / "templates").glob("*.jinja")):
    for name, given in conversations.items():
        variables = {"add_generation_prompt": True, **given, "bos_token": "<s>", "eos_token": "</s>"}
        messages = variables.pop("messages")
        try:
            texts, _ = render_jinja_template([messages], chat_template=path.read_text(), **variables)
            result = {"text": texts[0]}
        except jinja2.exceptions.UndefinedError as error:
            result = {"undefined": str(error)}
        except jinja2.exceptions.TemplateError as error:
            result = {"refused": str(error)}
        except TypeError as error:
            result = {"type": str(error)}
        golden[f"{path.stem}/{name}"] = result
(here / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")
