// Package suggest finds the known name closest to a misspelt one.
package suggest

import (
	"fmt"
	"strings"
)

// Hint is appended to the error for an unknown name: the closest known one if it is close
// enough to be a typing error, and all known ones.
func Hint(name string, known []string) string {
	all := "known: " + strings.Join(known, ", ")
	if near := Of(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q? (%s)", near, all)
	}
	return " (" + all + ")"
}

// Of is the known name with the fewest edits, or "" if more than half of the
// name would have to change.
func Of(name string, known []string) string {
	if len(name) > 64 { // not a typing error, and the distance is quadratic
		return ""
	}
	best, fewest := "", len(name)/2+1
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < fewest {
			best, fewest = k, d
		}
	}
	return best
}

// edits counts the letters to insert, delete, replace or swap with their
// neighbour (the optimal string alignment distance).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
