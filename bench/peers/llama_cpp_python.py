"""One start of llama-cpp-python, as a process of its own: `save` decodes the prefix and pickles the state; `run` restores it.

    python llama_cpp_python.py save|run WORK STATE

`run` prints a line of JSON when it has the first token after the question, and one for each request for a tool. The state
is llama-cpp-python's own (save_state, load_state), kept by pickle as its LlamaDiskCache keeps it.
"""
import json
import pickle
import sys
import time

from llama_cpp import Llama, LlamaGrammar


def now():
    return time.perf_counter() * 1000


def load(work):
    return Llama(
        work["model"], n_ctx=work["context_tokens"], n_threads=work["threads"], n_threads_batch=work["threads"], n_batch=512, n_ubatch=512,
        flash_attn=True, verbose=False,
    )


def say(value):
    print(json.dumps(value), flush=True)


def call(llama, request, grammar):
    """Writes a call under the grammar; gives its text and how many tokens were drawn."""
    text, drawn = b"", 0
    for token in llama.generate(request["suffix"], temp=0.0, reset=False, grammar=grammar):
        if token == llama.token_eos() or drawn == 128:
            break
        drawn += 1
        text += llama.detokenize([token])
    return text.decode("utf-8", "replace"), drawn


def main():
    mode, work_path, state_path = sys.argv[1:]
    with open(work_path, encoding="utf-8") as f:
        work = json.load(f)
    llama = load(work)
    if mode == "save":
        llama.eval(work["prefix"])
        with open(state_path, "wb") as f:
            pickle.dump(llama.save_state(), f)
        return
    start = now()
    with open(state_path, "rb") as f:
        state = pickle.load(f)
    llama.load_state(state)
    restored = now()
    llama.eval(work["suffix"])
    llama.sample(temp=0.0)
    say({"restore_ms": restored - start, "restored": state.n_tokens, "decoded": llama.n_tokens - state.n_tokens})
    for request in work["requests"]:
        llama.load_state(state)
        grammar = LlamaGrammar.from_json_schema(json.dumps(work["json_schema"]), verbose=False)
        start = now()
        text, drawn = call(llama, request, grammar)
        say({"text": text, "call_ms": now() - start, "drawn": drawn})


main()
