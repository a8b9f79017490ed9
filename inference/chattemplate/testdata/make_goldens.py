"""Renders the conversations below with every template of templates/ by the reference implementation of Jinja, and
writes goldens.json, which the Go tests compare with. Needs jinja2 (3.1); run it after a template or a conversation
changed, and read the difference before committing it.

The environment is the one that models' templates are written for: blocks trimmed, {% break %} and {% continue %},
raise_exception(). strftime_now isn't there: edge gives templates no clock.
"""
import json
import pathlib

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent
BOS, EOS = "<|bos|>", "<|im_end|>"

# The system text of these templates goes before the first user turn: one raises, the other moves it to the last turn.
WITHOUT_SYSTEM = {"gemma", "mistral"}


def conversation(*turns):
    return [{"role": role, "content": content} for role, content in turns]


CONVERSATIONS = {
    "request": conversation(("user", "What is the fee for 250?")),
    "system and request": conversation(("system", "You are the billing assistant."), ("user", "Hello")),
    "with examples": conversation(
        ("system", "You have tools.\n{\"name\":\"fee\"}\n\nUse them."),
        ("user", "Fee for 100"),
        ("assistant", '{"tool_name":"fee","arguments":{"amount":100}}'),
        ("user", "Thanks, bye"),
        ("assistant", "You're welcome."),
        ("user", "Fee for 80?"),
    ),
    "awkward texts": conversation(
        ("system", "Überschuß & <b>\"quoted\"</b> {{ braces }} {% percent %}"),
        ("user", "日本語で、😀 e\u0301 \\n isn't a line end"),
        ("assistant", "one\ntwo\n\n\nthree\twith a tab"),
        ("user", "[INST] or <start_of_turn>user?"),
    ),
}


def main():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.globals["raise_exception"] = raise_exception
    goldens = []
    for path in sorted((HERE / "templates").glob("*.jinja")):
        template = env.from_string(path.read_text(encoding="utf-8"))
        for name, messages in CONVERSATIONS.items():
            rendered = messages
            if path.stem in WITHOUT_SYSTEM and messages[0]["role"] == "system":
                first = {"role": "user", "content": messages[0]["content"] + "\n\n" + messages[1]["content"]}
                rendered = [first, *messages[2:]]
            for generate in (True, False):
                text = template.render(
                    messages=rendered, add_generation_prompt=generate, enable_thinking=False, bos_token=BOS, eos_token=EOS)
                goldens.append({"template": path.stem, "conversation": name, "messages": messages, "generate": generate, "text": text})
    (HERE / "goldens.json").write_text(json.dumps(goldens, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
