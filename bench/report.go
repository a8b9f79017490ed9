package bench

import (
	"edge/internal/digest"
	"edge/learn"
)

// Schema names the shape of a report.
const Schema = "edge.bench/v1"

// Report is what was measured. Times are in milliseconds and medians; spread has the least, the most and how many runs
// there were, by the member's name. A figure that wasn't measured is null.
type Report struct {
	Schema      string         `json:"schema"`
	OK          bool           `json:"ok"`
	Machine     Machine        `json:"machine"`
	Model       Model          `json:"model"`
	Engine      Engine         `json:"engine"`
	ThreadsUsed int            `json:"threads_used"` // by cases and calls
	Runs        int            `json:"runs"`         // at most, of each kind
	Cases       []Case         `json:"cases"`
	Calls       *Calls         `json:"calls"`
	Resident    *Resident      `json:"resident"`
	Threads     []ThreadSpeed  `json:"threads"`
	Tools       []Growth       `json:"tools"`
	KVTypes     []KVType       `json:"kv_types"`
	Sliding     *SlidingWindow `json:"sliding_window"`
	LeftOut     []LeftOut      `json:"left_out"`
	ElapsedS    float64        `json:"elapsed_s"`
}

// Case is one prefix.
type Case struct {
	PrefixTokens int   `json:"prefix_tokens"`
	SuffixTokens int   `json:"suffix_tokens"` // of the question behind it
	Tools        int   `json:"tools"`
	ColdDecoded  int   `json:"cold_tokens_decoded"`     // counted at the session
	WarmDecoded  int   `json:"restored_tokens_decoded"` // counted at the session
	StateBytes   int64 `json:"state_bytes"`
	BytesRead    int64 `json:"bytes_read"` // of the imprint, for one restore
	// ColdTTFT decodes prefix and question; RestoredTTFT opens, verifies and restores the imprint and decodes the
	// question; SuffixOnly decodes the question where the prefix is in the session. Each ends with the first token.
	ColdTTFT     *float64 `json:"cold_ttft_ms"`
	RestoredTTFT *float64 `json:"restored_ttft_ms"`
	SuffixOnly   *float64 `json:"suffix_only_ms"`
	Verify       *float64 `json:"verify_ms"`
	Restore      *float64 `json:"restore_ms"`
	// ProcessTTFT is from the start of the program to the first token, with an imprint: the first token by the program's
	// own clock, and ProcessExec before it. ProcessWall is until the whole output has arrived, receipt written.
	ProcessTTFT *float64 `json:"process_ttft_ms"`
	ProcessExec *float64 `json:"process_exec_ms"`
	ProcessWall *float64 `json:"process_wall_ms"`
	ProcessLoad *float64 `json:"process_load_ms"`
	VerifyRate  *float64 `json:"verify_gb_per_s"`
	RestoreRate *float64 `json:"restore_gb_per_s"`
	PeakMemory  *int64   `json:"peak_memory_bytes"` // of the whole process (VmHWM), the mapped model with it
	ColdRatio   *float64 `json:"cold_to_restored"`
	FloorRatio  *float64 `json:"restored_to_suffix_only"`

	Spread map[string]Spread `json:"spread"`
}

// Calls is how long a request takes to become a validated call, from a restored prefix.
type Calls struct {
	PrefixTokens  int      `json:"prefix_tokens"`
	Tools         int      `json:"tools"`
	Requests      int      `json:"requests"`
	ValidatedCall *float64 `json:"validated_call_ms"` // as edge does it
	Plain         *float64 `json:"plain_ms"`          // the same grammar of all tools, every token drawn
	Ratio         *float64 `json:"plain_to_validated"`
	// Tokens of all requests together: drawn one by one, and given in batches.
	TokensDecoded int `json:"tokens_decoded"`
	TokensForced  int `json:"tokens_forced"`
	PlainDecoded  int `json:"plain_tokens_decoded"`
	// Right are the calls that are exactly the one that was meant.
	Valid      int `json:"valid"`
	Right      int `json:"right"`
	PlainValid int `json:"plain_valid"`
	PlainRight int `json:"plain_right"`
	// ProcessCall and ProcessAnswer are from the start of the program to the validated call, and to the answer after the
	// tool has run.
	ProcessCall   *float64 `json:"process_call_ms"`
	ProcessAnswer *float64 `json:"process_answer_ms"`
	// Each are edge's calls of the first round.
	Each []OneCall `json:"each"`

	Spread map[string]Spread `json:"spread"`
}

// OneCall is one request and what edge made of it.
type OneCall struct {
	Prompt string  `json:"prompt"`
	MS     float64 `json:"ms"`
	Drawn  int     `json:"drawn"`
	Forced int     `json:"forced"`
	Valid  bool    `json:"valid"`
	Right  bool    `json:"right"`
}

// Resident is a chat that an engine answers which keeps model and imprint loaded (edge serve).
type Resident struct {
	PrefixTokens int      `json:"prefix_tokens"`
	Tools        int      `json:"tools"`
	TTFT         *float64 `json:"ttft_ms"`    // from the start of the client program to the first token, its tools file described again
	Engine       *float64 `json:"engine_ms"`  // of it, to verify, restore and decode the question
	Restore      *float64 `json:"restore_ms"` // of it, to verify and restore
	Wall         *float64 `json:"wall_ms"`    // from the start of the client program until its whole output has arrived
	SuffixOnly   *float64 `json:"suffix_only_ms"`
	Ratio        *float64 `json:"ttft_to_suffix_only"`
	EngineRatio  *float64 `json:"engine_to_suffix_only"`

	Spread map[string]Spread `json:"spread"`
}

// ThreadSpeed is how fast so many threads compute.
type ThreadSpeed struct {
	Threads int     `json:"threads"`
	Busy    bool    `json:"busy"`   // one core is taken by a loop that never waits
	Chosen  bool    `json:"chosen"` // edge's own way: at most so many threads, fewer while others need the cores
	Prefill float64 `json:"prefill_tokens_per_s"`
	Decode  float64 `json:"decode_tokens_per_s"`
}

// Growth is what a number of tools costs.
type Growth struct {
	Tools        int      `json:"tools"`
	PrefixTokens int      `json:"prefix_tokens"`
	StateBytes   int64    `json:"state_bytes"`
	ColdTTFT     *float64 `json:"cold_ttft_ms"`
	RestoredTTFT *float64 `json:"restored_ttft_ms"`
}

// KVType is what a type of the state costs.
type KVType struct {
	Type         string   `json:"type"`
	PrefixTokens int      `json:"prefix_tokens"`
	StateBytes   int64    `json:"state_bytes"`
	ColdTTFT     *float64 `json:"cold_ttft_ms"`
	RestoredTTFT *float64 `json:"restored_ttft_ms"`
	Verify       *float64 `json:"verify_ms"`
	Restore      *float64 `json:"restore_ms"`
}

// SlidingWindow is a second model, whose attention sees a window of tokens only.
type SlidingWindow struct {
	Model Model  `json:"model"`
	Cases []Case `json:"cases"`
}

// LeftOut is a member that wasn't measured, or not wholly.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Model is what was measured with.
type Model struct {
	Name          string        `json:"name"`
	SHA256        digest.SHA256 `json:"sha256"`
	Architecture  string        `json:"architecture"`
	Description   string        `json:"description"`
	ContextLength int           `json:"context_length"`
	SlidingWindow int           `json:"sliding_window"`
	KVType        string        `json:"kv_type"`
}

// Engine is what computed.
type Engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Backend string `json:"backend"`
}

func modelOf(w learn.World) Model {
	i := w.Model.Info()
	return Model{w.File.Name, w.File.SHA256, i.Architecture, i.Description, i.ContextLength, i.SlidingWindow, w.Params.KVTypeK}
}

// ModelOf describes a world's model.
func ModelOf(w learn.World) Model { return modelOf(w) }

func engineOf(w learn.World) Engine { return Engine{w.Engine.Name, w.Engine.Version, w.Engine.Backend} }
