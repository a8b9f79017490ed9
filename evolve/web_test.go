package evolve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"edge/evolve"
	"edge/hosted/websearch"
)

// searching is the real search at pages that always fail.
type searching struct {
	offlineWeb
	client *websearch.Client
}

func (s searching) Search(ctx context.Context, query string, count any) ([]evolve.Hit, error) {
	_, err := s.client.Search(ctx, query, websearch.ClampCount(count))
	return nil, err
}

// Whatever a planner writes for the number of results, a search that fails is a result and not the task's end.
func TestOddCountsEndNoTask(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	client := &websearch.Client{Lite: down.URL, HTML: down.URL, Sleep: func(context.Context, time.Duration) error { return nil }}
	for name, args := range map[string]string{
		"null": `{"query":"python stock library","num_results":null}`, "a word": `{"query":"python stock library","num_results":"five"}`,
		"a number": `{"query":"python stock library","num_results":3}`, "a list": `{"query":"python stock library","num_results":[1]}`,
	} {
		g := newGround(t, evolve.ToolTimeout)
		g.cfg.Web, g.cfg.AllowNetwork = searching{client: client}, true
		run, _ := g.play("a task", calls("web_search", args), says("done"))
		wantContains(t, name, results(t, run)[0], `"success":false`, "search failed", `"results":[]`)
		if run.Finish != evolve.FinishAnswer {
			t.Errorf("%s: got %+v", name, run)
		}
	}
}
