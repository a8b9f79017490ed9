package ollama

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ollama/ollama/api"
	capability "github.com/ollama/ollama/types/model"

	"edge/inference"
	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
)

// contextTokens bounds the context that is asked for, where the model's own settings say nothing: its cache takes memory.
const contextTokens = 8192

// model is one model of the server.
type model struct {
	*Engine
	name     string
	manifest string // the digest of all that belongs to the model, as the server lists it
	context  int
	thinks   bool
}

// Open implements inference.Engine: path is the model's name. Errors: served_model_not_found; network_not_allowed for a
// model that the server has from another machine; those of Connect.
func (e *Engine) Open(ctx context.Context, name string) (inference.Model, error) {
	m := &model{Engine: e, name: name}
	var err error
	if m.manifest, err = e.manifest(ctx, name); err != nil {
		return nil, err
	}
	show, err := e.client.Show(ctx, &api.ShowRequest{Model: name})
	if err != nil {
		return nil, e.trouble(ctx, err, false)
	}
	if show.RemoteHost != "" && !e.network {
		return nil, fault.New(fault.CodeNetworkNotAllowed, "%s runs on %s, and --allow-network wasn't given", name, show.RemoteHost)
	}
	id, err := m.identity(show)
	if err != nil {
		return nil, err
	}
	c := served.Config{Backend: inference.BackendOllama, Architecture: architecture(show), Description: show.Details.ParameterSize + " " + show.Details.QuantizationLevel, Server: m}
	m.context, m.thinks = window(show), slices.ContainsFunc(show.Capabilities, func(c capability.Capability) bool { return c == capability.CapabilityThinking })
	if e.embedder != "" {
		if sum, err := e.manifest(ctx, e.embedder); err != nil || sum == m.manifest {
			if err != nil {
				return nil, err
			}
			return nil, fault.New(fault.CodeInvalidArguments, "%s can't make the vectors of its own requests: each would take the prefix out of its cache", name)
		}
		embed, sum, err := e.embedding(ctx)
		if err != nil {
			return nil, err
		}
		c.Embedder, id.EmbedderSHA256 = embed, sum
	}
	c.Identity = id
	return served.NewModel(c), nil
}

// manifest is the digest that the server lists a model with.
func (e *Engine) manifest(ctx context.Context, name string) (string, error) {
	list, err := e.client.List(ctx)
	if err != nil {
		return "", e.trouble(ctx, err, false)
	}
	var names []string
	for _, m := range list.Models {
		if m.Name == name || m.Name == name+":latest" {
			return m.Digest, nil
		}
		names = append(names, m.Name)
	}
	return "", fault.New(fault.CodeServedModelAbsent, "the Ollama at %s has no model %s; it has %q", e.base.Host, name, names).WithHint("fetch it with: ollama pull %s", name)
}

// identity tells weights, and what surrounds them, apart: the digest of the weights' blob is that of the model file, and
// template, system text and parameters count as the template. A model of more parts is known by its manifest.
func (m *model) identity(show *api.ShowResponse) (served.Identity, error) {
	id := served.Identity{Name: m.name, Server: m.base.String(), Proven: true, Unknown: []string{"engine_libraries", "kv_parameters"}}
	sum := m.manifest
	if blobs := regexp.MustCompile(`(?m)^(?:FROM|ADAPTER) .*sha256[-:]([0-9a-f]{64})\s*$`).FindAllStringSubmatch(show.Modelfile, -1); len(blobs) == 1 {
		sum = blobs[0][1]
	}
	var err error
	if id.SHA256, err = digest.ParseSHA256(strings.TrimPrefix(sum, "sha256:")); err != nil {
		return id, fault.New(fault.CodeServedReply, "%s: the digest of %s: %w", m.base.Host, m.name, err)
	}
	parameters := strings.Split(show.Parameters, "\n") // the server lists them in another order each time
	slices.Sort(parameters)
	id.TemplateSHA256 = digest.SHA256Of([]byte(strings.Join([]string{show.Template, show.System, strings.Join(parameters, "\n"), show.Renderer, show.Parser}, "\x00")))
	return id, nil
}

func architecture(show *api.ShowResponse) string {
	if show.Details.Family != "" {
		return show.Details.Family
	}
	return "unknown"
}

// window is the context to ask for: what the model's settings say, or as much as it was trained for, within bounds.
func window(show *api.ShowResponse) int {
	for _, line := range strings.Split(show.Parameters, "\n") {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "num_ctx" {
			if n, err := strconv.Atoi(fields[1]); err == nil && n > 0 {
				return n
			}
		}
	}
	for key, value := range show.ModelInfo {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") && n > 0 {
			return min(int(n), contextTokens)
		}
	}
	return contextTokens
}

// Chat implements served.Server.
func (m *model) Chat(ctx context.Context, r served.Request, hear func(string) error) (ended bool, x inference.Exchange, err error) {
	now, err := m.Engine.manifest(ctx, m.name)
	if err != nil {
		return false, x, err
	}
	if now != m.manifest {
		e := fault.New(fault.CodeServedModelChanged, "%s is another model now", m.name)
		e.Mismatches = []fault.Mismatch{{Field: "manifest_sha256", Want: m.manifest, Got: now}}
		return false, x, e
	}
	never := false
	request := &api.ChatRequest{
		Model: m.name, KeepAlive: m.keepAlive, Format: r.Schema, Truncate: &never, Shift: &never,
		Options: map[string]any{"num_predict": r.MaxTokens, "num_ctx": m.context, "temperature": r.Temperature, "seed": int(r.Seed >> 33)},
	}
	if m.thinks {
		request.Think = &api.ThinkValue{Value: false}
	}
	for _, t := range r.Messages {
		request.Messages = append(request.Messages, api.Message{Role: t.Role, Content: t.Content})
	}
	done, began := false, false
	err = m.client.Chat(ctx, request, func(c api.ChatResponse) error {
		began = true
		if err := hear(c.Message.Content); err != nil {
			return err
		}
		if c.Done {
			done, ended = true, c.DoneReason == "stop"
			load, prompt, generate := ms(c.LoadDuration), ms(c.PromptEvalDuration), ms(c.EvalDuration)
			x = inference.Exchange{PromptTokens: c.PromptEvalCount, GeneratedTokens: c.EvalCount, LoadMS: &load, PromptMS: &prompt, GenerateMS: &generate}
		}
		return nil
	})
	if err != nil {
		return false, x, m.chatTrouble(ctx, err, began)
	}
	if !done {
		if ctx.Err() != nil {
			return false, x, ctx.Err()
		}
		return false, x, fault.New(fault.CodeServedStreamCut, "%s: the reply ended before it was done", m.base.Host)
	}
	return ended, x, nil
}

// chatTrouble passes on what hear said, which isn't the server's.
func (m *model) chatTrouble(ctx context.Context, err error, began bool) error {
	if served.Stopped(err) {
		return err
	}
	return m.trouble(ctx, err, began)
}
