package learn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"edge/learn"
	"edge/tools"
)

// home is a set of tools of the kinds that requests are copied into.
func home(t testing.TB) *tools.ActiveSet {
	t.Helper()
	object := func(required string, properties ...string) string {
		return `{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + strings.Join(properties, ",") + `}}`
	}
	return freeze(t,
		tool("calculate_fee", "Fee.", feeParameters),
		tool("order_status", "Order.", orderParameters),
		tool("translate", "Translate.", object(`"text","language"`, `"text":{"type":"string"}`, `"language":{"type":"string"}`)),
		tool("add_days", "Add days.", object(`"days"`, `"days":{"type":"integer"}`)),
		tool("transfer", "Transfer.", object(`"amount","from_account","to_account"`, `"amount":{"type":"number"}`, `"from_account":{"type":"string"}`, `"to_account":{"type":"string"}`)),
		tool("light", "Light.", object(`"state"`, `"state":{"type":"string","enum":["on","off","warm white","暖光"]}`, `"level":{"enum":[1,2,null],"type":["integer","null"]}`)),
		tool("weather", "Weather.", object(`"city"`, `"city":{"type":"string"}`)),
		tool("subscribe", "Subscribe.", object(`"plan"`, `"plan":{"type":"string"}`, `"trial_period":{"type":"integer"}`, `"gift":{"type":"boolean"}`)),
	)
}

func homeExamples() []learn.Example {
	return append(shopExamples(),
		example("Translate \"good morning\" into French", "translate", `{"text":"good morning","language":"French"}`),
		example("Translate \"thank you\" into German", "translate", `{"text":"thank you","language":"German"}`),
		example("Please translate \"where is the station\" into Spanish", "translate", `{"text":"where is the station","language":"Spanish"}`),
		example("Which date is in 10 days?", "add_days", `{"days":10}`),
		example("Add 3 days", "add_days", `{"days":3}`),
		example("Send 50 from savings to checking", "transfer", `{"amount":50,"from_account":"savings","to_account":"checking"}`),
		example("Move 1,200 from checking to holiday fund", "transfer", `{"amount":1200,"from_account":"checking","to_account":"holiday fund"}`),
		example("Transfer 8.50 from savings to rent", "transfer", `{"amount":8.5,"from_account":"savings","to_account":"rent"}`),
		example("Turn the light on", "light", `{"state":"on"}`),
		example("北京的天气怎么样？", "weather", `{"city":"北京"}`),
		example("广州的天气怎么样？", "weather", `{"city":"广州"}`),
		example("深圳的天气怎么样？", "weather", `{"city":"深圳"}`),
		example("Subscribe me to gold", "subscribe", `{"plan":"gold"}`),
		example("Subscribe me to silver", "subscribe", `{"plan":"silver"}`),
	)
}

// grounded writes what Ground says: "x" for a sure value, "x|y" for a choice, "-" for left out, "?" for what the model
// writes itself, with a leading "~" where the model decides whether to.
func grounded(a *learn.Arguments, toolName, request string) map[string]string {
	out := map[string]string{}
	for _, g := range a.Ground(toolName, request) {
		var values []string
		for _, v := range g.Values {
			values = append(values, string(v))
		}
		text := strings.Join(values, "|")
		switch {
		case !g.Include:
			text = "-"
		case text == "":
			text = "?"
		}
		if g.Include && g.Optional {
			text = "~" + text
		}
		out[g.Parameter] = text
	}
	return out
}

func TestGround(t *testing.T) {
	a := learn.LearnArguments(home(t), homeExamples())
	fee := func(amount, tier string) map[string]string {
		return map[string]string{"amount": amount, "tier": tier, "note": "-"}
	}
	const either = `"on"|"off"|"warm white"|"暖光"`
	for _, c := range []struct {
		tool, request string
		want          map[string]string
	}{
		// numbers
		{"calculate_fee", "What is the fee for 400?", fee("400", "-")},
		{"calculate_fee", "fee for 1,234,567.25 please", fee("1234567.25", "-")},
		{"calculate_fee", "What is the fee for $80?", fee("80", "-")},
		{"calculate_fee", "What is the fee for 80€?", fee("80", "-")},
		{"calculate_fee", "What is the fee for 2.5k?", fee("2500", "-")},
		{"calculate_fee", "What is the fee for 2.01k?", fee("2010", "-")},
		{"calculate_fee", "What is the fee for 3m?", fee("3000000", "-")},
		{"calculate_fee", "What is the fee for -12.5?", fee("-12.5", "-")},
		{"calculate_fee", "What is the fee for .5?", fee("?", "-")},
		{"calculate_fee", "What is the fee for 8.854e-12?", fee("8.854e-12", "-")},
		{"calculate_fee", "What is the fee for 2.5E+3?", fee("2500", "-")},
		{"calculate_fee", "What is the fee for 1e-?", fee("?", "-")},
		{"calculate_fee", "Fee of twelve", fee("12", "-")},
		{"calculate_fee", "Fee of 1'000", fee("1000", "-")},
		{"calculate_fee", "Fee of 0.10", fee("0.1", "-")},
		{"calculate_fee", "Fee of 12,34", fee("?", "-")},
		{"calculate_fee", "Fee of 1.2.3", fee("?", "-")},
		{"calculate_fee", "Fee of 9007199254740993", fee("?", "-")},
		{"calculate_fee", "Fee of 1e400", fee("?", "-")},
		{"calculate_fee", "What is the fee?", fee("?", "-")},
		// enums
		{"calculate_fee", "Quote the fee for amount 90, tier pro", fee("90", `"pro"`)},
		{"calculate_fee", "Quote the PRO fee for 90", fee("90", `"pro"`)},
		{"calculate_fee", "The professional fee for 90", fee("90", "-")},
		{"calculate_fee", "Is basic or pro better for 90?", fee("90", `"basic"|"pro"`)},
		{"light", "Switch it off", map[string]string{"state": `"off"`, "level": "-"}},
		{"light", "Make it warm white, level 2", map[string]string{"state": `"warm white"`, "level": "2"}},
		{"light", "Do something", map[string]string{"state": either, "level": "-"}},
		{"light", "把灯调成暖光", map[string]string{"state": `"暖光"`, "level": "-"}},
		// spans
		{"order_status", "Where is order B-204?", map[string]string{"order_id": `"B-204"`}},
		{"order_status", "Status of order 007", map[string]string{"order_id": `"007"`}},
		{"translate", "Translate \"see you soon\" into Dutch", map[string]string{"text": `"see you soon"`, "language": `"Dutch"`}},
		{"translate", "Translate “I am hungry” into Polish", map[string]string{"text": `"I am hungry"`, "language": `"Polish"`}},
		{"transfer", "Send 75 from rent to savings", map[string]string{"amount": "75", "from_account": `"rent"`, "to_account": `"savings"`}},
		{"transfer", "Move 20 from savings to holiday fund", map[string]string{"amount": "20", "from_account": `"savings"`, "to_account": `"holiday fund"`}},
		{"weather", "上海的天气怎么样？", map[string]string{"city": `"上海"`}},
		{"weather", "你好，上海的天气怎么样？", map[string]string{"city": `"上海"`}},
		// whole numbers get no decimals
		{"add_days", "Add 4 days", map[string]string{"days": "4"}},
		{"add_days", "Add 2.5 days", map[string]string{"days": "?"}},
		{"add_days", "Add 3.0 days", map[string]string{"days": "3"}},
		// what no example ever gives
		{"subscribe", "Subscribe me to bronze", map[string]string{"plan": `"bronze"`, "trial_period": "-", "gift": "-"}},
		{"subscribe", "With a trial period, subscribe me to bronze", map[string]string{"plan": `"bronze"`, "trial_period": "-", "gift": "-"}},
		{"subscribe", "With 30 days of trial period, subscribe me to bronze", map[string]string{"plan": `"bronze"`, "trial_period": "30", "gift": "-"}},
		{"subscribe", "With a trial period of 30 days, subscribe me to bronze", map[string]string{"plan": `"bronze"`, "trial_period": "30", "gift": "-"}},
		{"subscribe", "As a Gift, subscribe me to bronze", map[string]string{"plan": `"bronze"`, "trial_period": "-", "gift": "true"}},
		{"subscribe", "Not as a gift, subscribe me to bronze", map[string]string{"plan": `"bronze"`, "trial_period": "-", "gift": "false"}},
	} {
		t.Run(c.request, func(t *testing.T) {
			if diff := cmp.Diff(c.want, grounded(a, c.tool, c.request)); diff != "" {
				t.Errorf("%s: want (-), got (+):\n%s", c.tool, diff)
			}
		})
	}
}

// TestGroundFollowsTheExamples: the same requests, learned otherwise.
func TestGroundFollowsTheExamples(t *testing.T) {
	set := shop(t)
	for name, c := range map[string]struct {
		examples []learn.Example
		request  string
		want     map[string]string
	}{
		"no example: what looks like a value": {nil, "Where is order B-2?", map[string]string{"order_id": `"B-2"`}},
		"a value that isn't in its request: the model writes": {
			[]learn.Example{example("Where is it?", "order_status", `{"order_id":"A-1"}`)}, "Where is order B-2?", map[string]string{"order_id": "?"}},
		"the rest of the request": {
			[]learn.Example{
				example("order: big red box", "order_status", `{"order_id":"big red box"}`),
				example("order: small chair", "order_status", `{"order_id":"small chair"}`),
			}, "order: round oak table", map[string]string{"order_id": `"round oak table"`}},
		"without its colon": {
			[]learn.Example{example("查询订单：A-17", "order_status", `{"order_id":"A-17"}`), example("查询订单：B-2", "order_status", `{"order_id":"B-2"}`)},
			"查询订单：C-99，谢谢", map[string]string{"order_id": `"C-99"`}},
	} {
		t.Run(name, func(t *testing.T) {
			a := learn.LearnArguments(set, c.examples)
			if diff := cmp.Diff(c.want, grounded(a, "order_status", c.request)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
	if got := learn.LearnArguments(set, shopExamples()).Ground("nothing", "x"); got != nil {
		t.Errorf("an unknown tool: %v", got)
	}
}

// TestOptionalTextWithoutAReason: an optional text is copied where a request has one, and left out where none has.
func TestOptionalTextWithoutAReason(t *testing.T) {
	a := learn.LearnArguments(shop(t), []learn.Example{
		example("Fee for 10 with note: rent", "calculate_fee", `{"amount":10,"note":"rent"}`),
		example("Fee for 25 with note: car", "calculate_fee", `{"amount":25,"note":"car"}`),
		example("Fee for 31", "calculate_fee", `{"amount":31}`),
		example("What is the fee for 44?", "calculate_fee", `{"amount":44}`),
		example("What would be the fee for 12?", "calculate_fee", `{"amount":12}`),
		example("What is the fee for 8?", "calculate_fee", `{"amount":8}`),
	})
	for request, want := range map[string]map[string]string{
		"Fee for 60 with note: food": {"amount": "60", "note": `"food"`, "tier": "-"},
		"Fee for 60":                 {"amount": "60", "note": "-", "tier": "-"},
		"What is the fee for 60?":    {"amount": "60", "note": "-", "tier": "-"},
	} {
		if diff := cmp.Diff(want, grounded(a, "calculate_fee", request)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", request, diff)
		}
	}
}

func TestLearningArgumentsIsAFunctionOfTheExamples(t *testing.T) {
	set := home(t)
	requests := []string{"Send 75 from rent to savings", "Translate \"a b c\" into X", "", "one two three four five"}
	first := ""
	for range 20 {
		a := learn.LearnArguments(set, homeExamples())
		text := ""
		for _, name := range set.Names() {
			for _, r := range requests {
				text += fmt.Sprintln(a.Ground(name, r))
			}
		}
		if first == "" {
			first = text
		}
		if text != first {
			t.Fatalf("got\n%s\nwant\n%s", text, first)
		}
	}
}

// checkGround holds for every request: what may stand in a call is valid there, copied values are in the request, and
// no two parameters share a word of it.
func checkGround(t *testing.T, set *tools.ActiveSet, a *learn.Arguments, toolName, request string) {
	t.Helper()
	info, _ := set.Lookup(toolName)
	var schema struct {
		Properties map[string]struct {
			Type json.RawMessage
			Enum []json.RawMessage
		}
	}
	if err := json.Unmarshal(info.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	policies := map[string]tools.ParamPolicy{}
	var copied []string
	for _, g := range a.Ground(toolName, request) {
		property := schema.Properties[g.Parameter]
		p := tools.ParamPolicy{Include: tools.IncludeRequired}
		if !g.Include {
			p.Include = tools.IncludeAbsent
		}
		for _, v := range g.Values {
			p.Candidates = append(p.Candidates, string(v))
			var text string
			if len(property.Enum) == 0 && strings.Contains(string(property.Type), `"string"`) {
				if err := json.Unmarshal(v, &text); err != nil {
					t.Errorf("%s: %s isn't a string", g.Parameter, v)
				}
				if !strings.Contains(request, text) {
					t.Errorf("%s: %q isn't in %q", g.Parameter, text, request)
				}
				copied = append(copied, text)
			}
			if strings.Contains(string(property.Type), `"integer"`) && strings.ContainsAny(string(v), ".eE") {
				t.Errorf("%s: %s isn't whole", g.Parameter, v)
			}
		}
		policies[g.Parameter] = p
	}
	if !apart(request, copied) {
		t.Errorf("%q: the values %q share words", request, copied)
	}
	o := tools.GrammarOptions{AllowCall: true, Tools: []string{toolName}, Ground: &tools.Grounding{Request: request, Params: map[string]map[string]tools.ParamPolicy{toolName: policies}}}
	if _, err := set.Grammar(o); err != nil {
		t.Errorf("%q: no grammar: %v", request, err)
	}
}

// apart reports whether texts can be found in request without sharing any of it.
func apart(request string, texts []string) bool {
	if len(texts) == 0 {
		return true
	}
	for from := 0; ; {
		i := strings.Index(request[from:], texts[0])
		if i < 0 {
			return false
		}
		at := from + i
		if apart(request[:at]+strings.Repeat("\x00", len(texts[0]))+request[at+len(texts[0]):], texts[1:]) {
			return true
		}
		from = at + 1
	}
}

// FuzzGround: requests are anything that a user can type.
func FuzzGround(f *testing.F) {
	for _, seed := range []string{
		"", " ", "?!", "\"", "“”", "one", "Send 75 from rent to savings", "Send 1 from a to a", "from to from to 1 2 3", "Translate \"a\" \"b\" into \"c\" into \"d\"",
		"1,2,3 1..2 -- - −5 $€ 1k 1.m k m 0x10 1e9 ٣ ２５０ ½ 9999999999999999999999 0.0000000000000000001", "上海的天气，怎么样？「上海」", "\u0301\u200d😀👩‍👩‍👧", "a\x00b\xffc",
		"order\n\tA-17\r\norder", strings.Repeat("word ", 200), strings.Repeat("x", 3000), "«one» ‘two’ (three) [four] {five} <six> `seven`", "-0 +5 #17 50% 20°C 12:30 2026-11-30 3/4",
	} {
		f.Add(seed)
	}
	set := home(f)
	a := learn.LearnArguments(set, homeExamples())
	untaught := learn.LearnArguments(set, nil)
	f.Fuzz(func(t *testing.T, request string) {
		if !utf8.ValidString(request) {
			a.Ground("transfer", request) // it mustn't panic; package chat refuses such requests
			return
		}
		for _, name := range set.Names() {
			checkGround(t, set, a, name, request)
			checkGround(t, set, untaught, name, request)
		}
	})
}

// TestOddExamplesAreLearnedFrom: examples are anything that a user can write into a file.
func TestOddExamplesAreLearnedFrom(t *testing.T) {
	set := home(t)
	for _, prompt := range []string{"?", "\"\"", "😀", "from", strings.Repeat("from to ", 100), "\u200d", "1 1 1"} {
		a := learn.LearnArguments(set, []learn.Example{
			example(prompt, "transfer", `{"amount":1,"from_account":"from","to_account":"from"}`),
			example(prompt, "translate", `{"text":"","language":"?"}`),
			example(prompt, "add_days", `{"days":1}`),
		})
		for _, name := range set.Names() {
			checkGround(t, set, a, name, "Send 1 from a to b")
			checkGround(t, set, a, name, prompt)
		}
	}
}

// An agent that passes requests on passes on all of them, and of each all.
func TestAWholeRequestIsPassedOn(t *testing.T) {
	set := freeze(t, tool("ask_kitchen", "Ask about food.", `{"type":"object","additionalProperties":false,"required":["input"],"properties":{"input":{"type":"string"}}}`))
	ask := func(prompt, input string) learn.Example {
		raw, err := json.Marshal(map[string]string{"input": input})
		if err != nil {
			t.Fatal(err)
		}
		return example(prompt, "ask_kitchen", string(raw))
	}
	passing := []learn.Example{ask("Do we have eggs?", "Do we have eggs?"), ask("Say \"tea\", please!", "Say \"tea\", please!")}
	const request = "Is there \"real\" butter, and milk?"
	want := map[string]string{"input": `"Is there \"real\" butter, and milk?"`}
	if got := grounded(learn.LearnArguments(set, passing), "ask_kitchen", request); !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Where one example says it in other words, the model does, too.
	reworded := append(passing, ask("Eggs?", "Do we have eggs?"))
	if got := grounded(learn.LearnArguments(set, reworded), "ask_kitchen", request); got["input"] != "?" {
		t.Errorf("got %v, want the model to write it", got)
	}
}
