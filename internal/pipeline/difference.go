package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// difference names in what the subject of a run differs from the one that its folder has.
func (f *Folder) difference(before *Run) string {
	then, now := &before.Subject, &f.Subject
	var found []string
	add := func(what, then, now string) {
		if then != now {
			found = append(found, fmt.Sprintf("%s was %s, this is %s", what, then, now))
		}
	}
	add("the application", then.Name, now.Name)
	add("the source", then.Source, now.Source)
	add("the training part", then.Training.String(), now.Training.String())
	add("the held-out part", then.HeldOut.String(), now.HeldOut.String())
	add("the list of services", strings.Join(then.Services, ", "), strings.Join(now.Services, ", "))
	if text, err := os.ReadFile(filepath.Join(f.Dir, TwinFile)); err == nil {
		if model, err := apps.Parse(TwinFile, text); err == nil {
			add("the objective", objectives(model.App), objectives(f.App))
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("the twin or the load of %s is not the same (the history was changed, or is read in another way)", now.Name)
	}
	return strings.Join(found, "; ")
}

func (s Span) String() string { return stamp(s.From) + " to " + stamp(s.To) }

// objectives of an application, as --objective takes them.
func objectives(app *loadline.App) string {
	var all []string
	for _, k := range app.Kinds {
		all = append(all, fmt.Sprintf("%q", fmt.Sprintf("%s: %v%% < %v", k.Name, k.SLO.Percentile, k.SLO.Latency)))
	}
	return strings.Join(all, ", ")
}
