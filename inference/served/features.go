package served

import (
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

// featuresFormat is the version of Features.
const featuresFormat = "edge.features/1"

// featureSize is how many dimensions Features has.
const featureSize = 768

// Features stands in for hidden states where a server gives none: a request's words and the beginnings, ends and middles
// of them, each hashed to a dimension and a sign (feature hashing: Weinberger et al., ICML 2009). Numbers count as
// numbers, whatever they are. Nothing is asked of the server, so that its cache keeps the prefix.
func Features(text string) []float32 {
	v := make([]float32, featureSize)
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }) {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			w = "0"
		}
		words = append(words, w)
	}
	for i, w := range words {
		add(v, "w:"+w, 1)
		if i > 0 {
			add(v, "b:"+words[i-1]+" "+w, 0.7)
		}
		runes := []rune("<" + w + ">")
		for n := 3; n <= 5; n++ {
			for j := 0; j+n <= len(runes); j++ {
				add(v, "c:"+string(runes[j:j+n]), 0.5)
			}
		}
	}
	if n := len(words); n > 0 {
		add(v, "first:"+words[0], 1)
		add(v, "first:"+strings.Join(words[:min(2, n)], " "), 1)
	}
	if strings.Contains(text, "?") {
		add(v, "question", 0.7)
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum > 0 {
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
	}
	return v
}

func add(v []float32, feature string, weight float32) {
	h := fnv.New32a()
	h.Write([]byte(feature))
	sum := h.Sum32()
	if sum>>31 == 1 {
		weight = -weight
	}
	v[sum%featureSize] += weight
}
