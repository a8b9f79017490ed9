package enginetest

import (
	"context"
	"errors"
	"slices"

	"edge/inference"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/internal/sealed"
)

func wrongSessions() []wrong {
	return []wrong{
		{name: "one bit of the logits after a restore", finds: "restored equals live", adapter: twist(func(tw *twisted) {
			restored := false
			tw.restore = func(ctx context.Context, s sealed.State) error {
				restored = true
				return tw.Session.RestoreState(ctx, s)
			}
			tw.logits = func() []float32 {
				if restored {
					return bent(tw.Session.Logits())
				}
				return tw.Session.Logits()
			}
		})},
		{name: "restore decodes the prefix again", finds: "restored equals live", adapter: twist(func(tw *twisted) {
			extra := 0
			tw.restore = func(ctx context.Context, s sealed.State) error {
				extra = s.Tokens()
				return tw.Session.RestoreState(ctx, s)
			}
			tw.decoded = func() int { return tw.Session.Decoded() + extra }
		})},
		{name: "restore says that it worked", finds: "restored equals live", options: fake.Options{Faults: fake.Faults{RestoreForget: true}}},
		{name: "restore fails", finds: "restored equals live", options: fake.Options{Faults: fake.Faults{RestoreHalf: true}}},
		{name: "save fails", finds: "restored equals live", options: fake.Options{Faults: fake.Faults{Save: true}}},
		{name: "save loses a byte", finds: "restored equals live", options: fake.Options{Faults: fake.Faults{SaveShort: true}}},
		{name: "a later decode fails", finds: "restored equals live", options: fake.Options{Faults: fake.Faults{DecodeCall: 9}}},
		{name: "other bytes at every save", finds: "restored equals live", adapter: func() adapter {
			saves := byte(0)
			return twist(func(tw *twisted) {
				tw.save = func(ctx context.Context) (sealed.State, error) {
					s, err := tw.Session.SaveState(ctx)
					if err != nil {
						return s, err
					}
					saves++
					b := slices.Clone(s.Bytes())
					b[len(b)-1] ^= saves
					return sealed.Fresh(b, s.Tokens()), nil
				}
			})
		}()},
		{name: "logits right after a restore", finds: "restored equals live", adapter: twist(func(tw *twisted) {
			tw.logits = func() []float32 {
				if l := tw.Session.Logits(); l != nil || tw.Session.Position() == 0 {
					return l
				}
				return make([]float32, 4)
			}
		})},
		{name: "position forgets what was restored", finds: "restored equals live", adapter: twist(func(tw *twisted) {
			tw.position = func() int { return tw.Session.Decoded() }
		})},
		{name: "reset leaves something", finds: "restored equals live", adapter: twist(func(tw *twisted) { tw.reset = func(context.Context) error { return nil } })},

		{name: "hidden states change the logits", finds: "hidden states", adapter: twist(func(tw *twisted) {
			tw.logits = func() []float32 {
				if len(tw.Session.Hidden()) > 0 {
					return bent(tw.Session.Logits())
				}
				return tw.Session.Logits()
			}
		})},
		{name: "no logits beside hidden states", finds: "hidden states", adapter: twist(func(tw *twisted) {
			tw.logits = func() []float32 {
				l := slices.Clone(tw.Session.Logits())
				if len(tw.Session.Hidden()) > 0 {
					clear(l)
				}
				return l
			}
		})},
		{name: "one hidden state short", finds: "hidden states", adapter: twist(func(tw *twisted) {
			tw.hidden = func() [][]float32 {
				h := tw.Session.Hidden()
				return h[:max(len(h)-1, 0)]
			}
		})},
		{name: "hidden states differ after a restore", finds: "hidden states", adapter: twist(func(tw *twisted) {
			tw.hidden = func() [][]float32 {
				h := slices.Clone(tw.Session.Hidden())
				if len(h) > 0 && tw.Session.Decoded() != tw.Session.Position() {
					h[0] = bent(h[0])
				}
				return h
			}
		})},
		{name: "hidden states that nobody asked for", finds: "hidden states", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				b.Hidden = true
				return tw.Session.Decode(ctx, b)
			}
		})},

		{name: "a used session takes a state", finds: "used session refuses a state", adapter: twist(func(tw *twisted) {
			tw.restore = func(ctx context.Context, s sealed.State) error {
				if err := tw.Session.Reset(ctx); err != nil {
					return err
				}
				return tw.Session.RestoreState(ctx, s)
			}
		})},
		{name: "trailing bytes are taken", finds: "damaged states are refused", adapter: twist(func(tw *twisted) {
			tw.restore = func(ctx context.Context, s sealed.State) error {
				if want := 16 + 12*s.Tokens() + 8; len(s.Bytes()) > want {
					s = sealed.Fresh(s.Bytes()[:want], s.Tokens())
				}
				return tw.Session.RestoreState(ctx, s)
			}
		})},
		{name: "short states are taken", finds: "damaged states are refused", adapter: twist(func(tw *twisted) {
			tw.restore = func(ctx context.Context, s sealed.State) error {
				if want := 16 + 12*s.Tokens() + 8; len(s.Bytes()) == want-1 {
					s = sealed.Fresh(append(slices.Clone(s.Bytes()), 0), s.Tokens())
				}
				return tw.Session.RestoreState(ctx, s)
			}
		})},
		{name: "a refused state leaves dirt in the process", finds: "damaged states are refused", adapter: func() adapter {
			dirty := false
			return twist(func(tw *twisted) {
				tw.restore = func(ctx context.Context, s sealed.State) error {
					err := tw.Session.RestoreState(ctx, s)
					dirty = dirty || err != nil
					return err
				}
				tw.logits = func() []float32 {
					if dirty {
						return bent(tw.Session.Logits())
					}
					return tw.Session.Logits()
				}
			})
		}()},
		{name: "a refused state leaves the session open", finds: "damaged states are refused", adapter: twist(func(tw *twisted) {
			tw.restore = func(ctx context.Context, s sealed.State) error {
				if want := 16 + 12*s.Tokens() + 8; len(s.Bytes()) != want {
					return fault.New(fault.CodeEngineRestoreFailed, "refused")
				}
				return tw.Session.RestoreState(ctx, s)
			}
		})},
		{name: "a new session has logits", finds: "nothing to save", adapter: twist(func(tw *twisted) {
			tw.logits = func() []float32 {
				if tw.Session.Position() == 0 {
					return make([]float32, 4)
				}
				return tw.Session.Logits()
			}
		})},
		{name: "an empty session gives a state", finds: "nothing to save", adapter: twist(func(tw *twisted) {
			tw.save = func(ctx context.Context) (sealed.State, error) {
				if tw.Session.Position() == 0 {
					return sealed.State{}, nil
				}
				return tw.Session.SaveState(ctx)
			}
		})},

		{name: "a closed session decodes", finds: "closed session", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				if err := tw.Session.Decode(ctx, b); !fault.Is(err, fault.CodeSessionClosed) {
					return err
				}
				return nil
			}
		})},
		{name: "close isn't idempotent", finds: "closed session", adapter: twist(func(tw *twisted) {
			closed := false
			tw.close = func() error {
				if closed {
					return fault.New(fault.CodeSessionClosed, "closed")
				}
				closed = true
				return tw.Session.Close()
			}
		})},
		{name: "a closed session keeps its logits", finds: "closed session", adapter: twist(func(tw *twisted) {
			var last []float32
			tw.logits = func() []float32 {
				if l := tw.Session.Logits(); l != nil {
					last = l
				}
				return last
			}
		})},
		{name: "logits are the engine's own memory", finds: "closed session", adapter: twist(func(tw *twisted) {
			var last []float32
			tw.logits = func() []float32 {
				if last == nil {
					last = slices.Clone(tw.Session.Logits())
				}
				return last
			}
			tw.close = func() error {
				clear(last)
				last = nil
				return tw.Session.Close()
			}
		})},
		{name: "foreign tokens are decoded", finds: "failed session is closed", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				b.Tokens = slices.Clone(b.Tokens)
				for i, token := range b.Tokens {
					b.Tokens[i] = max(0, min(token, 100))
				}
				return tw.Session.Decode(ctx, b)
			}
		})},
		{name: "foreign tokens are found too late", finds: "failed session is closed", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				for i, token := range b.Tokens {
					if err := tw.Session.Decode(ctx, inference.Batch{Tokens: []inference.Token{token}, Hidden: b.Hidden}); err != nil {
						return err
					}
					if b.Progress != nil {
						b.Progress(i+1, len(b.Tokens))
					}
				}
				return nil
			}
		})},
		{name: "a failed session goes on", finds: "failed session is closed", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				if slices.ContainsFunc(b.Tokens, func(token inference.Token) bool { return token < 0 || token > 1000 }) {
					return fault.New(fault.CodeEngineDecodeFailed, "no such token")
				}
				return tw.Session.Decode(ctx, b)
			}
		})},
		{name: "cancelling is ignored", finds: "cancel", adapter: twist(func(tw *twisted) {
			tw.decode = func(_ context.Context, b inference.Batch) error { return tw.Session.Decode(context.Background(), b) }
		})},
		{name: "cancelling is noticed at the end", finds: "cancel", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				if err := tw.Session.Decode(context.Background(), b); err != nil {
					return err
				}
				if ctx.Err() != nil {
					tw.Session.Close()
				}
				return ctx.Err()
			}
		})},
		{name: "a cancelled session goes on", finds: "cancel", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return tw.Session.Decode(ctx, b)
			}
		})},
		{name: "an old call's context stops the next", finds: "cancel", adapter: twist(func(tw *twisted) {
			var before context.Context
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				if before != nil && before.Err() != nil && tw.Session.Position() == 1 {
					return errors.New("aborted")
				}
				before = ctx
				return tw.Session.Decode(ctx, b)
			}
		})},
		{name: "a context that ended while its call finished stops the next", finds: "cancel", adapter: twist(func(tw *twisted) {
			raised := false
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				if raised && tw.Session.Position() < 8 {
					return errors.New("aborted")
				}
				err := tw.Session.Decode(ctx, b)
				raised = err == nil && ctx.Err() != nil
				return err
			}
		})},
		{name: "what doesn't fit is decoded as far as it goes", finds: "context full", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				err := tw.Session.Decode(ctx, b)
				if fault.Is(err, fault.CodeContextFull) {
					_ = tw.Session.Decode(ctx, inference.Batch{Tokens: b.Tokens[:1]})
				}
				return err
			}
		})},
		{name: "a full session is closed", finds: "context full", adapter: twist(func(tw *twisted) {
			tw.decode = func(ctx context.Context, b inference.Batch) error {
				err := tw.Session.Decode(ctx, b)
				if err != nil {
					tw.Session.Close()
				}
				return err
			}
		})},
		{name: "there is more room than asked for", finds: "context full", adapter: adapter{params: func(p *inference.Params) { p.ContextTokens += 8 * min(p.ContextTokens, 1) }}},
		{name: "a state may fill the context", finds: "context full", adapter: twist(func(tw *twisted) {
			tw.restore = func(ctx context.Context, s sealed.State) error {
				if err := tw.Session.RestoreState(ctx, s); !fault.Is(err, fault.CodeContextFull) {
					return err
				}
				return nil
			}
		})},
		{name: "reset does nothing", finds: "reset", adapter: twist(func(tw *twisted) { tw.reset = func(context.Context) error { return nil } })},
		{name: "sessions share something", finds: "sessions are apart", adapter: func() adapter {
			var last *twisted
			return twist(func(tw *twisted) {
				tw.logits = func() []float32 {
					if last != nil && last != tw {
						return bent(tw.Session.Logits())
					}
					return tw.Session.Logits()
				}
				tw.decode = func(ctx context.Context, b inference.Batch) error {
					if tw.Session.Position() == 0 {
						last = tw
					}
					return tw.Session.Decode(ctx, b)
				}
			})
		}()},
		{name: "quantised values without flash attention", finds: "parameters out of range", adapter: adapter{params: func(p *inference.Params) { p.FlashAttention = p.FlashAttention || p.KVTypeV != "f16" }}},
		{name: "no threads are one thread", finds: "parameters out of range", adapter: adapter{params: func(p *inference.Params) { p.Threads = max(p.Threads, 1) }}},
		{name: "a model is closed under its sessions", finds: "model in use isn't closed", adapter: adapter{close: func(inference.Model) error { return nil }}},
	}
}
