package gguf

import "strconv"

// kind is the type of a metadata value. The numbers are the file format's, so the zero kind is a real one.
type kind uint32

const (
	kindUint8 kind = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

// size is how many bytes a scalar of the kind takes; 0 for strings, arrays and unknown kinds.
func (k kind) size() int {
	switch k {
	case kindUint8, kindInt8, kindBool:
		return 1
	case kindUint16, kindInt16:
		return 2
	case kindUint32, kindInt32, kindFloat32:
		return 4
	case kindUint64, kindInt64, kindFloat64:
		return 8
	}
	return 0
}

// layout says how a tensor type stores its elements: blocks of so many elements in so many bytes.
type layout struct{ elements, bytes uint64 }

// tensorLayout knows the types of ggml v0.4.0 that a model file can hold.
func tensorLayout(code uint32) (layout, bool) {
	switch code {
	case 0, 26: // F32, I32
		return layout{1, 4}, true
	case 1, 25, 30: // F16, I16, BF16
		return layout{1, 2}, true
	case 24: // I8
		return layout{1, 1}, true
	case 27, 28: // I64, F64
		return layout{1, 8}, true
	case 2, 20: // Q4_0, IQ4_NL
		return layout{32, 18}, true
	case 3: // Q4_1
		return layout{32, 20}, true
	case 6: // Q5_0
		return layout{32, 22}, true
	case 7: // Q5_1
		return layout{32, 24}, true
	case 8: // Q8_0
		return layout{32, 34}, true
	case 9: // Q8_1
		return layout{32, 36}, true
	case 39: // MXFP4
		return layout{32, 17}, true
	case 10: // Q2_K
		return layout{256, 84}, true
	case 11, 21: // Q3_K, IQ3_S
		return layout{256, 110}, true
	case 12: // Q4_K
		return layout{256, 144}, true
	case 13: // Q5_K
		return layout{256, 176}, true
	case 14: // Q6_K
		return layout{256, 210}, true
	case 15: // Q8_K
		return layout{256, 292}, true
	case 16, 35: // IQ2_XXS, TQ2_0
		return layout{256, 66}, true
	case 17: // IQ2_XS
		return layout{256, 74}, true
	case 18: // IQ3_XXS
		return layout{256, 98}, true
	case 19: // IQ1_S
		return layout{256, 50}, true
	case 22: // IQ2_S
		return layout{256, 82}, true
	case 23: // IQ4_XS
		return layout{256, 136}, true
	case 29: // IQ1_M
		return layout{256, 56}, true
	case 34: // TQ1_0
		return layout{256, 54}, true
	}
	return layout{}, false
}

// fileType names the values of general.file_type.
func fileType(n uint64) string {
	names := map[uint64]string{
		0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
		13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
		21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
		29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
	}
	if name, ok := names[n]; ok {
		return name
	}
	return "type " + strconv.FormatUint(n, 10)
}
