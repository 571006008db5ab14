package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// InstanceType is a kind of node that Karpenter may buy. Its KWOK provider reserves 100
// millicores and 10 MiB of each.
type InstanceType struct {
	Name   string
	Cores  int
	Memory int64   // bytes
	Price  float64 // per hour
}

// Karpenter starts Karpenter with its KWOK provider, which buys nodes of the given types for
// the NodePools of the test; flags are further ones. Its ports for metrics and health are open on every interface: it
// has no option for an address.
func (c *Cluster) Karpenter(t testing.TB, types []InstanceType, flags ...string) {
	t.Helper()
	if err := c.startKarpenter(t.Context(), types, flags); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) startKarpenter(ctx context.Context, types []InstanceType, flags []string) error {
	program, module, err := binaries.Karpenter(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if err := c.apply(ctx, "", []byte("{apiVersion: v1, kind: Namespace, metadata: {name: karpenter}}")); err != nil {
		return err
	}
	if err := c.applyFiles(ctx, "", filepath.Join(module, "pkg", "apis", "crds"), filepath.Join(module, "kwok", "apis", "crds")); err != nil {
		return err
	}
	kubeconfig, err := c.Kubeconfig(Admin)
	if err != nil {
		return err
	}
	file := filepath.Join(c.dir, "instance-types.json")
	if err := writeInstanceTypes(file, types); err != nil {
		return err
	}
	c.karpenter, err = c.spawn("karpenter", []string{"KUBECONFIG=" + kubeconfig, "SYSTEM_NAMESPACE=karpenter"}, program,
		slices.Concat([]string{
			"--instance-types-file-path=" + file, "--disable-leader-election=true", "--log-level=debug",
			fmt.Sprintf("--metrics-port=%d", c.ports["karpenter-metrics"]), fmt.Sprintf("--health-probe-port=%d", c.ports["karpenter-health"]),
		}, flags)...)
	if err != nil {
		return err
	}
	return c.waitHealthy(ctx, c.karpenter, "http://"+c.address("karpenter-health")+"/readyz", "")
}

// writeInstanceTypes writes the file that the KWOK provider reads. All nodes are in one zone.
func writeInstanceTypes(path string, types []InstanceType) error {
	type offering struct {
		Price        float64
		Requirements []corev1.NodeSelectorRequirement
	}
	type instance struct {
		Name             string              `json:"name"`
		Offerings        []offering          `json:"offerings"`
		Architecture     string              `json:"architecture"`
		OperatingSystems []string            `json:"operatingSystems"`
		Resources        corev1.ResourceList `json:"resources"`
	}
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	var all []instance
	for _, t := range types {
		all = append(all, instance{
			Name: t.Name, Architecture: "amd64", OperatingSystems: []string{"linux"},
			Offerings: []offering{{t.Price, []corev1.NodeSelectorRequirement{
				in("karpenter.sh/capacity-type", "on-demand"), in(corev1.LabelTopologyZone, "zone-a"),
			}}},
			Resources: corev1.ResourceList{
				corev1.ResourceCPU:              *resource.NewQuantity(int64(t.Cores), resource.DecimalSI),
				corev1.ResourceMemory:           *resource.NewQuantity(t.Memory, resource.BinarySI),
				corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
			},
		})
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}
