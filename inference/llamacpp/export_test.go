package llamacpp

import (
	"context"

	"edge/inference"
)

// DecodeWithFlagUp decodes with the abort flag raised, under a context that never ends: only the engine itself can stop.
func DecodeWithFlagUp(s inference.Session, tokens []inference.Token) error {
	own := s.(*session)
	return own.do(true, func() error {
		own.abort.Store(true)
		return own.decodePart(context.Background(), tokens, outputs{logits: true})
	})
}
