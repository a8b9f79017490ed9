package llamacpp_test

import (
	"slices"
	"testing"
)

// product gives every row of indices, one below each of sizes, in lexical order.
func product(sizes []int) [][]int {
	rows := [][]int{{}}
	for _, size := range sizes {
		var longer [][]int
		for _, row := range rows {
			for v := range size {
				longer = append(longer, append(slices.Clone(row), v))
			}
		}
		rows = longer
	}
	return rows
}

// setting is a value of one dimension, or values of two different ones.
type setting struct{ dim1, value1, dim2, value2 int }

// settings gives what a row covers: every value alone, or with pairs every pair of values.
func settings(row []int, pairs bool) []setting {
	var out []setting
	for i, v := range row {
		if !pairs {
			out = append(out, setting{i, v, i, v})
			continue
		}
		for j := i + 1; j < len(row); j++ {
			out = append(out, setting{i, v, j, row[j]})
		}
	}
	return out
}

// cover chooses rows of the product that together cover every value of every dimension, with pairs every pair of values
// of two dimensions: always the first row that covers most of what is still uncovered.
func cover(sizes []int, pairs bool) [][]int {
	rows := product(sizes)
	open := map[setting]bool{}
	for _, row := range rows {
		for _, s := range settings(row, pairs) {
			open[s] = true
		}
	}
	var chosen [][]int
	for len(open) > 0 {
		best, most := rows[0], 0
		for _, row := range rows {
			n := 0
			for _, s := range settings(row, pairs) {
				if open[s] {
					n++
				}
			}
			if n > most {
				best, most = row, n
			}
		}
		for _, s := range settings(best, pairs) {
			delete(open, s)
		}
		chosen = append(chosen, best)
	}
	return chosen
}

// TestCover: by counting, every value and every pair is there, in far fewer rows than the product has.
func TestCover(t *testing.T) {
	sizes := []int{3, 2, 2, 9, 3, 3}
	if got := len(product(sizes)); got != 3*2*2*9*3*3 {
		t.Errorf("product: got %d rows, want %d", got, 3*2*2*9*3*3)
	}
	for _, tt := range []struct {
		pairs        bool
		things, most int
	}{
		{false, 3 + 2 + 2 + 9 + 3 + 3, 9},
		{true, 3*(2+2+9+3+3) + 2*(2+9+3+3) + 2*(9+3+3) + 9*(3+3) + 3*3, 40},
	} {
		rows := cover(sizes, tt.pairs)
		covered := map[[4]int]bool{}
		for _, row := range rows {
			for i := range row {
				for j := range i {
					if tt.pairs {
						covered[[4]int{j, row[j], i, row[i]}] = true
					}
				}
				if !tt.pairs {
					covered[[4]int{i, row[i]}] = true
				}
			}
		}
		if len(covered) != tt.things || len(rows) > tt.most {
			t.Errorf("pairs %v: %d of %d covered in %d rows, want all in at most %d", tt.pairs, len(covered), tt.things, len(rows), tt.most)
		}
	}
}
