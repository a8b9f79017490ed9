package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
)

func (a *app) imprintCommand() *cobra.Command {
	c := &cobra.Command{Use: "imprint", Short: "Look after imprints"}
	c.AddCommand(a.imprintListCommand(), a.imprintShowCommand(), a.imprintVerifyCommand(), a.imprintDiffCommand(), a.imprintRemoveCommand(), a.imprintPruneCommand(), a.imprintCollectCommand(),
		a.imprintPushCommand(), a.imprintPullCommand(), a.imprintKeygenCommand())
	return c
}

// openImprint opens what a reference names and closes it after use.
func (a *app) openImprint(ref string, use func(*imprint.Unverified) error) error {
	store, err := a.imprints()
	if err != nil {
		return err
	}
	u, err := store.Open(ref)
	if err != nil {
		return err
	}
	defer u.Close()
	return use(u)
}

// imprintEntry is one line of edge.imprint_list/v1.
type imprintEntry struct {
	ID           string        `json:"id"`
	Path         string        `json:"path"`
	Tokens       int           `json:"tokens"`
	PayloadBytes int64         `json:"payload_bytes"`
	Model        imprint.Model `json:"model"`
	Tools        []string      `json:"tools"`
	LastUsed     time.Time     `json:"last_used"`
}

func entryOf(e imprint.Entry) imprintEntry {
	return imprintEntry{e.ID.String(), e.Path, e.Tokens, e.PayloadBytes, e.Model, orEmpty(e.Tools), e.LastUsed}
}

func entriesOf(list []imprint.Entry) []imprintEntry {
	out := make([]imprintEntry, len(list))
	for i, e := range list {
		out[i] = entryOf(e)
	}
	return out
}

// damagedFile is a file of the store that isn't the imprint its name says.
type damagedFile struct {
	Path    string     `json:"path"`
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

func damagedOf(list []imprint.Damaged) []damagedFile {
	out := make([]damagedFile, len(list))
	for i, d := range list {
		e := fault.From(d.Err)
		out[i] = damagedFile{d.Path, e.Code, e.Message}
	}
	return out
}

func (a *app) imprintListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the imprints of the store", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.imprints()
			if err != nil {
				return err
			}
			l, err := store.List()
			if err != nil {
				return err
			}
			value := map[string]any{"schema": "edge.imprint_list/v1", "ok": true, "imprints": entriesOf(l.Entries), "damaged": damagedOf(l.Damaged)}
			return a.print(value, func() {
				for _, e := range l.Entries {
					a.say("%.20s…  %6d tokens  %7.1f MB  %s  %s", e.ID, e.Tokens, float64(e.PayloadBytes)/1e6, e.LastUsed.Format("2006-01-02 15:04"), strings.Join(e.Tools, ", "))
				}
				for _, d := range damagedOf(l.Damaged) {
					a.say("damaged: %s [%s]", d.Message, d.Code)
				}
				if len(l.Entries) == 0 {
					a.say("no imprints yet; make one with: edge demo learn run")
				}
			})
		},
	}
}

// imprintShow is edge.imprint/v1.
type imprintShow struct {
	Schema       string           `json:"schema"`
	OK           bool             `json:"ok"`
	ID           string           `json:"id"`
	Path         string           `json:"path"`
	Model        imprint.Model    `json:"model"`
	Engine       imprint.Engine   `json:"engine"`
	Tools        []imprint.Tool   `json:"tools"`
	Tokens       int              `json:"tokens"`
	PayloadBytes int64            `json:"payload_bytes"`
	Layers       []imprintLayer   `json:"layers"`
	Quality      imprint.Quality  `json:"quality"`
	Identity     []imprint.Field  `json:"identity"`
	BakedOn      imprint.Platform `json:"baked_on"`
}

// imprintLayer is one part of an imprint's prefix.
type imprintLayer struct {
	Name   string        `json:"name"`
	Tokens int           `json:"tokens"`
	Bytes  int64         `json:"bytes"`
	BLAKE3 digest.BLAKE3 `json:"blake3"`
}

func layersOf(h imprint.Header) []imprintLayer {
	out := make([]imprintLayer, len(h.Layers))
	for i, s := range h.LayerSections() {
		out[i] = imprintLayer{h.Layers[i].Name, h.Layers[i].Tokens, s.Length, s.BLAKE3}
	}
	return out
}

func (a *app) imprintShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show REF", Short: "Show what an imprint is bound to", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.openImprint(args[0], func(u *imprint.Unverified) error {
				h := u.Header()
				s := imprintShow{
					Schema: "edge.imprint/v1", OK: true, ID: u.ID().String(), Path: u.Path(), Model: h.Identity.Model, Engine: h.Identity.Engine,
					Tools: h.Identity.Tools, Tokens: h.Tokens, PayloadBytes: h.PayloadBytes(), Layers: layersOf(h), Quality: h.Quality, Identity: h.Identity.Fields(), BakedOn: h.BakedOn,
				}
				return a.print(s, func() {
					a.say("%s", s.ID)
					a.say("%s", s.Path)
					a.say("%d tokens, %.1f MB of state, baked on %s/%s", s.Tokens, float64(s.PayloadBytes)/1e6, s.BakedOn.OS, s.BakedOn.Arch)
					for _, l := range s.Layers {
						a.say("  layer %-9s %6d tokens  %7.1f MB  %.20s…", l.Name, l.Tokens, float64(l.Bytes)/1e6, l.BLAKE3)
					}
					width := 0
					for _, f := range s.Identity {
						width = max(width, len(f.Name))
					}
					for _, f := range s.Identity {
						a.say("  %-*s  %s", width, f.Name, f.Value)
					}
				})
			})
		},
	}
}

// layerDiff is one layer of either imprint. Layers are the same where everything before them is the same too.
type layerDiff struct {
	Name string        `json:"name"`
	A    *imprintLayer `json:"a"`
	B    *imprintLayer `json:"b"`
	Same bool          `json:"same"`
}

func diffLayers(a, b []imprintLayer) []layerDiff {
	out := []layerDiff{}
	same := true
	for i := range max(len(a), len(b)) {
		var d layerDiff
		if i < len(a) {
			d.A, d.Name = &a[i], a[i].Name
		}
		if i < len(b) {
			d.B, d.Name = &b[i], b[i].Name
		}
		same = same && d.A != nil && d.B != nil && *d.A == *d.B
		d.Same = same
		out = append(out, d)
	}
	return out
}

func (a *app) imprintDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "Show in which layers and fields two imprints differ", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.openImprint(args[0], func(x *imprint.Unverified) error {
				return a.openImprint(args[1], func(y *imprint.Unverified) error {
					differences := imprint.Diff(x.Header(), y.Header())
					layers := diffLayers(layersOf(x.Header()), layersOf(y.Header()))
					value := map[string]any{"schema": "edge.imprint_diff/v1", "ok": true, "a": x.ID().String(), "b": y.ID().String(), "differences": differences, "layers": layers}
					return a.print(value, func() { a.sayDiff(layers, differences) })
				})
			})
		},
	}
}

func (a *app) sayDiff(layers []layerDiff, differences []imprint.Difference) {
	if len(differences) == 0 {
		a.say("no difference")
		return
	}
	for _, l := range layers {
		switch {
		case l.Same:
			a.say("layer %s: the same %d tokens, shared", l.Name, l.A.Tokens)
		case l.A == nil || l.B == nil:
			a.say("layer %s: only in one", l.Name)
		default:
			a.say("layer %s: %d and %d tokens", l.Name, l.A.Tokens, l.B.Tokens)
		}
	}
	for _, d := range differences {
		a.say("%s\n  a %s\n  b %s", d.Field, d.A, d.B)
	}
}

func (a *app) imprintRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm REF", Short: "Remove an imprint", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			store, err := a.imprints()
			if err != nil {
				return err
			}
			path, err := store.Remove(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.imprint_rm/v1", "ok": true, "path": path}, func() { a.say("removed %s", path) })
		},
	}
}

func (a *app) imprintPruneCommand() *cobra.Command {
	var opt imprint.PruneOptions
	c := &cobra.Command{
		Use: "prune", Short: "Remove the least recently used imprints", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if opt.MaxBytes <= 0 && opt.OlderThan <= 0 {
				return fault.New(fault.CodeInvalidArguments, "prune needs a bound").WithHint("give --max-bytes or --older-than, and --dry-run to see what would go")
			}
			store, err := a.imprints()
			if err != nil {
				return err
			}
			opt.Now = time.Now()
			r, err := store.Prune(c.Context(), opt)
			if err != nil {
				return err
			}
			value := map[string]any{
				"schema": "edge.imprint_prune/v1", "ok": true, "dry_run": opt.DryRun, "removed": entriesOf(r.Removed), "kept": entriesOf(r.Kept),
				"freed_bytes": r.FreedBytes, "kept_bytes": r.KeptBytes, "damaged": damagedOf(r.Damaged),
			}
			return a.print(value, func() {
				verb := "removed"
				if opt.DryRun {
					verb = "would remove"
				}
				a.say("%s %d imprints, %.1f MB; %d stay, %.1f MB", verb, len(r.Removed), float64(r.FreedBytes)/1e6, len(r.Kept), float64(r.KeptBytes)/1e6)
			})
		},
	}
	c.Flags().Int64Var(&opt.MaxBytes, "max-bytes", 0, "keep at most so many bytes")
	c.Flags().DurationVar(&opt.OlderThan, "older-than", 0, "remove what wasn't used for so long, such as 720h")
	c.Flags().BoolVar(&opt.DryRun, "dry-run", false, "only say what would go")
	return c
}
