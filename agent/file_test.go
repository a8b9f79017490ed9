package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"edge/agent"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// described is one agent as the file's process tells of it; more is the rest of its members.
func described(name, more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"name":"` + name + `"` + more + `}`
}

// asTool and handover are links to another agent.
func asTool(to string) string {
	return `{"name":"ask_` + to + `","description":"Ask ` + to + `.","agent":"` + to + `","tells_failures":true}`
}

func handover(to string) string {
	return `{"name":"transfer_to_` + to + `","description":"Hand over to ` + to + `.","agent":"` + to + `"}`
}

func has(what string, links ...string) string {
	return `"` + what + `":[` + strings.Join(links, ",") + `]`
}

func weatherTool() tools.Tool {
	return tools.Tool{Name: "get_weather", Description: "Say what the weather is.", ExecutionLevel: tools.Read, Parameters: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["city"],"properties":{"city":{"type":"string"}}}`)}
}

func inspection(list ...tools.Tool) tools.Inspection {
	return tools.Inspection{Path: "/agents.py", GeneratorVersion: "1", FileSHA256: digest.SHA256Of([]byte("agents")), Tools: list}
}

func load(t testing.TB, in tools.Inspection, agents ...string) *agent.File {
	t.Helper()
	in.Agents = json.RawMessage("[" + strings.Join(agents, ",") + "]")
	f, err := agent.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEachAgentHasItsOwnTools(t *testing.T) {
	f := load(t, inspection(weatherTool()),
		described("weather", `"tools":["get_weather"]`), described("boss", has("agent_tools", asTool("weather"))+","+has("handoffs", handover("talker"))), described("talker", ""))
	want := map[string]string{"weather": "get_weather", "boss": "ask_weather transfer_to_talker", "talker": ""}
	for _, a := range f.Agents() {
		got := ""
		if a.Set != nil {
			got = strings.Join(a.Set.Names(), " ")
		}
		if got != want[a.Name] {
			t.Errorf("%s has the tools %q, want %q", a.Name, got, want[a.Name])
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	bad := weatherTool()
	bad.Name = "get weather"
	nothing := inspection()
	nothing.Problems = []fault.Problem{{Code: fault.CodeNoToolsFound, Message: "no function of the file has @function_tool"}}
	for name, c := range map[string]struct {
		in     tools.Inspection
		agents []string
		code   fault.Code
		says   string
	}{
		"no agents":       {inspection(weatherTool()), nil, fault.CodeNoAgentsFound, "holds no agent"},
		"nothing":         {nothing, nil, fault.CodeNoAgentsFound, "holds no agent"},
		"the same name":   {inspection(), []string{described("a", ""), described("a", "")}, fault.CodeInvalidAgent, `two agents called "a"`},
		"its own problem": {inspection(), []string{described("a", `"problems":["a tool is a dict"]`)}, fault.CodeInvalidAgent, `agent "a": a tool is a dict`},
		"no such tool":    {inspection(), []string{described("a", `"tools":["gone"]`)}, fault.CodeInvalidAgent, `agent a: the file has no tool "gone"`},
		"a tool of none":  {inspection(bad), []string{described("a", "")}, fault.CodeInvalidToolName, "get weather"},
		"one name twice":  {inspection(), []string{described("a", has("agent_tools", asTool("b"), asTool("b"))), described("b", "")}, fault.CodeDuplicateToolName, "agent a: "},
		"itself as tool":  {inspection(), []string{described("a", has("agent_tools", asTool("a")))}, fault.CodeAgentCycle, "circle: a → a"},
		"a circle": {inspection(), []string{described("z", has("agent_tools", asTool("a"))), described("a", has("agent_tools", asTool("b"))), described("b", has("agent_tools", asTool("c"))), described("c", has("agent_tools", asTool("a")))},
			fault.CodeAgentCycle, "circle: a → b → c → a"},
		"a choice of none":     {inspection(), []string{described("a", `"settings":{"tool_choice":"required","temperature":null,"max_tokens":null}`)}, fault.CodeInvalidAgent, "agent a: the tool choice is required, and there are no tools"},
		"a stop that isn't it": {inspection(weatherTool()), []string{described("a", `"tools":["get_weather"],"tool_use_behavior":{"kind":"stop_at_tools","names":["get_wind"]}`)}, fault.CodeInvalidAgent, `"get_wind", which is no active tool`},
		"a stop of none":       {inspection(), []string{described("a", `"tool_use_behavior":{"kind":"stop_at_tools","names":["get_wind"]}`)}, fault.CodeInvalidAgent, `can't stop at "get_wind": there are no tools`},
		"too many": {inspection(), []string{described("a", has("handoffs", handover("b"), handover("c"), handover("d"), handover("e"), handover("f"), handover("g"), handover("h"), handover("i"), handover("j")))},
			fault.CodeActiveToolLimitExceeded, "agent a: 9 tools"},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Agents = json.RawMessage("[" + strings.Join(c.agents, ",") + "]")
			_, err := agent.Load(c.in)
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s with %q", err, c.code, c.says)
			}
			if hint := fault.From(err).NextStep(); strings.Contains(hint, "--tool") {
				t.Errorf("%q: edge agent has no such flag", hint)
			}
		})
	}
}

// A diamond isn't a circle, and handoffs may go round.
func TestWhatIsNoCircle(t *testing.T) {
	f := load(t, inspection(), described("a", has("agent_tools", asTool("b"), asTool("c"))), described("b", has("agent_tools", asTool("d"))),
		described("c", has("agent_tools", asTool("d"))), described("d", has("handoffs", handover("a"))))
	if round := f.HandoffCycle(); round != nil {
		t.Errorf("%v isn't a circle of handoffs", round)
	}
	f = load(t, inspection(), described("a", has("handoffs", handover("b"))), described("b", has("handoffs", handover("a"))))
	if round := f.HandoffCycle(); strings.Join(round, " ") != "a b a" {
		t.Errorf("the circle of handoffs is %v", round)
	}
}

func TestWhichAgentBegins(t *testing.T) {
	a, b := described("a", `"variable":"first",`+has("handoffs", handover("b"))), described("b", has("handoffs", handover("b")))
	for name, c := range map[string]struct {
		agents []string
		asked  string
		want   string
	}{
		"named":                        {[]string{a, b}, "b", "b"},
		"by its variable":              {[]string{a, b}, "first", "a"},
		"the only root":                {[]string{b, a}, "", "a"},
		"the variable agent":           {[]string{a, described("c", `"variable":"agent"`), b}, "", "c"},
		"unknown":                      {[]string{a, b}, "d", `no agent "d"; it has a, b`},
		"two roots":                    {[]string{a, b, described("c", "")}, "", "could begin with: a, c"},
		"none, because all are in use": {[]string{described("x", has("handoffs", handover("y"))), described("y", has("handoffs", handover("x")))}, "", "could begin with: x, y"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := load(t, inspection(), c.agents...).Agent(c.asked)
			if err != nil {
				if !fault.Is(err, fault.CodeUnknownAgent) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want unknown_agent with %q", err, c.want)
				}
			} else if found.Name != c.want {
				t.Errorf("got %s, want %s", found.Name, c.want)
			}
		})
	}
}
