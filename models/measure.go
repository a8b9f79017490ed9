package models

import (
	"context"
	"fmt"
	"os"
	"slices"
)

const (
	// MaxDivergence is the bound, in nats, below which a layout's mean divergence from the file as it is must lie for it
	// to be recommended.
	MaxDivergence = 0.01
	// A layout is recommended only if it needs at most this share of the time that the file as it is needs.
	worthwhile = 0.95
	// rounds is how often each speed is measured; the median counts.
	rounds = 5
	// The job whose time is compared: reading a request, and writing a call or a short answer. In tokens.
	jobPrefill, jobDecode = 256, 32
)

// Bench writes and measures model files; Optimize decides by what it finds.
type Bench interface {
	Requantize(ctx context.Context, from, to string, layout Layout) error
	// Speed is one measurement, in tokens per second.
	Speed(ctx context.Context, path string) (prefill, decode float64, err error)
	// Divergences gives the mean divergence of each of the others from the reference, in nats.
	Divergences(ctx context.Context, reference string, others []string) ([]float64, error)
}

// LayoutResult is what was found of one layout.
type LayoutResult struct {
	Layout  Layout  `json:"layout"`
	AsItIs  bool    `json:"as_it_is"` // the file itself
	Size    int64   `json:"size"`
	Prefill float64 `json:"prefill_tokens_per_s"`
	Decode  float64 `json:"decode_tokens_per_s"`
	JobMS   float64 `json:"job_ms"`  // for 256 tokens read and 32 written
	KL      float64 `json:"kl_mean"` // nats, from the file itself
}

// measure measures the files in turn, forwards and backwards, and compares their distributions with the first one's.
func (s *Store) measure(ctx context.Context, source Model, layouts []Layout, paths []string, bench Bench) ([]LayoutResult, error) {
	results := make([]LayoutResult, len(paths))
	prefill, decode := make([][]float64, len(paths)), make([][]float64, len(paths))
	for i, path := range paths {
		results[i] = LayoutResult{Layout: layoutOf(source.Identity), AsItIs: i == 0}
		if i > 0 {
			results[i].Layout = layouts[i-1]
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		results[i].Size = info.Size()
	}
	for round := range rounds {
		s.cfg.Notify(fmt.Sprintf("measuring %d layouts, round %d of %d", len(paths), round+1, rounds))
		for i := range paths {
			if round%2 == 1 {
				i = len(paths) - 1 - i
			}
			p, d, err := bench.Speed(ctx, paths[i])
			if err != nil {
				return nil, err
			}
			prefill[i], decode[i] = append(prefill[i], p), append(decode[i], d)
		}
	}
	s.cfg.Notify("comparing what the layouts say")
	divergences, err := bench.Divergences(ctx, paths[0], paths[1:])
	if err != nil {
		return nil, err
	}
	for i := range results {
		r := &results[i]
		r.Prefill, r.Decode = median(prefill[i]), median(decode[i])
		r.JobMS = 1000 * (jobPrefill/r.Prefill + jobDecode/r.Decode)
		if i > 0 {
			r.KL = divergences[i-1]
		}
	}
	return results, nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// recommend gives the layout that does the job fastest among those that say what the file itself says, if it is worth
// the disk; "" is the file as it is.
func recommend(results []LayoutResult) (best Layout) {
	limit := results[0].JobMS * worthwhile
	for _, r := range results[1:] {
		if r.KL < MaxDivergence && r.JobMS <= limit {
			best, limit = r.Layout, r.JobMS
		}
	}
	return best
}
