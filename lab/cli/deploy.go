package cli

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/lab/realapp"
)

func newDeploy() *cobra.Command {
	var settings realapp.ObjectsSettings
	path := ""
	var format cli.Format
	c := &cobra.Command{
		Use:   "deploy APP",
		Short: "Print the Deployments that play an application model for real",
		Long: `Prints a ConfigMap with the application's model, and a Deployment and a Service for each
of its services, as YAML for kubectl. Their containers burn the CPU time, hold the memory,
wait and call each other as the model says, and expose http_server_request_duration_seconds
and http_client_request_duration_seconds, by OpenTelemetry's names.

"make app-image" makes the image, out/app.tar, which containerd, Podman and Docker load.`,
		Example: `  loadline-lab deploy bookinfo --namespace shop | kubectl apply -f -
  loadline-lab deploy app.yaml --image registry.example/app:1 -o shop.yaml`,
		Args: cli.Exactly("APP"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := apps.Load(args[0])
			if err != nil {
				return err
			}
			objects, err := realapp.Objects(m.App, settings)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			list := realapp.Object{"apiVersion": "v1", "kind": "List", "items": objects}
			if err := format.Write(&b, list, func(w io.Writer) error { return writeDocuments(w, objects) }); err != nil {
				return err
			}
			if path == "" {
				_, err := c.OutOrStdout().Write(b.Bytes())
				return err
			}
			return atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
		},
	}
	cli.OutVar(c.Flags(), &path, "file to write instead of standard output")
	format.Add(c.Flags())
	c.Flags().StringVarP(&settings.Namespace, "namespace", "n", "", "namespace of the objects (kubectl's own)")
	c.Flags().StringVar(&settings.Image, "image", "loadline.dev/app:1", "image of the containers")
	c.Flags().StringVar(&settings.Node, "node", "", "node that all pods run on (any)")
	c.Flags().Uint64Var(&settings.Seed, "seed", 1, "seed of demands and calls")
	return c
}

// writeDocuments writes objects as kubectl reads them, one after the other.
func writeDocuments(w io.Writer, objects []realapp.Object) error {
	out := yaml.NewEncoder(w)
	out.SetIndent(2)
	for _, o := range objects {
		if err := out.Encode(o); err != nil {
			return err
		}
	}
	return out.Close()
}
