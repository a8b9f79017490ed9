package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/learn"
)

// fakeWorld is a model that answers by script.
func fakeWorld(t *testing.T, script func([]inference.Token) (string, bool)) learn.World {
	t.Helper()
	engine := fake.New(fake.Options{Script: script})
	m, err := engine.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err) // a session or a grammar was left open
		}
	})
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	return learn.World{Engine: engine.Info(), Model: m, Params: inference.DefaultParams(), Renderer: r, File: learn.ModelFile{Name: "fake", SHA256: digest.SHA256Of([]byte("m"))}}
}

// said writes an answer's calls as text, "none" where there is no call.
func said(a answered) map[string]string {
	out := map[string]string{}
	for arm, call := range a.Calls {
		out[arm] = "none"
		if call != nil {
			out[arm] = call.ToolName + string(call.Arguments)
		}
	}
	return out
}

func TestAskAll(t *testing.T) {
	open := feeRow("open", "fee of 7?", "7")
	open.Functions = append(open.Functions, function{"bag", "", json.RawMessage(`{"type":"dict","properties":{"x":{"type":"dict"}}}`)})
	alone := orderRow("alone", "order A1?", "A1")
	alone.Functions = alone.Functions[1:]
	alone.System = "You run a shop."
	talk := alone
	talk.ID, talk.Request, talk.Truth = "talk", "How are you?", nil

	replies := fake.Replies(
		fake.Reply{When: "fee of 250?", Say: `{"tool_name":"shop_fee","arguments":{"amount":9}}`},
		fake.Reply{When: "order A1?", Say: `{"tool_name":"order_status","arguments":{"order_id":"of 3"}}`},
		fake.Reply{When: "How are you?", Say: `Fine.`},
	)
	w := fakeWorld(t, func(history []inference.Token) (string, bool) {
		text := fake.Text(history)
		if _, request := fake.LastMessage(history); request == "order A1?" && (!strings.Contains(text, "You run a shop.") || strings.Contains(text, "shop_fee")) {
			t.Error("a request was asked behind another one's functions")
		}
		return replies(history)
	})
	got, err := askAll(t.Context(), w, []row{feeRow("fee", "What is the fee of 250?", "250"), open, alone, talk}, options{category: "multiple"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got[1].Refused == "" || got[1].Calls != nil {
		t.Errorf("an open schema was asked about: %+v", got[1])
	}
	want := []map[string]string{
		// Free, the model says its number; tied to the request, it can only say the request's.
		{nothingLearned: `shop_fee{"amount":9}`, given: `shop_fee{"amount":9}`, givenGrounded: `shop_fee{"amount":250}`, fromTools: `shop_fee{"amount":250}`},
		nil,
		{nothingLearned: `order_status{"order_id":"of 3"}`, given: `order_status{"order_id":"of 3"}`, givenGrounded: `order_status{"order_id":"A1"}`, fromTools: `order_status{"order_id":"A1"}`},
		{nothingLearned: "none", fromTools: "none"},
	}
	for i, a := range got {
		calls := said(a)
		if len(want[i]) == 0 && len(calls) == 0 {
			continue
		}
		if diff := cmp.Diff(want[i], calls); diff != "" {
			t.Errorf("%s: %s", a.ID, diff)
		}
	}
	if diff := cmp.Diff([]string{byCentred, byModel, byStates, byWords}, slices.Sorted(maps.Keys(got[0].Choices))); diff != "" {
		t.Error(diff)
	}
	if got[0].Choices[byWords] != "shop_fee" || got[0].Choices[byModel] != "shop_fee" {
		t.Errorf("got %v", got[0].Choices)
	}
	if got[2].Choices != nil {
		t.Errorf("one function leaves no choice: %v", got[2].Choices)
	}
}

func TestLearnFromOthers(t *testing.T) {
	fees := []row{feeRow("f1", "fee of 10?", "10"), feeRow("f2", "fee of 20?", "20"), feeRow("f3", "fee of 30?", "30")}
	orders := []row{orderRow("o1", "Where is order A1?", "A1"), orderRow("o2", "Where is order B2?", "B2"), orderRow("o3", "Where is order C3?", "C3")}
	got, err := askAll(t.Context(), fakeWorld(t, nil), slices.Concat(fees, orders), options{category: "multiple", shared: 2}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, a := range got {
		calls = append(calls, said(a)[fromOthers])
	}
	want := []string{
		`shop_fee{"amount":10}`, `shop_fee{"amount":20}`, `shop_fee{"amount":30}`,
		`order_status{"order_id":"A1"}`, `order_status{"order_id":"B2"}`, `order_status{"order_id":"C3"}`,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

// Nothing is learned from the request itself, from other functions' requests, or from a call that edge wouldn't accept.
func TestLessonsFor(t *testing.T) {
	other := feeRow("other", "fee?", "1")
	other.System = "Be brief."
	wrong := feeRow("wrong", "fee of x?", `"x"`)
	rows := []row{feeRow("a", "fee of 1?", "1"), orderRow("b", "order 2?", "2"), other, wrong, feeRow("c", "fee of 3?", "3")}
	set, err := freeze(rows[0].Functions)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`order_status{"order_id":"2"} shop_fee{"amount":3}`,
		`shop_fee{"amount":1} shop_fee{"amount":3}`,
		``,
	} {
		examples, err := lessonsFor(set, rows, i)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range examples {
			got = append(got, e.Call.ToolName+string(e.Call.Arguments))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("for request %d: %s", i, diff)
		}
	}
}

func TestChoose(t *testing.T) {
	set, err := freeze([]function{feeFunction(), orderFunction()})
	if err != nil {
		t.Fatal(err)
	}
	list := set.Tools()
	// Two views of two dimensions. All requests lie far from all descriptions, in a way that only centring each on its own
	// undoes.
	view := func(x, y float32) []learn.Vector { return []learn.Vector{{x, y}, {x, y}} }
	descriptions := [][]learn.Vector{view(1, 0), view(0, 1)} // of order_status and shop_fee
	got := choose([]looked{
		{request: view(20.5, 10), descriptions: descriptions, tools: list, text: "nothing shared", named: "shop_fee"},
		{request: view(20, 10.5), descriptions: descriptions, tools: list, text: "fee"},
		{request: view(5.52, 5.5), descriptions: descriptions, tools: list, text: "fee of an amount"},
	})
	want := []map[string]string{
		{byModel: "shop_fee", byStates: "order_status", byCentred: "order_status"},
		{byModel: "", byStates: "order_status", byCentred: "shop_fee", byWords: "shop_fee"},
		{byModel: "", byStates: "order_status", byCentred: "order_status", byWords: "shop_fee"},
	}
	got[2][byCentred] = "order_status" // it lies between the others and says nothing
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
