// Command loadline-lab is what a researcher uses: papers, studies, validation and the
// learned rivals. Its commands are in lab/cli.
package main

import (
	"github.com/loadline/loadline/internal/cli"
	labcli "github.com/loadline/loadline/lab/cli"
)

// version of a release, which the linker sets.
var version string

func main() { cli.Main(labcli.NewRoot, version) }
