package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version of a release; Main sets it.
var version = "development"

func newVersion() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			build := struct {
				Program  string `json:"program"`
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{c.Root().Name(), version, strings.TrimSpace(revision()), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return output.Write(c.OutOrStdout(), build, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, versionLine(build.Program))
				return err
			})
		},
	}
	output.Add(c.Flags())
	return c
}

// versionLine is what version and --version print.
func versionLine(program string) string {
	return fmt.Sprintf("%s %s%s (%s, %s/%s)", program, version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// TrainedBy is the program's name in a model's card.
func TrainedBy() string { return "loadline " + version }

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return " " + s.Value
		}
	}
	return ""
}
