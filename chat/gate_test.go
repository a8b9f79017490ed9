package chat_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"edge/chat"
	"edge/imprint"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

func sampleWithExamples() *learn.Sample { return &learn.Sample{Examples: examples()} }

// refused opens a chat that must be refused with the code, and makes sure that nothing was decoded or restored for it.
func (b *bench) refused(code fault.Code, step imprint.Step) error {
	b.t.Helper()
	before := b.engine.Stats()
	c, err := chat.Open(b.t.Context(), b.cfg)
	if err == nil {
		c.Close()
		b.t.Fatalf("opened, want %s", code)
	}
	if !fault.Is(err, code) {
		b.t.Errorf("got %v, want %s", err, code)
	}
	var refusal *imprint.Refusal
	if step != 0 && (!errors.As(err, &refusal) || refusal.Trail.Step != step) {
		b.t.Errorf("got %#v, want a refusal of the step %s", err, step)
	}
	after := b.engine.Stats()
	if after.DecodeCalls != before.DecodeCalls || after.Restores != before.Restores || after.OpenSessions != before.OpenSessions {
		b.t.Errorf("after the refusal: %+v, before: %+v", after, before)
	}
	return err
}

// TestDrift: what an imprint meets in another world, one row per field that a chat can see change. A field of what a chat
// records that has no row fails it.
func TestDrift(t *testing.T) {
	described := orderTool()
	described.Description += "!"
	ping := tools.Tool{Name: "ping", Description: "Ping.", ExecutionLevel: tools.Read, Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`)}
	noPro := feeTool() // the examples of the imprint aren't valid any more
	noPro.Parameters = json.RawMessage(strings.Replace(string(noPro.Parameters), `,"pro"`, "", 1))
	required := orderTool()
	required.Parameters = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["order_id","year"],"properties":{"order_id":{"type":"string"},"year":{"type":"integer"}}}`)
	lora := func(i *imprint.Identity) {
		i.Params.LoRA = []imprint.LoRA{{SHA256: digest.SHA256Of([]byte("lora")), Scale: 1}}
	}
	recorded := func(change func(*imprint.Identity)) func(*imprint.Content) {
		return func(c *imprint.Content) { change(&c.Identity) }
	}
	rows := map[string]struct {
		baked func(*imprint.Content) // what the imprint says otherwise
		live  func(*bench)           // what the world is now
		code  fault.Code
		field string
	}{
		"tool described otherwise": {nil, func(b *bench) { b.with(freeze(t, feeTool(), described)) }, fault.CodeImprintToolSchemaMismatch, "tools.order_status"},
		"tool's enum is shorter":   {nil, func(b *bench) { b.with(freeze(t, noPro, orderTool())) }, fault.CodeImprintToolSchemaMismatch, "tools.calculate_fee"},
		"tool needs more":          {nil, func(b *bench) { b.with(freeze(t, feeTool(), required)) }, fault.CodeImprintToolSchemaMismatch, "tools.order_status"},
		"tool of another level":    {nil, func(b *bench) { b.with(freeze(t, feeTool(), direct("order_status", tools.Commit))) }, fault.CodeImprintToolSchemaMismatch, "tools.order_status"},
		"tool added":               {nil, func(b *bench) { b.with(freeze(t, feeTool(), orderTool(), ping)) }, fault.CodeImprintToolActiveSetMismatch, "tools.ping"},
		"tool removed":             {nil, func(b *bench) { b.with(freeze(t, feeTool())) }, fault.CodeImprintToolActiveSetMismatch, "tools.order_status"},
		"tool renamed": {nil, func(b *bench) {
			renamed := orderTool()
			renamed.Name = "status_of_order"
			b.with(freeze(t, feeTool(), renamed))
		}, fault.CodeImprintToolActiveSetMismatch, "tools.status_of_order"},
		"no tools":                      {nil, func(b *bench) { b.cfg.Dispatcher = nil }, fault.CodeImprintRequiresTools, "tools.calculate_fee"},
		"another set of the same tools": {recorded(func(i *imprint.Identity) { i.ActiveSetSHA256 = digest.SHA256Of([]byte("other")) }), nil, fault.CodeImprintToolSchemaMismatch, "active_set_sha256"},
		"another schema generator":      {recorded(func(i *imprint.Identity) { i.SchemaGeneratorVersion = "0" }), nil, fault.CodeImprintToolSchemaMismatch, "schema_generator_version"},
		"another model":                 {nil, func(b *bench) { b.cfg.World.File.SHA256 = digest.SHA256Of([]byte("other")) }, fault.CodeImprintModelMismatch, "model.sha256"},
		"another architecture":          {recorded(func(i *imprint.Identity) { i.Model.Architecture = "llama" }), nil, fault.CodeImprintModelMismatch, "model.architecture"},
		"another tokenizer":             {nil, func(b *bench) { b.cfg.World.File.TokenizerSHA256 = digest.SHA256Of([]byte("other")) }, fault.CodeImprintTemplateMismatch, "tokenizer_sha256"},
		"another template": {nil, func(b *bench) {
			other := fake.New(fake.Options{ChatTemplate: strings.ReplaceAll(fake.Template, `\n`, `\n\n`)})
			m, err := other.Open(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			b.cfg.World = worldOf(t, other, m)
			b.engine = other
		}, fault.CodeImprintTemplateMismatch, "chat_template_sha256"},
		"another kind of engine": {nil, func(b *bench) { b.cfg.World.Engine.Name = "other" }, fault.CodeImprintRuntimeMismatch, "engine.name"},
		"another engine":         {nil, func(b *bench) { b.cfg.World.Engine.Version = "2" }, fault.CodeImprintRuntimeMismatch, "engine.version"},
		"another library":        {nil, func(b *bench) { b.cfg.World.Engine.Libraries[0].SHA256 = digest.SHA256Of([]byte("other")) }, fault.CodeImprintRuntimeMismatch, "engine.libraries.fake"},
		"another n_ubatch":       {nil, func(b *bench) { b.cfg.World.Params.UBatchTokens = 16 }, fault.CodeImprintParamsMismatch, "params.n_ubatch"},
		"another n_batch":        {nil, func(b *bench) { b.cfg.World.Params.BatchTokens = 128 }, fault.CodeImprintParamsMismatch, "params.n_batch"},
		"another type of keys":   {nil, func(b *bench) { b.cfg.World.Params.KVTypeK = "q8_0" }, fault.CodeImprintParamsMismatch, "params.kv_type_k"},
		"another type of values": {nil, func(b *bench) { b.cfg.World.Params.KVTypeV = "q8_0" }, fault.CodeImprintParamsMismatch, "params.kv_type_v"},
		"no flash attention":     {nil, func(b *bench) { b.cfg.World.Params.FlashAttention = false }, fault.CodeImprintParamsMismatch, "params.flash_attention"},
		"another RoPE base":      {nil, func(b *bench) { b.cfg.World.Params.RopeFreqBase = 10000 }, fault.CodeImprintParamsMismatch, "params.rope_freq_base"},
		"another RoPE scale":     {nil, func(b *bench) { b.cfg.World.Params.RopeFreqScale = 0.5 }, fault.CodeImprintParamsMismatch, "params.rope_freq_scale"},
		"the whole window":       {nil, func(b *bench) { b.cfg.World.Params.SWAFull = true }, fault.CodeImprintParamsMismatch, "params.swa_full"},
		"an adapter":             {recorded(lora), nil, fault.CodeImprintParamsMismatch, "params.lora.0.sha256"},
		"another prompt format":  {recorded(func(i *imprint.Identity) { i.PromptFormatVersion = "0" }), nil, fault.CodeImprintPrefixMismatch, "prompt_format_version"},
		"other words": {func(c *imprint.Content) { // the profile says what the tokens don't
			c.Learned = []byte(strings.Replace(string(c.Learned), `"system":""`, `"system":"Obey."`, 1))
		}, nil, fault.CodeImprintPrefixMismatch, "prefix_sha256"},
		"learned otherwise": {recorded(func(i *imprint.Identity) { i.LearnedVersion = "0" }), nil, fault.CodeImprintFormatUnsupported, "learned_version"},
	}
	b := newBench(t, fake.Options{}).with(shop(t))
	u, err := imprint.Open(b.learned(sampleWithExamples(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	covered := map[string]bool{}
	for _, c := range rows {
		covered[c.field] = true
	}
	for _, f := range u.Header().Identity.Fields() {
		if !covered[f.Name] {
			t.Errorf("no row is about %s", f.Name)
		}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fake.Options{}).with(shop(t))
			b.from(b.learned(sampleWithExamples(), c.baked))
			if c.live != nil {
				c.live(b)
			}
			e := fault.From(b.refused(c.code, imprint.StepIdentity))
			if !slices.ContainsFunc(e.Mismatches, func(m fault.Mismatch) bool { return m.Field == c.field }) {
				t.Errorf("%s isn't among the mismatches: %+v", c.field, e.Mismatches)
			}
		})
	}
}

// TestAllMismatchesAreListed whatever the code says first.
func TestAllMismatchesAreListed(t *testing.T) {
	b := newBench(t, fake.Options{}).with(shop(t))
	b.from(b.learned(sampleWithExamples(), nil))
	b.with(freeze(t, feeTool()))
	b.cfg.World.File.SHA256 = digest.SHA256Of([]byte("other"))
	b.cfg.World.Params.UBatchTokens = 16
	e := fault.From(b.refused(fault.CodeImprintToolActiveSetMismatch, imprint.StepIdentity))
	var fields []string
	for _, m := range e.Mismatches {
		fields = append(fields, m.Field)
	}
	for _, want := range []string{"tools.order_status", "active_set_sha256", "model.sha256", "params.n_ubatch"} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s isn't among %q", want, fields)
		}
	}
}

// TestWhatMayChange: threads, a model's name, tags, and an imprint without tools in a chat without.
func TestWhatMayChange(t *testing.T) {
	tagged := orderTool()
	tagged.IntentTags, tagged.Line = []string{"shop"}, 99
	for name, live := range map[string]func(*bench){
		"nothing":       func(*bench) {},
		"threads":       func(b *bench) { b.cfg.World.Params.Threads = 9 },
		"names":         func(b *bench) { b.cfg.World.File.Name, b.cfg.World.File.Path = "other", "/elsewhere" },
		"tags and line": func(b *bench) { b.with(freeze(t, feeTool(), tagged)) },
		"temperature":   func(b *bench) { b.cfg.Temperature, b.cfg.Seed = 1, 7 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(fake.Reply{Say: "Fine."})).with(shop(t))
			b.from(b.learned(sampleWithExamples(), nil))
			live(b)
			if turn := b.open().ask("Thanks, goodbye"); turn.Mode != chat.ModeImprint || turn.Answer == "" {
				t.Errorf("got %+v", turn)
			}
		})
	}
}

func TestAnImprintWithoutTools(t *testing.T) {
	b := newBench(t, script(fake.Reply{Say: "I'm Ada."}))
	path := b.learned(&learn.Sample{Profile: learn.Profile{System: "You are Ada."}}, nil)
	if turn := b.from(path).open().ask("who?"); turn.Answer != "I'm Ada." || turn.Mode != chat.ModeImprint {
		t.Errorf("got %+v", turn)
	}
	b.from(path).with(shop(t)).refused(fault.CodeImprintToolActiveSetMismatch, imprint.StepIdentity)
}

// TestDamage that shows only behind the header: the file was changed after it was opened, or its digests are right and
// its content is of no use.
func TestDamage(t *testing.T) {
	t.Run("state", func(t *testing.T) {
		b := newBench(t, fake.Options{}).with(shop(t))
		path := b.learned(sampleWithExamples(), nil)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)-100] ^= 1
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		b.from(path).refused(fault.CodeImprintPayloadMismatch, imprint.StepPayload)
	})
	t.Run("cut while open", func(t *testing.T) {
		b := newBench(t, fake.Options{}).with(shop(t))
		path := b.learned(sampleWithExamples(), nil)
		b.from(path)
		if err := os.Truncate(path, 5000); err != nil {
			t.Fatal(err)
		}
		b.refused(fault.CodeImprintTruncated, imprint.StepPayload)
	})
	for name, learned := range map[string]string{"nonsense": "nonsense", "another version": `{"version":"0"}`, "an unknown field": `{"version":"` + learn.LearnedVersion + `","x":1}`} {
		t.Run("learned: "+name, func(t *testing.T) {
			b := newBench(t, fake.Options{}).with(shop(t))
			b.from(b.learned(sampleWithExamples(), func(c *imprint.Content) { c.Learned = []byte(learned) }))
			b.refused(fault.CodeImprintFormatUnsupported, 0)
		})
	}
	// These pass every digest: anyone can make such a file, and it mustn't bring the process down.
	for name, change := range map[string]func(*learn.Head){
		"a head of another model": func(h *learn.Head) {
			for i, v := range h.Views {
				h.Views[i].Mean, h.Views[i].Scale = v.Mean[:3], v.Scale[:3]
				for j := range v.Means {
					v.Means[j] = v.Means[j][:3]
				}
			}
		},
		"a class that is no tool": func(h *learn.Head) { h.Classes[len(h.Classes)-1] = "refund" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fake.Options{}).with(shop(t))
			b.from(b.learned(sampleWithExamples(), func(c *imprint.Content) {
				l, err := learn.DecodeLearned(c.Learned)
				if err != nil {
					t.Fatal(err)
				}
				change(l.Head)
				if c.Learned, err = l.Encode(); err != nil {
					t.Fatal(err)
				}
			}))
			b.refused(fault.CodeImprintFormatUnsupported, 0)
		})
	}
}

// TestARestoreThatDoesntWork is an error, never a cold prefill: the engine says no, or says yes and holds nothing (A1).
func TestARestoreThatDoesntWork(t *testing.T) {
	for name, faults := range map[string]fake.Faults{"half": {RestoreHalf: true}, "forgotten": {RestoreForget: true}} {
		t.Run(name, func(t *testing.T) {
			path := newBench(t, fake.Options{}).with(shop(t)).learned(&learn.Sample{}, nil)
			b := newBench(t, fake.Options{Faults: faults}).with(shop(t)).from(path)
			_, err := chat.Open(t.Context(), b.cfg)
			if !fault.Is(err, fault.CodeEngineRestoreFailed) {
				t.Errorf("got %v", err)
			}
			if s := b.engine.Stats(); s.DecodeCalls != 0 || s.OpenSessions != 0 {
				t.Errorf("then: %+v", s)
			}
		})
	}
}
