package evolve

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// invented gives the first sign of made-up data in a tool's code, "" for none. Full-width letters and the like are read
// as the plain ones they look like.
func invented(code string) string {
	plain := strings.ToLower(norm.NFKC.String(code))
	for _, sign := range []string{
		"mock", "fake", "dummy", "sample data", "sample_data", "sampledata",
		"模拟", "模擬", "示例数据", "示例數據", "样例数据", "假数据", "假數據", "虚构数据", "伪造数据",
	} {
		if strings.Contains(plain, sign) {
			return sign
		}
	}
	return ""
}
