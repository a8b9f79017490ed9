package open_test

import (
	"context"
	"encoding/json"
	"testing"

	"edge/hosted"
	"edge/hosted/open"
	"edge/internal/fault"
	"edge/internal/home"
)

func TestOpenPicksByKind(t *testing.T) {
	env := hosted.Environment{Home: home.Dir(t.TempDir()), Base: t.TempDir(), Getenv: func(string) string { return "" }}
	for _, config := range []string{
		`{"kind":"file_search","folders":["."],"max_num_results":3,"include_search_results":false}`,
		`{"kind":"web_search","user_location":null,"search_context_size":"medium"}`,
		`{"kind":"code_interpreter","allow_packages":true}`,
		`{"kind":"computer","environment":"browser","width":1024,"height":768,"pages":".","sites":[],"start_url":"about:blank"}`,
		`{"kind":"shell"}`,
	} {
		tool, err := open.Open(context.Background(), env, "t", json.RawMessage(config))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if err := tool.Close(); err != nil {
			t.Errorf("%s: close: %v", config, err)
		}
	}
	for _, config := range []string{`{"kind":"mind_reading"}`, `{}`, `{"kind":3}`, `[]`, ``, `{"kind":"code_interpreter","other":1}`, `{"kind":"shell","other":1}`} {
		if _, err := open.Open(context.Background(), env, "t", json.RawMessage(config)); !fault.Is(err, fault.CodeInvalidToolMetadata) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
