package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Package is what `go list -deps -json` says of one package, as far as it matters here.
type Package struct {
	ImportPath string
	Imports    []string
}

// CheckReach looks through whole chains of imports, those of other modules included: only inference/llamacpp and the
// program reach foreign code, and a room reaches only the rooms that its own rules lead to. Each finding gives the chain.
func CheckReach(packages []Package) []string {
	imports := map[string][]string{}
	for _, p := range packages {
		imports[p.ImportPath] = p.Imports
	}
	var found []string
	for _, p := range packages {
		dir, own := strings.CutPrefix(p.ImportPath, Module+"/")
		if !own {
			continue
		}
		for target, chain := range reach(p.ImportPath, imports) {
			why := unreachable(dir, target)
			if why != "" {
				found = append(found, fmt.Sprintf("%s: %s", strings.Join(chain, " → "), why))
			}
		}
	}
	slices.Sort(found)
	return found
}

// unreachable says why a package in folder dir may not depend on target, directly or not.
func unreachable(dir, target string) string {
	// Go's own packages use unsafe; what is meant is foreign code.
	if target != "unsafe" && underAny(target, ffi()) {
		if underAny(dir, []string{"inference/llamacpp", program, measure}) {
			return ""
		}
		return dir + " reaches foreign code"
	}
	to, own := strings.CutPrefix(target, Module+"/")
	if !own || under(to, leaves) || under(dir, leaves) {
		return ""
	}
	here, ok := roomOf(dir)
	there, okThere := roomOf(to)
	if !ok || !okThere || here.dir == there.dir || reachableRoom(here.dir, there.dir) {
		return ""
	}
	return here.dir + " reaches " + there.dir
}

func reachableRoom(from, to string) bool {
	r, _ := roomOf(from)
	return slices.ContainsFunc(r.uses, func(next string) bool { return next == to || reachableRoom(next, to) })
}

// reach gives each package that start depends on with a shortest chain to it.
func reach(start string, imports map[string][]string) map[string][]string {
	chains := map[string][]string{}
	for queue := [][]string{{start}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		for _, next := range imports[chain[len(chain)-1]] {
			if _, seen := chains[next]; !seen && next != start {
				chains[next] = append(slices.Clone(chain), next)
				queue = append(queue, chains[next])
			}
		}
	}
	return chains
}
