package imprint_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
)

// verify runs the whole gate over a full imprint against live.
func verify(t *testing.T, live imprint.Identity) (*imprint.Verified, error) {
	t.Helper()
	path, _ := write(t, full())
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u.Verify(context.Background(), live)
}

// imprint-v1 §7. The drift matrix: what changes, and exactly its code. It prints a table of all fields that an identity has,
// each with the code that its change alone gets, and fails where one has no row:
//
//	go test -v -run TestDriftMatrix ./imprint
func TestDriftMatrix(t *testing.T) {
	const (
		requires  = fault.CodeImprintRequiresTools
		activeSet = fault.CodeImprintToolActiveSetMismatch
		schema    = fault.CodeImprintToolSchemaMismatch
		model     = fault.CodeImprintModelMismatch
		template  = fault.CodeImprintTemplateMismatch
		runtime   = fault.CodeImprintRuntimeMismatch
		params    = fault.CodeImprintParamsMismatch
		prefix    = fault.CodeImprintPrefixMismatch
		format    = fault.CodeImprintFormatUnsupported
	)
	other := sha("other")
	noTools := func(id *imprint.Identity) {
		id.Tools, id.ActiveSetSHA256, id.SchemaGeneratorVersion = nil, digest.SHA256{}, ""
	}
	codes := map[string]fault.Code{} // of the fields that a row changed alone
	for _, row := range []struct {
		name   string
		change func(id *imprint.Identity)
		code   fault.Code
		fields string
	}{
		{"model bytes", func(id *imprint.Identity) { id.Model.SHA256 = other }, model, "model.sha256"},
		{"architecture", func(id *imprint.Identity) { id.Model.Architecture = "qwen35" }, model, "model.architecture"},
		{"tokenizer", func(id *imprint.Identity) { id.TokenizerSHA256 = other }, template, "tokenizer_sha256"},
		{"chat template", func(id *imprint.Identity) { id.ChatTemplateSHA256 = other }, template, "chat_template_sha256"},
		{"engine", func(id *imprint.Identity) { id.Engine.Name = "ollama" }, runtime, "engine.name"},
		{"engine version", func(id *imprint.Identity) { id.Engine.Version = "v0.5.0" }, runtime, "engine.version"},
		{"library bytes", func(id *imprint.Identity) { id.Engine.Libraries[1].SHA256 = other }, runtime, "engine.libraries.libllama.so"},
		{"library renamed", func(id *imprint.Identity) { id.Engine.Libraries[1].Name = "libx.so" }, runtime, "engine.libraries.libllama.so engine.libraries.libx.so"},
		{"library gone", func(id *imprint.Identity) { id.Engine.Libraries = id.Engine.Libraries[:1] }, runtime, "engine.libraries.libllama.so"},
		{"library added", func(id *imprint.Identity) {
			id.Engine.Libraries = append(id.Engine.Libraries, imprint.Library{Name: "libx.so", SHA256: other})
		}, runtime, "engine.libraries.libx.so"},
		{"KV type of keys", func(id *imprint.Identity) { id.Params.KVTypeK = "q4_0" }, params, "params.kv_type_k"},
		{"KV type of values", func(id *imprint.Identity) { id.Params.KVTypeV = "f16" }, params, "params.kv_type_v"},
		{"flash attention", func(id *imprint.Identity) { id.Params.FlashAttention = false }, params, "params.flash_attention"},
		{"n_batch", func(id *imprint.Identity) { id.Params.NBatch++ }, params, "params.n_batch"},
		{"n_ubatch", func(id *imprint.Identity) { id.Params.NUBatch++ }, params, "params.n_ubatch"},
		{"RoPE base", func(id *imprint.Identity) { id.Params.RopeFreqBase = 500000 }, params, "params.rope_freq_base"},
		{"RoPE scale by one unit", func(id *imprint.Identity) { id.Params.RopeFreqScale = math.Nextafter(0.1, 1) }, params, "params.rope_freq_scale"},
		{"SWA mode", func(id *imprint.Identity) { id.Params.SWAFull = true }, params, "params.swa_full"},
		{"LoRA bytes", func(id *imprint.Identity) { id.Params.LoRA[0].SHA256 = other }, params, "params.lora.0.sha256"},
		{"LoRA scale", func(id *imprint.Identity) { id.Params.LoRA[0].Scale = 1 }, params, "params.lora.0.scale"},
		{"LoRA gone", func(id *imprint.Identity) { id.Params.LoRA = nil }, params, "params.lora.0.sha256 params.lora.0.scale"},
		{"LoRA added", func(id *imprint.Identity) {
			id.Params.LoRA = append(id.Params.LoRA, imprint.LoRA{SHA256: other})
		}, params, "params.lora.1.sha256 params.lora.1.scale"},
		{"prompt format", func(id *imprint.Identity) { id.PromptFormatVersion = "2" }, prefix, "prompt_format_version"},
		{"prefix tokens", func(id *imprint.Identity) { id.PrefixSHA256 = other }, prefix, "prefix_sha256"},
		{"learned form", func(id *imprint.Identity) { id.LearnedVersion = "edge.head/v2" }, format, "learned_version"},
		{"a tool's schema", func(id *imprint.Identity) { id.Tools[0].SchemaSHA256 = other }, schema, "tools.calculate_fee"},
		{"schema generator", func(id *imprint.Identity) { id.SchemaGeneratorVersion = "2" }, schema, "schema_generator_version"},
		{"active set alone", func(id *imprint.Identity) { id.ActiveSetSHA256 = other }, schema, "active_set_sha256"},
		{"a tool renamed", func(id *imprint.Identity) { id.Tools[1].Name = "status" }, activeSet, "tools.order_status tools.status"},
		{"a tool removed", func(id *imprint.Identity) { id.Tools = id.Tools[:1] }, activeSet, "tools.order_status"},
		{"a tool added", func(id *imprint.Identity) {
			id.Tools = append(id.Tools, imprint.Tool{Name: "ping", SchemaSHA256: other})
		}, activeSet, "tools.ping"},
		{"no tools", noTools, requires, "tools.calculate_fee tools.order_status schema_generator_version active_set_sha256"},

		// Of several, the first of the order decides, and all are told.
		{"all at once", func(id *imprint.Identity) {
			*id = imprint.Identity{Model: imprint.Model{SHA256: other, Architecture: "x"}, TokenizerSHA256: other, ChatTemplateSHA256: other,
				Engine: imprint.Engine{Name: "x", Version: "x"}, Params: imprint.Params{KVTypeK: "x", KVTypeV: "x", NBatch: 1, NUBatch: 1},
				PromptFormatVersion: "x", PrefixSHA256: other, LearnedVersion: "x"}
		}, requires, "tools.calculate_fee tools.order_status schema_generator_version active_set_sha256 model.sha256 model.architecture " +
			"tokenizer_sha256 chat_template_sha256 engine.name engine.version engine.libraries.libggml.so engine.libraries.libllama.so " +
			"params.kv_type_k params.kv_type_v params.flash_attention params.n_batch params.n_ubatch params.rope_freq_base " +
			"params.rope_freq_scale params.lora.0.sha256 params.lora.0.scale prompt_format_version prefix_sha256 learned_version"},
		{"schema before model", func(id *imprint.Identity) { id.Tools[0].SchemaSHA256, id.Model.SHA256 = other, other }, schema, "tools.calculate_fee model.sha256"},
		{"a tool added before model", func(id *imprint.Identity) {
			id.Tools = append(id.Tools, imprint.Tool{Name: "ping", SchemaSHA256: other})
			id.Model.SHA256 = other
		}, activeSet, "tools.ping model.sha256"},
		{"model before template", func(id *imprint.Identity) { id.Model.SHA256, id.ChatTemplateSHA256 = other, other }, model, "model.sha256 chat_template_sha256"},
		{"template before engine", func(id *imprint.Identity) { id.Engine.Version, id.TokenizerSHA256 = "x", other }, template, "tokenizer_sha256 engine.version"},
		{"engine before parameters", func(id *imprint.Identity) { id.Engine.Version, id.Params.NUBatch = "x", 1 }, runtime, "engine.version params.n_ubatch"},
		{"parameters before prefix", func(id *imprint.Identity) { id.PrefixSHA256, id.Params.NUBatch = other, 1 }, params, "params.n_ubatch prefix_sha256"},
		{"prefix before learned", func(id *imprint.Identity) { id.PrefixSHA256, id.LearnedVersion = other, "x" }, prefix, "prefix_sha256 learned_version"},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := identity(full().Tokens)
			row.change(&live)
			if changed := changedLeaves(identity(full().Tokens), live); len(changed) == 1 {
				codes[changed[0]] = row.code
			}
			v, err := verify(t, live)
			if v != nil {
				t.Fatal("a drifted imprint was verified")
			}
			wantRefusal(t, err, row.code, imprint.StepIdentity)
			var r *imprint.Refusal
			errors.As(err, &r)
			var names []string
			for _, m := range r.Fault.Mismatches {
				names = append(names, m.Field)
				if m.Want == m.Got {
					t.Errorf("%s: want and got are both %q", m.Field, m.Want)
				}
			}
			if got := strings.Join(names, " "); got != row.fields {
				t.Errorf("mismatches:\n got %s\nwant %s", got, row.fields)
			}
		})
	}
	for _, leaf := range leavesOf(reflect.TypeFor[imprint.Identity](), "") {
		t.Logf("%-28s %s", leaf, codes[leaf])
		if codes[leaf] == "" {
			t.Errorf("no row changes %s alone", leaf)
		}
	}
}

// leavesOf gives the paths of a type's fields in JSON, those of a list's members with [].
func leavesOf(typ reflect.Type, path string) (paths []string) {
	switch {
	case typ == reflect.TypeFor[digest.SHA256]() || typ.Kind() != reflect.Struct && typ.Kind() != reflect.Slice:
		return []string{path}
	case typ.Kind() == reflect.Slice:
		return leavesOf(typ.Elem(), path+"[]")
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		paths = append(paths, leavesOf(typ.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return paths
}

// changedLeaves gives the leaves in which two identities differ; a list with another number of members is one of them.
func changedLeaves(a, b imprint.Identity) (paths []string) {
	var walk func(a, b reflect.Value, path string)
	walk = func(a, b reflect.Value, path string) {
		switch {
		case reflect.DeepEqual(a.Interface(), b.Interface()):
		case len(leavesOf(a.Type(), path)) == 1 && a.Kind() != reflect.Slice || a.Kind() == reflect.Slice && a.Len() != b.Len():
			paths = append(paths, path)
		case a.Kind() == reflect.Slice:
			for i := range a.Len() {
				walk(a.Index(i), b.Index(i), path+"[]")
			}
		default:
			for i := range a.NumField() {
				name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
				walk(a.Field(i), b.Field(i), strings.TrimPrefix(path+"."+name, "."))
			}
		}
	}
	walk(reflect.ValueOf(a), reflect.ValueOf(b), "")
	return paths
}

func TestToolsOnlyOnTheLiveSide(t *testing.T) {
	path, _ := write(t, small())
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	live := small().Identity
	live.Tools, live.ActiveSetSHA256, live.SchemaGeneratorVersion = full().Identity.Tools, sha("active set"), "1"
	_, err = u.Verify(context.Background(), live)
	wantRefusal(t, err, fault.CodeImprintToolActiveSetMismatch, imprint.StepIdentity)
	want := []fault.Mismatch{
		{Field: "tools.calculate_fee", Want: "absent", Got: sha("fee").String()},
		{Field: "tools.order_status", Want: "absent", Got: sha("status").String()},
	}
	got := fault.From(err).Mismatches
	if len(got) != 4 || !slices.ContainsFunc(got, func(m fault.Mismatch) bool { return m == want[0] }) ||
		!slices.ContainsFunc(got, func(m fault.Mismatch) bool { return m == want[1] }) {
		t.Errorf("got %v, want %v and two more", got, want)
	}
}

// Every leaf of the type is a field: a leaf that is forgotten in Fields would drift unseen.
func TestEveryLeafIsAField(t *testing.T) {
	base := identity(full().Tokens)
	leaves := 0
	var walk func(path string, at func(*imprint.Identity) reflect.Value)
	walk = func(path string, at func(*imprint.Identity) reflect.Value) {
		v := at(&base)
		switch {
		case v.Type() == reflect.TypeFor[digest.SHA256](), v.Kind() == reflect.String, v.CanInt(), v.CanFloat(), v.Kind() == reflect.Bool:
			leaves++
			changed := identity(full().Tokens)
			switch leaf := at(&changed); {
			case leaf.Kind() == reflect.String:
				leaf.SetString(leaf.String() + "x")
			case leaf.CanInt():
				leaf.SetInt(leaf.Int() + 1)
			case leaf.CanFloat():
				leaf.SetFloat(leaf.Float() + 1)
			case leaf.Kind() == reflect.Bool:
				leaf.SetBool(!leaf.Bool())
			default:
				leaf.Set(reflect.ValueOf(sha("changed")))
			}
			if slices.Equal(base.Fields(), changed.Fields()) {
				t.Errorf("%s isn't in Fields", path)
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, func(id *imprint.Identity) reflect.Value { return at(id).Field(i) })
			}
		case v.Kind() == reflect.Slice:
			if v.Len() == 0 {
				t.Fatalf("%s is empty here", path)
			}
			for i := range v.Len() {
				walk(fmt.Sprintf("%s[%d]", path, i), func(id *imprint.Identity) reflect.Value { return at(id).Index(i) })
			}
		default:
			t.Fatalf("%s: what is a %s?", path, v.Type())
		}
	}
	walk("", func(id *imprint.Identity) reflect.Value { return reflect.ValueOf(id).Elem() })
	if leaves < 29 {
		t.Errorf("only %d leaves were walked", leaves)
	}
	names := map[string]bool{}
	for _, f := range base.Fields() {
		if names[f.Name] {
			t.Errorf("two fields named %s", f.Name)
		}
		names[f.Name] = true
	}
}

// imprint-v1 §4: an identity has no hole.
func TestIdentityCheckNamesTheHole(t *testing.T) {
	if err := identity([]uint32{1}).Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(id *imprint.Identity){
		"model.sha256":             func(id *imprint.Identity) { id.Model.SHA256 = digest.SHA256{} },
		"model.architecture":       func(id *imprint.Identity) { id.Model.Architecture = "" },
		"tokenizer_sha256":         func(id *imprint.Identity) { id.TokenizerSHA256 = digest.SHA256{} },
		"chat_template_sha256":     func(id *imprint.Identity) { id.ChatTemplateSHA256 = digest.SHA256{} },
		"engine.name":              func(id *imprint.Identity) { id.Engine.Name = "" },
		"engine.version":           func(id *imprint.Identity) { id.Engine.Version = "" },
		`"libggml.so" has no`:      func(id *imprint.Identity) { id.Engine.Libraries[0].SHA256 = digest.SHA256{} },
		"libraries aren't sorted":  func(id *imprint.Identity) { slices.Reverse(id.Engine.Libraries) },
		"kv_type_k or":             func(id *imprint.Identity) { id.Params.KVTypeK = "" },
		"or kv_type_v":             func(id *imprint.Identity) { id.Params.KVTypeV = "" },
		"n_batch or":               func(id *imprint.Identity) { id.Params.NBatch = 0 },
		"or n_ubatch":              func(id *imprint.Identity) { id.Params.NUBatch = -1 },
		"rope_freq_base or":        func(id *imprint.Identity) { id.Params.RopeFreqBase = math.NaN() },
		"or rope_freq_scale":       func(id *imprint.Identity) { id.Params.RopeFreqScale = math.Inf(1) },
		"params.lora.0":            func(id *imprint.Identity) { id.Params.LoRA[0].Scale = math.NaN() },
		"prompt_format_version":    func(id *imprint.Identity) { id.PromptFormatVersion = "" },
		"prefix_sha256":            func(id *imprint.Identity) { id.PrefixSHA256 = digest.SHA256{} },
		`"calculate_fee" has no`:   func(id *imprint.Identity) { id.Tools[0].SchemaSHA256 = digest.SHA256{} },
		"tools aren't sorted":      func(id *imprint.Identity) { id.Tools[1].Name = id.Tools[0].Name },
		"active_set_sha256":        func(id *imprint.Identity) { id.ActiveSetSHA256 = digest.SHA256{} },
		"schema_generator_version": func(id *imprint.Identity) { id.SchemaGeneratorVersion = "" },
	} {
		id := identity([]uint32{1})
		change(&id)
		if err := id.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s", err, want)
		}
		if _, err := verify(t, id); err == nil || fault.From(err).Code != fault.CodeInternal {
			t.Errorf("%s: an incomplete live identity isn't drift, it is a bug: %v", want, err)
		}
	}
}
