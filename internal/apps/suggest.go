package apps

import (
	"fmt"

	"github.com/loadline/loadline/internal/suggest"
)

// didYouMean is a hint to append to a fault: the closest of the known names, if it is close
// enough to be a typing error.
func didYouMean(name string, known []string) string {
	if n := suggest.Of(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}
