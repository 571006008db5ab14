package apps

import (
	"fmt"

	"github.com/loadline/loadline/internal/suggest"
)

// didYouMean is a hint to append to a fault: the nearest of the known names,
// if one is near enough to be a slip of the keyboard.
func didYouMean(name string, known []string) string {
	if n := suggest.Of(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}
