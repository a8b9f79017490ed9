package llamacpp

import (
	"context"
	"os"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/internal/fault"
)

// Requantize writes the model of the file at from into a new file at to, its weights in another layout: q8_0, q4_0 or
// f16, as llama_ftype has them. Tokenizer, template and parameters stay. From a quantised file, it is the values that
// the file stands for which are quantised again, so nothing that was lost comes back. Once begun it can't be cancelled.
//
// Errors: invalid_arguments for another layout, model_not_found, engine_load_failed with the engine's own last words
// (also where the disk is full), ctx's before it begins. What an error leaves at to is the caller's to remove.
func (e *Engine) Requantize(ctx context.Context, from, to, layout string, threads int) error {
	kinds := map[string]llama.Ftype{"q8_0": llama.FtypeMostlyQ8_0, "q4_0": llama.FtypeMostlyQ4_0, "f16": llama.FtypeMostlyF16}
	kind, known := kinds[layout]
	if !known || threads < 1 {
		return fault.New(fault.CodeInvalidArguments, "the engine can't write layout %q with %d threads", layout, threads)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Stat(from); err != nil {
		return fault.New(fault.CodeModelNotFound, "model file %s: %w", from, err)
	}
	e.loads.Lock()
	defer e.loads.Unlock()
	e.log.clear()
	p := llama.ModelQuantizeDefaultParams()
	p.Ftype, p.NThread, p.AllowRequantize = kind, int32(threads), 1
	// uint32_t llama_model_quantize(fname_inp, fname_out, params): 0 on success.
	if code := llama.ModelQuantize(from, to, &p); code != 0 {
		return fault.New(fault.CodeEngineLoadFailed, "write %s in layout %s failed with %d%s", from, layout, code, e.log.suffix())
	}
	return nil
}
