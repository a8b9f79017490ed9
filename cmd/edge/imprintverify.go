package main

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"edge/imprint"
	"edge/inference"
	"edge/internal/fault"
)

func (a *app) imprintVerifyCommand() *cobra.Command {
	var recompute, all bool
	var f engineFlags
	c := &cobra.Command{
		Use: "verify REF | --all", Short: "Check every digest of an imprint, and on request compute its state again", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case all && (len(args) > 0 || recompute):
				return fault.New(fault.CodeInvalidArguments, "--all goes with neither an imprint nor --recompute")
			case all:
				return a.verifyAll(c.Context())
			case len(args) == 0:
				return fault.New(fault.CodeInvalidArguments, "no imprint is named").WithHint("name one, or give --all; edge imprint list shows them")
			}
			return a.openImprint(args[0], func(u *imprint.Unverified) error {
				if err := u.CheckIntegrity(c.Context()); err != nil {
					return err
				}
				value := map[string]any{
					"schema": "edge.imprint_verify/v1", "ok": true, "id": u.ID().String(), "path": u.Path(),
					"verify_ms": u.Trail().VerifyMS(), "bytes_read": u.Trail().BytesRead, "recomputed": recompute,
				}
				if recompute {
					if err := a.recompute(c.Context(), u, f); err != nil {
						return err
					}
				}
				return a.print(value, func() {
					a.say("%s: every digest is right", u.ID())
					if recompute {
						a.say("the prefix, decoded again, comes to the same bytes")
					}
				})
			})
		},
	}
	f.register(c)
	c.Flags().BoolVar(&all, "all", false, "check every imprint of the store")
	c.Flags().BoolVar(&recompute, "recompute", false, "decode the recorded tokens again with --model and compare the bytes")
	return c
}

// recompute decodes the recorded tokens under the recorded parameters and compares the state with the file's. The tools
// aren't needed: what they came to are the tokens.
func (a *app) recompute(ctx context.Context, u *imprint.Unverified, f engineFlags) error {
	h := u.Header()
	if h.Kind() == imprint.KindReplay {
		return fault.New(fault.CodeInvalidArguments, "%s holds its prefix as text, and no state that could be computed again", u.Path()).WithHint("leave out --recompute: every digest was checked")
	}
	p := h.Identity.Params
	f.kv, f.ubatch, f.noFlash = p.KVTypeK, p.NUBatch, !p.FlashAttention
	w, err := a.load(ctx, f)
	if err != nil {
		return err
	}
	defer w.Close()
	recorded, err := u.Tokens()
	if err != nil {
		return err
	}
	tokens := make([]inference.Token, len(recorded))
	for i, t := range recorded {
		tokens[i] = inference.Token(t)
	}
	live := w.Identity(nil, tokens, h.Identity.LearnedVersion)
	live.SchemaGeneratorVersion, live.ActiveSetSHA256, live.Tools = h.Identity.SchemaGeneratorVersion, h.Identity.ActiveSetSHA256, h.Identity.Tools
	verified, err := u.Verify(ctx, live)
	if err != nil {
		return err
	}
	params := w.Params
	params.ContextTokens = len(tokens) + 1
	session, err := w.Model.NewSession(ctx, params)
	if err != nil {
		return err
	}
	defer session.Close()
	show := newStages(a)
	show.report("prefix", 0, len(tokens))
	err = decodeAgain(ctx, session, tokens, verified, func(done int) { show.report("prefix", done, len(tokens)) })
	show.end()
	if err != nil {
		if live := w.Platform(); fault.Is(err, fault.CodeImprintPayloadMismatch) && h.BakedOn != live {
			return fault.New(fault.CodeImprintPayloadMismatch, "%s: %w; it was baked on another processor (%s/%s), which computes other last bits", u.Path(), err, h.BakedOn.OS, h.BakedOn.Arch)
		}
		return err
	}
	return nil
}

// decodeAgain decodes the tokens as they were decoded, layer by layer, and compares each layer's bytes.
func decodeAgain(ctx context.Context, session inference.Session, tokens []inference.Token, v *imprint.Verified, progress func(done int)) error {
	for i, layer := range v.State().Layers() {
		from := session.Position()
		b := inference.Batch{Tokens: tokens[from : from+layer.Tokens()], Progress: func(done, _ int) { progress(from + done) }}
		if err := session.Decode(ctx, b); err != nil {
			return err
		}
		state, err := session.SaveLayer(ctx, from)
		if err != nil {
			return err
		}
		if !bytes.Equal(state.Bytes(), layer.Bytes()) {
			return fault.New(fault.CodeImprintPayloadMismatch, "layer %q, decoded again, comes to other bytes", v.Header().Layers[i].Name)
		}
	}
	return nil
}

// verifyAll checks every file of the store. What is damaged stays where it is: it is evidence.
func (a *app) verifyAll(ctx context.Context) error {
	store, err := a.imprints()
	if err != nil {
		return err
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	intact := []string{}
	damaged := list.Damaged
	for _, e := range list.Entries {
		switch _, err := store.Lookup(ctx, e.ID); {
		case err == nil:
			intact = append(intact, e.ID.String())
		case ctx.Err() != nil:
			return err
		case !fault.Is(err, fault.CodeImprintNotFound): // removed since the folder was read
			damaged = append(damaged, imprint.Damaged{Path: e.Path, Err: err})
		}
	}
	if len(damaged) > 0 {
		first := fault.From(damaged[0].Err)
		e := fault.New(first.Code, "%d of %d files of the store are damaged; the first: %s", len(damaged), len(damaged)+len(intact), first.Message).
			WithHint("nothing was changed; learn again, and remove a damaged file by its path with edge imprint rm")
		for _, d := range damaged {
			why := fault.From(d.Err)
			e.Mismatches = append(e.Mismatches, fault.Mismatch{Field: d.Path, Want: "intact", Got: string(why.Code)})
		}
		return e
	}
	value := map[string]any{"schema": "edge.imprint_verify_all/v1", "ok": true, "intact": intact}
	return a.print(value, func() { a.say("%d imprints: every digest is right", len(intact)) })
}
