package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/agent"
	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
)

// agentLearnKind is the kind of the receipt that edge agent run takes with --with-imprints.
const agentLearnKind = "agent_learn"

// agentLearnResult is edge.agent_learn/v1.
type agentLearnResult struct {
	Schema        string         `json:"schema"`
	OK            bool           `json:"ok"`
	Agents        []learnedAgent `json:"agents"`
	Model         modelReport    `json:"model"`
	Engine        engineReport   `json:"engine"`
	TotalMS       float64        `json:"total_ms"`
	ReceiptPath   string         `json:"receipt_path"`
	ReceiptSHA256 digest.SHA256  `json:"receipt_sha256"`
}

// learnedAgent is one agent's imprint, in the result and in the receipt.
type learnedAgent struct {
	Agent            string         `json:"agent"`
	ArtifactID       string         `json:"artifact_id"`
	ArtifactPath     string         `json:"artifact_path"`
	ActiveSetSHA256  *digest.SHA256 `json:"active_set_sha256"`
	SampleFileSHA256 *digest.SHA256 `json:"sample_file_sha256"` // null: the descriptions alone taught
	Tokens           int            `json:"tokens"`
	PayloadBytes     int64          `json:"payload_bytes"`
	Evaluation       map[string]any `json:"evaluation"`
	Timings          learn.Timings  `json:"timings"`

	evaluation learn.Evaluation
}

type agentLearnFlags struct {
	engineFlags
	hands   handFlags
	file    string
	samples string
	context string
}

func (a *app) agentLearnCommand() *cobra.Command {
	var f agentLearnFlags
	c := &cobra.Command{
		Use: "learn FILE", Short: "Learn every agent of a file into an imprint of its own", Args: cobra.ExactArgs(1),
		Example: "  edge agent learn household.py --samples samples",
		RunE: func(c *cobra.Command, args []string) error {
			f.file = args[0]
			return a.recorded(c.Context(), agentLearnKind, func(record *record) error { return a.agentLearn(c.Context(), f, record) })
		},
	}
	f.engineFlags.register(c)
	f.servedFlags.register(c)
	f.hands.register(c)
	c.Flags().StringVar(&f.samples, "samples", "", "folder with NAME.json (edge.learn_sample/v1) for each agent that learns from examples, too")
	c.Flags().StringVar(&f.context, "context", "null", "what a function that gives instructions gets as its context, JSON")
	return c
}

func (a *app) agentLearn(ctx context.Context, f agentLearnFlags, record *record) error {
	if _, err := a.quota(); err != nil {
		return err
	}
	r, err := a.sandboxedRunner(f.hands.sandbox)
	if err != nil {
		return err
	}
	defer r.Close()
	file, err := a.agentFile(ctx, f.file, r)
	if err != nil {
		return err
	}
	record.agents(file)
	team := agent.New(agent.Config{File: file, Decide: decider(r, file), Context: []byte(f.context)})
	samples := make([]*learn.Sample, len(file.Agents()))
	for i, one := range file.Agents() { // all of them before minutes are spent
		system, err := team.Instructions(ctx, one)
		if err != nil {
			return err
		}
		if samples[i], err = sampleOf(f.samples, one, system); err != nil {
			return err
		}
	}
	a.noteSamplesOfNobody(f.samples, file)
	w, err := a.load(ctx, f.engineFlags)
	if err != nil {
		return err
	}
	defer w.Close()
	record.world(w.World)
	store, err := a.imprints()
	if err != nil {
		return err
	}
	result := agentLearnResult{Schema: "edge.agent_learn/v1", OK: true, Model: reportModel(w.World), Engine: reportEngine(w.World)}
	for i, one := range file.Agents() {
		a.notify("agent " + plain(one.Name))
		l, err := a.learnAgent(ctx, w.World, store, one, samples[i])
		if err != nil {
			e := *fault.From(err)
			e.Message, e.Err = "agent "+one.Name+": "+e.Message, err
			return &e
		}
		result.Agents = append(result.Agents, l)
	}
	record.set("agents", result.Agents)
	result.TotalMS = ms(time.Since(a.started))
	if result.ReceiptPath, result.ReceiptSHA256, err = record.write(nil); err != nil {
		return err
	}
	return a.print(result, func() { a.sayLearnedAgents(result, f.file) })
}

// sampleOf is an agent's sample file, or what its instructions and tools teach alone. The profile's system text is the
// agent's instructions; a sample may leave it out, and can't say anything else.
func sampleOf(folder string, one *agent.Agent, system *string) (*learn.Sample, error) {
	s := &learn.Sample{Schema: learn.SampleSchema}
	if folder != "" {
		path := filepath.Join(folder, one.Name+".json")
		if _, err := os.Stat(path); err == nil {
			if s, err = learn.ReadSample(path, one.Set); err != nil {
				return nil, err
			}
			if own := s.Profile.System; own != "" && system != nil && own != *system {
				return nil, fault.New(fault.CodeInvalidSampleFile, "%s: profile.system isn't the instructions of agent %s", path, one.Name).
					WithHint("leave profile.system out: the agent's instructions take its place")
			}
		} else if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fault.New(fault.CodeSampleFileNotFound, "--samples: %s isn't a folder", folder)
		}
	}
	if system != nil {
		s.Profile.System = *system
	}
	return s, nil
}

// noteSamplesOfNobody says which sample files no agent learns from: most often a name was mistyped.
func (a *app) noteSamplesOfNobody(folder string, file *agent.File) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		name, isSample := strings.CutSuffix(entry.Name(), ".json")
		if isSample && !slices.ContainsFunc(file.Agents(), func(one *agent.Agent) bool { return one.Name == name }) {
			a.notify(fmt.Sprintf("note: %s isn't used: the file has no agent called %q", plain(filepath.Join(folder, entry.Name())), name))
		}
	}
}

func (a *app) learnAgent(ctx context.Context, w learn.World, store *imprint.Store, one *agent.Agent, sample *learn.Sample) (learnedAgent, error) {
	show := newStages(a)
	out, err := learn.Run(ctx, learn.Request{World: w, Set: one.Set, Sample: sample, Store: store, Clock: time.Now, Report: show.report})
	show.end()
	if err != nil {
		return learnedAgent{}, err
	}
	path, id, err := a.keep(ctx, store, "", out.Content)
	if err != nil {
		return learnedAgent{}, err
	}
	l := learnedAgent{
		Agent: one.Name, ArtifactID: id.String(), ArtifactPath: path, Tokens: len(out.Content.Tokens), PayloadBytes: out.Content.State.Size(),
		Evaluation: summary(out.Evaluation), Timings: out.Timings, evaluation: out.Evaluation,
	}
	if one.Set != nil {
		sum := one.Set.SHA256()
		l.ActiveSetSHA256 = &sum
	}
	if !sample.SHA256.IsZero() {
		l.SampleFileSHA256 = &sample.SHA256
	}
	return l, nil
}

func (a *app) sayLearnedAgents(r agentLearnResult, file string) {
	var names []string
	for _, l := range r.Agents {
		names = append(names, l.Agent)
		a.say("%s: %d tokens, %s", plain(l.Agent), l.Tokens, l.ArtifactID)
		a.sayEvaluation(l.evaluation)
	}
	a.say("Learned %s with %s in %.1f s. From now on:", plain(strings.Join(names, ", ")), r.Model.Name, r.TotalMS/1000)
	a.say("  edge agent run %s --with-imprints %s --prompt …", file, r.ReceiptPath)
}
