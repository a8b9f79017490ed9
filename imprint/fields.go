package imprint

import (
	"fmt"
	"slices"
	"strconv"

	"edge/internal/digest"
	"edge/internal/fault"
)

// Field is one leaf of an identity as text. Names are paths, with dots; a list's members are named by their own names.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	group group
}

// Absent stands for the value of a field that one side doesn't have.
const Absent = "absent"

// group says which question of the gate a field belongs to.
type group int

// The order is that of the codes: of several mismatches, the first group's code is the refusal's. Tools come first
// because they are what a user changes and can give at once; the prefix comes last because it follows from the rest.
const (
	groupTools group = iota
	groupModel
	groupTemplate
	groupEngine
	groupParams
	groupPrefix
	groupLearned
)

// Fields gives every leaf of id. Two identities are equal exactly when their fields are.
func (id Identity) Fields() []Field {
	var f fieldList
	for _, t := range id.Tools {
		f.digest(groupTools, "tools."+t.Name, t.SchemaSHA256)
	}
	f.add(groupTools, "schema_generator_version", id.SchemaGeneratorVersion)
	f.digest(groupTools, "active_set_sha256", id.ActiveSetSHA256)
	f.digest(groupModel, "model.sha256", id.Model.SHA256)
	f.add(groupModel, "model.architecture", id.Model.Architecture)
	f.digest(groupTemplate, "tokenizer_sha256", id.TokenizerSHA256)
	f.digest(groupTemplate, "chat_template_sha256", id.ChatTemplateSHA256)
	f.add(groupEngine, "engine.name", id.Engine.Name)
	f.add(groupEngine, "engine.version", id.Engine.Version)
	for _, l := range id.Engine.Libraries {
		f.digest(groupEngine, "engine.libraries."+l.Name, l.SHA256)
	}
	p := id.Params
	f.add(groupParams, "params.kv_type_k", p.KVTypeK)
	f.add(groupParams, "params.kv_type_v", p.KVTypeV)
	f.add(groupParams, "params.flash_attention", strconv.FormatBool(p.FlashAttention))
	f.add(groupParams, "params.n_batch", strconv.Itoa(p.NBatch))
	f.add(groupParams, "params.n_ubatch", strconv.Itoa(p.NUBatch))
	f.add(groupParams, "params.rope_freq_base", number(p.RopeFreqBase))
	f.add(groupParams, "params.rope_freq_scale", number(p.RopeFreqScale))
	f.add(groupParams, "params.swa_full", strconv.FormatBool(p.SWAFull))
	for i, a := range p.LoRA {
		f.digest(groupParams, fmt.Sprintf("params.lora.%d.sha256", i), a.SHA256)
		f.add(groupParams, fmt.Sprintf("params.lora.%d.scale", i), number(a.Scale))
	}
	f.add(groupPrefix, "prompt_format_version", id.PromptFormatVersion)
	f.digest(groupPrefix, "prefix_sha256", id.PrefixSHA256)
	f.add(groupLearned, "learned_version", id.LearnedVersion)
	return f
}

type fieldList []Field

func (f *fieldList) add(g group, name, value string) { *f = append(*f, Field{name, value, g}) }

// digest adds a digest; one that isn't there at all is absent, as it is for a tool that the other side lacks.
func (f *fieldList) digest(g group, name string, d digest.SHA256) {
	if d.IsZero() {
		f.add(g, name, Absent)
		return
	}
	f.add(g, name, d.String())
}

// number writes the shortest decimal that reads back as v; adding 0 makes −0 the 0 that JSON keeps.
func number(v float64) string { return strconv.FormatFloat(v+0, 'g', -1, 64) }

// difference pairs two values of one field; a side that lacks the field has Absent.
type difference struct {
	name  string
	a, b  string
	group group
}

// compare gives the fields that differ, in a's order, and b's own fields after them.
func compare(a, b []Field) []difference {
	index := make(map[string]Field, len(b))
	for _, f := range b {
		index[f.Name] = f
	}
	var diffs []difference
	for _, f := range a {
		other, ok := index[f.Name]
		if !ok {
			other.Value = Absent
		}
		if other.Value != f.Value {
			diffs = append(diffs, difference{f.Name, f.Value, other.Value, f.group})
		}
		delete(index, f.Name)
	}
	for _, f := range b {
		if _, left := index[f.Name]; left && f.Value != Absent {
			diffs = append(diffs, difference{f.Name, Absent, f.Value, f.group})
		}
	}
	return diffs
}

// drift compares a recorded identity with the live one: nil, or the error of gate step 4 with every mismatch.
func drift(recorded, live Identity) *fault.Error {
	diffs := compare(recorded.Fields(), live.Fields())
	if len(diffs) == 0 {
		return nil
	}
	slices.SortStableFunc(diffs, func(x, y difference) int { return int(x.group - y.group) })
	code, what := verdict(recorded, live, diffs[0])
	err := fault.New(code, "%s", what)
	if more := len(diffs) - 1; more > 0 {
		err.Message += fmt.Sprintf(" (%d fields differ)", more+1)
	}
	for _, d := range diffs {
		err.Mismatches = append(err.Mismatches, fault.Mismatch{Field: d.name, Want: d.a, Got: d.b})
	}
	return err
}

// String names the field, and its values where they are short enough to be read.
func (d difference) String() string {
	const readable = 40
	if len(d.a) > readable || len(d.b) > readable {
		return d.name
	}
	return fmt.Sprintf("%s: got %q, want %q", d.name, d.b, d.a)
}

// verdict gives the code and the sentence for the first field that differs.
func verdict(recorded, live Identity, first difference) (fault.Code, string) {
	differs := first.String()
	switch first.group {
	case groupTools:
		switch want, got := recorded.toolNames(), live.toolNames(); {
		case len(got) == 0:
			return fault.CodeImprintRequiresTools, fmt.Sprintf("the imprint was learned with the tools %q, and none are given", want)
		case !slices.Equal(want, got):
			return fault.CodeImprintToolActiveSetMismatch, fmt.Sprintf("the active tools: got %q, want %q", got, want)
		}
		return fault.CodeImprintToolSchemaMismatch, "the imprint was learned with another tool schema: " + differs
	case groupModel:
		return fault.CodeImprintModelMismatch, "the imprint was learned with another model: " + differs
	case groupTemplate:
		return fault.CodeImprintTemplateMismatch, "the imprint was learned with another tokenizer or chat template: " + differs
	case groupEngine:
		return fault.CodeImprintRuntimeMismatch, "the imprint was learned with another engine: " + differs
	case groupParams:
		return fault.CodeImprintParamsMismatch, "the imprint was learned with other engine parameters: " + differs
	case groupPrefix:
		return fault.CodeImprintPrefixMismatch, "the prompt doesn't begin as the imprint does: " + differs
	}
	// What was learned has a form of its own, and this edge reads another one: stale, like another file format.
	return fault.CodeImprintFormatUnsupported, "the imprint's learned part has another form than this edge reads: " + differs
}
