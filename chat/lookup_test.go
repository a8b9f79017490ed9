package chat_test

import (
	"path/filepath"
	"strings"
	"testing"

	"edge/chat"
	"edge/facts"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

func factsStore(t *testing.T, lines string) *facts.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "facts.db")
	if _, err := facts.Import(t.Context(), path, strings.NewReader(lines), facts.JSONLines); err != nil {
		t.Fatal(err)
	}
	s, err := facts.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLookupSet(t *testing.T) {
	own, err := chat.LookupSet("facts.db", "", "")
	if err != nil {
		t.Fatal(err)
	}
	tool, ok := own.Lookup(chat.LookupName)
	if !ok || tool.ExecutionLevel != tools.Read || tool.Description == "" || len(own.Names()) != 1 {
		t.Errorf("got %+v", tool)
	}
	named, err := chat.LookupSet("manifest.json", "shop_facts", "Facts of the shop.")
	if err != nil {
		t.Fatal(err)
	}
	if tool, ok := named.Lookup("shop_facts"); !ok || tool.Description != "Facts of the shop." {
		t.Errorf("got %+v", tool)
	}
	again, _ := chat.LookupSet("moved.db", "", "")
	if again.SHA256() != own.SHA256() || named.SHA256() == own.SHA256() {
		t.Error("a set is known by its name and description, not by where the store lies")
	}
	if _, err := chat.LookupSet("m.json", "no name", ""); !fault.Is(err, fault.CodeInvalidToolName) {
		t.Errorf("got %v", err)
	}
}

func TestLookupCall(t *testing.T) {
	l := chat.NewLookup(factsStore(t, `{"id":"1","text":"The opening hours are nine to five.","source":"door"}`+"\n"+`{"id":"2","text":"The shop is in Porto."}`+"\n"))
	set, err := chat.LookupSet("facts.db", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`{"query":"opening hours"}`: `{"matches":[{"source":"door","text":"The opening hours are nine to five."}]}`,
		`{"query":"zebra"}`:         `{"matches":[]}`,
	} {
		out, err := l.Call(t.Context(), runner.CallRequest{Set: set, Call: tools.Call{ToolName: chat.LookupName, Arguments: []byte(query)}})
		if err != nil || string(out.Canonical) != want || string(out.Sandbox) == "" {
			t.Errorf("%s: got %s, %v", query, out.Canonical, err)
		}
	}
	if _, err := l.Call(t.Context(), runner.CallRequest{Set: set, Call: tools.Call{ToolName: chat.LookupName, Arguments: []byte(`{"q":1}`)}}); !fault.Is(err, fault.CodeInvalidToolArgs) {
		t.Errorf("got %v", err)
	}
}

// TestAChatLooksFactsUp by the very same loop as any tool, also where nothing matches.
func TestAChatLooksFactsUp(t *testing.T) {
	set, err := chat.LookupSet("facts.db", "", "")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, script(
		fake.Reply{When: `"matches":[]`, Say: "I don't know."}, fake.Reply{When: "Tool result of", Say: "It says: The shop is in Porto."},
		fake.Reply{When: "where", Say: `{"tool_name":"local_facts_lookup","arguments":{"query":"where is the shop"}}`},
		fake.Reply{When: "zebra", Say: `{"tool_name":"local_facts_lookup","arguments":{"query":"zebra"}}`},
	)).with(set)
	b.cfg.Dispatcher.Runner = chat.NewLookup(factsStore(t, `{"id":"2","text":"The shop is in Porto."}`+"\n"))
	c := b.open()
	if turn := c.ask("where is it?"); turn.Answer != "It says: The shop is in Porto." || turn.AnswerSource != chat.FromModel {
		t.Errorf("got %+v", turn)
	}
	if turn := c.ask("the zebra?"); turn.Answer != "I don't know." || turn.FinishReason != chat.FinishAnswer {
		t.Errorf("got %+v", turn)
	}
}
