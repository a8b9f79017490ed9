package learn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/inference/chattemplate"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
)

// TestTheWordingIsItsVersion: PromptFormat names this very text. Whoever changes a word changes the version too, so
// that imprints of the old wording are refused by name.
func TestTheWordingIsItsVersion(t *testing.T) {
	messages, err := learn.Contract(shop(t), learn.Profile{System: "You bill.", Facts: []string{"Porto. ", "Basic is 0.3 %."}}, []learn.Example{
		example("Fee for 1, pro", "calculate_fee", `{"amount":1,"tier":"pro"}`), example("Bye", "", "Bye."),
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Role + ": " + m.Content + "\n")
	}
	b.WriteString(learn.ToolResult("calculate_fee", []byte(`{"fee":1}`)) + "\n" + learn.ToolError("no such tool") + "\n")
	want := `system: You bill.

Your tools:
{"name":"calculate_fee","description":"Compute the service fee for an amount.","parameters":{"properties":{"amount":{"type":"number"},"note":{"default":null,"type":["string","null"]},"tier":{"default":"basic","enum":["basic","pro"],"type":"string"}},"required":["amount"]}}
{"name":"order_status","description":"Look up an order.","parameters":{"properties":{"order_id":{"type":"string"}},"required":["order_id"]}}

To use a tool, reply with exactly one JSON object and nothing else:
{"tool_name":"…","arguments":{…}}
Its result comes back as a message that starts with "Tool result". Otherwise reply in plain words.

What you know:
- Porto.
- Basic is 0.3 %.
user: Fee for 1, pro
assistant: {"tool_name":"calculate_fee","arguments":{"amount":1,"tier":"pro"}}
user: Bye
assistant: Bye.
Tool result of calculate_fee: {"fee":1}
That call was refused: no such tool. Reply with a corrected call, or in plain words.
`
	if diff := cmp.Diff(want, b.String()); diff != "" || learn.PromptFormat != "2" {
		t.Errorf("prompt format %s; want (-), got (+):\n%s", learn.PromptFormat, diff)
	}
}

func TestContractWithoutTools(t *testing.T) {
	messages, err := learn.Contract(nil, learn.Profile{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []chattemplate.Message{{Role: chattemplate.System, Content: "You are a helpful assistant."}}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
}

// TestContractRefusesWhatTheToolsDo: examples of an imprint are rendered with the tools of today.
func TestContractRefusesWhatTheToolsDo(t *testing.T) {
	for code, e := range map[fault.Code]learn.Example{
		fault.CodeUnknownTool:     example("p", "refund", `{}`),
		fault.CodeInvalidToolArgs: example("p", "order_status", `{"order_id":1}`),
	} {
		if _, err := learn.Contract(shop(t), learn.Profile{}, []learn.Example{e}); !fault.Is(err, code) {
			t.Errorf("got %v, want %s", err, code)
		}
	}
	if _, err := learn.Contract(nil, learn.Profile{}, shopExamples()); !fault.Is(err, fault.CodeUnknownTool) {
		t.Errorf("without tools: got %v", err)
	}
}

// TestIdentityNamesTheWholeWorld: every part of the world that a state depends on is a field of the identity.
func TestIdentityNamesTheWholeWorld(t *testing.T) {
	engine := newEngine()
	w := world(t, engine)
	w.Params.KVTypeV, w.Params.RopeFreqBase, w.Params.SWAFull = "q8_0", 10000, true
	id := w.Identity(shop(t), tokensOf(1, 2, 3), "7")
	if err := id.Check(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range id.Fields() {
		got[f.Name] = f.Value
	}
	sha := func(text string) string { return digest.SHA256Of([]byte(text)).String() }
	want := map[string]string{
		"model.sha256": sha("model"), "model.architecture": "fake", "tokenizer_sha256": sha("tokenizer"), "chat_template_sha256": sha(w.Model.Info().ChatTemplate),
		"engine.name": "fake", "engine.version": "1", "engine.libraries.fake": sha("edge fake engine 1"),
		"params.kv_type_k": "f16", "params.kv_type_v": "q8_0", "params.flash_attention": "true", "params.n_batch": "64", "params.n_ubatch": "32",
		"params.rope_freq_base": "10000", "params.rope_freq_scale": "0", "params.swa_full": "true", "prompt_format_version": "2",
		"prefix_sha256": sha("\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00"), "learned_version": "7", "schema_generator_version": "1",
	}
	set := shop(t)
	want["active_set_sha256"] = set.SHA256().String()
	for _, tool := range set.Tools() {
		want["tools."+tool.Name] = tool.SchemaSHA256.String()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	none := w.Identity(nil, tokensOf(1), "7")
	if err := none.Check(); err != nil || len(none.Tools) != 0 || !none.ActiveSetSHA256.IsZero() {
		t.Errorf("without tools: %v, %+v", err, none.Tools)
	}
}
