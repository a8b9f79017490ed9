package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/imprint"
	"edge/internal/fault"
)

func (a *app) imprintCollectCommand() *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "gc", Short: "Remove layers that no imprint has, and what killed writers left half done", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := a.imprints()
			if err != nil {
				return err
			}
			r, err := store.Collect(c.Context(), dryRun)
			if err != nil {
				return err
			}
			value := map[string]any{
				"schema": "edge.imprint_gc/v1", "ok": true, "dry_run": dryRun, "removed": r.Removed, "freed_bytes": r.FreedBytes, "undecided": r.Undecided,
			}
			return a.print(value, func() {
				verb := "removed"
				if dryRun {
					verb = "would remove"
				}
				a.say("%s %d files, %.1f MB", verb, len(r.Removed), float64(r.FreedBytes)/1e6)
				if len(r.Undecided) > 0 {
					a.say("%d layers stay because a file of the store can't be read, and they may be its; edge imprint list names it", len(r.Undecided))
				}
			})
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would go")
	return c
}

// quotaVariable is how many bytes the store may take up, with a unit: 500MB, 2GB.
const quotaVariable = "EDGE_IMPRINTS_MAX"

// holdQuota removes the least recently used imprints until the store is within the user's quota. The one that was just
// made is the most recently used, so it stays.
func (a *app) holdQuota(ctx context.Context, store *imprint.Store) error {
	limit, err := a.quota()
	if err != nil || limit == 0 {
		return err
	}
	r, err := store.Prune(ctx, imprint.PruneOptions{MaxBytes: limit, Now: time.Now()})
	if err != nil {
		return err
	}
	if len(r.Removed) > 0 {
		a.notify(fmt.Sprintf("removed the %d least recently used imprints (%.1f MB) to hold %s", len(r.Removed), float64(r.FreedBytes)/1e6, quotaVariable))
	}
	if r.KeptBytes > limit {
		a.notify(fmt.Sprintf("the newest imprint alone takes up %.1f MB, more than %s allows; it stays", float64(r.KeptBytes)/1e6, quotaVariable))
	}
	return nil
}

// quota reads the variable; 0 where there is none.
func (a *app) quota() (int64, error) {
	text := a.getenv(quotaVariable)
	if text == "" {
		return 0, nil
	}
	number, unit := text, int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(text), u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return 0, fault.New(fault.CodeInvalidArguments, "%s: %q is no size", quotaVariable, text).WithHint("give it like 500MB or 2GB, or unset it")
	}
	return n * unit, nil
}
