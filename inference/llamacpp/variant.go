package llamacpp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"edge/inference"
	"edge/internal/atomicfile"
)

// The processor's code comes in variants, libggml-cpu-NAME, one for each generation. The engine opens every one of them to
// ask how well it suits, and keeps the best. The answer depends on the processor and on the libraries, so it is remembered
// under the two, and the next start opens that one alone.

const variantPrefix = "libggml-cpu-"

// variant finds, opens and remembers the best one.
type variant struct {
	cfg   Config
	known inference.Library // without a name: none is remembered
}

// answer is the memory's content.
type answer struct {
	Key     string `json:"key"`
	Library string `json:"library"`
}

// split gives the libraries that will be opened, and those that won't if the remembered variant can be.
func (v *variant) split() (first, later []inference.Library) {
	all := v.cfg.Libraries
	name := v.recall()
	i := slices.IndexFunc(all, func(l inference.Library) bool { return l.Name == name })
	if i < 0 || !strings.HasPrefix(name, variantPrefix) {
		return all, nil
	}
	v.known = all[i]
	for _, l := range all {
		if l.Name == name || !strings.HasPrefix(l.Name, variantPrefix) {
			first = append(first, l)
		} else {
			later = append(later, l)
		}
	}
	return first, later
}

// load opens the remembered variant, and reports whether the engine took it.
func (v *variant) load() bool {
	return v.known.Name != "" && loadVariant(v.cfg.Dir, v.known.Name)
}

func (v *variant) recall() string {
	if v.cfg.Memory == "" || v.othersToo() {
		return ""
	}
	f, err := os.Open(v.cfg.Memory)
	if err != nil {
		return ""
	}
	defer f.Close()
	var a answer
	raw, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(raw, &a) != nil || a.Key != v.key() {
		return ""
	}
	return a.Library
}

// remember keeps what the engine chose. A folder that can't be written to costs asking again.
func (v *variant) remember() {
	if v.cfg.Memory == "" || v.othersToo() {
		return
	}
	if name := loadedVariant(v.cfg.Dir); name != "" {
		if raw, err := json.Marshal(answer{v.key(), name}); err == nil {
			atomicfile.WriteBytes(v.cfg.Memory, 0o600, append(raw, '\n'))
		}
	}
}

// othersToo reports whether the folder has backends for other devices, which are all to be opened.
func (v *variant) othersToo() bool {
	return slices.ContainsFunc(v.cfg.Libraries, func(l inference.Library) bool {
		return strings.HasPrefix(l.Name, "libggml-") && !strings.HasPrefix(l.Name, variantPrefix) && !strings.HasPrefix(l.Name, "libggml-base")
	})
}

// key names the processor and the libraries.
func (v *variant) key() string {
	h := sha256.New()
	io.WriteString(h, cpuid.CPU.BrandName+"\n"+strings.Join(cpuid.CPU.FeatureSet(), ",")+"\n"+v.cfg.Version+"\n")
	for _, l := range v.cfg.Libraries {
		io.WriteString(h, l.Name+" "+l.SHA256.String()+"\n")
	}
	return hex.EncodeToString(h.Sum(nil))
}
