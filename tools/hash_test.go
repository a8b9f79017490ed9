package tools_test

import (
	"encoding/json"
	"testing"

	"edge/internal/digest"
	"edge/tools"
)

func hashVector() []tools.Tool {
	fee := tools.Tool{
		Name:           "fee",
		Description:    `Quote <fee> & "more".`,
		Parameters:     json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {"amount": {"type": "number"}, "tier": {"enum": ["basic", "gr\u00f6\u00dfer"], "type": "string", "default": "basic"}}, "required": ["amount"]}`),
		ExecutionLevel: tools.Read,
		Permissions:    []string{"read_local"},
		IntentTags:     []string{"billing"},
	}
	send := tool("send", "")
	send.Description, send.ExecutionLevel, send.ReturnDirect, send.OutputSchema = "", tools.Commit, true, json.RawMessage(closedOK)
	return []tools.Tool{send, fee}
}

// The digests were made with Python's json.dumps(…, sort_keys=True, separators=(",", ":"), ensure_ascii=False) and
// hashlib over the objects that contract.md names; they must never change.
func TestHashes(t *testing.T) {
	set := freeze(t, hashVector()...)
	for _, test := range []struct {
		name, want string
		got        digest.SHA256
	}{
		{"fee", "2738490a2b4512aa567462137499644b0bf69cfae824ed3cdc28761c5c97a5f0", set.Tools()[0].SchemaSHA256},
		{"send", "2a6f5ac071293a70cd76d689dd30fd17d016566da013ace660b3ecde0ae28f74", set.Tools()[1].SchemaSHA256},
		{"the set", "763bbd01d8a57f560d6b0b1dd2659340a1d04d86925d9324665bea18ad4aa0df", set.SHA256()},
	} {
		if test.got.String() != test.want {
			t.Errorf("%s: got %s, want %s", test.name, test.got, test.want)
		}
	}
}

// What a model learns is in the digest, and what it doesn't isn't.
func TestHashCovers(t *testing.T) {
	base := freeze(t, hashVector()...)
	for _, test := range []struct {
		name    string
		change  func(*tools.Tool)
		changes bool
	}{
		{"description", func(t *tools.Tool) { t.Description += "." }, true},
		{"parameters", func(t *tools.Tool) {
			t.Parameters = json.RawMessage(`{"type":"object","additionalProperties":false}`)
		}, true},
		{"output_schema", func(t *tools.Tool) { t.OutputSchema = json.RawMessage(closedOK) }, true},
		{"permissions", func(t *tools.Tool) { t.Permissions = nil }, true},
		{"return_direct", func(t *tools.Tool) { t.OutputSchema, t.ReturnDirect = json.RawMessage(closedOK), true }, true},
		{"tags", func(t *tools.Tool) { t.IntentTags = []string{"money"} }, false},
		{"line", func(t *tools.Tool) { t.Line = 99 }, false},
		{"null as output_schema", func(t *tools.Tool) { t.OutputSchema = json.RawMessage(" null ") }, false},
		{"spelling of the schema", func(t *tools.Tool) {
			t.Parameters = json.RawMessage(`{"required":["amount"],"properties":{"tier":{"default":"basic","type":"string","enum":["basic","größer"]},"amount":{"type":"number"}},"type":"object","additionalProperties":false}`)
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := hashVector()
			test.change(&list[1])
			set := freeze(t, list...)
			if changed := set.SHA256() != base.SHA256(); changed != test.changes {
				t.Errorf("changed the set's digest: %v, want %v", changed, test.changes)
			}
			if changed := set.Tools()[0].SchemaSHA256 != base.Tools()[0].SchemaSHA256; changed != test.changes {
				t.Errorf("changed the tool's digest: %v, want %v", changed, test.changes)
			}
		})
	}
	in := inspection(hashVector()...)
	in.GeneratorVersion = "2"
	if set, err := tools.Freeze(in, tools.Selection{}); err != nil || set.SHA256() == base.SHA256() {
		t.Errorf("the generator's version isn't in the set's digest (%v)", err)
	}
	in = inspection(hashVector()...)
	in.FileSHA256, in.Path = digest.SHA256{}, "/elsewhere.py"
	if set, err := tools.Freeze(in, tools.Selection{}); err != nil || set.SHA256() != base.SHA256() {
		t.Errorf("the file is in the set's digest (%v)", err)
	}
}
