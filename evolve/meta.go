package evolve

import (
	"context"
	"encoding/json"
)

// The five tools that are always there.
const (
	WebSearch       = "web_search"
	ReadWebpage     = "read_webpage"
	CodeInterpreter = "code_interpreter"
	CreateTool      = "create_tool"
	SearchTools     = "search_tools"
)

// Web is the way to the web; nil where the network isn't allowed.
type Web interface {
	// Search gives pages for a query. The count is whatever the planner wrote, or nil.
	Search(ctx context.Context, query string, count any) ([]Hit, error)
	// Read gives a page's text, at most maxChars characters of it.
	Read(ctx context.Context, url string, maxChars int) (Page, error)
}

// Hit is one result of a web search.
type Hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// Page is a page's text.
type Page struct {
	URL       string `json:"url"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// Interpreter runs code in the sandbox. Packages are installed before, where that is allowed.
type Interpreter interface {
	Interpret(ctx context.Context, code string, packages []string) (Interpreted, error)
}

// Interpreted is what code did.
type Interpreted struct {
	Success    bool     `json:"success"`
	Stdout     string   `json:"stdout"`
	Stderr     string   `json:"stderr"`
	ReturnCode int      `json:"returncode"`
	Note       string   `json:"note,omitempty"`
	PipLogs    []string `json:"pip_logs"`
	Error      string   `json:"error,omitempty"`
}

// metaOffers are the five tools as a planner sees them.
func metaOffers(allowCreate bool) []Offer {
	object := func(properties, required string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
	}
	same := func(name, description string, parameters json.RawMessage) Offer {
		return Offer{name, description, parameters, parameters}
	}
	offers := []Offer{
		same(SearchTools, "Search the library of tools that were made before, by keywords. Always the first step: a tool that is found can be called at once.",
			object(`"query":{"type":"string","description":"keywords, such as 'date days between'"}`, `"query"`)),
		same(WebSearch, "Search the web for open-source libraries or public documentation. Gives titles, addresses and excerpts.",
			object(`"query":{"type":"string","description":"what to search for"},"num_results":{"type":"integer","description":"how many results, 1 to 10","default":6}`, `"query"`)),
		same(ReadWebpage, "Fetch a web page and give its text: a README, or a library's documentation.",
			object(`"url":{"type":"string","description":"the page's address, http or https"}`, `"url"`)),
		same(CodeInterpreter, "Run Python code in a sandbox, to find out whether an approach works. Whatever matters must be printed. pip_install names packages that are installed before.",
			object(`"code":{"type":"string","description":"the Python code"},"pip_install":{"type":"array","items":{"type":"string"},"description":"packages to install before; may be left out"}`, `"code"`)),
	}
	if !allowCreate {
		return offers
	}
	const (
		name  = `"name":{"type":"string","description":"a general name, a Python identifier"},"description":{"type":"string","description":"what the tool does, in words that a later search will use"},`
		code  = `"code":{"type":"string","description":"Python code that defines run(**kwargs) and returns what JSON can hold"},`
		names = `"name","description","parameters","code"`
	)
	return append(offers, Offer{
		Name:        CreateTool,
		Description: "Keep a solution that code_interpreter has shown to work as a tool with parameters, for this task and later ones. With test_args it is run before it is kept, and refused if it fails.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` + name + `"parameters":{"type":"object","description":"JSON Schema of the parameters: type object, properties, required"},` + code +
			`"test_args":{"type":"object","description":"arguments for a trial run; please always give them"}},"required":[` + names + `]}`),
		Closed: object(name+`"parameters":{"type":"string","description":"JSON Schema of the parameters, as JSON text"},`+code+
			`"test_args":{"type":"string","description":"arguments for a trial run, as JSON text"}`, names),
	})
}
