package workload

import "github.com/loadline/loadline/internal/suggest"

// didYouMean is a remark that names the known word nearest to a wrong one, or
// nothing if none is near enough to be what was meant.
func didYouMean(wrong string, known []string) string {
	if near := suggest.Of(wrong, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
