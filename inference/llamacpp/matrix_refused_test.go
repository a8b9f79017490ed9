package llamacpp_test

import (
	"strings"
	"testing"

	"edge/internal/fault"
)

// refusedInZoo says which combinations the engine refuses for a model of testdata/zoo: latent attention has one cache
// for keys and values, so it can't quantise keys alone.
func refusedInZoo(name string, c combination) bool {
	return name == "deepseek2" && c.kv != "f16" && !c.flash
}

// without gives models that keep no state of a prefix, with room for the longest of the prefixes.
func without(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, m := range []tinyModel{bert(), t5encoder(), llada()} {
		m.numbers["context_length"] = 512
		if m.arch == "bert" {
			m.with([]uint64{tinyWidth, 512}, "position_embd.weight")
		}
		files = append(files, m.write(t))
	}
	return files
}

// TestBlocksThatDontFit: keys of 16 numbers can't be quantised in blocks of 32. The engine says so with flash attention;
// without, it would compute NaN.
func TestBlocksThatDontFit(t *testing.T) {
	narrow := llama()
	narrow.numbers["attention.head_count"] = 2
	m := openModel(t, narrow.write(t))
	for _, flash := range switches {
		for _, kv := range kvTypes {
			p := combination{kv: kv, flash: flash}.params(params())
			p.ContextTokens = 16
			s, err := m.NewSession(t.Context(), p)
			if err == nil {
				s.Close()
			}
			if kv == "f16" && err != nil {
				t.Errorf("f16, flash attention %v: %v", flash, err)
			}
			if kv != "f16" && (!fault.Is(err, fault.CodeArchitectureUnsupported) || !strings.Contains(err.Error(), "16 wide")) {
				t.Errorf("%s, flash attention %v: got %v, want %s", kv, flash, err, fault.CodeArchitectureUnsupported)
			}
		}
	}
}
