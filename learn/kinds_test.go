package learn_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"edge/learn"
	"edge/tools"
)

// desk has a parameter of every kind that a request's words are read into.
func desk(t testing.TB) *tools.ActiveSet {
	t.Helper()
	object := func(required string, properties ...string) string {
		return `{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + strings.Join(properties, ",") + `}}`
	}
	return freeze(t,
		tool("book", "Book.", object(`"title","date","time"`, `"title":{"type":"string"}`, `"date":{"type":"string"}`, `"time":{"type":"string"}`, `"minutes":{"type":"integer"}`)),
		tool("invite", "Invite.", object(`"people"`, `"people":{"type":"array","items":{"type":"string"}}`, `"optional":{"type":"boolean"}`)),
		tool("compare", "Compare.", object(`"skus"`, `"skus":{"type":"array","items":{"type":"string"}}`)),
		tool("cancel", "Cancel.", object(`"event"`, `"event":{"type":"string"}`, `"notify":{"type":"boolean"}`)),
		tool("switch", "Switch.", object(`"flag","enabled"`, `"flag":{"type":"string"}`, `"enabled":{"type":"boolean"}`)),
		tool("ticket", "Ticket.", object(`"title"`, `"title":{"type":"string"}`, `"priority":{"type":"string","enum":["low","high"]}`)),
		tool("restart", "Restart.", object(`"service","environment"`, `"service":{"type":"string"}`, `"environment":{"type":"string","enum":["test","production"]}`)),
		tool("scale", "Scale.", object(`"service","replicas"`, `"service":{"type":"string"}`, `"replicas":{"type":"integer"}`)),
	)
}

func deskExamples() []learn.Example {
	return []learn.Example{
		example("Book Budget review on 2026-04-10 at 10:00", "book", `{"title":"Budget review","date":"2026-04-10","time":"10:00"}`),
		example("Book Yoga class on 12 May 2026 at 6 pm for 45 minutes", "book", `{"title":"Yoga class","date":"2026-05-12","time":"18:00","minutes":45}`),
		example("Please book 'Dentist' on March 9, 2026 at 4:30pm for 20 minutes", "book", `{"title":"Dentist","date":"2026-03-09","time":"16:30","minutes":20}`),
		example("Invite ana@x.org and rui@x.org", "invite", `{"people":["ana@x.org","rui@x.org"]}`),
		example("Invite joe@x.org", "invite", `{"people":["joe@x.org"]}`),
		example("Invite kim@x.org, lee@x.org and max@x.org as optional guests", "invite", `{"people":["kim@x.org","lee@x.org","max@x.org"],"optional":true}`),
		example("Please invite eva@x.org", "invite", `{"people":["eva@x.org"]}`),
		example("Compare red wine and white wine", "compare", `{"skus":["red wine","white wine"]}`),
		example("Compare tea versus coffee", "compare", `{"skus":["tea","coffee"]}`),
		example("Cancel EV-1", "cancel", `{"event":"EV-1"}`),
		example("Cancel EV-2 and don't notify the guests", "cancel", `{"event":"EV-2","notify":false}`),
		example("Cancel EV-3 please", "cancel", `{"event":"EV-3"}`),
		example("Cancel EV-4 without notifying anybody", "cancel", `{"event":"EV-4","notify":false}`),
		example("Turn beta on", "switch", `{"flag":"beta","enabled":true}`),
		example("Turn gamma off", "switch", `{"flag":"gamma","enabled":false}`),
		example("Switch delta on", "switch", `{"flag":"delta","enabled":true}`),
		example("Switch theta off", "switch", `{"flag":"theta","enabled":false}`),
		example("Ticket: Login is slow", "ticket", `{"title":"Login is slow"}`),
		example("High priority ticket: Payments fail", "ticket", `{"title":"Payments fail","priority":"high"}`),
		example("Urgent ticket: Out of disk", "ticket", `{"title":"Out of disk","priority":"high"}`),
		example("Ticket: Update the docs", "ticket", `{"title":"Update the docs"}`),
		example("Restart mailer in test", "restart", `{"service":"mailer","environment":"test"}`),
		example("Restart gateway on prod", "restart", `{"service":"gateway","environment":"production"}`),
		example("Restart billing in production", "restart", `{"service":"billing","environment":"production"}`),
		example("Scale billing to 6 copies", "scale", `{"service":"billing","replicas":6}`),
		example("Thanks", "", "You're welcome."),
	}
}

// TestKindsOfValues: what is read out of a request's words, kind by kind.
func TestKindsOfValues(t *testing.T) {
	a := learn.LearnArguments(desk(t), deskExamples())
	for _, c := range []struct {
		tool, request string
		want          map[string]string
	}{
		// dates and times in the form that every example gives
		{"book", "Book Team photo on 3 June 2027 at 9 am", map[string]string{"title": `"Team photo"`, "date": `"2027-06-03"`, "time": `"09:00"`, "minutes": "-"}},
		{"book", "Book Team photo on the 21st of August 2026 at 8:05 for 15 minutes", map[string]string{"title": `"Team photo"`, "date": `"2026-08-21"`, "time": `"08:05"`, "minutes": "15"}},
		{"book", "Book Lunch on 2026-01-31 at noon", map[string]string{"title": `"Lunch"`, "date": `"2026-01-31"`, "time": `"12:00"`, "minutes": "-"}},
		// a quotation is whole, and an apostrophe isn't a mark
		{"book", "Book 'Night shift' on 2026-02-01 at 22:15", map[string]string{"title": `"Night shift"`, "date": `"2026-02-01"`, "time": `"22:15"`, "minutes": "-"}},
		{"book", "Book Parents' evening on 2026-02-01 at 19:00", map[string]string{"title": `"Parents' evening"`, "date": `"2026-02-01"`, "time": `"19:00"`, "minutes": "-"}},
		// lists
		{"invite", "Invite bob@y.com and eve@y.com", map[string]string{"people": `["bob@y.com","eve@y.com"]`, "optional": "-"}},
		{"invite", "Please invite bob@y.com", map[string]string{"people": `["bob@y.com"]`, "optional": "-"}},
		{"compare", "Compare green tea versus black tea", map[string]string{"skus": `["green tea","black tea"]`}},
		{"compare", "Compare K-1 next to K-2", map[string]string{"skus": `["K-1","K-2"]`}},
		// booleans: by the parameter's name, and by its negation
		{"invite", "Invite bob@y.com, optional", map[string]string{"people": `["bob@y.com"]`, "optional": "true"}},
		{"cancel", "Cancel EV-9", map[string]string{"event": `"EV-9"`, "notify": "-"}},
		{"cancel", "Cancel EV-9 and do not notify them", map[string]string{"event": `"EV-9"`, "notify": "false"}},
		{"cancel", "Cancel EV-9 and notify the guests", map[string]string{"event": `"EV-9"`, "notify": "true"}},
		{"cancel", "Not now, notify the guests: cancel EV-9", map[string]string{"event": `"EV-9"`, "notify": "true"}},
		// and by words that the examples have
		{"switch", "Turn quick off", map[string]string{"flag": `"quick"`, "enabled": "false"}},
		{"switch", "quick", map[string]string{"flag": `"quick"`, "enabled": "true|false"}},
		// an enum's values by themselves, by their synonyms, and not by a word of a copied text
		{"ticket", "High priority ticket: Search fails", map[string]string{"title": `"Search fails"`, "priority": `"high"`}},
		{"ticket", "Urgent ticket: Search fails", map[string]string{"title": `"Search fails"`, "priority": "-"}}, // one example isn't enough to give what may be left out
		{"ticket", "Ticket: Low battery", map[string]string{"title": `"Low battery"`, "priority": "-"}},
		{"restart", "Restart cache on prod", map[string]string{"service": `"cache"`, "environment": `"production"`}},
		// a parameter of another tool that is called the same
		{"scale", "Scale mailer up to ten copies", map[string]string{"service": `"mailer"`, "replicas": "10"}},
	} {
		t.Run(c.request, func(t *testing.T) {
			if diff := cmp.Diff(c.want, grounded(a, c.tool, c.request)); diff != "" {
				t.Errorf("%s: want (-), got (+):\n%s", c.tool, diff)
			}
		})
	}
}

// TestANameOfSeveralWordsIsOneThing, also where every example has a name of one word.
func TestANameOfSeveralWordsIsOneThing(t *testing.T) {
	var examples []learn.Example
	for _, r := range [][2]string{{"What's the weather like in Tokyo?", "Tokyo"}, {"Is it going to rain in Lima?", "Lima"}, {"Give me the forecast for Oslo", "Oslo"}, {"temperature in Boston", "Boston"}} {
		examples = append(examples, example(r[0], "order_status", `{"order_id":"`+r[1]+`"}`))
	}
	a := learn.LearnArguments(shop(t), examples)
	for request, want := range map[string]string{
		"What's the weather in New York?": `"New York"`, "forecast for Rio Grande Sul please": `"Rio Grande Sul"`, "Oslo": `"Oslo"`, "Rain in Lima, Peru?": `"Lima"`,
	} {
		if got := grounded(a, "order_status", request)["order_id"]; got != want {
			t.Errorf("%q: got %s, want %s", request, got, want)
		}
	}
}

// TestWhatNoExampleLooksLike: texts of another length than any example's, a file's name with one sign more, and a name
// with a word in it that is also the parameter's.
func TestWhatNoExampleLooksLike(t *testing.T) {
	one := func(name string) string {
		return `{"type":"object","additionalProperties":false,"required":["` + name + `"],"properties":{"` + name + `":{"type":"string"}}}`
	}
	set := freeze(t, tool("read", "Read a file.", one("name")), tool("weather", "Weather.", one("city")),
		tool("mail", "Send an email.", `{"type":"object","additionalProperties":false,"required":["to","body"],"properties":{"to":{"type":"string"},"body":{"type":"string"}}}`))
	var examples []learn.Example
	for _, x := range [][3]string{
		{"read", "Open the file report.txt", `{"name":"report.txt"}`}, {"read", "Read notes.csv", `{"name":"notes.csv"}`}, {"read", "Show me what is in todo.md", `{"name":"todo.md"}`},
		{"weather", "Is it going to rain in Lima?", `{"city":"Lima"}`}, {"weather", "forecast for Oslo", `{"city":"Oslo"}`}, {"weather", "How hot is it in Cairo right now?", `{"city":"Cairo"}`},
		{"mail", "Email Bob: I am late", `{"to":"Bob","body":"I am late"}`}, {"mail", "Write to Carol: the meeting is at 5", `{"to":"Carol","body":"the meeting is at 5"}`},
		{"mail", "Mail Dan: thanks for lunch", `{"to":"Dan","body":"thanks for lunch"}`}, {"mail", "send an email to lee@y.com: see you", `{"to":"lee@y.com","body":"see you"}`},
	} {
		examples = append(examples, example(x[1], x[0], x[2]))
	}
	a := learn.LearnArguments(set, examples)
	for request, c := range map[string][3]string{
		"Open holiday-plan.txt please":             {"read", "name", "holiday-plan.txt"},
		"Is it going to rain in Mexico City?":      {"weather", "city", "Mexico City"},
		"Send an email to Kim: I am late again":    {"mail", "body", "I am late again"},
		"Email Ray: thanks for lunch yesterday":    {"mail", "body", "thanks for lunch yesterday"},
		"Mail Ann: take the bins out":              {"mail", "body", "take the bins out"},
		"Mail Dan: bring milk, eggs and bread":     {"mail", "body", "bring milk, eggs and bread"},
		"send an email to amy@b.co: see you later": {"mail", "body", "see you later"},
	} {
		if got := grounded(a, c[0], request)[c[1]]; got != `"`+c[2]+`"` {
			t.Errorf("%q: got %s, want %q", request, got, c[2])
		}
	}
}

// TestAQuotationIsAValue, though no example has one.
func TestAQuotationIsAValue(t *testing.T) {
	set := freeze(t, tool("create", "Create.", `{"type":"object","additionalProperties":false,"required":["title","date"],"properties":{"title":{"type":"string"},"date":{"type":"string"}}}`))
	a := learn.LearnArguments(set, []learn.Example{
		example("Book a meeting called Budget review on 2026-04-10", "create", `{"title":"Budget review","date":"2026-04-10"}`),
		example("Schedule Lunch with Marta on 12 May 2026", "create", `{"title":"Lunch with Marta","date":"2026-05-12"}`),
		example("new event: Sprint planning, 2026-07-01", "create", `{"title":"Sprint planning","date":"2026-07-01"}`),
		example("Add Yoga class to the calendar on 2026-08-20", "create", `{"title":"Yoga class","date":"2026-08-20"}`),
	})
	want := map[string]string{"title": `"Dentist"`, "date": `"2026-02-03"`}
	if diff := cmp.Diff(want, grounded(a, "create", "Put 'Dentist' in my calendar for 2026-02-03")); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// TestAParametersNameIsNoValue: "the mailer service" is about the service mailer.
func TestAParametersNameIsNoValue(t *testing.T) {
	a := learn.LearnArguments(desk(t), deskExamples())
	want := map[string]string{"service": `"cache"`, "environment": `"test"`}
	if diff := cmp.Diff(want, grounded(a, "restart", "Restart the cache service in test")); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestListsOfNumbers(t *testing.T) {
	for items, c := range map[string][2]string{"number": {"Add 4, 5, 6 and 7.25", "[4,5,6,7.25]"}, "integer": {"Add 4, 5 and 6", "[4,5,6]"}} {
		set := freeze(t, tool("add", "Add.", `{"type":"object","additionalProperties":false,"required":["numbers"],"properties":{"numbers":{"type":"array","items":{"type":"`+items+`"}}}}`))
		a := learn.LearnArguments(set, []learn.Example{example("Add 1, 2 and 3", "add", `{"numbers":[1,2,3]}`), example("Add 10 and 50", "add", `{"numbers":[10,50]}`)})
		if got := grounded(a, "add", c[0])["numbers"]; got != c[1] {
			t.Errorf("%s: got %s, want %s", items, got, c[1])
		}
	}
}

// TestMoments: dates and times are read however they are written, and not where they could be two.
func TestMoments(t *testing.T) {
	set := freeze(t, tool("at", "At.", `{"type":"object","additionalProperties":false,"required":["date","time"],"properties":{"date":{"type":"string"},"time":{"type":"string"}}}`))
	a := learn.LearnArguments(set, []learn.Example{
		example("on 2026-04-10 at 10:00", "at", `{"date":"2026-04-10","time":"10:00"}`), example("on 2026-05-11 at 11:30", "at", `{"date":"2026-05-11","time":"11:30"}`),
	})
	for text, want := range map[string]string{
		"2026-12-03": "2026-12-03", "2026/12/3": "2026-12-03", "3.12.2026": "2026-12-03", "31/12/2026": "2026-12-31", "12/31/2026": "2026-12-31",
		"3 December 2026": "2026-12-03", "3rd of Dec 2026": "2026-12-03", "December 3, 2026": "2026-12-03", "December 3rd 2026": "2026-12-03", "3 sept 2026": "2026-09-03",
		"29 February 2028": "2028-02-29",
		"3/12/2026":        "", "2026-13-01": "", "30 February 2026": "", "29.2.2026": "", "3 December": "", "tomorrow": "", "2026-1": "", "3 May June 2026": "", "32 May 2026": "",
	} {
		if got := grounded(a, "at", "on "+text+" at 10:00")["date"]; got != orModel(want) {
			t.Errorf("%q: got %s, want %s", text, got, orModel(want))
		}
	}
	for text, want := range map[string]string{
		"9:05": "09:05", "09:05": "09:05", "23:59": "23:59", "3 pm": "15:00", "3pm": "15:00", "3:20 PM": "15:20", "12 am": "00:00", "12:30 pm": "12:30", "9 a.m.": "09:00",
		"noon": "12:00", "midnight": "00:00", "24:00": "", "9:5": "", "9": "", "13 pm": "", "0 am": "", "pm": "", "half past nine": "", "10:61": "", "1:2:3": "",
	} {
		if got := grounded(a, "at", "on 2026-04-10 at "+text)["time"]; got != orModel(want) {
			t.Errorf("%q: got %s, want %s", text, got, orModel(want))
		}
	}
	// Where one example gives another form, the text is copied.
	a = learn.LearnArguments(set, []learn.Example{
		example("on 2026-04-10 at 10:00", "at", `{"date":"2026-04-10","time":"10:00"}`), example("on Monday at 9", "at", `{"date":"Monday","time":"9"}`),
	})
	if diff := cmp.Diff(map[string]string{"date": `"Friday"`, "time": `"8"`}, grounded(a, "at", "on Friday at 8")); diff != "" {
		t.Error(diff)
	}
}

// orModel is a text's JSON, or "?" for what the model has to write.
func orModel(text string) string {
	if text == "" {
		return "?"
	}
	return `"` + text + `"`
}

// FuzzKinds: whatever a user types, what may stand in a call is valid there.
func FuzzKinds(f *testing.F) {
	for _, seed := range []string{
		"", "and", "and and and", ", , ,", "Compare a and", "Compare and b", "Invite a@b and", "Book on 2026-02-30 at 99:99", "Book 'x on 1 May 2026 at 3 pm", "12 May 2026 13 May 2027 at 6 pm pm am",
		"\"\"''``“”", "'' ''", "don't don’t not not", "K-1 K-2 K-3", "prod test production", "1e3 and 5 and -", "p.m. a.m.", "31.12.9999 1.1.0001", "0000-00-00", "Compare a、b、c", strings.Repeat("K-1 and ", 60),
	} {
		f.Add(seed)
	}
	set := desk(f)
	a := learn.LearnArguments(set, deskExamples())
	f.Fuzz(func(t *testing.T, request string) {
		for _, name := range set.Names() {
			a.Score(name, request)
			policies := map[string]tools.ParamPolicy{}
			for _, g := range a.Ground(name, request) {
				p := tools.ParamPolicy{Include: tools.IncludeAllowed}
				for _, v := range g.Values {
					p.Candidates = append(p.Candidates, string(v))
				}
				policies[g.Parameter] = p
			}
			if !utf8.ValidString(request) {
				continue // package chat refuses such requests
			}
			o := tools.GrammarOptions{AllowCall: true, Tools: []string{name}, Ground: &tools.Grounding{Request: request, Params: map[string]map[string]tools.ParamPolicy{name: policies}}}
			if _, err := set.Grammar(o); err != nil {
				t.Errorf("%s %q: %v", name, request, err)
			}
		}
	})
}
