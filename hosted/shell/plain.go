package shell

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"edge/tools"
)

// keep is how many bytes of a command's output are told: the first half and the last.
const keep = 16 << 10

// sequences are what programs tell terminals, and readers never: colours, cursor moves, window titles, also cut short.
var sequences = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)|\x9b[0-?]*[ -/]*[@-~]?`)

// plain writes output as text: without terminal sequences, a line that was written over only as it was left, and every
// other character that can't be seen as its number.
func plain(output []byte) string {
	text := strings.ToValidUTF8(string(trimCut(output)), "\uFFFD")
	text = sequences.ReplaceAllString(text, "")
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = tools.EscapeForDisplay(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// trimCut drops a character that a cut left in parts at either end.
func trimCut(output []byte) []byte {
	for n := 0; n < utf8.UTFMax && len(output) > 0 && !utf8.RuneStart(output[0]); n++ {
		output = output[1:]
	}
	for n := 1; n < utf8.UTFMax && n <= len(output); n++ {
		if last := output[len(output)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				output = output[:len(output)-n]
			}
			break
		}
	}
	return output
}
