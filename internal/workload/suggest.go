package workload

import "github.com/loadline/loadline/internal/suggest"

// didYouMean is a remark that names the known word closest to a wrong one; empty if none is
// close enough.
func didYouMean(wrong string, known []string) string {
	if near := suggest.Of(wrong, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
