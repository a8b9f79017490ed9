package learn_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

func TestParseSample(t *testing.T) {
	s, err := learn.ParseSample([]byte(`{
		"schema":"edge.learn_sample/v1",
		"profile":{"system":"You bill.","facts":["Porto."]},
		"examples":[
			{"prompt":"fee for 250","call":{"tool_name":"calculate_fee","arguments":{"tier":"pro","amount":2.50e2}}},
			{"prompt":"bye","answer":"Bye."},
			{"prompt":"日本","call":{"tool_name":"order_status","arguments":{"order_id":"\u0041-17"}}}],
		"holdout":[
			{"prompt":"hello"},
			{"prompt":"hello again","answer":null},
			{"prompt":"80?","call":{"tool_name":"calculate_fee","arguments":{"amount":80}}}]}`), shop(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.Profile.System != "You bill." || len(s.Profile.Facts) != 1 || len(s.Examples) != 3 || len(s.Holdout) != 3 {
		t.Errorf("got %+v", s)
	}
	if got, want := string(s.Examples[0].Call.Arguments), `{"amount":250,"tier":"pro"}`; got != want {
		t.Errorf("arguments: got %s, want them canonical: %s", got, want)
	}
	if got, want := string(s.Examples[2].Call.Arguments), `{"order_id":"A-17"}`; got != want {
		t.Errorf("arguments: got %s, want %s", got, want)
	}
	if a := s.Holdout[1]; a.Answer != nil || a.Call != nil {
		t.Errorf("got %+v", a)
	}
}

// TestEverythingButTheSchemaMayBeAbsent as the contract says, also arguments where a tool needs none.
func TestEverythingButTheSchemaMayBeAbsent(t *testing.T) {
	set := freeze(t, tool("ping", "Ping.", `{"type":"object","additionalProperties":false,"properties":{}}`))
	for _, text := range []string{
		`{"schema":"edge.learn_sample/v1"}`,
		`{"schema":"edge.learn_sample/v1","profile":{}}`,
		`{"schema":"edge.learn_sample/v1","examples":[],"holdout":[]}`,
		`{"schema":"edge.learn_sample/v1","examples":[{"prompt":"ping","call":{"tool_name":"ping"}}]}`,
	} {
		s, err := learn.ParseSample([]byte(text), set)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if len(s.Examples) == 1 && string(s.Examples[0].Call.Arguments) != "{}" {
			t.Errorf("%s: arguments are %s", text, s.Examples[0].Call.Arguments)
		}
	}
	if _, err := learn.ParseSample([]byte(`{"schema":"edge.learn_sample/v1","examples":[{"prompt":"hi","answer":"hi"}]}`), nil); err != nil {
		t.Errorf("a sample without tools: %v", err)
	}
}

// TestSampleErrorsNameTheEntry: one row per rule, with what the message must say.
func TestSampleErrorsNameTheEntry(t *testing.T) {
	const good = `{"prompt":"fee for 1","call":{"tool_name":"calculate_fee","arguments":{"amount":1}}}`
	examples := func(list ...string) string {
		return `{"schema":"edge.learn_sample/v1","examples":[` + strings.Join(list, ",") + `]}`
	}
	call := func(name, arguments string) string {
		return `{"prompt":"p","call":{"tool_name":"` + name + `","arguments":` + arguments + `}}`
	}
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"not JSON":            {`schema`, nil},
		"not an object":       {`[]`, []string{"the file: a JSON array can't stand here"}},
		"two values":          {`{"schema":"edge.learn_sample/v1"}{}`, []string{"more than one value"}},
		"empty":               {``, nil},
		"a byte order mark":   {"\ufeff" + `{"schema":"edge.learn_sample/v1"}`, nil},
		"not UTF-8":           {`{"schema":"edge.learn_sample/v1","profile":{"system":"` + "\xff" + `"}}`, []string{"UTF-8"}},
		"a lone surrogate":    {`{"schema":"edge.learn_sample/v1","profile":{"system":"\ud800"}}`, []string{"surrogate"}},
		"a key twice":         {`{"schema":"edge.learn_sample/v1","schema":"edge.learn_sample/v1"}`, []string{"duplicate", "schema"}},
		"an unknown field":    {`{"schema":"edge.learn_sample/v1","exmaples":[]}`, []string{"exmaples"}},
		"another case":        {`{"Schema":"edge.learn_sample/v1"}`, []string{"Schema"}},
		"no schema":           {`{"examples":[]}`, []string{`""`, "edge.learn_sample/v1"}},
		"another schema":      {`{"schema":"edge.learn_sample/v2"}`, []string{"edge.learn_sample/v2", "edge.learn_sample/v1"}},
		"a wrong type":        {`{"schema":"edge.learn_sample/v1","examples":{}}`, []string{"examples: a JSON object can't stand here"}},
		"a number as prompt":  {examples(good, `{"prompt":7,"answer":"a"}`), []string{"examples[1].prompt: a JSON number can't stand here"}},
		"an empty fact":       {`{"schema":"edge.learn_sample/v1","profile":{"facts":["a"," \n"]}}`, []string{"profile.facts[1]"}},
		"unknown in example":  {examples(good, `{"prompt":"p","answer":"a","note":"x"}`), []string{"examples[1].note", "no such field"}},
		"unknown in call":     {examples(`{"prompt":"p","call":{"tool_name":"order_status","args":{}}}`), []string{"examples[0].call.args", "no such field"}},
		"null for an example": {examples(good, `null`), []string{"examples[1]", "prompt"}},
		"no prompt":           {examples(good, good, `{"answer":"a"}`), []string{"examples[2]", "prompt"}},
		"a blank prompt":      {examples(`{"prompt":" \t","answer":"a"}`), []string{"examples[0]", "prompt"}},
		"call and answer":     {examples(`{"prompt":"p","answer":"a","call":{"tool_name":"order_status","arguments":{"order_id":"1"}}}`), []string{"examples[0]", "both"}},
		"neither":             {examples(good, `{"prompt":"p"}`), []string{"examples[1]", "neither"}},
		"a blank answer":      {examples(`{"prompt":"p","answer":" "}`), []string{"examples[0]", "neither"}},
		"unknown tool":        {examples(good, call("refund", `{}`)), []string{"examples[1]", "refund", "calculate_fee, order_status"}},
		"tool of other case":  {examples(call("Order_Status", `{"order_id":"1"}`)), []string{"examples[0]", "Order_Status"}},
		"no tool name":        {examples(`{"prompt":"p","call":{"arguments":{}}}`), []string{"examples[0]"}},
		"missing argument":    {examples(call("order_status", `{}`)), []string{"examples[0]", "order_id"}},
		"no arguments":        {examples(`{"prompt":"p","call":{"tool_name":"order_status"}}`), []string{"examples[0]", "order_id"}},
		"unknown argument":    {examples(call("order_status", `{"order_id":"1","verbose":true}`)), []string{"examples[0]", "verbose"}},
		"wrong type":          {examples(call("order_status", `{"order_id":17}`)), []string{"examples[0]", "order_id"}},
		"outside the enum":    {examples(call("calculate_fee", `{"amount":1,"tier":"max"}`)), []string{"examples[0]", "tier"}},
		"arguments a list":    {examples(call("order_status", `[]`)), []string{"examples[0]", "object"}},
		"arguments null":      {examples(call("order_status", `null`)), []string{"examples[0]", "object"}},
		"too large a number":  {examples(call("calculate_fee", `{"amount":9007199254740993}`)), []string{"9007199254740993"}},
		"an argument twice":   {examples(call("order_status", `{"order_id":"1","order_id":"2"}`)), []string{"duplicate", "order_id"}},
		"wrong in holdout": {`{"schema":"edge.learn_sample/v1","examples":[` + good + `],"holdout":[{"prompt":"hi"},` + call("order_status", `{"order_id":17}`) + `]}`,
			[]string{"holdout[1]", "order_id"}},
		"no prompt in holdout": {`{"schema":"edge.learn_sample/v1","holdout":[{"answer":"a"}]}`, []string{"holdout[0]", "prompt"}},
		"both in holdout":      {`{"schema":"edge.learn_sample/v1","holdout":[{"prompt":"p","answer":"a","call":{"tool_name":"x"}}]}`, []string{"holdout[0]", "both"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := learn.ParseSample([]byte(c.text), shop(t))
			if !fault.Is(err, fault.CodeInvalidSampleFile) {
				t.Fatalf("got %v, want invalid_sample_file", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q doesn't say %q", err, part)
				}
			}
		})
	}
}

func TestCallWithoutTools(t *testing.T) {
	_, err := learn.ParseSample([]byte(`{"schema":"edge.learn_sample/v1","examples":[{"prompt":"p","call":{"tool_name":"x","arguments":{}}}]}`), nil)
	if !fault.Is(err, fault.CodeInvalidSampleFile) || !strings.Contains(err.Error(), "examples[0]") || !strings.Contains(err.Error(), "--tools") {
		t.Errorf("got %v", err)
	}
}

func TestReadSample(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.json", []byte(`{"schema":"edge.learn_sample/v1","examples":[{"prompt":"hi","answer":"hi"}]}`))
	if s, err := learn.ReadSample(good, nil); err != nil || len(s.Examples) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
	huge, err := json.Marshal(map[string]string{"schema": "edge.learn_sample/v1", "pad": strings.Repeat("x", 4<<20)})
	if err != nil {
		t.Fatal(err)
	}
	for path, c := range map[string]struct {
		code fault.Code
		says string
	}{
		filepath.Join(dir, "none.json"):       {fault.CodeSampleFileNotFound, "none.json"},
		filepath.Join(good, "below.json"):     {fault.CodeSampleFileNotFound, "below.json"},
		dir:                                   {fault.CodeInvalidSampleFile, dir},
		write("huge.json", huge):              {fault.CodeInvalidSampleFile, "larger than"},
		write("bad.json", []byte(`{"a":1}`)):  {fault.CodeInvalidSampleFile, "bad.json: "},
		write("line.json", []byte(`{"sch`)):   {fault.CodeInvalidSampleFile, "line.json: "},
		write("nul.json", []byte("\x00\x00")): {fault.CodeInvalidSampleFile, "nul.json: "},
	} {
		_, err := learn.ReadSample(path, nil)
		if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s saying %q", filepath.Base(path), err, c.code, c.says)
		}
	}
}

// An example of a tool that the selection leaves out is no mistake; one of a tool that the file doesn't have is.
func TestExamplesOfUnselectedToolsAreLeftOut(t *testing.T) {
	parameters := json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{},"required":[]}`)
	in := tools.Inspection{Path: "/t.py", GeneratorVersion: "1", Tools: []tools.Tool{
		{Name: "kept", Description: "d", Parameters: parameters, ExecutionLevel: tools.Read},
		{Name: "dropped", Description: "d", Parameters: parameters, ExecutionLevel: tools.Read},
	}}
	set, err := tools.Freeze(in, tools.Selection{Names: []string{"kept"}})
	if err != nil {
		t.Fatal(err)
	}
	text := `{"schema":"edge.learn_sample/v1","examples":[{"prompt":"a","call":{"tool_name":"%s","arguments":{}}},{"prompt":"b","call":{"tool_name":"kept","arguments":{}}}],` +
		`"holdout":[{"prompt":"c","call":{"tool_name":"%[1]s","arguments":{}}}]}`
	s, err := learn.ParseSample(fmt.Appendf(nil, text, "dropped"), set)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Examples) != 1 || s.Examples[0].Prompt != "b" || len(s.Holdout) != 0 || s.LeftOut != 2 {
		t.Errorf("got %+v", s)
	}
	if _, err := learn.ParseSample(fmt.Appendf(nil, text, "foreign"), set); !fault.Is(err, fault.CodeInvalidSampleFile) {
		t.Errorf("a foreign tool: got %v", err)
	}
}
