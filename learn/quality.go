package learn

import (
	"context"

	"edge/imprint"
	"edge/inference"
	"edge/inference/compare"
)

// quality measures what a cache of less than 16 bits costs: the prefix is decoded once more into one of 16, and what the
// model would say behind both is compared. It takes as long as the prefix does; with 16 bits there is nothing to measure.
func (r *run) quality(ctx context.Context) error {
	p := r.World.Params
	if p.KVTypeK == "f16" && p.KVTypeV == "f16" || !r.World.Model.Info().Can.State {
		return nil
	}
	p.KVTypeK, p.KVTypeV, p.ContextTokens = "f16", "f16", len(r.tokens)+compare.Behind
	full, err := r.World.Model.NewSession(ctx, p)
	if err != nil {
		return err
	}
	defer full.Close()
	r.Report("quality", 0, len(r.tokens))
	err = full.Decode(ctx, inference.Batch{Tokens: r.tokens, Progress: func(done, total int) { r.Report("quality", done, total) }})
	if err != nil {
		return err
	}
	if err := r.session.Reset(ctx); err != nil {
		return err
	}
	if err := r.restore(ctx, r.session); err != nil {
		return err
	}
	kl, err := compare.Between(ctx, r.World.Model, full, r.session)
	r.result.Content.Quality = imprint.Quality{MeanKL: kl, Positions: compare.Behind}
	return err
}
