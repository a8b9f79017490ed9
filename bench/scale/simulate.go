// Package scale measures a served model under load, and simulates many servers.
//
// What it shows is how often a prefix is still in a server's cache: with one server it is measured, with N it depends on
// who gets which request, and that is simulated without a model. It refuses load without bounds.
package scale

import (
	"cmp"
	"container/list"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Policy chooses a server for a request.
type Policy string

// The policies: each server in turn, or the one that the prefix's digest falls to on a ring.
const (
	RoundRobin Policy = "round_robin"
	Hash       Policy = "consistent_hash"
)

// Simulation is what is simulated.
type Simulation struct {
	Servers  int
	Prefixes int     // how many imprints are in use
	Capacity int     // prefixes that one server's cache holds; the one unused for longest goes first
	Requests int     //
	Skew     float64 // of how often each prefix is asked for: rank^−Skew; 0: all alike
	Policy   Policy
	Seed     uint64
}

// Outcome of a simulation.
type Outcome struct {
	Policy  Policy  `json:"policy"`
	HitRate float64 `json:"hit_rate"`
	// Imbalance is the busiest server's requests divided by the mean of all.
	Imbalance float64 `json:"imbalance"`
	// Moved is the share of prefixes that another server gets once one more server is there.
	Moved float64 `json:"moved"`
}

// Simulate runs one simulation. The same simulation always has the same outcome.
func Simulate(s Simulation) Outcome {
	random := rand.New(rand.NewPCG(s.Seed, 1))
	servers := make([]*cache, s.Servers)
	for i := range servers {
		servers[i] = newCache(s.Capacity)
	}
	ring, larger := newRing(s.Servers), newRing(s.Servers+1)
	weights := cumulative(s.Prefixes, s.Skew)
	hits, load := 0, make([]int, s.Servers)
	for i := range s.Requests {
		prefix, _ := slices.BinarySearch(weights, random.Float64()*weights[len(weights)-1])
		prefix = min(prefix, s.Prefixes-1)
		at := i % s.Servers
		if s.Policy == Hash {
			at = ring.server(prefix)
		}
		load[at]++
		if servers[at].use(prefix) {
			hits++
		}
	}
	moved := 0
	for p := range s.Prefixes {
		if s.Policy == Hash && ring.server(p) != larger.server(p) {
			moved++
		}
	}
	return Outcome{
		Policy: s.Policy, HitRate: float64(hits) / float64(s.Requests), Moved: float64(moved) / float64(s.Prefixes),
		Imbalance: float64(slices.Max(load)) * float64(s.Servers) / float64(s.Requests),
	}
}

// cumulative gives the running sums of the prefixes' weights.
func cumulative(n int, skew float64) []float64 {
	sums := make([]float64, n)
	sum := 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -skew)
		sums[i] = sum
	}
	return sums
}

// cache holds so many prefixes and drops the one unused for longest.
type cache struct {
	room  int
	order *list.List
	at    map[int]*list.Element
}

func newCache(room int) *cache { return &cache{room, list.New(), map[int]*list.Element{}} }

// use reports whether the prefix was there; it is afterwards.
func (c *cache) use(prefix int) bool {
	if e, ok := c.at[prefix]; ok {
		c.order.MoveToFront(e)
		return true
	}
	c.at[prefix] = c.order.PushFront(prefix)
	if c.order.Len() > c.room {
		last := c.order.Back()
		delete(c.at, c.order.Remove(last).(int))
	}
	return false
}

// points is how many places each server has on the ring: the more, the more even.
const points = 160

// ring is a consistent hash (Karger et al., 1997): a prefix falls to the server whose point comes next.
type ring []point

type point struct {
	hash   uint64
	server int
}

func newRing(servers int) ring {
	var r ring
	for s := range servers {
		for p := range points {
			r = append(r, point{hash("server", s, p), s})
		}
	}
	slices.SortFunc(r, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return r
}

func (r ring) server(prefix int) int {
	h := hash("prefix", prefix, 0)
	i, _ := slices.BinarySearchFunc(r, h, func(p point, h uint64) int { return cmp.Compare(p.hash, h) })
	return r[i%len(r)].server
}

func hash(kind string, a, b int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(kind + " " + strconv.Itoa(a) + " " + strconv.Itoa(b)))
	x := h.Sum64() // its high bits are poor for short texts: mix them (the finalizer of MurmurHash3)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
