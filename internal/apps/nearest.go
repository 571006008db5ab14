package apps

import "fmt"

// didYouMean is a hint to append to a fault: the nearest of the known names,
// if one is near enough to be a slip of the keyboard.
func didYouMean(name string, known []string) string {
	if n := nearest(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// nearest returns the known name with the fewest edits, or "" if more than
// half of the name would have to change.
func nearest(name string, known []string) string {
	best, fewest := "", len([]rune(name))/2+1
	for _, k := range known {
		if d := edits(name, k); d < fewest {
			best, fewest = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			substitute := diagonal
			if x != y {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(to)]
}
