package cli

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/fleet"
)

func newKeygen() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen NAME",
		Short: "Make a key pair for signing weights",
		Long: `Writes NAME.key, with which the teacher signs the weights of students
(teacher --sign-key, run --fleet-sign-key), and NAME.pub, with which agents and
controllers check them (agent --trust-keys, run --fleet-trust-keys). Both are PEM of an
Ed25519 key. No file is replaced.

To replace a key, add the new public key to those that are trusted everywhere, sign with
the new key, and remove the old public key.`,
		Example: `  loadline teacher keygen teacher-2026
  kubectl -n loadline-system create secret generic fleet-trust --from-file=teacher-2026.pub`,
		Args: Exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			fingerprint, err := fleet.NewKey(args[0], rand.Reader)
			if err != nil {
				return fmt.Errorf("write the key pair %s.key and %s.pub: %w", args[0], args[0], err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s.key: keep it secret, for the teacher\n%s.pub: for agents and controllers, "+
				"fingerprint %s\n", args[0], args[0], fingerprint)
			return err
		},
	}
}
