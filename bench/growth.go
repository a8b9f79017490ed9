package bench

import (
	"context"
	"fmt"
)

// growth measures how the cost grows with the number of tools, nothing else in the prefix.
func (b *bench) growth(ctx context.Context) ([]Growth, error) {
	var list []Growth
	for _, n := range []int{1, 2, 4, maxTools} {
		s, err := b.subject(ctx, n, 0)
		if err != nil {
			return nil, err
		}
		if len(s.prefix)+room > s.world.Model.Info().ContextLength {
			b.leave(fmt.Sprintf("tools: %d", n), "they take %d tokens", len(s.prefix))
			continue
		}
		b.Progress(fmt.Sprintf("%d tools, %d tokens", n, len(s.prefix)))
		if err := b.both(ctx, s); err != nil {
			return nil, err
		}
		c := s.result()
		list = append(list, Growth{n, c.PrefixTokens, c.StateBytes, c.ColdTTFT, c.RestoredTTFT})
	}
	return list, nil
}

// kvTypes measures the types of the state, on one prefix.
func (b *bench) kvTypes(ctx context.Context) ([]KVType, error) {
	var list []KVType
	for _, kv := range []string{"f16", "q8_0", "q4_0"} {
		other := *b
		other.World.Params.KVTypeK, other.World.Params.KVTypeV = kv, kv
		s, err := other.fitting(ctx, 512)
		if err != nil {
			return nil, err
		}
		b.Progress(fmt.Sprintf("KV type %s, %d tokens", kv, len(s.prefix)))
		if err := other.both(ctx, s); err != nil {
			b.leave("kv_types: "+kv, "%v", err)
			continue
		}
		c := s.result()
		list = append(list, KVType{kv, c.PrefixTokens, c.StateBytes, c.ColdTTFT, c.RestoredTTFT, c.Verify, c.Restore})
	}
	return list, nil
}

// both runs cold and restored, as often as the configuration says.
func (b *bench) both(ctx context.Context, s *subject) error {
	if err := b.bake(ctx, s); err != nil {
		return err
	}
	for round := range b.Runs {
		if err := b.restored(ctx, s); err != nil {
			return err
		}
		if round > 0 {
			if err := b.cold(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}
