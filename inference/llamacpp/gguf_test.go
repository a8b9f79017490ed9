package llamacpp_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// tinyModel is a GGUF file with one layer and weights that are all the same number: for kinds of models that must be
// refused before their weights matter.
type tinyModel struct {
	arch    string
	numbers map[string]uint32 // metadata under the architecture's name
	floats  map[string]float32
	global  map[string]uint32 // metadata as named
	tensors map[string][]uint64
}

const (
	tinyWidth = 32
	tinyVocab = 16
)

// write makes the file in a folder that the test removes.
func (m tinyModel) write(t *testing.T) string {
	t.Helper()
	const (
		typeUint32, typeFloat32, typeString = 4, 6, 8
		alignment                           = 32
	)
	var meta, infos, data bytes.Buffer
	put := func(b *bytes.Buffer, values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				v = append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
			}
			if err := binary.Write(b, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := uint64(3)
	put(&meta, "general.architecture", uint32(typeString), m.arch)
	put(&meta, "tokenizer.ggml.model", uint32(typeString), "none")
	put(&meta, m.arch+".vocab_size", uint32(typeUint32), uint32(tinyVocab))
	for name, v := range m.numbers {
		put(&meta, m.arch+"."+name, uint32(typeUint32), v)
		count++
	}
	for name, v := range m.floats {
		put(&meta, m.arch+"."+name, uint32(typeFloat32), v)
		count++
	}
	for name, v := range m.global {
		put(&meta, name, uint32(typeUint32), v)
		count++
	}
	for name, shape := range m.tensors {
		size := uint64(1)
		put(&infos, name, uint32(len(shape)))
		for _, n := range shape {
			size *= n
			put(&infos, n)
		}
		put(&infos, uint32(0), uint64(data.Len())) // F32
		for range size {
			put(&data, float32(0.01))
		}
		data.Write(make([]byte, (alignment-data.Len()%alignment)%alignment))
	}
	var file bytes.Buffer
	file.WriteString("GGUF")
	put(&file, uint32(3), uint64(len(m.tensors)), count)
	file.Write(meta.Bytes())
	file.Write(infos.Bytes())
	file.Write(make([]byte, (alignment-file.Len()%alignment)%alignment))
	file.Write(data.Bytes())
	path := filepath.Join(t.TempDir(), m.arch+".gguf")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// dims is the metadata that every architecture wants.
func dims() map[string]uint32 {
	return map[string]uint32{
		"context_length": 64, "embedding_length": tinyWidth, "feed_forward_length": tinyWidth, "block_count": 1, "attention.head_count": 1,
	}
}

// square gives the shapes of weights between layers of the common width.
func square(names ...string) map[string][]uint64 {
	out := map[string][]uint64{}
	for _, name := range names {
		out[name+".weight"] = []uint64{tinyWidth, tinyWidth}
	}
	return out
}

func (m tinyModel) with(shape []uint64, names ...string) tinyModel {
	for _, name := range names {
		m.tensors[name] = shape
	}
	return m
}

// bert is an encoder: it has no cache at all.
func bert() tinyModel {
	m := tinyModel{
		arch: "bert", numbers: dims(),
		floats:  map[string]float32{"attention.layer_norm_epsilon": 1e-5},
		global:  map[string]uint32{"tokenizer.ggml.token_type_count": 2},
		tensors: square("blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output", "blk.0.ffn_up", "blk.0.ffn_down"),
	}
	return m.with([]uint64{tinyWidth, tinyVocab}, "token_embd.weight").
		with([]uint64{tinyWidth, 64}, "position_embd.weight").
		with([]uint64{tinyWidth}, "token_embd_norm.weight", "token_embd_norm.bias", "blk.0.attn_output_norm.weight", "blk.0.attn_output_norm.bias",
			"blk.0.layer_output_norm.weight", "blk.0.layer_output_norm.bias", "blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias",
			"blk.0.attn_output.bias", "blk.0.ffn_up.bias", "blk.0.ffn_down.bias")
}

// t5encoder is the half of an encoder-decoder model that can't go on with a text.
func t5encoder() tinyModel {
	m := tinyModel{
		arch: "t5encoder", numbers: dims(),
		floats: map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5},
		tensors: square("enc.blk.0.attn_q", "enc.blk.0.attn_k", "enc.blk.0.attn_v", "enc.blk.0.attn_o",
			"enc.blk.0.ffn_gate", "enc.blk.0.ffn_up", "enc.blk.0.ffn_down"),
	}
	m.numbers["attention.relative_buckets_count"] = 32
	return m.with([]uint64{tinyWidth, tinyVocab}, "token_embd.weight").
		with([]uint64{1, 32}, "enc.blk.0.attn_rel_b.weight").
		with([]uint64{tinyWidth}, "enc.output_norm.weight", "enc.blk.0.attn_norm.weight", "enc.blk.0.ffn_norm.weight")
}

// llada is a diffusion model: every step looks at the whole text.
func llada() tinyModel {
	m := tinyModel{
		arch: "llada", numbers: dims(),
		floats:  map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5},
		tensors: square("blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output", "blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down"),
	}
	return m.with([]uint64{tinyWidth, tinyVocab}, "token_embd.weight", "output.weight").
		with([]uint64{tinyWidth}, "output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight")
}

// llama is the plainest decoder, to show that the others aren't refused for how the file is written.
func llama() tinyModel {
	m := llada()
	m.arch = "llama"
	return m
}
