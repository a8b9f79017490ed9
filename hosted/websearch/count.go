package websearch

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// ClampCount makes a number of results out of whatever a model gave for one: numbers, also as text, are cut to whole ones
// from 1 to MaxResults; null, 0 and everything else is DefaultResults.
func ClampCount(v any) int {
	var n float64
	switch v := v.(type) {
	case int:
		n = float64(v)
	case float64:
		n = v
	case json.Number:
		n, _ = v.Float64() // 0 where it isn't one
	case string:
		// As Python's int() reads text: whole numbers only.
		whole, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return DefaultResults
		}
		return min(max(whole, 1), MaxResults)
	default:
		return DefaultResults
	}
	if n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return DefaultResults
	}
	return int(min(max(math.Trunc(n), 1), MaxResults))
}
