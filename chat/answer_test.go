package chat_test

import (
	"strings"
	"testing"

	"edge/chat"
	"edge/inference/fake"
)

// TestAnswersAreHeldToTheResult: one that doesn't state the result's values, or brings in numbers of its own, is
// replaced by a plain sentence and marked so.
func TestAnswersAreHeldToTheResult(t *testing.T) {
	const model = "" // the answer stands
	for name, c := range map[string]struct {
		result, says, want string
	}{
		"states it":                      {`{"fee":0.75}`, "The fee is 0.75.", model},
		"in other words":                 {`{"status":"shipped"}`, "It was SHIPPED, 250 worth of it.", model},
		"at the end":                     {`{"fee":0.75}`, "You pay 0.75", model},
		"between marks":                  {`{"fee":0.75}`, "(0.75)", model},
		"with a currency":                {`{"fee":0.75}`, "$0.75, please", model},
		"all of several":                 {`{"a":1,"b":"two","c":true}`, "1 and two: true", model},
		"a whole sentence":               {`{"result":"Good morning, Ada."}`, "I say: good morning, Ada.", model},
		"other scripts":                  {`{"city":"東京","high":25}`, "東京: 25", model},
		"a negative number":              {`{"balance":-5}`, "It is -5 now.", model},
		"an id with a dash":              {`{"order":17}`, "Order A-17 is yours", model},
		"a summary of a long one":        {`{"a":1,"b":2,"c":3,"d":4,"e":5}`, "There are five of them.", model},
		"null has nothing to state":      {`{"note":null,"fee":1}`, "1", model},
		"nor has an empty text":          {`{"note":"","fee":1}`, "1 and nothing more", model},
		"nor have blanks":                {`{"note":"  ","fee":1}`, "1 and nothing more", model},
		"nor has an empty list":          {`{"matches":[]}`, "Nothing was found", model},
		"a number of the prompt":         {`{"fee":0.75}`, "For 250 it is 0.75.", model},
		"doesn't state it":               {`{"fee":0.75}`, "The fee was computed.", "The result of calculate fee: fee 0.75."},
		"states another":                 {`{"fee":0.75}`, "The fee is 0.57.", "The result of calculate fee: fee 0.75."},
		"a number of its own":            {`{"fee":0.75}`, "The fee is 0.75, or 33 %.", "The result of calculate fee: fee 0.75."},
		"only a part of a number":        {`{"n":3}`, "The number is 30.", "The result of calculate fee: n 3."},
		"only decimals of a number":      {`{"n":3}`, "The number is 1.3.", "The result of calculate fee: n 3."},
		"only the whole part":            {`{"n":1}`, "The number is 1.3.", "The result of calculate fee: n 1."},
		"only thousands":                 {`{"n":1}`, "The number is 1,250.", "The result of calculate fee: n 1."},
		"with the wrong sign":            {`{"balance":5}`, "The balance is -5.", "The result of calculate fee: balance 5."},
		"with a true minus":              {`{"balance":5}`, "The balance is −5.", "The result of calculate fee: balance 5."},
		"without its sign":               {`{"balance":-5}`, "The balance is 5.", "The result of calculate fee: balance -5."},
		"only a part of a word":          {`{"status":"on"}`, "It was done.", "The result of calculate fee: status on."},
		"all but one":                    {`{"a":1,"b":"two"}`, "It is 1.", "The result of calculate fee: a 1, b two."},
		"a number of its own in a long":  {`{"a":1,"b":2,"c":3,"d":4,"e":5}`, "There are 99 of them.", "The result of calculate fee: a 1, b 2, c 3, d 4, e 5."},
		"nested values":                  {`{"order":{"id":"A","lines":[1,{"n":2}]},"ok":true}`, "no", "The result of calculate fee: ok true, order id A, order lines 1, order lines n 2."},
		"a plain value":                  {`{"result":42}`, "no", "The result of calculate fee is 42."},
		"a plain list":                   {`{"result":[1,2]}`, "no", "The result of calculate fee: result 1, result 2."},
		"nothing at all, and a number":   {`{}`, "It is 7.", "The result of calculate fee is empty."},
		"a long one and a wrong sign":    {`{"a":1,"b":2}`, "-1 and 2", "The result of calculate fee: a 1, b 2."},
		"digits that look alike":         {`{"n":3}`, "It is ３.", "The result of calculate fee: n 3."},
		"names with underscores":         {`{"delivery_date":"Monday"}`, "no", "The result of calculate fee: delivery date Monday."},
		"a number told before in a word": {`{"fee":0.75}`, "It is 0.75 (A7).", "The result of calculate fee: fee 0.75."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(fake.Reply{When: "Tool result of", Say: c.says}, fake.Reply{Say: feeCall(250)})).with(shop(t))
			b.hands.functions["calculate_fee"] = gives(c.result)
			turn := b.open().ask("the fee for 250")
			want, source := c.want, chat.FromResult
			if want == model {
				want, source = c.says, chat.FromModel
			}
			if turn.Answer != want || turn.AnswerSource != source || turn.FinishReason != chat.FinishAnswer {
				t.Errorf("got %q from %s (%s), want %q from %s", turn.Answer, turn.AnswerSource, turn.FinishReason, want, source)
			}
		})
	}
}

// TestAReplacedAnswerIsWhatTheConversationHas: the model never sees its own wrong words again.
func TestAReplacedAnswerIsWhatTheConversationHas(t *testing.T) {
	heard := &said{}
	b := newBench(t, fake.Options{Script: heard.listen(fake.Replies(
		fake.Reply{When: "Tool result of", Say: "I think it is 99."}, fake.Reply{When: "fee", Say: feeCall(250)}, fake.Reply{Say: "Fine."},
	))}).with(shop(t))
	c := b.open()
	turn := c.ask("the fee for 250")
	if turn.AnswerSource != chat.FromResult {
		t.Fatalf("got %+v", turn)
	}
	next := c.ask("ok?")
	want := "the fee for 250<|im_end|>\n<|im_start|>assistant\n" + feeCall(250) + "<|im_end|>\n<|im_start|>user\nTool result of calculate_fee: {\"fee\":0.75}<|im_end|>\n" +
		"<|im_start|>assistant\nThe result of calculate fee: fee 0.75.<|im_end|>\n<|im_start|>user\nok?<|im_end|>\n"
	if next.Answer != "Fine." || !strings.Contains(heard.history, want) || strings.Contains(heard.history, "99") {
		t.Errorf("the conversation: %s", heard.history)
	}
}

// TestAReplacedAnswerIsNeverHeard: what follows a result is checked before anyone sees it.
func TestAReplacedAnswerIsNeverHeard(t *testing.T) {
	var streamed strings.Builder
	b := newBench(t, script(fake.Reply{When: "Tool result of", Say: "I think it is 99."}, fake.Reply{When: "fee", Say: feeCall(250)}, fake.Reply{Say: "Fine."})).with(shop(t))
	b.cfg.OnText = func(text string) { streamed.WriteString(text) }
	c := b.open()
	c.ask("the fee for 250")
	c.ask("ok?")
	if streamed.String() != "Fine." {
		t.Errorf("heard %q", streamed.String())
	}
}
