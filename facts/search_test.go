package facts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"edge/facts"
	"edge/internal/fault"
)

const shopFacts = `
{"id":"place","text":"The shop is in Porto.","tags":["place"]}
{"id":"fee","text":"The basic fee is 0.3 % of the amount, at least 0.25."}
{"id":"weather","text":"上海今天的天气很好,气温二十五度。"}
{"id":"forecast","text":"明日の天気予報は雨です。傘を持って行きましょう。","source":"気象庁"}
{"id":"tokyo","text":"東京都の人口は約一千四百万人。","tags":["人口","日本"]}
{"id":"phone","text":"iPhone手机在三楼,電話は０３−１２３４。"}
{"id":"cafe","text":"Café Łódź öffnet um 8 Uhr; São Paulo folgt."}
{"id":"kana","text":"ﾌﾟﾛｸﾞﾗﾑのデータベースサーバー。時々、人々が来ます。"}
{"id":"korean","text":"서울에서 부산까지 기차로 세 시간."}
{"id":"thai","text":"ร้านเปิดเก้าโมงเช้า"}
{"id":"operators","text":"Use NEAR, AND, OR and NOT in upper case; a* b:c \"quoted\" (x) ^y -z {w}."}
`

func TestSearch(t *testing.T) {
	path := newPath(t)
	load(t, path, shopFacts)
	s := open(t, path)
	tests := []struct {
		query string
		want  string // ids in order; those after a bar have only a part of the query
	}{
		{"Porto", "place"},
		{"PORTO?", "place"},
		{"place", "place"}, // a tag
		{"fees", "fee"},    // one stem
		{"basic fee", "fee"},
		{"fee basic", "fee"},
		{"0.3", "fee"},
		{"0.3 %", "fee"},
		{"fee in Porto", "| place fee operators"},
		{"天气", "weather"},
		{"天気", "forecast"},
		{"気予", "forecast"},
		{"天气预报", "| weather"},
		{"天気予報", "forecast"},
		{"上海天气", "| weather"},
		{"上海 天气", "weather"},
		{"上海的天气怎么样", "| weather"},
		{"雨", "forecast"},
		{"度", "weather"}, // the last of its run
		{"上", "weather"}, // the first of one
		{"人口", "tokyo"},
		{"日本", "tokyo"}, // a tag
		{"本日", ""},
		{"气象", ""},
		{"东京", ""}, // another spelling is another word
		{"東京", "tokyo"},
		{"京都", "tokyo"}, // any two that stand together
		{"iphone", "phone"},
		{"手机", "phone"},
		{"iPhone手机", "phone"},
		{"03", "phone"}, // wide digits are digits
		{"１２３４", "phone"},
		{"cafe", "cafe"},
		{"CAFÉ", "cafe"},
		{"Cafe\u0301", "cafe"},
		{"offnet", "cafe"},
		{"lodz", ""}, // Ł isn't an L with an accent
		{"łodz", "cafe"},
		{"sao paulo", "cafe"},
		{"プログラム", "kana"},   // half-width kana are kana
		{"フログラム", "| kana"}, // and a voiced one is another letter
		{"サーバー", "kana"},
		{"時々", "kana"},
		{"人々", "kana"},
		{"서울", "korean"},
		{"부산", "korean"},
		{"개", ""},
		{"เปิด", "thai"},
		{"NEAR", "operators"},
		{"AND", "operators"},
		{"NOT", "operators"},
		{`"quoted"`, "operators"},
		{`"`, ""},
		{`""`, ""},
		{"*", ""},
		{"a*", "operators"},
		{"bas*", ""}, // no prefixes of words: a star is no operator
		{"text:porto", "| place"},
		{"b:c", "operators"},
		{"NEAR(use case, 2)", "| operators"},
		{"^y", "operators"},
		{"-porto", "place"},
		{"porto) OR (fee", "| place fee operators"},
		{"{text} : x", "| operators"},
		{"' ; DROP TABLE facts; --", ""},
		{"", ""},
		{" \t\n", ""},
		{"😀 ?!…", ""},
		{"\x00", ""},
		{"porto\x00fee", "| place fee"},
		{"\xff\xfe", ""},
		{strings.Repeat("porto ", 10_000), "place"},
		{"天气" + strings.Repeat("好", 10_000), "| weather"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%.40s", test.query), func(t *testing.T) {
			found, err := s.Search(t.Context(), test.query, 5)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			whole := true
			for _, m := range found {
				if whole && !m.Whole {
					whole = false
					got = append(got, "|")
				}
				got = append(got, m.ID)
				if m.Whole != whole {
					t.Errorf("%s has the whole query, after one that has a part", m.ID)
				}
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%q finds %q, want %q", test.query, got, test.want)
			}
		})
	}
}

func TestRankIsBoundedAndRepeatable(t *testing.T) {
	path := newPath(t)
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, `{"id":"%02d","text":"common word%s"}`+"\n", i, strings.Repeat(" filler", i%3*10))
	}
	lines.WriteString(`{"id":"best","text":"common rare"}` + "\n" + `{"id":"some","text":"rare"}`)
	load(t, path, lines.String())
	s := open(t, path)
	ids := func(query string, limit int) (got []string) {
		found, err := s.Search(t.Context(), query, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			got = append(got, m.ID)
		}
		return got
	}
	// Short texts before long ones, and equal ones in the order of their import.
	want := []string{"00", "03", "06", "09", "12"}
	if diff := cmp.Diff(want, ids("common", 5)); diff != "" {
		t.Error(diff)
	}
	// All of the query before a part of it; among parts, the rare word before the common one.
	if diff := cmp.Diff([]string{"best", "some", "00"}, ids("rare common", 3)); diff != "" {
		t.Error(diff)
	}
	if n := len(ids("common", facts.MaxMatches)); n != facts.MaxMatches {
		t.Errorf("got %d, want %d", n, facts.MaxMatches)
	}
	// The same facts in another store, and imported once more: the same answer.
	again := newPath(t)
	load(t, again, lines.String())
	load(t, again, lines.String())
	first := ids("rare common filler", 20)
	s = open(t, again)
	if diff := cmp.Diff(first, ids("rare common filler", 20)); diff != "" {
		t.Error(diff)
	}
	for _, limit := range []int{0, -1, facts.MaxMatches + 1} {
		if _, err := s.Search(t.Context(), "common", limit); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("limit %d: got %v", limit, err)
		}
	}
	for _, page := range [][2]int{{-1, 1}, {0, 0}} {
		if _, err := s.List(t.Context(), page[0], page[1]); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("page %v: got %v", page, err)
		}
	}
	page, err := s.List(t.Context(), 60, 5)
	if err != nil || len(page) != 2 || page[0].ID != "best" {
		t.Errorf("got %v (%v)", page, err)
	}
}

// The largest facts together still fit into a tool's result of 64 KB.
func TestResultsFitIntoAToolResult(t *testing.T) {
	path := newPath(t)
	var lines strings.Builder
	for i := range facts.MaxMatches {
		text := fmt.Sprintf("needle %d ", i)
		text += strings.Repeat("x", facts.MaxText-len(text))
		line, err := json.Marshal(map[string]any{"text": text, "source": strings.Repeat("s", facts.MaxSource)})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	load(t, path, lines.String())
	found, err := open(t, path).Search(t.Context(), "needle", facts.MaxMatches)
	if err != nil || len(found) == 0 {
		t.Fatalf("got %d matches (%v)", len(found), err)
	}
	result, err := json.Marshal(map[string]any{"matches": found})
	if err != nil || len(result) > 64<<10 {
		t.Errorf("a result of %d bytes (%v)", len(result), err)
	}
}

// Whatever part of a run of Chinese, Japanese or Korean characters is looked for, the fact that has it is found whole.
func TestAnyPartOfARunIsFound(t *testing.T) {
	path := newPath(t)
	texts := []string{"上海今天的天气很好", "明日の天気予報は雨です", "データベースサーバー", "서울에서", "東京都の人口"}
	for i, text := range texts {
		load(t, path, fmt.Sprintf(`{"id":"%d","text":"x %s, 7"}`, i, text))
	}
	s := open(t, path)
	rapid.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(texts)-1).Draw(rt, "text")
		runes := []rune(texts[i])
		from := rapid.IntRange(0, len(runes)-1).Draw(rt, "from")
		query := string(runes[from:rapid.IntRange(from+1, len(runes)).Draw(rt, "to")])
		found, err := s.Search(t.Context(), query, len(texts))
		if err != nil {
			rt.Fatal(err)
		}
		for _, m := range found {
			if m.ID == fmt.Sprint(i) {
				if !m.Whole {
					rt.Fatalf("%q was found in parts", query)
				}
				return
			}
		}
		rt.Fatalf("%q finds %v", query, found)
	})
}

// FuzzSearch: no query is an error, and what has the whole query has its words.
func FuzzSearch(f *testing.F) {
	path := newPath(f)
	load(f, path, shopFacts)
	s := open(f, path)
	for _, seed := range []string{"天气", `"a" OR b*`, "NEAR(a b)", "-x : {y}", "\x00\xff", "e\u0301", "\u0301", "ﷺ", "İ", "ǆ", "각", "๎", "१२", "Ⅷ²"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		found, err := s.Search(t.Context(), query, facts.MaxMatches)
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		for _, m := range found {
			if !utf8.ValidString(m.Text) || m.ID == "" {
				t.Fatalf("%q finds %+v", query, m)
			}
		}
	})
}
