package shell_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"edge/hosted/shell"
	"edge/internal/fault"
)

// TestGuardRefuses: each attack is refused at its place, with what it looks like.
func TestGuardRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"":                             "empty",
		" \n\t":                        "empty",
		"ls \xff":                      "UTF-8",
		strings.Repeat("a", 5000):      "5000 bytes",
		"c\u0430t /etc/passwd":         `character 2 (U+0430, Cyrillic) looks like "a", in "c` + "\u0430" + `t"`,
		"\u0441\u0430\u0440 x":         `character 1 (U+0441, Cyrillic) looks like "c"`, // a whole word of look-alikes
		"curl http://\u0430pple.com":   `looks like "a"`,
		"curl http://ex\u0251mple.com": `character 15 (U+0251, Latin) looks like "a"`,
		"r\u043c -rf x":                `stands among Latin letters`,
		"echo \u03bfk":                 `character 6 (U+03BF, Greek) looks like "o"`,
		"\u0391\u0392":                 `(U+0391, Greek) looks like "A"`,
		"ls \u13aax":                   `Cherokee`,
		"g\u0456t push":                `looks like "i"`,
		"sudo\u200b rm":                `character 5 (U+200B, Common) can't be seen`,
		"r\u200dm x":                   `(U+200D, Inherited) can't be seen`,
		"echo \u202etxt.exe":           `character 6 (U+202E`,
		"echo \u2066a\u2069":           `character 6 (U+2066`,
		"echo \ufeffx":                 `U+FEFF`,
		"echo\u00a0x":                  `character 5 (U+00A0`,
		"echo\u3000x":                  `U+3000`,
		"ls \u2028 rm":                 `U+2028`,
		"echo \x1b[2Krm":               `U+001B`,
		"echo x\rrm y":                 `U+000D`,
		"echo \x08x":                   `U+0008`,
		"echo a\U000E0041":             `U+E0041`,
		"echo a\ufe0f":                 `U+FE0F`,
		"echo \u3164x":                 `U+3164`,
		"\uff52\uff4d -rf x":           `character 1 (U+FF52, Latin) is "r" when it is normalised (NFKD)`,
		"rm \uff0drf":                  `is "-" when it is normalised`,
		"ls \uff5c sh":                 `is "|" when it is normalised`,
		"ls \uff1b rm x":               `is ";" when it is normalised`,
		"\U0001d42b\U0001d426 x":       `is "r" when it is normalised`,
		"\u24e1\u24dc x":               `is "r" when it is normalised`,
		"cat \ufb01le":                 `is "fi" when it is normalised`,
		"echo x\u00b2":                 `is "2" when it is normalised`,
		"echo \u212a":                  `character 6 (U+212A, Latin) is "K" when it is normalised`,
		"ls \u037e rm x":               `is ";" when it is normalised`,
		"echo \u1fefid\u1fef":          `is "` + "`" + `" when it is normalised`,
		"cat a \u226e b":               `when it is normalised`,
		"echo \u2024\u2024/x":          `is "." when it is normalised`,
		"cat \u2025/x":                 `is ".." when it is normalised`,
		"echo -\u0301x":                `changes how`,
		"rm \u2013rf x":                `character 4 (U+2013, Common) looks like "-"`,
		"rm \u2212rf x":                `looks like "-"`,
		"echo \u201chi\u201d":          `looks like "\""`,
		"echo \u2018hi\u2019":          `looks like "'"`,
		"cat \u2215etc\u2215passwd":    `looks like "/"`,
		"cat a\u2044b":                 `looks like "/"`,
		"ls \u2223 sh":                 `looks like "|"`,
		"rm \u2217":                    `looks like "*"`,
		"true \u01c3":                  `looks like "!"`,
		"ls \u223c":                    `looks like "~"`,
	} {
		err := shell.Check(command)
		if !fault.Is(err, fault.CodeInvalidToolArgs) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+q: got %v, want %q", command, err, want)
		}
		if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("%+q: the message isn't text", command)
		}
	}
}

func TestGuardAccepts(t *testing.T) {
	for _, command := range []string{
		"ls -la | grep '^d' && echo \"$HOME\" > /tmp/x; rm -rf ./build/*  # done", "for f in *.txt; do\n\twc -l \"$f\"\ndone", "echo 'größe café naïve Ångström'",
		"echo cafe\u0301", "cat 日本語ファイルtest.txt", "echo привет мир", "cat サーバー.log", "echo السلام", "grep Ελλάδα file", "echo 'שלום'", "echo '🙂 ok'", "echo 5 €",
	} {
		if err := shell.Check(command); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"ls", "c\u0430t", "\u202e", "\xff", "e\u0301", "\u0301", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		err := shell.Check(command)
		if err == nil && strings.ContainsAny(command, "\u202e\u200b\u0000\r\x1b\uff1b\u2028") {
			t.Errorf("%+q is taken", command)
		}
		if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("%+q: the message isn't text", command)
		}
	})
}
