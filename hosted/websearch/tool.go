package websearch

import (
	"context"
	"encoding/json"
	"strings"

	"edge/hosted"
	"edge/internal/fault"
)

// The environment variables that name other pages than DuckDuckGo's own.
const (
	LiteVariable = "EDGE_SEARCH_LITE"
	HTMLVariable = "EDGE_SEARCH_HTML"
)

// New makes the client of an environment.
func New(env hosted.Environment) *Client {
	return &Client{Lite: env.Getenv(LiteVariable), HTML: env.Getenv(HTMLVariable)}
}

// tool is the search as a hosted tool.
type tool struct {
	client  *Client
	num     int
	allowed bool
}

// Open makes the hosted tool of kind web_search.
func Open(options json.RawMessage, env hosted.Environment) (hosted.Tool, error) {
	var o struct {
		UserLocation map[string]any `json:"user_location"`
		ContextSize  string         `json:"search_context_size"`
	}
	if err := hosted.Options(options, &o); err != nil {
		return nil, err
	}
	sizes := map[string]int{"low": 3, "medium": DefaultResults, "high": MaxResults}
	num, ok := sizes[o.ContextSize]
	if !ok {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "web search: search_context_size: got %q, want low, medium or high", o.ContextSize)
	}
	client := New(env)
	country, _ := o.UserLocation["country"].(string)
	client.Region = Region(country)
	return &tool{client, num, env.AllowNetwork}, nil
}

func (t *tool) Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	if !t.allowed {
		return nil, hosted.NeedsNetwork("web search")
	}
	var args struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, fault.New(fault.CodeInvalidToolArgs, "web search: %w", err)
	}
	answer := struct {
		Results []Result `json:"results"`
		Note    string   `json:"note,omitempty"`
	}{Results: []Result{}}
	results, err := t.client.Search(ctx, args.Query, t.num)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		answer.Note = err.Error()
	default:
		answer.Results = results
	}
	return json.Marshal(answer)
}

func (t *tool) Close() error { return nil }

// Region is the search engine's code for a country (ISO 3166, two letters), or "" where it has none of its own.
func Region(country string) string {
	return map[string]string{
		"AR": "ar-es", "AT": "at-de", "AU": "au-en", "BE": "be-nl", "BG": "bg-bg", "BR": "br-pt", "CA": "ca-en", "CH": "ch-de",
		"CL": "cl-es", "CN": "cn-zh", "CO": "co-es", "CZ": "cz-cs", "DE": "de-de", "DK": "dk-da", "EE": "ee-et", "ES": "es-es",
		"FI": "fi-fi", "FR": "fr-fr", "GB": "uk-en", "GR": "gr-el", "HK": "hk-tzh", "HR": "hr-hr", "HU": "hu-hu", "ID": "id-en",
		"IE": "ie-en", "IL": "il-en", "IN": "in-en", "IT": "it-it", "JP": "jp-jp", "KR": "kr-kr", "LT": "lt-lt", "LV": "lv-lv",
		"MX": "mx-es", "MY": "my-en", "NL": "nl-nl", "NO": "no-no", "NZ": "nz-en", "PE": "pe-es", "PH": "ph-en", "PL": "pl-pl",
		"PT": "pt-pt", "RO": "ro-ro", "RU": "ru-ru", "SE": "se-sv", "SG": "sg-en", "SI": "sl-sl", "SK": "sk-sk", "TH": "th-en",
		"TR": "tr-tr", "TW": "tw-tzh", "UA": "ua-uk", "US": "us-en", "VN": "vn-en", "ZA": "za-en",
	}[strings.ToUpper(country)]
}
