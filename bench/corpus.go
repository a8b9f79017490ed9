package bench

import (
	"encoding/json"
	"fmt"
	"strings"

	"edge/learn"
)

// question is what the first token is measured with: a request that is answered in words.
const question = "Thanks, that was all for today. Have a nice evening, and see you tomorrow morning!"

// example is a request with the arguments of the call that it means, in canonical JSON.
type example struct{ prompt, arguments string }

// tool is one tool of the corpus: what its file says, what is learned from, and what is asked.
type tool struct {
	name, parameters, returns, description string
	examples                               [2]example
	asked                                  example
}

// corpus are the tools, in the order in which they are taken.
func corpus() []tool {
	return []tool{
		{"check_stock", `article: str, detail: Literal["short", "full"] = "short"`, "article", "Check how many pieces of an article are in stock, and on which shelf they lie.",
			[2]example{{"How many of article K-31 are left?", `{"article":"K-31"}`}, {"Is article B-7 in stock?", `{"article":"B-7"}`}}, example{"How many of article Z-58 do we have?", `{"article":"Z-58"}`}},
		{"find_invoice", `invoice: str`, "invoice", "Find an invoice of this year by its number and tell date, amount and state of payment.",
			[2]example{{"Find invoice 2031", `{"invoice":"2031"}`}, {"Was invoice 884 paid?", `{"invoice":"884"}`}}, example{"Find invoice 1577 for me", `{"invoice":"1577"}`}},
		{"quote_price", `product: str, pieces: int`, "pieces", "Quote the price of a product for a number of pieces, with the customer's discount.",
			[2]example{{"What do 20 pieces of the product lamp cost?", `{"pieces":20,"product":"lamp"}`}, {"Price of 4 pieces of the product chair", `{"pieces":4,"product":"chair"}`}}, example{"Price of 35 pieces of the product desk", `{"pieces":35,"product":"desk"}`}},
		{"read_meter", `meter: int, span: Literal["day", "week", "month"] = "day"`, "meter", "Read a meter of the building by its number and tell the use of the last day, week or month.",
			[2]example{{"Read meter 12", `{"meter":12}`}, {"What did meter 40 use in the last week?", `{"meter":40,"span":"week"}`}}, example{"Read meter 77 of the last month", `{"meter":77,"span":"month"}`}},
		{"plan_route", `address: str`, "address", "Plan the shortest route for the van to an address, around the streets that are closed.",
			[2]example{{"Plan a route to 12 Mill Lane", `{"address":"12 Mill Lane"}`}, {"Route the van to 5 Harbour Road", `{"address":"5 Harbour Road"}`}}, example{"Plan a route to 31 Station Street", `{"address":"31 Station Street"}`}},
		{"book_room", `room: str, hour: int`, "room", "Tell whether a meeting room is free at an hour of today, and which rooms are free beside it.",
			[2]example{{"Is room Oak free at 14?", `{"hour":14,"room":"Oak"}`}, {"Room Birch at 9, is it free?", `{"hour":9,"room":"Birch"}`}}, example{"Is room Maple free at 16?", `{"hour":16,"room":"Maple"}`}},
		{"list_parcels", `day: Literal["today", "yesterday"]`, "day", "List the parcels that left the house today or yesterday, with weight, carrier and destination.",
			[2]example{{"Which parcels left yesterday?", `{"day":"yesterday"}`}, {"List the parcels of today", `{"day":"today"}`}}, example{"List the parcels that left today", `{"day":"today"}`}},
		{"look_up_person", `person: str`, "person", "Look up a person of the house by name and tell department, telephone number and office hours.",
			[2]example{{"Who is Ada Lindgren?", `{"person":"Ada Lindgren"}`}, {"Look up the person Tom Weber", `{"person":"Tom Weber"}`}}, example{"Look up the person Mary Osei", `{"person":"Mary Osei"}`}},
	}
}

// maxTools is how many tools the corpus has.
const maxTools = 8

// toolsFile is a Python file with the first tools of the corpus.
func toolsFile(count int) string {
	var b strings.Builder
	b.WriteString("from typing import Literal\n\nfrom edgestudio.tools import edge_tool\n")
	for _, t := range corpus()[:count] {
		fmt.Fprintf(&b, "\n\n@edge_tool(description=%q)\ndef %s(%s) -> dict:\n    return {%q: %s, \"count\": 3}\n", t.description, t.name, t.parameters, t.returns, t.returns)
	}
	return b.String()
}

// sample is what is learned with so many tools, after some words that only make the prefix longer.
func sample(count, words int) *learn.Sample {
	s := &learn.Sample{Schema: learn.SampleSchema, Profile: learn.Profile{System: "You are the assistant of a small shop." + padding(words)}}
	for _, t := range corpus()[:count] {
		for _, e := range t.examples {
			s.Examples = append(s.Examples, learn.Example{Prompt: e.prompt, Call: &learn.ExampleCall{ToolName: t.name, Arguments: json.RawMessage(e.arguments)}})
		}
	}
	if count > 0 {
		for _, said := range [][2]string{{"Good morning, how are you?", "Good morning! What do you need?"}, {"Thanks, bye", "You're welcome."}} {
			s.Examples = append(s.Examples, learn.Example{Prompt: said[0], Answer: &said[1]})
		}
	}
	return s
}

// padding is prose of so many words.
func padding(words int) string {
	const text = "The shop opens at nine and closes at six on every day but Sunday. Customers collect what they ordered at the counter beside the door. " +
		"Whoever brings something back shows the receipt first. Large parcels leave by the yard in the morning and small ones by post. "
	list := strings.Fields(text)
	var b strings.Builder
	for i := range words {
		b.WriteString(" " + list[i%len(list)])
	}
	return b.String()
}
