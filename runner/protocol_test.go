package runner

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"edge/internal/fault"
)

// peer stands in for boot.py: it takes both frames and then does what the case says, with fr to make a frame, put to send
// bytes, and good for an answer that would be taken.
const peer = `
import json, os, sys, time
def take(n):
    got = b""
    while len(got) < n:
        part = os.read(0, n - len(got))
        if not part: os._exit(9)
        got += part
    return got
def frame(): return json.loads(take(int.from_bytes(take(4), "big")))
def fr(value):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return len(body).to_bytes(4, "big") + body
def put(data): os.write(1, data)
hello, request = frame(), frame()
good = {"protocol": "edge.runner/v1", "secret": request["secret"], "ok": True, "op": "call", "result": {"result": 1}, "loaded_files": [], "sandbox": {}}
def bad(code, **more): return {"protocol": good["protocol"], "secret": good["secret"], "ok": False, "error": {"code": code, "message": "m", **more}}
`

// tool-runner-v1 §5: what a caller must make of each kind of answer.
func TestAnswers(t *testing.T) {
	b := newBench(t)
	set := b.freeze("return 1")
	for _, c := range []struct {
		name, does string
		want       fault.Code
		says       string
	}{
		{"a good answer", `put(fr(good))`, "", ""},
		{"in two pieces", `d = fr(good); put(d[:7]); time.sleep(0.1); put(d[7:])`, "", ""},
		{"then a lingering exit", `put(fr(good)); time.sleep(60)`, "", ""},
		{"then a bad exit", `put(fr(good)); sys.exit(7)`, "", ""},
		{"canonical in the end", `put(fr({**good, "result": {"b": 1.0, "a": 2}}))`, "", ""},
		{"nothing", ``, fault.CodeRunnerCrashed, "exit status 0"},
		{"an exit status", `sys.exit(7)`, fault.CodeRunnerCrashed, "exit status 7"},
		{"a closed channel", `os.close(1); time.sleep(60)`, fault.CodeRunnerCrashed, "it closed its channel"},
		{"half a length", `put(b"\0\0")`, fault.CodeRunnerCrashed, ""},
		{"half a body", `put(fr(good)[:-1])`, fault.CodeRunnerCrashed, ""},
		{"an empty frame", `put(b"\0\0\0\0")`, fault.CodeRunnerProtocolViolation, "length 0"},
		{"a huge frame", `put(b"\x7f\0\0\0{}")`, fault.CodeRunnerProtocolViolation, "length"},
		{"a traceback", `put(b"Traceback (most recent call last)")`, fault.CodeRunnerProtocolViolation, "length"},
		{"not JSON", `put(fr(b"hello"))`, fault.CodeRunnerProtocolViolation, ""},
		{"two values", `put(fr(b"{} {}"))`, fault.CodeRunnerProtocolViolation, ""},
		{"not an object", `put(fr([good]))`, fault.CodeRunnerProtocolViolation, ""},
		{"invalid UTF-8", `put(fr(b'{"protocol":"\xff"}'))`, fault.CodeRunnerProtocolViolation, ""},
		{"a member twice", `put(fr(json.dumps(good).replace('"ok"', '"ok": false, "ok"').encode()))`, fault.CodeRunnerProtocolViolation, "ok"},
		{"an unknown member", `put(fr({**good, "more": 1}))`, fault.CodeRunnerProtocolViolation, "more"},
		{"another case", `good["OK"] = good.pop("ok"); put(fr(good))`, fault.CodeRunnerProtocolViolation, "OK"},
		{"another protocol", `put(fr({**good, "protocol": "edge.runner/v2"}))`, fault.CodeRunnerProtocolViolation, "edge.runner/v2"},
		{"another secret", `put(fr({**good, "secret": "0" * 64}))`, fault.CodeRunnerProtocolViolation, "secret"},
		{"no secret", `del good["secret"]; put(fr(good))`, fault.CodeRunnerProtocolViolation, "secret"},
		{"part of the secret", `put(fr({**good, "secret": good["secret"][:-1]}))`, fault.CodeRunnerProtocolViolation, "secret"},
		{"another op", `put(fr({**good, "op": "inspect"}))`, fault.CodeRunnerProtocolViolation, "inspect"},
		{"no result", `del good["result"]; put(fr(good))`, fault.CodeRunnerProtocolViolation, "result"},
		{"an error in words", `put(fr({**good, "told": {"kind": "ValueError"}}))`, "", ""},
		{"an error in words of no kind", `put(fr({**good, "told": {}}))`, fault.CodeRunnerProtocolViolation, "told"},
		{"more of an error in words", `put(fr({**good, "told": {"kind": "E", "text": "x"}}))`, fault.CodeRunnerProtocolViolation, "text"},
		{"two answers", `put(fr(good) + fr(good))`, fault.CodeRunnerProtocolViolation, "more than one"},
		{"a trailing newline", `put(fr(good) + b"\n")`, fault.CodeRunnerProtocolViolation, "more than one"},
		{"a result that rounds", `put(fr({**good, "result": 2 ** 53}))`, fault.CodeUnsupportedToolResult, "2^53"},
		{"a result with a lone surrogate", `put(fr({**good, "result": "\ud800"}))`, fault.CodeRunnerProtocolViolation, ""},
		{"a result of 65537 bytes", `put(fr({**good, "result": "x" * 65535}))`, fault.CodeToolResultOversized, "65537"},
		{"a result of 65536 bytes", `put(fr({**good, "result": "x" * 65534}))`, "", ""},
		{"a known failure", `put(fr(bad("tool_raised", line=3)))`, fault.CodeToolRaised, "line 3 of tools.py"},
		{"an unknown failure", `put(fr(bad("on_fire")))`, fault.CodeRunnerProtocolViolation, "on_fire"},
		{"a failure without an error", `put(fr({**good, "ok": False}))`, fault.CodeRunnerProtocolViolation, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.runner.args = []string{"-I", "-S", "-B", "-c", peer + c.does}
			got, err := b.again(set, "{}")
			if code(err) != c.want {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), c.says) || got.Canonical != nil) {
				t.Errorf("got %v and result %s, want a message with %q and no result", err, got.Canonical, c.says)
			}
			if c.name == "canonical in the end" && string(got.Canonical) != `{"a":2,"b":1}` {
				t.Errorf("got %s", got.Canonical)
			}
		})
	}
}

func TestSecretsDiffer(t *testing.T) {
	b := newBench(t)
	set := b.freeze("return 1")
	b.runner.args = []string{"-I", "-S", "-B", "-c", peer + `put(fr({**good, "result": request["secret"]}))`}
	seen := map[string]bool{}
	for range 2 {
		got, err := b.again(set, "{}")
		if err != nil || len(got.Canonical) != 66 {
			t.Fatalf("got %s, %v; want 64 hex digits", got.Canonical, err)
		}
		seen[string(got.Canonical)] = true
	}
	if len(seen) != 2 {
		t.Error("two calls had the same secret")
	}
}

func TestNoRandomness(t *testing.T) {
	b := newBench(t)
	set := b.freeze("return 1")
	b.runner.cfg.Rand = bytes.NewReader(make([]byte, 31))
	if _, err := b.again(set, "{}"); code(err) != fault.CodeInternal {
		t.Errorf("got %v, want no call with a short secret", err)
	}
}

// A tool that finds the private channel can only spoil its own call.
func TestToolWritesToTheChannel(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		what string
		want fault.Code
	}{
		{`b"garbage garbage"`, fault.CodeRunnerProtocolViolation},
		{`b"\0\0\0\x02{}"`, fault.CodeRunnerProtocolViolation},
		{`b"\0"`, fault.CodeRunnerProtocolViolation},
	} {
		// Every descriptor that is a pipe and isn't standard input, output or error.
		_, err := b.call("import os, stat\nfor fd in map(int, os.listdir('/dev/fd')):\n    try:\n        if fd > 2 and stat.S_ISFIFO(os.fstat(fd).st_mode): os.write(fd, "+c.what+")\n    except OSError: pass\nreturn 1", "{}")
		if code(err) != c.want {
			t.Errorf("%s: got %v, want %s", c.what, err, c.want)
		}
	}
}

func TestArgumentsBeyondAFrame(t *testing.T) {
	b := newBench(t)
	set := b.freeze("@edge_tool\ndef f(a: str):\n    'd'\n    return len(a)\n")
	if got, err := b.again(set, `{"a":"`+strings.Repeat("x", 2<<20)+`"}`); err != nil || string(got.Canonical) != `{"result":2097152}` {
		t.Errorf("2 MiB: got %s, %v", got.Canonical, err)
	}
	if _, err := b.again(set, `{"a":"`+strings.Repeat("x", maxFrame)+`"}`); code(err) != fault.CodeInvalidToolArgs {
		t.Errorf("8 MiB: got %v, want %s", err, fault.CodeInvalidToolArgs)
	}
}

func TestClosedRunner(t *testing.T) {
	b := newBench(t)
	set := b.freeze("return 1")
	b.runner.Prepare()
	if err := errors.Join(b.runner.Close(), b.runner.Close()); err != nil {
		t.Fatal(err)
	}
	b.runner.Prepare()
	if _, err := b.again(set, "{}"); err == nil || !strings.Contains(err.Error(), "Close") {
		t.Errorf("got %v, want a refusal after Close", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no randomness":     {},
		"an unknown mode":   {Rand: strings.NewReader(""), Sandbox: "maybe"},
		"a negative time":   {Rand: strings.NewReader(""), Timeout: -1},
		"no Python on PATH": {Rand: strings.NewReader("")},
	} {
		if r, err := New(cfg); err == nil {
			t.Errorf("%s: got %v", name, r)
		}
	}
}
